//! Copies of a page, and functions that bring commits from one to the other.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KeySpan, KvDatabase};
use permazen_ledger::{CommitId, MAIN, Page, PageId, Receiver, Repository, Secret, ValueRef};

use crate::support::page::parents;
pub(crate) use crate::support::page::{assert_clean, count_rows, noise, write};

pub(crate) const ALL: KeySpan<'static> = KeySpan { min: b"", max: None };

/// A copy of the page in this host. Copies have one secret.
pub(crate) fn copy_in(host: Arc<dyn KvDatabase>) -> Page {
    // Commits that are known to come from another copy cannot be squashed.
    let builder =
        Repository::shared_builder(host).exclusive().manual_maintenance().without_device();
    let repository = builder.open_or_create().unwrap();
    let made = repository.create_page_with("test", PageId::ROOT, Secret::new([5; 32]));
    made.or_else(|_| repository.page("test", PageId::ROOT)).unwrap()
}

pub(crate) fn copy() -> Page {
    copy_in(Arc::new(MemoryStore::new()))
}

/// A copy that is attached to a remote.
pub(crate) fn attached(host: Arc<dyn KvDatabase>) -> Page {
    let page = copy_in(host);
    page.remote().attach().unwrap();
    page
}

/// Calls a function with a host of each kind.
pub(crate) fn each_host(test: impl Fn(Arc<dyn KvDatabase>)) {
    test(Arc::new(MemoryStore::new()));
    let folder = tempfile::tempdir().unwrap();
    test(Arc::new(LmdbStore::open_or_create(folder.path()).unwrap()));
}

pub(crate) fn value(page: &Page, bytes: &[u8]) -> ValueRef {
    let mut writer = page.write_value(None).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// Puts a lazy value.
pub(crate) fn put_lazy(page: &Page, key: &[u8], bytes: &[u8]) -> CommitId {
    let value = value(page, bytes);
    write(page, MAIN, |tx| tx.put(key, value.lazy().as_bytes()).unwrap())
}

/// Gives a receiver all pieces that it wants of a commit.
pub(crate) fn bring_pieces(from: &Page, to: &mut Receiver, id: &CommitId) -> Vec<u8> {
    let remote = from.remote();
    let commit = remote.commit_bytes(id).unwrap().unwrap();
    loop {
        let wanted = to.wanted(&commit).unwrap();
        if wanted.is_empty() {
            return commit;
        }
        for (kind, digest) in wanted {
            let bytes = remote.piece_bytes(&digest).unwrap().unwrap();
            assert_eq!(to.add_piece(kind, bytes).unwrap(), digest);
        }
    }
}

/// Brings a commit and all before it.
pub(crate) fn bring(from: &Page, to: &mut Receiver, id: &CommitId) {
    let mut log: Vec<_> = from.log(*id).unwrap().map(|commit| commit.unwrap()).collect();
    log.reverse();
    for (id, commit) in log {
        for parent in parents(&commit.origin) {
            if let Some((generation, time)) = from.pruned_commit(&parent).unwrap() {
                to.add_pruned(&parent, generation, time).unwrap();
            }
        }
        let bytes = bring_pieces(from, to, &id);
        to.add_commit(&id, &bytes).unwrap();
    }
}

/// Brings the head of the main branch from the remote, without lazy values.
pub(crate) fn follow(from: &Page, to: &Page) -> CommitId {
    let mut receiver = to.remote().receive();
    let head = from.head(MAIN).unwrap();
    bring(from, &mut receiver, &head);
    receiver.add_head(MAIN, &head).unwrap();
    head
}

/// The entries of a commit, all of whose values are here.
pub(crate) fn content(page: &Page, at: &CommitId) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = page.snapshot(at).unwrap().entries(ALL, permazen_kv::Direction::Forward).unwrap();
    let pairs = entries.map(|entry| entry.map(|entry| (entry.key, entry.value.bytes.unwrap())));
    pairs.map(|pair| pair.unwrap()).collect()
}
