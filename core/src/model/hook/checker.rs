//! A hook that checks objects, as the rules of a model keep it.

use std::collections::BTreeSet;
use std::fmt;

use crate::object::Hook;

/// A hook of a model that checks objects.
pub(in crate::model) struct Checker {
    pub(super) hook: Hook,
    /// The positions of the fields after whose changes it is called; `None` stands for all.
    pub(in crate::model) fields: Option<BTreeSet<usize>>,
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker").field("fields", &self.fields).finish_non_exhaustive()
    }
}
