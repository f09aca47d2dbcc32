//! The work of maintenance for pages, and when it is done.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Capabilities, KvDatabase, KvError, KvRead, KvTransaction, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, LastWriterWins, LedgerError, MAIN, Page, PageId, Repository, Retention, Secret,
};

use crate::support::clock::{TestClock, process};
use crate::support::page::{assert_all_clean, count_rows, put};

const ROOT: PageId = PageId::ROOT;

const MINUTE: Duration = Duration::from_secs(60);

type Hook = Box<dyn FnOnce() + Send>;

/// A host in which something happens before the next transaction that writes.
#[derive(Clone, Default)]
struct Host {
    store: MemoryStore,
    before: Arc<Mutex<Option<Hook>>>,
    /// Set while no process gets the right to write.
    is_busy: Arc<AtomicBool>,
}

impl Host {
    fn before_next_write(&self, hook: impl FnOnce() + Send + 'static) {
        *self.before.lock().unwrap() = Some(Box::new(hook));
    }

    /// The same after this number of transactions that write.
    fn before_write(&self, number: usize, hook: Hook) {
        let Some(before) = number.checked_sub(1) else { return self.before_next_write(hook) };
        let host = self.clone();
        self.before_next_write(move || host.before_write(before, hook));
    }
}

impl KvDatabase for Host {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        if !options.read_only {
            let hook = self.before.lock().unwrap().take();
            hook.into_iter().for_each(|hook| hook());
            if self.is_busy.load(Ordering::Relaxed) {
                return Err(KvError::Retry("another process writes".to_owned()));
            }
        }
        self.store.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }
}

/// The number of the last round of the first page, and its phase.
fn round(host: &MemoryStore) -> (u64, u8) {
    let row = host.snapshot().get(&[0x10, 1, 0x32]).unwrap().unwrap().into_owned();
    (u64::from_be_bytes(row[38..46].try_into().unwrap()), row[47])
}

/// A page with two commits, of which only the second is kept unless a reader has the first.
fn with_old_commit(repository: &Repository) -> (Page, CommitId) {
    let page = repository.page_or_create("films", ROOT).unwrap();
    let old = put(&page, MAIN, b"Alien", b"1978");
    put(&page, MAIN, b"Alien", b"1979");
    page.set_retention(Retention::Heads).unwrap();
    (page, old)
}

#[test]
fn pins_of_a_page_that_was_closed_keep_nothing() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let (page, old) = with_old_commit(&one);
    let snapshot = page.snapshot(&old).unwrap();
    clock.advance(61 * Duration::from_secs(1));
    one.maintain().unwrap();
    assert_eq!(count_rows(&host, 0x31), 1);
    // Both go before the next maintenance.
    drop((snapshot, page));
    one.maintain().unwrap();
    assert_eq!(count_rows(&host, 0x31), 0);
    // Another process can remove the commit, although this one lives.
    let page = two.page("films", ROOT).unwrap();
    assert_eq!(page.collect().unwrap().commits, 0);
    clock.advance(2 * MINUTE);
    assert_eq!(page.collect().unwrap().commits, 1);
    assert_all_clean(&two);
}

#[test]
fn pins_of_a_page_that_was_closed_and_opened_again_keep_nothing() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let one = process(&host, &clock);
    let (page, old) = with_old_commit(&one);
    let snapshot = page.snapshot(&old).unwrap();
    clock.advance(61 * Duration::from_secs(1));
    one.maintain().unwrap();
    assert_eq!(count_rows(&host, 0x31), 1);
    drop((snapshot, page));
    let page = one.page("films", ROOT).unwrap();
    one.maintain().unwrap();
    assert_eq!(count_rows(&host, 0x31), 0);
    drop(page);
    one.delete_page("films", ROOT).unwrap();
    one.maintain().unwrap();
    assert_all_clean(&one);
}

#[test]
fn values_that_are_given_up_on_a_closed_page_go() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = one.create_page("films", ROOT).unwrap();
    let write = |page: &Page| {
        let mut film = page.write_value(None).unwrap();
        let bytes = (0..3_000_000_u32).map(|at| (at >> 8) as u8 ^ at as u8);
        film.write_all(&bytes.collect::<Vec<_>>()).unwrap();
        film
    };
    drop(write(&page));
    drop(page);
    assert!(count_rows(&host, 0x26) > 0);
    one.maintain().unwrap();
    assert_eq!((count_rows(&host, 0x31), count_rows(&host, 0x26)), (0, 0));

    // A value that can still be taken stays for an hour after its last reference.
    let page = one.page("films", ROOT).unwrap();
    let film = write(&page).finish().unwrap();
    drop(page);
    one.maintain().unwrap();
    assert_eq!(count_rows(&host, 0x31), 1);
    drop(film);
    for _ in 0..3 {
        assert_eq!(count_rows(&host, 0x31), 1);
        one.maintain().unwrap();
        two.maintain().unwrap();
        clock.advance(31 * MINUTE);
    }
    one.maintain().unwrap();
    assert_eq!((count_rows(&host, 0x31), count_rows(&host, 0x26)), (0, 0));
    let page = two.page("films", ROOT).unwrap();
    page.collect().unwrap();
    assert_eq!(count_rows(&host, 0x23), 0);
    assert_all_clean(&two);
}

#[test]
fn a_commit_that_takes_long_to_arrive_is_protected_from_others() {
    let clock = TestClock::new();
    let source = process(&MemoryStore::new(), &clock);
    let source = source.create_page_with("films", ROOT, Secret::new([3; 32])).unwrap();
    let id = put(&source, MAIN, b"Alien", b"1979");
    let bytes = source.remote().commit_bytes(&id).unwrap().unwrap();

    let host = Host::default();
    let one = process(&host, &clock);
    let page = one.create_page_with("films", ROOT, Secret::new([3; 32])).unwrap();
    let mut receiver = page.receive();
    for (kind, digest) in receiver.wanted(&bytes).unwrap() {
        let piece = source.remote().piece_bytes(&digest).unwrap().unwrap();
        receiver.add_piece(kind, piece).unwrap();
    }
    let (time, other) = (Arc::clone(&clock), one.clone());
    host.before_next_write(move || {
        time.advance(2 * MINUTE);
        other.maintain().unwrap();
    });
    receiver.add_commit(&id, &bytes).unwrap();
    one.maintain().unwrap();
    assert_eq!(count_rows(&host.store, 0x31), 1);

    // Nothing but the receiver keeps it.
    let two = process(&host, &clock);
    let page = two.page("films", ROOT).unwrap();
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    page.collect().unwrap();
    receiver.add_head(MAIN, &id).unwrap();
    assert_eq!(page.head(MAIN).unwrap(), id);
    assert_all_clean(&two);
}

#[test]
fn a_commit_that_is_gone_gets_no_pin_and_nothing_is_written_for_it() {
    let (host, clock) = (Host::default(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let (page, old) = with_old_commit(&one);
    let snapshot = page.snapshot(&old).unwrap();
    // `one` sleeps, and `two` believes that it has ended.
    let other = two.page("films", ROOT).unwrap();
    other.collect().unwrap();
    clock.advance(3 * MINUTE);
    assert_eq!(other.collect().unwrap().commits, 1);
    one.maintain().unwrap();
    clock.advance(MINUTE);
    host.before_next_write(|| panic!("there is nothing to write"));
    one.maintain().unwrap();
    host.before.lock().unwrap().take();
    let error = page.snapshot(&old).unwrap_err();
    assert!(matches!(error, LedgerError::NoCommit { .. }), "{error}");
    drop(snapshot);
}

#[test]
fn a_lease_is_renewed_although_the_clock_was_set_back() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = one.create_page("films", ROOT).unwrap();
    clock.set_back(24 * 60 * MINUTE);
    // Both are alive for longer than a lease lasts.
    for _ in 0..40 {
        clock.advance(5 * MINUTE);
        one.maintain().unwrap();
        two.maintain().unwrap();
        let error = two.delete_page("films", ROOT).unwrap_err();
        assert!(matches!(error, LedgerError::PageInUse { .. }), "{error}");
    }
    drop(page);
}

/// A page with several hundred nodes, and two commits.
fn large(repository: &Repository) -> Page {
    // The secret decides how many nodes there are.
    let page = repository.create_page_with("films", ROOT, Secret::new([3; 32])).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    for number in 0..10_000_u32 {
        tx.put(&number.to_be_bytes(), &[number as u8; 100]).unwrap();
    }
    tx.commit().unwrap();
    put(&page, MAIN, b"Alien", b"1978");
    page
}

#[test]
fn commits_go_without_a_round_unless_there_is_much_garbage() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let page = large(&repository);
    let kept = count_rows(&host, 0x22);
    put(&page, MAIN, b"Alien", b"1979");
    page.set_retention(Retention::Heads).unwrap();
    // Maintenance finds commits that are not kept, lets them wait, and removes them.
    for _ in 0..8 {
        clock.advance(MINUTE);
        repository.maintain().unwrap();
    }
    assert_eq!((kept, count_rows(&host, 0x22)), (2, 1));
    // The first one has made all nodes but a few, so as far as it knows they are garbage.
    assert_eq!(round(&host), (1, 0));

    // A few nodes are not worth reading all.
    for minute in 0..15_u32 {
        put(&page, MAIN, b"Alien", &minute.to_be_bytes());
        clock.advance(MINUTE);
        repository.maintain().unwrap();
    }
    assert!(count_rows(&host, 0x22) < 10);
    assert_eq!(round(&host), (1, 0));
    // Once a day they are.
    clock.advance(24 * 60 * MINUTE);
    repository.maintain().unwrap();
    assert_eq!(round(&host), (2, 0));
    assert_all_clean(&repository);
}

#[test]
fn commits_go_soon_when_much_is_new() {
    let clock = TestClock::new();
    let repository = Repository::builder(MemoryStore::new()).exclusive().manual_maintenance();
    let repository = repository.clock(Arc::clone(&clock) as _).open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    page.set_retention(Retention::Last(3)).unwrap();
    // The page is open for less than a minute: no check is made because of the time.
    let (mut most, mut pieces) = (0, 0);
    for round in 0..20 {
        for part in 0..10_u8 {
            let value: Vec<u8> =
                (0..20_000_u32).flat_map(|at| (at * 77 + round).to_be_bytes()).collect();
            put(&page, MAIN, b"long", &[&value[..], &[part]].concat());
        }
        clock.advance(Duration::from_secs(2));
        repository.maintain().unwrap();
        most = most.max(page.log(page.head(MAIN).unwrap()).unwrap().count());
        pieces = pieces.max(page.piece_count().unwrap());
    }
    assert!(most <= 13, "{most} commits are still there");
    assert_eq!(page.piece_count().unwrap(), page.verify().unwrap().pieces);
    assert!(pieces < 200, "{pieces}");
    assert_all_clean(&repository);
}

#[test]
fn commits_that_get_too_old_go_although_nothing_happens() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let page = repository.create_page("films", ROOT).unwrap();
    page.set_retention(Retention::Age(60 * MINUTE)).unwrap();
    put(&page, MAIN, b"Alien", b"1978");
    clock.advance(30 * MINUTE);
    put(&page, MAIN, b"Alien", b"1979");
    put(&page, MAIN, b"Alien", b"1980");
    for _ in 0..5 {
        clock.advance(5 * MINUTE);
        repository.maintain().unwrap();
    }
    assert_eq!(count_rows(&host, 0x22), 3);
    for (after, left) in [(20, 2), (40, 1)] {
        for _ in 0..after {
            clock.advance(MINUTE);
            repository.maintain().unwrap();
        }
        assert_eq!(count_rows(&host, 0x22), left);
    }
    assert_all_clean(&repository);
}

/// Two processes, one of which reads: commits that only the reader keeps are removed when it is
/// done.
fn read_in(reader: usize) {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let processes = [process(&host, &clock), process(&host, &clock)];
    let (page, old) = with_old_commit(&processes[0]);
    let of_reader = processes[reader].page("films", ROOT).unwrap();
    let snapshot = of_reader.snapshot(&old).unwrap();
    let maintain = |minutes| {
        for _ in 0..minutes {
            clock.advance(MINUTE);
            processes.iter().rev().for_each(|process| process.maintain().unwrap());
        }
    };
    maintain(40);
    assert_eq!(count_rows(&host, 0x22), 2);
    drop((snapshot, of_reader));
    maintain(15);
    assert_eq!(count_rows(&host, 0x22), 1);
    assert_all_clean(&processes[0]);
    drop(page);
}

#[test]
fn commits_that_were_only_read_go_after_that() {
    read_in(0);
    read_in(1);
}

#[test]
fn a_busy_host_delays_a_collection_and_no_more() {
    let (host, clock) = (Host::default(), TestClock::new());
    let repository = process(&host, &clock);
    let page = large(&repository);
    put(&page, MAIN, b"Alien", b"1979");
    page.set_retention(Retention::Heads).unwrap();
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    let (mut failed, mut phases) = (0, [0; 4]);
    for slice in 0_u64.. {
        assert!(slice < 10_000);
        host.is_busy.store(slice % 3 != 0, Ordering::Relaxed);
        // Each slice comes so late that it tells others how far it is.
        clock.advance(Duration::from_secs(11));
        match page.collect_slice() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                failed += 1;
                phases[usize::from(round(&host.store).1)] += 1;
            }
        }
    }
    host.is_busy.store(false, Ordering::Relaxed);
    assert!(failed > 10 && phases.iter().all(|count| *count > 0), "{failed} {phases:?}");
    assert_eq!((count_rows(&host.store, 0x22), round(&host.store)), (1, (2, 0)));
    let verification = repository.verify().unwrap();
    assert_eq!((verification.findings.len(), verification.unreachable_pieces), (0, 0));
}

/// A collection in which an operation of the host fails now and then. Returns how often.
fn collect_with_failures(seed: u64) -> u64 {
    let (host, clock) = (FaultStore::new(MemoryStore::new()), TestClock::new());
    let repository = process(&host, &clock);
    let page = large(&repository);
    put(&page, MAIN, b"Alien", &[7; 300_000]);
    for year in 1979..1985_u32 {
        put(&page, MAIN, b"Alien", &year.to_be_bytes());
    }
    page.set_retention(Retention::Heads).unwrap();
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    let (mut failed, mut random) = (0, seed);
    for slice in 0_u64.. {
        assert!(slice < 10_000);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let most = [40, 400, 10_000][(slice % 3) as usize];
        host.faults().fail_nth(1 + (random >> 33) % most, || KvError::Retry("busy".to_owned()));
        clock.advance(Duration::from_secs(11));
        match page.collect_slice() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                failed += 1;
            }
        }
    }
    host.faults().stop();
    assert_eq!((count_rows(host.inner(), 0x22), round(host.inner())), (1, (2, 0)));
    let verification = repository.verify().unwrap();
    assert_eq!((verification.findings.len(), verification.unreachable_pieces), (0, 0));
    failed
}

#[test]
fn whatever_fails_in_a_collection_can_be_done_again() {
    let failed: u64 = (0..20).map(collect_with_failures).sum();
    assert!(failed > 50, "{failed}");
}

#[test]
fn damaged_marks_of_a_process_that_has_ended_are_made_anew() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = large(&one);
    put(&page, MAIN, b"Alien", b"1979");
    page.set_retention(Retention::Heads).unwrap();
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    while round(&host) != (2, 2) {
        assert!(page.collect_slice().unwrap());
    }
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    let (min, max) = ([0x10, 1, 0x33], [0x10, 1, 0x34]);
    let (key, mut row) = tx.at_least(&min, Some(&max)).unwrap().unwrap();
    row.to_mut()[0] ^= 1;
    let (key, row) = (key.to_vec(), row.to_vec());
    tx.put(&key, &row).unwrap();
    tx.commit().unwrap();
    std::mem::forget((one, page));
    let page = two.page("films", ROOT).unwrap();
    assert!(matches!(page.collect(), Err(LedgerError::Busy { .. })));
    clock.advance(2 * MINUTE);
    assert!(page.collect().unwrap().pieces > 0);
    assert_eq!(round(&host), (3, 0));
    let verification = two.verify().unwrap();
    assert_eq!((verification.findings.len(), verification.unreachable_pieces), (0, 0));
}

#[test]
fn a_damaged_page_holds_up_neither_evictions_nor_deletions() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    for ledger in ["one", "two", "three"] {
        drop(repository.create_page(ledger, ROOT).unwrap());
        repository.maintain().unwrap();
        clock.advance(MINUTE);
    }
    let ledgers = || -> Vec<String> {
        repository.pages().unwrap().into_iter().map(|(ledger, _)| ledger).collect()
    };
    let write = |key: &[u8], row: &[u8]| {
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        tx.put(key, row).unwrap();
        tx.commit().unwrap();
    };
    // No remote.
    write(&[0x10, 1, 0x2a], b"damaged");
    assert_eq!(repository.evict_least_recently_closed().unwrap(), Some(("two".to_owned(), ROOT)));
    let found = repository.evict_unused(Duration::ZERO).unwrap();
    assert_eq!(found.evicted, [("three".to_owned(), ROOT)]);
    let failed: Vec<_> = found.failed.into_iter().collect();
    assert!(matches!(&failed[..], [(ledger, ..)] if ledger == "one"));
    assert!(failed.into_iter().all(|(.., error)| KvError::from(error).is_damage()));
    assert_eq!(ledgers(), ["one"]);
    assert!(KvError::from(repository.evict_least_recently_closed().unwrap_err()).is_damage());
    // No parameters.
    write(&[0x10, 1, 0x2f], b"damaged");
    assert!(KvError::from(repository.page("one", ROOT).unwrap_err()).is_damage());
    repository.delete_page("one", ROOT).unwrap();
    assert!(ledgers().is_empty());
    assert_all_clean(&repository);
}

/// A page on which nothing keeps the second and third commit, and their IDs.
fn with_lost_commits(repository: &Repository) -> (Page, [CommitId; 2]) {
    let page = repository.create_page("films", ROOT).unwrap();
    let first = put(&page, MAIN, b"Alien", b"1977");
    let lost = [put(&page, MAIN, b"Alien", b"1978"), put(&page, MAIN, b"Alien", b"1979")];
    page.reset(MAIN, &first).unwrap();
    (page, lost)
}

#[test]
fn a_commit_that_had_a_ref_meanwhile_waits_again_before_it_goes() {
    type SetRef = fn(&Page, &CommitId);
    let all: [SetRef; 5] = [
        |page, id| {
            page.create_branch("new", id).unwrap();
            page.remove_branch("new").unwrap();
        },
        |page, id| {
            page.set_tag("new", id).unwrap();
            page.remove_tag("new").unwrap();
        },
        |page, id| {
            let head = page.head(MAIN).unwrap();
            page.reset(MAIN, id).unwrap();
            page.reset(MAIN, &head).unwrap();
        },
        |page, id| {
            let head = page.head(MAIN).unwrap();
            page.add_head(MAIN, id).unwrap();
            page.reset(MAIN, &head).unwrap();
        },
        |page, id| {
            let head = page.head(MAIN).unwrap();
            page.merge(MAIN, id, &mut LastWriterWins).unwrap();
            page.reset(MAIN, &head).unwrap();
        },
    ];
    for set_ref in all {
        let (host, clock) = (MemoryStore::new(), TestClock::new());
        let (one, two) = (process(&host, &clock), process(&host, &clock));
        let (page, lost) = with_lost_commits(&one);
        let other = two.page("films", ROOT).unwrap();
        other.collect().unwrap();
        clock.advance(3 * MINUTE);
        set_ref(&page, &lost[1]);
        // Another process has just begun to read them.
        let snapshots = lost.map(|id| page.snapshot(&id).unwrap());
        assert_eq!(other.collect().unwrap().commits, 0);
        clock.advance(MINUTE);
        assert_eq!(other.collect().unwrap().commits, 0);
        one.maintain().unwrap();
        clock.advance(2 * MINUTE);
        assert_eq!(other.collect().unwrap().commits, 0);
        drop(snapshots);
        one.maintain().unwrap();
        // That was so for the pins too.
        assert_eq!(other.collect().unwrap().commits, 0);
        clock.advance(2 * MINUTE);
        assert_eq!(other.collect().unwrap().commits, 2);
        assert_all_clean(&two);
    }
}

/// Two handles commit on one base, again and again, so each time one of them commits on a commit
/// that is no head. Meanwhile commits are removed, after the call of `before` if they have to wait.
fn commits_beside_heads(repository: &Repository, before: impl FnOnce(&Page)) {
    let (page, lost) = with_lost_commits(repository);
    let handles = [(); 2].map(|()| page.branching_database(MAIN).unwrap());
    let mut beside = 0_u8;
    let mut write = || {
        let mut begun = handles.each_ref().map(|db| db.begin(&TxOptions::writing()).unwrap());
        for (at, tx) in begun.iter_mut().enumerate() {
            tx.put(&[at as u8, beside], b"value").unwrap();
        }
        beside += 1;
        begun.into_iter().for_each(|tx| tx.commit().unwrap());
        assert_eq!(page.heads(MAIN).unwrap().len(), 2);
        page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    };
    write();
    before(&page);
    let mut slices = 0;
    while lost.iter().any(|id| page.commit(id).is_ok()) {
        assert!(slices < 8, "the commits are still there");
        assert!(page.collect_slice().unwrap());
        write();
        slices += 1;
    }
    while page.collect_slice().unwrap() {}
    assert_all_clean(repository);
}

#[test]
fn commits_beside_heads_do_not_delay_the_removal_of_others() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    commits_beside_heads(&process(&host, &clock), |page| {
        page.collect().unwrap();
        clock.advance(3 * MINUTE);
    });
}

#[test]
fn commits_beside_heads_do_not_delay_the_removal_of_others_where_it_is_done_at_once() {
    let builder = Repository::builder(MemoryStore::new()).exclusive().manual_maintenance();
    commits_beside_heads(&builder.open_or_create().unwrap(), |_| ());
}

/// A process commits on a base that it has read for long. Another one, to which nothing seemed to
/// keep the base, has decided to remove it and commits after it, and perhaps the first one has
/// found since that it is kept.
fn commit_on_old_base(has_looked: bool, after: usize, retention: Retention) {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (one, two) = (process(&host, &clock), process(&host, &clock));
    let page = one.create_page("films", ROOT).unwrap();
    page.set_retention(retention).unwrap();
    let base = put(&page, MAIN, b"Alien", b"1977");
    let of_two = two.page("films", ROOT).unwrap();
    let other = of_two.branching_database(MAIN).unwrap();
    let mut tx = other.begin(&TxOptions::writing()).unwrap();
    tx.put(b"Brazil", b"1985").unwrap();
    // As far as `one` knows, nothing keeps the base and the first commits after it.
    for number in 0..after {
        put(&page, MAIN, b"Alien", format!("1978-{number}").as_bytes());
    }
    put(&page, MAIN, b"Alien", b"1979");
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    // It has decided to remove them.
    assert!(page.collect_slice().unwrap());
    if has_looked {
        assert!(of_two.collect_slice().unwrap() && of_two.collect_slice().unwrap());
        // The base does not wait any more.
        assert_eq!(count_rows(&host, 0x34), 0);
    }
    tx.commit().unwrap();
    while page.collect_slice().unwrap() {}
    assert!(page.commit(&base).is_ok());
    assert_eq!(page.heads(MAIN).unwrap().len(), 2);
    let merge = page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    let merged = page.snapshot(&merge).unwrap();
    assert_eq!(merged.get(b"Alien").unwrap().as_deref(), Some(&b"1979"[..]));
    assert_eq!(merged.get(b"Brazil").unwrap().as_deref(), Some(&b"1985"[..]));
    assert_all_clean(&one);
}

#[test]
fn a_commit_beside_heads_keeps_what_merging_it_needs_whatever_was_computed_before() {
    commit_on_old_base(false, 1, Retention::Heads);
    commit_on_old_base(true, 0, Retention::Heads);
    // The commit that is about to be removed is further away than the search goes.
    commit_on_old_base(false, 100, Retention::Last(80));
}

#[test]
fn setting_tags_again_and_again_does_not_delay_the_removal_of_commits() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let repository = process(&host, &clock);
    let (page, lost) = with_lost_commits(&repository);
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    let head = page.head(MAIN).unwrap();
    let mut slices = 0;
    while lost.iter().any(|id| page.commit(id).is_ok()) {
        assert!(slices < 20, "the commits are still there");
        page.set_tag("tested", &head).unwrap();
        assert!(page.collect_slice().unwrap());
        slices += 1;
    }
    while page.collect_slice().unwrap() {}
    assert_all_clean(&repository);
}

#[test]
fn a_collection_prunes_although_reference_rows_are_turned_on_meanwhile() {
    for number in 0.. {
        let (host, clock) = (Host::default(), TestClock::new());
        let of_test: Arc<dyn Clock> = Arc::clone(&clock) as _;
        let builder = Repository::builder(host.clone()).manual_maintenance().exclusive();
        let repository = builder.clock(of_test).open_or_create().unwrap();
        let (page, _) = with_old_commit(&repository);
        let (other, store, thread) = (page.clone(), host.store.clone(), Arc::new(Mutex::new(None)));
        let started = Arc::clone(&thread);
        let counts = move || store.snapshot().get(&[0x10, 1, 0x32]).unwrap().unwrap().into_owned();
        let turn_on = move || {
            // While a round runs, the rows are turned on after it, which would be waited for here.
            if counts()[47] == 0 {
                let turn_on = move || other.set_reference_rows(true).unwrap();
                *started.lock().unwrap() = Some(std::thread::spawn(turn_on));
                while counts()[46] == 0 {
                    std::thread::yield_now();
                }
            }
        };
        host.before_write(number, Box::new(turn_on));
        let collected = page.collect().unwrap();
        assert_eq!(collected.commits, 1, "rows are turned on before write {number}");
        let was_all = host.before.lock().unwrap().take().is_some();
        thread.lock().unwrap().take().into_iter().for_each(|thread| thread.join().unwrap());
        assert_all_clean(&repository);
        if was_all {
            assert!(number > 3, "{number} transactions");
            break;
        }
    }
}
