//! The pairs of a field in the content of an object.

use crate::object::ObjectData;
use crate::schema::{ResolvedField, ResolvedKind};

/// The stored pairs of a field. A simple field with its default has none.
pub(in crate::model) fn pairs_of<'d>(
    data: &'d ObjectData,
    field: &ResolvedField,
) -> Vec<(&'d [u8], &'d [u8])> {
    let simple = match &field.kind {
        ResolvedKind::Simple(simple) => Some(simple),
        _ => None,
    };
    let is_default = |value: &[u8]| simple.is_some_and(|simple| simple.is_default(value));
    data.pairs(field).filter(|(_, value)| !is_default(value)).collect()
}
