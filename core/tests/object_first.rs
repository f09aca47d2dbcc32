//! The first steps with objects, on the memory store.

use std::sync::Arc;

use permazen::encoding::Value;
use permazen::kv::memory::MemoryStore;
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen::schema::SchemaModel;

#[test]
fn creates_and_sets() {
    let xml = r#"<Schema><ObjectType name="Foo" storageId="10">
  <SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="11" indexed="true"/>
  <SimpleField name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="12"/>
  <ReferenceField name="r" storageId="13" inverseDelete="NULLIFY"/>
  <CounterField name="c" storageId="14"/>
  <CompositeIndex name="is" storageId="30"><Field name="i"/><Field name="s"/></CompositeIndex>
</ObjectType></Schema>"#;
    let db = Database::new(Arc::new(MemoryStore::new()));
    let config = TransactionConfig::new(SchemaModel::from_xml(xml.as_bytes()).unwrap()).unwrap();
    let tx = db.begin(&config).unwrap();
    let id = tx.create("Foo").unwrap();
    assert!(tx.exists(id).unwrap());
    tx.set(id, "i", &Value::Int(5), Migrate::No).unwrap();
    tx.set(id, "s", &Value::from("abc"), Migrate::No).unwrap();
    tx.adjust_counter(id, "c", 7, Migrate::No).unwrap();
    tx.set(id, "r", &Value::Ref(id), Migrate::No).unwrap();
    tx.commit().unwrap();
    let tx = db.begin(&config).unwrap();
    assert_eq!(tx.get(id, "i", Migrate::Yes).unwrap(), Value::Int(5));
    assert_eq!(tx.get(id, "s", Migrate::Yes).unwrap(), Value::from("abc"));
    assert_eq!(tx.get(id, "r", Migrate::Yes).unwrap(), Value::Ref(id));
    assert_eq!(tx.counter(id, "c", Migrate::Yes).unwrap(), 7);
    let data = tx.load(id, Migrate::Yes).unwrap();
    assert_eq!(data.decode("c").unwrap(), permazen::object::FieldValue::Counter(7));
}
