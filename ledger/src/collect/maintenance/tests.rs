//! The threads do not wait for each other, and no caller waits long for them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Capabilities, Direction, KeySpan, KvDatabase, KvRead, KvTransaction, KvWrite, Result, TxOptions,
};

use crate::ids::PageId;
use crate::lifecycle::deletion::{self, DeleteMode};
use crate::process::clock::Clock;
use crate::process::test_clock::TestClock;
use crate::repository::{MAIN, Repository};
use crate::rows::parameters::Retention;

/// A store in which the thread that collects does not get on while the gate is closed.
#[derive(Debug, Default)]
struct Gate {
    store: MemoryStore,
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    is_closed: bool,
    /// It is closed for those that write alone.
    lets_read: bool,
    has_arrived: bool,
    /// How many transactions the thread has begun.
    begun: usize,
}

impl Gate {
    fn set(&self, is_closed: bool) {
        self.state.lock().unwrap().is_closed = is_closed;
        self.changed.notify_all();
    }

    fn set_for_writes(&self, is_closed: bool) {
        self.state.lock().unwrap().lets_read = true;
        self.set(is_closed);
    }

    fn begun(&self) -> usize {
        self.state.lock().unwrap().begun
    }

    fn wait_for_arrival(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| !state.has_arrived).unwrap());
    }
}

impl KvDatabase for Gate {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        if std::thread::current().name() == Some("permazen-ledger-maintenance") {
            let mut state = self.state.lock().unwrap();
            state.begun += 1;
            if !(state.lets_read && options.read_only) {
                state.has_arrived |= state.is_closed;
                self.changed.notify_all();
                drop(self.changed.wait_while(state, |state| state.is_closed).unwrap());
            }
        }
        self.store.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }
}

#[test]
fn what_is_read_is_protected_while_a_collection_takes_long() {
    let (gate, clock) = (Arc::new(Gate::default()), Arc::new(TestClock(AtomicU64::new(1 << 40))));
    let (host, own): (Arc<dyn KvDatabase>, Arc<dyn Clock>) = (gate.clone(), clock.clone());
    let repository = Repository::shared_builder(host).clock(own).open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"value").unwrap();
    tx.commit().unwrap();
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();

    gate.set(true);
    gate.wait_for_arrival();
    clock.0.fetch_add(61_000, Ordering::Relaxed);
    // Within two minutes the pin has a row. Here ten seconds take ten milliseconds.
    let has_row = || {
        let span = KeySpan::new(&[0x10, 1, 0x31], Some(&[0x10, 1, 0x32]));
        gate.store.snapshot().scan(span, Direction::Forward).unwrap().next().is_some()
    };
    let is_protected = (0..2_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        has_row()
    });
    gate.set(false);
    assert!(is_protected);
    drop(snapshot);
}

fn open(gate: &Arc<Gate>, clock: &Arc<TestClock>) -> Repository {
    let (host, own): (Arc<dyn KvDatabase>, Arc<dyn Clock>) = (gate.clone(), clock.clone());
    Repository::shared_builder(host).clock(own).open_or_create().unwrap()
}

#[test]
fn pages_are_closed_and_heads_of_others_merged_while_a_collection_takes_long() {
    let (gate, clock) = (Arc::new(Gate::default()), Arc::new(TestClock(AtomicU64::new(1 << 40))));
    let repository = open(&gate, &clock);
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let closed = repository.create_page("closed", PageId::ROOT).unwrap();
    gate.set(true);
    gate.wait_for_arrival();
    drop(closed);
    let other =
        Repository::builder(gate.store.clone()).manual_maintenance().open_or_create().unwrap();
    let others = other.page("test", PageId::ROOT).unwrap();
    let handles = [(); 2].map(|()| others.branching_database(MAIN).unwrap());
    let mut transactions = handles.each_ref().map(|db| db.begin(&TxOptions::writing()).unwrap());
    for (number, tx) in transactions.iter_mut().enumerate() {
        tx.put(&[number as u8], b"value").unwrap();
    }
    transactions.into_iter().for_each(|tx| tx.commit().unwrap());
    let is_done = |mut what: Box<dyn FnMut() -> bool + '_>| {
        (0..2_000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            what()
        })
    };
    let is_closed = is_done(Box::new(|| other.delete_page("closed", PageId::ROOT).is_ok()));
    let is_merged = is_done(Box::new(|| page.heads(MAIN).unwrap().len() == 1));
    gate.set(false);
    assert!(is_closed && is_merged);
}

#[test]
fn a_deletion_is_left_unfinished_if_it_is_not_to_go_on() {
    let (gate, clock) = (Arc::new(Gate::default()), Arc::new(TestClock(AtomicU64::new(1 << 40))));
    let page = {
        let repository = Repository::open_or_create(gate.store.clone()).unwrap();
        let page = repository.create_page("large", PageId::ROOT).unwrap();
        for number in 0..1_500_u32 {
            page.set_tag(&number.to_string(), &page.head(MAIN).unwrap()).unwrap();
        }
        page
    };
    drop(page);
    // A process has decided to delete the page, and has ended.
    let repository = open(&gate, &clock);
    let begun =
        deletion::begin(repository.open_registry(), ("large", PageId::ROOT), DeleteMode::Always);
    assert!(begun.unwrap().is_some());
    let rows = || {
        let span = KeySpan::new(&[0x10, 1], Some(&[0x10, 2]));
        gate.store.snapshot().scan(span, Direction::Forward).unwrap().count()
    };
    let mut slices = 0;
    let asked = std::cell::Cell::new(0);
    let keep_going = || asked.replace(asked.get() + 1) < 2;
    deletion::finish_all(repository.host(), &keep_going).unwrap();
    assert!((1..1_000).contains(&rows()), "{} rows are left", rows());
    while rows() > 0 {
        deletion::finish_all(repository.host(), &|| true).unwrap();
        slices += 1;
    }
    assert_eq!(slices, 1);
}

/// The thread collects a page that has too much garbage, without being asked, and leaves a page
/// with little garbage alone.
#[test]
fn much_garbage_is_collected_without_being_asked() {
    let (gate, clock) = (Arc::new(Gate::default()), Arc::new(TestClock(AtomicU64::new(1 << 40))));
    let (host, own): (Arc<dyn KvDatabase>, Arc<dyn Clock>) = (gate.clone(), clock.clone());
    let repository =
        Repository::shared_builder(host).clock(own).exclusive().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    page.set_retention(Retention::Heads).unwrap();
    let db = page.database(MAIN).unwrap();
    let put = |keys: std::ops::Range<u8>, value: u8| {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        // Each has a chunk of its own.
        keys.for_each(|key| tx.put(&[key], &[&[key, value], &[7; 2_000][..]].concat()).unwrap());
        tx.commit().unwrap();
    };
    let pieces = || {
        let span = KeySpan::new(&[0x10, 1, 0x23], Some(&[0x10, 1, 0x24]));
        gate.store.snapshot().scan(span, Direction::Forward).unwrap().count()
    };
    let commits = || page.log(page.head(MAIN).unwrap()).unwrap().count();
    let wait_for_looks = || {
        let looked = gate.begun() + 20;
        while gate.begun() < looked {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    put(0..100, 1);
    page.set_tag("all", &page.head(MAIN).unwrap()).unwrap();
    let all = pieces();
    put(0..5, 2);
    put(0..5, 3);
    // The commit before goes, and with it five chunks and a node or two would be garbage: less than
    // a quarter.
    clock.0.fetch_add(660_000, Ordering::Relaxed);
    while commits() > 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    wait_for_looks();
    assert!(pieces() >= all + 12, "{} and {all}", pieces());
    put(0..40, 4);
    put(0..1, 5);
    // With the 40 of this one it is more.
    clock.0.fetch_add(660_000, Ordering::Relaxed);
    while pieces() > all + 40 + 4 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(page.verify().unwrap().is_clean());
}

/// A page that is closed and opened again while a thread that works on the page as it was is about
/// to remove a commit.
#[test]
fn what_is_read_on_a_page_that_was_opened_again_is_not_removed() {
    let (gate, clock) = (Arc::new(Gate::default()), Arc::new(TestClock(AtomicU64::new(1 << 40))));
    let (host, own): (Arc<dyn KvDatabase>, Arc<dyn Clock>) = (gate.clone(), clock.clone());
    let repository =
        Repository::shared_builder(host).clock(own).exclusive().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut commits = Vec::new();
    for value in [b"one", b"two"] {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"key", value).unwrap();
        tx.commit().unwrap();
        commits.push(page.head(MAIN).unwrap());
    }
    drop(db);
    gate.set_for_writes(true);
    page.set_retention(Retention::Heads).unwrap();
    clock.0.fetch_add(61_000, Ordering::Relaxed);
    gate.wait_for_arrival();
    drop(page);
    let page = repository.page("test", PageId::ROOT).unwrap();
    let snapshot = page.snapshot(&commits[0]).unwrap();
    let before = gate.begun();
    gate.set_for_writes(false);
    // The thread ends the collection and looks again.
    while gate.begun() < before + 20 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(snapshot.get(b"key").unwrap().as_deref(), Some(&b"one"[..]));
    assert_eq!(page.snapshot(&commits[0]).unwrap().root(), snapshot.root());
}
