//! Where the entries of a model's objects are that are not just those of an index.

use crate::layout::SchemaIndex;
use crate::model::error::Result;
use crate::object::{IndexShape, MergedIndex};
use crate::schema::SchemaId;

/// An index that a query reads.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) shape: &'a IndexShape,
    /// Whether the query returns the keys of map values.
    pub(crate) with_keys: bool,
}

/// A recorded schema in which the entries of a model's objects are not just those of the index.
#[derive(Debug, Clone)]
pub(crate) struct Other {
    pub(crate) schema: SchemaIndex,
    pub(crate) schema_id: SchemaId,
    pub(crate) entries: EntryLocation,
}

/// Where the entries of the objects in such a schema are.
#[derive(Debug, Clone)]
pub(crate) enum EntryLocation {
    /// In an index whose entries mean the same. In the schemas `unless`, they mean something else.
    /// While objects are there, an entry does not tell what it means, and the objects count as
    /// missing.
    Merged { index: MergedIndex, unless: Vec<SchemaIndex> },
    /// Nowhere.
    Missing,
    /// The index has entries of the objects, but the model sees other values. `missing` tells
    /// whether there are such values.
    Hidden { missing: bool },
}

impl Other {
    /// Whether objects in this schema may have values without entries.
    pub(crate) fn may_lack_entries(&self) -> bool {
        match &self.entries {
            EntryLocation::Missing => true,
            EntryLocation::Hidden { missing } => *missing,
            // Asking for objects costs a seek each, so a caller that only wants to be careful does
            // not.
            EntryLocation::Merged { unless, .. } => !unless.is_empty(),
        }
    }

    /// Whether objects in this schema have values without entries. `in_use` tells whether there are
    /// objects in another schema.
    pub(crate) fn lacks_entries(
        &self,
        mut in_use: impl FnMut(SchemaIndex) -> Result<bool>,
    ) -> Result<bool> {
        match &self.entries {
            EntryLocation::Missing => Ok(true),
            EntryLocation::Hidden { missing } => Ok(*missing),
            EntryLocation::Merged { unless, .. } => {
                // Only objects that are there make entries ambiguous. Asking costs a seek.
                for schema in unless {
                    if in_use(*schema)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}
