//! How messages name objects and fields, and errors that several operations share.

use super::Error;
use super::error::hex;
use crate::bytes::Reader;
use crate::id::{ObjId, StorageId};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedSimple, ResolvedType};

/// The object and field, for messages.
pub(crate) fn describe(id: ObjId, field: &ResolvedField) -> String {
    format!("field {} of {} {id}", field.full_name, field.type_name)
}

/// The object, and the field or index to which the index entry with this key belongs, for messages.
pub(super) fn describe_entry(id: ObjId, object_type: &ResolvedType, key: &[u8]) -> String {
    // A damaged key has no storage ID, and the message then names the object alone.
    let index = StorageId::read_from(&mut Reader::new(key)).ok();
    let mut fields = object_type.fields.iter();
    let field = fields.find_map(|field| {
        let mut parts = std::iter::once(field).chain(field.sub_fields());
        parts.find(|part| Some(part.storage_id) == index)
    });
    let composite = object_type.indexes.iter().find(|of| Some(of.storage_id) == index);
    // An index on a field has the storage ID of the field, and a composite one has its own.
    match (field, composite) {
        (Some(field), _) => format!("the index entry of {}", describe(id, field)),
        (None, Some(of)) => {
            format!("the entry of {} {id} in index {:?}", object_type.name, &*of.name)
        }
        (None, None) => format!("an index entry of {} {id}", object_type.name),
    }
}

/// The object and the field with this storage ID, for messages.
pub(super) fn describe_stored(id: ObjId, object_type: &ResolvedType, field: StorageId) -> String {
    match object_type.field_by_storage_id(field) {
        Some(field) => describe(id, field),
        None => format!("field #{field} of {} {id}", object_type.name),
    }
}

/// An error saying that the stored bytes of a field do not match its encoding.
pub(crate) fn damaged(
    id: ObjId,
    field: &ResolvedField,
    key: &[u8],
    value: &[u8],
    reason: &dyn std::fmt::Display,
) -> Error {
    Error::inconsistent(format!(
        "{}: key {}, value {}: {reason}",
        describe(id, field),
        hex(key, 64),
        hex(value, 64)
    ))
}

/// An error saying that a field has no stored value and its encoding is not registered.
pub(super) fn unknown_default(id: ObjId, field: &ResolvedField, simple: &ResolvedSimple) -> Error {
    Error::unknown_default(describe(id, field), simple)
}

/// An error saying that an object type lacks the field, or that the field is of another kind.
pub(crate) fn unknown_field(object_type: &ResolvedType, field: &str) -> Error {
    Error::UnknownField {
        type_name: Some(object_type.name.to_string()),
        field: format!("{field:?}{}", hint(object_type, field)),
    }
}

/// A hint for the message: the kind of the field, or a field with a similar name.
fn hint(object_type: &ResolvedType, field: &str) -> String {
    // The field exists but was used as one of another kind, which is the likely mistake.
    if let Some(known) = object_type.field(field) {
        let kind = match &known.kind {
            ResolvedKind::Simple(simple) if simple.reference.is_some() => "reference",
            ResolvedKind::Simple(_) => "simple field",
            ResolvedKind::Counter => "counter",
            ResolvedKind::Set { .. } => "set",
            ResolvedKind::List { .. } => "list",
            ResolvedKind::Map { .. } => "map",
        };
        return format!(" (a {kind})");
    }
    // Rust and the database join the words of a name differently.
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let similar = object_type.fields.iter().find(|known| plain(&known.name) == plain(field));
    similar.map_or_else(String::new, |known| format!(" (there is {:?})", &*known.name))
}
