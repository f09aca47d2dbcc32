//! Which entry of a map stays if several of its keys become null in one deletion.

use std::collections::HashSet;

use super::check::target_of;
use crate::id::{ObjId, StorageId};
use crate::schema::{DeleteAction, ResolvedField};

/// The keys of maps that have become null in a deletion.
#[derive(Default)]
pub(super) struct NullKeys {
    /// The maps, by their objects and fields, in which an entry has come to the key null.
    pub(super) maps: HashSet<(ObjId, StorageId)>,
    /// The objects and fields that are noted because they may forbid the deletion, while maps with
    /// several such entries are changed.
    pub(super) forbidding: HashSet<(ObjId, StorageId)>,
}

impl NullKeys {
    /// Whether the first of two values of a map stays if the keys of both become null: one that
    /// forbids the deletion, so that no order hides it, or else the lower one.
    pub(super) fn stays(&self, values: &ResolvedField, one: &[u8], other: &[u8]) -> bool {
        let place = |value| (!self.forbids(values, value), value);
        place(one) <= place(other)
    }

    fn forbids(&self, values: &ResolvedField, value: &[u8]) -> bool {
        let action = values.reference().map(|reference| reference.inverse_delete);
        let target = target_of(value).ok().flatten();
        let is_noted = |target| self.forbidding.contains(&(target, values.storage_id));
        action == Some(DeleteAction::Exception) && target.is_some_and(is_noted)
    }
}
