//! Objects as plain data that serde can write and read, without a loss: what it looks like (here
//! and in `serde_form.rs`), how values become it (`value.rs`), export (`export.rs`) and import
//! (`import.rs`), and databases that record the schemas of a graph first (`restore.rs`).

mod error;
mod export;
mod import;
mod restore;
mod serde_form;
mod value;

use std::collections::BTreeMap;

use crate::id::ObjId;
use crate::schema::SchemaId;

pub use error::GraphError;
pub use import::Import;

/// Objects with their fields as plain data, which serde writes as JSON and reads again.
/// [`Tx::export_graph`](crate::Tx::export_graph) makes it, and
/// [`Tx::import_graph`](crate::Tx::import_graph) makes objects of it.
///
/// ```json
/// {"objects": [
///   {"id": "0a1b2c3d4e5f6071", "type": "Person", "fields": {
///     "name": "Ann", "age": 41, "height": "1.75", "friends": ["0a99c3d4e5f60711"],
///     "phones": [["home", "555-0100"], ["work", null]], "visits": 3}}]}
/// ```
///
/// Any self-describing format of serde will do, such as JSON, YAML, CBOR or MessagePack.
///
/// ```
/// # use permazen::{PermazenObject, Permazen, Ref, kv::memory::MemoryStore};
/// # use permazen::model::{Graph, Import};
/// # #[derive(PermazenObject, Default)]
/// # struct Node {
/// #     #[permazen(cascade(forward = ["tree"], inverse = ["tree"]))]
/// #     parent: Option<Ref<Node>>,
/// # }
/// # let db = Permazen::builder(MemoryStore::new()).model::<Node>().build()?;
/// let json = db.write(|tx| {
///     let root = tx.create(Node { parent: None })?;
///     tx.create(Node { parent: Some(root.to_ref()) })?;
///     let tree = tx.export_graph(root.cascade("tree").ids()?)?;
///     serde_json::to_string(&tree).map_err(permazen::Error::other)
/// })?;
/// // In another database, or again in this one.
/// db.write(|tx| {
///     let tree: Graph = serde_json::from_str(&json).map_err(permazen::Error::other)?;
///     tx.import_graph(&tree, Import::new().new_ids())?;
///     assert_eq!(tx.all::<Node>()?.count()?, 4);
///     Ok(())
/// })?;
/// # Ok::<(), permazen::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Schemas that the objects name, as XML with the storage IDs of types; none unless the export
    /// asked for them ([`Tx::export_graph_with_schemas`](crate::Tx::export_graph_with_schemas)). An
    /// import records those that an object names and that are not recorded yet. Clear them if no
    /// others may be recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemas: Vec<String>,
    /// The objects, in any order.
    #[doc(hidden)]
    pub objects: Vec<GraphObject>,
}

/// An object of a [`Graph`].
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphObject {
    /// Its ID.
    pub id: ObjId,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The schema whose fields it has; `None` for that of the transaction.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "serde_form::schema")]
    pub schema: Option<SchemaId>,
    /// Its fields by name. A field that is missing here has the default of its encoding.
    #[serde(default, deserialize_with = "serde_form::fields")]
    pub fields: BTreeMap<String, GraphValue>,
}

/// A value in a [`Graph`].
///
/// | the value | looks like |
/// |---|---|
/// | null | `null` |
/// | `bool` | `true` |
/// | a whole number or a counter | `41`; beyond ±2⁵³, where other programs would round, as text: `"9223372036854775807"` |
/// | a string | itself |
/// | a reference | the ID, `"0a1b2c3d4e5f6071"` |
/// | a constant of an enum | its name |
/// | any other: `f64`, dates, bytes, … | its text form: `"1.75"`, `"NaN"`, `"2026-05-04"` |
/// | a set or list | `["a", "b"]` |
/// | a map | its entries: `[["key", "value"]]` |
/// | a value without a form that gives the same bytes again, such as a string with unpaired surrogates | `{"encoded": "fe6400"}`, the encoded value in hex digits |
///
/// An import also takes numbers where text is written, if the field has exactly that number.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphValue {
    /// Null.
    Null,
    /// A `bool`.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// A number with a fraction. An export writes text instead, because not every reader of JSON
    /// returns the same number.
    Float(f64),
    /// A string, or the text form of a value.
    Text(String),
    /// The elements of a set or list; for a map, its entries, each with a list of key and value.
    List(Vec<GraphValue>),
    /// The hex digits of an encoded value.
    Encoded(String),
}
