//! Transactions that are checked when they commit, over memory, LMDB and SQLite
//! (docs/src/stores.md).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use permazen_kv::counting::CountingStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::{
    Conflict, Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvTransaction,
    Result, SharedRead, Statistics, TxOptions, Writes,
};

type Tx = Box<dyn KvTransaction + Send>;

/// Runs a test on the engine over each store.
fn on_each_store(test: impl Fn(&dyn KvDatabase)) {
    test(&OptimisticDatabase::new(MemoryStore::new()));
    #[cfg(feature = "lmdb")]
    {
        let dir = tempfile::tempdir().unwrap();
        let store = permazen_kv::lmdb::LmdbStore::open_or_create(dir.path()).unwrap();
        test(&OptimisticDatabase::new(store));
    }
    #[cfg(feature = "sqlite")]
    {
        let dir = tempfile::tempdir().unwrap();
        test(&OptimisticDatabase::new(sqlite(dir.path())));
    }
}

#[cfg(feature = "sqlite")]
fn sqlite(dir: &std::path::Path) -> permazen_kv::sqlite::SqliteStore {
    let builder = permazen_kv::sqlite::SqliteStore::builder().create(true);
    builder.durability(permazen_kv::Durability::MayLoseEverything).open(dir.join("db")).unwrap()
}

fn writing(db: &dyn KvDatabase) -> Tx {
    db.begin(&TxOptions::writing()).unwrap()
}

fn reading(db: &dyn KvDatabase) -> Tx {
    db.begin(&TxOptions::reading()).unwrap()
}

fn put(tx: &mut Tx, key: u8, value: i64) {
    tx.put(&[key], &value.to_be_bytes()).unwrap();
}

fn get(tx: &dyn KvRead, key: u8) -> Option<i64> {
    let value = tx.get(&[key]).unwrap()?;
    Some(i64::from_be_bytes(value[..].try_into().unwrap()))
}

/// Commits some values.
fn set(db: &dyn KvDatabase, values: &[(u8, i64)]) {
    let mut tx = writing(db);
    values.iter().for_each(|(key, value)| put(&mut tx, *key, *value));
    tx.commit().unwrap();
}

fn current(db: &dyn KvDatabase, key: u8) -> Option<i64> {
    get(&reading(db), key)
}

#[track_caller]
fn assert_conflict(result: Result<()>, text: &str) {
    match result {
        Err(error @ KvError::Conflict(_)) => {
            assert!(error.is_retryable());
            assert_eq!(error.conflict().unwrap().to_string(), text);
        }
        other => panic!("expected {text:?}, got {other:?}"),
    }
}

#[test]
fn t058_t059_a_lost_update_is_refused() {
    on_each_store(|db| {
        set(db, &[(1, 5)]);
        let (mut one, mut two) = (writing(db), writing(db));
        for tx in [&mut one, &mut two] {
            assert_eq!(get(tx, 1), Some(5));
            put(tx, 1, 6);
        }
        one.commit().unwrap();
        assert_conflict(two.commit(), "read/write conflict at 01");
        assert_eq!(current(db, 1), Some(6));
    });
}

#[test]
fn t060_write_skew_is_refused() {
    on_each_store(|db| {
        set(db, &[(1, 1), (2, 1)]);
        let (mut one, mut two) = (writing(db), writing(db));
        for (tx, key) in [(&mut one, 1), (&mut two, 2)] {
            assert_eq!(get(tx, 1).unwrap() + get(tx, 2).unwrap(), 2);
            put(tx, key, 0);
        }
        two.commit().unwrap();
        assert_conflict(one.commit(), "read/write conflict at 02");
        assert_eq!((current(db, 1), current(db, 2)), (Some(1), Some(0)));
    });
}

#[test]
fn t061_t062_a_phantom_is_refused() {
    on_each_store(|db| {
        let (mut one, mut two) = (writing(db), writing(db));
        let span = KeySpan::new(&[0x10], Some(&[0x20]));
        assert_eq!(one.scan(span, Direction::Forward).unwrap().count(), 0);
        put(&mut two, 0x18, 1);
        two.commit().unwrap();
        put(&mut one, 0x30, 1);
        assert_conflict(one.commit(), "read/write conflict at 18");

        let (mut one, mut two) = (writing(db), writing(db));
        assert_eq!(get(&one, 0x50), None);
        put(&mut two, 0x50, 1);
        two.commit().unwrap();
        put(&mut one, 0x30, 1);
        assert_conflict(one.commit(), "read/write conflict at 50");
        assert_eq!(current(db, 0x30), None);
    });
}

/// A report that reads while a receipt is entered must not see a state that no order of the others
/// can produce (the batch example of serializable snapshot isolation).
#[test]
fn a_read_only_anomaly_is_impossible() {
    on_each_store(|db| {
        let (batch, total) = (1, 2);
        set(db, &[(batch, 1), (total, 0)]);
        let mut receipt = writing(db);
        assert_eq!(get(&receipt, batch), Some(1));
        set(db, &[(batch, 2)]);
        let report = reading(db);
        assert_eq!((get(&report, batch), get(&report, total)), (Some(2), Some(0)));
        report.commit().unwrap();
        // The report has seen batch 1 closed without this receipt, so the receipt must not enter it
        // now.
        put(&mut receipt, total, 100);
        assert_conflict(receipt.commit(), "read/write conflict at 01");
    });
}

#[test]
fn t056_t057_reads_are_repeatable_and_reading_never_fails() {
    on_each_store(|db| {
        set(db, &[(1, 1), (2, 2)]);
        let (read_only, writer_that_reads) = (reading(db), writing(db));
        let mut switched = writing(db);
        for tx in [&read_only, &writer_that_reads, &switched] {
            assert_eq!(get(tx, 1), Some(1));
        }
        set(db, &[(1, 10), (3, 3)]);
        for tx in [&read_only, &writer_that_reads, &switched] {
            assert_eq!(get(tx, 1), Some(1));
            assert_eq!(tx.scan(KeySpan::FULL, Direction::Reverse).unwrap().count(), 2);
        }
        put(&mut switched, 9, 9);
        switched.set_read_only().unwrap();
        assert!(switched.is_read_only());
        for tx in [read_only, writer_that_reads, switched] {
            tx.commit().unwrap();
        }
        assert_eq!((current(db, 1), current(db, 9)), (Some(10), None));
    });
}

#[test]
fn t063_t065_writing_without_reading_never_conflicts() {
    on_each_store(|db| {
        set(db, &[(1, 1), (7, 5)]);
        let (mut one, mut two) = (writing(db), writing(db));
        put(&mut one, 1, 10);
        put(&mut two, 1, 20);
        one.adjust_counter(&[7], 1).unwrap();
        two.adjust_counter(&[7], 2).unwrap();
        two.commit().unwrap();
        one.commit().unwrap();
        assert_eq!((current(db, 1), current(db, 7)), (Some(10), Some(8)));
    });
}

#[test]
fn t066_reading_a_counter_conflicts_with_adjusting_it() {
    on_each_store(|db| {
        set(db, &[(7, 5)]);
        let (mut one, mut two) = (writing(db), writing(db));
        one.adjust_counter(&[7], 1).unwrap();
        assert_eq!(get(&one, 7), Some(6));
        two.adjust_counter(&[7], 1).unwrap();
        two.commit().unwrap();
        assert_conflict(one.commit(), "read/adjust conflict at 07");
        assert_eq!(current(db, 7), Some(6));
    });
}

#[test]
fn t081_untracked_reads_cause_no_conflict() {
    on_each_store(|db| {
        set(db, &[(1, 1)]);
        let mut tx = writing(db);
        put(&mut tx, 2, 2);
        let weak = tx.untracked().unwrap();
        assert_eq!((get(weak, 1), get(weak, 2)), (Some(1), Some(2)));
        assert_eq!(weak.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 2);
        set(db, &[(1, 5), (0, 0)]);
        assert_eq!(get(tx.untracked().unwrap(), 1), Some(1));
        tx.commit().unwrap();
        assert_eq!(current(db, 2), Some(2));
    });
}

#[test]
fn t048_t051_changes_are_private_until_the_commit() {
    on_each_store(|db| {
        let mut tx = writing(db);
        put(&mut tx, 1, 1);
        assert_eq!((get(&tx, 1), current(db, 1)), (Some(1), None));
        drop(tx);
        let mut tx = writing(db);
        put(&mut tx, 1, 1);
        tx.rollback();
        assert_eq!(current(db, 1), None);
        let mut tx = reading(db);
        put(&mut tx, 1, 1);
        tx.adjust_counter(&[1], 1).unwrap();
        assert_eq!(get(&tx, 1), Some(2));
        tx.commit().unwrap();
        assert_eq!(current(db, 1), None);
    });
}

#[test]
fn t072_t073_time_is_limited() {
    on_each_store(|db| {
        let mut tx = writing(db);
        put(&mut tx, 1, 1);
        tx.set_timeout(Some(Duration::ZERO)).unwrap();
        assert!(matches!(tx.get(&[1]), Err(KvError::Timeout(_))));
        assert!(matches!(tx.set_timeout(None), Err(KvError::Timeout(_))));
        assert!(matches!(tx.commit(), Err(KvError::Timeout(_))));
        assert_eq!(current(db, 1), None);
        let mut tx = writing(db);
        put(&mut tx, 1, 1);
        tx.set_timeout(Some(Duration::from_secs(3600))).unwrap();
        tx.set_timeout(None).unwrap();
        assert_eq!(get(&tx, 1), Some(1));
        tx.set_timeout(Some(Duration::from_nanos(1))).unwrap();
        thread::sleep(Duration::from_millis(1));
        assert!(matches!(tx.get(&[1]), Err(KvError::Timeout(_))));
        assert!(matches!(tx.put(&[1], &[]), Err(KvError::Timeout(_))));
        assert!(matches!(tx.untracked().unwrap().get(&[1]), Err(KvError::Timeout(_))));
        assert!(tx.commit().is_err_and(|error| error.is_stale()));
        assert_eq!(current(db, 1), None);
        let options = TxOptions::writing().with_timeout(Duration::from_nanos(1));
        let late = db.begin(&options).unwrap();
        thread::sleep(Duration::from_millis(1));
        assert!(late.at_least(&[], None).is_err_and(|error| error.is_stale()));
    });
}

#[test]
fn t074_t076_snapshots_stand_still() {
    on_each_store(|db| {
        set(db, &[(1, 1)]);
        let mut tx = writing(db);
        put(&mut tx, 2, 2);
        let snapshot = tx.snapshot().unwrap();
        put(&mut tx, 3, 3);
        tx.commit().unwrap();
        set(db, &[(1, 100)]);
        let seen = [1, 2, 3].map(|key| get(&*snapshot, key));
        assert_eq!(seen, [Some(1), Some(2), None]);
        thread::spawn(move || assert_eq!(get(&*snapshot, 2), Some(2))).join().unwrap();
    });
}

#[test]
fn t077_t079_watches_fire_when_their_key_is_written() {
    on_each_store(|db| {
        set(db, &[(1, 1)]);
        let second = Duration::from_secs(1);
        type Act = fn(&mut Tx);
        let acts: [Act; 5] = [
            |tx| put(tx, 1, 1),
            |tx| tx.adjust_counter(&[1], 1).unwrap(),
            |tx| tx.remove(&[1]).unwrap(),
            |tx| tx.remove_span(KeySpan::new(&[0], Some(&[2]))).unwrap(),
            |tx| put(tx, 1, 7),
        ];
        for act in acts {
            let mut creator = writing(db);
            let watches = [creator.watch(&[1]).unwrap(), creator.watch(&[1]).unwrap()];
            let other = creator.watch(&[2]).unwrap();
            drop(creator);
            let mut ineffective = reading(db);
            act(&mut ineffective);
            ineffective.commit().unwrap();
            let mut rolled_back = writing(db);
            act(&mut rolled_back);
            rolled_back.rollback();
            assert!(watches.iter().all(|watch| !watch.is_changed().unwrap()));
            let mut tx = writing(db);
            act(&mut tx);
            tx.commit().unwrap();
            assert!(watches.iter().all(|watch| watch.wait_timeout(second).unwrap()));
            assert!(!other.is_changed().unwrap());
        }
        let watch = writing(db).watch(&[5]).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| watch.wait().unwrap());
            set(db, &[(5, 5)]);
        });
    });
}

#[test]
fn a_watch_is_a_future() {
    struct Flag(AtomicBool);
    impl std::task::Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }
    let db = OptimisticDatabase::new(MemoryStore::new());
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Arc::clone(&flag).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut watch = writing(&db).watch(&[1]).unwrap();
    assert!(std::pin::Pin::new(&mut watch).poll(&mut context).is_pending());
    set(&db, &[(1, 1)]);
    assert!(flag.0.load(Ordering::Acquire));
    assert!(std::pin::Pin::new(&mut watch).poll(&mut context).is_ready());
}

/// Commits when it is woken.
struct CommitsWhenWoken(Arc<dyn KvDatabase>);

impl std::task::Wake for CommitsWhenWoken {
    fn wake(self: Arc<Self>) {
        let options = TxOptions::writing().with_wait(Duration::ZERO);
        let mut tx = self.0.begin(&options).unwrap();
        // It sees the commit that has woken it.
        assert!(tx.get(&[1]).unwrap().is_some());
        tx.put(&[2], &[2]).unwrap();
        tx.commit().unwrap();
    }
}

/// The thread that has committed wakes the watches after its commit is over.
#[test]
fn a_watch_that_a_commit_wakes_may_commit_at_once() {
    let memory = MemoryStore::new();
    let databases: [Arc<dyn KvDatabase>; 2] =
        [Arc::new(memory), Arc::new(OptimisticDatabase::new(MemoryStore::new()))];
    for db in databases {
        let (sender, committed) = std::sync::mpsc::channel();
        // If it waits for itself, it does so for ever.
        thread::spawn(move || {
            let waker = Arc::new(CommitsWhenWoken(Arc::clone(&db))).into();
            let mut context = std::task::Context::from_waker(&waker);
            let mut tx = db.begin(&TxOptions::writing()).unwrap();
            let mut watch = tx.watch(&[1]).unwrap();
            assert!(std::pin::Pin::new(&mut watch).poll(&mut context).is_pending());
            tx.put(&[1], &[1]).unwrap();
            tx.commit().unwrap();
            let woken = db.begin(&TxOptions::reading()).unwrap().get(&[2]).unwrap().is_some();
            sender.send(woken).unwrap();
        });
        assert_eq!(committed.recv_timeout(Duration::from_secs(60)), Ok(true));
    }
}

#[test]
fn t080_t082_t083_a_stopped_database_is_of_no_use() {
    let db = OptimisticDatabase::new(MemoryStore::new());
    let mut open = writing(&db);
    put(&mut open, 1, 1);
    let watch = open.watch(&[1]).unwrap();
    db.stop();
    db.stop();
    assert!(matches!(watch.wait(), Err(KvError::Stale(_))));
    assert!(matches!(watch.is_changed(), Err(KvError::Stale(_))));
    assert!(matches!(db.begin(&TxOptions::reading()), Err(KvError::IllegalState(_))));
    assert!(open.get(&[1]).is_err_and(|error| error.is_stale()));
    assert!(open.commit().is_err_and(|error| error.is_stale()));
    assert!(db.store().snapshot().get(&[1]).unwrap().is_none());
}

#[test]
fn a_transaction_open_for_too_many_changes_is_refused() {
    let db = OptimisticDatabase::new(MemoryStore::new()).with_log_limit(10);
    let mut old = writing(&db);
    assert_eq!(get(&old, 99), None);
    for key in 0..11 {
        set(&db, &[(key, 1)]);
    }
    put(&mut old, 50, 1);
    let error = old.commit().unwrap_err();
    assert!(error.is_retryable() && error.conflict().is_none(), "{error}");
    let mut young = writing(&db);
    assert_eq!(get(&young, 99), None);
    put(&mut young, 50, 1);
    young.commit().unwrap();
    assert_eq!(db.version(), 12);
}

/// Others write to the underlying store, where that numbers its versions.
fn beside_others(store: &dyn KvDatabase, db: &dyn KvDatabase) {
    let others = |values: &[(u8, i64)]| set(store, values);
    set(db, &[(1, 1), (2, 1), (3, 1)]);

    // A key that was read and then changed by others is a conflict; one that was not read is no
    // conflict.
    let (mut reader, mut blind, mut elsewhere) = (writing(db), writing(db), writing(db));
    get(&reader, 1);
    get(&elsewhere, 2);
    others(&[(1, 2)]);
    put(&mut blind, 4, 1);
    put(&mut elsewhere, 5, 1);
    put(&mut reader, 6, 1);
    blind.commit().unwrap();
    elsewhere.commit().unwrap();
    assert_conflict(reader.commit(), "read/write conflict at 01");
    assert_eq!((current(db, 1), current(db, 5), current(db, 6)), (Some(2), Some(1), None));

    // A transaction sees the commits of others before it began.
    others(&[(1, 3)]);
    let mut later = writing(db);
    assert_eq!(get(&later, 1), Some(3));
    put(&mut later, 7, 1);
    later.commit().unwrap();

    // A phantom. A value that changed and changed back is no conflict.
    let (mut gap, mut back) = (writing(db), writing(db));
    assert!(gap.at_least(&[100], None).unwrap().is_none());
    get(&back, 1);
    others(&[(1, 4), (101, 1)]);
    others(&[(1, 3)]);
    put(&mut back, 8, 1);
    back.commit().unwrap();
    put(&mut gap, 9, 1);
    assert_conflict(gap.commit(), "read/write conflict at 65");

    // A commit that changes nothing does not hide later writes of others.
    let mut reader = writing(db);
    get(&reader, 1);
    let mut nothing = writing(db);
    nothing.remove(&[200]).unwrap();
    nothing.adjust_counter(&[201], 5).unwrap();
    nothing.commit().unwrap();
    others(&[(1, 5)]);
    put(&mut reader, 9, 1);
    assert_conflict(reader.commit(), "read/write conflict at 01");

    // The next commit notifies every watch, also those of other keys.
    set(db, &[(50, 0)]);
    let watch = reading(db).watch(&[1]).unwrap();
    set(db, &[(50, 1)]);
    assert!(!watch.is_changed().unwrap());
    others(&[(1, 6)]);
    set(db, &[(50, 2)]);
    assert!(watch.is_changed().unwrap());
}

#[test]
fn others_may_write_to_a_store_that_numbers_its_versions() {
    let memory = MemoryStore::new();
    beside_others(&memory, &OptimisticDatabase::new(memory.clone()));
    #[cfg(feature = "lmdb")]
    {
        let dir = tempfile::tempdir().unwrap();
        let lmdb = permazen_kv::lmdb::LmdbStore::open_or_create(dir.path()).unwrap();
        beside_others(&lmdb, &OptimisticDatabase::new(lmdb.clone()));
    }
    #[cfg(feature = "sqlite")]
    {
        let dir = tempfile::tempdir().unwrap();
        let store = sqlite(dir.path());
        beside_others(&store, &OptimisticDatabase::new(store.clone()));
        // Connections of their own, like other processes have.
        let dir = tempfile::tempdir().unwrap();
        let (store, other) = (sqlite(dir.path()), sqlite(dir.path()));
        beside_others(&other, &OptimisticDatabase::new(store));
    }
    // Each of two engines counts as another writer for the other one.
    let memory = MemoryStore::new();
    let one = OptimisticDatabase::new(memory.clone());
    beside_others(&one, &OptimisticDatabase::new(memory));
}

/// Counting through two engines and directly, all at the same time, loses nothing.
#[test]
fn others_that_write_at_the_same_time() {
    let memory = MemoryStore::new();
    count_side_by_side([(); 3].map(|()| memory.clone()));
    #[cfg(feature = "sqlite")]
    {
        let dir = tempfile::tempdir().unwrap();
        count_side_by_side([(); 3].map(|()| sqlite(dir.path())));
    }
}

fn count_side_by_side<D: KvDatabase + 'static>([direct, one, two]: [D; 3]) {
    set(&direct, &[(1, 0)]);
    let engines = [one, two].map(OptimisticDatabase::new);
    std::thread::scope(|scope| {
        let stores = [&engines[0] as &dyn KvDatabase, &engines[0], &engines[1], &direct];
        for db in stores {
            scope.spawn(move || {
                for _ in 0..50 {
                    loop {
                        let mut tx = writing(db);
                        let count = get(&tx, 1).unwrap();
                        put(&mut tx, 1, count + 1);
                        match tx.commit() {
                            Ok(()) => break,
                            Err(error) => assert!(error.is_retryable(), "{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(current(&direct, 1), Some(200));
}

/// A store whose `apply` can be made to fail.
struct Fragile {
    store: MemoryStore,
    fails: AtomicBool,
}

impl permazen_kv::AtomicKvStore for Fragile {
    fn snapshot(&self) -> Result<SharedRead> {
        Ok(Arc::new(self.store.snapshot()))
    }

    fn apply(&self, writes: &Writes, sync: bool) -> Result<()> {
        assert!(!sync);
        if self.fails.load(Ordering::Acquire) {
            return Err(KvError::OutcomeUnknown("the disk is gone".to_owned()));
        }
        permazen_kv::AtomicKvStore::apply(&self.store, writes, sync)
    }

    fn store_statistics(&self) -> Result<Statistics> {
        self.store.statistics()
    }
}

#[test]
fn a_failed_commit_is_told_and_counts_as_made() {
    let store = Fragile { store: MemoryStore::new(), fails: AtomicBool::new(true) };
    let db = OptimisticDatabase::new(store).with_sync(false);
    let (mut one, mut two) = (writing(&db), writing(&db));
    assert_eq!(get(&two, 1), None);
    put(&mut one, 1, 1);
    assert!(one.commit().unwrap_err().is_outcome_unknown());
    db.store().fails.store(false, Ordering::Release);
    put(&mut two, 2, 2);
    assert_conflict(two.commit(), "read/write conflict at 01");
    set(&db, &[(3, 3)]);
    assert_eq!(current(&db, 3), Some(3));
    assert_eq!(db.statistics().unwrap().entries, Some(1));
}

#[test]
fn failures_are_told_without_changing_anything() {
    on_each_store(|db| {
        let calls = std::cell::Cell::new(0);
        let result: Result<()> = db.write(|tx| {
            calls.set(calls.get() + 1);
            tx.put(&[1], &[])?;
            Err(KvError::IllegalState("changed my mind".to_owned()))
        });
        assert!(matches!(result, Err(KvError::IllegalState(_))));
        let retried = db.write(|tx| {
            calls.set(calls.get() + 1);
            tx.put(&[2], &[])?;
            match calls.get() {
                1..4 => Err(KvError::Retry("again".to_owned())),
                calls => Ok(calls),
            }
        });
        assert_eq!(retried.unwrap(), 4);
        assert!(db.read(|tx| Ok(tx.get(&[1])?.is_none() && tx.get(&[2])?.is_some())).unwrap());
    });
}

/// On one store, since all pauses before the last attempt take two seconds.
#[test]
fn a_closure_that_always_conflicts_ends_with_its_conflict() {
    let db = OptimisticDatabase::new(MemoryStore::new());
    let conflict = || KvError::from(Conflict::ReadWrite(vec![1].into()));
    let mut calls = 0;
    let result = db.write(|tx| {
        calls += 1;
        tx.put(&[1], &[])?;
        Err::<(), _>(conflict())
    });
    assert!(result.unwrap_err().is_retryable());
    assert_eq!(calls, 31);
    assert!(db.read(|tx| Ok(tx.get(&[1])?.is_none())).unwrap());
}

#[test]
fn everything_is_offered() {
    on_each_store(|db| {
        let offered = db.capabilities();
        assert!(offered.serializable && offered.concurrent_writers && offered.snapshots);
        assert!(offered.watches && offered.timeouts && offered.conflict_free_counters);
        assert!(offered.read_only_switch && offered.untracked_reads && offered.pending_writes);
    });
}

#[test]
fn t064_counting_in_many_threads_loses_nothing() {
    on_each_store(|db| {
        set(db, &[(1, 0), (2, 0)]);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        db.write(|tx| {
                            let count = get(tx, 1).unwrap() + 1;
                            tx.put(&[1], &count.to_be_bytes())?;
                            tx.adjust_counter(&[2], 1)
                        })
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!((current(db, 1), current(db, 2)), (Some(100), Some(100)));
    });
}

#[test]
fn money_is_neither_made_nor_lost() {
    on_each_store(|db| {
        const ACCOUNTS: u8 = 5;
        set(db, &(0..ACCOUNTS).map(|account| (account, 100)).collect::<Vec<_>>());
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let transfers: Vec<_> = (0..3_u64)
                .map(|seed| {
                    scope.spawn(move || {
                        let mut state = seed * 2 + 1;
                        for _ in 0..40 {
                            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            let [from, to] = [33, 41].map(|bit| (state >> bit) as u8 % ACCOUNTS);
                            db.write(|tx| {
                                let amount = 1 + (state >> 50) as i64 % 50;
                                let rich = get(tx, from).unwrap();
                                if rich >= amount && from != to {
                                    let poor = get(tx, to).unwrap();
                                    tx.put(&[from], &(rich - amount).to_be_bytes())?;
                                    tx.put(&[to], &(poor + amount).to_be_bytes())?;
                                }
                                Ok(())
                            })
                            .unwrap();
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let tx = reading(db);
                    let amounts: Vec<i64> = (0..ACCOUNTS).map(|a| get(&tx, a).unwrap()).collect();
                    assert!(amounts.iter().all(|amount| *amount >= 0), "{amounts:?}");
                    assert_eq!(amounts.iter().sum::<i64>(), 100 * i64::from(ACCOUNTS));
                    tx.commit().unwrap();
                }
            });
            transfers.into_iter().for_each(|transfer| transfer.join().unwrap());
            done.store(true, Ordering::Release);
        });
    });
}

#[test]
fn t105_removing_a_range_and_putting_into_it_happen_in_some_order() {
    on_each_store(|db| {
        for _ in 0..30 {
            set(db, &[(10, 1), (12, 1), (14, 1)]);
            thread::scope(|scope| {
                scope.spawn(|| {
                    db.write(|tx| tx.remove_span(KeySpan::new(&[10], Some(&[15])))).unwrap();
                });
                scope.spawn(|| db.write(|tx| tx.put(&[11], &[])).unwrap());
            });
            let tx = reading(db);
            let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
            let left: Vec<u8> = scan.map(|pair| pair.unwrap().0[0]).collect();
            assert!(left.is_empty() || left == [11], "{left:?}");
            drop(tx);
            db.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap();
        }
    });
}

/// Transactions that are open at the same time share a state of the store. Without an open
/// transaction, no state is held.
#[test]
fn a_state_of_the_store_is_held_as_long_as_it_is_needed() {
    let db = OptimisticDatabase::new(CountingStore::new(MemoryStore::new()));
    let counter = db.store().counter();
    for _ in 0..3 {
        counter.take();
        let open: Vec<_> = (0..20).map(|_| db.begin(&TxOptions::writing()).unwrap()).collect();
        assert_eq!(counter.take().snapshots, 1);
        drop(open);
    }
    // A snapshot still holds the state after its transaction has ended.
    let snapshot = db.begin(&TxOptions::reading()).unwrap().snapshot().unwrap();
    counter.take();
    drop(db.begin(&TxOptions::reading()).unwrap());
    assert_eq!(counter.take().snapshots, 0);
    drop(snapshot);
}

#[test]
#[cfg(feature = "lmdb")]
fn an_idle_engine_holds_no_version_of_lmdb() {
    let dir = tempfile::tempdir().unwrap();
    let store = permazen_kv::lmdb::LmdbStore::open_or_create(dir.path()).unwrap();
    let db = OptimisticDatabase::new(store.clone());
    let put = |db: &dyn KvDatabase| {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"key", b"value").unwrap();
        tx.commit().unwrap();
    };
    put(&db);
    drop(db.begin(&TxOptions::reading()).unwrap());
    let open = db.begin(&TxOptions::reading()).unwrap();
    let lag = || store.statistics().unwrap().oldest_reader_lag;
    (0..5).for_each(|_| put(&store));
    assert_eq!(lag(), Some(5));
    drop(open);
    assert_eq!(lag(), Some(0));
    (0..5).for_each(|_| put(&store));
    assert_eq!(lag(), Some(0));
}
