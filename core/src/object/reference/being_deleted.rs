//! Which objects are being deleted.

use std::cell::RefCell;
use std::collections::HashSet;

use crate::id::ObjId;

/// The objects that are being deleted in a transaction.
#[derive(Default)]
pub(in crate::object) struct BeingDeleted(RefCell<HashSet<ObjId>>);

impl BeingDeleted {
    pub(super) fn contains(&self, id: ObjId) -> bool {
        self.0.borrow().contains(&id)
    }

    /// Enters an object until the returned guard is dropped; `None` if it is already entered.
    pub(super) fn enter(&self, id: ObjId) -> Option<Deletion<'_>> {
        let is_new = self.0.borrow_mut().insert(id);
        is_new.then(|| Deletion { of: self, id })
    }

    pub(super) fn leave(&self, id: ObjId) {
        self.0.borrow_mut().remove(&id);
    }
}

/// Ends the deletion of one object when dropped, even if the object was not deleted.
pub(super) struct Deletion<'d> {
    of: &'d BeingDeleted,
    id: ObjId,
}

impl Drop for Deletion<'_> {
    fn drop(&mut self) {
        self.of.leave(self.id);
    }
}
