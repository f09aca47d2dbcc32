//! The threads do not wait for each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Capabilities, Direction, KeySpan, KvDatabase, KvRead, KvTransaction, KvWrite, Result, TxOptions,
};

use crate::ids::PageId;
use crate::process::clock::Clock;
use crate::repository::{MAIN, Repository};

#[derive(Debug)]
struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// A store in which the thread that collects does not get on while the gate is closed.
#[derive(Debug, Default)]
struct Gate {
    store: MemoryStore,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    has_arrived: bool,
}

impl Gate {
    fn set(&self, is_closed: bool) {
        self.state.lock().unwrap().is_closed = is_closed;
        self.changed.notify_all();
    }

    fn wait_for_arrival(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| !state.has_arrived).unwrap());
    }
}

impl KvDatabase for Gate {
    fn begin<'db>(&'db self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send + 'db>> {
        if std::thread::current().name() == Some("permazen-ledger-keeper") {
            let mut state = self.state.lock().unwrap();
            state.has_arrived |= state.is_closed;
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |state| state.is_closed).unwrap());
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
    let repository = Repository::shared_builder(host).clock(own).create().unwrap();
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
