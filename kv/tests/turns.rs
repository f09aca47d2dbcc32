//! A transaction that others overtake again and again gets its turn. Attempts are counted: five are
//! overtaken, the sixth is not, or the seventh where others write below the engine.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::{put, writing};
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::{
    KvDatabase, KvDatabaseExt, KvError, KvRead, KvTransaction, KvWrite, Result, TxOptions,
};

type Tx<'db> = Box<dyn KvTransaction + Send + 'db>;

const KEY: &[u8] = b"key";

/// Runs a test on each store, and the engine over it.
fn on_each_store(test: impl Fn(&dyn KvDatabase, &dyn KvDatabase)) {
    let store = MemoryStore::new();
    test(&store.clone(), &OptimisticDatabase::new(store));
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

/// Changes `KEY` unless that has to wait.
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

/// Reads `KEY` and then changes it in `db`. In between somebody else changes it in `others`, in each attempt
/// but the last, when that is not possible.
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
    // Nothing of it is left.
    put(others, KEY, b"theirs");
    put(db, KEY, b"mine");
}

#[test]
fn the_sixth_attempt_is_not_overtaken_by_other_threads() {
    on_each_store(|_, db| is_overtaken_until(6, db, db));
}

#[test]
fn the_seventh_attempt_is_not_overtaken_by_who_writes_to_the_store() {
    on_each_store(|store, db| is_overtaken_until(7, db, store));
    // Another engine over the same store is the same.
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

/// One slow writer among fast ones, all of which write the same.
#[test]
fn nobody_starves() {
    on_each_store(|_, db| {
        let enough = AtomicBool::new(false);
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
                    }
                    assert!(attempts <= 6, "{attempts}");
                });
            }
            for _ in 0..5 {
                let mut attempts = 0;
                let done = db.write(|tx| {
                    attempts += 1;
                    tx.get(KEY)?;
                    (0..2000).for_each(|_| thread::yield_now());
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

/// Transactions that the thread runs meanwhile wait for nobody.
#[test]
fn a_thread_that_has_its_turn_can_run_other_transactions() {
    on_each_store(|_, db| {
        let (mut attempts, mut refused) = (0, 0);
        db.write(|tx| {
            attempts += 1;
            tx.get(KEY)?;
            // The last attempts are in conflict with nobody.
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
        // The seventh attempt was alone with the store, and the eighth not.
        assert_eq!((attempts, refused), (8, 1));
        let values =
            db.read(|tx| Ok([KEY, b"elsewhere"].map(|key| tx.get(key).unwrap().is_some())));
        assert_eq!(values.unwrap(), [true; 2]);
    });
}

#[test]
fn a_turn_ends_with_its_transaction_however_that_ends() {
    on_each_store(|store, db| {
        for failed in [5, 6] {
            let begin = || db.begin(&TxOptions::writing().with_failed(failed)).unwrap();
            let ends: [fn(Tx<'_>) -> Result<()>; 4] = [
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
        // One that only reads needs no turn.
        let reader = db.begin(&TxOptions::reading().with_failed(6)).unwrap();
        elsewhere(|| put(db, KEY, b""));
        drop(reader);
    });
}

#[test]
fn who_waits_for_a_turn_in_vain_is_told() {
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
