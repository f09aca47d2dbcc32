//! The counters of stores.
#![cfg(all(feature = "lmdb", feature = "sqlite", feature = "testsuite"))]

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use permazen_kv::counting::CountingStore;
use permazen_kv::fault::FaultStore;
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::prefix::Prefixed;
use permazen_kv::read_only::ReadOnly;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{
    Counters, KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, Result, TxOptions,
};

use crate::support::conflict::conflict_once;
use crate::support::each_store::stores;

#[test]
fn each_store_counts_each_thing_once() {
    let (stores, _dir) = stores();
    for (name, store, has_conflicts) in stores {
        let first = store.counters();
        let none = [first.commits, first.retries, first.unknown_outcomes, first.waits];
        assert_eq!(none, [Some(0); 4], "{name}");
        assert_eq!(first.conflicts, has_conflicts.then_some(0), "{name}");
        let begun = first.begun.unwrap();
        store.write(|tx| tx.put(b"key", b"value")).unwrap();
        let now = store.counters();
        assert_eq!((now.begun, now.commits), (Some(begun + 1), Some(1)), "{name}");
        // A transaction that only reads, changes nothing, or is rolled back does not count as a
        // commit.
        store.read(|tx| tx.get(b"key").map(drop)).unwrap();
        store.write(|tx| tx.get(b"key").map(drop)).unwrap();
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put(b"key", b"other").unwrap();
        tx.rollback();
        let mut tx = store.begin(&TxOptions::reading()).unwrap();
        tx.put(b"key", b"other").unwrap();
        tx.commit().unwrap();
        let failed: Result<()> = store.write(|tx| {
            tx.put(b"key", b"other")?;
            Err(KvError::InvalidArgument(String::new()))
        });
        failed.unwrap_err();
        let now = store.counters();
        assert_eq!((now.begun, now.commits), (Some(begun + 6), Some(1)), "{name}");
        // A closure that runs again.
        let mut attempts = 0;
        store
            .write(|tx| {
                attempts += 1;
                tx.put(b"key", &[attempts])?;
                if attempts < 3 { Err(KvError::Retry("again".to_owned())) } else { Ok(()) }
            })
            .unwrap();
        let now = store.counters();
        assert_eq!((now.retries, now.commits), (Some(2), Some(2)), "{name}");
        assert_eq!(now.conflicts, first.conflicts, "{name}");
        assert_eq!(now.unknown_outcomes, Some(0), "{name}");
    }
}

#[test]
fn conflicts_and_the_attempts_after_them_are_counted() {
    let (stores, _dir) = stores();
    for (name, store, has_conflicts) in stores {
        if has_conflicts {
            conflict_once(&store);
            let now = store.counters();
            assert_eq!((now.conflicts, now.retries), (Some(1), Some(1)), "{name}");
            assert_eq!(now.commits, Some(2), "{name}");
        }
    }
}

#[test]
fn a_store_over_another_one_counts_its_own_transactions() {
    let below = MemoryStore::new();
    let store = OptimisticDatabase::new(below.clone());
    conflict_once(&store);
    let (own, other) = (store.counters(), below.counters());
    assert_eq!((own.begun, own.commits, own.conflicts), (Some(3), Some(2), Some(1)));
    assert_eq!((other.commits, other.retries, other.conflicts), (Some(2), Some(0), None));
    // One that has its turn, and the right to write to the store, is there for the first time.
    let mut tx = store.begin(&TxOptions::writing().with_failed(6)).unwrap();
    tx.put(b"key", b"").unwrap();
    tx.commit().unwrap();
    assert_eq!((store.counters().retries, below.counters().retries), (Some(2), Some(0)));
}

#[test]
fn wrappers_pass_on_what_was_counted() {
    let store = OptimisticDatabase::new(MemoryStore::new());
    conflict_once(&store);
    let counted = store.counters();
    assert!(counted.begun == Some(3) && counted.commits == Some(2));
    let prefixed = Prefixed::new(&store, b"p");
    let arc: Arc<dyn KvDatabase + '_> = Arc::new(&store);
    let wrappers: [&dyn KvDatabase; 6] = [
        &ReadOnly(&store),
        &prefixed,
        &CountingStore::new(&store),
        &FaultStore::new(&store),
        &Box::new(&store),
        &arc,
    ];
    for wrapper in wrappers {
        assert_eq!(wrapper.counters(), counted);
    }
    // A transaction of a wrapper is one.
    prefixed.write(|tx| tx.put(b"key", b"")).unwrap();
    let now = prefixed.counters();
    assert_eq!((now.begun, now.commits), (Some(4), Some(3)));
}

#[test]
fn clones_and_others_that_share_a_store_count_together() {
    let dir = tempfile::tempdir().unwrap();
    let one = LmdbStore::open_or_create(dir.path()).unwrap();
    let other = LmdbStore::open(dir.path()).unwrap();
    one.write(|tx| tx.put(b"one", b"")).unwrap();
    other.clone().write(|tx| tx.put(b"other", b"")).unwrap();
    assert_eq!((one.counters().commits, other.counters().commits), (Some(2), Some(2)));
}

#[test]
fn each_transaction_of_a_group_is_a_commit() {
    const THREADS: u8 = 8;
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::open_or_create(dir.path().join("lmdb")).unwrap();
    let sqlite = SqliteStore::open_or_create(dir.path().join("sqlite")).unwrap();
    for store in [&lmdb as &dyn KvDatabase, &sqlite] {
        let version = || store.read(|tx| Ok(tx.version().unwrap())).unwrap();
        let before = version();
        // Until some of them were committed together, which the number of versions shows.
        let mut rounds = 0;
        loop {
            rounds += 1;
            let barrier = Barrier::new(THREADS.into());
            thread::scope(|scope| {
                for key in 0..THREADS {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        barrier.wait();
                        store.write(|tx| tx.put(&[key], &[rounds])).unwrap();
                    });
                }
            });
            let commits = u64::from(rounds) * u64::from(THREADS);
            let now = store.counters();
            assert_eq!(now.commits, Some(commits));
            if version() - before < commits {
                assert!(now.waits > Some(0) && now.waited > Some(Duration::ZERO));
                break;
            }
            assert!(rounds < 200, "no group");
        }
    }
}

#[test]
fn waits_are_counted_and_those_in_vain_too() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::open_or_create(dir.path().join("lmdb")).unwrap();
    let sqlite = SqliteStore::open_or_create(dir.path().join("sqlite")).unwrap();
    let memory = MemoryStore::new();
    let stores: [Arc<dyn KvDatabase>; 3] = [Arc::new(lmdb), Arc::new(sqlite), Arc::new(memory)];
    for store in stores {
        let held = store.begin(&TxOptions::writing()).unwrap();
        let wait = Duration::from_millis(3);
        let refused = store.begin(&TxOptions::writing().with_wait(wait)).map(drop);
        assert!(refused.unwrap_err().is_retryable());
        drop(held);
        drop(store.begin(&TxOptions::writing()).unwrap());
        let now = store.counters();
        assert_eq!((now.begun, now.waits, now.waits_in_vain), (Some(2), Some(1), Some(1)));
        assert!(now.waited.unwrap() >= wait);
        // The waits of a database above are known there too.
        let above = OptimisticDatabase::new(store).counters();
        assert_eq!((above.waits, above.waits_in_vain), (Some(1), Some(1)));
    }
}

#[test]
fn an_unknown_outcome_is_counted_above() {
    let faulty = FaultStore::new(MemoryStore::new());
    let faults = faulty.faults();
    let store = OptimisticDatabase::new(faulty);
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"").unwrap();
    faults.fail_from(1, || KvError::OutcomeUnknown("the disk is gone".to_owned()));
    assert!(tx.commit().unwrap_err().is_outcome_unknown());
    let now = store.counters();
    assert_eq!((now.unknown_outcomes, now.commits), (Some(1), Some(0)));
}

#[test]
fn nothing_is_counted_unless_a_store_says_so() {
    struct Plain(MemoryStore);
    impl KvDatabase for Plain {
        fn begin(&self, options: &TxOptions) -> Result<Box<dyn permazen_kv::KvTransaction + Send>> {
            self.0.begin(options)
        }
    }
    let plain = Plain(MemoryStore::new());
    plain.write(|tx| tx.put(b"key", b"")).unwrap();
    assert_eq!(plain.counters(), Counters::default());
    let above = OptimisticDatabase::new(plain);
    assert_eq!((above.counters().waits, above.counters().requests), (Some(0), None));
}
