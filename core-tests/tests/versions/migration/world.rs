//! A database of two schemas of one type with one field.

use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::ids;
use permazen::kv::{Direction, KeySpan, KvDatabase, TxOptions};
use permazen::object::{Database, TransactionConfig};
use permazen::schema::{
    Field, ObjectType, SchemaId, SchemaModel, SchemaRemoval, Simple, UnknownEncodings,
};

/// A schema with these types.
pub(crate) fn schema(types: impl IntoIterator<Item = ObjectType>) -> SchemaModel {
    types.into_iter().fold(SchemaModel::new(), SchemaModel::object_type)
}

/// A schema with the type `A`, which has this field, and the types `B` and `C`, which have none.
pub(crate) fn with_field(field: Field) -> SchemaModel {
    schema([ObjectType::new("A").field(field), ObjectType::new("B"), ObjectType::new("C")])
}

pub(crate) fn int() -> Simple {
    Simple::of(ids::INT)
}

pub(crate) fn long() -> Simple {
    Simple::of(ids::LONG)
}

pub(crate) fn string() -> Simple {
    Simple::of(ids::STRING)
}

/// No transaction of the test removes a schema, or has one of its own.
pub(crate) fn config() -> TransactionConfig {
    TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never)
}

/// A database in which these schemas are recorded, and their IDs.
pub(crate) fn database(
    store: Arc<dyn KvDatabase>,
    schemas: &[SchemaModel],
) -> (Database, Vec<SchemaId>) {
    let db = Database::new(store).unknown_encodings(UnknownEncodings::Carry);
    let tx = db.begin(&config()).unwrap();
    for schema in schemas {
        tx.add_schema(schema).unwrap();
    }
    tx.commit().unwrap();
    (db, schemas.iter().map(SchemaModel::schema_id).collect())
}

pub(crate) fn create(db: &Database, type_name: &str, schema: SchemaId) -> ObjId {
    let tx = db.begin(&config()).unwrap();
    let schema = Arc::clone(tx.bundle().schema_by_id(schema).unwrap());
    let id = tx.create_in(type_name, &schema).unwrap();
    tx.commit().unwrap();
    id
}

/// All pairs.
pub(crate) fn pairs(db: &Database) -> Vec<(Vec<u8>, Vec<u8>)> {
    let tx = db.kv().begin(&TxOptions::reading()).unwrap();
    let pairs = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    pairs.map(|pair| pair.unwrap()).map(|(key, value)| (key.into(), value.into())).collect()
}

pub(crate) fn assert_clean(db: &Database) {
    let kv = db.kv().begin(&TxOptions::reading()).unwrap();
    let mut findings = Vec::new();
    let options = permazen_jsck::Options::default();
    permazen_jsck::check(&*kv, &options, &mut |finding| findings.push(finding.to_string()))
        .unwrap();
    assert!(findings.is_empty(), "{findings:#?}");
}
