//! Which objects are being deleted.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::id::ObjId;

/// The objects that are being deleted in a transaction, and whether hooks are being called for
/// that.
#[derive(Default)]
pub(in crate::object) struct BeingDeleted(RefCell<HashMap<ObjId, bool>>);

impl BeingDeleted {
    pub(super) fn contains(&self, id: ObjId) -> bool {
        self.0.borrow().contains_key(&id)
    }

    /// Enters an object until the returned guard is dropped; `None` if it is already entered.
    pub(super) fn enter(&self, id: ObjId) -> Option<Deletion<'_>> {
        if self.contains(id) {
            return None;
        }
        self.0.borrow_mut().insert(id, false);
        Some(Deletion { of: self, id })
    }

    /// Sets whether hooks are being called because this object is being deleted.
    pub(in crate::object) fn set_calling_hooks(&self, id: ObjId, calling: bool) {
        // `enter` put it here, and while hooks are called, `delete_and_queue` leaves it here.
        if let Some(state) = self.0.borrow_mut().get_mut(&id) {
            *state = calling;
        }
    }

    /// Whether hooks are being called because this object is being deleted.
    pub(super) fn is_calling_hooks(&self, id: ObjId) -> bool {
        self.0.borrow().get(&id).is_some_and(|calling| *calling)
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
