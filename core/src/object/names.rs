//! Types and fields by their names or storage IDs, in any recorded schema.

use std::sync::Arc;

use super::error::Named;
use super::{Error, Result, Transaction};
use crate::id::{ObjId, StorageId};

impl Transaction {
    /// The name of the type of an object, for messages; `None` if no recorded schema has the type.
    /// Reads nothing.
    #[cold]
    pub(crate) fn type_name_of(&self, id: ObjId) -> Option<Arc<str>> {
        self.bundle().type_name(id.storage_id()).map(Arc::clone)
    }

    /// The object for messages, with the name of its type.
    #[cold]
    pub(crate) fn named(&self, id: ObjId) -> String {
        Named(&self.type_name_of(id), id).to_string()
    }

    /// The error saying that an object does not exist.
    #[cold]
    pub(crate) fn deleted(&self, id: ObjId) -> Error {
        Error::DeletedObject { id, type_name: self.type_name_of(id), attempted: String::new() }
    }
}

/// Storage IDs, which listeners and paths name.
impl Transaction {
    /// The storage ID of the type with that name in any recorded schema.
    ///
    /// # Errors
    /// [`Error::UnknownType`].
    pub fn type_storage_id(&self, type_name: &str) -> Result<StorageId> {
        self.check_open()?;
        self.bundle()
            .type_storage_id(type_name)
            .ok_or_else(|| Error::UnknownType { name: format!("{type_name:?}"), schema: None })
    }

    /// The storage ID of a field of a type, by their names. Listeners, paths and indexes need it.
    /// Sub-fields are named `tags.element`, `scores.key`, `scores.value`. The field is searched
    /// first in the schema of the transaction, then in the other recorded schemas, newest first.
    ///
    /// # Errors
    /// [`Error::UnknownType`], [`Error::UnknownField`], [`Error::Ended`].
    pub fn field_storage_id(&self, type_name: &str, field: &str) -> Result<StorageId> {
        self.type_storage_id(type_name)?;
        let (own, bundle) = (self.schema(), self.bundle());
        // A name can mean another field in another schema, so the schema of the transaction comes
        // first.
        std::iter::once(&own)
            .chain(bundle.schemas().iter().rev())
            .filter_map(|schema| schema.object_type(type_name))
            .find_map(|object_type| object_type.field_or_sub_field(field))
            .map(|field| field.storage_id)
            .ok_or_else(|| Error::UnknownField {
                type_name: Some(type_name.to_owned()),
                field: format!("{field:?}"),
            })
    }

    /// The name of the type with this storage ID in any recorded schema.
    ///
    /// # Errors
    /// [`Error::UnknownType`].
    #[doc(hidden)]
    pub fn type_name(&self, storage_id: StorageId) -> Result<Arc<str>> {
        self.bundle()
            .type_name(storage_id)
            .map(Arc::clone)
            .ok_or_else(|| Error::UnknownType { name: format!("#{storage_id}"), schema: None })
    }
}
