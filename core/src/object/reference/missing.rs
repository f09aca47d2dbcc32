//! References to missing objects that a copy lets pass (transactions §13.3).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::ObjId;
use crate::object::Transaction;
use crate::schema::ResolvedField;

/// Missing objects that copied references refer to, each with the full name of the field that refers to
/// it (the last one met).
pub type MissingTargets = BTreeMap<ObjId, Arc<str>>;

impl Transaction<'_> {
    /// Notes a reference to a missing object if a copy that lets them pass is under way.
    pub(in crate::object) fn note_missing(&self, target: ObjId, field: &ResolvedField) -> bool {
        match &mut *self.missing.borrow_mut() {
            Some(missing) => {
                missing.insert(target, Arc::clone(&field.full_name));
                true
            }
            None => false,
        }
    }
}
