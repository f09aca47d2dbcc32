//! Moving many objects to another schema, one after the other.

use super::entries::LateEntries;
use crate::id::ObjId;
use crate::layout::SchemaIndex;
use crate::object::{Result, Transaction};

/// Moves objects to another schema, and writes the index entries of many of them together, in the
/// order of their keys. The entries of one object are all over the store. In order, those of many
/// objects are next to each other, which stores take faster.
///
/// Until [`Moves::finish`] has succeeded, index entries of moved objects may be missing, and there
/// may be some too many. Own conversions do not see this: they only read objects by ID, and create
/// some. Listeners can query indexes, and checks at the end of each operation do. If there are any
/// of these, entries are written with their object.
pub(crate) struct Moves<'t> {
    tx: &'t Transaction,
    late: LateEntries,
}

impl<'t> Moves<'t> {
    pub(crate) fn new(tx: &'t Transaction) -> Self {
        Moves { tx, late: LateEntries::default() }
    }

    /// Moves an object that was found in the schema `from`. Returns how many bytes of content it
    /// had; `None` if it is no longer there, or no longer in that schema.
    ///
    /// # Errors
    /// The errors of [`Transaction::migrate`]. Then the object stays, and others can be moved. If
    /// the error is one of the store, the transaction must be rolled back.
    pub(crate) fn migrate_from(&mut self, id: ObjId, from: SchemaIndex) -> Result<Option<usize>> {
        self.each(|tx, late| tx.migrate_from(id, from, late))
    }

    /// Moves an object with `one`, which gets where to add the index entries that are to be
    /// written.
    pub(in crate::object) fn each<R>(
        &mut self,
        one: impl FnOnce(&Transaction, Option<&mut LateEntries>) -> Result<R>,
    ) -> Result<R> {
        // Listeners may query indexes, so the entries must be there when they are called. Early
        // checks of unique values look for the values of the objects that have moved before.
        if !self.tx.notifier.is_idle() || self.tx.dirty_set.checks_early() {
            // Listeners may have come since the last move, so its entries are written first.
            self.write_late()?;
            return one(self.tx, None);
        }
        let before = (self.late.removed.len(), self.late.put.len());
        let moved = one(self.tx, Some(&mut self.late));
        // The object stays where it is, so the entries of its move must not be written.
        if moved.is_err() {
            self.late.removed.truncate(before.0);
            self.late.put.truncate(before.1);
        }
        moved
    }

    /// Writes the remaining index entries. Cost: one put or delete for each index entry that
    /// differs.
    ///
    /// # Errors
    /// The errors of the store. The transaction must then be rolled back.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.write_late()
    }

    fn write_late(&mut self) -> Result<()> {
        let LateEntries { removed, put } = &mut self.late;
        // Objects also move in a transaction for reading.
        let _allowed = self.tx.allow_changes();
        removed.sort();
        removed.iter().try_for_each(|key| self.tx.store.remove_entry(key))?;
        put.sort();
        put.iter().try_for_each(|key| self.tx.store.put_entry(key))?;
        removed.clear();
        put.clear();
        Ok(())
    }
}
