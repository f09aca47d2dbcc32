//! Objects that are large or many.

use permazen::encoding::Value;
use permazen::kv::{Direction, KeySpan, KvDatabaseExt, KvError, KvRead};
use permazen::object::Migrate;
use permazen::schema::{Field, ObjectType, SchemaModel};

use super::database::{Fixture, encoding};

fn model() -> SchemaModel {
    SchemaModel::new().object_type(
        ObjectType::new("Item")
            .field(Field::new("kind", encoding("int").indexed()))
            .field(Field::set("labels", encoding("int")))
            .field(Field::new("text", encoding("String"))),
    )
}

/// More objects with equal values than are kept in memory while an index is read from its end.
#[test]
fn many_objects_with_equal_values() {
    let fixture = Fixture::new();
    fixture.with(model(), |tx| {
        for number in 0..10_000 {
            let id = tx.create("Item").unwrap();
            let kind = if number % 1000 == 0 { 1 + number % 3 } else { 2 };
            tx.set(id, "kind", &Value::Int(kind), Migrate::No).unwrap();
        }
    });
    let ids = |statement: &str| -> Vec<_> {
        let rows = fixture.ask(statement).rows;
        rows.into_iter().map(|row| (row.cells[0].literal(), row.id.unwrap())).collect()
    };
    for order in ["kind desc", "kind"] {
        let by_index = ids(&format!("find Item order by {order} columns kind"));
        assert_eq!(by_index.len(), 10_000);
        assert!(by_index == ids(&format!("find Item order by {order} using none columns kind")));
    }
    assert!(fixture.plan("find Item order by kind desc").contains("in its order, from the end"));
    // A damaged entry is counted once, although the entries of such a group are read twice.
    let index = fixture.reading().field_storage_id("Item", "kind").unwrap();
    let keys = |kv: &dyn KvRead| -> Result<Vec<Vec<u8>>, KvError> {
        let pairs = kv.scan(KeySpan::FULL, Direction::Forward)?;
        pairs.map(|pair| pair.map(|(key, _)| key.to_vec())).collect()
    };
    let mut keys = fixture.store.read(|kv| keys(kv)).unwrap();
    keys.retain(|key| key.starts_with(&index.prefix()));
    for at in [10, 100, 5_000, 9_980] {
        let entry = [&keys[at][..], &[0]].concat();
        fixture.store.write(|kv| kv.put(&entry, b"")).unwrap();
        assert_eq!(fixture.ask("find Item order by kind desc").ran.damaged, 1, "{at}");
        fixture.store.write(|kv| kv.remove(&entry)).unwrap();
    }
    // The first rows do not need the rest of the index.
    let some = fixture.ask("find Item order by kind desc limit 2 columns kind");
    assert!(some.operations.steps < 2 * 10_000, "{:?}", some.operations);
}

/// Unwanted parts of a large object are passed over by a seek.
#[test]
fn large_collections_are_passed_over() {
    let fixture = Fixture::new();
    fixture.with(model(), |tx| {
        for text in ["b", "a"] {
            let id = tx.create("Item").unwrap();
            tx.set(id, "text", &text.into(), Migrate::No).unwrap();
            let labels = tx.set_view(id, "labels", Migrate::No).unwrap();
            for label in 0..5_000 {
                labels.add(&Value::Int(label)).unwrap();
            }
        }
    });
    let answer = fixture.ask("find Item where text = \"a\" columns text, kind");
    assert_eq!(answer.line(), "a 0");
    assert!(answer.operations.steps < 100, "{:?}", answer.operations);
    assert_eq!(fixture.ask("count Item where labels = 4999").line(), "2");
}

/// Large objects are not kept in a sort, but read again.
#[test]
fn sorted_objects_that_are_large() {
    let fixture = Fixture::new();
    let long = "x".repeat(1000);
    fixture.with(model(), |tx| {
        for kind in [3, 1, 2] {
            let id = tx.create("Item").unwrap();
            tx.set(id, "kind", &Value::Int(kind), Migrate::No).unwrap();
            let text = if kind == 2 { "short" } else { &long };
            tx.set(id, "text", &text.into(), Migrate::No).unwrap();
        }
    });
    let answer = fixture.ask("find Item order by kind desc using none columns kind, text");
    let rows: Vec<_> = answer.lines();
    assert_eq!(rows, [format!("3 {long}"), "2 short".to_owned(), format!("1 {long}")]);
    let again = answer.operations.gets + answer.operations.seeks;
    assert!((3..=8).contains(&again), "{:?}", answer.operations);
}
