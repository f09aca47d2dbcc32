//! Simple fields, references, enums and counters: behaviours 26 to 44.

use permazen::encoding::{EncodingError, EnumValue, Value};
use permazen::object::{Error, Migrate, Transaction};

use crate::support::*;

const REFS: &str = r#"<Schema>
<ObjectType name="A" storageId="10">
  <ReferenceField name="any" storageId="11" inverseDelete="IGNORE"/>
  <ReferenceField name="strict" storageId="12" inverseDelete="NULLIFY"/>
  <ReferenceField name="onlyC" storageId="13" inverseDelete="NULLIFY"><ObjectTypes><ObjectType name="C"/></ObjectTypes></ReferenceField>
  <SetField name="set" storageId="14"><ReferenceField storageId="15" inverseDelete="NULLIFY"><ObjectTypes><ObjectType name="C"/></ObjectTypes></ReferenceField></SetField>
</ObjectType>
<ObjectType name="B" storageId="20"/>
<ObjectType name="C" storageId="30"/>
</Schema>"#;

fn get(tx: &Transaction, field: &str) -> Value {
    tx.get(foo_id(1), field, Migrate::No).unwrap()
}

fn write(tx: &Transaction, field: &str, value: Value) -> permazen::object::Result<()> {
    tx.set(foo_id(1), field, &value, Migrate::No)
}

#[test]
fn t026_setting_an_indexed_field_moves_its_entries() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    create(&tx, foo_id(2));
    let (_, cost) = world.cost(|| set(&tx, foo_id(1), "i", int(5)));
    // i itself and the other members of both composite indexes
    assert_eq!((cost.gets, cost.puts, cost.removes), (4, 4, 3));
    assert_eq!((cost.seeks, cost.steps), (0, 0));
    set(&tx, foo_id(1), "s", text("abc"));
    set(&tx, foo_id(1), "r", Value::Ref(foo_id(2)));
    tx.set_counter(foo_id(1), "c", -1, Migrate::No).unwrap();
    set(&tx, foo_id(1), "e", Value::Enum(EnumValue::new("GREEN", 1)));
    tx.commit().unwrap();
    let pairs: Vec<_> =
        world.pairs().into_iter().filter(|pair| pair.contains("0a11111111111111")).collect();
    assert_eq!(
        pairs,
        [
            "0080010a11111111111111=",
            "0a11111111111111=01",
            "0a111111111111110b=84",
            "0a111111111111110c=61626300",
            "0a111111111111110d=0a22222222222222",
            "0a111111111111110e=ffffffffffffffff",
            "0a111111111111110f=01",
            "0b840a11111111111111=",
            "0d0a222222222222220a11111111111111=",
            "0f010a11111111111111=",
            "1e84616263000a11111111111111=",
            "1f840a22222222222222010a11111111111111=",
        ]
    );
}

#[test]
fn t027_setting_the_same_value_reads_once_and_writes_nothing() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    set(&tx, foo_id(1), "i", int(5));
    let events = Events::on(&tx, 11);
    let (_, cost) = world.cost(|| set(&tx, foo_id(1), "i", int(5)));
    assert_eq!((cost.gets, cost.reads(), cost.writes()), (1, 1, 0));
    assert!(events.take().is_empty());
}

#[test]
fn t028_a_plain_field_is_written_without_reading() {
    let world = World::new();
    let tx = world.begin(
        r#"<Schema><ObjectType name="P" storageId="10"><SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" storageId="11"/></ObjectType></Schema>"#,
    );
    create(&tx, foo_id(1));
    let (_, cost) = world.cost(|| {
        set(&tx, foo_id(1), "x", int(5));
        set(&tx, foo_id(1), "x", int(5));
        set(&tx, foo_id(1), "x", int(0));
        set(&tx, foo_id(1), "x", int(0));
    });
    assert_eq!((cost.reads(), cost.puts, cost.removes), (0, 2, 2));
    let events = Events::on(&tx, 11);
    let (_, cost) = world.cost(|| set(&tx, foo_id(1), "x", int(7)));
    assert_eq!((cost.gets, cost.puts), (1, 1), "a watched field is read first");
    assert_eq!(events.take(), ["0 -> 7"]);
}

#[test]
fn t029_a_default_value_is_not_stored() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    set(&tx, foo_id(1), "i", int(5));
    assert!(!tx.is_default(foo_id(1), "i").unwrap());
    set(&tx, foo_id(1), "i", int(0));
    assert!(tx.is_default(foo_id(1), "i").unwrap());
    tx.commit().unwrap();
    assert!(!world.pairs().iter().any(|pair| pair.starts_with("0a111111111111110b")));
}

#[test]
fn t030_t031_values_of_another_type_are_refused() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    assert_invalid_value(write(&tx, "i", Value::Null));
    assert_invalid_value(write(&tx, "i", text("5")));
    assert_invalid_value(write(&tx, "s", int(5)));
    assert_invalid_value(write(&tx, "r", int(5)));
    let error = write(&tx, "i", Value::Null).unwrap_err().to_string();
    assert!(error.contains("field i of Foo 0a11111111111111"), "{error}");
    let encoded = tx.schema().object_type("Foo").unwrap().field("i").unwrap().clone();
    for bytes in [&b""[..], &[0x84, 0x84], &[0xff, 0xff]] {
        assert_invalid_value(tx.encoded().set(foo_id(1), &encoded, bytes, Migrate::No));
    }
    assert_eq!(get(&tx, "i"), int(0));
}

#[test]
fn t032_fields_of_other_kinds_are_unknown() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    for field in ["nope", "set", "list", "map", "c", "set.element"] {
        assert_unknown_field(write(&tx, field, int(1)));
        assert_unknown_field(tx.get(foo_id(1), field, Migrate::No));
    }
    assert_unknown_field(tx.is_default(foo_id(1), "set.element"));
}

#[test]
fn t033_t034_absent_objects_and_unknown_types() {
    let world = World::new();
    let tx = world.foo();
    assert_deleted(write(&tx, "i", int(1)), foo_id(1));
    assert_deleted(tx.get(foo_id(1), "i", Migrate::No), foo_id(1));
    let stranger = id("6300000000000001");
    assert_deleted(tx.set(stranger, "i", &int(1), Migrate::No), stranger);
    assert!(matches!(tx.get(stranger, "i", Migrate::No), Err(Error::UnknownType { .. })));
}

#[test]
fn t035_t036_t037_references_to_missing_objects() {
    let world = World::new();
    let tx = world.begin(REFS);
    let a = create(&tx, foo_id(1));
    let missing = Value::Ref(foo_id(2));
    assert_deleted(tx.set(a, "strict", &missing, Migrate::No), foo_id(2));
    tx.set(a, "any", &missing, Migrate::No).unwrap();
    assert_eq!(tx.get(a, "any", Migrate::No).unwrap(), missing);
    tx.set(a, "strict", &Value::Ref(a), Migrate::No).unwrap();
    tx.set(a, "any", &Value::Ref(id("6300000000000001")), Migrate::No).unwrap();
}

#[track_caller]
fn assert_invalid_reference(result: permazen::object::Result<()>) {
    assert!(
        matches!(
            result,
            Err(Error::InvalidValue { source: EncodingError::InvalidReference { .. }, .. })
        ),
        "{result:?}"
    );
}

#[test]
fn t038_t039_t040_references_to_types_not_allowed() {
    let world = World::new();
    let tx = world.begin(REFS);
    let a = create(&tx, foo_id(1));
    let b = create(&tx, id("1400000000000001"));
    let absent_b = id("1400000000000002");
    let c = create(&tx, id("1e00000000000001"));
    assert_invalid_reference(tx.set(a, "onlyC", &Value::Ref(b), Migrate::No));
    assert_deleted(tx.set(a, "onlyC", &Value::Ref(absent_b), Migrate::No), absent_b);
    tx.set(a, "onlyC", &Value::Ref(c), Migrate::No).unwrap();
    let set = tx.set_view(a, "set", Migrate::No).unwrap();
    assert_invalid_reference(set.add(&Value::Ref(absent_b)).map(drop));
    assert_invalid_reference(set.add(&Value::Ref(b)).map(drop));
    assert!(set.add(&Value::Ref(c)).unwrap());
}

#[test]
fn t041_enum_values_need_name_and_position() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    assert_invalid_value(write(&tx, "e", Value::Enum(EnumValue::new("GREEN", 0))));
    assert_invalid_value(write(&tx, "e", Value::Enum(EnumValue::new("BLUE", 2))));
    write(&tx, "e", Value::Enum(EnumValue::new("GREEN", 1))).unwrap();
    assert_eq!(show(&get(&tx, "e")), "GREEN");
    tx.commit().unwrap();
    assert!(world.pairs().contains(&"0a111111111111110f=01".to_owned()));
}

#[test]
fn t042_t043_t044_counters() {
    let world = World::new();
    let tx = world.foo();
    let id = create(&tx, foo_id(1));
    let events = Events::on(&tx, 14);
    let (_, cost) = world.cost(|| tx.adjust_counter(id, "c", 5, Migrate::No).unwrap());
    assert_eq!((cost.adjusts, cost.reads(), cost.puts), (1, 1, 0));
    assert_eq!(tx.counter(id, "c", Migrate::No).unwrap(), 5);
    tx.set_counter(id, "c", i64::MAX, Migrate::No).unwrap();
    tx.adjust_counter(id, "c", 1, Migrate::No).unwrap();
    assert_eq!(tx.counter(id, "c", Migrate::No).unwrap(), i64::MIN);
    tx.set_counter(id, "c", -1, Migrate::No).unwrap();
    tx.adjust_counter(foo_id(2), "c", 0, Migrate::No).unwrap();
    assert_deleted(tx.adjust_counter(foo_id(2), "c", 1, Migrate::No), foo_id(2));
    assert_unknown_field(tx.counter(id, "i", Migrate::No));
    assert_unknown_field(tx.set_counter(id, "i", 1, Migrate::No));
    assert_unknown_field(tx.get(id, "c", Migrate::No));
    assert!(events.take().is_empty(), "counters tell nothing");
    tx.commit().unwrap();
    assert!(world.pairs().contains(&"0a111111111111110e=ffffffffffffffff".to_owned()));
    world.raw("0a111111111111110e", Some("0102"));
    let tx = world.foo();
    let damaged = tx.counter(id, "c", Migrate::No).unwrap_err().to_string();
    assert!(damaged.contains("field c of Foo 0a11111111111111"), "{damaged}");
    assert!(damaged.contains("0a111111111111110e"), "{damaged}");
    assert_eq!(get(&tx, "i"), int(0), "the rest of the object is usable");
}

#[test]
fn damaged_values_are_named_and_leave_the_rest_usable() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    set(&tx, foo_id(1), "s", text("abc"));
    tx.commit().unwrap();
    world.raw("0a111111111111110b", Some("ff"));
    let tx = world.foo();
    let error = tx.get(foo_id(1), "i", Migrate::No).unwrap_err().to_string();
    for part in ["field i", "0a11111111111111", "key 0a111111111111110b", "value ff"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    assert_eq!(get(&tx, "s"), text("abc"));
    let data = tx.load(foo_id(1), Migrate::No).unwrap();
    assert!(data.decode("i").is_err());
    assert!(data.decode("s").is_ok());
    assert!(tx.delete(foo_id(1)).unwrap());
}

#[test]
fn known_fields_are_read_by_one_get_and_objects_by_one_scan() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    set(&tx, foo_id(1), "i", int(5));
    set(&tx, foo_id(1), "s", text("abc"));
    tx.commit().unwrap();
    let tx = world.foo();
    let foo = tx.schema().object_type("Foo").unwrap().clone();
    let (_, cost) = world.cost(|| get(&tx, "i"));
    assert_eq!((cost.gets, cost.reads()), (2, 2), "first the object's own pair");
    let (_, cost) = world.cost(|| get(&tx, "s"));
    assert_eq!((cost.gets, cost.reads()), (1, 1));
    let field = foo.field("i").unwrap();
    let (value, cost) = world
        .cost(|| tx.encoded().get(foo_id(1), field, Migrate::Yes, |bytes| bytes.to_vec()).unwrap());
    assert_eq!((value, cost.gets, cost.reads()), (vec![0x84], 1, 1));
    drop(tx);
    let tx = world.foo();
    let (data, cost) = world.cost(|| tx.load(foo_id(1), Migrate::Yes).unwrap());
    assert_eq!((cost.gets, cost.seeks, cost.steps), (0, 1, 4), "own pair, i, s, c");
    assert_eq!(data.simple(field).unwrap(), [0x84]);
    let (_, cost) = world.cost(|| get(&tx, "i"));
    assert_eq!(cost.gets, 1, "a loaded object is known");
}

#[test]
fn setting_a_plain_indexed_field_costs_one_get_two_puts_and_one_delete() {
    let world = World::new();
    let tx = world.begin(
        r#"<Schema><ObjectType name="P" storageId="10"><SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" storageId="11" indexed="true"/></ObjectType></Schema>"#,
    );
    create(&tx, foo_id(1));
    let (_, cost) = world.cost(|| set(&tx, foo_id(1), "x", int(5)));
    assert_eq!((cost.gets, cost.puts, cost.removes), (1, 2, 1));
    assert_eq!((cost.reads(), cost.writes()), (1, 3));
}
