//! The extremes of every built-in encoding through `save` and `load`.

use permazen::ObjId;
use permazen::kv::lmdb::LmdbStore;
use permazen::object::{Database, TransactionConfig};

use crate::fixture::Fixture;

#[path = "../../../core-tests/tests/bulk/copies/extremes.rs"]
#[allow(dead_code, reason = "the table of other tests")]
mod extremes;

/// A database with all extremes but dates that no text says, and the IDs of objects with these.
pub(crate) fn all(with_the_others: bool) -> (Fixture, Vec<ObjId>) {
    let db = Fixture::with(|_| {});
    let store = LmdbStore::open(&db.db).expect("open");
    let database = Database::new(std::sync::Arc::new(store));
    let tx = database.begin(&TransactionConfig::without_schema()).expect("begin");
    let objects = extremes::fill(&tx);
    let dates = extremes::DATE_FIRST..=extremes::DATE_LAST;
    let others: Vec<ObjId> = objects
        .into_iter()
        .filter(|(_, (_, value))| {
            matches!(value, permazen::encoding::Value::Date(date) if !dates.contains(&date.millis))
        })
        .map(|(id, _)| id)
        .collect();
    for id in others.iter().filter(|_| !with_the_others) {
        tx.delete(*id).expect("delete");
    }
    tx.commit().expect("commit");
    (db, others)
}

#[test]
fn what_save_writes_is_loaded_as_the_same_pairs() {
    let (db, others) = all(true);
    let file = db.name("all.xml");
    let error = db.run(&["save", "--storage-ids", &file]).error(2);
    assert!(error.contains(&format!("object {}, field ", others[0])), "{error}");
    assert!(error.contains("`save --encoded-values`"), "{error}");
    assert!(!db.path("all.xml").exists());
    db.out(&["save", "--storage-ids", "--encoded-values", &file]);
    let other = Fixture::with(|_| {});
    other.out(&["--write", "load", &file]);
    assert!(objects(&other) == objects(&db), "other pairs");
}

/// All pairs but the schemas.
fn objects(db: &Fixture) -> Vec<(Vec<u8>, Vec<u8>)> {
    db.pairs().into_iter().filter(|(key, _)| !key.starts_with(&[0])).collect()
}

/// `export` has the schemas, so an empty database takes its output.
#[test]
fn what_export_prints_is_loaded_as_the_same_pairs() {
    let (db, others) = all(true);
    let ids: Vec<String> = others.iter().map(|id| format!("@{id}")).collect();
    let other = Fixture::with(|_| {});
    let types = db.out(&["--raw", "types", "--no-counts"]);
    let names = types.lines().filter_map(|line| line.split('\t').next());
    let exports: Vec<String> = names.map(|name| format!("export {name}")).collect();
    let exported = db.out(&["-c", &exports.join("; ")]);
    assert!(ids.iter().all(|id| exported.contains(&id[1..])));
    let file = db.file("all.json", &exported);
    other.out(&["--write", "load", &file]);
    assert!(objects(&other) == objects(&db), "other pairs");
}
