//! The cost of a thousand recorded schemas for a program that opens a transaction. A program of its
//! own: where a transaction without a version changes schemas, all databases of the process read
//! them again.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use permazen::__internal::layout::TABLES_SPAN;
use permazen::__internal::schema::{SchemaConfig, SchemaTables};
use permazen::encoding::{EncodingId, Value};
use permazen::kv::counting::{Counter, CountingStore, Operations};
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{Direction, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen::object::{Database, Error, Migrate, Transaction, TransactionConfig};
use permazen::schema::{Field, ObjectType, SchemaModel, SchemaRemoval, Simple};

const SCHEMAS: usize = 1000;

/// The entries of the recorded tables: one for each schema, and storage IDs for the fields and the
/// type they share.
const ENTRIES: u64 = 2 * SCHEMAS as u64 + 1;

/// For each test: where a transaction without a version changes schemas, all databases of the
/// process read their schemas again, which would be counted here.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn model(n: usize) -> SchemaModel {
    let int = Simple::of(EncodingId::builtin("int").unwrap());
    SchemaModel::new()
        .object_type(ObjectType::new("Item").field(Field::new(format!("field{n}"), int)))
}

fn config(n: usize) -> TransactionConfig {
    TransactionConfig::new(model(n)).unwrap().schema_removal(SchemaRemoval::Never)
}

/// A database with schemas 0 to 999.
fn database(store: impl KvDatabase + 'static) -> (Database, Counter) {
    let store = CountingStore::new(store);
    let counter = store.counter();
    let db = Database::new(Arc::new(store));
    let tx = db.begin(&config(0)).unwrap();
    assert!(tx.add_schemas(&(1..SCHEMAS).map(model).collect::<Vec<_>>()).unwrap());
    tx.commit().unwrap();
    db.begin(&config(0)).unwrap();
    (db, counter)
}

fn begin(db: &Database, counter: &Counter, n: usize) -> (Transaction, Operations) {
    counter.take();
    let tx = db.begin(&config(n)).unwrap();
    let cost = counter.take();
    (tx, cost)
}

#[test]
fn beginning_reads_nothing_of_them_while_the_store_is_as_it_was() {
    let _alone = alone();
    let (db, counter) = database(MemoryStore::new());
    let config = config(0);
    let cost = |config: &TransactionConfig| {
        counter.take();
        let tx = db.begin(config).unwrap();
        assert_eq!(tx.bundle().schemas().len(), SCHEMAS);
        let cost = counter.take();
        (cost.reads(), cost.writes())
    };
    assert_eq!(cost(&config), (0, 0));
    assert_eq!(cost(&config.clone().read_only()), (0, 0));
    let tx = db.begin(&config).unwrap();
    let item = tx.create("Item").unwrap();
    tx.set(item, "field0", &Value::Int(5), Migrate::No).unwrap();
    tx.commit().unwrap();
    assert_eq!(cost(&config), (0, 0));
    // Others have written: this costs one scan, and a look at the format version before the tables.
    let mut kv = db.kv().begin(&TxOptions::writing()).unwrap();
    kv.put(&[0, 0xff, 1], b"").unwrap();
    kv.commit().unwrap();
    assert_eq!(cost(&config), (1 + 1 + ENTRIES, 0));
    assert_eq!(cost(&config), (0, 0));
}

/// A schema with all kinds of items that can change.
fn rich() -> TransactionConfig {
    let int = Simple::of(EncodingId::builtin("int").unwrap());
    let item = ObjectType::new("Item")
        .field(Field::new("number", int.clone().indexed()))
        .field(Field::counter("count"))
        .field(Field::set("tags", int.clone()))
        .field(Field::list("steps", int));
    let model = SchemaModel::new().object_type(item);
    TransactionConfig::new(model).unwrap().schema_removal(SchemaRemoval::Never)
}

/// The number of reads of beginning a transaction. The schemas it has are compared with those
/// recorded in the store.
fn reads_of_beginning(db: &Database, counter: &Counter) -> u64 {
    counter.take();
    let tx = db.begin(&rich()).unwrap();
    let cost = counter.take();
    assert_eq!(cost.writes(), 0);
    let stored = tx.read_pairs(|kv| Ok(SchemaTables::read(kv)?)).unwrap();
    assert!(**tx.bundle().tables() == stored);
    cost.reads()
}

fn commits_of_ones_own(store: impl KvDatabase + 'static) {
    let store = Arc::new(CountingStore::new(store));
    let counter = store.counter();
    let db = Database::new(store.clone());
    let others = Database::new(store);
    db.begin(&rich()).unwrap().commit().unwrap();
    let scan = reads_of_beginning(&db, &counter);
    assert!(scan > 0, "the schema was recorded, and is looked for once");
    assert_eq!(reads_of_beginning(&db, &counter), 0);
    let write = |change: &dyn Fn(&Transaction)| {
        let tx = db.begin(&rich()).unwrap();
        change(&tx);
        tx.commit().unwrap();
    };
    let id = std::cell::Cell::new(None);
    write(&|tx| id.set(Some(tx.create("Item").unwrap())));
    let item = id.get().unwrap();
    let set = |tx: &Transaction, n| {
        tx.set(item, "number", &Value::Int(n), Migrate::No).unwrap();
    };
    let tags = |tx: &Transaction, add| {
        let tags = tx.set_view(item, "tags", Migrate::No).unwrap();
        if add { tags.add(&Value::Int(3)).unwrap() } else { tags.remove(&Value::Int(3)).unwrap() }
    };
    // These change something, but no schemas. So they lead to the next version, whose schemas are
    // known.
    let changes: [&dyn Fn(&Transaction); 9] = [
        &|_| {},
        &|tx| set(tx, 5),
        &|tx| set(tx, 0),
        &|tx| tx.adjust_counter(item, "count", 2, Migrate::No).unwrap(),
        &|tx| assert!(tags(tx, true)),
        &|tx| assert!(tags(tx, false)),
        &|tx| {
            let failed = tx.atomic(|tx| {
                set(tx, 6);
                tx.add_schema(&model(2))?;
                Err::<(), Error>(tx.create("Other").unwrap_err())
            });
            assert!(failed.is_err());
        },
        &|tx| assert!(tx.delete(item).unwrap()),
        &|tx| assert!(tx.create("Item").is_ok()),
    ];
    for (n, change) in changes.iter().enumerate() {
        write(change);
        assert_eq!(reads_of_beginning(&db, &counter), 0, "after change {n}");
    }
    let changes: [&dyn Fn(&Transaction); 2] =
        [&|tx| assert!(tx.add_schema(&model(1)).unwrap()), &|tx| {
            assert!(tx.remove_schema(SchemaConfig::new(model(1)).unwrap().schema_id()).unwrap())
        }];
    for (n, change) in changes.iter().enumerate() {
        write(change);
        let reads = reads_of_beginning(&db, &counter);
        assert!((1..scan + 10).contains(&reads), "{reads} after change {n} of schemas");
        assert_eq!(reads_of_beginning(&db, &counter), 0, "after change {n} of schemas");
    }
    // These change nothing, and lead to no version: the next one may belong to another program.
    let nothing: [&dyn Fn(&Transaction); 4] = [
        &|_| {},
        &|tx| assert!(!tx.delete(item).unwrap()),
        &|tx| {
            tx.set_read_only().unwrap();
            tx.create("Item").unwrap();
        },
        &|tx| {
            tx.set_read_only().unwrap();
            tx.add_schema(&model(99)).unwrap();
        },
    ];
    for (n, change) in nothing.iter().enumerate() {
        write(change);
        let tx = others.begin(&config(10 + n)).unwrap();
        tx.commit().unwrap();
        assert!(reads_of_beginning(&db, &counter) > 0, "after change {n}");
        write(change);
        assert_eq!(reads_of_beginning(&db, &counter), 0, "after change {n}, again");
    }
    // Changes that are rolled back or refused lead to no version either.
    for n in 20..23 {
        let tx = db.begin(&rich()).unwrap();
        tx.add_schema(&model(n)).unwrap();
        tx.create("Item").unwrap();
        match n {
            20 => tx.rollback().unwrap(),
            21 => drop(tx),
            _ => {
                tx.set_rollback_only();
                assert!(tx.commit().is_err());
            }
        }
        others.begin(&config(n + 10)).unwrap().commit().unwrap();
        assert!(reads_of_beginning(&db, &counter) > 0, "after rollback {n}");
    }
    // Others have committed between two of its commits.
    write(&|tx| assert!(tx.create("Item").is_ok()));
    others.begin(&config(50)).unwrap().commit().unwrap();
    write(&|tx| assert!(tx.create("Item").is_ok()));
    assert_eq!(reads_of_beginning(&db, &counter), 0);
}

#[test]
fn after_a_commit_of_its_own_a_database_knows_the_schemas() {
    let _alone = alone();
    commits_of_ones_own(MemoryStore::new());
}

#[test]
fn after_a_commit_of_its_own_a_database_on_lmdb_knows_the_schemas() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    commits_of_ones_own(permazen::kv::lmdb::LmdbStore::open_or_create(dir.path()).unwrap());
}

#[test]
fn after_a_commit_of_its_own_a_database_on_sqlite_knows_the_schemas() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    commits_of_ones_own(permazen::kv::sqlite::SqliteStore::open_or_create(path).unwrap());
}

#[test]
fn unused_schemas_are_dropped_after_a_change_of_ones_own_as_after_one_by_others() {
    let _alone = alone();
    let db = Database::new(Arc::new(MemoryStore::new()));
    let config = TransactionConfig::new(model(0)).unwrap();
    let tx = db.begin(&config).unwrap();
    tx.add_schema(&model(1)).unwrap();
    tx.commit().unwrap();
    let tx = db.begin(&config).unwrap();
    assert_eq!(tx.bundle().schemas().len(), 1);
    tx.commit().unwrap();
    assert_eq!(db.begin(&config).unwrap().bundle().schemas().len(), 1);
}

#[test]
fn recording_one_more_decodes_and_writes_that_one() {
    let _alone = alone();
    let (db, counter) = database(MemoryStore::new());
    let (tx, cost) = begin(&db, &counter, SCHEMAS);
    assert_eq!((cost.reads(), cost.puts, cost.removes, cost.span_removes), (0, 2, 0, 0));
    let seen = tx.bundle();
    tx.commit().unwrap();
    // This program keeps the schemas that it has seen, also where another one has recorded
    // something.
    let others = Database::new(Arc::clone(db.kv()));
    others.begin(&config(SCHEMAS + 1)).unwrap().commit().unwrap();
    let (tx, cost) = begin(&db, &counter, SCHEMAS);
    assert_eq!((cost.seeks, cost.steps, cost.puts), (1, 1 + ENTRIES + 4, 0));
    let bundle = tx.bundle();
    assert_eq!(bundle.schemas().len(), SCHEMAS + 2);
    for (new, old) in bundle.schemas().iter().zip(seen.schemas()).take(SCHEMAS) {
        assert!(Arc::ptr_eq(&new.model, &old.model), "{} is decoded again", new.index);
        let document = |tables: &SchemaTables| Arc::clone(&tables.schemas[&new.index]);
        let (new, old) = (document(bundle.tables()), document(seen.tables()));
        assert!(Arc::ptr_eq(&new, &old), "a document is copied");
    }
    drop(tx);
    let (_, cost) = begin(&db, &counter, SCHEMAS);
    assert_eq!(cost.reads(), 0);
}

#[test]
fn unused_schemas_are_found_by_a_seek_for_each_one_in_use() {
    let _alone = alone();
    let (db, counter) = database(MemoryStore::new());
    for n in [0, 500] {
        let tx = db.begin(&config(n)).unwrap();
        tx.create("Item").unwrap();
        tx.commit().unwrap();
    }
    db.begin(&config(500)).unwrap();
    counter.take();
    let tx = db.begin(&config(500).schema_removal(SchemaRemoval::Always)).unwrap();
    let cost = counter.take();
    assert_eq!((cost.seeks, cost.steps, cost.puts), (3, 0, 0));
    assert_eq!(cost.removes, 2 * 998);
    assert_eq!(tx.bundle().schemas().len(), 2);
}

#[test]
fn a_rolled_back_recording_is_not_remembered() {
    let _alone = alone();
    let (db, counter) = database(MemoryStore::new());
    let (tx, _) = begin(&db, &counter, SCHEMAS);
    assert_eq!(tx.bundle().schemas().len(), SCHEMAS + 1);
    tx.rollback().unwrap();
    let tx = db.begin(&config(0)).unwrap();
    assert_eq!(tx.bundle().schemas().len(), SCHEMAS);
    drop(tx);
    let (tx, cost) = begin(&db, &counter, SCHEMAS);
    assert_eq!(tx.bundle().schemas().len(), SCHEMAS + 1);
    assert_eq!(cost.puts, 2, "it is recorded again");
}

#[test]
fn what_was_written_before_a_database_is_opened_on_it_is_seen() {
    let _alone = alone();
    let (db, _) = database(MemoryStore::new());
    db.begin(&config(0)).unwrap();
    let mut kv = db.kv().begin(&TxOptions::writing()).unwrap();
    kv.put(&[0, 3], b"").unwrap();
    let refused = db.begin_on(kv, &config(0));
    assert!(matches!(refused, Err(Error::Schema(_))), "{refused:?}");
}

#[test]
fn a_removed_schema_is_a_conflict_for_the_creation_of_an_object_of_it() {
    let _alone = alone();
    let (db, counter) = database(OptimisticDatabase::new(MemoryStore::new()));
    let (tx, _) = begin(&db, &counter, 0);
    let other = db.begin(&config(1)).unwrap();
    assert!(other.remove_schema(tx.schema().id).unwrap());
    other.commit().unwrap();
    tx.create("Item").unwrap();
    let refused = tx.commit().unwrap_err();
    let conflict = |error: &KvError| matches!(error, KvError::Conflict(_));
    assert!(matches!(&refused, Error::Kv { source, .. } if conflict(source)), "{refused}");
    // A reader conflicts with no other transaction, so it has to read nothing.
    db.begin(&config(1)).unwrap();
    counter.take();
    db.begin(&config(1).read_only()).unwrap();
    assert_eq!(counter.take().reads(), 0);
}

/// Java writes numbers in keys in their shortest form whenever it writes the tables.
#[test]
fn over_long_keys_of_the_tables_are_shortened_when_a_schema_is_recorded() {
    let _alone = alone();
    let store = Arc::new(MemoryStore::new());
    let new = || Database::new(store.clone());
    new().begin(&config(0)).unwrap().commit().unwrap();
    let keys = || -> Vec<Vec<u8>> {
        let kv = store.begin(&TxOptions::reading()).unwrap();
        let pairs = kv.scan(TABLES_SPAN, Direction::Forward).unwrap();
        pairs.map(|pair| pair.unwrap().0.to_vec()).collect()
    };
    let short = keys();
    let mut kv = store.begin(&TxOptions::writing()).unwrap();
    for key in &short {
        // A number below 251 in five bytes. Java reads this form too.
        let [table, number] = [key[1], key[2]];
        let [a, b, c, d] = u32::from(number).wrapping_sub(251).to_be_bytes();
        let value = kv.get(key).unwrap().unwrap().to_vec();
        kv.remove(key).unwrap();
        kv.put(&[0, table, 0xfe, a, b, c, d], &value).unwrap();
    }
    kv.commit().unwrap();
    let db = new();
    db.begin(&config(0)).unwrap().commit().unwrap();
    assert!(keys().iter().all(|key| key.len() == 7), "nothing is written for nothing");
    db.begin(&config(1)).unwrap().commit().unwrap();
    let after = keys();
    assert_eq!(after.len(), short.len() + 2);
    assert!(after.iter().all(|key| key.len() == 3), "{after:02x?}");
    let tx = db.begin(&config(0)).unwrap();
    assert_eq!(tx.bundle().schemas().len(), 2);
}
