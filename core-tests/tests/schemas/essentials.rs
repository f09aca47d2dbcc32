//! Schemas through the public interface: IDs, documents, validation, recording, comparison.

use std::sync::Arc;

use permazen::__internal::layout;
use permazen::__internal::schema::{
    DatabaseState, FieldEffect, IndexEffect, InflateError, SchemaComparison, SchemaConfig,
    SchemaTables, TypeEffect, add_schema, deflate, inflate, open_schema, remove_schema,
};
use permazen::StorageId;
use permazen::encoding::{EncodingId, EncodingRegistry};
use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, KvRead, KvTransaction, TxOptions};
use permazen::schema::{
    CompositeIndex, DeleteAction, Field, ObjectType, SchemaError, SchemaModel, SchemaRemoval,
    Simple, UnknownEncodings,
};

fn int() -> Simple {
    Simple::of(EncodingId::builtin("int").unwrap())
}

fn long() -> Simple {
    Simple::of(EncodingId::builtin("long").unwrap())
}

fn string() -> Simple {
    Simple::of(EncodingId::builtin("String").unwrap())
}

fn one_type(object_type: ObjectType) -> SchemaModel {
    SchemaModel::new().object_type(object_type)
}

fn storage_id(number: u32) -> StorageId {
    StorageId::new(number).unwrap()
}

fn new_state() -> DatabaseState {
    DatabaseState::new(Arc::new(EncodingRegistry::new()))
}

fn begin(store: &MemoryStore) -> Box<dyn KvTransaction + Send> {
    store.begin(&TxOptions::default()).unwrap()
}

// ---- IDs

#[test]
fn t002_type_without_fields() {
    let model = one_type(ObjectType::new("Foo"));
    assert_eq!(model.schema_id().to_string(), "Schema_0f91ddcb57c62cc6f1f75b6c3bcb1a5d");
    assert_eq!(format!("{:?}", model.schema_id()), model.schema_id().to_string());
    let ids: Vec<_> = model.items().map(|item| item.schema_id().to_string()).collect();
    assert_eq!(ids, ["ObjectType_dbe433c53ee3c5016ff034ca505d70d8"]);
}

#[test]
fn t005_storage_ids_are_no_part_of_ids() {
    let field = Field::new("i", int());
    let plain = one_type(ObjectType::new("Foo").field(field.clone()));
    let explicit = one_type(
        ObjectType::new("Foo")
            .with_storage_id(storage_id(10))
            .field(field.with_storage_id(storage_id(300))),
    );
    assert_eq!(plain.schema_id().to_string(), "Schema_e87d86400e9ba7e7b28774e6e3aec18e");
    assert_eq!(plain.schema_id(), explicit.schema_id());
    assert_ne!(plain, explicit);
}

#[test]
fn t008_reference_with_every_option() {
    let reference = Simple::reference()
        .on_delete(DeleteAction::Delete)
        .forward_delete()
        .allow_deleted(true)
        .to(["Foo", "Bar"]);
    let model = SchemaModel::new()
        .object_type(ObjectType::new("Foo").field(Field::new("r", reference)))
        .object_type(ObjectType::new("Bar"));
    assert_eq!(model.schema_id().to_string(), "Schema_fd2dfa85cd3f98505cf82a20d1913ba7");
}

#[test]
fn t010_1_one_item_of_each_kind() {
    let reference = Simple::reference().on_delete(DeleteAction::Delete).forward_delete();
    let foo = ObjectType::new("Foo")
        .field(Field::counter("c"))
        .field(Field::new("e", Simple::enumeration(["RED", "GREEN"]).indexed()))
        .field(Field::new("ea", Simple::enum_array(2, ["RED"])))
        .field(Field::new("i", int()))
        .field(Field::map("m", int(), string()))
        .field(Field::new("r", reference.allow_deleted(true).to(["Bar", "Foo"])))
        .field(Field::set("x", int().indexed()))
        .field(Field::list("y", Simple::reference()))
        .index("ir", ["i", "r"]);
    let model = SchemaModel::new().object_type(foo).object_type(ObjectType::new("Bar"));
    assert_eq!(model.schema_id().to_string(), "Schema_b3f1e76a8260522c50e0c51d838c5987");
    let ids: Vec<_> = model.items().map(|i| format!("{i} {}", i.schema_id())).collect();
    assert!(ids.contains(&"Foo.m.key SimpleField_79be753b53ce8f3aa2f04bd5de6fcac6".to_owned()));
    assert!(ids.contains(&"Foo#ir CompositeIndex_02070764b32f6cfe9cca5c2b77ffa026".to_owned()));
}

#[test]
fn t022_types_are_in_utf16_order() {
    let model = ["Ａ", "𝒳", "é"].into_iter().fold(SchemaModel::new(), |model, name| {
        let object_type = ObjectType::new(name);
        model.object_type(if name == "é" {
            object_type.field(Field::new("ü", int()))
        } else {
            object_type
        })
    });
    let names: Vec<_> = model.object_types().iter().map(ObjectType::name).collect();
    assert_eq!(names, ["é", "𝒳", "Ａ"]);
    assert_eq!(model.schema_id().to_string(), "Schema_5055d52a78139dbd058c26b167600143");
}

// ---- validation

#[test]
fn all_problems_are_reported_with_their_places() {
    let model = SchemaModel::new()
        .object_type(
            ObjectType::new("Person")
                .field(Field::new("1st", int()))
                .field(Field::new("name", string()))
                .field(Field::new("boss", Simple::reference().to(["Nobody"])))
                .field(Field::new("pet", Simple::reference().on_delete(DeleteAction::Remove)))
                .field(Field::set("tags", Simple::enumeration(["A", "null", "A"])))
                .index("short", ["name"])
                .index("name", ["name", "tags"])
                .index("byGone", ["gone", "name"])
                .index("wide", ["name", "lost", "name", "tags", "pet", "lost"]),
        )
        .object_type(ObjectType::new("Person"));
    let SchemaError::Invalid(problems) = model.validate().unwrap_err() else { panic!() };
    let problems: Vec<_> = problems.list().iter().map(ToString::to_string).collect();
    let person = "ObjectType \"Person\"";
    let expected = [
        " / field \"1st\": \"1st\" is not a valid name",
        " / field \"boss\": refers to object type \"Nobody\", which does not exist",
        " / field \"pet\": delete action REMOVE is only possible inside a collection",
        " / field \"tags\" / element: \"null\" is not a valid enum identifier",
        " / field \"tags\" / element: enum identifier \"A\" occurs twice, at positions 0 and 2",
        " / composite index \"byGone\": indexes field \"gone\", which does not exist",
        " / composite index \"name\": indexes field \"tags\", which is no simple field",
        " / composite index \"name\": has the name of a simple field",
        " / composite index \"short\": a composite index is on 2 to 4 fields, not 1",
        " / composite index \"wide\": a composite index is on 2 to 4 fields, not 6",
        " / composite index \"wide\": indexes field \"lost\", which does not exist",
        " / composite index \"wide\": field \"name\" is indexed twice",
        " / composite index \"wide\": indexes field \"tags\", which is no simple field",
        " / composite index \"wide\": field \"lost\" is indexed twice",
        " / composite index \"short\": its fields are those of composite index \"wide\" or the \
         first of them",
        ": there is another object type of this name",
    ];
    assert_eq!(problems, expected.map(|problem| format!("{person}{problem}")));
}

#[test]
fn a_name_too_long_to_be_hashed_is_refused() {
    let valid = |length| one_type(ObjectType::new("x".repeat(length))).validate().is_ok();
    assert!(valid(65_535));
    assert!(!valid(65_536));
}

#[test]
fn indexes_may_share_fields_in_another_order() {
    let with = |second: [&str; 2]| {
        let object_type = ObjectType::new("T").field(Field::new("i", int()));
        let object_type = object_type.field(Field::new("j", int())).index("a", ["i", "j"]);
        one_type(object_type.index("b", second)).validate().is_ok()
    };
    assert!(with(["j", "i"]));
    assert!(!with(["i", "j"]));
}

// ---- documents

#[test]
fn document_errors_have_line_and_column() {
    let document = "<Schema>\n  <ObjectType name=\"É\">\n    <Whatever name=\"x\"/>";
    let error = SchemaModel::from_xml(document.as_bytes()).unwrap_err();
    let SchemaError::Xml { line, column, message } = error else { panic!() };
    assert_eq!((line, column), (3, 5));
    assert!(message.contains("<Whatever>"), "{message}");
}

#[test]
fn hostile_documents_are_refused() {
    let laughs = "<!DOCTYPE Schema [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><Schema/>";
    let external = "<!DOCTYPE Schema SYSTEM \"file:///etc/passwd\"><Schema/>";
    let entity = "<Schema><ObjectType name=\"&b;\"/></Schema>";
    let deep = "<Schema>".repeat(100_000);
    let mut attributes = "<Schema".to_owned();
    for i in 0..100_000 {
        attributes += &format!(" a{i}=\"\"");
    }
    attributes += "/>";
    let noncharacter = "<Schema>\u{fffe}</Schema>";
    let second_declaration = "<Schema><?xml version=\"1.0\"?></Schema>";
    for document in [
        laughs,
        external,
        entity,
        &deep,
        &attributes,
        "<Schema>&#0;</Schema>",
        noncharacter,
        "text <Schema/>",
        second_declaration,
    ] {
        assert!(SchemaModel::from_xml(document.as_bytes()).is_err());
    }
}

#[test]
fn documents_must_be_well_formed() {
    for document in [
        r#"<Schema formatVersion="0"><ObjectType name="A"storageId="9"/></Schema>"#,
        r#"<Schema formatVersion="0" forma&amp;tVersion="x"/>"#,
        r#"<Schema><ObjectType name="A" st<ObjectTypeorageId="1"/></Schema>"#,
        r#"<Schema><ObjectType name="A" 1="1"/></Schema>"#,
        r#"<Schema><ObjectType name="A" a:b:c="1"/></Schema>"#,
        r#"<Schema><ObjectType name="A" -a="1"/></Schema>"#,
        r#"<Schema><ObjectType name="A" a×="1"/></Schema>"#,
        r#"<Schema><ObjectType name="A" / ></ObjectType></Schema>"#,
        "<Schema> ]]> </Schema>",
        "<Schema><? a?></Schema>",
        "<Schema><?a+?></Schema>",
        "<Schema><?XML a?></Schema>",
        "<![CDATA[ ]]><Schema/>",
        "&#32;<Schema/>",
        "<?xml?><Schema/>",
        r#"<?xml encoding="UTF-8"?><Schema/>"#,
        r#"<?xml version="x"?><Schema/>"#,
        r#"<?xml version="1.2"?><Schema/>"#,
        r#"<?xml version="1.0" version="1.0"?><Schema/>"#,
        r#"<?xml version="1.0"encoding="UTF-8"?><Schema/>"#,
        r#"<?xml version="1.0" encoding="UTF-8" encoding="UTF-8"?><Schema/>"#,
        r#"<?xml version="1.0" encoding=""?><Schema/>"#,
        r#"<?xml version="1.0" standalone="maybe"?><Schema/>"#,
        r#"<?xml version="1.0" standalone="yes" encoding="UTF-8"?><Schema/>"#,
        r#"<?xml version="1.0" color="red"?><Schema/>"#,
        r#"<?xml version="1.0" name?><Schema/>"#,
    ] {
        assert!(SchemaModel::from_xml(document.as_bytes()).is_err(), "{document}");
    }
    for document in [
        "<?xml version = '1.0'\n encoding\t=\"UTF-8\" standalone='no' ?>\n<Schema\n/>",
        "<?xml version=\"1.1\"?><Schema formatVersion = '0'\t></Schema >",
        "<?xml version='1.0' standalone='yes'?><Schema/>",
        "<Schema> ]] > ]]&gt; <![CDATA[ ]] ]]><?a.b-c ]]> xml?></Schema>",
        "<Schema xmlns:p='u' p:é·1='x>y' _='\"'/>",
    ] {
        assert_eq!(SchemaModel::from_xml(document.as_bytes()).unwrap(), SchemaModel::new());
    }
}

#[test]
fn a_large_document_costs_no_more_than_its_size() {
    // In this order it would take long to sort each item into those before it.
    let mut document = String::from("<Schema>");
    for number in (0..40_000).rev() {
        document += &format!(r#"<ObjectType name="T{number:06}"/>"#);
    }
    document += r#"<ObjectType name="Fields">"#;
    for number in (0..40_000).rev() {
        document += &format!(r#"<CounterField name="f{number:06}"/>"#);
    }
    document += "</ObjectType></Schema>";
    let model = SchemaModel::from_xml(document.as_bytes()).unwrap();
    assert_eq!(model.object_types().len(), 40_001);
    assert_eq!(model.find_type("T000000").unwrap().name(), "T000000");
    assert!(model.validate().is_ok());

    // Every field is wrong, and its place has a long name.
    let name = "x".repeat(100_000);
    let wrong = r#"<EnumField name="1"><Identifier>2</Identifier></EnumField>"#;
    let mut document = format!(r#"<Schema><ObjectType name="{name}">"#);
    for number in 0..20_000 {
        document += &wrong.replace("1\"", &format!("1{number}\""));
    }
    document += "</ObjectType></Schema>";
    let model = SchemaModel::from_xml(document.as_bytes()).unwrap();
    let SchemaError::Invalid(problems) = model.validate().unwrap_err() else { panic!() };
    assert_eq!(problems.list().len(), 10_001);
    assert_eq!(problems.list()[10_000].message, "there are more problems");
    assert!(problems.to_string().len() < 100 * document.len());
    assert!(problems.list().iter().all(|problem| problem.location.len() < 200));

    let long = vec![b' '; (64 << 20) + 1];
    let refused = SchemaModel::from_xml(&long).unwrap_err();
    assert!(refused.to_string().contains("at most 67108864"), "{refused}");
}

#[test]
fn encodings_of_documents() {
    let model = one_type(ObjectType::new("Été"));
    let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\
                <Schema><ObjectType name=\"Été\"/></Schema>";
    let little: fn(u16) -> [u8; 2] = u16::to_le_bytes;
    for (mark, unit) in [([0xff, 0xfe], little), ([0xfe, 0xff], u16::to_be_bytes)] {
        let bytes: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect();
        assert_eq!(SchemaModel::from_xml(&bytes).unwrap(), model);
        assert!(SchemaModel::from_xml(&bytes[..bytes.len() - 1]).is_err());
        for (name, right) in [
            ("UTF-8", false),
            ("ISO-8859-1", false),
            ("UTF-16LE", mark[0] == 0xff),
            ("UTF-16BE", mark[0] == 0xfe),
        ] {
            let text = text.replace("UTF-16", name);
            let encoded: Vec<u8> = text.encode_utf16().flat_map(unit).collect();
            assert_eq!(SchemaModel::from_xml(&[&mark, &encoded[..]].concat()).is_ok(), right);
            // Without a byte order mark.
            assert_eq!(SchemaModel::from_xml(&encoded).is_ok(), right, "{name}");
        }
    }
    assert!(SchemaModel::from_xml(b"<Schema><ObjectType name=\"\xff\"/></Schema>").is_err());
    let unknown = b"<?xml version='1.0' encoding='EBCDIC'?><Schema/>";
    assert!(SchemaModel::from_xml(unknown).is_err());
}

// ---- compression

#[test]
fn lengths_java_cannot_read_are_avoided() {
    // Content that does not compress, so that all lengths occur.
    let mut seed = 1u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    })
    .take(1700)
    .collect();
    for length in 400..noise.len() {
        let compressed = deflate(&noise[..length]);
        let rest = compressed.len() % 512;
        assert!(compressed.len() <= 512 || !(1..=8).contains(&rest), "{}", compressed.len());
        assert_eq!(inflate(&compressed).unwrap(), &noise[..length]);
    }
}

#[test]
fn damaged_streams_are_refused() {
    let good = deflate(b"<Schema></Schema>");
    for length in 0..good.len() {
        assert!(inflate(&good[..length]).is_err(), "cut to {length}");
    }
    let mut checksum = good.clone();
    *checksum.last_mut().unwrap() ^= 1;
    assert!(matches!(inflate(&checksum), Err(InflateError::Damaged(_))));
    let trailing = [&good[..], b"x"].concat();
    assert_eq!(inflate(&trailing), Err(InflateError::TrailingBytes(1)));
    let bomb = deflate(&vec![b' '; (64 << 20) + 1]);
    assert!(bomb.len() < 100_000);
    assert_eq!(inflate(&bomb), Err(InflateError::TooLong));
}

// ---- recording

#[test]
fn t6_3_explicit_ids_first_then_holes() {
    let a = ObjectType::new("A")
        .with_storage_id(storage_id(300))
        .field(Field::new("a", int()))
        .field(Field::new("a2", long()));
    let b = ObjectType::new("B")
        .field(Field::new("a", int()))
        .field(Field::map("m", int(), long()))
        .field(Field::new("z", int()).with_storage_id(storage_id(2)))
        .index("az", ["a", "z"]);
    let store = MemoryStore::new();
    let config = SchemaConfig::new(SchemaModel::new().object_type(a).object_type(b)).unwrap();
    let opened = open_schema(&mut *begin(&store), &new_state(), &config).unwrap();
    let ids: Vec<_> = opened
        .schema
        .model
        .items()
        .map(|item| (item.to_string(), opened.bundle.storage_id(item.schema_id()).unwrap().get()))
        .collect();
    let expected = [
        ("A", 300),
        ("A.a", 1),
        ("A.a2", 3),
        ("B", 4),
        ("B.a", 1),
        ("B.m", 5),
        ("B.m.key", 6),
        ("B.m.value", 7),
        ("B.z", 2),
        ("B#az", 8),
    ];
    assert_eq!(ids, expected.map(|(path, id)| (path.to_owned(), id)));
}

#[test]
fn a_refused_storage_id_is_told_with_what_to_ask_for() {
    let with = |name: &str, id| one_type(ObjectType::new(name).with_storage_id(storage_id(id)));
    let store = MemoryStore::new();
    let mut tx = begin(&store);
    let field = Field::set("f", int()).with_storage_id(storage_id(7));
    let first = one_type(ObjectType::new("A").with_storage_id(storage_id(5)).field(field));
    open_schema(&mut *tx, &new_state(), &SchemaConfig::new(first).unwrap()).unwrap();
    let mut refusal = |model| {
        let config = SchemaConfig::new(model).unwrap().schema_removal(SchemaRemoval::Never);
        open_schema(&mut *tx, &new_state(), &config).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(with("A", 6)),
        "A asks for storage ID 6, but the database has 5 for it: ask for 5, or for none"
    );
    assert_eq!(
        refusal(with("B", 7)),
        "B asks for storage ID 7, but the database has it for A.f: ask for another, or for none"
    );
    assert_eq!(
        refusal(with("B", StorageId::MAX)),
        "B asks for storage ID 2147483647, but Java cannot list the objects of a type with it: ask \
         for at most 2147483646, or for none"
    );
}

#[test]
fn the_largest_storage_id_is_one_of_fields_and_indexes_and_not_of_types() {
    let (largest, before) = (storage_id(StorageId::MAX), storage_id(StorageId::MAX - 1));
    let field = |name: &str| Field::new(name, int());
    let plain = || ObjectType::new("T").field(field("g")).with_storage_id(before);
    let models = [
        one_type(plain().field(field("f").with_storage_id(largest))),
        one_type(plain().field(Field::counter("f").with_storage_id(largest))),
        one_type(plain().field(field("f")).composite_index(
            CompositeIndex::new("i", vec!["f".to_owned(), "g".to_owned()]).with_storage_id(largest),
        )),
    ];
    for model in models {
        let config = SchemaConfig::new(model).unwrap();
        open_schema(&mut *begin(&MemoryStore::new()), &new_state(), &config).unwrap();
    }
    // If Java recorded a type with the largest storage ID, it is read, and the database can be
    // opened with it.
    let store = MemoryStore::new();
    let mut tx = begin(&store);
    let model = one_type(ObjectType::new("T"));
    let config = SchemaConfig::new(model).unwrap();
    open_schema(&mut *tx, &new_state(), &config).unwrap();
    let automatic = layout::storage_id_table_key(storage_id(1));
    let value = tx.get(&automatic).unwrap().unwrap().into_owned();
    tx.remove(&automatic).unwrap();
    tx.put(&layout::storage_id_table_key(largest), &value).unwrap();
    let explicit = one_type(ObjectType::new("T").with_storage_id(largest));
    for config in [config, SchemaConfig::new(explicit.clone()).unwrap()] {
        let config = config.schema_removal(SchemaRemoval::Never);
        let opened = open_schema(&mut *tx, &new_state(), &config).unwrap();
        assert_eq!(opened.bundle.type_ids().collect::<Vec<_>>(), [largest]);
    }
    let comparison = SchemaComparison::new(&SchemaModel::new(), &explicit);
    assert_eq!(comparison.refusals, ["T asks for storage ID 2147483647, which no type can have"]);
    assert_eq!(SchemaComparison::new(&explicit, &explicit).refusals, [""; 0]);
}

#[test]
fn storage_ids_of_documents_are_those_java_reads() {
    let asked = |id: &str| {
        let xml = format!(r#"<Schema><ObjectType name="T" storageId="{id}"/></Schema>"#);
        SchemaModel::from_xml(xml.as_bytes())
            .map(|model| model.object_types()[0].storage_id().map(StorageId::get))
            .map_err(|error| error.to_string())
    };
    for (text, id) in [("0", None), ("-0", None), ("1", Some(1)), ("+7", Some(7)), ("007", Some(7))]
    {
        assert_eq!(asked(text), Ok(id));
    }
    assert_eq!(asked("2147483647"), Ok(Some(StorageId::MAX)));
    for text in ["-1", "-2147483648", "2147483648", " 7", "7 ", "", "0x7"] {
        let error = asked(text).unwrap_err();
        assert!(error.contains("\"storageId\"") && error.contains("line 1, column"), "{error}");
    }
}

#[test]
fn resolved_schemas_know_what_belongs_to_what() {
    let person = ObjectType::new("Person")
        .field(Field::new("name", string().indexed()))
        .field(Field::new("friend", Simple::reference().to(["Person"])))
        .field(Field::map("scores", string(), int().indexed()))
        .index("byBoth", ["name", "friend"]);
    let store = MemoryStore::new();
    let config = SchemaConfig::new(one_type(person)).unwrap();
    let opened = open_schema(&mut *begin(&store), &new_state(), &config).unwrap();
    let person = opened.schema.object_type("Person").unwrap();
    assert_eq!(person.schema, opened.schema.index);
    assert!(Arc::ptr_eq(opened.schema.type_by_storage_id(person.storage_id).unwrap(), person));
    assert!(opened.schema.object_type("Nobody").is_none());

    let name = person.field("name").unwrap();
    assert!(Arc::ptr_eq(person.field_by_storage_id(name.storage_id).unwrap(), name));
    assert!(name.simple().unwrap().is_default(&[0xff]));
    let indexes: Vec<_> = person.indexes_of(name).map(|index| &*index.name).collect();
    assert_eq!(indexes, ["byBoth"]);
    assert!(Arc::ptr_eq(&person.index("byBoth").unwrap().fields[0], name));
    let reference = person.field("friend").unwrap().simple().unwrap().reference.as_ref().unwrap();
    assert!(reference.allows(person.storage_id) && !reference.allows(name.storage_id));

    let value = person.field_or_sub_field("scores.value").unwrap();
    assert!(value.is_indexed());
    let scores = person.field("scores").unwrap();
    assert_eq!(value.parent.as_ref().unwrap().storage_id, scores.storage_id);
    assert_eq!(&*value.full_name, "scores.value");

    let item = opened.bundle.item(value.storage_id).unwrap();
    assert!(Arc::ptr_eq(item.field().unwrap(), value));
    assert_eq!(opened.bundle.type_name(person.storage_id).map(|n| &**n), Some("Person"));
    assert_eq!(opened.bundle.type_name(name.storage_id), None);
    assert_eq!(opened.bundle.type_storage_id("Person"), Some(person.storage_id));
}

#[test]
fn an_index_of_an_older_schema_is_found() {
    let store = MemoryStore::new();
    let mut tx = begin(&store);
    let state = new_state();
    let open = |tx: &mut dyn KvTransaction, field: Simple| {
        let model = one_type(ObjectType::new("T").field(Field::new("i", field)));
        let config = SchemaConfig::new(model).unwrap().schema_removal(SchemaRemoval::Never);
        open_schema(tx, &state, &config).unwrap()
    };
    open(&mut *tx, int().indexed());
    let opened = open(&mut *tx, int());
    let field = opened.schema.object_type("T").unwrap().field("i").unwrap();
    assert!(!field.is_indexed());
    assert!(opened.bundle.item(field.storage_id).unwrap().field().unwrap().is_indexed());
}

#[test]
fn the_same_schema_is_opened_from_memory() {
    let store = MemoryStore::new();
    let state = new_state();
    let config = SchemaConfig::new(one_type(ObjectType::new("T"))).unwrap();
    let mut tx = begin(&store);
    let first = open_schema(&mut *tx, &state, &config).unwrap();
    let second = open_schema(&mut *tx, &state, &config).unwrap();
    assert!(Arc::ptr_eq(&first.bundle, &second.bundle));
    // Another schema is asked for, but the recorded schemas are the same: the bundle is still good.
    let never = SchemaConfig::empty().schema_removal(SchemaRemoval::Never);
    let third = open_schema(&mut *tx, &state, &never).unwrap();
    assert!(Arc::ptr_eq(&first.bundle, &third.bundle));
    assert!(third.schema.index.is_empty_schema());
}

#[test]
fn opening_as_before_costs_one_scan() {
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let state = new_state();
    let person = ObjectType::new("T").field(Field::new("i", int())).field(Field::counter("c"));
    let config = SchemaConfig::new(one_type(person)).unwrap();
    let mut tx = store.begin(&TxOptions::default()).unwrap();
    open_schema(&mut *tx, &state, &config).unwrap();
    counter.take();
    open_schema(&mut *tx, &state, &config).unwrap();
    let cost = counter.take();
    // The steps: format version, one schema, three storage IDs.
    assert_eq!((cost.gets, cost.seeks, cost.steps, cost.writes()), (0, 1, 5, 0));
}

#[test]
fn refusals_say_why_and_write_nothing() {
    let store = MemoryStore::new();
    let config = SchemaConfig::new(one_type(ObjectType::new("T"))).unwrap();
    let mut tx = begin(&store);
    let refused = open_schema(&mut *tx, &new_state(), &config.clone().allow_new_schema(false));
    assert!(matches!(refused, Err(SchemaError::NotAllowed { .. })));
    assert!(tx.at_least(&[], None).unwrap().is_none());

    tx.put(b"\x01other", b"").unwrap();
    let refused = open_schema(&mut *tx, &new_state(), &config).unwrap_err();
    assert!(refused.to_string().contains("(key 016f74686572)"), "{refused}");
    assert!(matches!(refused, SchemaError::NotPermazen { .. }));
    tx.remove(b"\x01other").unwrap();

    tx.put(layout::FORMAT_VERSION_KEY, &[2]).unwrap();
    let refused = open_schema(&mut *tx, &new_state(), &config).unwrap_err();
    assert!(matches!(&refused, SchemaError::UnknownFormatVersion { version } if version == "2"));
}

#[test]
fn schemas_are_added_and_removed_within_a_transaction() {
    let store = MemoryStore::new();
    let state = new_state();
    let mut tx = begin(&store);
    let config = SchemaConfig::new(one_type(ObjectType::new("A"))).unwrap();
    let opened = open_schema(&mut *tx, &state, &config).unwrap();
    let b = one_type(ObjectType::new("B"));
    let added = add_schema(&mut *tx, &state, &opened.bundle, &b).unwrap().unwrap();
    assert_eq!(added.schemas().len(), 2);
    assert!(add_schema(&mut *tx, &state, &added, &b).unwrap().is_none());

    // An unknown encoding is refused before anything is written.
    let before = SchemaTables::read(&*tx).unwrap();
    let money = Simple::of("urn:example:money".parse().unwrap());
    let custom = one_type(ObjectType::new("C").field(Field::new("m", money)));
    assert!(add_schema(&mut *tx, &state, &added, &custom).is_err());
    assert_eq!(SchemaTables::read(&*tx).unwrap(), before);

    tx.put(&layout::object_schema_prefix(added.schemas()[1].index), b"").unwrap();
    let refused = remove_schema(&mut *tx, &state, &added, b.schema_id());
    assert!(matches!(refused, Err(SchemaError::InUse { .. })));
    let removed = remove_schema(&mut *tx, &state, &added, config.schema_id()).unwrap().unwrap();
    assert_eq!(removed.type_storage_id("A"), None);
    assert!(remove_schema(&mut *tx, &state, &removed, config.schema_id()).unwrap().is_none());
}

#[test]
fn every_field_of_an_unknown_encoding_is_reported() {
    let store = MemoryStore::new();
    let money = || Simple::of("urn:example:money".parse().unwrap());
    let other = || Simple::of("urn:example:other".parse().unwrap());
    let carrying = || new_state().unknown_encodings(UnknownEncodings::Carry);
    let c = ObjectType::new("C")
        .field(Field::new("a", money()))
        .field(Field::new("b", int()))
        .field(Field::map("m", money(), other()))
        .index("ab", ["a", "b"]);
    let first = SchemaModel::new()
        .object_type(c.clone())
        .object_type(ObjectType::new("D").field(Field::list("l", other())))
        .object_type(ObjectType::new("E").field(Field::new(
            "z",
            Simple::of("urn:fdc:permazen.io:2020:Integer[]".parse().unwrap()),
        )));
    let second = one_type(c.field(Field::new("more", int())));
    for model in [first, second] {
        let mut tx = begin(&store);
        let config = SchemaConfig::new(model).unwrap().schema_removal(SchemaRemoval::Never);
        open_schema(&mut *tx, &carrying(), &config).unwrap();
        tx.commit().unwrap();
    }
    let config = SchemaConfig::empty().schema_removal(SchemaRemoval::Never);
    let refused = open_schema(&mut *begin(&store), &new_state(), &config).unwrap_err();
    let SchemaError::Invalid(problems) = refused else { panic!() };
    let places: Vec<_> = problems
        .list()
        .iter()
        .map(|problem| problem.location.replace("recorded schema ", ""))
        .collect();
    let expected = [
        r#"1 / ObjectType "C" / field "a""#,
        r#"1 / ObjectType "C" / field "m" / key"#,
        r#"1 / ObjectType "C" / field "m" / value"#,
        r#"1 / ObjectType "D" / field "l" / element"#,
        r#"1 / ObjectType "E" / field "z""#,
        r#"2 / ObjectType "C" / field "a""#,
        r#"2 / ObjectType "C" / field "m" / key"#,
        r#"2 / ObjectType "C" / field "m" / value"#,
    ];
    assert_eq!(places, expected);
    assert_eq!(problems.list()[0].message, "encoding urn:example:money is not registered");
    assert_eq!(problems.list()[2].message, "encoding urn:example:other is not registered");
}

#[test]
fn tools_can_carry_unknown_encodings() {
    let store = MemoryStore::new();
    let money = Simple::of("urn:example:money".parse().unwrap());
    let custom = one_type(ObjectType::new("C").field(Field::new("m", money)));
    let config = SchemaConfig::new(custom).unwrap();
    let refused = open_schema(&mut *begin(&store), &new_state(), &config).unwrap_err();
    assert!(refused.to_string().contains("urn:example:money"), "{refused}");
    let state = new_state().unknown_encodings(UnknownEncodings::Carry);
    let opened = open_schema(&mut *begin(&store), &state, &config).unwrap();
    assert!(opened.schema.object_type("C").unwrap().field("m").is_some());
}

// ---- comparison

#[test]
fn comparison_says_what_happens_to_objects() {
    let old = SchemaModel::new()
        .object_type(
            ObjectType::new("Person")
                .field(Field::new("age", int()))
                .field(Field::new("gone", int()))
                .field(Field::new("name", string().indexed()))
                .field(Field::new("pet", Simple::reference()))
                .field(Field::set("tags", string()))
                .field(Field::counter("visits"))
                .index("byBoth", ["age", "name"]),
        )
        .object_type(ObjectType::new("Removed"));
    let new = SchemaModel::new()
        .object_type(
            ObjectType::new("Person")
                .field(Field::new("age", long()))
                .field(Field::new("fresh", int()))
                .field(Field::new("name", string()))
                .field(Field::new("pet", Simple::reference().to(["Person"])))
                .field(Field::set("tags", int()))
                .field(Field::new("visits", long()))
                .index("byBoth", ["age", "name"]),
        )
        .object_type(ObjectType::new("Added"));
    let comparison = SchemaComparison::new(&old, &new);
    let effects: Vec<_> = comparison.types.iter().map(|t| (t.name.as_str(), t.effect)).collect();
    let expected = [
        ("Added", TypeEffect::Added),
        ("Person", TypeEffect::Changed),
        ("Removed", TypeEffect::Removed),
    ];
    assert_eq!(effects, expected);
    let person = &comparison.types[1];
    assert!(matches!(person.fields[0].effect, FieldEffect::Converted { .. }));
    assert_eq!(person.indexes[0].effect, IndexEffect::Rebuilt);
    assert!(comparison.loses_content());
    let lines = [
        "object type \"Added\": added",
        "object type \"Person\": changed",
        "  field \"age\": reset, from int to long, unless the program that migrates converts it",
        "  field \"fresh\": added, with its default value",
        "  field \"gone\": removed with its content",
        "  field \"name\": kept; index on name removed",
        "  field \"pet\": kept; references from pet to types other than [Person] are reset",
        "  field \"tags\": reset, from set of String to set of int",
        "  field \"visits\": reset, from counter to long, unless the program that migrates converts it",
        "  composite index \"byBoth\": rebuilt",
        "object type \"Removed\": removed; its objects stay as they are, migrating them is refused",
    ];
    assert_eq!(comparison.to_string().lines().collect::<Vec<_>>(), lines);
    assert!(SchemaComparison::new(&new, &new).is_empty());
    assert!(!SchemaComparison::new(&SchemaModel::new(), &new).loses_content());
}

#[test]
fn comparison_of_options() {
    let with =
        |field: Field| one_type(ObjectType::new("T").field(field).field(Field::new("i", int())));
    let told = |old: Field, new: Field| {
        let comparison = SchemaComparison::new(&with(old), &with(new));
        assert!(!comparison.is_empty());
        let told = comparison.to_string();
        (told.replace("object type \"T\": changed\n  field ", ""), comparison.loses_content())
    };
    let reference = |simple| Field::new("r", simple);
    let plain = || reference(Simple::reference());
    let kept = |text: &str| (format!("\"r\": kept{text}"), false);
    let changed = kept("; options of the reference changed");
    assert_eq!(
        told(plain(), reference(Simple::reference().on_delete(DeleteAction::Delete))),
        changed
    );
    assert_eq!(told(plain(), reference(Simple::reference().forward_delete())), changed);
    assert_eq!(told(reference(Simple::reference().to(["T"])), plain()), changed);
    let (text, loses) = told(plain(), Field::list("r", Simple::reference()));
    assert_eq!(text, "\"r\": reset, from reference to list of reference");
    assert!(loses);
    let indexed = Field::set("r", int().indexed());
    assert_eq!(told(Field::set("r", int()), indexed), kept("; index on r.element added"));
    let narrowed = Field::map("r", int(), Simple::reference().to(["T"]));
    let any = Field::map("r", int(), Simple::reference());
    let (text, loses) = told(any, narrowed);
    assert_eq!(text, "\"r\": kept; references from r.value to types other than [T] are reset");
    assert!(loses);
    let (text, loses) = told(
        Field::new("r", Simple::enumeration(["A", "B"])),
        Field::new("r", Simple::enumeration(["B", "A"])),
    );
    assert!(text.starts_with("\"r\": reset, from enum"), "{text}");
    assert!(loses);
}

#[test]
fn differences_are_told_in_the_words_and_the_order_of_java() {
    let told = |old: Simple, new: Simple| {
        let of = |simple: Simple| {
            one_type(
                ObjectType::new("T")
                    .field(Field::new("e", simple.clone()))
                    .field(Field::set("s", simple)),
            )
        };
        of(new).differences_from(&of(old)).to_string()
    };
    let lists = |index: &str, indent: &str, dimensions: &str| {
        format!(
            "{indent}-> {index} index on field\n\
             {indent}-> changed enum identifier list\n\
             {indent}  -> removed \"A\" (ordinal 0)\n\
             {indent}  -> added \"B\" (ordinal 0){dimensions}"
        )
    };
    let expected = |index: &str, dimensions: &str| {
        let dimensions = |indent: &str| match dimensions {
            "" => String::new(),
            text => format!("\n{indent}-> {text}"),
        };
        format!(
            "-> changed object type \"T\"\n  -> changed field \"e\"\n{}\n  \
             -> changed set field \"s\"\n    -> changed element field\n{}",
            lists(index, "    ", &dimensions("    ")),
            lists(index, "      ", &dimensions("      ")),
        )
    };
    let (a, b) = (Simple::enumeration(["A"]), Simple::enumeration(["B"]));
    assert_eq!(told(a.clone(), b.clone().indexed()), expected("added", ""));
    assert_eq!(told(a.indexed(), b), expected("removed", ""));
    let array = |name, dimensions| Simple::enum_array(dimensions, [name]);
    assert_eq!(
        told(array("A", 3).indexed(), array("B", 2)),
        expected("removed", "changed number of dimensions from 3 to 2")
    );
    // For other fields the index comes last.
    assert_eq!(
        told(int(), long().indexed()),
        "-> changed object type \"T\"\n  -> changed field \"e\" type int\n    \
         -> changed field encoding ID from \"urn:fdc:permazen.io:2020:int\" to \
         \"urn:fdc:permazen.io:2020:long\"\n    -> added index on field\n  \
         -> changed set field \"s\"\n    -> changed element field\n      \
         -> changed field encoding ID from \"urn:fdc:permazen.io:2020:int\" to \
         \"urn:fdc:permazen.io:2020:long\"\n      -> added index on field"
    );
}

#[test]
fn contradicting_storage_ids_are_refused() {
    let with = |name: &str, id| one_type(ObjectType::new(name).with_storage_id(storage_id(id)));
    let comparison = SchemaComparison::new(&with("A", 5), &with("B", 5));
    assert_eq!(comparison.refusals, ["B asks for storage ID 5, which A has"]);
    let comparison = SchemaComparison::new(&with("A", 5), &with("A", 6));
    assert_eq!(comparison.refusals, ["A asks for storage ID 6 but has 5"]);
}
