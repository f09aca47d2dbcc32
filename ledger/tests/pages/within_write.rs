//! Calls that write, within a `write` closure of the host on the same thread, whose end they would
//! wait for.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{
    AtomicKvStore, Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvTransaction,
    KvWrite, TxOptions,
};
use permazen_ledger::{
    CommitId, LastWriterWins, LedgerError, MAIN, Page, PageId, Repository, Result, Retention,
    ValueWriter,
};

use crate::support::page::{count_rows, within_a_turn};

/// The kind of the rows of streams.
const STREAMS: u8 = 0x31;

/// A host that counts the transactions that other threads begin in order to write.
#[derive(Debug, Clone)]
struct Counted {
    host: MemoryStore,
    begun: Arc<AtomicUsize>,
    main: thread::ThreadId,
}

impl Counted {
    fn new() -> Self {
        let (host, main) = (MemoryStore::new(), thread::current().id());
        Counted { host, begun: Arc::default(), main }
    }

    /// Waits until another thread has asked for the right to write since then.
    fn wait_for_another(&self, before: usize) {
        while self.begun() == before {
            thread::yield_now();
        }
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

impl KvDatabase for Counted {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        // Without waiting, it is only asked whether an attempt is in vain.
        let waits = !options.read_only && options.wait != Some(Duration::ZERO);
        if waits && thread::current().id() != self.main {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
        self.host.begin(options)
    }
}

#[track_caller]
fn is_refused<T>(result: Result<T>) {
    let Err(error) = result else { panic!("it is not refused") };
    assert!(matches!(error, LedgerError::Host(KvError::WithinWrite { .. })), "{error:?}");
    assert!(!error.is_retryable());
}

#[track_caller]
fn is_refused_io<T>(result: std::io::Result<T>) {
    let Err(error) = result else { panic!("it is not refused") };
    is_refused::<()>(Err(*error.into_inner().unwrap().downcast::<LedgerError>().unwrap()));
}

#[track_caller]
fn is_put_off<T>(result: Result<T>) {
    let Err(error) = result else { panic!("it is not refused") };
    let is_refused = |why: &str| why.contains("in the middle of a transaction");
    assert!(
        matches!(&error, LedgerError::Host(KvError::Retry(why)) if is_refused(why)),
        "{error:?}"
    );
}

fn put(page: &Page, key: &[u8], value: &[u8]) -> CommitId {
    let db = page.database(MAIN).unwrap();
    db.write(|tx| tx.put(key, value)).unwrap();
    page.head(MAIN).unwrap()
}

/// Bytes that no two pieces have in common.
fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn all_calls_that_write_are_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let on_disk = LmdbStore::open_or_create(dir.path().join("lmdb")).unwrap();
    let in_sqlite = SqliteStore::open_or_create(dir.path().join("sqlite")).unwrap();
    all_calls(&MemoryStore::new());
    all_calls(&on_disk);
    all_calls(&in_sqlite);
}

fn all_calls<H: KvDatabase + Clone + 'static>(host: &H) {
    let repository = Repository::builder(host.clone()).open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let other = repository.create_page("other", PageId::ROOT).unwrap();
    let closed = repository.create_page("closed", PageId::ROOT).unwrap();
    drop(closed);
    repository.maintain().unwrap();
    let oldest = put(&page, b"key", b"0");
    let first = put(&page, b"key", b"1");
    page.create_branch("side", &first).unwrap();
    page.set_tag("there", &first).unwrap();
    let last = put(&page, b"key", b"2");
    let side = page.database("side").unwrap();
    side.write(|tx| tx.put(b"other key", b"")).unwrap();
    let side = page.head("side").unwrap();
    // So that there is something to collect.
    page.set_retention(Retention::Heads).unwrap();
    let remote = page.remote();
    other.remote().attach().unwrap();
    let commit = remote.commit_bytes(&oldest).unwrap().unwrap();
    let mut receiver = other.receive();
    for (kind, digest) in receiver.wanted(&commit).unwrap() {
        receiver.add_piece(kind, remote.piece_bytes(&digest).unwrap().unwrap()).unwrap();
    }
    let connection = page.connect(MAIN).unwrap();
    let snapshot = page.snapshot(&last).unwrap();
    let long = bytes(3_000_000);
    let mut begun = Some(page.write_value(None).unwrap());
    begun.as_mut().unwrap().write_all(&long[..1000]).unwrap();

    host.write(|tx| {
        tx.put(b"\xff outside of the ledger", b"")?;
        is_refused(page.collect());
        // The first slice only begins.
        is_refused(loop {
            match page.collect_slice() {
                Ok(true) => {}
                ended => break ended,
            }
        });
        is_refused(page.set_retention(Retention::Last(3)));
        is_refused(page.set_reference_rows(true));
        is_refused(page.squash(MAIN, &first, None));
        is_refused(page.create_branch("more", &first));
        is_refused(page.reset(MAIN, &first));
        is_refused(page.remove_branch("side"));
        is_refused(page.set_tag("here", &first));
        is_refused(page.remove_tag("there"));
        is_refused(page.merge(MAIN, &side, &mut LastWriterWins));
        is_refused(page.restore(MAIN, &first));
        is_refused(receiver.add_commit(&oldest, &commit));
        is_refused(remote.attach());
        is_refused(other.remote().detach());
        is_refused(repository.create_page("more", PageId::ROOT).map(drop));
        is_refused(repository.page("closed", PageId::ROOT).map(drop));
        is_refused(repository.delete_page("closed", PageId::ROOT));
        is_refused(repository.rename_page(("closed", PageId::ROOT), ("new", PageId::ROOT)));
        is_refused(Repository::open_or_create(host.clone()).map(drop));
        for db in [page.branching_database(MAIN).unwrap(), connection.database().clone()] {
            is_refused(db.write(|tx| tx.put(b"more", b"")).map_err(LedgerError::from));
        }
        let linear = page.database(MAIN).unwrap();
        is_refused(linear.write(|tx| tx.put(b"more", b"")).map_err(LedgerError::from));
        let mut tx = connection.start().unwrap();
        tx.put(b"more", b"").unwrap();
        is_refused(tx.commit().map_err(LedgerError::from));
        // Nothing is stored of a short value before a commit.
        let mut short = page.write_value(None).unwrap();
        short.write_all(b"short").unwrap();
        drop(short.finish().unwrap());
        is_refused(begun.take().unwrap().finish());
        let mut value = page.write_value(None).unwrap();
        is_refused_io(value.write_all(&long));
        // Reading is not refused.
        assert_eq!(page.head(MAIN).unwrap(), last);
        assert_eq!(snapshot.get(b"key").unwrap().as_deref(), Some(&b"2"[..]));
        assert_eq!(page.log(last).unwrap().count(), 3);
        drop(value);
        Ok(())
    })
    .unwrap();
    // Nothing was changed, and no lock is held.
    assert_eq!(page.head(MAIN).unwrap(), last);
    assert_eq!(page.squash(MAIN, &first, None).unwrap(), page.head(MAIN).unwrap());
    page.collect().unwrap();
}

/// Runs this on another thread until it asks for the right to write to the host. Then this thread
/// continues.
fn beside<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    host: &Counted,
    run: impl FnOnce() -> T + Send + 'scope,
) -> thread::ScopedJoinHandle<'scope, T> {
    let before = host.begun();
    let running = scope.spawn(run);
    host.wait_for_another(before);
    running
}

/// A thread stores values that are written in parts, and waits for the right to write that this
/// thread has.
#[test]
fn a_value_that_is_being_stored_is_not_waited_for() {
    let host = Counted::new();
    let repository =
        Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let long = bytes(3_000_000);
    let begun = || page.write_value(None).unwrap();
    let mut writers = [begun(), begun(), begun()];
    host.host
        .write(|_| {
            for writer in &mut writers {
                thread::scope(|scope| {
                    let written = || writer.write_all(&long[..2_000_000]).unwrap();
                    beside(scope, &host, written).join().unwrap();
                });
            }
            Ok(())
        })
        .unwrap();
    // A thread that comes too late to store its part would wait for the next closure.
    let until = Instant::now() + Duration::from_secs(60);
    while count_rows(&host, STREAMS) < 3 {
        assert!(Instant::now() < until, "{} parts are stored", count_rows(&host, STREAMS));
        thread::yield_now();
    }
    let [mut first, second, third] = writers;
    let mut is_over = false;
    let (mut second, mut third) = (Some(second), Some(third));
    host.host
        .write(|_| {
            if let (Some(second), Some(third)) = (second.take(), third.take()) {
                let busy = |mut writer: ValueWriter| {
                    thread::scope(|scope| {
                        let more = || {
                            writer.write_all(&long[2_000_000..]).unwrap();
                            writer
                        };
                        beside(scope, &host, more).join().unwrap()
                    })
                };
                let (mut second, third) = (busy(second), busy(third));
                is_refused_io(second.write_all(&long));
                is_refused(second.finish());
                drop(third);
                is_over = true;
            }
            Ok(())
        })
        .unwrap();
    assert!(is_over);
    // The bytes that were refused can be written after the closure.
    first.write_all(&long[2_000_000..]).unwrap();
    let value = first.finish().unwrap();
    assert_eq!(value.value_len(), 3_000_000);
    put(&page, b"long", value.as_bytes());
    // The thread of a value that was given up may still be about to notice it.
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        page.collect().unwrap();
        let report = page.verify().unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        if report.unreachable_pieces == 0 {
            break;
        }
        assert!(Instant::now() < until, "{} pieces are left", report.unreachable_pieces);
    }
}

/// Another thread is in the middle of the same, and waits for the right to write that this thread
/// has.
#[test]
fn what_another_thread_does_meanwhile_is_not_waited_for() {
    let host = Counted::new();
    let repository =
        Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    drop(repository.create_page("closed", PageId::ROOT).unwrap());
    repository.maintain().unwrap();
    put(&page, b"key", b"1");
    let handle = page.branching_database(MAIN).unwrap();
    let (host, repository, page, handle) = (&host, &repository, &page, &handle);
    thread::scope(|scope| {
        let mut running = Vec::new();
        host.host
            .write(|_| {
                running.push(beside(scope, host, || page.collect().map(drop)));
                is_refused(page.collect());
                is_refused(page.collect_slice());
                let open = || repository.page("closed", PageId::ROOT).map(drop);
                running.push(beside(scope, host, open));
                is_refused(open());
                let delete = || repository.delete_page("closed", PageId::ROOT);
                is_refused(delete());
                let write = || handle.write(|tx| tx.put(b"more", b"")).map_err(LedgerError::from);
                running.push(beside(scope, host, write));
                is_refused(write());
                Ok(())
            })
            .unwrap();
        running.into_iter().for_each(|running| running.join().unwrap().unwrap());
    });
}

/// A transaction of a page that has failed again and again holds the right to write to the host.
/// Calls of its thread beside it are refused at once, so that the transaction runs again, and its
/// next attempts leave that right to others.
#[test]
fn a_transaction_that_holds_the_host_is_not_waited_for_by_its_own_thread() {
    let repository =
        Repository::builder(MemoryStore::new()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let other = repository.create_page("other", PageId::ROOT).unwrap();
    let id = put(&page, b"key", b"1");
    let remote = page.remote();
    let commit = remote.commit_bytes(&id).unwrap().unwrap();
    let mut receiver = other.receive();
    for (kind, digest) in receiver.wanted(&commit).unwrap() {
        receiver.add_piece(kind, remote.piece_bytes(&digest).unwrap().unwrap()).unwrap();
    }
    let handle = other.branching_database(MAIN).unwrap();
    let long = bytes(3_000_000);
    let mut begun = Some(page.write_value(None).unwrap());
    begun.as_mut().unwrap().write_all(&long[..1000]).unwrap();
    let mut value = page.write_value(None).unwrap();
    within_a_turn(&page, |is_held| {
        if !is_held {
            receiver.add_commit(&id, &commit).unwrap();
            value.write_all(&long).unwrap();
            return;
        }
        let start = Instant::now();
        is_put_off(receiver.add_commit(&id, &commit));
        is_put_off(begun.take().unwrap().finish());
        let error = value.write_all(&long).unwrap_err().into_inner().unwrap();
        is_put_off::<()>(Err(*error.downcast::<LedgerError>().unwrap()));
        let mut tx = handle.begin(&TxOptions::writing()).unwrap();
        tx.put(b"more", b"").unwrap();
        is_put_off(tx.commit().map_err(LedgerError::from));
        // Each of them would try for 30 seconds.
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    });
    value.finish().unwrap();
    assert!(page.verify().unwrap().findings.is_empty());
}

/// The last handles go with the transaction, and closing the repository writes to the host.
#[test]
fn a_transaction_that_holds_the_host_ends_before_the_last_handles() {
    let host = MemoryStore::new();
    let repository =
        Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let store = page.database(MAIN).unwrap().store().clone();
    let tx = AtomicKvStore::hold(&store, Duration::ZERO).unwrap().unwrap();
    drop((store, page, repository));
    // The rows that say which pages are open.
    let opened = KeySpan::new(&[0x08], Some(&[0x09]));
    let count = || host.snapshot().scan(opened, Direction::Forward).unwrap().count();
    assert_eq!(count(), 1);
    // It has changed nothing.
    tx.commit().unwrap();
    assert_eq!(count(), 0);
}
