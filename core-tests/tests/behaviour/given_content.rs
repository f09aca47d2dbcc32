//! Content given in encoded form: from a builder, from another database, from another schema.

use std::sync::Arc;

use permazen::encoding::EncodingError;
use permazen::object::{CopyOptions, Error, FieldValue, Migrate, ObjectBuilder};
use permazen::schema::ResolvedType;

use crate::support::*;

fn plain() -> String {
    let (before, rest) = FOO.split_once("<CompositeIndex").unwrap();
    let (_, after) = rest.rsplit_once("</CompositeIndex>").unwrap();
    format!("{before}{after}").replace(r#" indexed="true""#, "")
}

/// [`plain`], with other storage IDs.
fn elsewhere() -> String {
    plain()
        .replace(r#"storageId="1"#, r#"storageId="7"#)
        .replace(r#"storageId="2"#, r#"storageId="8"#)
}

fn foo_type(tx: &permazen::object::Transaction) -> Arc<ResolvedType> {
    tx.schema().object_type("Foo").unwrap().clone()
}

/// An object with `i = 5` in a database with this schema, loaded.
fn loaded(xml: &str) -> permazen::object::ObjectData {
    let world = World::new();
    let tx = world.begin(xml);
    let object = tx.create("Foo").unwrap();
    set(&tx, object, "i", int(5));
    set(&tx, object, "s", text("x"));
    tx.list_view(object, "list", Migrate::No).unwrap().push(&text("a")).unwrap();
    tx.load(object, Migrate::No).unwrap()
}

#[test]
fn content_of_another_database_needs_its_schema() {
    let data = loaded(&plain());
    let world = World::new();
    let tx = world.foo();
    let unknown = |result: permazen::object::Result<()>| match result {
        Err(Error::UnknownType { name, .. }) => assert!(name.contains("Foo"), "{name}"),
        other => panic!("{other:?}"),
    };
    unknown(tx.create_with(Some(foo_id(1)), &data).map(drop));
    create(&tx, foo_id(2));
    set(&tx, foo_id(2), "i", int(5));
    unknown(tx.store_object(foo_id(2), &data, Migrate::No));
    unknown(tx.replace_object(foo_id(2), &data, &mut CopyOptions::new()).map(drop));
    let found = tx.simple_index(sid(11)).unwrap().get(&[int(5)]).unwrap().to_vec().unwrap();
    assert_eq!(found, [foo_id(2)]);
}

#[test]
fn content_of_another_database_is_indexed_where_it_comes_to() {
    // The same schema with other numbers and another layout.
    let data = loaded(&elsewhere());
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(9));
    tx.commit().unwrap();
    let tx = world.begin(&plain());
    let object = tx.create_with(Some(foo_id(1)), &data).unwrap().unwrap();
    assert_eq!(tx.get(object, "s", Migrate::No).unwrap(), text("x"));
    tx.commit().unwrap();
    let pairs = world.pairs();
    for pair in ["0a11111111111111=02", "0a111111111111110b=84", "0a111111111111111600=6100"] {
        assert!(pairs.contains(&pair.to_owned()), "{pair} in {pairs:?}");
    }

    let data = loaded(FOO);
    let tx = world.foo();
    for n in [2, 3] {
        create(&tx, foo_id(n));
    }
    tx.store_object(foo_id(2), &data, Migrate::No).unwrap();
    tx.replace_object(foo_id(3), &data, &mut CopyOptions::new()).unwrap();
    let found = tx.simple_index(sid(11)).unwrap().get(&[int(5)]).unwrap().to_vec().unwrap();
    assert_eq!(found, [foo_id(2), foo_id(3)]);
    set(&tx, foo_id(2), "i", int(6));
    let found = tx.simple_index(sid(11)).unwrap().get(&[int(6)]).unwrap().to_vec().unwrap();
    assert_eq!(found, [foo_id(2)]);
}

#[test]
fn builders_take_nothing_that_is_no_value() {
    let world = World::new();
    let tx = world.foo();
    let of = foo_type(&tx);
    let field = |name: &str| of.field(name).unwrap();
    let mut object = ObjectBuilder::new(of.clone());
    let bytes = |bytes: &'static [u8]| {
        move |out: &mut Vec<u8>| {
            out.extend_from_slice(bytes);
            Ok::<_, EncodingError>(())
        }
    };
    // Cut short, too long, not the shortest form, and beyond the last identifier.
    for bad in [&b"\xfd"[..], b"\x84\x84", b"\xf7\x00\x00", b""] {
        assert!(object.write_simple(field("i"), bytes(bad)).is_err(), "{bad:?}");
    }
    assert!(object.write_simple(field("e"), bytes(b"\x63")).is_err());
    assert!(object.write_set_element(field("set"), bytes(b"\xfd")).is_err());
    assert!(object.write_list_element(field("list"), 0, bytes(b"a")).is_err());
    assert!(object.write_map_entry(field("map"), bytes(b"\x84"), bytes(b"a")).is_err());
    // Fields of other kinds.
    assert!(object.write_simple(field("c"), bytes(b"\x84")).is_err());
    assert!(object.write_simple(field("set"), bytes(b"\x84")).is_err());
    assert!(object.write_set_element(field("list"), bytes(b"a\0")).is_err());
    assert!(object.write_list_element(field("set"), 0, bytes(b"\x84")).is_err());
    assert!(object.write_map_entry(field("set"), bytes(b"\x84"), bytes(b"a\0")).is_err());
    object.write_simple(field("i"), bytes(b"\x84")).unwrap();
    tx.create_with(Some(foo_id(1)), &object.finish()).unwrap().unwrap();
    let data = tx.load(foo_id(1), Migrate::No).unwrap();
    assert_eq!(data.pairs(field("list")).len() + data.pairs(field("set")).len(), 0);

    let mut object = ObjectBuilder::new(of.clone());
    object.write_list_element(field("list"), 0, bytes(b"a\0")).unwrap();
    object.write_list_element(field("list"), 2, bytes(b"b\0")).unwrap();
    let holed = object.finish();
    for result in [
        tx.create_with(Some(foo_id(2)), &holed).map(drop),
        tx.store_object(foo_id(1), &holed, Migrate::No),
        tx.replace_object(foo_id(1), &holed, &mut CopyOptions::new()).map(drop),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("list") && error.contains("position 1"), "{error}");
    }
    assert!(!tx.exists(foo_id(2)).unwrap());
}

#[test]
fn encoded_writes_are_checked_like_builders() {
    let world = World::new();
    let tx = world.foo();
    let object = create(&tx, foo_id(1));
    let of = foo_type(&tx);
    let write = |name: &str, bytes: &[u8]| {
        tx.encoded().set(object, of.field(name).unwrap(), bytes, Migrate::No)
    };
    assert_invalid_value(write("e", b"\x63"));
    assert_invalid_value(write("i", b"\xf7\x00\x00"));
    let set = tx.set_view(object, "set", Migrate::No).unwrap();
    assert_invalid_value(set.encoded().add(b"\xf7\x00\x00"));
    assert_eq!(tx.simple_index(sid(15)).unwrap().ids().count(), 1);
}

/// One type with references to anything, and the same type with references to one type only.
const ANY: &str = r#"<Schema>
<ObjectType name="A" storageId="10">
  <SetField name="set" storageId="11"><ReferenceField storageId="12" inverseDelete="NULLIFY"/></SetField>
  <MapField name="map" storageId="13"><ReferenceField storageId="14" inverseDelete="NULLIFY"/>
                                      <ReferenceField storageId="15" inverseDelete="NULLIFY"/></MapField>
</ObjectType>
<ObjectType name="B" storageId="20"/>
</Schema>"#;

#[test]
fn views_made_before_a_migration_allow_what_the_schema_allows() {
    let only_a = ANY.replace(
        "inverseDelete=\"NULLIFY\"/>",
        "inverseDelete=\"NULLIFY\"><ObjectTypes><ObjectType name=\"A\"/></ObjectTypes></ReferenceField>",
    );
    let (a, b) = (id("0a00000000000001"), id("1400000000000001"));
    let refer = permazen::encoding::Value::Ref;
    for (first, then, allowed) in [(ANY, &only_a[..], false), (&only_a[..], ANY, true)] {
        let world = World::new();
        let tx = world.begin(first);
        tx.create_with_id(a).unwrap();
        tx.create_with_id(b).unwrap();
        tx.commit().unwrap();
        let tx = world.begin(then);
        let set = tx.set_view(a, "set", Migrate::No).unwrap();
        let map = tx.map_view(a, "map", Migrate::No).unwrap();
        tx.migrate(a).unwrap();
        let results = [set.add(&refer(b)).map(drop), map.put(&refer(b), &refer(b)).map(drop)];
        for result in results {
            match allowed {
                true => result.unwrap(),
                false => assert_invalid_value(result),
            }
        }
        assert_eq!(
            tx.referrers(sid(12), b).to_vec().unwrap(),
            if allowed { vec![a] } else { vec![] }
        );
    }
}

#[test]
fn whole_objects_are_made_by_name_and_value() {
    let world = World::new();
    let tx = world.foo();
    let of = foo_type(&tx);
    let friend = create(&tx, foo_id(2));
    let mut object = ObjectBuilder::new(of.clone());
    let given = [
        ("i", FieldValue::Simple(int(5))),
        ("s", FieldValue::Simple(text("x"))),
        ("r", FieldValue::Simple(permazen::encoding::Value::Ref(friend))),
        ("c", FieldValue::Counter(-7)),
        ("set", FieldValue::Set(ints(&[1, 3]))),
        ("list", FieldValue::List(texts(&["b", "a", "b"]))),
        ("map", FieldValue::Map(vec![(int(1), text("one")), (int(2), text("two"))])),
    ];
    // Content that was given before does not matter.
    object.set("list", &FieldValue::List(texts(&["q"; 5]))).unwrap();
    object.set("set", &FieldValue::Set(ints(&[2]))).unwrap();
    for (name, value) in &given {
        object.set(name, value).unwrap();
    }
    let data = object.finish();
    let (made, cost) = world.cost(|| tx.create_with(Some(foo_id(1)), &data).unwrap());
    assert_eq!(made, Some(foo_id(1)));
    // Object, schema index, 3 simple fields, counter, 2 elements, 3 elements, 2 entries; and the
    // index entries of i, e, r, the elements, keys and values, and two composite ones.
    assert_eq!((cost.gets, cost.puts), (1, 2 + 3 + 1 + 2 + 3 + 2 + (3 + 2 + 3 + 2 + 2) + 2));
    let loaded = tx.load(foo_id(1), Migrate::No).unwrap();
    for (name, value) in &given {
        assert_eq!(loaded.decode(name).unwrap(), *value, "{name}");
    }

    let mut object = ObjectBuilder::new(of);
    assert_unknown_field(object.set("nothing", &FieldValue::Counter(1)));
    for (name, bad) in [
        ("i", FieldValue::Simple(text("x"))),
        ("i", FieldValue::Counter(1)),
        ("c", FieldValue::Simple(int(1))),
        ("set", FieldValue::List(ints(&[1]))),
        ("set", FieldValue::Set(vec![int(1), text("x")])),
        ("map", FieldValue::Map(vec![(int(1), text("one")), (text("x"), text("two"))])),
    ] {
        assert_invalid_value(object.set(name, &bad));
    }
    let data = object.finish();
    assert!(
        data.object_type()
            .fields
            .iter()
            .all(|field| data.pairs(field).all(|(_, value)| value == [0; 8]))
    );
}

#[test]
fn fields_are_found_by_name() {
    let world = World::new();
    let tx = world.foo();
    for (name, number) in [("i", 11), ("list", 22), ("list.element", 23), ("map.value", 26)] {
        assert_eq!(tx.field_storage_id("Foo", name).unwrap(), sid(number));
    }
    assert_unknown_field(tx.field_storage_id("Foo", "nothing"));
    // The error says what may have been meant.
    let object = create(&tx, foo_id(1));
    for (name, told) in [("set", "\"set\" (a set)"), ("c", "(a counter)"), ("S_", "there is \"s\"")]
    {
        let error = tx.get(object, name, Migrate::No).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
    assert!(matches!(tx.field_storage_id("Bar", "i"), Err(Error::UnknownType { .. })));
}
