//! The shape of native_db's benchmark: an item with a payload and ten secondary keys.

use std::hint::black_box;
use std::path::Path;
use std::sync::LazyLock;

use native_db::{Builder, Database, Models, ToKey, native_db};
use native_model::{Model, native_model};
use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::{Permazen, PermazenObject, Ref, Tx};
use rusqlite::{Connection, params_from_iter};
use serde::{Deserialize, Serialize};

use super::line;
use crate::data::sample;
use crate::measure::{timed, walk};
use crate::peers::Table;
use crate::settings::Settings;
use crate::sides::{Flush, sqlite_settings};

/// The same ten numbers for all sides: keys are spread, each number has a few items.
fn keys(item: usize) -> [i64; 10] {
    std::array::from_fn(|at| ((item * 7919 + at * 104_729) % 10_007) as i64)
}

macro_rules! items {
    ($($field:ident $at:literal),*) => {
        #[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[native_model(id = 1, version = 1)]
        #[native_db]
        struct Item {
            #[primary_key]
            id: u64,
            $(#[secondary_key] $field: i64,)*
            payload: String,
        }

        impl Item {
            fn new(item: usize) -> Item {
                let keys = keys(item);
                Item { id: item as u64, $($field: keys[$at],)* payload: format!("payload {item}") }
            }
        }

        #[derive(PermazenObject, Clone, Debug)]
        struct Stored {
            $(#[permazen(indexed)] $field: i64,)*
            payload: String,
        }

        impl Stored {
            fn new(item: usize) -> Stored {
                let keys = keys(item);
                Stored { $($field: keys[$at],)* payload: format!("payload {item}") }
            }
        }

        const COLUMNS: &[&str] = &[$(stringify!($field)),*];
    };
}

items!(key0 0, key1 1, key2 2, key3 3, key4 4, key5 5, key6 6, key7 7, key8 8, key9 9);

static MODELS: LazyLock<Models> = LazyLock::new(|| {
    let mut models = Models::new();
    models.define::<Item>().unwrap();
    models
});

fn sqlite() -> String {
    let keys: Vec<String> = COLUMNS.iter().map(|name| format!("{name} INTEGER NOT NULL")).collect();
    let mut text = format!(
        "{}; CREATE TABLE item (id INTEGER PRIMARY KEY, {}, payload TEXT NOT NULL);",
        sqlite_settings(Flush::Never),
        keys.join(", ")
    );
    for name in COLUMNS {
        text += &format!("CREATE INDEX item_{name} ON item ({name});");
    }
    text
}

const INSERT: &str = "INSERT INTO item VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

fn insert(tx: &Connection, items: &[usize]) {
    let mut insert = tx.prepare_cached(INSERT).unwrap();
    for item in items {
        use rusqlite::types::Value;
        let keys = keys(*item).into_iter().map(Value::from);
        let id = std::iter::once(Value::from(*item as i64));
        let payload = std::iter::once(Value::from(format!("payload {item}")));
        insert.execute(params_from_iter(id.chain(keys).chain(payload))).unwrap();
    }
}

fn read_item(row: &rusqlite::Row<'_>) -> rusqlite::Result<([i64; 10], String)> {
    let mut keys = [0; 10];
    for (at, key) in keys.iter_mut().enumerate() {
        *key = row.get(at + 1)?;
    }
    Ok((keys, row.get(11)?))
}

struct Sides {
    ours: Permazen,
    stored: Vec<Ref<Stored>>,
    sqlite: Connection,
    native: Database<'static>,
    _in_memory: tempfile::TempDir,
}

impl Sides {
    fn new(dir: &Path, items: usize) -> Sides {
        std::fs::create_dir_all(dir).unwrap();
        let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
        let store = builder.open(dir.join("permazen")).unwrap();
        let ours = Permazen::builder(store).model::<Stored>().build().unwrap();
        let in_memory = tempfile::tempdir_in("/dev/shm").unwrap();
        let native = Builder::new().create(&MODELS, in_memory.path().join("db")).unwrap();
        let sqlite_db = Connection::open(dir.join("db.sqlite")).unwrap();
        sqlite_db.execute_batch(&sqlite()).unwrap();
        let all: Vec<usize> = (0..items).collect();
        let create =
            |tx: &Tx| all.iter().map(|n| Ok(tx.create(Stored::new(*n))?.to_ref())).collect();
        let stored = ours.write::<Vec<_>>(create).unwrap();
        let tx = sqlite_db.unchecked_transaction().unwrap();
        insert(&tx, &all);
        tx.commit().unwrap();
        let rw = native.rw_transaction().unwrap();
        all.iter().for_each(|n| rw.insert(Item::new(*n)).unwrap());
        rw.commit().unwrap();
        Sides { ours, stored, sqlite: sqlite_db, native, _in_memory: in_memory }
    }
}

/// Unflushed. The changes are rolled back, and the time includes neither begin nor end.
pub fn table(dir: &Path, settings: &Settings) -> Table {
    let items = if settings.quick { 300 } else { 10_000 };
    let Sides { ours, stored, sqlite, native, _in_memory } = Sides::new(dir, items);
    let count = settings.rounds.min(9);
    let some = |round: usize| sample(items, settings.sample.min(500), round as u64);
    let new = |round: usize| -> Vec<usize> { some(round).iter().map(|n| n + items).collect() };
    let inserts = line(
        "insert, 10 secondary keys",
        count,
        vec![
            Box::new(|round| {
                let new = new(round);
                let tx = ours.begin().unwrap();
                let cost = timed(new.len(), || {
                    for n in &new {
                        black_box(tx.create(Stored::new(*n)).unwrap());
                    }
                });
                tx.rollback().unwrap();
                cost
            }),
            Box::new(|round| {
                let new = new(round);
                let tx = sqlite.unchecked_transaction().unwrap();
                timed(new.len(), || insert(&tx, &new))
            }),
            Box::new(|round| {
                let new = new(round);
                let rw = native.rw_transaction().unwrap();
                let cost = timed(new.len(), || {
                    new.iter().for_each(|n| rw.insert(Item::new(*n)).unwrap());
                });
                rw.abort().unwrap();
                cost
            }),
        ],
    );
    let gets = line(
        "get by primary key",
        count,
        vec![
            Box::new(|round| {
                let some = some(round);
                let tx = ours.begin_read().unwrap();
                timed(some.len(), || {
                    for n in &some {
                        black_box(tx.get(stored[*n]).unwrap().load().unwrap());
                    }
                })
            }),
            Box::new(|round| {
                let some = some(round);
                let tx = sqlite.unchecked_transaction().unwrap();
                timed(some.len(), || {
                    let mut select = tx.prepare_cached("SELECT * FROM item WHERE id = ?1").unwrap();
                    for n in &some {
                        black_box(select.query_row([*n as i64], read_item).unwrap());
                    }
                })
            }),
            Box::new(|round| {
                let some = some(round);
                let tx = native.r_transaction().unwrap();
                timed(some.len(), || {
                    for n in &some {
                        black_box(tx.get().primary::<Item>(*n as u64).unwrap().unwrap());
                    }
                })
            }),
        ],
    );
    let range = line(
        "all items in the order of a secondary key",
        count,
        vec![
            Box::new(|_| {
                let tx = ours.begin_read().unwrap();
                timed(items, || {
                    let index = tx.index(Stored::KEY0).unwrap();
                    assert_eq!(walk(index.objects().map(|item| item?.load())), items);
                })
            }),
            Box::new(|_| {
                let tx = sqlite.unchecked_transaction().unwrap();
                timed(items, || {
                    let mut select = tx.prepare_cached("SELECT * FROM item ORDER BY key0").unwrap();
                    assert_eq!(walk(select.query_map([], read_item).unwrap()), items);
                })
            }),
            Box::new(|_| {
                let tx = native.r_transaction().unwrap();
                timed(items, || {
                    let scan = tx.scan().secondary::<Item>(ItemKey::key0).unwrap();
                    assert_eq!(walk(scan.range(0i64..).unwrap()), items);
                })
            }),
        ],
    );
    let deletes = line(
        "delete, 10 secondary keys",
        count,
        vec![
            Box::new(|round| {
                let some = some(round);
                let tx = ours.begin().unwrap();
                let cost = timed(some.len(), || {
                    some.iter()
                        .for_each(|n| assert!(tx.get(stored[*n]).unwrap().delete().unwrap()));
                });
                tx.rollback().unwrap();
                cost
            }),
            Box::new(|round| {
                let some = some(round);
                let tx = sqlite.unchecked_transaction().unwrap();
                timed(some.len(), || {
                    let mut delete = tx.prepare_cached("DELETE FROM item WHERE id = ?1").unwrap();
                    for n in &some {
                        assert_eq!(delete.execute([*n as i64]).unwrap(), 1);
                    }
                })
            }),
            Box::new(|round| {
                // The item must be given, as the program has it.
                let some: Vec<Item> = some(round).into_iter().map(Item::new).collect();
                let rw = native.rw_transaction().unwrap();
                let cost = timed(some.len(), || {
                    for item in some {
                        rw.remove(item).unwrap();
                    }
                });
                rw.abort().unwrap();
                cost
            }),
        ],
    );
    let sides = vec!["permazen", "SQLite (rusqlite)", "native_db"];
    Table { sides, lines: vec![inserts, gets, range, deletes] }
}
