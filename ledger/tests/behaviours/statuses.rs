//! Rows 55 to 57, 68, 112, 115 and 119: which commits and pieces are at a remote, and which are
//! only here.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, Digest, EvictionObstacle, Kind, LedgerError, MAIN, Page, PageId, Receiver,
    RemoteState, Repository, Retention, Secret, Status,
};

use super::setting::{Setting, content, many, noise};
use crate::support::page::assert_clean;

/// Marks all that is only here.
fn sync(page: &Page) {
    let remote = page.remote();
    let commits: Vec<_> =
        remote.unsynced_commits().unwrap().iter().map(|commit| commit.id).collect();
    let pieces = remote.local_pieces(None, usize::MAX).unwrap();
    let pieces: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
    remote.mark_synced(&commits, &pieces, &[]).unwrap();
}

/// The statuses of all pieces that have a row.
fn statuses(setting: &Setting) -> BTreeMap<Digest, Status> {
    let digests = setting.rows(&[0x23]).into_keys().map(|key| {
        let digest: [u8; 32] = key[1..].try_into().unwrap();
        Digest(digest)
    });
    digests.map(|digest| (digest, setting.page.piece_status(&digest).unwrap())).collect()
}

fn count(setting: &Setting, status: Status) -> usize {
    statuses(setting).values().filter(|of| **of == status).count()
}

#[test]
fn t055_pieces_of_a_value_that_nothing_has_are_transient() {
    for is_attached in [false, true] {
        let setting = Setting::new();
        if is_attached {
            setting.page.remote().attach().unwrap();
        }
        // The second half is there already, with a leaf.
        setting.put(b"half", &[0; 65_536]);
        let mut writer = setting.page.write_value(None).unwrap();
        writer.write_all(&[1; 65_536]).unwrap();
        writer.write_all(&[0; 65_536]).unwrap();
        let value = writer.finish().unwrap();
        assert_eq!(setting.page.piece_status(&Digest([7; 32])).unwrap(), Status::Unknown);
        // A chunk and an index piece.
        assert_eq!((count(&setting, Status::Transient), count(&setting, Status::Local)), (2, 2));
        if is_attached {
            assert_eq!(setting.page.remote().local_pieces(None, 10).unwrap().len(), 2);
        }
        setting.write(MAIN, |tx| tx.put(b"key", value.as_bytes()).unwrap());
        assert_eq!((count(&setting, Status::Transient), count(&setting, Status::Local)), (0, 5));
        setting.page.collect().unwrap();
        assert!(setting.rows(&[0x26]).is_empty());
        assert_eq!(count(&setting, Status::Local), 5);
        assert_clean(&setting.page);
    }
}

#[test]
fn a_piece_that_a_stream_has_put_and_a_commit_has_is_not_transient() {
    let setting = Setting::new();
    let mut writer = setting.page.write_value(None).unwrap();
    writer.write_all(&noise(3_000, 1)).unwrap();
    let value = writer.finish().unwrap();
    assert_eq!(count(&setting, Status::Transient), 1);
    setting.put(b"key", &noise(3_000, 1));
    assert_eq!(count(&setting, Status::Transient), 0);
    drop(value);
    assert_clean(&setting.page);
}

#[test]
fn what_a_later_commit_has_is_not_transient_once_the_first_one_is_gone() {
    let setting = Setting::new();
    let page = &setting.page;
    let stream = || {
        let mut writer = page.write_value(None).unwrap();
        writer.write_all(&noise(3_000, 1)).unwrap();
        writer.finish().unwrap()
    };
    let (first, second) = (stream(), stream());
    page.remote().attach().unwrap();
    setting.write(MAIN, |tx| tx.put(b"key", second.as_bytes()).unwrap());
    sync(page);
    setting.put(b"other", b"");
    sync(page);
    page.set_retention(Retention::Heads).unwrap();
    // The first commit is removed before the rows that the second stream has left.
    page.collect().unwrap();
    page.collect().unwrap();
    assert_eq!(page.log(setting.head()).unwrap().count(), 1);
    assert_eq!(setting.rows(&[0x26]).len(), 1);
    assert_clean(page);
    assert!(statuses(&setting).values().all(|status| *status == Status::Synced));
    drop(first);
}

#[test]
fn t056_a_status_does_not_fall() {
    let setting = Setting::new();
    setting.put(b"key", &noise(3_000, 2));
    let stream = |status: Status| {
        let before = statuses(&setting);
        assert!(before.values().all(|of| *of == status), "{before:?}");
        let mut writer = setting.page.write_value(None).unwrap();
        writer.write_all(&noise(3_000, 2)).unwrap();
        let value = writer.finish().unwrap();
        assert_eq!(statuses(&setting), before);
        drop(value);
    };
    stream(Status::Local);
    setting.page.remote().attach().unwrap();
    stream(Status::Local);
    sync(&setting.page);
    stream(Status::Synced);
    // The same content again is at the remote already; the commit is not.
    let synced = setting.root();
    setting.put(b"other", b"");
    setting.remove(b"other");
    assert_eq!(setting.root(), synced);
    assert_eq!(setting.page.piece_status(&synced).unwrap(), Status::Synced);
    assert_eq!(setting.page.commit_status(&setting.head()).unwrap(), Status::Local);
    assert_clean(&setting.page);
}

#[test]
fn t057_unsynced_commits_come_by_generation() {
    let setting = Setting::new();
    let remote = setting.page.remote();
    assert!(matches!(remote.unsynced_commits(), Err(LedgerError::InvalidArgument(_))));
    let before = setting.put(b"before", b"");
    remote.attach().unwrap();
    setting.branch("side");
    let side = setting.put_on("side", b"a", b"");
    let ids = [before, side, setting.put(b"b", b""), setting.merge("side"), setting.put(b"c", b"")];
    let listed = remote.unsynced_commits().unwrap();
    let generations: Vec<_> = listed.iter().map(|commit| commit.generation).collect();
    assert_eq!(generations, [1, 2, 2, 3, 4]);
    let mut sorted = ids.to_vec();
    sorted[1..3].sort();
    assert_eq!(listed.iter().map(|commit| commit.id).collect::<Vec<_>>(), sorted);
    // A commit is there only after its parents.
    let error = remote.mark_synced(&[ids[3]], &[], &[(b"at", b"1")]).unwrap_err();
    assert!(error.to_string().contains("is not at the remote yet"), "{error}");
    assert_eq!((remote.unsynced_commits().unwrap().len(), remote.note(b"at").unwrap()), (5, None));
    remote.mark_synced(&[ids[3], ids[2], ids[1], ids[0]], &[], &[(b"at", b"1")]).unwrap();
    assert_eq!(remote.unsynced_commits().unwrap()[0].id, ids[4]);
    assert_eq!(remote.note(b"at").unwrap().as_deref(), Some(&b"1"[..]));
    let expected = [Status::Synced, Status::Synced, Status::Local];
    let found = [ids[0], ids[3], ids[4]].map(|id| setting.page.commit_status(&id).unwrap());
    assert_eq!(found, expected);
    let unknown = CommitId(Digest([1; 32]));
    assert_eq!(setting.page.commit_status(&unknown).unwrap(), Status::Unknown);
    // Twice, and something that is not here, changes nothing.
    remote.mark_synced(&[ids[0], unknown], &[Digest([1; 32])], &[(b"at", b"")]).unwrap();
    assert_eq!((remote.unsynced_commits().unwrap().len(), remote.note(b"at").unwrap()), (1, None));
    assert_clean(&setting.page);
}

#[test]
fn what_is_only_here_can_be_read_as_it_is() {
    let setting = Setting::new();
    let remote = setting.page.remote();
    remote.attach().unwrap();
    setting.put(b"long", &noise(200_000, 4));
    setting.put_all(&many(500));
    let pieces = remote.local_pieces(None, usize::MAX).unwrap();
    let kinds: BTreeSet<_> = pieces.iter().map(|piece| piece.kind.to_string()).collect();
    assert_eq!(kinds.len(), 3, "{kinds:?}");
    for piece in &pieces {
        let bytes = remote.piece_bytes(&piece.digest).unwrap().unwrap();
        assert_eq!(piece.kind.digest(&bytes), piece.digest);
    }
    for commit in remote.unsynced_commits().unwrap() {
        let bytes = remote.commit_bytes(&commit.id).unwrap().unwrap();
        assert_eq!(Kind::Commit.digest(&bytes), commit.id.0);
    }
    assert_eq!(remote.piece_bytes(&Digest([1; 32])).unwrap(), None);
    assert_eq!(remote.commit_bytes(&CommitId::FIRST).unwrap(), None);
    // Damage is not brought anywhere.
    let (key, mut row) = setting.rows(&[0x23]).pop_first().unwrap();
    *row.last_mut().unwrap() ^= 1;
    let mut tx = setting.host.begin(&TxOptions::writing()).unwrap();
    tx.put(&[&[0x10, 1], &key[..]].concat(), &row).unwrap();
    tx.commit().unwrap();
    let digest = Digest(key[1..].try_into().unwrap());
    let error = remote.piece_bytes(&digest).unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { .. }), "{error}");
}

#[test]
fn t068_what_is_not_at_the_remote_is_kept() {
    let setting = Setting::new();
    let page = &setting.page;
    page.set_retention(Retention::Heads).unwrap();
    page.remote().attach().unwrap();
    let ids: Vec<_> = (0..6).map(|n| setting.put(b"key", &noise(2_000, n))).collect();
    let log = || page.log(setting.head()).unwrap().map(Result::unwrap).count();
    page.collect().unwrap();
    assert_eq!((log(), setting.pieces(2).len()), (6, 6));
    // The commits made on the last commit that is there need it.
    page.remote().mark_synced(&ids[..3], &[], &[]).unwrap();
    page.collect().unwrap();
    assert_eq!((log(), setting.pieces(2).len()), (4, 4));
    sync(page);
    page.collect().unwrap();
    assert_eq!((log(), setting.pieces(2).len()), (1, 1));
    assert!(setting.rows(&[0x25]).is_empty() && setting.rows(&[0x27]).is_empty());
    // A branch that is gone needs no remote.
    setting.branch("side");
    setting.put_on("side", b"side", &noise(2_000, 10));
    page.remove_branch("side").unwrap();
    assert!(page.remote().unsynced_commits().unwrap().is_empty());
    page.collect().unwrap();
    assert!(setting.rows(&[0x25]).is_empty() && setting.rows(&[0x27]).is_empty());
    assert_clean(page);
}

#[test]
fn what_is_at_the_remote_is_not_squashed() {
    let setting = Setting::new();
    let page = &setting.page;
    page.remote().attach().unwrap();
    let first = setting.put(b"a", b"1");
    setting.put(b"b", b"2");
    page.remote().mark_synced(&[first], &[], &[]).unwrap();
    setting.put(b"c", b"3");
    let error = page.squash(MAIN, &CommitId::FIRST, None).unwrap_err();
    assert!(matches!(error, LedgerError::CannotSquash { commit, .. } if commit == first));
    let all = page.squash(MAIN, &first, None).unwrap();
    let listed = page.remote().unsynced_commits().unwrap();
    assert_eq!((listed.len(), listed[0].id, listed[0].generation), (1, all, 2));
    page.collect().unwrap();
    assert_eq!(setting.rows(&[0x25]).len(), 1);
    assert_clean(page);
}

#[test]
fn a_page_is_detached() {
    let setting = Setting::new();
    let page = &setting.page;
    for n in 0..200 {
        setting.put(b"key", &noise(1_000, n));
    }
    let before = setting.rows(&[]);
    page.remote().attach().unwrap();
    sync(page);
    assert_eq!(count(&setting, Status::Synced), 400);
    page.remote().attach().unwrap();
    assert_eq!(count(&setting, Status::Synced), 400);
    page.remote().detach().unwrap();
    assert_eq!(page.remote().state().unwrap(), RemoteState::Detached);
    assert_eq!(count(&setting, Status::Local), 400);
    // Another remote has nothing.
    page.remote().attach().unwrap();
    assert_eq!((setting.rows(&[0x25]).len(), setting.rows(&[0x27]).len()), (200, 400));
    assert!(page.remote().detach_slice().unwrap());
    assert_eq!(page.remote().state().unwrap(), RemoteState::Attaching);
    setting.cold().remote().attach().unwrap();
    assert_eq!((setting.rows(&[0x25]).len(), setting.rows(&[0x27]).len()), (200, 400));
    assert_clean(page);
    page.remote().detach().unwrap();
    page.remote().detach().unwrap();
    // All rows are as they were, except for row `28`, which is raised when something begins to keep
    // an older commit.
    let strip = |mut rows: super::setting::Map| {
        rows.retain(|key, _| key != &[0x28]);
        rows
    };
    assert!(strip(setting.rows(&[])) == strip(before));
    assert_clean(page);
}

const FILMS: (&str, PageId) = ("films", PageId::ROOT);

fn repository(host: &MemoryStore) -> Repository {
    Repository::builder(host.clone()).manual_maintenance().exclusive().open_or_create().unwrap()
}

fn films(repository: &Repository) -> Page {
    repository.create_page_with(FILMS.0, FILMS.1, Secret::new([1; 32])).unwrap()
}

fn write(page: &Page, change: impl FnOnce(&mut dyn KvWrite)) {
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    change(&mut tx);
    tx.commit().unwrap();
}

fn rows(host: &MemoryStore, begin: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let max = permazen_kv::key::after_prefix(begin);
    let (snapshot, span) = (host.snapshot(), KeySpan::new(begin, max.as_deref()));
    let pairs = snapshot.scan(span, Direction::Forward).unwrap().map(Result::unwrap);
    pairs.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// The epoch in the row of the device, or that of a page.
fn epoch(host: &MemoryStore, key: &[u8]) -> u64 {
    let row = rows(host, key).remove(0).1;
    row[16..24].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[test]
fn t112_a_closed_page_that_is_synced_is_evicted() {
    let host = MemoryStore::new();
    let repository = repository(&host);
    let page = films(&repository);
    page.remote().attach().unwrap();
    write(&page, |tx| tx.put(b"Alien", &noise(100_000, 1)).unwrap());
    let epoch_before = epoch(&host, &[2]);
    let evict = || repository.evict(FILMS.0, FILMS.1).unwrap();
    sync(&page);
    assert!(!evict(), "it is open");
    drop(page);
    repository.maintain().unwrap();
    assert_eq!((rows(&host, &[6]).len(), repository.usage().unwrap().len()), (1, 1));
    assert_eq!(
        repository.evict_least_recently_closed().unwrap(),
        Some((FILMS.0.to_owned(), FILMS.1))
    );
    assert!(rows(&host, &[6]).is_empty() && rows(&host, &[0x10]).is_empty());
    assert_eq!(epoch(&host, &[2]), epoch_before + 1);
    assert!(repository.verify().unwrap().is_clean() && repository.usage().unwrap().is_empty());
}

#[test]
fn t115_a_page_that_was_emptied_is_not_evicted_before_that_is_synced() {
    let host = MemoryStore::new();
    let repository = repository(&host);
    let page = films(&repository);
    page.remote().attach().unwrap();
    write(&page, |tx| tx.put(b"Alien", b"1979").unwrap());
    sync(&page);
    write(&page, |tx| tx.remove(b"Alien").unwrap());
    let evict = || repository.evict(FILMS.0, FILMS.1).unwrap();
    drop(page);
    assert!(!evict());
    let page = repository.page(FILMS.0, FILMS.1).unwrap();
    assert!(page.snapshot(&page.head(MAIN).unwrap()).unwrap().root() == empty_root());
    sync(&page);
    drop(page);
    assert!(evict());
}

fn empty_root() -> Digest {
    let setting = Setting::new();
    setting.root()
}

#[test]
fn nothing_that_is_only_here_is_evicted() {
    type Change = fn(&Page);
    let changes: [(EvictionObstacle, Change); 6] = [
        (EvictionObstacle::IsUnsynced, |page| write(page, |tx| tx.put(b"b", b"").unwrap())),
        (EvictionObstacle::IsUnsynced, |page| {
            write(page, |tx| tx.put(b"b", b"").unwrap());
            let commits = page.remote().unsynced_commits().unwrap();
            page.remote().mark_synced(&[commits[0].id], &[], &[]).unwrap();
        }),
        (EvictionObstacle::HasTags, |page| page.set_tag("t", &page.head(MAIN).unwrap()).unwrap()),
        (EvictionObstacle::HasBranches, |page| {
            page.create_branch("b", &page.head(MAIN).unwrap()).unwrap()
        }),
        (EvictionObstacle::WasReset, |page| page.reset(MAIN, &CommitId::FIRST).unwrap()),
        (EvictionObstacle::HasNoRemote, |page| page.remote().detach().unwrap()),
    ];
    for (why, change) in changes {
        let repository = repository(&MemoryStore::new());
        let page = films(&repository);
        page.remote().attach().unwrap();
        write(&page, |tx| tx.put(b"a", b"").unwrap());
        sync(&page);
        change(&page);
        assert_eq!(
            repository.eviction_obstacle(FILMS.0, FILMS.1).unwrap(),
            Some(EvictionObstacle::IsOpen)
        );
        drop(page);
        assert_eq!(repository.eviction_obstacle(FILMS.0, FILMS.1).unwrap(), Some(why));
        assert!(!repository.evict(FILMS.0, FILMS.1).unwrap(), "{why}");
        assert_eq!(repository.evict_least_recently_closed().unwrap(), None, "{why}");
    }
}

#[test]
fn what_a_dead_process_has_streamed_does_not_hold_a_page() {
    let host = MemoryStore::new();
    let dead = repository(&host);
    let page = films(&dead);
    page.remote().attach().unwrap();
    write(&page, |tx| tx.put(b"a", b"").unwrap());
    sync(&page);
    let mut writer = page.write_value(None).unwrap();
    writer.write_all(&noise(3_000_000, 3)).unwrap();
    std::mem::forget((writer, page, dead));
    let repository = repository(&host);
    assert!(repository.evict(FILMS.0, FILMS.1).unwrap());
}

/// Gives a receiver all commits of a page.
fn bring(from: &Page, to: &mut Receiver) {
    let log: Vec<_> = from.log(from.head(MAIN).unwrap()).unwrap().map(Result::unwrap).collect();
    for (id, _) in log.iter().rev() {
        let commit = from.remote().commit_bytes(id).unwrap().unwrap();
        loop {
            let wanted = to.wanted(&commit).unwrap();
            if wanted.is_empty() {
                break;
            }
            for (kind, digest) in wanted {
                let bytes = from.remote().piece_bytes(&digest).unwrap().unwrap();
                to.add_piece(kind, bytes).unwrap();
            }
        }
        to.add_commit(id, &commit).unwrap();
    }
    to.add_head(MAIN, &from.head(MAIN).unwrap()).unwrap();
}

#[test]
fn t119_an_evicted_page_that_is_made_again_has_the_same_content_and_a_later_epoch() {
    let host = MemoryStore::new();
    let repository = repository(&host);
    // Another copy stands for the remote.
    let there = films(&self::repository(&MemoryStore::new()));
    let page = films(&repository);
    page.remote().attach().unwrap();
    write(&page, |tx| tx.put(b"Alien", &noise(100_000, 1)).unwrap());
    write(&page, |tx| tx.put(b"Brazil", b"1985").unwrap());
    let head = page.head(MAIN).unwrap();
    bring(&page, &mut there.receive());
    sync(&page);
    let state = |page: &Page| (content(page, &head), page.snapshot(&head).unwrap().root());
    let before = (state(&page), epoch(&host, &[0x10, 1, 0x2b]));
    drop(page);
    assert!(repository.evict(FILMS.0, FILMS.1).unwrap());
    // The steps of sync: the page is made with its secret, and receives the commits at the remote.
    let page = films(&repository);
    page.remote().attach().unwrap();
    let mut receiver = page.remote().receive();
    bring(&there, &mut receiver);
    drop(receiver);
    let after = (state(&page), epoch(&host, &[0x10, 2, 0x2b]));
    assert!(after.0 == before.0);
    assert!(after.1 > before.1, "{} {}", after.1, before.1);
    // It is at the remote, where it came from.
    assert_eq!(page.commit_status(&head).unwrap(), Status::Synced);
    assert!(page.remote().local_pieces(None, 10).unwrap().is_empty());
    assert_clean(&page);
}
