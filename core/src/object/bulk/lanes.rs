//! The ranges of keys that records belong to.

use crate::id::StorageId;
use crate::layout::{StorageIdKey, object_schema_prefix};
use crate::schema::{ResolvedField, Schema};

/// Records whose keys begin alike.
#[derive(Debug)]
pub(super) struct Lane {
    /// The common beginning of all keys of the lane. No other lane has keys that begin with it.
    pub(super) prefix: Vec<u8>,
    /// Whether a record is all pairs of an object, not one pair.
    pub(super) of_objects: bool,
}

/// The lanes of a schema, in the order of their keys. After them comes one for references, which
/// have no place in the store.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// The lane of the keys that begin with a storage ID, in the order of the storage IDs.
    of_ids: Vec<(StorageId, usize)>,
}

impl Lanes {
    pub(super) fn new(schema: &Schema) -> Self {
        let prefix = object_schema_prefix(schema.index);
        let mut lanes = vec![Lane { prefix, of_objects: false }];
        let mut ids = Vec::new();
        // Both kinds of lanes begin with a storage ID, so they are put in order together.
        for object_type in &schema.types {
            ids.push((object_type.storage_id, true));
            let fields = object_type.fields.iter();
            let parts = fields.flat_map(|field| field.sub_fields().chain([field]));
            let indexed = parts.filter(|part| ResolvedField::is_indexed(part));
            ids.extend(indexed.map(|part| (part.storage_id, false)));
            ids.extend(object_type.indexes.iter().map(|index| (index.storage_id, false)));
        }
        // Several types can share an index. The code of storage IDs keeps their order.
        ids.sort_unstable();
        ids.dedup();
        let mut of_ids = Vec::with_capacity(ids.len());
        for (id, of_objects) in ids {
            of_ids.push((id, lanes.len()));
            // The code of storage IDs keeps their order, so the lanes are in the order of the keys.
            lanes.push(Lane { prefix: StorageIdKey::from(id).to_vec(), of_objects });
        }
        Lanes { lanes, of_ids }
    }

    /// The lane of the object schema index.
    pub(super) const SCHEMA_INDEX: usize = 0;

    /// The lane of references.
    pub(super) fn of_references(&self) -> usize {
        self.lanes.len()
    }

    /// How many lanes there are, with that of references.
    pub(super) fn len(&self) -> usize {
        // References are checked and not written, so their lane comes after all others.
        self.lanes.len() + 1
    }

    /// The lane of keys that begin with this storage ID.
    pub(super) fn of(&self, id: StorageId) -> Option<usize> {
        let at = self.of_ids.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.of_ids.get(at).map(|(_, lane)| *lane)
    }

    /// The lanes whose records are written, in the order of their keys.
    pub(super) fn written(&self) -> &[Lane] {
        &self.lanes
    }

    /// How many bytes all keys of a lane have in common.
    pub(super) fn common(&self, lane: usize) -> usize {
        self.lanes.get(lane).map_or(0, |lane| lane.prefix.len())
    }
}
