//! Null where the model requires values: in simple fields and inside collections.

use super::violation::{Rule, Violation};
use crate::id::{ObjId, StorageId};
use crate::model::binding::Binding;
use crate::model::error::{Error, Result};
use crate::model::handle::Handle;
use crate::model::tx::Tx;
use crate::object::ObjectData;
use crate::schema::{ResolvedField, SchemaId};

/// Whether an encoded value of a simple field is null.
pub(super) fn is_null(field: &ResolvedField, value: &[u8]) -> bool {
    let decoded = field.simple().map(|simple| simple.encoding.decode_all(value));
    // A damaged value is not null. Reading the field reports the damage.
    decoded.is_some_and(|value| value.is_ok_and(|value| value.is_null()))
}

/// The nulls in collections that cannot have any in the struct.
pub(super) fn nulls_in(
    binding: &Binding,
    id: ObjId,
    data: &ObjectData,
    concerns: impl Fn(StorageId) -> bool,
) -> Result<Vec<Violation>> {
    let mut found = Vec::new();
    for (position, nulls) in &binding.rules.required_in {
        if concerns(nulls.field) && data.pairs_of(nulls.field).any(|pair| nulls.is_in(pair)) {
            let path = binding.path(binding.field(*position)?);
            found.push(Violation::new(id, path, Rule::Required));
        }
    }
    Ok(found)
}

/// Whether an object cannot be loaded because a value is null.
pub(super) fn is_about_null(error: &Error) -> bool {
    matches!(error, Error::Missing { .. } | Error::NullInside { .. })
}

/// The content of an object as the model sees it, and the schema in which it is.
pub(super) fn content(tx: &Tx, binding: &Binding, id: ObjId) -> Result<(ObjectData, SchemaId)> {
    match (Handle { tx, binding, id }).content_in_place()? {
        Some(content) => Ok(content),
        // A rule that is checked must not move the object, so its content is only computed.
        None => Ok((tx.core.load_unmovable(id)?, binding.fields.object_type.schema_of)),
    }
}
