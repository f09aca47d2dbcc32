//! Steps and filters of reference paths (docs/src/listeners.md#paths).

use std::collections::BTreeSet;

use permazen_kv::{KeyRanges, KeySpan};

use crate::id::{ObjId, StorageId};
use crate::layout;

/// One step of a reference path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathStep {
    /// From an object to the objects to which its reference field or sub-field with this storage ID
    /// refers.
    Forward(StorageId),
    /// From an object to the objects that refer to it through the reference field or sub-field with
    /// this storage ID.
    Inverse(StorageId),
}

impl PathStep {
    /// The storage ID of the field.
    pub fn storage_id(self) -> StorageId {
        match self {
            PathStep::Forward(id) | PathStep::Inverse(id) => id,
        }
    }

    /// The same field in the other direction.
    #[must_use]
    pub fn inverted(self) -> Self {
        match self {
            PathStep::Forward(id) => PathStep::Inverse(id),
            PathStep::Inverse(id) => PathStep::Forward(id),
        }
    }
}

/// Which object IDs are allowed at one position of a path.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct IdFilter {
    ranges: KeyRanges,
    types: BTreeSet<StorageId>,
    ids: BTreeSet<ObjId>,
}

impl std::fmt::Debug for IdFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("IdFilter").field(&self.ranges).finish()
    }
}

impl IdFilter {
    /// Objects of these types.
    pub fn of_types(types: impl IntoIterator<Item = StorageId>) -> Self {
        let mut filter = IdFilter::default();
        types.into_iter().for_each(|id| filter.add_type(id));
        filter
    }

    /// These objects.
    pub fn of_ids(ids: impl IntoIterator<Item = ObjId>) -> Self {
        let mut filter = IdFilter::default();
        ids.into_iter().for_each(|id| filter.add_id(id));
        filter
    }

    fn add_type(&mut self, id: StorageId) {
        let (min, max) = id.key_range();
        self.ranges.add(KeySpan::new(&min, Some(&max)));
        self.types.insert(id);
    }

    fn add_id(&mut self, id: ObjId) {
        // An object ID has one key, but sets of pairs are ranges, so the range of its keys is
        // added.
        let end = layout::prefix_end(id.as_bytes());
        self.ranges.add(KeySpan::new(id.as_bytes(), end.as_deref()));
        self.ids.insert(id);
    }

    /// The filter where types have other storage IDs. `now` says which; `None` for a type that is
    /// gone. A type only gets another storage ID when it has no objects, so object IDs with the
    /// old one mean no object any more.
    pub(crate) fn renumbered(&self, now: impl Fn(StorageId) -> Option<StorageId>) -> Self {
        let mut filter = IdFilter::of_types(self.types.iter().filter_map(|id| now(*id)));
        let same = self.ids.iter().filter(|id| now(id.storage_id()) == Some(id.storage_id()));
        same.for_each(|id| filter.add_id(*id));
        filter
    }

    /// Whether this object is allowed.
    pub fn allows(&self, id: ObjId) -> bool {
        self.ranges.contains(id.as_bytes())
    }

    /// Whether any object of this type is allowed.
    pub fn allows_some_of(&self, storage_id: StorageId) -> bool {
        let (min, max) = storage_id.key_range();
        self.ranges.intersects(KeySpan::new(&min, Some(&max)))
    }
}
