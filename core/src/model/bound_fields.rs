//! The fields of a struct, each found in its object type: what reading and writing its values
//! needs.

use std::any::TypeId;
use std::sync::Arc;

use super::error::{Error, Result};
use crate::encoding::EncodingError;
use crate::id::{ObjId, StorageId};
use crate::object;
use crate::schema::{ResolvedField, ResolvedType, SchemaId};

/// The fields of a model, bound to its object type.
#[derive(Debug, Clone)]
pub(crate) struct BoundFields {
    pub(crate) object_type: Arc<ResolvedType>,
    /// In the order of the struct's fields.
    fields: Vec<Arc<ResolvedField>>,
}

/// Which values of a field: each part can have an index of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldPart {
    /// The value of a simple field, the elements, or the keys.
    Main,
    /// The values of a map.
    MapValue,
}

impl BoundFields {
    pub(super) fn new(object_type: Arc<ResolvedType>, fields: Vec<Arc<ResolvedField>>) -> Self {
        BoundFields { object_type, fields }
    }

    /// The field at a position of the struct.
    pub(crate) fn field(&self, position: usize) -> Result<&Arc<ResolvedField>> {
        self.fields.get(position).ok_or_else(|| self.misused(position))
    }

    /// How many fields the struct has.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The position of the field that has this storage ID, or a sub-field that has it.
    pub(crate) fn with_storage_id(&self, id: StorageId) -> Option<usize> {
        let is_it = |field: &Arc<ResolvedField>| {
            field.storage_id == id || field.sub_fields().any(|part| part.storage_id == id)
        };
        self.fields.iter().position(is_it)
    }

    /// The error for a stored value that does not fit the type in the struct. `schema` is that of
    /// the object.
    pub(crate) fn undecodable(
        &self,
        id: ObjId,
        schema: Option<SchemaId>,
        field: &ResolvedField,
        source: EncodingError,
    ) -> Error {
        let path = self.path(field);
        match (source, schema) {
            // Null inside a collection has no schema to blame: an element was written as null.
            (EncodingError::NullValue(_), _) if field.simple().is_none() => {
                Error::NullInside { field: path, id }
            }
            (EncodingError::NullValue(_), Some(schema)) => {
                // In another schema the field may be missing altogether, which is said in other
                // words.
                let is_null = schema == self.object_type.schema_of;
                Error::Missing { field: path, id, schema, is_null, is_new: false }
            }
            (source, _) => Error::Decode { field: path, id, source },
        }
    }

    /// The error for a position that the struct does not have.
    pub(super) fn misused(&self, position: usize) -> Error {
        let what =
            format!("object type {} has no field or index {position}", self.object_type.name);
        Error::Object(object::Error::InvalidArgument { what })
    }

    /// `Person.name`
    pub(crate) fn path(&self, field: &ResolvedField) -> String {
        format!("{}.{}", self.object_type.name, field.full_name)
    }
}

/// The fields of all models, in the order of their type IDs.
#[derive(Debug)]
pub(crate) struct FieldsOfModels(Vec<(TypeId, BoundFields)>);

impl FieldsOfModels {
    pub(super) fn new(mut all: Vec<(TypeId, BoundFields)>) -> Self {
        all.sort_unstable_by_key(|(type_id, _)| *type_id);
        FieldsOfModels(all)
    }

    /// Those of the model that is this type.
    pub(crate) fn of(&self, type_id: TypeId) -> Option<&BoundFields> {
        let at = self.0.binary_search_by_key(&type_id, |(of, _)| *of);
        at.ok().and_then(|at| self.0.get(at)).map(|(_, fields)| fields)
    }
}
