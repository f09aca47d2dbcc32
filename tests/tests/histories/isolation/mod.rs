//! Transactions on objects are serializable on every store that claims it. The reads (also through
//! indexes) and writes of concurrent transactions are the same as if they ran one after the other.
//!
//! Histories: each object has a list. A transaction appends numbers that no other transaction
//! appends. It reads lists, and ranges of an index over all lists. The final lists show the order
//! of the appends. The reads of a transaction show which appends came before it and which after it.
//! If these orders together with real time contradict each other, no serial execution explains the
//! history.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use permazen::ObjId;
use permazen::StorageId;
use permazen::encoding::Value;
use permazen::kv::KvDatabase;
use permazen::kv::lmdb::{Durability, LmdbStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::sqlite::SqliteStore;
use permazen::object::{Database, Migrate, Result, Transaction, TransactionConfig};
use permazen::schema::SchemaModel;
use permazen_ledger::Page;
use permazen_tests::on_page;

mod careless;
mod history;
mod interleavings;

use careless::Careless;
use history::contradiction;

const SCHEMA: &str = r#"<Schema><ObjectType name="Cell" storageId="10">
  <ListField name="list" storageId="11"><SimpleField encoding="urn:fdc:permazen.io:2020:long" storageId="12" indexed="true"/></ListField>
  <SimpleField name="state" encoding="urn:fdc:permazen.io:2020:int" storageId="13" indexed="true"/>
  <SimpleField name="balance" encoding="urn:fdc:permazen.io:2020:long" storageId="14"/>
</ObjectType></Schema>"#;

/// How many objects there are.
const CELLS: u8 = 5;

fn config() -> TransactionConfig {
    TransactionConfig::new(SchemaModel::from_xml(SCHEMA.as_bytes()).unwrap()).unwrap()
}

fn cell(n: u8) -> ObjId {
    ObjId::from_bytes([10, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

/// A store, and the page that it is, if it is one.
type Opened = (Arc<dyn KvDatabase>, Option<Page>);

/// Opens a store in a directory.
type Open = Box<dyn FnOnce(&Path) -> Opened>;

/// Every store that claims to be serializable.
fn stores() -> Vec<(&'static str, Open)> {
    let lmdb = |path: &Path| {
        let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
        builder.open(path).unwrap()
    };
    let sqlite = |path: &Path| {
        let builder = SqliteStore::builder().create(true).durability(Durability::MayLoseEverything);
        builder.open(path.join("file")).unwrap()
    };
    fn store(kv: impl KvDatabase + 'static) -> Opened {
        (Arc::new(kv), None)
    }
    vec![
        ("memory", Box::new(|_| store(MemoryStore::new()))),
        ("LMDB", Box::new(move |path| store(lmdb(path)))),
        ("SQLite", Box::new(move |path| store(sqlite(path)))),
        (
            "optimistic over memory",
            Box::new(|_| store(OptimisticDatabase::new(MemoryStore::new()))),
        ),
        ("optimistic over LMDB", Box::new(move |path| store(OptimisticDatabase::new(lmdb(path))))),
        (
            "a page",
            Box::new(|_| {
                let page = on_page::new_page().unwrap();
                (on_page::main_branch(&page).unwrap(), Some(page))
            }),
        ),
    ]
}

/// Runs a test on each store, in a new directory.
fn on_each(test: impl Fn(&str, &Database)) {
    for (name, open) in stores() {
        let dir = tempfile::tempdir().unwrap();
        let (kv, page) = open(dir.path());
        assert!(kv.capabilities().serializable, "{name}");
        let db = Database::new(kv);
        with_cells(&db);
        test(name, &db);
        is_sound(&db, name);
        if let Some(page) = page {
            is_sound_in_history(&page);
        }
    }
}

fn with_cells(db: &Database) {
    let tx = db.begin(&config()).unwrap();
    (0..CELLS).for_each(|n| assert!(tx.create_with_id(cell(n)).unwrap()));
    tx.commit().unwrap();
}

fn is_sound(db: &Database, name: &str) {
    let findings = findings(db);
    assert!(findings.is_empty(), "{name}: {findings:#?}");
}

/// At some old commits of a page too.
fn is_sound_in_history(page: &Page) {
    let checked = on_page::check_commits(page, 7).unwrap();
    assert!(checked.old > 0, "{checked:?}");
}

/// The findings of the checker.
fn findings(db: &Database) -> Vec<String> {
    let tx = db.begin(&config().read_only()).unwrap();
    let mut findings = Vec::new();
    tx.read_pairs(|kv| {
        let mut sink = |finding: &permazen_jsck::Finding| findings.push(finding.to_string());
        Ok(permazen_jsck::check(kv, &Default::default(), &mut sink).unwrap())
    })
    .unwrap();
    findings
}

/// Runs a transaction until it is committed.
fn until_committed<T>(db: &Database, body: impl Fn(&Transaction) -> Result<T>) -> T {
    loop {
        let attempt = db.begin(&config()).and_then(|tx| {
            let value = body(&tx)?;
            tx.commit().map(|()| value)
        });
        match attempt {
            Ok(value) => return value,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
        std::thread::yield_now();
    }
}

fn long(tx: &Transaction, id: ObjId) -> Result<i64> {
    Ok(tx.get(id, "balance", Migrate::No)?.get::<i64>().unwrap())
}

fn set_long(tx: &Transaction, id: ObjId, value: i64) -> Result<()> {
    tx.set(id, "balance", &Value::Long(value), Migrate::No)
}

/// How many objects the index has in a range of states.
fn in_states(tx: &Transaction, from: i32, to: i32) -> Result<usize> {
    let index = tx.index(StorageId::new(13).unwrap())?;
    let (from, to) = (Value::Int(from), Value::Int(to));
    use std::ops::Bound::Included;
    Ok(index.with_bounds(0, Included(&from), Included(&to))?.ids().count())
}

fn set_state(tx: &Transaction, n: u8, state: i32) -> Result<()> {
    tx.set(cell(n), "state", &Value::Int(state), Migrate::No)
}

/// Runs the same in several threads at once.
fn in_threads(count: u64, body: impl Fn(u64) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..count {
            let body = &body;
            scope.spawn(move || body(thread));
        }
    });
}

#[test]
fn histories_have_a_serial_order() {
    on_each(|name, db| {
        let (history, lists, refused) = history::run(db, 6, 60);
        if let Some(why) = contradiction(&history, &lists) {
            panic!("{name}: {why}");
        }
        println!("{name}: {} transactions, {refused} run again", history.len());
        assert_eq!(history.len(), 6 * 60);
    });
}

/// This test is able to fail.
#[test]
fn histories_on_a_store_that_does_not_check_reads_have_none() {
    let found = (0..200).any(|_| {
        let db =
            Database::new(Arc::new(Careless::new(OptimisticDatabase::new(MemoryStore::new()))));
        with_cells(&db);
        let (history, lists, _) = history::run(&db, 6, 60);
        contradiction(&history, &lists).is_some()
    });
    assert!(found, "nothing was found on a store that does not check reads");
}

#[test]
fn a_lost_update_does_not_happen() {
    on_each(|name, db| {
        in_threads(4, |_| {
            for _ in 0..25 {
                until_committed(db, |tx| {
                    let balance = long(tx, cell(0))?;
                    std::thread::yield_now();
                    set_long(tx, cell(0), balance + 1)
                });
            }
        });
        assert_eq!(until_committed(db, |tx| long(tx, cell(0))), 100, "{name}");
    });
}

/// An object may leave the state if another one stays in it. So there is always one in it.
#[test]
fn write_skew_through_an_index_does_not_happen() {
    on_each(|name, db| {
        for round in 0..20 {
            until_committed(db, |tx| (0..4).try_for_each(|n| set_state(tx, n, 7)));
            in_threads(4, |thread| {
                until_committed(db, |tx| {
                    let staying = in_states(tx, 5, 9)?;
                    std::thread::yield_now();
                    if staying > 1 { set_state(tx, thread as u8, 0) } else { Ok(()) }
                });
            });
            assert_eq!(until_committed(db, |tx| in_states(tx, 5, 9)), 1, "{name}, round {round}");
        }
    });
}

/// At most three objects may have a state in a range. Each thread wants to add one.
#[test]
fn phantoms_in_an_index_range_are_noticed() {
    on_each(|name, db| {
        for round in 0..20 {
            until_committed(db, |tx| (100..108).try_for_each(|n| tx.delete(cell(n)).map(drop)));
            in_threads(8, |thread| {
                until_committed(db, |tx| {
                    if in_states(tx, 20, 29)? < 3 {
                        std::thread::yield_now();
                        let n = 100 + thread as u8;
                        tx.create_with_id(cell(n))?;
                        set_state(tx, n, 20 + thread as i32)?;
                    }
                    Ok(())
                });
            });
            assert_eq!(until_committed(db, |tx| in_states(tx, 20, 29)), 3, "{name}, round {round}");
        }
    });
}

/// Two accounts. A withdrawal that makes their sum negative costs a fee. Meanwhile a deposit
/// arrives. If a reader sees the deposit, but not yet the withdrawal, there must be no fee
/// afterwards.
#[test]
fn the_anomaly_of_a_read_only_transaction_does_not_happen() {
    on_each(|name, db| {
        for round in 0..40 {
            until_committed(db, |tx| (0..2).try_for_each(|n| set_long(tx, cell(n), 0)));
            let seen = Mutex::new((0, 0));
            in_threads(3, |thread| match thread {
                0 => until_committed(db, |tx| {
                    let sum = long(tx, cell(0))? + long(tx, cell(1))?;
                    std::thread::yield_now();
                    let fee = if sum < 10 { 1 } else { 0 };
                    set_long(tx, cell(0), long(tx, cell(0))? - 10 - fee)
                }),
                1 => until_committed(db, |tx| set_long(tx, cell(1), long(tx, cell(1))? + 20)),
                _ => {
                    let tx = db.begin(&config().read_only()).unwrap();
                    let values = (long(&tx, cell(0)).unwrap(), long(&tx, cell(1)).unwrap());
                    tx.commit().unwrap();
                    *seen.lock().unwrap() = values;
                }
            });
            let seen = seen.into_inner().unwrap();
            let end = until_committed(db, |tx| Ok((long(tx, cell(0))?, long(tx, cell(1))?)));
            assert!(end == (-10, 20) || end == (-11, 20), "{name}, round {round}: {end:?}");
            assert!(
                !(seen == (0, 20) && end == (-11, 20)),
                "{name}, round {round}: the deposit was seen before the withdrawal, which took a fee"
            );
        }
    });
}
