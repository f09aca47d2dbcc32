//! References to missing objects that a copy lets pass (transactions §13.3).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::ObjId;
use crate::schema::ResolvedField;

/// Missing objects that copied references refer to, each with the full name of the field that refers to
/// it (the last one met).
pub type MissingTargets = BTreeMap<ObjId, Arc<str>>;

/// What a copy that lets references to missing objects pass has noted of them, while it is under way.
#[derive(Default)]
pub(in crate::object) struct NotedMissing(RefCell<Option<MissingTargets>>);

impl NotedMissing {
    /// Notes a reference to a missing object; false if none may pass.
    pub(super) fn note(&self, target: ObjId, field: &ResolvedField) -> bool {
        let mut noted = self.0.borrow_mut();
        let Some(missing) = &mut *noted else { return false };
        missing.insert(target, Arc::clone(&field.full_name));
        true
    }

    /// Continues with these: nothing noted yet, or `None` to let none pass. Returns those before.
    pub(in crate::object) fn replace(
        &self,
        missing: Option<MissingTargets>,
    ) -> Option<MissingTargets> {
        self.0.replace(missing)
    }

    /// Forgets what was noted, and goes on noting if it did.
    pub(in crate::object) fn clear(&self) {
        if let Some(missing) = &mut *self.0.borrow_mut() {
            missing.clear();
        }
    }
}
