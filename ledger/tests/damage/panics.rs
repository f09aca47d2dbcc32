//! If a host panics once, only the operations under way fail.

use std::future::Future;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Context;
use std::thread;
use std::time::Duration;

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Capabilities, KvDatabase, KvTransaction, KvWrite, TxOptions};
use permazen_ledger::{LedgerError, MAIN, Page, PageId, Repository, Retention};

use crate::support::page::put;

/// Long enough for every machine. A test waits this long only if something is wrong.
const LONG: Duration = Duration::from_secs(60);

/// A host that panics when a thread with a given name begins a transaction.
#[derive(Clone, Default)]
struct Panics {
    store: MemoryStore,
    /// The name, and how many transactions it begins before.
    on: Arc<Mutex<Option<(&'static str, usize)>>>,
}

impl Panics {
    fn on(&self, thread: &'static str, transactions: usize) {
        *self.on.lock().unwrap() = Some((thread, transactions));
    }

    /// Waits until it has panicked.
    fn wait(&self) {
        let begun = std::time::Instant::now();
        while self.on.lock().unwrap().is_some() {
            assert!(begun.elapsed() < LONG, "no thread begins a transaction");
            thread::yield_now();
        }
    }
}

impl KvDatabase for Panics {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        let mut on = self.on.lock().unwrap();
        match &mut *on {
            Some((name, 0)) if thread::current().name() == Some(name) => {
                *on = None;
                drop(on);
                panic!("the host has panicked, as the test wants");
            }
            Some((name, left)) if thread::current().name() == Some(name) => *left -= 1,
            _ => {}
        }
        drop(on);
        self.store.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }
}

fn page(host: &Panics) -> Page {
    let repository =
        Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
    repository.page_or_create("test", PageId::ROOT).unwrap()
}

fn put_key(page: &Page, key: &[u8]) {
    put(page, MAIN, key, b"");
}

#[test]
fn watches_are_told_after_a_panic_of_the_host_on_their_thread() {
    let host = Panics::default();
    let (here, there) = (page(&host), page(&host));
    let db = here.database(MAIN).unwrap();
    for looks in 0..3 {
        let first = db.begin(&TxOptions::reading()).unwrap().watch(b"key").unwrap();
        let mut watcher = here.watch(MAIN, b"").unwrap();
        host.on("permazen-ledger-heads", looks);
        host.wait();
        // A key that could not be read may have changed.
        assert!(first.wait_timeout(LONG).unwrap());
        let second = db.begin(&TxOptions::reading()).unwrap().watch(b"key").unwrap();
        put_key(&there, b"key");
        assert!(second.wait_timeout(LONG).unwrap());
        let notification = watcher.next(LONG).unwrap().unwrap();
        assert_eq!(notification.updates.len(), 1);
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.remove(b"key").unwrap();
        tx.commit().unwrap();
    }
}

/// Panics when it is woken by the end of a watch.
struct Panicking;

impl std::task::Wake for Panicking {
    fn wake(self: Arc<Self>) {
        panic!("the program has panicked, as the test wants");
    }
}

#[test]
fn watches_are_notified_after_their_wakers_panic() {
    let host = Panics::default();
    let (here, there) = (page(&host), page(&host));
    let db = here.database(MAIN).unwrap();
    let watch = |key: &[u8]| db.begin(&TxOptions::reading()).unwrap().watch(key).unwrap();
    let waker = Arc::new(Panicking).into();
    let mut told = [b"a", b"b"].map(|key| Box::pin(watch(key)));
    for watch in &mut told {
        assert!(watch.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    put_key(&there, b"a");
    // A watch that may not have been notified because of the first panic is notified then, and its
    // waker panics too.
    told.iter().for_each(|watch| assert!(watch.wait_timeout(LONG).unwrap()));
    let other = watch(b"c");
    put_key(&there, b"c");
    assert!(other.wait_timeout(LONG).unwrap());
}

#[test]
fn a_value_of_which_a_panic_has_lost_a_part_is_gone() {
    let host = Panics::default();
    let page = page(&host);
    let portion = vec![7; 1 << 18];
    for transactions in 0..3 {
        host.on("permazen-value", transactions);
        let mut value = page.write_value(None).unwrap();
        let mut write = || {
            let mut panics = 0;
            for _ in 0..40 {
                match catch_unwind(AssertUnwindSafe(|| value.write_all(&portion))) {
                    Ok(Ok(())) => assert_eq!(panics, 0, "written after the panic"),
                    Ok(Err(error)) => {
                        assert_eq!(panics, 1);
                        let error = error.get_ref().unwrap().downcast_ref().unwrap();
                        assert!(matches!(error, LedgerError::ValueGone { .. }), "{error}");
                    }
                    Err(_) => panics += 1,
                }
            }
            panics
        };
        assert_eq!(write(), 1);
        let error = value.finish().unwrap_err();
        assert!(matches!(error, LedgerError::ValueGone { .. }), "{error}");
        // Another one has all of its parts.
        let mut value = page.write_value(None).unwrap();
        (0..40).for_each(|_| value.write_all(&portion).unwrap());
        assert_eq!(value.finish().unwrap().value_len(), 40 << 18);
    }
    assert!(page.verify().unwrap().findings.is_empty());
}

#[test]
fn a_commit_that_was_being_removed_is_not_waited_for_after_a_panic() {
    for operation in 1.. {
        let host = FaultStore::new(MemoryStore::new());
        let faults = host.faults();
        // It removes commits without a grace time.
        let builder = Repository::builder(host).exclusive().manual_maintenance();
        let page = builder.open_or_create().unwrap().create_page("test", PageId::ROOT).unwrap();
        put_key(&page, b"a");
        let old = page.head(MAIN).unwrap();
        put_key(&page, b"b");
        page.set_retention(Retention::Heads).unwrap();
        faults.fail_nth(operation, || panic!("the host has panicked, as the test wants"));
        let collected = catch_unwind(AssertUnwindSafe(|| page.collect()));
        faults.stop();
        // It is there still, or it is removed.
        let (sender, read) = mpsc::channel();
        let reader = page.clone();
        thread::spawn(move || sender.send(reader.snapshot(&old).is_ok()));
        let is_there = read.recv_timeout(LONG).unwrap();
        if let Ok(collected) = collected {
            collected.unwrap();
            assert!(!is_there);
            break;
        }
    }
}
