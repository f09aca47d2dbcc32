//! Which objects exist.
//!
//! An object exists if its meta-data says so: that alone decides, whatever its fields look like.
//! References and index entries are judged by it, so it is found out first.

use permazen::kv::{Direction, KeySpan, KvRead};
use permazen::layout::SchemaIndex;
use permazen::schema::{ResolvedType, SchemaBundle};
use permazen::{ObjId, StorageId};
use std::sync::Arc;

use crate::output::{Checked, Output};

/// The objects that exist, by their ids as numbers.
#[derive(Debug)]
pub(crate) struct Known {
    ids: Vec<u64>,
    complete: bool,
}

/// How many ids are kept in memory; past that existence is looked up in the store.
const KEPT: usize = 12 << 20;

impl Known {
    /// Scans the ranges of all object types.
    pub(crate) fn scan(
        kv: &dyn KvRead,
        bundle: &SchemaBundle,
        out: &mut Output<'_>,
    ) -> Checked<Known> {
        let mut known = Known { ids: Vec::new(), complete: true };
        for type_id in bundle.type_ids() {
            let (min, max) = type_id.key_range();
            for pair in kv.scan(KeySpan::new(&min, Some(&max)), Direction::Forward)? {
                let (key, value) = pair?;
                out.entry()?;
                let Ok(id) = <[u8; 8]>::try_from(&key[..]) else { continue };
                if Meta::read(bundle, type_id, &value).object_type().is_none() {
                    continue;
                }
                if known.ids.len() == KEPT {
                    known.ids = Vec::new();
                    known.complete = false;
                    return Ok(known);
                }
                known.ids.push(u64::from_be_bytes(id));
            }
        }
        known.ids.shrink_to_fit();
        Ok(known)
    }

    /// Looks everything up in the store when it is asked for.
    pub(crate) fn in_store() -> Known {
        Known { ids: Vec::new(), complete: false }
    }

    /// Whether the object exists.
    pub(crate) fn contains(
        &self,
        kv: &dyn KvRead,
        bundle: &SchemaBundle,
        id: ObjId,
    ) -> Checked<bool> {
        if self.complete {
            return Ok(self.ids.binary_search(&u64::from_be_bytes(id.to_bytes())).is_ok());
        }
        let value = kv.get(id.as_bytes())?;
        Ok(value.is_some_and(|value| {
            Meta::read(bundle, id.storage_id(), &value).object_type().is_some()
        }))
    }
}

/// What the meta-data of an object says.
#[derive(Debug)]
pub(crate) enum Meta<'b> {
    /// The object is valid, perhaps with something to tidy up.
    Object { object_type: &'b Arc<ResolvedType>, schema: SchemaIndex, flaw: Option<MetaFlaw> },
    /// No schema index can be read from it.
    Undecodable(String),
    /// It names a schema that is not recorded.
    UnknownSchema(u32),
    /// It names a schema that has no such object type.
    TypeNotInSchema(SchemaIndex),
}

/// What is wrong with meta-data that can be used all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaFlaw {
    Flags(u8),
    TrailingGarbage,
    NonCanonical,
}

impl<'b> Meta<'b> {
    /// Reads the value under an object's own key.
    pub(crate) fn read(bundle: &'b SchemaBundle, type_id: StorageId, value: &[u8]) -> Meta<'b> {
        let mut reader = permazen::encoding::Reader::new(value);
        let number = match permazen::encoding::uint::read(&mut reader) {
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
            [] | [0] if used != permazen::encoding::uint::len(number) => {
                Some(MetaFlaw::NonCanonical)
            }
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
