//! Objects as XML, written and read.

use std::sync::Arc;

use permazen::__internal::object_xml::GeneratedIds;
use permazen::encoding::Value;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions};
use permazen::object::{Database, Migrate, Transaction, TransactionConfig};
use permazen::object_xml::{Imported, ObjectXmlError, ObjectXmlReader, ObjectXmlWriter};
use permazen::schema::SchemaModel;
use proptest::prelude::*;

const SCHEMA: &str = r#"<Schema>
<ObjectType name="Person" storageId="16">
  <SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String" indexed="true" storageId="17"/>
  <SimpleField name="age" encoding="urn:fdc:permazen.io:2020:int" storageId="18"/>
  <ReferenceField name="spouse" storageId="19" inverseDelete="NULLIFY"/>
  <ReferenceField name="boss" storageId="20" inverseDelete="IGNORE" allowDeleted="true"/>
  <SetField name="tags" storageId="21"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="22"/></SetField>
  <ListField name="friends" storageId="23"><ReferenceField storageId="24" inverseDelete="REMOVE"/></ListField>
  <MapField name="scores" storageId="25">
    <SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="26"/>
    <SimpleField encoding="urn:fdc:permazen.io:2020:int" indexed="true" storageId="27"/>
  </MapField>
  <CounterField name="visits" storageId="28"/>
  <CompositeIndex name="nameAge" storageId="31"><Field name="name"/><Field name="age"/></CompositeIndex>
</ObjectType>
<ObjectType name="Pet" storageId="32"><SimpleField name="имя" encoding="urn:fdc:permazen.io:2020:String" storageId="33"/></ObjectType>
</Schema>"#;

fn config() -> TransactionConfig {
    TransactionConfig::new(SchemaModel::from_xml(SCHEMA.as_bytes()).unwrap()).unwrap()
}

fn database() -> Database {
    Database::new(Arc::new(MemoryStore::new()))
}

fn in_document(objects: &str) -> String {
    format!("<database><schemas/><objects>{objects}</objects></database>")
}

fn read(tx: &Transaction, document: &str) -> Result<Imported, ObjectXmlError> {
    ObjectXmlReader::new().read(tx, document.as_bytes())
}

fn write(tx: &Transaction, writer: &ObjectXmlWriter) -> String {
    let mut out = Vec::new();
    writer.write(tx, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn pairs(database: &Database) -> Vec<(Vec<u8>, Vec<u8>)> {
    let tx = database.kv().begin(&TxOptions::reading()).unwrap();
    let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    scan.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

// ---- errors

#[test]
fn errors_say_what_and_where() {
    let document = |objects: &str| in_document(&format!("\n{objects}"));
    let rows = [
        ("<Zap/>", 1, "no object type \"Zap\" exists in schema"),
        ("<Person type=\"Pet\"/>", 1, "does not match object type name \"Pet\""),
        ("<Person id=\"zz\"/>", 1, "invalid object ID \"zz\""),
        ("<Pet id=\"1000000000000001\"/>", 1, "its storage ID is 16"),
        ("<Pet id=\"generated:Person:x\"/>", 1, "invalid object type \"Person\": expected \"Pet\""),
        ("<Person schema=\"bogus\"/>", 1, "invalid schema ID \"bogus\""),
        ("<Person><zap>1</zap></Person>", 9, "unknown field \"zap\" in object type \"Person\""),
        ("<Person><age name=\"name\">1</age></Person>", 9, "does not match field name \"name\""),
        ("<Person><age>abc</age></Person>", 9, "invalid value \"abc\" for field \"age\""),
        ("<Person><age null=\"true\"/></Person>", 9, "invalid value null for field \"age\""),
        ("<Person><age>1<b/></age></Person>", 15, "invalid value for field \"age\""),
        ("<Person><name null=\"true\">x</name></Person>", 9, "text content not allowed"),
        ("<Person><name null=\"maybe\"/></Person>", 9, "value must be \"true\" or \"false\""),
        ("<Person><visits>0x5</visits></Person>", 9, "invalid counter value for field \"visits\""),
        ("<Person><tags><elem/></tags></Person>", 15, "expected <element>"),
        ("<Person><scores><ent/></scores></Person>", 17, "expected <entry>"),
        ("<Person><scores><entry><value/></entry></scores></Person>", 24, "expected <key>"),
        ("<Person><boss>generated:Zap:1</boss></Person>", 9, "no object type \"Zap\" exists"),
    ];
    let database = database();
    for (objects, column, part) in rows {
        let tx = database.begin(&config()).unwrap();
        let error = read(&tx, &document(objects)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(part), "{objects}: {text}");
        let (ObjectXmlError::Document { line, column: found, .. }
        | ObjectXmlError::Value { line, column: found, .. }) = error
        else {
            panic!("{objects}: {error:?}")
        };
        assert_eq!((line, found), (2, column), "{objects}: {text}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let database = database();
    let tx = database.begin(&config()).unwrap();
    let document = in_document(
        "<Person id=\"1000000000000001\"><spouse>1000000000000002</spouse>\
         <boss>1000000000000003</boss></Person>",
    );
    let error = tx.atomic(|tx| read(tx, &document)).unwrap_err();
    assert!(error.to_string().starts_with("1 unresolved reference(s) remain"), "{error}");
    let ObjectXmlError::Unresolved { targets } = error else { panic!("{error:?}") };
    let missing = "1000000000000002".parse().unwrap();
    assert_eq!(targets.get(&missing).map(|field| &**field), Some("spouse"));
    assert!(tx.all_objects().unwrap().is_empty().unwrap());

    let reader = ObjectXmlReader::new().allow_unresolved();
    assert_eq!(reader.read(&tx, document.as_bytes()).unwrap().unresolved, targets);
    assert!(!tx.exists(missing).unwrap());
}

#[test]
fn hostile_documents_are_refused() {
    let laughs = "<!DOCTYPE database [<!ENTITY a \"aaaa\">]>".to_owned() + &in_document("");
    let entity = in_document("<Person><name>&b;</name></Person>");
    let null = in_document("<Person><name>&#0;</name></Person>");
    let deep = in_document(&"<x xmlns=\"urn:x\">".repeat(100_000));
    let deep_within = in_document(&format!("<x xmlns=\"urn:x\">{}", "<y>".repeat(100_000)));
    let mut attributes = "<Person".to_owned();
    for i in 0..100_000 {
        attributes += &format!(" a{i}=\"\"");
    }
    let attributes = in_document(&(attributes + "/>"));
    let database = database();
    for document in [laughs, entity, null, deep, deep_within, attributes] {
        let tx = database.begin(&config()).unwrap();
        assert!(matches!(read(&tx, &document), Err(ObjectXmlError::Document { .. })));
    }
    let whole = in_document("<Person><name>x</name><tags><element>é</element></tags></Person>");
    for end in 0..whole.find("</objects>").unwrap() + "</objects".len() {
        let tx = database.begin(&config()).unwrap();
        let cut = whole.as_bytes().get(..end).unwrap();
        let result = ObjectXmlReader::new().read(&tx, cut);
        assert!(matches!(result, Err(ObjectXmlError::Document { .. })), "cut to {end}");
    }
}

#[test]
fn many_schemas_take_no_more_than_their_number() {
    let mut schemas = String::new();
    for i in 0..2_000 {
        schemas += &format!("<Schema><ObjectType name=\"T{i}\"/></Schema>");
    }
    let document = format!("<database><schemas>{schemas}</schemas><objects/></database>");
    let database = database();
    let tx = database.begin(&TransactionConfig::without_schema()).unwrap();
    read(&tx, &document).unwrap();
    assert_eq!(tx.bundle().schemas().len(), 2_000);
}

// ---- options

#[test]
fn long_values_are_cut() {
    let database = database();
    let tx = database.begin(&config()).unwrap();
    let object = "<Person id=\"1000000000000001\"><name>abcdef</name>\
                  <scores><entry><key>xyz</key><value>-12345</value></entry></scores></Person>";
    read(&tx, &in_document(object)).unwrap();
    let writer = ObjectXmlWriter::new().with_storage_ids().compact();
    let cut = write(&tx, &writer.clone().truncated(3));
    assert!(cut.contains("<name>abc...[truncated]</name>"), "{cut}");
    assert!(cut.contains("<key>xyz</key><value>-12...[truncated]</value>"), "{cut}");
    let none = write(&tx, &writer.clone().truncated(0));
    assert!(none.contains("<name/><scores><entry><key/><value/></entry></scores>"), "{none}");
    assert!(write(&tx, &writer).contains(object));
}

#[test]
fn some_schemas_and_objects_are_written() {
    let database = database();
    let tx = database.begin(&config()).unwrap();
    read(&tx, &in_document("<Pet id=\"2000000000000002\"/><Pet id=\"2000000000000001\"/>"))
        .unwrap();
    let writer = ObjectXmlWriter::new().with_storage_ids().compact().schemas([]);
    let ids = ["2000000000000002", "2000000000000001"].map(|id| Ok(id.parse().unwrap()));
    let mut out = Vec::new();
    assert_eq!(writer.write_objects(&tx, ids, &mut out).unwrap(), 2);
    let out = String::from_utf8(out).unwrap();
    let schema = tx.schema().id;
    assert!(out.ends_with(&format!(
        "<database><schemas></schemas><objects schema=\"{schema}\"><Pet id=\"2000000000000002\"/>\
         <Pet id=\"2000000000000001\"/></objects></database>"
    )));
    let unknown = ObjectXmlWriter::new().schemas([SchemaModel::new().schema_id()]);
    assert!(unknown.write(&tx, Vec::new()).is_err());
}

#[test]
fn generated_ids_are_shared_between_documents() {
    let database = database();
    let tx = database.begin(&config()).unwrap();
    let mut ids = GeneratedIds::new();
    let first = in_document(
        "<Person id=\"generated:Person:a\"><spouse>generated:Person:b</spouse></Person>",
    );
    let reader = ObjectXmlReader::new().allow_unresolved().sharing_ids(&mut ids);
    let imported = reader.read(&tx, first.as_bytes()).unwrap();
    let b = ids.get("Person", "b").unwrap();
    assert!(imported.unresolved.contains_key(&b));
    let second = in_document("<Person id=\"generated:Person:b\"/>");
    ObjectXmlReader::new().sharing_ids(&mut ids).read(&tx, second.as_bytes()).unwrap();
    let a = ids.get("Person", "a").unwrap();
    assert_eq!(tx.get(a, "spouse", Migrate::No).unwrap(), Value::Ref(b));
    assert!(tx.exists(b).unwrap());
    assert_eq!(ids.iter().count(), 2);
}

#[test]
fn dangling_references_stay_raw() {
    let database = database();
    let tx = database.begin(&config()).unwrap();
    let object = "<Person><boss>1000000000000009</boss></Person>";
    read(&tx, &in_document(object)).unwrap();
    let text = write(&tx, &ObjectXmlWriter::new());
    assert!(text.contains("<boss>1000000000000009</boss>"), "{text}");
}

// ---- round trips

/// Any text that the database can hold.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c<>&\"'\\]\r\n\t ]{0,8}",
        proptest::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
    ]
}

#[derive(Debug, Clone)]
struct Person {
    name: Option<String>,
    age: i32,
    spouse: Option<usize>,
    tags: Vec<String>,
    friends: Vec<Option<usize>>,
    scores: Vec<(String, i32)>,
    visits: i64,
}

fn person() -> impl Strategy<Value = Person> {
    let list = || proptest::collection::vec(text(), 0..4);
    let friends = proptest::collection::vec(proptest::option::of(0..5_usize), 0..4);
    let scores = proptest::collection::vec((text(), any::<i32>()), 0..4);
    let simple = (proptest::option::of(text()), any::<i32>(), proptest::option::of(0..5_usize));
    (simple, list(), friends, scores, any::<i64>()).prop_map(
        |((name, age, spouse), tags, friends, scores, visits)| Person {
            name,
            age,
            spouse,
            tags,
            friends,
            scores,
            visits,
        },
    )
}

fn create(tx: &Transaction, people: &[Person]) {
    let ids: Vec<_> = people.iter().map(|_| tx.create("Person").unwrap()).collect();
    let target = |at: Option<usize>| match at.and_then(|at| ids.get(at)) {
        Some(&id) => Value::Ref(id),
        None => Value::Null,
    };
    let string = |text: &str| Value::from(text);
    for (person, &id) in people.iter().zip(&ids) {
        let name = person.name.as_deref().map_or(Value::Null, string);
        tx.set(id, "name", &name, Migrate::No).unwrap();
        tx.set(id, "age", &Value::Int(person.age), Migrate::No).unwrap();
        tx.set(id, "spouse", &target(person.spouse), Migrate::No).unwrap();
        tx.set_counter(id, "visits", person.visits, Migrate::No).unwrap();
        for tag in &person.tags {
            tx.set_view(id, "tags", Migrate::No).unwrap().add(&string(tag)).unwrap();
        }
        for &friend in &person.friends {
            tx.list_view(id, "friends", Migrate::No).unwrap().push(&target(friend)).unwrap();
        }
        for (key, value) in &person.scores {
            let scores = tx.map_view(id, "scores", Migrate::No).unwrap();
            scores.put(&string(key), &Value::Int(*value)).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_object_comes_back(
        people in proptest::collection::vec(person(), 0..5),
        plain: bool,
        compact: bool,
        defaults: bool,
        storage_ids: bool,
    ) {
        let mut writer = ObjectXmlWriter::new();
        if plain {
            writer = writer.plain();
        }
        if compact {
            writer = writer.compact();
        }
        if defaults {
            writer = writer.with_defaults();
        }
        if storage_ids {
            writer = writer.with_storage_ids();
        }
        let source = database();
        let tx = source.begin(&config()).unwrap();
        create(&tx, &people);
        let document = write(&tx, &writer);
        let mut ids = GeneratedIds::new();
        for id in &tx.objects("Person").unwrap() {
            let id = id.unwrap();
            ids.insert("Person", &id.to_string(), id);
        }
        tx.commit().unwrap();

        let target = database();
        let tx = target.begin(&config()).unwrap();
        let reader = ObjectXmlReader::new().sharing_ids(&mut ids);
        prop_assert_eq!(reader.read(&tx, document.as_bytes()).unwrap().count, people.len() as u64);
        prop_assert_eq!(write(&tx, &writer), document);
        tx.commit().unwrap();
        prop_assert_eq!(pairs(&target), pairs(&source));
    }
}
