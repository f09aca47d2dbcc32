//! A host that reports at once that it is busy is tried again after pauses.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Capabilities, KvDatabase, KvError, KvTransaction, KvWrite, TxOptions};
use permazen_ledger::MAIN;

use super::setting::{attached, bring_pieces, copy, copy_in, follow, noise, put_lazy, write};
use super::sources::Remote;

#[derive(Default)]
struct Busy {
    store: MemoryStore,
    /// Whether the next attempt begins the time in which it is busy.
    is_next: AtomicBool,
    until: Mutex<Option<Instant>>,
    attempts: AtomicUsize,
}

impl KvDatabase for Busy {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        // Before a pause, it is asked without waiting whether another attempt is in vain.
        let is_attempt = !options.read_only && options.wait != Some(Duration::ZERO);
        if is_attempt && self.is_next.swap(false, Ordering::Relaxed) {
            *self.until.lock().unwrap() = Some(Instant::now() + Duration::from_millis(200));
        }
        let until = *self.until.lock().unwrap();
        if is_attempt && until.is_some_and(|until| Instant::now() < until) {
            self.attempts.fetch_add(1, Ordering::Relaxed);
            return Err(KvError::Retry("others write".to_owned()));
        }
        self.store.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }
}

impl Busy {
    /// Is busy for a while from the first attempt of a function to write.
    fn meanwhile(&self, write: impl FnOnce()) {
        self.is_next.store(true, Ordering::Relaxed);
        write();
        let attempts = self.attempts.load(Ordering::Relaxed);
        assert!((1..20).contains(&attempts), "{attempts} attempts");
    }
}

#[test]
fn a_received_commit() {
    let (there, host) = (copy(), Arc::new(Busy::default()));
    let id = write(&there, MAIN, |tx| tx.put(b"key", b"value").unwrap());
    let here = copy_in(host.clone());
    let mut receiver = here.receive();
    let bytes = bring_pieces(&there, &mut receiver, &id);
    host.meanwhile(|| receiver.add_commit(&id, &bytes).unwrap());
}

#[test]
fn a_fetched_value() {
    let (there, host, value) = (copy(), Arc::new(Busy::default()), noise(300_000, 1));
    put_lazy(&there, b"film", &value);
    let here = attached(host.clone());
    let head = follow(&there, &here);
    here.set_source(Remote::of(&there), Duration::from_secs(600));
    let snapshot = here.snapshot(&head).unwrap();
    host.meanwhile(|| assert_eq!(snapshot.fetch(b"film").unwrap().unwrap(), value));
}

#[test]
fn a_commit_beside_others() {
    let host = Arc::new(Busy::default());
    let here = copy_in(host.clone());
    let db = here.branching_database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"value").unwrap();
    host.meanwhile(|| tx.commit().unwrap());
}
