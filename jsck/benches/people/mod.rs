//! A database of people, of any size: ten pairs for each of them.

use std::path::Path;
use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen::schema::SchemaModel;

const SCHEMA: &str = r#"<Schema><ObjectType name="Person">
  <SimpleField name="age" encoding="urn:fdc:permazen.io:2020:int" indexed="true"/>
  <SimpleField name="email" encoding="urn:fdc:permazen.io:2020:String"/>
  <ReferenceField name="friend" inverseDelete="NULLIFY"/>
  <SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String" indexed="true"/>
  <CounterField name="visits"/>
</ObjectType></Schema>"#;

/// Makes such a database in a directory.
pub(crate) fn fill(path: &Path, objects: u32) -> LmdbStore {
    let store = LmdbStore::builder()
        .create(true)
        .durability(Durability::MayLoseEverything)
        .open(path)
        .unwrap();
    let config = TransactionConfig::new(SchemaModel::from_xml(SCHEMA.as_bytes()).unwrap()).unwrap();
    let db = Database::new(Arc::new(store.clone()));
    let mut last: Option<ObjId> = None;
    for chunk in 0..objects.div_ceil(50_000) {
        let tx = db.begin(&config).unwrap();
        for n in chunk * 50_000..objects.min((chunk + 1) * 50_000) {
            let id = tx.create("Person").unwrap();
            let number = n.wrapping_mul(2_654_435_761);
            let set = |field, value: Value| tx.set(id, field, &value, Migrate::No).unwrap();
            set("age", Value::Int((number % 100) as i32));
            set("email", Value::from(format!("user{number}@example.org").as_str()));
            set("name", Value::from(format!("Person {number}").as_str()));
            if let Some(friend) = last {
                set("friend", Value::from(friend));
            }
            last = Some(id);
        }
        tx.commit().unwrap();
    }
    store
}
