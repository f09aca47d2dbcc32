//! The pair that says that an object exists, and which schema it belongs to.

use std::sync::Arc;

use permazen::__internal::schema::SchemaBundle;
use permazen::StorageId;
use permazen::encoding::{Reader, uint};
use permazen::schema::{ResolvedType, SchemaIndex};

/// Reads the meta-data of the objects of one type. Remembers the last value, because most objects
/// of a type are of the same schema.
pub(crate) struct MetaReader<'b> {
    bundle: &'b SchemaBundle,
    type_id: StorageId,
    last: Option<(u8, &'b Arc<ResolvedType>, SchemaIndex)>,
}

impl<'b> MetaReader<'b> {
    pub(crate) fn new(bundle: &'b SchemaBundle, type_id: StorageId) -> Self {
        MetaReader { bundle, type_id, last: None }
    }

    /// Like [`Meta::read`].
    pub(crate) fn read(&mut self, value: &[u8]) -> Meta<'b> {
        if let (&[byte], Some((last, object_type, schema))) = (value, self.last)
            && byte == last
        {
            return Meta::Object { object_type, schema, flaw: None };
        }
        let meta = Meta::read(self.bundle, self.type_id, value);
        if let (&[byte], &Meta::Object { object_type, schema, flaw: None }) = (value, &meta) {
            self.last = Some((byte, object_type, schema));
        }
        meta
    }
}

/// The meta-data of an object, decoded.
#[derive(Debug)]
pub(crate) enum Meta<'b> {
    /// The object is valid, perhaps with a small flaw.
    Object { object_type: &'b Arc<ResolvedType>, schema: SchemaIndex, flaw: Option<MetaFlaw> },
    /// No schema index can be read from it.
    Undecodable(String),
    /// It names a schema that is not recorded.
    UnknownSchema(u32),
    /// It names a schema that has no such object type.
    TypeNotInSchema(SchemaIndex),
}

/// A flaw of meta-data that can still be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaFlaw {
    Flags(u8),
    TrailingGarbage,
    NonCanonical,
}

impl<'b> Meta<'b> {
    /// Reads the value under an object's own key.
    pub(crate) fn read(bundle: &'b SchemaBundle, type_id: StorageId, value: &[u8]) -> Meta<'b> {
        let mut reader = Reader::new(value);
        let number = match uint::read(&mut reader) {
            Ok(0) => return Meta::Undecodable("schema index is zero".to_owned()),
            Ok(number) => number,
            Err(e) => return Meta::Undecodable(e.to_string()),
        };
        let schema = SchemaIndex::new(number).and_then(|index| bundle.schema(index));
        let Some(schema) = schema else { return Meta::UnknownSchema(number) };
        let Some(object_type) = schema.type_by_storage_id(type_id) else {
            return Meta::TypeNotInSchema(schema.index);
        };
        let used = value.len() - reader.rest().len();
        let flaw = match reader.rest() {
            // The flags byte may be absent or zero.
            [] | [0] if used != uint::len(number) => Some(MetaFlaw::NonCanonical),
            [] | [0] => None,
            [flags] => Some(MetaFlaw::Flags(*flags)),
            _ => Some(MetaFlaw::TrailingGarbage),
        };
        Meta::Object { object_type, schema: schema.index, flaw }
    }

    /// The type of the object, if there is one.
    pub(crate) fn object_type(&self) -> Option<&'b Arc<ResolvedType>> {
        match self {
            Meta::Object { object_type, .. } => Some(object_type),
            _ => None,
        }
    }
}
