//! A transaction that others overtake again and again gets its turn. Attempts are counted: five are
//! overtaken, the sixth is not, or the seventh if others write directly to the store. Where writers
//! take turns, a thread that would wait for itself gets an error.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use permazen_kv::__internal::check_can_begin;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::prefix::Prefixed;
use permazen_kv::{
    AtomicKvStore, Conflict, KvDatabase, KvDatabaseExt, KvError, KvRead, KvTransaction, KvWrite,
    Result, Retry, SharedRead, TxOptions, Writes,
};

use crate::support::{put, writing};

type Tx = Box<dyn KvTransaction + Send>;

const KEY: &[u8] = b"key";

/// Runs a test on each store, and the engine over it.
fn on_each_store(test: impl Fn(&dyn KvDatabase, &dyn KvDatabase)) {
    let store = MemoryStore::new();
    test(&store.clone(), &OptimisticDatabase::new(store));
    let engine = Arc::new(OptimisticDatabase::new(MemoryStore::new()));
    test(&Arc::clone(&engine), &OptimisticDatabase::new(engine));
    #[cfg(feature = "lmdb")]
    {
        let dir = tempfile::tempdir().unwrap();
        let store = permazen_kv::lmdb::LmdbStore::open_or_create(dir.path()).unwrap();
        test(&store.clone(), &OptimisticDatabase::new(store));
    }
    #[cfg(feature = "sqlite")]
    for late in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let store = sqlite(dir.path(), late);
        test(&store.clone(), &OptimisticDatabase::new(store));
    }
}

#[cfg(feature = "sqlite")]
fn sqlite(dir: &std::path::Path, late: bool) -> permazen_kv::sqlite::SqliteStore {
    let builder = permazen_kv::sqlite::SqliteStore::builder().create(true).late_lock(late);
    builder.durability(permazen_kv::Durability::MayLoseEverything).open(dir.join("db")).unwrap()
}

/// Changes `KEY`, unless that would have to wait.
fn try_change(db: &dyn KvDatabase) -> bool {
    let change = || {
        let mut tx = db.begin(&TxOptions::writing().with_wait(Duration::ZERO))?;
        tx.put(KEY, b"theirs")?;
        tx.commit()
    };
    match change() {
        Err(error) if error.is_retryable() => false,
        changed => changed.map(|()| true).unwrap(),
    }
}

/// Runs on another thread.
fn elsewhere<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(run).join().unwrap())
}

/// Reads `KEY` and then changes it in `db`. In between, others change it in `others`, in each
/// attempt but the last one, when that is not possible.
fn is_overtaken_until(last: u32, db: &dyn KvDatabase, others: &dyn KvDatabase) {
    let mut attempts = 0;
    db.write(|tx| {
        attempts += 1;
        tx.get(KEY)?;
        if attempts < last {
            elsewhere(|| put(others, KEY, &[attempts as u8]));
        } else {
            assert!(!elsewhere(|| try_change(others)), "attempt {attempts}");
        }
        tx.put(KEY, b"mine")
    })
    .unwrap();
    assert_eq!(attempts, last);
    assert_eq!(db.read(|tx| Ok(tx.get(KEY)?.unwrap().into_owned())).unwrap(), b"mine");
    // Nothing of the turn remains.
    put(others, KEY, b"theirs");
    put(db, KEY, b"mine");
}

#[test]
fn the_sixth_attempt_is_not_overtaken_by_other_threads() {
    on_each_store(|_, db| is_overtaken_until(6, db, db));
}

#[test]
fn the_seventh_attempt_is_not_overtaken_by_writers_to_the_store() {
    on_each_store(|store, db| is_overtaken_until(7, db, store));
    // The same holds for another engine over the same store.
    let store = MemoryStore::new();
    let [one, two] = [store.clone(), store].map(OptimisticDatabase::new);
    is_overtaken_until(7, &one, &two);
}

#[test]
#[cfg(feature = "sqlite")]
fn the_sixth_attempt_takes_the_right_to_write_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let [one, two] = [(); 2].map(|()| sqlite(dir.path(), true));
    is_overtaken_until(6, &one, &two);
}

/// One slow writer among fast ones. All write the same key.
#[test]
fn no_transaction_starves() {
    on_each_store(|_, db| {
        let (enough, fast) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut attempts = 0;
                    while !enough.load(Ordering::Relaxed) {
                        attempts = 0;
                        let count = |tx: &mut dyn KvTransaction| {
                            attempts += 1;
                            tx.get(KEY)?;
                            tx.put(KEY, b"fast")
                        };
                        db.write(count).unwrap();
                        fast.fetch_add(1, Ordering::Relaxed);
                    }
                    assert!(attempts <= 6, "{attempts}");
                });
            }
            for _ in 0..5 {
                let mut attempts = 0;
                let done = db.write(|tx| {
                    attempts += 1;
                    tx.get(KEY)?;
                    // Until another one has committed, or cannot, since this one has its turn.
                    let before = fast.load(Ordering::Relaxed);
                    for _ in 0..50 {
                        if fast.load(Ordering::Relaxed) != before {
                            break;
                        }
                        thread::sleep(Duration::from_millis(1));
                    }
                    tx.put(KEY, b"slow")
                });
                if attempts > 6 || done.is_err() {
                    enough.store(true, Ordering::Relaxed);
                }
                done.unwrap();
                assert!(attempts <= 6, "{attempts}");
            }
            enough.store(true, Ordering::Relaxed);
        });
    });
}

/// Transactions that the thread runs in between do not wait.
#[test]
fn a_thread_that_has_its_turn_can_run_other_transactions() {
    on_each_store(|_, db| {
        let (mut attempts, mut refused) = (0, 0);
        db.write(|tx| {
            attempts += 1;
            tx.get(KEY)?;
            // The last attempts have no conflicts.
            let key: &[u8] = if attempts <= 6 { KEY } else { b"elsewhere" };
            let inner = db.write(|inner| {
                inner.get(key)?;
                inner.put(key, b"inner")
            });
            refused += u32::from(inner.is_err());
            inner?;
            tx.put(KEY, b"outer")
        })
        .unwrap();
        // The thread itself overtook the sixth attempt, so the next one leaves the store to others.
        assert_eq!((attempts, refused), (7, 0));
        let values =
            db.read(|tx| Ok([KEY, b"elsewhere"].map(|key| tx.get(key).unwrap().is_some())));
        assert_eq!(values.unwrap(), [true; 2]);
    });
}

/// Runs a transaction as `write` does, without pauses.
fn write_without_pauses(
    db: &dyn KvDatabase,
    mut action: impl FnMut(&mut dyn KvTransaction) -> Result<()>,
) -> Result<()> {
    let pause = Duration::ZERO;
    Retry { first_pause: pause, longest_pause: pause, ..Retry::default() }.run(
        |failed| db.begin(&TxOptions::writing().with_failed(failed)),
        |mut tx| {
            action(&mut *tx)?;
            tx.commit()
        },
        KvError::is_retryable,
    )
}

/// A transaction that writes directly to the store does not wait for itself.
#[test]
fn a_thread_that_has_its_turn_can_write_to_the_store() {
    on_each_store(|store, db| {
        let (mut attempts, mut refused) = (0, Vec::new());
        write_without_pauses(db, |tx| {
            attempts += 1;
            tx.get(KEY)?;
            // The last attempts have no conflicts.
            let key: &[u8] = if attempts <= 6 { KEY } else { b"elsewhere" };
            let direct = store.write(|direct| direct.put(key, &[attempts]));
            refused.extend(direct.as_ref().err().map(|error| (attempts, error.to_string())));
            direct?;
            tx.put(KEY, b"outer")
        })
        .unwrap();
        assert_eq!(attempts, 8);
        let [(7, text)] = &refused[..] else { panic!("{refused:?}") };
        assert!(text.contains("this thread") && text.contains("write through that one"), "{text}");
        let values =
            db.read(|tx| Ok([KEY, b"elsewhere"].map(|key| tx.get(key).unwrap().is_some())));
        assert_eq!(values.unwrap(), [true; 2]);
    });
}

/// The store above asks the one below first, as pages of a ledger do.
#[test]
fn a_store_above_does_not_hide_that_this_thread_would_wait_for_itself() {
    struct Above(MemoryStore);
    impl KvDatabase for Above {
        fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
            check_can_begin(&self.0)?;
            self.0.begin(options)
        }
    }
    let above = Above(MemoryStore::new());
    let db = OptimisticDatabase::new(above.0.clone());
    check_can_begin(&above).unwrap();
    let tx = db.begin(&TxOptions::writing().with_failed(6)).unwrap();
    for refused in [check_can_begin(&above.0), check_can_begin(&above)] {
        assert!(refused.is_err_and(|error| error.to_string().contains("write through that one")));
    }
    tx.commit().unwrap();
    check_can_begin(&above).unwrap();
}

#[test]
fn one_overtaken_from_within_each_time_is_told_so() {
    on_each_store(|store, db| {
        for (others, within) in [(db, true), (store, false)] {
            let mut attempts = 0;
            let error = write_without_pauses(db, |tx| {
                attempts += 1;
                tx.get(KEY)?;
                others.write(|inner| inner.put(KEY, &[attempts]))?;
                tx.put(b"outer", b"")
            })
            .unwrap_err();
            assert_eq!(attempts, 31);
            let text = error.to_string();
            let KvError::Conflict(conflict) = error else { panic!("{text}") };
            assert!(text.contains("read/write conflict at 6b6579"), "{text}");
            assert_eq!(text.contains("within this one"), within, "{text}");
            assert_eq!(matches!(*conflict, Conflict::Within(_)), within, "{text}");
        }
        assert!(db.read(|tx| Ok(tx.get(b"outer")?.is_none())).unwrap());
    });
}

#[test]
fn a_turn_goes_with_its_transaction_from_thread_to_thread() {
    on_each_store(|store, db| {
        for failed in [5, 6] {
            let mut tx = db.begin(&TxOptions::writing().with_failed(failed)).unwrap();
            tx.get(KEY).unwrap();
            elsewhere(|| {
                // This thread has the transaction, but has not used it yet, so the turn is not
                // here.
                assert!(!try_change(db));
                tx.put(KEY, b"outer").unwrap();
                // Now the turn belongs to this thread, which does not wait, and to no other.
                if failed == 5 {
                    put(db, b"inner", b"");
                    put(store, b"direct", b"");
                } else {
                    for db in [db, store] {
                        let text = db.write(|tx| tx.put(b"inner", b"")).unwrap_err().to_string();
                        assert!(text.contains("this thread"), "{text}");
                    }
                }
                elsewhere(|| assert!(!try_change(db)));
                if failed == 6 {
                    elsewhere(|| assert!(!try_change(store)));
                }
            });
            // This thread does nothing in the transaction, so the turn is not here.
            assert!(!try_change(db));
            elsewhere(|| tx.commit()).unwrap();
            assert!(try_change(db) && elsewhere(|| try_change(store)));
        }
    });
}

/// A store whose changes are not complete before `meanwhile` has run.
struct Slow<F> {
    store: MemoryStore,
    meanwhile: F,
}

impl<F: Fn() + Send + Sync> AtomicKvStore for Slow<F> {
    fn snapshot(&self) -> Result<SharedRead> {
        AtomicKvStore::snapshot(&self.store)
    }

    fn apply(&self, writes: &Writes, sync: bool) -> Result<()> {
        (self.meanwhile)();
        AtomicKvStore::apply(&self.store, writes, sync)
    }
}

/// A thread that has waited for a turn then commits like all others. There is no queue for that.
#[test]
fn a_commit_that_has_waited_does_not_keep_the_turn() {
    let (started, starts) = mpsc::channel();
    let (go, gone) = mpsc::channel();
    let gone = Mutex::new(gone);
    let meanwhile = move || {
        started.send(()).unwrap();
        let _ = gone.lock().unwrap().recv_timeout(Duration::from_millis(100));
    };
    let db = OptimisticDatabase::new(Slow { store: MemoryStore::new(), meanwhile });
    let turn = db.begin(&TxOptions::writing().with_failed(5)).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| put(&db, KEY, b""));
        // Long enough to wait for the turn. If it is too short, this shows nothing.
        thread::sleep(Duration::from_millis(20));
        drop(turn);
        starts.recv().unwrap();
        let begun = db.begin(&TxOptions::writing().with_failed(5).with_wait(Duration::ZERO));
        let _ = go.send(());
        begun.unwrap();
    });
}

#[test]
fn a_turn_ends_with_its_transaction_however_that_ends() {
    on_each_store(|store, db| {
        for failed in [5, 6] {
            let begin = || db.begin(&TxOptions::writing().with_failed(failed)).unwrap();
            let ends: [fn(Tx) -> Result<()>; 4] = [
                |tx| tx.commit(),
                |mut tx| tx.put(KEY, b"").and_then(|()| tx.commit()),
                |tx| {
                    tx.rollback();
                    Ok(())
                },
                |tx| {
                    drop(tx);
                    Ok(())
                },
            ];
            for end in ends {
                let tx = begin();
                assert!(!elsewhere(|| try_change(db)));
                if failed == 6 {
                    assert!(!elsewhere(|| try_change(store)));
                }
                end(tx).unwrap();
                elsewhere(|| put(db, KEY, b""));
                elsewhere(|| put(store, KEY, b""));
            }
            let mut tx = begin();
            tx.set_read_only().unwrap();
            elsewhere(|| put(db, KEY, b""));
        }
        // A transaction that only reads needs no turn.
        let reader = db.begin(&TxOptions::reading().with_failed(6)).unwrap();
        elsewhere(|| put(db, KEY, b""));
        drop(reader);
    });
}

#[test]
fn a_wait_for_a_turn_in_vain_is_an_error() {
    on_each_store(|_, db| {
        let held = db.begin(&TxOptions::writing().with_failed(5)).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let options = TxOptions::writing().with_wait(Duration::from_millis(2));
                let mut tx = db.begin(&options).unwrap();
                tx.put(KEY, b"").unwrap();
                let error = tx.commit().unwrap_err();
                assert!(matches!(error, KvError::Retry(_)), "{error:?}");
                assert!(db.begin(&options.with_failed(5)).is_err_and(|error| error.is_retryable()));
            });
        });
        held.rollback();
        assert!(writing(db).commit().is_ok());
    });
}

/// Runs a test on two handles of each store in which one transaction writes at a time.
fn on_two_handles(test: impl Fn(&dyn KvDatabase, &dyn KvDatabase)) {
    let store = MemoryStore::new();
    test(&store.clone(), &store);
    test(&Prefixed::new(store.clone(), b"a"), &Prefixed::new(store, b"b"));
    let counting = Arc::new(permazen_kv::counting::CountingStore::new(MemoryStore::new()));
    test(&Arc::clone(&counting), &counting);
    #[cfg(feature = "lmdb")]
    {
        use permazen_kv::lmdb::LmdbStore;
        let dir = tempfile::tempdir().unwrap();
        let store = LmdbStore::open_or_create(dir.path().join("store")).unwrap();
        test(&store.clone(), &store);
        test(&store, &LmdbStore::open(dir.path().join("./store/../store")).unwrap());
        test(&Prefixed::new(store.clone(), b"a"), &store);
    }
    #[cfg(feature = "sqlite")]
    {
        let dir = tempfile::tempdir().unwrap();
        let (store, late) = (sqlite(dir.path(), false), sqlite(dir.path(), true));
        test(&store.clone(), &store);
        test(&store, &sqlite(dir.path(), false));
        test(&late, &store);
    }
}

#[test]
fn a_thread_that_would_wait_for_itself_is_told_so_at_once() {
    const LONG: Duration = Duration::from_secs(600);
    on_two_handles(|store, other| {
        let by_hand = TxOptions::writing().with_wait(LONG);
        let refused = |result: Result<()>| {
            let error = result.unwrap_err();
            assert!(matches!(error, KvError::WithinWrite { .. }), "{error:?}");
            assert!(!error.is_retryable() && !error.is_stale() && error.is_caller_error());
            let text = error.to_string();
            assert!(
                text.contains("this thread") && text.contains("return from the closure"),
                "{text}"
            );
        };
        let mut attempts = 0;
        refused(store.write(|tx| {
            attempts += 1;
            tx.put(KEY, b"outer")?;
            other.write(|inner| inner.put(KEY, b"inner"))
        }));
        assert_eq!(attempts, 1);
        refused(store.write(|tx| {
            tx.put(KEY, b"outer")?;
            other.begin(&by_hand).map(drop)
        }));
        assert!(store.read(|tx| tx.get(KEY).map(|value| value.is_none())).unwrap());
        // A closure that continues is committed as a whole, and others can write after it.
        store
            .write(|tx| {
                tx.put(KEY, b"outer")?;
                refused(other.write(|_| Ok(())));
                assert!(other.read(|_| Ok(true))?);
                tx.put(b"more", b"")
            })
            .unwrap();
        other.write(|tx| tx.put(KEY, b"after")).unwrap();
        assert!(store.read(|tx| tx.get(b"more").map(|value| value.is_some())).unwrap());
        // After a panic too.
        let panics = || {
            store.write(|tx| -> Result<()> {
                tx.put(KEY, b"")?;
                panic!("on purpose")
            })
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        other.write(|tx| tx.put(KEY, b"after a panic")).unwrap();
        store.write(|tx| tx.remove(KEY)).unwrap();
        store.write(|tx| tx.remove(b"more")).unwrap();
    });
}

#[test]
fn a_thread_that_does_not_wait_for_itself_is_not_refused() {
    on_two_handles(|store, other| {
        // Another thread waits until the closure has ended.
        thread::scope(|scope| {
            store
                .write(|tx| {
                    tx.put(KEY, b"first")?;
                    scope.spawn(|| other.write(|tx| tx.put(KEY, b"second")).unwrap());
                    Ok(())
                })
                .unwrap();
        });
        let value = other.read(|tx| Ok(tx.get(KEY)?.map(|value| value.into_owned())));
        assert_eq!(value.unwrap().unwrap(), b"second");
        // A transaction that another thread ends.
        thread::scope(|scope| {
            let mut given = writing(store);
            given.put(KEY, b"given").unwrap();
            let (tell, told) = mpsc::channel();
            scope.spawn(move || {
                told.recv().unwrap();
                given.commit().unwrap();
            });
            tell.send(()).unwrap();
            other.write(|tx| tx.put(KEY, b"after")).unwrap();
        });
        // One of another store.
        let elsewhere = MemoryStore::new();
        store.write(|_| elsewhere.write(|tx| tx.put(KEY, b""))).unwrap();
        store.write(|tx| tx.remove(KEY)).unwrap();
    });
    // Stores in which several transactions write at a time.
    on_each_store(|_, db| {
        db.write(|_| db.write(|tx| tx.put(b"within", b""))).unwrap();
        assert!(db.read(|tx| Ok(tx.get(b"within")?.is_some())).unwrap());
    });
}

#[test]
fn a_transaction_begun_by_hand_is_named_as_what_this_thread_may_be_waiting_for() {
    on_two_handles(|store, other| {
        let mut held = writing(store);
        held.put(KEY, b"").unwrap();
        let error = other.begin(&TxOptions::writing().with_wait(Duration::from_millis(1)));
        let Err(error) = error.map(drop) else { panic!("it was not held") };
        assert!(matches!(error, KvError::Retry(_)), "{error}");
    });
}
