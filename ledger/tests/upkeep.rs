//! What the upkeep does for pages, and when.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Capabilities, Direction, KeySpan, KvDatabase, KvRead, KvTransaction, KvWrite, TxOptions,
};
use permazen_ledger::{
    Clock, CommitId, LedgerError, MAIN, Page, PageId, Repository, Retention, Secret,
};

const ROOT: PageId = PageId::ROOT;

const MINUTE: Duration = Duration::from_secs(60);

/// A clock that a test sets.
#[derive(Debug)]
struct TestClock(AtomicU64);

impl TestClock {
    fn new() -> Arc<Self> {
        Arc::new(TestClock(AtomicU64::new(1_800_000_000_000)))
    }

    fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as u64, Ordering::Relaxed);
    }

    fn set_back(&self, by: Duration) {
        self.0.fetch_sub(by.as_millis() as u64, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

type Hook = Box<dyn FnOnce() + Send>;

/// A host in which something happens before the next transaction that writes.
#[derive(Clone, Default)]
struct Host {
    store: MemoryStore,
    before: Arc<Mutex<Option<Hook>>>,
}

impl Host {
    fn before_next_write(&self, hook: impl FnOnce() + Send + 'static) {
        *self.before.lock().unwrap() = Some(Box::new(hook));
    }
}

impl KvDatabase for Host {
    fn begin<'db>(
        &'db self,
        options: &TxOptions,
    ) -> permazen_kv::Result<Box<dyn KvTransaction + Send + 'db>> {
        if !options.read_only {
            let hook = self.before.lock().unwrap().take();
            hook.into_iter().for_each(|hook| hook());
        }
        self.store.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }
}

/// A process on the host.
fn process(host: &(impl KvDatabase + Clone + 'static), clock: &Arc<TestClock>) -> Repository {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    Repository::builder(host.clone()).upkeep_by_hand().clock(clock).create().unwrap()
}

fn put(page: &Page, key: &[u8], value: &[u8]) -> CommitId {
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(key, value).unwrap();
    tx.commit().unwrap();
    page.head(MAIN).unwrap()
}

/// How many rows of the first page begin with this byte.
fn rows(host: &MemoryStore, first: u8) -> usize {
    let (min, max) = ([0x10, 1, first], [0x10, 1, first + 1]);
    host.snapshot().scan(KeySpan::new(&min, Some(&max)), Direction::Forward).unwrap().count()
}

fn assert_clean(repository: &Repository) {
    let verification = repository.verify().unwrap();
    assert!(verification.is_clean(), "{:#?}", verification.findings);
}

/// A page with two commits, of which only the second is kept unless somebody reads the first.
fn with_old_commit(repository: &Repository) -> (Page, CommitId) {
    let page = repository.page_or_create("films", ROOT).unwrap();
    let old = put(&page, b"Alien", b"1978");
    put(&page, b"Alien", b"1979");
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
    one.upkeep().unwrap();
    assert_eq!(rows(&host, 0x31), 1);
    // Both go before the next upkeep.
    drop((snapshot, page));
    one.upkeep().unwrap();
    assert_eq!(rows(&host, 0x31), 0);
    // Another process can remove the commit, although this one lives.
    let page = two.page("films", ROOT).unwrap();
    assert_eq!(page.collect().unwrap().commits, 0);
    clock.advance(2 * MINUTE);
    assert_eq!(page.collect().unwrap().commits, 1);
    assert_clean(&two);
}

#[test]
fn pins_of_a_page_that_was_closed_and_opened_again_keep_nothing() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let one = process(&host, &clock);
    let (page, old) = with_old_commit(&one);
    let snapshot = page.snapshot(&old).unwrap();
    clock.advance(61 * Duration::from_secs(1));
    one.upkeep().unwrap();
    assert_eq!(rows(&host, 0x31), 1);
    drop((snapshot, page));
    let page = one.page("films", ROOT).unwrap();
    one.upkeep().unwrap();
    assert_eq!(rows(&host, 0x31), 0);
    drop(page);
    one.delete_page("films", ROOT).unwrap();
    one.upkeep().unwrap();
    assert_clean(&one);
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
    assert!(rows(&host, 0x26) > 0);
    one.upkeep().unwrap();
    assert_eq!((rows(&host, 0x31), rows(&host, 0x26)), (0, 0));

    // One that somebody may still take stays for an hour after its last reference.
    let page = one.page("films", ROOT).unwrap();
    let film = write(&page).finish().unwrap();
    drop(page);
    one.upkeep().unwrap();
    assert_eq!(rows(&host, 0x31), 1);
    drop(film);
    for _ in 0..3 {
        assert_eq!(rows(&host, 0x31), 1);
        one.upkeep().unwrap();
        two.upkeep().unwrap();
        clock.advance(31 * MINUTE);
    }
    one.upkeep().unwrap();
    assert_eq!((rows(&host, 0x31), rows(&host, 0x26)), (0, 0));
    let page = two.page("films", ROOT).unwrap();
    page.collect().unwrap();
    assert_eq!(rows(&host, 0x23), 0);
    assert_clean(&two);
}

#[test]
fn a_commit_that_takes_long_to_arrive_is_protected_from_others() {
    let clock = TestClock::new();
    let source = process(&MemoryStore::new(), &clock);
    let source = source.create_page_with("films", ROOT, Secret::new([3; 32])).unwrap();
    let id = put(&source, b"Alien", b"1979");
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
        other.upkeep().unwrap();
    });
    receiver.add_commit(&id, &bytes).unwrap();
    one.upkeep().unwrap();
    assert_eq!(rows(&host.store, 0x31), 1);

    // Nothing but the receiver keeps it.
    let two = process(&host, &clock);
    let page = two.page("films", ROOT).unwrap();
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    page.collect().unwrap();
    receiver.add_head(MAIN, &id).unwrap();
    assert_eq!(page.head(MAIN).unwrap(), id);
    assert_clean(&two);
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
    one.upkeep().unwrap();
    clock.advance(MINUTE);
    host.before_next_write(|| panic!("there is nothing to write"));
    one.upkeep().unwrap();
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
        one.upkeep().unwrap();
        two.upkeep().unwrap();
        let error = two.delete_page("films", ROOT).unwrap_err();
        assert!(matches!(error, LedgerError::PageInUse { .. }), "{error}");
    }
    drop(page);
}
