//! The extremes of every built-in encoding through `save` and `load`.

use permazen::ObjId;
use permazen::kv::lmdb::LmdbStore;
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen_query::text::raw;

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

/// The rows of comma separated values. A cell without anything, also without quotes, is `None`.
fn rows(text: &str) -> Vec<Vec<Option<String>>> {
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let cell = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (mut cell, mut left) = (String::new(), quoted);
                loop {
                    let (part, after) = left.split_once('"').expect("the end of a cell");
                    cell.push_str(part);
                    match after.strip_prefix('"') {
                        Some(after) => {
                            cell.push('"');
                            left = after;
                        }
                        None => break rest = after,
                    }
                }
                Some(cell)
            }
            None => {
                let end = rest.find([',', '\n']).expect("the end of a cell");
                let cell = &rest[..end];
                rest = &rest[end..];
                (!cell.is_empty()).then(|| cell.to_owned())
            }
        };
        row.push(cell);
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => {
                rest = rest.strip_prefix('\n').expect("the end of a row");
                rows.push(std::mem::take(&mut row));
            }
        }
    }
    rows
}

/// Each cell is the text that stands for the value, from which it can be read again (that is tested
/// beside the texts).
#[test]
fn what_csv_prints_stands_for_each_value() {
    let (db, _) = all(true);
    let encodings = extremes::built_in();
    let encodings: Vec<_> = encodings.iter().filter(|(_, values)| !values.is_empty()).collect();
    let finds: Vec<String> = encodings
        .iter()
        .map(|(encoding, _)| {
            format!("find T{} columns id, `value`", encoding.name().replace("[]", "Array"))
        })
        .collect();
    let printed = db.out(&["--format", "csv", "-c", &finds.join("; ")]);
    let rows = rows(&printed);
    let header = [Some("id".to_owned()), Some("value".to_owned())];
    let mut tables = rows.split(|row| *row == header).skip(1);
    let store = LmdbStore::open(&db.db).expect("open");
    let database = Database::new(std::sync::Arc::new(store));
    let tx = database.begin(&TransactionConfig::without_schema()).expect("begin");
    for (encoding, values) in &encodings {
        let mut seen = std::collections::BTreeSet::new();
        for row in tables.next().expect("a table") {
            let [Some(id), cell] = &row[..] else { panic!("{row:?}") };
            let id: ObjId = id.parse().expect("an ID");
            let value = tx.get(id, "value", Migrate::No).expect("the value");
            let text = (!value.is_null()).then(|| raw(&value, &**encoding));
            assert_eq!(*cell, text, "{} {value:?}", encoding.name());
            seen.insert(encoding.encode_all(&value).expect("a value"));
        }
        for value in values {
            let bytes = encoding.encode_all(value).expect("a value");
            assert!(seen.contains(&bytes), "{} {value:?}", encoding.name());
        }
    }
    assert!(tables.next().is_none());
}
