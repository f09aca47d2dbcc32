//! The recorded schemas, by name: object types, their fields and indexes, over all schemas.
//!
//! A type can have another field of the same name in another schema. So a name stands for a field
//! in each of several schemas.

mod entry;

use std::sync::Arc;

use permazen::__internal::schema::SchemaBundle;
use permazen::StorageId;
use permazen::object::Transaction;

pub(crate) use entry::kind_of;
pub use entry::{FieldEntry, IndexEntry, TypeEntry};

/// The recorded types, fields and indexes of a database, by name. It is made from the recorded
/// schemas, not from objects.
#[derive(Debug, Clone)]
pub struct Catalog {
    bundle: Arc<SchemaBundle>,
    types: Arc<[TypeEntry]>,
}

impl Catalog {
    /// The catalog of the schemas that a transaction sees. Cost: nothing is read.
    pub fn of(tx: &Transaction) -> Self {
        Catalog::new(tx.bundle())
    }

    /// The catalog of these schemas.
    #[doc(hidden)]
    pub fn new(bundle: Arc<SchemaBundle>) -> Self {
        let types = entry::types_of(&bundle).into();
        Catalog { bundle, types }
    }

    /// The recorded schemas.
    #[doc(hidden)]
    pub fn schemas(&self) -> &Arc<SchemaBundle> {
        &self.bundle
    }

    /// All object types, in the order of their names.
    pub fn types(&self) -> &[TypeEntry] {
        &self.types
    }

    /// The object type with this name.
    pub fn type_named(&self, name: &str) -> Option<&TypeEntry> {
        let at = self.types.binary_search_by(|entry| (*entry.name).cmp(name)).ok()?;
        self.types.get(at)
    }

    /// The object type with this storage ID.
    pub fn type_with_id(&self, id: StorageId) -> Option<&TypeEntry> {
        self.types.iter().find(|entry| entry.storage_id == id)
    }
}
