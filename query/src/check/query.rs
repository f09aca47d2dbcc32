//! Checked sets of objects.

use permazen::{ObjId, StorageId};

/// Which objects, in which order.
#[derive(Debug, Clone)]
pub(crate) struct CheckedQuery {
    /// The objects.
    pub(crate) objects: CheckedObjects,
    /// How many at most.
    pub(crate) limit: Option<u64>,
}

/// A set of objects.
#[derive(Debug, Clone)]
pub(crate) struct CheckedObjects {
    /// The types that they can have, ascending.
    pub(crate) types: Vec<StorageId>,
    /// Which set.
    pub(crate) kind: CheckedObjectsKind,
}

/// Which set of objects.
#[derive(Debug, Clone)]
pub(crate) enum CheckedObjectsKind {
    /// All objects of the type.
    Type,
    /// One object, if it exists.
    Id(ObjId),
}
