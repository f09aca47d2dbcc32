//! Creation and existence: behaviours 1 to 18.

use std::sync::Arc;

use permazen::kv::TxOptions;
use permazen::object::{
    CopyOptions, Error, IdMap, Migrate, ObjectBuilder, Transaction, TransactionConfig,
};
use permazen::schema::{SchemaId, SchemaModel};
use permazen::{ObjId, ObjIdGenerator, StorageId};

use crate::support::*;

const TWO: &str = r#"<Schema>
<ObjectType name="Foo" storageId="10"><SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" storageId="11"/></ObjectType>
<ObjectType name="Bar" storageId="12"/>
</Schema>"#;

fn new_pairs() -> Vec<String> {
    [
        "0080010a11111111111111=",
        "0a11111111111111=01",
        "0a111111111111110e=0000000000000000",
        "0b7f0a11111111111111=",
        "0dff0a11111111111111=",
        "0fff0a11111111111111=",
        "1e7fff0a11111111111111=",
        "1f7fffff0a11111111111111=",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn t001_creation_puts_exactly_these_pairs() {
    let world = World::new();
    let tx = world.foo();
    let (created, cost) = world.cost(|| tx.create_with_id(foo_id(1)).unwrap());
    assert!(created);
    assert_eq!((cost.gets, cost.puts, cost.reads(), cost.writes()), (1, 8, 1, 8));
    tx.commit().unwrap();
    assert_eq!(world.pairs(), new_pairs());
}

#[test]
fn t002_creating_an_existing_object_does_nothing() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    set(&tx, foo_id(1), "i", int(5));
    let (created, cost) = world.cost(|| tx.create_with_id(foo_id(1)).unwrap());
    assert!(!created);
    assert_eq!(cost.writes(), 0);
    assert_eq!(tx.get(foo_id(1), "i", Migrate::No).unwrap(), int(5));
}

#[test]
fn t003_t004_t005_a_new_object_has_default_values() {
    let world = World::new();
    let tx = world.foo();
    let id = create(&tx, foo_id(1));
    let shown: Vec<_> =
        ["i", "s", "r", "e"].map(|field| show(&tx.get(id, field, Migrate::No).unwrap())).to_vec();
    assert_eq!(shown, ["0", "null", "null", "null"]);
    assert_eq!(tx.counter(id, "c", Migrate::No).unwrap(), 0);
    for field in ["i", "s", "r", "e", "c", "set", "list", "map"] {
        assert!(tx.is_default(id, field).unwrap(), "{field}");
    }
    tx.commit().unwrap();
    assert_eq!(world.pairs(), new_pairs());
}

#[test]
fn t006_random_ids_begin_with_the_storage_id_of_the_type() {
    let world = World::new();
    let tx = world.foo();
    let ids: Vec<ObjId> = (0..50).map(|_| tx.create("Foo").unwrap()).collect();
    assert!(ids.iter().all(|id| id.storage_id().get() == 10));
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), 50);
    let (_, cost) = world.cost(|| tx.create("Foo").unwrap());
    assert_eq!((cost.reads(), cost.writes()), (0, 8));
}

#[test]
fn an_id_that_an_object_has_is_drawn_anew() {
    for listens in [false, true] {
        let world = World::new();
        let mut ids = std::collections::BTreeSet::new();
        for round in 0..3 {
            // The IDs of the rounds before are drawn first.
            world.db.set_id_generator(ObjIdGenerator::from_seed(7));
            let tx = world.foo();
            if listens {
                let listener = Arc::new(|_: &Transaction, _| Ok(()));
                tx.on_create(StorageId::new(10).unwrap(), listener).unwrap();
            }
            let (id, cost) = world.cost(|| tx.create("Foo").unwrap());
            assert_eq!((cost.reads(), cost.writes()), (0, 8 + 2 * round));
            let data = tx.load(id, Migrate::No).unwrap();
            let copy = tx.create_with(None, &data).unwrap().unwrap();
            assert!(ids.insert(id) && ids.insert(copy));
            assert_eq!(tx.objects("Foo").unwrap().count().unwrap() as u64, 2 * (round + 1));
            tx.commit().unwrap();
        }
    }
}

#[test]
fn t007_an_id_of_no_type_of_the_schema_is_refused() {
    let world = World::new();
    let tx = world.foo();
    let result = tx.create_with_id(id("2a00000000000001"));
    assert!(matches!(result, Err(Error::UnknownType { .. })), "{result:?}");
    assert!(matches!(tx.create("Nope"), Err(Error::UnknownType { .. })));
}

#[test]
fn t008_creating_in_a_schema_that_is_not_recorded_is_refused() {
    let world = World::new();
    let tx = world.foo();
    let unknown: SchemaId = SchemaModel::from_xml(TWO.as_bytes()).unwrap().schema_id();
    assert_invalid_argument(tx.create_with_id_in(foo_id(1), unknown));
    assert_invalid_argument(tx.create_with_id_in(foo_id(1), SchemaModel::new().schema_id()));
}

#[test]
fn t009_without_a_schema_creation_needs_one() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    tx.commit().unwrap();
    let tx = world.db.begin(&TransactionConfig::without_schema()).unwrap();
    assert!(tx.schema().types.is_empty());
    assert!(matches!(tx.create("Foo"), Err(Error::UnknownType { .. })));
    let recorded = tx.bundle().schemas()[0].clone();
    let id = tx.create_in("Foo", &recorded).unwrap();
    assert_eq!(tx.object_schema(id).unwrap().id, recorded.id);
    assert!(tx.create_with_id_in(foo_id(2), recorded.id).unwrap());
}

#[test]
fn t010_t011_ids_of_no_type_do_not_exist() {
    let world = World::new();
    let tx = world.foo();
    assert!(!tx.exists(id("6300000000000001")).unwrap());
    assert!(!tx.exists(id("0b00000000000001")).unwrap());
    assert!(!tx.exists(foo_id(1)).unwrap());
}

/// An object whose own pair has this value.
fn with_meta(value: &str) -> World {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    tx.commit().unwrap();
    world.raw("0a11111111111111", Some(value));
    world
}

#[test]
fn t012_flags_and_further_bytes_of_the_meta_data() {
    let world = with_meta("0100");
    assert!(world.foo().exists(foo_id(1)).unwrap());
    for damaged in ["0101", "010000", "", "ff", "fb"] {
        let world = with_meta(damaged);
        let tx = world.foo();
        let result = tx.exists(foo_id(1));
        assert!(matches!(result, Err(Error::Inconsistent { .. })), "{damaged}: {result:?}");
        // other objects are not affected
        create(&tx, foo_id(2));
    }
}

#[test]
fn t013_schema_index_0_is_invalid() {
    let world = with_meta("00");
    let result = world.foo().exists(foo_id(1));
    assert!(matches!(result, Err(Error::InvalidObjectVersion { index: 0, .. })), "{result:?}");
}

#[test]
fn t014_an_object_of_an_unrecorded_schema_exists_but_has_no_type() {
    let world = with_meta("05");
    let tx = world.foo();
    assert!(tx.exists(foo_id(1)).unwrap());
    let result = tx.object_type(foo_id(1));
    assert!(matches!(result, Err(Error::InvalidObjectVersion { index: 5, .. })), "{result:?}");
}

#[test]
fn t015_the_type_of_an_absent_object() {
    let world = World::new();
    let tx = world.foo();
    assert_deleted(tx.object_type(foo_id(1)), foo_id(1));
    create(&tx, foo_id(1));
    assert_eq!(&*tx.object_type(foo_id(1)).unwrap().name, "Foo");
}

#[test]
fn t016_the_key_of_an_object_needs_no_object() {
    let world = World::new();
    let tx = world.foo();
    assert_eq!(tx.object_key(foo_id(1)).unwrap(), foo_id(1).to_bytes());
    assert!(matches!(tx.object_key(id("6300000000000001")), Err(Error::UnknownType { .. })));
}

#[test]
fn t017_ids_as_text() {
    let parsed: ObjId = "0AFF000000000000".parse().unwrap();
    assert_eq!(parsed.to_string(), "0aff000000000000");
    assert!("0aff00".parse::<ObjId>().is_err());
    assert!(ObjId::from_bytes([0; 8]).is_err());
    let of = |number| ObjId::min(StorageId::new(number).unwrap()).to_string();
    assert_eq!((&of(10)[..], &of(251)[..]), ("0a00000000000000", "fb00000000000000"));
}

#[test]
fn t018_generating_an_id_of_an_unknown_type() {
    let world = World::new();
    let tx = world.foo();
    assert!(matches!(tx.generate_id("Nope"), Err(Error::UnknownType { .. })));
    let id = tx.generate_id("Foo").unwrap();
    assert!(!tx.exists(id).unwrap());
}

#[test]
fn names_of_types() {
    let world = World::new();
    let tx = world.begin(TWO);
    assert_eq!(&*tx.type_name(sid(12)).unwrap(), "Bar");
    assert!(matches!(tx.type_name(sid(11)), Err(Error::UnknownType { .. })));
}

#[test]
fn keys_of_wide_storage_ids() {
    let world = World::new();
    let tx = world.begin(
        r#"<Schema><ObjectType name="W" storageId="300">
  <SimpleField name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="1000" indexed="true"/>
  <CounterField name="c" storageId="251"/></ObjectType></Schema>"#,
    );
    create(&tx, id("fb31000000000001"));
    tx.commit().unwrap();
    assert_eq!(
        world.pairs(),
        [
            "008001fb31000000000001=",
            "fb31000000000001=01",
            "fb31000000000001fb00=0000000000000000",
            "fc02edfffb31000000000001=",
        ]
    );
}

#[test]
fn an_object_with_all_values_is_created_with_one_put_per_pair() {
    let world = World::new();
    let tx = world.foo();
    let foo = tx.schema().object_type("Foo").unwrap().clone();
    let field = |name: &str| foo.field(name).unwrap().clone();
    let encoded =
        |name: &str, value| field(name).simple().unwrap().encoding.encode_all(&value).unwrap();
    let mut object = ObjectBuilder::new(foo.clone());
    let put = |bytes: Vec<u8>| {
        move |out: &mut Vec<u8>| {
            out.extend(bytes);
            Ok(())
        }
    };
    object.write_counter(&field("c"), -1);
    object.write_simple(&field("s"), put(encoded("s", text("abc")))).unwrap();
    object.write_simple(&field("i"), put(encoded("i", int(5)))).unwrap();
    object.write_simple(&field("r"), put(vec![0xff])).unwrap();
    object.write_list_element(&field("list"), 0, put(b"q\0".to_vec())).unwrap();
    object.write_list_element(&field("list"), 1, put(b"q\0".to_vec())).unwrap();
    object.write_set_element(&field("set"), put(vec![0x82])).unwrap();
    object.write_set_element(&field("set"), put(vec![0x7e])).unwrap();
    object.write_map_entry(&field("map"), put(vec![0x81]), put(b"x\0".to_vec())).unwrap();
    object.write_map_entry(&field("map"), put(vec![0x81]), put(vec![0xff])).unwrap();
    let data = object.finish();
    let (created, cost) = world.cost(|| tx.create_with(Some(foo_id(1)), &data).unwrap());
    assert_eq!(created, Some(foo_id(1)));
    tx.commit().unwrap();
    let pairs = world.pairs();
    assert_eq!((cost.reads(), cost.writes()), (1, pairs.len() as u64));

    let other = World::new();
    let tx = other.foo();
    let id = create(&tx, foo_id(1));
    set(&tx, id, "i", int(5));
    set(&tx, id, "s", text("abc"));
    tx.set_counter(id, "c", -1, Migrate::No).unwrap();
    tx.list_view(id, "list", Migrate::No).unwrap().extend(&texts(&["q", "q"])).unwrap();
    for value in ints(&[3, -1]) {
        tx.set_view(id, "set", Migrate::No).unwrap().add(&value).unwrap();
    }
    let map = tx.map_view(id, "map", Migrate::No).unwrap();
    map.put(&int(2), &permazen::encoding::Value::Null).unwrap();
    let loaded = tx.load(id, Migrate::No).unwrap();
    assert_eq!(loaded.decode("list").unwrap(), data.decode("list").unwrap());
    tx.commit().unwrap();
    assert_eq!(pairs, other.pairs());
}

#[test]
fn creating_with_values_checks_references_and_tells_of_them() {
    let world = World::new();
    let tx = world.foo();
    let foo = tx.schema().object_type("Foo").unwrap().clone();
    let r = foo.field("r").unwrap().clone();
    let mut object = ObjectBuilder::new(foo.clone());
    object
        .write_simple(&r, |out| {
            out.extend_from_slice(foo_id(2).as_bytes());
            Ok(())
        })
        .unwrap();
    let data = object.finish();
    assert_deleted(tx.create_with(Some(foo_id(1)), &data), foo_id(2));
    assert!(!tx.exists(foo_id(1)).unwrap());
    create(&tx, foo_id(2));
    let events = Events::on(&tx, 13);
    tx.create_with(Some(foo_id(1)), &data).unwrap();
    assert_eq!(events.take(), ["null -> 0a22222222222222"]);
    assert_eq!(tx.create_with(Some(foo_id(1)), &data).unwrap(), None);
    assert_invalid_argument(tx.create_with(Some(id("2a00000000000001")), &data));
}

/// Object IDs whose storage ID takes more bytes than necessary. No object is created with such an
/// ID. An object that another program stored with one is read, and the checker removes it.
#[test]
fn ids_of_new_objects_are_in_their_shortest_form() {
    let world = World::new();
    let xml = FOO.replace(r#"storageId="10""#, r#"storageId="256""#);
    let (short, long) = (id("fb05000000000001"), id("fc00050000000001"));
    assert_eq!(short.storage_id(), long.storage_id());
    let tx = world.begin(&xml);
    create(&tx, short);
    let data = tx.load(short, Migrate::No).unwrap();
    assert_invalid_argument(tx.create_with_id(long));
    assert_invalid_argument(tx.create_with_id_in(long, tx.schema().id));
    assert_invalid_argument(tx.create_with(Some(long), &data));
    assert_invalid_argument(tx.replace_object(long, &data, &mut CopyOptions::new()));
    let mut ids = IdMap::from([(short, Some(long))]);
    assert_invalid_argument(tx.copy_to(short, &tx, &mut CopyOptions::new().mapping_ids(&mut ids)));
    let message = tx.create_with_id(long).unwrap_err().to_string();
    assert!(message.contains("fc00050000000001") && message.contains("fb05"), "{message}");
    assert!(!tx.exists(long).unwrap());
    tx.commit().unwrap();

    world.raw("fc00050000000001", Some("01"));
    world.raw("fc000500000000010c", Some("78797a00"));
    world.raw("008001fc00050000000001", Some(""));
    world.raw("0b7ffc00050000000001", Some(""));
    let tx = world.begin(&xml);
    assert!(tx.exists(long).unwrap());
    assert_eq!(tx.get(long, "s", Migrate::No).unwrap(), text("xyz"));
    let index = tx.simple_index(sid(11)).unwrap();
    assert_eq!(index.get(&[int(0)]).unwrap().to_vec().unwrap(), [short, long]);
    assert_eq!(tx.objects("Foo").unwrap().to_vec().unwrap(), [short]);
    tx.rollback().unwrap();

    let kv = world.db.kv().begin(&TxOptions::reading()).unwrap();
    let mut found = Vec::new();
    permazen_jsck::check(&*kv, &permazen_jsck::Options::default(), &mut |finding| {
        found.push(finding.class);
    })
    .unwrap();
    use permazen_jsck::Class::{DanglingIndexEntry, DanglingSchemaIndexEntry, ForeignKey};
    assert_eq!(found, [ForeignKey, ForeignKey, DanglingSchemaIndexEntry, DanglingIndexEntry]);
    let tx = world.begin(&xml);
    assert!(tx.delete(long).unwrap());
    assert!(!tx.exists(long).unwrap());
    assert!(index_is_clean(&tx));
}

/// Whether all entries in the index of `i` belong to listed objects.
fn index_is_clean(tx: &permazen::object::Transaction) -> bool {
    let all = tx.objects("Foo").unwrap().to_vec().unwrap();
    tx.simple_index(sid(11)).unwrap().ids().all(|id| all.contains(&id.unwrap()))
}
