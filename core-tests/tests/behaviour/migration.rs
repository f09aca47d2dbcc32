//! Moving objects between schemas: behaviours 112 to 121.

use permazen::ObjId;
use permazen::encoding::{EnumValue, Value};
use permazen::object::{Error, FieldValue, Migrate, SchemaChange, Transaction, TransactionConfig};

use crate::support::*;

const OLD: &str = r#"<Schema>
<ObjectType name="Gone" storageId="60"/>
<ObjectType name="T" storageId="10">
<SimpleField name="keep" encoding="urn:fdc:permazen.io:2020:int" storageId="20"/>
<SimpleField name="chg" encoding="urn:fdc:permazen.io:2020:int" storageId="21" indexed="true"/>
<SetField name="set" storageId="30"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="22"/></SetField>
<CounterField name="cold" storageId="40"/>
<ListField name="lold" storageId="42"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="43" indexed="true"/></ListField>
<CompositeIndex name="ci" storageId="50"><Field name="keep"/><Field name="chg"/></CompositeIndex>
</ObjectType></Schema>"#;

const NEW: &str = r#"<Schema>
<ObjectType name="T" storageId="10">
<SimpleField name="keep" encoding="urn:fdc:permazen.io:2020:int" storageId="20" indexed="true"/>
<SimpleField name="chg" encoding="urn:fdc:permazen.io:2020:long" storageId="24" indexed="true"/>
<SetField name="set" storageId="30"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="22" indexed="true"/></SetField>
<CounterField name="cnew" storageId="41"/>
<SimpleField name="snew" encoding="urn:fdc:permazen.io:2020:String" storageId="23" indexed="true"/>
<CompositeIndex name="ci" storageId="51"><Field name="keep"/><Field name="chg"/></CompositeIndex>
</ObjectType></Schema>"#;

fn t(n: u8) -> ObjId {
    ObjId::from_bytes([0x0a, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

/// A database with one object of the old schema.
fn with_old_object() -> World {
    let world = World::new();
    let tx = world.begin(OLD);
    let id = create(&tx, t(1));
    set(&tx, id, "keep", int(7));
    set(&tx, id, "chg", int(8));
    tx.set_view(id, "set", Migrate::No).unwrap().add(&int(9)).unwrap();
    tx.set_counter(id, "cold", 5, Migrate::No).unwrap();
    tx.list_view(id, "lold", Migrate::No).unwrap().push(&text("q")).unwrap();
    tx.commit().unwrap();
    world
}

fn watch(tx: &Transaction) -> Log<String> {
    let (told, listener) = Log::pair();
    on_schema_change(tx, move |_, change: &SchemaChange| {
        let mut values = Vec::new();
        for field in &change.old.object_type().fields {
            let value = match change.old.decode(&field.name)? {
                FieldValue::Simple(value) => show(&value),
                FieldValue::Counter(value) => value.to_string(),
                FieldValue::Set(values) | FieldValue::List(values) => {
                    format!("[{}]", show_all(&values))
                }
                other => format!("{other:?}"),
            };
            values.push(format!("{}={value}", field.name));
        }
        listener.add(format!("{} {}", change.id, values.join(" ")))
    });
    told
}

#[test]
fn t112_t113_reading_migrates_once_if_asked() {
    let world = with_old_object();
    let tx = world.begin(NEW);
    let told = watch(&tx);
    let old_schema = tx.object_schema(t(1)).unwrap();
    assert_eq!(tx.get(t(1), "keep", Migrate::No).unwrap(), int(7));
    assert_eq!(tx.object_schema(t(1)).unwrap().id, old_schema.id);
    assert_eq!(tx.get(t(1), "keep", Migrate::Yes).unwrap(), int(7));
    assert_eq!(tx.object_schema(t(1)).unwrap().id, tx.schema().id);
    assert_eq!(told.all(), ["0a00000000000001 chg=8 cold=5 keep=7 lold=[q] set=[9]"]);
    assert!(!tx.migrate(t(1)).unwrap());
    assert_eq!(told.all().len(), 1);
}

#[test]
fn t114_t115_t116_t117_every_kind_of_change() {
    let world = with_old_object();
    let tx = world.begin(NEW);
    assert!(tx.migrate(t(1)).unwrap());
    assert_eq!(tx.get(t(1), "chg", Migrate::No).unwrap(), Value::Long(0));
    tx.adjust_counter(t(1), "cnew", 0, Migrate::No).unwrap();
    assert_unknown_field(tx.list_view(t(1), "lold", Migrate::No));
    tx.commit().unwrap();
    assert_eq!(
        world.pairs(),
        [
            "0080020a00000000000001=",
            "0a00000000000001=02",
            "0a0000000000000114=86",
            "0a000000000000011e88=",
            "0a0000000000000129=0000000000000000",
            "14860a00000000000001=",
            "16880a00000000000001=",
            "17ff0a00000000000001=",
            "187f0a00000000000001=",
            "33867f0a00000000000001=",
        ]
    );
    let tx = world.begin(NEW);
    tx.adjust_counter(t(1), "cnew", 3, Migrate::No).unwrap();
    assert_eq!(tx.counter(t(1), "cnew", Migrate::No).unwrap(), 3);
}

#[test]
fn loading_migrates_too_and_sees_the_new_fields() {
    let world = with_old_object();
    let tx = world.begin(NEW);
    let data = tx.load(t(1), Migrate::Yes).unwrap();
    assert_eq!(data.object_type().schema, tx.schema().index);
    assert_eq!(data.decode("keep").unwrap(), FieldValue::Simple(int(7)));
    assert_eq!(data.decode("chg").unwrap(), FieldValue::Simple(Value::Long(0)));
}

#[test]
fn t118_a_type_missing_in_the_schema() {
    let world = World::new();
    let tx = world.begin(OLD);
    let gone = id("3c00000000000001");
    create(&tx, gone);
    create(&tx, t(1));
    tx.commit().unwrap();
    let tx = world.begin(NEW);
    assert!(tx.exists(gone).unwrap());
    let refused = tx.migrate(gone);
    assert!(matches!(refused, Err(Error::TypeNotInSchema { .. })), "{refused:?}");
    assert_eq!(&*tx.object_type(gone).unwrap().name, "Gone");
    drop(tx);
    let tx = world.db.begin(&TransactionConfig::without_schema()).unwrap();
    let refused = tx.get(t(1), "keep", Migrate::Yes);
    assert!(matches!(refused, Err(Error::TypeNotInSchema { .. })), "{refused:?}");
    assert_eq!(tx.get(t(1), "keep", Migrate::No).unwrap(), int(0));
    set(&tx, t(1), "keep", int(3));
    assert!(tx.delete(t(1)).unwrap());
}

#[test]
fn t119_another_list_of_enum_constants_resets_the_field() {
    let xml = |identifiers: &str| {
        format!(
            r#"<Schema><ObjectType name="E" storageId="10"><EnumField name="e">{identifiers}</EnumField></ObjectType></Schema>"#
        )
    };
    let old = xml("<Identifier>X</Identifier><Identifier>Y</Identifier>");
    let new = xml("<Identifier>X</Identifier><Identifier>Y</Identifier><Identifier>Z</Identifier>");
    let world = World::new();
    let tx = world.begin(&old);
    create(&tx, t(1));
    set(&tx, t(1), "e", Value::Enum(EnumValue::new("Y", 1)));
    tx.commit().unwrap();
    let tx = world.begin(&new);
    assert_eq!(tx.get(t(1), "e", Migrate::Yes).unwrap(), Value::Null);
}

#[test]
fn t120_what_a_schema_change_listener_writes_is_told_before_the_read_returns() {
    let world = with_old_object();
    let tx = world.begin(NEW);
    on_schema_change(&tx, |tx, change| tx.set(change.id, "chg", &Value::Long(8), Migrate::No));
    let events = Events::on(&tx, 24);
    assert_eq!(tx.get(t(1), "chg", Migrate::Yes).unwrap(), Value::Long(8));
    assert_eq!(events.take(), ["0 -> 8"]);
}

#[test]
fn a_failing_schema_change_listener_leaves_the_object_moved() {
    let world = with_old_object();
    let tx = world.begin(NEW);
    on_schema_change(&tx, |_, _| Err(Error::listener("no")));
    assert!(matches!(tx.get(t(1), "keep", Migrate::Yes), Err(Error::Listener(_))));
    assert_eq!(tx.object_schema(t(1)).unwrap().id, tx.schema().id);
    assert_eq!(tx.get(t(1), "keep", Migrate::Yes).unwrap(), int(7));
}

#[test]
fn t121_objects_move_back_to_an_older_schema() {
    let world = with_old_object();
    let before = world.pairs();
    let tx = world.begin(NEW);
    tx.migrate(t(1)).unwrap();
    create(&tx, t(2));
    tx.commit().unwrap();
    let tx = world.begin(OLD);
    assert!(tx.migrate(t(1)).unwrap());
    assert!(tx.migrate(t(2)).unwrap());
    assert_eq!(tx.get(t(1), "keep", Migrate::No).unwrap(), int(7));
    tx.delete(t(2)).unwrap();
    set(&tx, t(1), "chg", int(8));
    tx.set_counter(t(1), "cold", 5, Migrate::No).unwrap();
    tx.list_view(t(1), "lold", Migrate::No).unwrap().push(&text("q")).unwrap();
    tx.commit().unwrap();
    assert_eq!(world.pairs(), before);
}

const WIDE: &str = r#"<Schema><ObjectType name="B" storageId="11"/><ObjectType name="C" storageId="12"/>
<ObjectType name="T" storageId="10"><SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="19"/>
<ReferenceField name="r" storageId="20" inverseDelete="NULLIFY"/>
<ListField name="list" storageId="21"><ReferenceField storageId="22" inverseDelete="NULLIFY"/></ListField>
<SetField name="set" storageId="23"><ReferenceField storageId="24" inverseDelete="NULLIFY"/></SetField>
<MapField name="map" storageId="25"><ReferenceField storageId="26" inverseDelete="NULLIFY"/><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="27"/></MapField>
<CompositeIndex name="ir" storageId="30"><Field name="i"/><Field name="r"/></CompositeIndex>
</ObjectType></Schema>"#;

#[test]
fn references_to_types_no_longer_allowed_go_with_their_index_entries() {
    let narrow = WIDE.replace(
        r#"inverseDelete="NULLIFY"/>"#,
        r#"inverseDelete="NULLIFY"><ObjectTypes><ObjectType name="C"/></ObjectTypes></ReferenceField>"#,
    );
    let world = World::new();
    let tx = world.begin(WIDE);
    create(&tx, t(1));
    let b = create(&tx, id("0b00000000000001"));
    let c = create(&tx, id("0c00000000000001"));
    set(&tx, t(1), "r", Value::Ref(b));
    let list = tx.list_view(t(1), "list", Migrate::No).unwrap();
    list.extend(&[b, b, c, b].map(Value::Ref)).unwrap();
    let elements = tx.set_view(t(1), "set", Migrate::No).unwrap();
    let map = tx.map_view(t(1), "map", Migrate::No).unwrap();
    for id in [b, c] {
        elements.add(&Value::Ref(id)).unwrap();
        map.put(&Value::Ref(id), &int(1)).unwrap();
    }
    tx.commit().unwrap();
    let tx = world.begin(&narrow);
    let events: Vec<_> = [20, 21, 23, 25].map(|field| Events::on(&tx, field)).into();
    tx.migrate(t(1)).unwrap();
    assert_eq!(events[0].take(), Vec::<String>::new());
    assert_eq!(events[1].take(), [0, 0, 1].map(|at| format!("remove {at}:{b}")));
    assert_eq!(events[2].take(), [format!("remove {b}")]);
    assert_eq!(events[3].take(), [format!("remove {b}=1")]);
    tx.commit().unwrap();
    let of_t: Vec<_> =
        world.pairs().into_iter().filter(|pair| pair.contains("0a00000000000001")).collect();
    assert_eq!(
        of_t,
        [
            "0080020a00000000000001=",
            "0a00000000000001=02",
            "0a000000000000011500=0c00000000000001",
            "0a00000000000001170c00000000000001=",
            "0a00000000000001190c00000000000001=80",
            "14ff0a00000000000001=",
            "160c000000000000010a0000000000000100=",
            "180c000000000000010a00000000000001=",
            "1a0c000000000000010a00000000000001=",
            "1e7fff0a00000000000001=",
        ]
    );
}

#[test]
fn an_entry_that_goes_leaves_nothing_in_the_new_index_of_its_other_half() {
    let schema = |key: &str, types: &str| {
        format!(
            r#"<Schema><ObjectType name="B" storageId="11"/><ObjectType name="T" storageId="10">
<MapField name="map" storageId="25"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="26"{key}/>
<ReferenceField storageId="27" inverseDelete="NULLIFY">{types}</ReferenceField></MapField>
</ObjectType></Schema>"#
        )
    };
    let world = World::new();
    let tx = world.begin(&schema("", ""));
    create(&tx, t(1));
    let b = create(&tx, id("0b00000000000001"));
    tx.map_view(t(1), "map", Migrate::No).unwrap().put(&int(1), &Value::Ref(b)).unwrap();
    tx.commit().unwrap();
    let tx = world.begin(&schema(r#" indexed="true""#, "<ObjectTypes></ObjectTypes>"));
    tx.migrate(t(1)).unwrap();
    assert!(tx.simple_index(sid(26)).unwrap().is_empty().unwrap());
    assert!(tx.map_view(t(1), "map", Migrate::No).unwrap().is_empty().unwrap());
}

#[test]
fn listeners_are_told_both_schemas() {
    let world = with_old_object();
    let tx = world.begin(NEW);
    let (told, listener) = Log::pair();
    on_schema_change(&tx, move |_, change| {
        listener.add((change.old_schema, change.new_schema))?;
        assert_eq!(change.new_type.field("cnew").map(|field| &*field.name), Some("cnew"));
        Ok(())
    });
    let old = tx.object_schema(t(1)).unwrap().id;
    assert!(tx.migrate(t(1)).unwrap());
    assert_eq!(told.all(), [(old, tx.schema().id)]);
}

/// Only references that were allowed and no longer are get removed. References that never were
/// allowed are damage; they stay, so that the checker can find them.
#[test]
fn references_that_were_not_allowed_before_stay_as_they_are() {
    let of = |types: &str| {
        let allowed = format!(r#"inverseDelete="NULLIFY">{types}</ReferenceField>"#);
        WIDE.replacen(r#"inverseDelete="NULLIFY"/>"#, &allowed, 1)
    };
    let only_b = of(r#"<ObjectTypes><ObjectType name="B"/></ObjectTypes>"#);
    let only_c = of(r#"<ObjectTypes><ObjectType name="C"/></ObjectTypes>"#);
    let [t_there, b_there, nowhere] = ["0a00000000000002", "0b00000000000001", "6300000000000001"];
    for (old, target, left) in [
        (&only_b, t_there, Value::Ref(id(t_there))),
        (&only_b, b_there, Value::Null),
        (&of(""), b_there, Value::Null),
        (&of(""), nowhere, Value::Ref(id(nowhere))),
    ] {
        let world = World::new();
        let tx = world.begin(old);
        create(&tx, t(1));
        tx.commit().unwrap();
        world.raw("0a0000000000000114", Some(target));
        let tx = world.begin(&only_c);
        assert!(tx.migrate(t(1)).unwrap());
        assert_eq!(tx.get(t(1), "r", Migrate::No).unwrap(), left, "{target}");
    }
}
