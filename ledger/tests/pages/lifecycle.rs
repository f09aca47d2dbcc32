//! The lifecycle of pages: opened and closed, deleted and evicted, by several processes on one
//! host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::read_only::ReadOnly;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, EvictionObstacle, LedgerError, MAIN, Page, PageId, Repository,
};

use crate::support::clock::{TestClock, process};
use crate::support::faults;
use crate::support::page::{assert_all_clean, copy, pairs, put};

const MINUTE: Duration = Duration::from_secs(60);

const HOUR: Duration = Duration::from_secs(60 * 60);

/// The process ends at once: it gives nothing back.
fn kill(repository: Repository) {
    std::mem::forget(repository);
}

/// Other threads may keep the right to write for as long as maintenance waits for it.
fn maintain(repository: &Repository) {
    match repository.maintain() {
        Err(error) if error.is_retryable() => {}
        done => done.unwrap(),
    }
}

fn put_key(page: &Page, key: &[u8]) {
    put(page, MAIN, key, &[7; 100]);
}

/// How many rows of the host begin with this byte.
fn rows(host: &MemoryStore, first: u8) -> usize {
    let (min, max) = ([first], [first + 1]);
    host.snapshot().scan(KeySpan::new(&min, Some(&max)), Direction::Forward).unwrap().count()
}

const ROOT: PageId = PageId::ROOT;

#[test]
fn a_page_that_is_open_is_not_deleted() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = one.create_page("films", ROOT).unwrap();
    put_key(&page, b"Alien");
    for repository in [&one, &two] {
        let error = repository.delete_page("films", ROOT).unwrap_err();
        assert!(matches!(error, LedgerError::PageInUse { .. }), "{error}");
        assert!(error.to_string().contains("drop its handles"), "{error}");
    }
    // A snapshot that was made of a handle keeps the page open.
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    drop(page);
    assert!(one.delete_page("films", ROOT).is_err());
    drop(snapshot);
    // Another process does not know yet that it is closed.
    assert!(matches!(two.delete_page("films", ROOT), Err(LedgerError::PageInUse { .. })));
    one.maintain().unwrap();
    two.delete_page("films", ROOT).unwrap();
    assert!(one.pages().unwrap().is_empty());
    assert!(matches!(one.page("films", ROOT), Err(LedgerError::NoSuch { .. })));
    assert_eq!((rows(&host, 0x10), rows(&host, 0x08), rows(&host, 0x06)), (0, 0, 0));
    assert_all_clean(&one);
    // The name is free.
    let page = one.create_page("films", ROOT).unwrap();
    assert_eq!(page.log(page.head(MAIN).unwrap()).unwrap().count(), 0);
    assert_all_clean(&one);
}

#[test]
fn the_own_process_need_not_wait() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    drop(repository.create_page("films", ROOT).unwrap());
    repository.delete_page("films", ROOT).unwrap();
    assert_eq!((rows(&host, 0x10), rows(&host, 0x08), rows(&host, 0x06)), (0, 0, 0));
}

#[test]
fn what_is_opened_again_and_again_writes_nothing() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    drop(repository.create_page("films", ROOT).unwrap());
    let before = pairs(&host.snapshot());
    for _ in 0..3 {
        drop(repository.page("films", ROOT).unwrap());
    }
    assert_eq!(before, pairs(&host.snapshot()));
}

#[test]
fn a_process_that_has_ended_holds_a_page_until_its_lease_ends() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = one.create_page("films", ROOT).unwrap();
    put_key(&page, b"Alien");
    std::mem::forget(page);
    kill(one);
    clock.advance(59 * MINUTE);
    assert!(matches!(two.delete_page("films", ROOT), Err(LedgerError::PageInUse { .. })));
    clock.advance(2 * MINUTE);
    // Perhaps it has slept, and renews the lease in a moment.
    assert!(matches!(two.delete_page("films", ROOT), Err(LedgerError::PageInUse { .. })));
    clock.advance(MINUTE);
    two.delete_page("films", ROOT).unwrap();
    assert_eq!((rows(&host, 0x10), rows(&host, 0x08)), (0, 0));
    assert_all_clean(&two);
}

#[test]
fn a_process_taken_for_dead_has_the_page_open_again_or_gets_an_error() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = one.create_page("films", ROOT).unwrap();
    let other = one.create_page("books", ROOT).unwrap();
    clock.advance(2 * HOUR);
    // It slept, and `two` believes that it has ended.
    two.maintain().unwrap();
    clock.advance(MINUTE);
    two.delete_page("books", ROOT).unwrap();
    one.maintain().unwrap();
    two.maintain().unwrap();
    assert!(matches!(two.delete_page("films", ROOT), Err(LedgerError::PageInUse { .. })));
    put_key(&page, b"Alien");
    // A handle of the deleted page writes nothing.
    let first = CommitId::FIRST;
    assert!(other.head(MAIN).is_err());
    assert!(other.database(MAIN).is_err());
    for error in [
        other.create_branch("new", &first).unwrap_err(),
        other.set_tag("new", &first).unwrap_err(),
        other.reset(MAIN, &first).unwrap_err(),
    ] {
        assert!(matches!(error, LedgerError::PageGone { .. }), "{error}");
    }
    drop((page, other));
    one.maintain().unwrap();
    two.delete_page("films", ROOT).unwrap();
    drop(one);
    assert_all_clean(&two);
    assert_eq!((rows(&host, 0x10), rows(&host, 0x08), rows(&host, 0x07)), (0, 0, 0));
}

/// A host with a full page and another one.
fn full(clock: &Arc<TestClock>) -> MemoryStore {
    let host = MemoryStore::new();
    let repository = process(&host, clock);
    let page = repository.create_page("films", ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    for number in 0..15_000_u32 {
        tx.put(&number.to_be_bytes(), &[number as u8; 400]).unwrap();
    }
    tx.commit().unwrap();
    drop((db, page));
    put_key(&repository.create_page("books", ROOT).unwrap(), b"Emma");
    drop(repository);
    host
}

/// A copy of such a host, and a process in which the page that is not full is open.
fn to_delete(
    full: &MemoryStore,
    clock: &Arc<TestClock>,
) -> (FaultStore<MemoryStore>, Repository, Page) {
    let host = FaultStore::new(copy(full));
    let time: Arc<dyn Clock> = Arc::clone(clock) as _;
    let builder = Repository::builder(host.clone()).manual_maintenance().clock(time);
    let repository = builder.open().unwrap();
    let kept = repository.page("books", ROOT).unwrap();
    repository.maintain().unwrap();
    (host, repository, kept)
}

#[test]
fn a_deletion_that_was_interrupted_is_continued_by_any_repository() {
    let clock = TestClock::new();
    let full = full(&clock);
    let (host, repository, kept) = to_delete(&full, &clock);
    host.faults().stop();
    repository.delete_page("films", ROOT).unwrap();
    let operations = host.faults().operations();
    drop((repository, kept));
    // How often a part of the page was left.
    let mut parts = 0;
    // Of the first operations each second one, or all; then some of the many that remove rows.
    let first = faults::failing(0, faults::distance(2)).take_while(|nth| *nth <= 25);
    let later = (1..16).map(|part| operations * part / 16);
    for (round, nth) in first.chain(later).enumerate() {
        let (host, repository, kept) = to_delete(&full, &clock);
        host.faults().fail_from(nth, || KvError::IllegalState("killed".to_owned()));
        let deleted = repository.delete_page("films", ROOT);
        kill(repository);
        std::mem::forget(kept);
        let host = host.inner();
        clock.advance(2 * HOUR);
        let other = process(host, &clock);
        assert_all_clean(&other);
        if other.page("films", ROOT).is_ok() {
            assert!(deleted.is_err());
            assert_eq!(rows(host, 0x04), 2);
            continue;
        }
        let is_part = rows(host, 0x04) == 2;
        parts += usize::from(is_part);
        let names = |repository: &Repository| repository.pages().unwrap();
        assert_eq!(names(&other), [("books".to_owned(), ROOT)]);
        if round % 2 == 0 {
            // A process that wants the name continues.
            drop(other.create_page("films", ROOT).unwrap());
            other.delete_page("films", ROOT).unwrap();
        } else {
            other.maintain().unwrap();
        }
        assert_eq!((rows(host, 0x04), rows(host, 0x05)), (1, 1), "{nth}");
        let kept = other.page("books", ROOT).unwrap();
        assert!(kept.snapshot(&kept.head(MAIN).unwrap()).unwrap().get(b"Emma").unwrap().is_some());
        drop(kept);
        assert_all_clean(&other);
        let _ = other.delete_page("books", ROOT);
        clock.advance(MINUTE);
        if other.pages().unwrap().len() == 1 {
            other.delete_page("books", ROOT).unwrap();
        }
        assert_eq!(rows(host, 0x10), 0, "{nth}");
    }
    assert!(parts >= 5, "{parts}");
}

#[test]
fn usage_is_the_time_of_the_last_close() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    for name in ["a", "b", "c"] {
        drop(one.create_page(name, ROOT).unwrap());
        clock.advance(MINUTE);
    }
    one.maintain().unwrap();
    let names = |repository: &Repository| -> Vec<_> {
        let usage = repository.usage().unwrap().into_iter();
        usage.map(|page| (page.ledger, page.is_open, page.closed.is_some())).collect()
    };
    let closed = |name: &str| (name.to_owned(), false, true);
    let open = |name: &str| (name.to_owned(), true, false);
    assert_eq!(names(&two), [closed("a"), closed("b"), closed("c")]);
    let times: Vec<_> = one.usage().unwrap().into_iter().filter_map(|page| page.closed).collect();
    assert_eq!(times[1].duration_since(times[0]).unwrap(), MINUTE);
    let handle = two.page("a", ROOT).unwrap();
    assert_eq!(names(&one), [closed("b"), closed("c"), open("a")]);
    // Open in two processes: the last one that closes it says when.
    let second = one.page("a", ROOT).unwrap();
    drop(second);
    one.maintain().unwrap();
    assert_eq!(names(&one), [closed("b"), closed("c"), open("a")]);
    drop(handle);
    // Dropping the repository closes all.
    drop(two);
    assert_eq!(names(&one), [closed("b"), closed("c"), closed("a")]);
    assert_all_clean(&one);
}

#[test]
fn t111_pages_of_a_process_that_ended_get_the_time_at_which_that_is_seen() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let one = process(&host, &clock);
    std::mem::forget(one.create_page("films", ROOT).unwrap());
    kill(one);
    clock.advance(2 * HOUR);
    let two = process(&host, &clock);
    assert!(two.usage().unwrap()[0].is_open);
    two.maintain().unwrap();
    assert!(two.usage().unwrap()[0].is_open);
    clock.advance(MINUTE);
    two.maintain().unwrap();
    assert_eq!(two.usage().unwrap()[0].closed, Some(clock.now()));
    assert_eq!(rows(&host, 0x08), 0);
    assert_all_clean(&two);
}

#[test]
fn t113_a_page_with_commits_is_not_evicted() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let page = repository.create_page("films", ROOT).unwrap();
    put_key(&page, b"Alien");
    // Its history is lost, although it is empty.
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.remove(b"Alien").unwrap();
    tx.commit().unwrap();
    drop((db, page));
    assert!(!repository.evict("films", ROOT).unwrap());
    assert_eq!(repository.evict_least_recently_closed().unwrap(), None);
    let page = repository.page("films", ROOT).unwrap();
    assert_eq!(page.log(page.head(MAIN).unwrap()).unwrap().count(), 2);
    // A tag was set on purpose, even without a commit.
    let tagged = repository.create_page("books", ROOT).unwrap();
    tagged.set_tag("begin", &tagged.head(MAIN).unwrap()).unwrap();
    drop(tagged);
    assert!(!repository.evict("books", ROOT).unwrap());
    assert!(matches!(repository.evict("none", ROOT), Err(LedgerError::NoSuch { .. })));
    assert_all_clean(&repository);
}

#[test]
fn t116_only_the_least_recently_closed_page_goes() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let full = repository.create_page("full", ROOT).unwrap();
    put_key(&full, b"Alien");
    drop(full);
    for name in ["b", "a", "c"] {
        clock.advance(MINUTE);
        drop(repository.create_page(name, ROOT).unwrap());
    }
    let open = repository.page("b", ROOT).unwrap();
    let epoch = epoch(&host);
    assert_eq!(repository.evict_least_recently_closed().unwrap(), Some(("a".to_owned(), ROOT)));
    assert_eq!(self::epoch(&host), epoch + 1);
    let left: Vec<_> = repository.pages().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["full", "b", "c"]);
    clock.advance(MINUTE);
    drop(open);
    assert_eq!(repository.evict_least_recently_closed().unwrap(), Some(("c".to_owned(), ROOT)));
    assert_eq!(repository.evict_least_recently_closed().unwrap(), Some(("b".to_owned(), ROOT)));
    assert_eq!(repository.evict_least_recently_closed().unwrap(), None);
    assert_all_clean(&repository);
}

/// The epoch of the device: eight bytes before the checksum.
fn epoch(host: &MemoryStore) -> u64 {
    let row = host.snapshot().get(&[0x02]).unwrap().unwrap().to_vec();
    u64::from_be_bytes(row[16..24].try_into().unwrap())
}

#[test]
fn an_epoch_at_its_end_is_followed_by_the_first() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    drop(repository.create_page("films", ROOT).unwrap());
    let mut row = host.snapshot().get(&[0x02]).unwrap().unwrap().to_vec();
    row[16..24].fill(0xff);
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    tx.put(&[0x02], &permazen_ledger::decoders::sealed(0, &[0x02], &row)).unwrap();
    tx.commit().unwrap();
    repository.delete_page("films", ROOT).unwrap();
    assert_eq!(epoch(&host), 0);
    assert_all_clean(&repository);
}

#[test]
fn t117_a_page_that_is_opened_meanwhile_is_not_evicted() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    drop(one.create_page("films", ROOT).unwrap());
    one.maintain().unwrap();
    let handle = two.page("films", ROOT).unwrap();
    assert!(!one.evict("films", ROOT).unwrap());
    assert_eq!(one.evict_least_recently_closed().unwrap(), None);
    put_key(&handle, b"Alien");
    drop(handle);
    two.maintain().unwrap();
    assert!(!one.evict("films", ROOT).unwrap());
}

#[test]
fn a_page_in_a_host_that_cannot_be_written_can_be_read() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let page = repository.create_page("films", ROOT).unwrap();
    put_key(&page, b"Alien");
    drop((page, repository));
    let before = pairs(&host.snapshot());
    let reader = Repository::open(ReadOnly(host.clone())).unwrap();
    let page = reader.page("films", ROOT).unwrap();
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    assert!(snapshot.get(b"Alien").unwrap().is_some());
    drop((snapshot, page));
    reader.maintain().unwrap();
    drop(reader);
    assert_eq!(before, pairs(&host.snapshot()));
}

#[test]
fn t114_an_empty_page_stays_until_it_is_evicted() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    drop(repository.create_page("films", ROOT).unwrap());
    repository.maintain().unwrap();
    clock.advance(2 * HOUR);
    repository.maintain().unwrap();
    drop(repository.page("films", ROOT).unwrap());
    assert!(repository.evict("films", ROOT).unwrap());
    assert!(matches!(repository.page("films", ROOT), Err(LedgerError::NoSuch { .. })));
    assert_all_clean(&repository);
}

#[test]
fn t118_the_time_of_a_page_that_is_not_there_goes() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let (key, time) = ([0x06, 9], 1_u64.to_be_bytes());
    let mut hasher = blake3::Hasher::new_derive_key("permazen ledger 1: row");
    hasher.update(&0_u64.to_be_bytes()).update(&key).update(&time);
    let row = [&time[..], &hasher.finalize().as_bytes()[..4]].concat();
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    tx.put(&key, &row).unwrap();
    tx.commit().unwrap();
    assert_eq!(repository.verify().unwrap().findings.len(), 1);
    assert_eq!(repository.evict_least_recently_closed().unwrap(), None);
    repository.maintain().unwrap();
    assert_all_clean(&repository);
    assert_eq!(rows(&host, 0x06), 0);
}

#[test]
fn a_page_is_opened_or_made_by_many_at_once() {
    let host = MemoryStore::new();
    let repositories: Vec<_> =
        (0..4).map(|_| Repository::open_or_create(host.clone()).unwrap()).collect();
    std::thread::scope(|scope| {
        for (number, repository) in repositories.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..20_u8 {
                    let name = format!("{}", round % 3);
                    match repository.page_or_create(&name, ROOT) {
                        Ok(page) => put_key(&page, &[number as u8, round]),
                        Err(error) => panic!("{error}"),
                    }
                    // It is open elsewhere, was deleted there, or goes.
                    match repository.delete_page(&name, ROOT) {
                        Ok(()) => {}
                        Err(LedgerError::PageInUse { .. } | LedgerError::NoSuch { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                    if round % 4 == 0 {
                        maintain(repository);
                    }
                }
            });
        }
    });
    assert_all_clean(&repositories[0]);
    drop(repositories);
    let repository = Repository::open_or_create(host.clone()).unwrap();
    for (ledger, id) in repository.pages().unwrap() {
        repository.delete_page(&ledger, id).unwrap();
    }
    assert_eq!((rows(&host, 0x10), rows(&host, 0x08), rows(&host, 0x06)), (0, 0, 0));
}

#[test]
fn a_page_gets_another_name_and_keeps_all_it_has() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = one.create_page("films", ROOT).unwrap();
    put_key(&page, b"Alien");
    let (head, id) = (page.head(MAIN).unwrap(), PageId([7; 16]));
    let (from, to) = (("films", ROOT), ("old films", id));
    // No process may have it open.
    for repository in [&one, &two] {
        let refused = repository.rename_page(from, to);
        assert!(matches!(refused, Err(LedgerError::PageInUse { .. })), "{refused:?}");
    }
    drop(page);
    one.maintain().unwrap();
    drop(one.create_page("books", ROOT).unwrap());
    let refused = one.rename_page(from, ("books", ROOT));
    assert!(matches!(refused, Err(LedgerError::Exists { .. })), "{refused:?}");
    assert!(matches!(one.rename_page(("none", ROOT), to), Err(LedgerError::NoSuch { .. })));
    assert!(matches!(one.rename_page(from, ("", ROOT)), Err(LedgerError::InvalidArgument(_))));
    let before = pairs(&host.snapshot());
    one.rename_page(from, from).unwrap();
    assert_eq!(before, pairs(&host.snapshot()));
    two.rename_page(from, to).unwrap();
    assert!(matches!(one.page("films", ROOT), Err(LedgerError::NoSuch { .. })));
    let page = one.page(to.0, to.1).unwrap();
    assert_eq!(page.head(MAIN).unwrap(), head);
    assert!(page.snapshot(&head).unwrap().get(b"Alien").unwrap().is_some());
    put_key(&page, b"Brazil");
    // The name is free.
    put_key(&two.create_page("films", ROOT).unwrap(), b"Casablanca");
    assert_eq!(one.pages().unwrap().len(), 3);
    drop(page);
    for repository in [&one, &two] {
        repository.maintain().unwrap();
        assert_all_clean(repository);
    }
    one.delete_page(to.0, to.1).unwrap();
    let names: Vec<_> = one.pages().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["books", "films"]);
    assert_all_clean(&two);
}

#[test]
fn a_name_that_is_being_deleted_is_taken_after_that() {
    let clock = TestClock::new();
    let (host, repository, kept) = to_delete(&full(&clock), &clock);
    drop(kept);
    // The first operation at which the page is gone and its rows are not.
    let is_part = (4..).any(|nth| {
        host.faults().fail_from(nth, || KvError::IllegalState("killed".to_owned()));
        let deleted = repository.delete_page("films", ROOT);
        host.faults().stop();
        deleted.unwrap_err();
        repository.pages().unwrap().len() == 1
    });
    assert!(is_part && rows(host.inner(), 0x04) == 2);
    repository.rename_page(("books", ROOT), ("films", ROOT)).unwrap();
    assert_eq!(repository.pages().unwrap(), [("films".to_owned(), ROOT)]);
    let films = repository.page("films", ROOT).unwrap();
    assert!(films.snapshot(&films.head(MAIN).unwrap()).unwrap().get(b"Emma").unwrap().is_some());
    assert_eq!(rows(host.inner(), 0x04), 1);
    assert_all_clean(&repository);
}

#[test]
fn a_page_has_one_name_whichever_operation_fails() {
    let clock = TestClock::new();
    let names = [("books", ROOT), ("notes", PageId([1; 16]))];
    let mut ends = [0; 2];
    for nth in 1.. {
        let host = FaultStore::new(MemoryStore::new());
        let time: Arc<dyn Clock> = Arc::clone(&clock) as _;
        let builder = Repository::builder(host.clone()).manual_maintenance().clock(time);
        let repository = builder.open_or_create().unwrap();
        drop(repository.create_page("films", ROOT).unwrap());
        put_key(&repository.create_page("books", ROOT).unwrap(), b"Emma");
        host.faults().fail_nth(nth, || KvError::IllegalState("the disk is gone".to_owned()));
        let renamed = repository.rename_page(names[0], names[1]);
        let is_all = host.faults().operations() < nth;
        host.faults().stop();
        let pages: Vec<_> = repository.pages().unwrap().into_iter().map(|(name, _)| name).collect();
        let at = usize::from(pages.contains(&"notes".to_owned()));
        assert_eq!(pages, ["films", names[at].0], "{nth}");
        assert!(at == 1 || renamed.is_err(), "{nth}");
        let page = repository.page(names[at].0, names[at].1).unwrap();
        assert!(page.snapshot(&page.head(MAIN).unwrap()).unwrap().get(b"Emma").unwrap().is_some());
        drop(page);
        assert_all_clean(&repository);
        ends[at] += 1;
        if is_all {
            break;
        }
    }
    assert!(ends[0] > 5 && ends[1] > 0, "{ends:?}");
}

#[test]
fn a_page_is_open_under_the_name_it_was_asked_for() {
    let host = MemoryStore::new();
    let repositories: Vec<_> =
        (0..3).map(|_| Repository::open_or_create(host.clone()).unwrap()).collect();
    drop(repositories[0].create_page("a", ROOT).unwrap());
    repositories[0].maintain().unwrap();
    let renamed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (number, repository) in repositories.iter().enumerate() {
            let renamed = &renamed;
            scope.spawn(move || {
                for round in 0_u64.. {
                    if renamed.load(Ordering::Relaxed) >= 40 {
                        break;
                    }
                    let (from, to) = if round % 2 == 0 { ("a", "b") } else { ("b", "a") };
                    if number == 0 {
                        match repository.page(from, ROOT) {
                            Ok(page) => {
                                let usage = repository.usage().unwrap();
                                assert_eq!((usage.len(), &*usage[0].ledger), (1, from));
                                drop(page);
                                maintain(repository);
                            }
                            Err(LedgerError::NoSuch { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                        continue;
                    }
                    match repository.rename_page((from, ROOT), (to, ROOT)) {
                        Ok(()) => drop(renamed.fetch_add(1, Ordering::Relaxed)),
                        Err(LedgerError::NoSuch { .. } | LedgerError::PageInUse { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(rows(&host, 0x04), 1);
    assert_all_clean(&repositories[0]);
}

#[test]
fn pages_that_were_not_used_for_long_are_evicted() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let full = repository.create_page("full", ROOT).unwrap();
    put_key(&full, b"Alien");
    drop(full);
    for name in ["a", "b", "c"] {
        drop(repository.create_page(name, ROOT).unwrap());
        clock.advance(HOUR);
    }
    let open = repository.page("b", ROOT).unwrap();
    assert_eq!(repository.evict_unused(4 * HOUR).unwrap().evicted, []);
    assert_eq!(repository.evict_unused(2 * HOUR).unwrap().evicted, [("a".to_owned(), ROOT)]);
    assert_eq!(
        repository.eviction_obstacle("full", ROOT).unwrap(),
        Some(EvictionObstacle::HasNoRemote)
    );
    assert_eq!(repository.eviction_obstacle("b", ROOT).unwrap(), Some(EvictionObstacle::IsOpen));
    assert_eq!(repository.eviction_obstacle("c", ROOT).unwrap(), None);
    assert!(matches!(repository.eviction_obstacle("a", ROOT), Err(LedgerError::NoSuch { .. })));
    drop(open);
    assert_eq!(repository.evict_unused(Duration::ZERO).unwrap().evicted.len(), 2);
    assert_eq!(repository.pages().unwrap(), [("full".to_owned(), ROOT)]);
    assert_all_clean(&repository);
}
