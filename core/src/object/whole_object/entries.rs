//! The index entries of objects that are replaced as a whole or move to another schema.

use super::data::{KeyList, differences};
use crate::object::{Result, Transaction};

/// Index entries that are still to be written. Each has the ID of an object that has moved, so none
/// is to be removed and put.
#[derive(Debug, Default)]
pub(in crate::object) struct LateEntries {
    pub(super) removed: KeyList,
    pub(super) put: KeyList,
}

impl Transaction {
    /// Writes the index entries that differ between those of an object before and after a change,
    /// or adds them to `late`.
    pub(in crate::object) fn write_entries(
        &self,
        old: &KeyList,
        new: &KeyList,
        mut late: Option<&mut LateEntries>,
    ) -> Result<()> {
        differences(old.iter(), new.iter(), Ord::cmp, |before, after| {
            // An entry that is in both is not written, so that it causes no conflict.
            match (before, after, &mut late) {
                (Some(key), None, None) => self.store.remove_entry(key)?,
                (None, Some(key), None) => self.store.put_entry(key)?,
                (Some(key), None, Some(late)) => late.removed.push(key),
                (None, Some(key), Some(late)) => late.put.push(key),
                _ => {}
            }
            Ok(())
        })
    }
}
