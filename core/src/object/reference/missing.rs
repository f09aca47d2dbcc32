//! References to missing objects that a copy accepts (docs/src/transactions.md#copies).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::ObjId;
use crate::schema::ResolvedField;

/// Missing objects to which copied references refer. Each has the full name of a field that refers
/// to it, the last one found.
pub type MissingTargets = BTreeMap<ObjId, Arc<str>>;

/// The missing objects noted by a copy in progress, if the copy accepts such references.
#[derive(Default)]
pub(in crate::object) struct NotedMissing(RefCell<Option<MissingTargets>>);

impl NotedMissing {
    /// Notes a reference to a missing object. Returns `false` if such references are refused.
    pub(super) fn note(&self, target: ObjId, field: &ResolvedField) -> bool {
        let mut noted = self.0.borrow_mut();
        let Some(missing) = &mut *noted else { return false };
        missing.insert(target, Arc::clone(&field.full_name));
        true
    }

    /// Continues with `missing`, which is empty to start noting, or `None` to refuse such
    /// references. Returns the old state.
    pub(in crate::object) fn replace(
        &self,
        missing: Option<MissingTargets>,
    ) -> Option<MissingTargets> {
        self.0.replace(missing)
    }

    /// Forgets the noted objects, but keeps noting if it did before.
    pub(in crate::object) fn clear(&self) {
        if let Some(missing) = &mut *self.0.borrow_mut() {
            missing.clear();
        }
    }
}
