//! Which encoding a field's values have.

use std::sync::Arc;

use super::model::SimpleKind;
use crate::encoding::{
    Encoding, EncodingRegistry, EnumArrayEncoding, EnumEncoding, ReferenceEncoding, UnknownEncoding,
};

/// What to do about values of encodings that are not registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UnknownEncodings {
    /// Refuse to open a database that records a schema with one.
    #[default]
    Refuse,
    /// Carry the values as opaque bytes ([`UnknownEncoding`]). For tools;
    /// [`Database::unknown_encodings`](crate::object::Database::unknown_encodings) tells what can be
    /// done with them.
    Carry,
}

/// The encoding of values of that kind, or why there is none.
///
/// References get the encoding without type restriction, which all fields that share an index
/// have in common.
pub(super) fn find(
    kind: &SimpleKind,
    registry: &EncodingRegistry,
    unknown: UnknownEncodings,
) -> Result<Arc<dyn Encoding>, String> {
    let enumeration = |identifiers: &[String]| EnumEncoding::new(identifiers.iter().cloned());
    match kind {
        SimpleKind::Plain(id) => match registry.find(id) {
            Ok(Some(encoding)) => return Ok(encoding),
            _ if unknown == UnknownEncodings::Carry => {
                return Ok(Arc::new(UnknownEncoding::new(id.clone())));
            }
            Ok(None) => return Err(format!("encoding {id} is not registered")),
            Err(error) => Err(error),
        },
        SimpleKind::Reference(_) => return Ok(Arc::new(ReferenceEncoding::new(None))),
        SimpleKind::Enum { identifiers } => {
            enumeration(identifiers).map(|encoding| Arc::new(encoding) as Arc<dyn Encoding>)
        }
        SimpleKind::EnumArray { identifiers, dimensions } => enumeration(identifiers)
            .and_then(|base| EnumArrayEncoding::build(base, u32::from(*dimensions))),
    }
    .map_err(|error| error.to_string())
}
