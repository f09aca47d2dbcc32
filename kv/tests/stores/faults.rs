//! Whichever operation of a store fails, a transaction has happened as a whole or not at all, and
//! the store remains usable.

use permazen_kv::fault::{FaultStore, Faults};
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvError, KvTransaction, Result, TxOptions, Writes,
};

use crate::support::{Pairs, dump};

/// Everything that a transaction can do. Its end depends on the pairs that were there.
fn script(tx: &mut dyn KvTransaction) -> Result<()> {
    let count = tx.get(b"count")?.map_or(Ok(0), |value| tx.decode_counter(&value))?;
    tx.put(b"count", &tx.encode_counter(count + 1))?;
    tx.adjust_counter(b"sum", 10)?;
    for pair in tx.scan(KeySpan::new(b"k", Some(b"l")), Direction::Reverse)? {
        pair?;
    }
    tx.remove_span(KeySpan::new(b"k2", Some(b"k4")))?;
    tx.remove(b"k0")?;
    let last = tx.at_most(b"k", Some(b"l"))?.map(|(key, _)| key.into_owned());
    assert!(last.is_some());
    let first = tx.at_least(b"k", Some(b"l"))?.map(|(key, _)| key.into_owned());
    tx.put(b"first", &first.unwrap_or_default())?;
    let mut more = Writes::default();
    more.removes.add(KeySpan::new(b"k5", Some(b"k6")));
    more.puts.insert(vec![b'n', count as u8], vec![7; 3000]);
    more.adjusts.insert(b"sum".to_vec(), 5);
    tx.apply(&more)
}

fn attempt(db: &dyn KvDatabase) -> Result<()> {
    let mut tx = db.begin(&TxOptions::writing())?;
    script(&mut *tx)?;
    tx.commit()
}

fn fill(store: &dyn KvDatabase) {
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.remove_span(KeySpan::FULL).unwrap();
    tx.put(b"sum", &100i64.to_be_bytes()).unwrap();
    for n in b'0'..=b'9' {
        tx.put(&[b'k', n], &[n; 50]).unwrap();
    }
    tx.commit().unwrap();
}

fn content(store: &dyn KvDatabase) -> Pairs {
    dump(&*store.begin(&TxOptions::reading()).unwrap())
}

/// Makes each operation of the script on `db` fail in turn. `below` is the store without faults.
fn count_down(db: &dyn KvDatabase, faults: &Faults, below: &dyn KvDatabase) {
    fill(below);
    let old = content(below);
    faults.stop();
    attempt(db).unwrap();
    let operations = faults.operations();
    let new = content(below);
    assert_ne!(old, new);
    // The operations include reads of the store below the transaction.
    assert!(operations > 15, "{operations}");
    let errors: [fn() -> KvError; 5] = [
        || KvError::OutcomeUnknown("injected, and lost".to_owned()),
        || KvError::Retry("injected".to_owned()),
        || KvError::OutcomeUnknown("injected".to_owned()),
        || KvError::Timeout("injected".to_owned()),
        || KvError::Full { path: Box::from(std::path::Path::new("/")), reason: "injected".into() },
    ];
    for error in errors {
        for for_good in [false, true] {
            for n in 1..=operations {
                faults.stop();
                fill(below);
                // Drops the state that was fixed before others filled the store.
                drop(db.begin(&TxOptions::reading()).unwrap());
                if for_good {
                    faults.fail_from(n, error);
                } else {
                    faults.fail_nth(n, error);
                }
                let lost = error().to_string().contains("lost");
                faults.lose_commits(lost);
                let result = attempt(db);
                let hits = faults.hits();
                faults.stop();
                let found = content(below);
                match result {
                    Ok(()) => assert!(found == new && hits == 0, "operation {n}"),
                    Err(failed) if failed.is_outcome_unknown() => {
                        let made = !lost && found == new;
                        assert!(found == old || made, "operation {n}: {failed}");
                    }
                    Err(failed) => assert!(found == old, "operation {n}: {failed}"),
                }
                // A failed transaction blocks nothing.
                fill(below);
                attempt(db).unwrap();
                assert!(content(below) == new, "after operation {n}");
            }
        }
    }
}

fn on(store: impl KvDatabase + Clone + 'static) {
    let direct = FaultStore::new(&store);
    count_down(&direct, &direct.faults(), &store);
    let db = OptimisticDatabase::new(FaultStore::new(store.clone()));
    let faults = db.store().faults();
    count_down(&db, &faults, &store);
}

#[test]
fn every_operation_on_memory() {
    on(MemoryStore::new());
}

#[test]
#[cfg(feature = "lmdb")]
fn every_operation_on_lmdb() {
    use permazen_kv::{Durability, lmdb::LmdbStore};
    let dir = tempfile::tempdir().unwrap();
    let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    on(builder.open(dir.path()).unwrap());
}

#[test]
#[cfg(feature = "sqlite")]
fn every_operation_on_sqlite() {
    use permazen_kv::{Durability, sqlite::SqliteStore};
    let dir = tempfile::tempdir().unwrap();
    let builder = SqliteStore::builder().create(true).durability(Durability::MayLoseEverything);
    on(builder.open(dir.path().join("db")).unwrap());
}
