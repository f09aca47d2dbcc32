//! A path of a hook, and fields at its end.

use std::fmt;

use super::among::Among;
use crate::model::path::{TypeNames, Way};

/// A path from the objects that observe to those that they observe.
#[derive(Debug, Clone)]
pub struct Route {
    pub(super) way: Way,
    /// The types of the objects that are observed; `None` means all.
    pub(super) ends: TypeNames,
}

/// A field of one or several models that are found when the models are bound.
#[derive(Clone, Copy)]
pub struct WatchedAt {
    pub(super) among: Among,
    pub(super) position: usize,
}

impl fmt::Debug for WatchedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WatchedAt({})", self.position)
    }
}
