//! The recorded answers about a database.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// `answers.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answers {
    pub pairs: u64,
    pub pairs_in_digest: u64,
    pub state_digest: String,
    pub objects: Objects,
    pub indexes: Vec<Index>,
    pub chosen_objects: Vec<ChosenObject>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objects {
    pub total: u64,
    pub ids_digest: String,
    /// By schema index.
    pub by_schema: BTreeMap<String, SchemaObjects>,
    pub by_type: BTreeMap<String, TypeObjects>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaObjects {
    pub count: u64,
    pub ids_digest: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeObjects {
    pub storage_id: u32,
    pub count: u64,
    pub ids_digest: String,
    /// By schema index.
    pub count_by_schema: BTreeMap<String, u64>,
    pub first_ids: Vec<String>,
    pub last_ids: Vec<String>,
}

/// All entries of the index with one storage ID.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    pub storage_id: u32,
    pub kind: IndexKind,
    pub items: Vec<IndexedItem>,
    pub encodings: Vec<String>,
    /// The encoding of the keys that are stored with map values.
    pub map_key_encoding: Option<String>,
    pub entries: u64,
    pub distinct_values: u64,
    pub value_object_pairs: u64,
    pub keys_digest: String,
    /// Each entry is value…, ID, and for list elements and map values the position or the map key.
    pub all: Option<Vec<Vec<Value>>>,
    pub first: Option<Vec<Vec<Value>>>,
    pub last: Option<Vec<Vec<Value>>>,
    pub queries: Vec<Query>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IndexKind {
    Field,
    SetElement,
    ListElement,
    MapKey,
    MapValue,
    Composite,
}

/// A schema item that has this index.
#[derive(Debug, Deserialize)]
pub struct IndexedItem {
    /// Schema index.
    pub schema: u32,
    /// `Type.field`, `Type.field.element`, `Type#compositeIndex`.
    pub item: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Query {
    pub name: String,
    /// Bounds of each column.
    pub columns: Option<Vec<Bounds>>,
    /// Bounds of the whole tuple.
    pub tuple: Option<TupleBounds>,
    /// Only objects of this type.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// Only objects in the schema of this index.
    pub schema: Option<u32>,
    /// Only this object and later ones.
    pub from_id: Option<String>,
    pub reverse: bool,
    pub count: u64,
    pub ids_digest: String,
    pub first: Vec<Vec<Value>>,
    pub last: Option<Vec<Value>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Bounds {
    pub lower: Option<Bound>,
    pub upper: Option<Bound>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Bound {
    /// A text or null.
    pub value: Option<String>,
    pub included: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub struct TupleBounds {
    pub lower: Option<TupleBound>,
    pub upper: Option<TupleBound>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct TupleBound {
    pub values: Vec<Option<String>>,
    pub included: bool,
}

/// An object with all its fields.
#[derive(Debug, Deserialize)]
pub struct ChosenObject {
    pub id: String,
    #[serde(rename = "type")]
    pub type_name: String,
    /// The index of the schema it is stored in.
    pub schema: u32,
    /// A text or null, or a list of values or of `[key, value]`.
    pub fields: BTreeMap<String, Value>,
}

/// One element of `schemas.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedSchema {
    pub index: u32,
    pub schema_id: String,
    /// The pretty XML file.
    pub file: String,
    pub stored_xml_bytes: usize,
    pub stored_xml_sha256: String,
    /// Storage ID by item path.
    pub storage_ids: BTreeMap<String, u32>,
    /// Schema ID by item path.
    pub item_ids: BTreeMap<String, String>,
}

/// One script of `operations.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Script {
    pub name: String,
    pub steps: Vec<Value>,
    pub objects: Option<u64>,
    pub pairs: Option<u64>,
    pub state_digest: Option<String>,
    pub refused: Option<Refused>,
}

/// The error a script ends with.
#[derive(Debug, Deserialize)]
pub struct Refused {
    pub deleting: Option<String>,
    pub referrer: Option<String>,
    pub field: Option<String>,
}

/// `steps.json`.
#[derive(Debug, Deserialize)]
pub struct Steps {
    pub steps: Vec<State>,
    /// The objects that "half" means.
    pub half: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    pub name: String,
    pub pairs: u64,
    pub state_digest: String,
    /// By schema index.
    pub objects_by_schema: BTreeMap<String, u64>,
}
