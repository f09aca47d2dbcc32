//! Fields of each kind after a move.

use std::sync::Arc;

use permazen::__internal::object::WouldLose;
use permazen::encoding::{Value, ids};
use permazen::kv::memory::MemoryStore;
use permazen::object::{Database, Error, FieldValue, Migrate, Transaction};
use permazen::schema::{Field, ObjectType, SchemaError, SchemaId, Simple};
use permazen::{ObjId, StorageId};

use crate::migration::world::*;

/// Gives the field a value.
fn put(tx: &Transaction, id: ObjId, value: &FieldValue) {
    match value {
        FieldValue::Simple(value) => tx.set(id, "f", value, Migrate::No).unwrap(),
        FieldValue::Counter(count) => tx.set_counter(id, "f", *count, Migrate::No).unwrap(),
        FieldValue::Set(values) => {
            let set = tx.set_view(id, "f", Migrate::No).unwrap();
            values.iter().for_each(|value| assert!(set.add(value).unwrap()));
        }
        FieldValue::List(values) => {
            tx.list_view(id, "f", Migrate::No).unwrap().extend(values).unwrap();
        }
        FieldValue::Map(entries) => {
            let map = tx.map_view(id, "f", Migrate::No).unwrap();
            entries.iter().for_each(|(key, value)| drop(map.put(key, value).unwrap()));
        }
        other => panic!("{other:?}"),
    }
}

fn read(db: &Database, id: ObjId) -> FieldValue {
    db.begin(&config()).unwrap().load(id, Migrate::No).unwrap().decode("f").unwrap()
}

/// Moves an object with this value to a schema with another field. Returns what the field contains
/// then, or what would be lost. The object then moves back, or has stayed.
fn moved(from: Simple, to: Simple, value: Value) -> Result<Value, String> {
    let fields = [Field::new("f", from), Field::new("f", to)];
    match whole(fields, FieldValue::Simple(value))? {
        FieldValue::Simple(value) => Ok(value),
        other => panic!("{other:?}"),
    }
}

fn whole(fields: [Field; 2], value: FieldValue) -> Result<FieldValue, String> {
    let schemas = fields.map(with_field);
    let (db, ids) = database(Arc::new(MemoryStore::new()), &schemas);
    let id = create(&db, "A", ids[0]);
    let tx = db.begin(&config()).unwrap();
    put(&tx, id, &value);
    tx.commit().unwrap();
    let before = pairs(&db);

    let tx = db.begin(&config()).unwrap();
    let moved = tx.migrate_exactly(id, ids[1]);
    tx.commit().unwrap();
    assert_clean(&db);
    match moved {
        Ok(moved) => {
            assert!(moved);
            assert_eq!(schema_of(&db, id), ids[1]);
            let there = read(&db, id);
            Ok(there)
        }
        Err(Error::MoveRefused(cause)) => {
            assert_eq!(pairs(&db), before);
            let would_lose = cause.downcast_ref::<WouldLose>().unwrap();
            assert_eq!((would_lose.id, would_lose.from, would_lose.to), (id, ids[0], ids[1]));
            assert_eq!(would_lose.losses.len(), 1);
            let loss = &would_lose.losses[0];
            Err(format!("{}: {}: {}", loss.field, loss.value, loss.reason))
        }
        Err(error) => panic!("{error}"),
    }
}

fn schema_of(db: &Database, id: ObjId) -> SchemaId {
    db.begin(&config()).unwrap().object_schema(id).unwrap().id
}

fn lost(result: Result<impl std::fmt::Debug, String>, reason: &str) {
    let found = result.unwrap_err();
    assert!(found.contains(reason), "{found:?} lacks {reason:?}");
}

#[test]
fn single_values() {
    assert_eq!(moved(int(), long(), Value::Int(5)), Ok(Value::Long(5)));
    assert_eq!(moved(int(), long(), Value::Int(0)), Ok(Value::Long(0)));
    assert_eq!(moved(long(), int(), Value::Long(-7)), Ok(Value::Int(-7)));
    lost(moved(long(), int(), Value::Long(5_000_000_000)), "f: 5000000000: 5000000000 does");
    assert_eq!(moved(string(), int(), Value::from("7")), Ok(Value::Int(7)));
    lost(moved(string(), int(), Value::from("007")), "f: \"007\"");
    lost(moved(string(), int(), Value::Null), "null is no value of int");
    assert_eq!(moved(int(), Simple::of(ids::INT_OR_NULL), Value::Int(0)), Ok(Value::Int(0)));
}

#[test]
fn enums_go_by_name() {
    let enums = |names: &[&str]| Simple::enumeration(names.iter().copied());
    let (before, after) = (enums(&["A", "B", "C"]), enums(&["C", "A"]));
    let constant = |of: &Simple, name: &str| {
        let schemas = [with_field(Field::new("f", of.clone()))];
        let (db, ids) = database(Arc::new(MemoryStore::new()), &schemas);
        let id = create(&db, "A", ids[0]);
        let tx = db.begin(&config()).unwrap();
        let encoding =
            Arc::clone(&tx.object_type(id).unwrap().field("f").unwrap().simple().unwrap().encoding);
        encoding.from_text(name).unwrap()
    };
    let value = constant(&before, "C");
    assert_eq!(moved(before.clone(), after.clone(), value), Ok(constant(&after, "C")));
    lost(moved(before.clone(), after, constant(&before, "B")), "\"B\" is no constant of");
}

#[test]
fn counters() {
    let fields = || [Field::counter("f"), Field::new("f", int())];
    let [counter, number] = fields();
    let both = |count| whole(fields(), FieldValue::Counter(count));
    assert_eq!(both(5), Ok(FieldValue::Simple(Value::Int(5))));
    assert_eq!(both(0), Ok(FieldValue::Simple(Value::Int(0))));
    lost(both(5_000_000_000), "5000000000 does not fit int");
    let back = |value| whole([number.clone(), counter.clone()], FieldValue::Simple(value));
    assert_eq!(back(Value::Int(-5)), Ok(FieldValue::Counter(-5)));
    assert_eq!(back(Value::Int(0)), Ok(FieldValue::Counter(0)));
    let text = [Field::new("f", string()), counter];
    lost(whole(text, FieldValue::Simple(Value::from("x"))), "is no");
}

#[test]
fn collections() {
    let ints = |values: &[i32]| values.iter().copied().map(Value::Int).collect::<Vec<_>>();
    let longs = |values: &[i64]| values.iter().copied().map(Value::Long).collect::<Vec<_>>();
    let (set, list) = (FieldValue::Set, FieldValue::List);
    let of_set = |part| Field::set("f", part);
    let of_list = |part| Field::list("f", part);
    let one = |part| Field::new("f", part);

    assert_eq!(whole([of_set(int()), of_set(long())], set(ints(&[1, 2]))), Ok(set(longs(&[1, 2]))));
    assert_eq!(whole([of_set(int()), of_list(int())], set(ints(&[1, 2]))), Ok(list(ints(&[1, 2]))));
    assert_eq!(whole([of_list(int()), of_set(int())], list(ints(&[1, 2]))), Ok(set(ints(&[1, 2]))));
    lost(whole([of_list(int()), of_set(int())], list(ints(&[2, 1]))), "lose the order");
    lost(whole([of_list(int()), of_set(int())], list(ints(&[1, 1]))), "lose the order");
    lost(whole([of_set(long()), of_set(int())], set(longs(&[1, 1 << 40]))), "does not fit int");
    assert_eq!(
        whole([one(int()), of_list(int())], FieldValue::Simple(Value::Int(5))),
        Ok(list(ints(&[5])))
    );
    assert_eq!(
        whole([one(string()), of_set(string())], FieldValue::Simple(Value::Null)),
        Ok(set(vec![]))
    );
    assert_eq!(
        whole([of_list(int()), one(int())], list(ints(&[5]))),
        Ok(FieldValue::Simple(Value::Int(5)))
    );
    lost(whole([of_list(int()), one(int())], list(ints(&[5, 6]))), "the field has only one value");
    lost(whole([of_list(int()), one(int())], list(vec![])), "the field has no null");
    assert_eq!(
        whole([of_list(string()), one(string())], list(vec![])),
        Ok(FieldValue::Simple(Value::Null))
    );

    let map = |key, value| Field::map("f", key, value);
    let entry = FieldValue::Map(vec![(Value::Int(1), Value::Int(2))]);
    assert_eq!(
        whole([map(int(), int()), map(long(), string())], entry.clone()),
        Ok(FieldValue::Map(vec![(Value::Long(1), Value::from("2"))]))
    );
    lost(whole([map(int(), int()), of_set(int())], entry), "a map is not converted to a set");
    assert_eq!(whole([map(int(), int()), of_set(int())], FieldValue::Map(vec![])), Ok(set(vec![])));
}

#[test]
fn a_field_that_goes() {
    let (a, b) = (Field::new("f", int()), Field::new("g", int()));
    for (value, stays) in [(0, false), (5, true)] {
        let schemas = [a.clone(), b.clone()].map(with_field);
        let (db, ids) = database(Arc::new(MemoryStore::new()), &schemas);
        let id = create(&db, "A", ids[0]);
        let tx = db.begin(&config()).unwrap();
        put(&tx, id, &FieldValue::Simple(Value::Int(value)));
        let moved = tx.migrate_exactly(id, ids[1]);
        if stays {
            let text = moved.unwrap_err().to_string();
            assert!(text.contains("\"f\" (there is no such field)"), "{text}");
            assert!(text.contains(&id.to_string()) && text.contains("value 5 of"), "{text}");
        } else {
            assert!(moved.unwrap());
            assert_eq!(tx.get(id, "g", Migrate::No).unwrap(), Value::Int(0));
        }
        assert_eq!(tx.object_schema(id).unwrap().id, ids[usize::from(!stays)]);
    }
}

#[test]
fn references() {
    let to = |types: &[&str]| Simple::reference().to(types.iter().copied());
    for make in [
        (|part| Field::new("f", part)) as fn(Simple) -> Field,
        |part| Field::set("f", part),
        |part| Field::list("f", part),
        |part| Field::map("f", part, int()),
        |part| Field::map("f", int(), part),
    ] {
        let schemas = [make(to(&["B", "C"])), make(to(&["B"])), make(to(&["C", "A"]))];
        let (db, ids) = database(Arc::new(MemoryStore::new()), &schemas.map(with_field));
        let (a, b) = (create(&db, "A", ids[0]), create(&db, "B", ids[0]));
        let tx = db.begin(&config()).unwrap();
        let value =
            |value| match tx.object_type(a).unwrap().field("f").unwrap().item_kind().as_str() {
                "SetField" => FieldValue::Set(vec![value]),
                "ListField" => FieldValue::List(vec![value]),
                "MapField" => match tx
                    .object_type(a)
                    .unwrap()
                    .field("f")
                    .unwrap()
                    .sub_field("key")
                    .unwrap()
                    .is_reference()
                {
                    true => FieldValue::Map(vec![(value, Value::Int(1))]),
                    false => FieldValue::Map(vec![(Value::Int(1), value)]),
                },
                _ => FieldValue::Simple(value),
            };
        put(&tx, a, &value(Value::Ref(b)));
        assert!(tx.migrate_exactly(a, ids[1]).unwrap());
        let refused = tx.migrate_exactly(a, ids[2]).unwrap_err().to_string();
        assert!(refused.contains("does not allow references to objects of this type"), "{refused}");
        assert!(refused.contains(&b.to_string()), "{refused}");
        // It still refers to the object, in its schema.
        assert_eq!(tx.load(a, Migrate::No).unwrap().decode("f").unwrap(), value(Value::Ref(b)));
        assert_eq!(tx.object_schema(a).unwrap().id, ids[1]);
        tx.commit().unwrap();
        assert_clean(&db);
    }
}

#[test]
fn indexes_follow() {
    let schemas = [Field::new("f", int()), Field::new("f", long().indexed())].map(with_field);
    let (db, ids) = database(Arc::new(MemoryStore::new()), &schemas);
    let id = create(&db, "A", ids[0]);
    let tx = db.begin(&config()).unwrap();
    put(&tx, id, &FieldValue::Simple(Value::Int(5)));
    assert!(tx.migrate_exactly(id, ids[1]).unwrap());
    let index = tx.index_by_name("A", "f").unwrap();
    assert_eq!(index.get(&[Value::Long(5)]).unwrap().first().unwrap(), Some(id));
    // And back.
    assert!(tx.migrate_exactly(id, ids[0]).unwrap());
    assert_eq!(tx.get(id, "f", Migrate::No).unwrap(), Value::Int(5));
    assert_eq!(tx.index_by_name("A", "f").unwrap().count().unwrap(), 0);
    assert!(!tx.migrate_exactly(id, ids[0]).unwrap());
    tx.commit().unwrap();
    assert_clean(&db);
}

#[test]
fn what_cannot_be() {
    let schemas = [with_field(Field::new("f", int())), schema([ObjectType::new("B")])];
    let (db, ids) = database(Arc::new(MemoryStore::new()), &schemas);
    let a = create(&db, "A", ids[0]);
    let tx = db.begin(&config()).unwrap();
    let error = tx.migrate_exactly(a, ids[1]).unwrap_err();
    assert!(matches!(&error, Error::TypeNotInSchema { id, .. } if *id == a), "{error:?}");
    let unknown = with_field(Field::new("f", long())).schema_id();
    assert!(matches!(
        tx.migrate_exactly(a, unknown),
        Err(Error::Schema(SchemaError::UnknownSchema(_)))
    ));
    tx.delete(a).unwrap();
    assert!(matches!(tx.migrate_exactly(a, ids[0]), Err(Error::DeletedObject { .. })));
    let nobody = ObjId::min(StorageId::new(77).unwrap());
    assert!(matches!(tx.migrate_exactly(nobody, ids[0]), Err(Error::UnknownType { .. })));
}

#[test]
fn names_are_quoted_in_refusals() {
    let name = "f\u{9b}31m";
    let evil = |part| schema([ObjectType::new("P\u{9b}31m").field(Field::new(name, part))]);
    let (db, ids) = database(Arc::new(MemoryStore::new()), &[evil(string()), evil(int())]);
    let id = create(&db, "P\u{9b}31m", ids[0]);
    let tx = db.begin(&config()).unwrap();
    tx.set(id, name, &Value::from("\u{1b}[31m\u{9b}"), Migrate::No).unwrap();
    let text = tx.migrate_exactly(id, ids[1]).unwrap_err().to_string();
    assert!(text.chars().all(|c| !c.is_control()), "{text:?}");
}
