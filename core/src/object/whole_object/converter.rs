//! The decision about the content of objects that have moved to another schema.

use std::fmt;

use super::data::ObjectData;
use crate::id::{ObjId, StorageId};
use crate::object::{Result, Transaction};

/// Decides what objects contain after they have moved to the schema of a transaction. Without a
/// converter, they keep the fields of the same definition, as in Java.
pub(crate) trait Converter: fmt::Debug + Send + Sync {
    /// The content of an object that moves; `None` if it is exactly what the object keeps. This is
    /// called before anything is written. It is also called if the object moves to another schema
    /// than that of the transaction, as a copy can make it do. Then only losses are judged.
    ///
    /// # Errors
    /// If the object must not move.
    fn convert(&self, tx: &Transaction, moving: &Moving<'_>) -> Result<Option<ObjectData>>;

    /// The content that an object keeps, with the old values of the fields that the caller gives,
    /// as readers see them before the move; `None` if it is exactly what the object keeps. Fields
    /// that no listener watches, and values that cannot be converted, are left as they are kept.
    /// Changes nothing.
    ///
    /// # Errors
    /// If the store fails.
    fn before(&self, tx: &Transaction, moving: &Moving<'_>) -> Result<Option<ObjectData>>;
}

/// An object that is about to move to another schema.
pub(crate) struct Moving<'a> {
    pub(crate) id: ObjId,
    /// Its content.
    pub(crate) old: &'a ObjectData,
    /// The part of the content that stays as it is.
    pub(crate) kept: &'a ObjectData,
    /// The values that the caller gives the object as it moves. The old values of these fields need
    /// not be carried over.
    pub(crate) given: Given<'a>,
}

/// The content that an object gets as it moves to another schema.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    /// Nothing: it moves to be read, or because that is asked for.
    Nothing,
    /// Nothing yet: it moves to be changed after that.
    Later,
    /// This encoded value in this simple field.
    Field(StorageId, &'a [u8]),
    /// Other content.
    All(&'a ObjectData, Counters),
}

impl Given<'_> {
    /// Whether the object moves with its own content.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Given::Nothing | Given::Later)
    }
}

/// Which numbers the counters of an object have when its content is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counters {
    /// Those of the new content.
    Given,
    /// Those they have.
    Kept,
}
