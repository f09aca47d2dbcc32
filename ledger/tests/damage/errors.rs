//! The texts of errors: an error distinguishes data of a later version from damage, and for damage
//! names the place and the data that needed it.

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, Digest, Kind, LastWriterWins, LedgerError, MAIN, NeededBy, Page, PageDatabases,
    PageId, Repository, RepositoryBuilder,
};

use crate::support::page::put;

/// The beginning of the rows of the first page.
const PAGE: [u8; 2] = [0x10, 1];

/// The databases of pages in memory, and the one of the repository.
#[derive(Debug, Clone, Default)]
struct Hosts {
    repository: MemoryStore,
    pages: Arc<Mutex<HashMap<u64, MemoryStore>>>,
}

impl PageDatabases for Hosts {
    fn make(&self, page: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>> {
        Ok(Arc::new(self.pages.lock().unwrap().entry(page).or_default().clone()))
    }

    fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>> {
        Ok(self.pages.lock().unwrap().get(&page).map(|store| Arc::new(store.clone()) as _))
    }

    fn list(&self) -> permazen_kv::Result<Vec<u64>> {
        Ok(self.pages.lock().unwrap().keys().copied().collect())
    }

    fn remove(&self, page: u64) -> permazen_kv::Result<()> {
        self.pages.lock().unwrap().remove(&page);
        Ok(())
    }
}

impl Hosts {
    fn builder(&self) -> RepositoryBuilder {
        Repository::builder(self.repository.clone()).exclusive().manual_maintenance()
    }

    fn page(&self) -> Page {
        self.builder().open().unwrap().page("a", PageId::ROOT).unwrap()
    }
}

fn checksum(page: u64, key: &[u8], value: &[u8]) -> [u8; 4] {
    let mut hasher = blake3::Hasher::new_derive_key("permazen ledger 1: row");
    hasher.update(&page.to_be_bytes()).update(key).update(value);
    hasher.finalize().as_bytes()[..4].try_into().unwrap()
}

/// Changes the first row whose key begins like this, and makes its checksum right. Its key.
fn change(
    host: &MemoryStore,
    prefix: &[u8],
    (page, begin): (u64, &[u8]),
    change: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    let min = [prefix, begin].concat();
    let (key, mut row) = {
        let pair = tx.at_least(&min, None).unwrap().unwrap();
        (pair.0.to_vec(), pair.1.to_vec())
    };
    assert!(key.starts_with(&min), "{begin:02x?}");
    change(&mut row);
    let own = key[prefix.len()..].to_vec();
    let at = if own[0] == 0x23 { 8 } else { row.len() - 4 };
    let sum = checksum(page, &own, &row[..at]);
    row[at..at + 4].copy_from_slice(&sum);
    tx.put(&key, &row).unwrap();
    tx.commit().unwrap();
    own
}

fn value() -> Vec<u8> {
    (0..30_000_u32).flat_map(u32::to_be_bytes).collect()
}

/// A page with one commit of a long value.
fn sample() -> (Hosts, CommitId) {
    let hosts = Hosts::default();
    let page = hosts.builder().open_or_create().unwrap().create_page("a", PageId::ROOT).unwrap();
    let commit = put(&page, MAIN, b"long", &value());
    (hosts, commit)
}

#[track_caller]
fn is_unknown(error: &LedgerError, at: (u64, &[u8]), of: (&str, u64)) {
    let row: String = at.1.iter().map(|byte| format!("{byte:02x}")).collect();
    let LedgerError::UnknownFormat { page, row: told, what, found, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((*page, &**told, *what, *found), (at.0, &*row, of.0, of.1));
    let text = error.to_string();
    assert!(text.contains(&row) && text.contains("use a later version"), "{text}");
    assert!(!error.is_retryable());
}

#[test]
fn what_a_later_version_has_written_into_a_repository_is_no_damage() {
    // Format, and where pages are.
    for (key, at, what, found) in [(0x00, 18, "format", 2), (0x01, 16, "host", 2)] {
        let (hosts, _) = sample();
        change(&hosts.repository, b"", (0, &[key]), |row| row[at] = found);
        let error = hosts.builder().open().unwrap_err();
        is_unknown(&error, (0, &[key]), (what, found.into()));
        let error = hosts.builder().open_or_create().unwrap_err();
        is_unknown(&error, (0, &[key]), (what, found.into()));
    }
    // Format, flags and rule of a page.
    for (at, what, found) in [(3, "format", 2), (36, "flags", 5), (37, "retention rule", 4)] {
        let (hosts, _) = sample();
        change(&hosts.repository, &PAGE, (1, &[0x2f]), |row| row[at] = found);
        let error = hosts.builder().open().unwrap().page("a", PageId::ROOT).unwrap_err();
        is_unknown(&error, (1, &[0x2f]), (what, found.into()));
        let found = hosts.builder().open().unwrap().verify().unwrap().findings;
        let expected = (1, format!("{what} {}", u8::from(at == 3)));
        let told = (found[0].page, found[0].expected[..what.len() + 2].to_owned());
        assert_eq!((found.len(), told), (1, expected), "{found:?}");
    }
}

#[test]
fn what_a_later_version_has_written_into_the_database_of_a_page_is_no_damage() {
    let hosts = Hosts::default();
    let builder = || hosts.builder().page_databases(Arc::new(hosts.clone()));
    drop(builder().open_or_create().unwrap().create_page("a", PageId::ROOT).unwrap());
    let database = hosts.pages.lock().unwrap()[&1].clone();
    change(&database, b"", (1, &[0x00]), |row| row[23] = 2);
    let error = builder().open().unwrap().page("a", PageId::ROOT).unwrap_err();
    is_unknown(&error, (1, &[0x00]), ("format", 2));
}

#[test]
fn what_a_later_version_has_written_of_pieces_is_no_damage() {
    for (at, what, found) in [(0, "kind", 4), (0, "kind", 9), (1, "form", 2)] {
        let (hosts, commit) = sample();
        let node = rows(&hosts.repository, 0x23).into_iter().find(|(_, row)| row[0] == 1);
        let key = node.unwrap().0[PAGE.len()..].to_vec();
        let row = change(&hosts.repository, &PAGE, (1, &key), |row| row[at] = found);
        let page = hosts.page();
        let digest = Digest::from_slice(&row[1..]).unwrap();
        let error = page.remote().piece_bytes(&digest).unwrap_err();
        is_unknown(&error, (1, &row), (what, found.into()));
        let error = page.snapshot(&commit).unwrap_err();
        is_unknown(&error, (1, &row), (what, found.into()));
        // The collector does not know to which pieces it leads. Nothing is removed.
        page.reset(MAIN, &CommitId::FIRST).unwrap();
        page.create_branch("kept", &commit).unwrap();
        let pieces = rows(&hosts.repository, 0x23);
        is_unknown(&page.collect().unwrap_err(), (1, &row), (what, found.into()));
        assert_eq!(rows(&hosts.repository, 0x23), pieces);
    }
}

/// The rows of the page with this first byte.
fn rows(host: &MemoryStore, first: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
    let tx = host.begin(&TxOptions::reading()).unwrap();
    let (min, max) = ([&PAGE[..], &[first]].concat(), [&PAGE[..], &[first + 1]].concat());
    let pairs = tx.scan(KeySpan::new(&min, Some(&max)), Direction::Forward).unwrap();
    pairs.map(|pair| pair.map(|(key, row)| (key.to_vec(), row.to_vec())).unwrap()).collect()
}

#[test]
fn a_commit_of_a_later_version_is_no_damage() {
    for (at, what, found) in [(0, "commit version", 2), (1, "commit flags", 5)] {
        let (hosts, commit) = sample();
        let page = hosts.page();
        let bytes = page.remote().commit_bytes(&commit).unwrap().unwrap();
        let mut later = bytes.clone();
        later[at] = found;
        let id = CommitId(Kind::Commit.digest(&later));
        let row = [&[0x22][..], &id.0.0].concat();
        let error = page.receive().add_commit(&id, &later).unwrap_err();
        is_unknown(&error, (1, &row), (what, found.into()));
        let error = page.receive().wanted(&later).unwrap_err();
        is_unknown(&error, (1, &row), (what, found.into()));
        // And one that lies here.
        let mut tx = hosts.repository.begin(&TxOptions::writing()).unwrap();
        let value = [&later[..], &[0; 4]].concat();
        let stored = [&value[..], &checksum(1, &row, &value)].concat();
        tx.put(&[&PAGE[..], &row].concat(), &stored).unwrap();
        tx.commit().unwrap();
        is_unknown(&page.commit(&id).unwrap_err(), (1, &row), (what, found.into()));
        is_unknown(&page.collect().unwrap_err(), (1, &row), (what, found.into()));
    }
    // Other bytes of that ID are damage.
    let (hosts, commit) = sample();
    let error = hosts.page().receive().add_commit(&commit, b"\x02\x01").unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { kind: Kind::Commit, .. }), "{error}");
}

#[track_caller]
fn needed(error: &LedgerError) -> &NeededBy {
    match error {
        LedgerError::Integrity { needed_by, .. } | LedgerError::Missing { needed_by, .. } => {
            needed_by
        }
        error => panic!("{error}"),
    }
}

#[track_caller]
fn is_needed_by(error: &LedgerError, commits: &[CommitId], key: Option<&[u8]>) {
    let NeededBy { page, commits: told, key: of, .. } = needed(error);
    assert_eq!((*page, &told[..], of.as_deref()), (1, commits, key), "{error}");
}

#[test]
fn damage_says_which_commit_and_key_needed_it() {
    for is_gone in [false, true] {
        for kind in [1, 2, 3] {
            let (hosts, commit) = sample();
            let other = put(&hosts.page(), MAIN, b"other", b"1");
            // All pieces of the kind are damaged.
            let mut tx = hosts.repository.begin(&TxOptions::writing()).unwrap();
            for (key, mut row) in rows(&hosts.repository, 0x23) {
                *row.last_mut().unwrap() ^= 1;
                match (row[0] == kind, is_gone) {
                    (false, _) => {}
                    (true, true) => tx.remove(&key).unwrap(),
                    (true, false) => tx.put(&key, &row).unwrap(),
                }
            }
            tx.commit().unwrap();
            let page = hosts.page();
            let expected = if is_gone { "is missing: no row 23" } else { "expected bytes with" };
            let check = |error: LedgerError, commits: &[CommitId], key| {
                is_needed_by(&error, commits, key);
                assert!(error.to_string().contains(expected), "{error}");
            };
            if kind == 1 {
                check(page.snapshot(&commit).unwrap_err(), &[commit], None);
                let all = KeySpan::new(b"", None);
                let diff = page.diff(&commit, &other, all, Direction::Forward);
                check(diff.map(drop).unwrap_err(), &[commit, other], None);
                continue;
            }
            let key = Some(&b"long"[..]);
            let snapshot = page.snapshot(&commit).unwrap();
            check(snapshot.get(b"long").unwrap_err().into(), &[commit], key);
            let all = KeySpan::new(b"", None);
            let mut scan = snapshot.scan(all, Direction::Forward).unwrap();
            check(scan.next().unwrap().unwrap_err().into(), &[commit], key);
            check(snapshot.get_partial(b"long", 0, 10).unwrap_err(), &[commit], key);
            check(snapshot.fetch(b"long").unwrap_err(), &[commit], key);
            let mut reader = snapshot.read_value(b"long").unwrap().unwrap();
            let error = reader.read_to_end(&mut Vec::new()).unwrap_err().into_inner().unwrap();
            check(*error.downcast().unwrap(), &[commit], key);
        }
    }
}

/// A node that lies below the root.
#[test]
fn a_damaged_leaf_says_the_key_that_was_looked_for() {
    let hosts = Hosts::default();
    let page = hosts.builder().open_or_create().unwrap().create_page("a", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    (0..1_000_u32).for_each(|key| tx.put(&key.to_be_bytes(), &[5; 30]).unwrap());
    tx.commit().unwrap();
    let commit = page.head(MAIN).unwrap();
    let root = page.commit(&commit).unwrap().unwrap().root;
    let mut tx = hosts.repository.begin(&TxOptions::writing()).unwrap();
    for (key, _) in rows(&hosts.repository, 0x23) {
        if key[3..] != root.0 {
            tx.remove(&key).unwrap();
        }
    }
    tx.commit().unwrap();
    let snapshot = hosts.page().snapshot(&commit).unwrap();
    let key = 500_u32.to_be_bytes();
    is_needed_by(&snapshot.get(&key).unwrap_err().into(), &[commit], Some(&key));
    is_needed_by(&snapshot.value_len(&key).unwrap_err(), &[commit], Some(&key));
    is_needed_by(&snapshot.priority(&key).unwrap_err(), &[commit], Some(&key));
    let error = snapshot.scan(KeySpan::new(&key, None), Direction::Forward).map(drop).unwrap_err();
    is_needed_by(&error.into(), &[commit], None);
    is_needed_by(&hosts.page().collect().unwrap_err(), &[], None);
}

#[test]
fn what_comes_says_which_commit_needs_it() {
    let (hosts, commit) = sample();
    let page = hosts.page();
    let bytes = page.remote().commit_bytes(&commit).unwrap().unwrap();
    let elsewhere = Hosts::default();
    let other =
        elsewhere.builder().open_or_create().unwrap().create_page("a", PageId::ROOT).unwrap();
    let mut receiver = other.receive();
    let error = receiver.add_commit(&commit, &bytes).unwrap_err();
    is_needed_by(&error, &[commit], None);
    assert!(matches!(error, LedgerError::Missing { .. }), "{error}");
    let error = receiver.add_piece(Kind::Node, vec![7; 5]).unwrap_err();
    is_needed_by(&error, &[], None);
    assert!(error.to_string().contains("expected the one encoding of a node"), "{error}");
}

/// Only a file that was made so has such commits, since commits from elsewhere are compared.
#[test]
fn commits_that_are_no_later_than_their_parents_are_damage() {
    let (hosts, first) = sample();
    let page = hosts.page();
    let second = put(&page, MAIN, b"a", b"1");
    let mut bytes = page.remote().commit_bytes(&second).unwrap().unwrap();
    // Its generation is that of its parent.
    assert_eq!(bytes[17], 2);
    bytes[17] = 1;
    // Two IDs, since one can be before that of the parent, and one after it.
    let forged = |salt: u16| {
        let mut bytes = bytes.clone();
        let salted = bytes.len() - 10;
        bytes[salted] ^= salt as u8;
        bytes[salted + 1] ^= (salt >> 8) as u8;
        let id = CommitId(Kind::Commit.digest(&bytes));
        let row = [&[0x22][..], &id.0.0].concat();
        let value = [&bytes[..], &[0; 4]].concat();
        let mut tx = hosts.repository.begin(&TxOptions::writing()).unwrap();
        let stored = [&value[..], &checksum(1, &row, &value)].concat();
        tx.put(&[&PAGE[..], &row].concat(), &stored).unwrap();
        tx.commit().unwrap();
        id
    };
    // The ID of the parent is another one in each run, so it can take some more until there are
    // both.
    let mut ids = Vec::new();
    for salt in 0..=u16::MAX {
        ids.push(forged(salt));
        if ids.len() >= 16 && ids.iter().any(|id| *id < first) && ids.iter().any(|id| *id > first) {
            break;
        }
    }
    assert!(ids.iter().any(|id| *id < first) && ids.iter().any(|id| *id > first));
    for id in ids {
        page.create_branch("forged", &id).unwrap();
        for error in [
            page.merge(MAIN, &id, &mut LastWriterWins).unwrap_err(),
            page.squash("forged", &first, None).unwrap_err(),
        ] {
            let LedgerError::Integrity { kind: Kind::Commit, digest, .. } = &error else {
                panic!("{error}")
            };
            assert_eq!(*digest, id.0);
        }
        page.remove_branch("forged").unwrap();
        assert_eq!(page.head(MAIN).unwrap(), second);
    }
}
