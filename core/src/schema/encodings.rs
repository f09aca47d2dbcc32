//! Finds the encoding of a field's values.

use std::sync::Arc;

use super::model::SimpleKind;
use crate::encoding::{
    Encoding, EncodingRegistry, EnumArrayEncoding, EnumEncoding, ReferenceEncoding, UnknownEncoding,
};

/// The treatment of values whose encoding is not registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UnknownEncodings {
    /// Refuse to open a database if a recorded schema has one.
    #[default]
    Refuse,
    /// Treat the values as opaque bytes. This is for tools;
    /// [`Database::unknown_encodings`](crate::object::Database::unknown_encodings) says what they
    /// can do with such values.
    Carry,
}

/// The encoding of values of that kind, or why there is none.
///
/// For references, it is the encoding that allows every type. All fields that share an index have
/// it in common.
pub(super) fn find(
    kind: &SimpleKind,
    registry: &EncodingRegistry,
    unknown: UnknownEncodings,
) -> Result<Arc<dyn Encoding>, String> {
    let enumeration = |identifiers: &[String]| EnumEncoding::new(identifiers.iter().cloned());
    match kind {
        SimpleKind::Plain(id) => match registry.find(id) {
            Ok(Some(encoding)) => return Ok(encoding),
            // An ID that cannot be an encoding at all is carried too: a tool must open every
            // database.
            _ if unknown == UnknownEncodings::Carry => {
                return Ok(Arc::new(UnknownEncoding::new(id.clone())));
            }
            Ok(None) => return Err(format!("encoding {id} is not registered")),
            Err(error) => Err(error),
        },
        // The allowed types are not part of the encoding, or fields that share an index would
        // differ.
        SimpleKind::Reference(_) => return Ok(Arc::new(ReferenceEncoding::new(None))),
        SimpleKind::Enum { identifiers } => {
            enumeration(identifiers).map(|encoding| Arc::new(encoding) as Arc<dyn Encoding>)
        }
        SimpleKind::EnumArray { identifiers, dimensions } => enumeration(identifiers)
            .and_then(|base| EnumArrayEncoding::build(base, u32::from(*dimensions))),
    }
    .map_err(|error| error.to_string())
}
