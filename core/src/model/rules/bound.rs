//! The rules of one model, bound to its fields and indexes.

use super::unique::Unique;
use crate::model::hook::Checker;
use crate::object::NullIn;

/// The rules of one model.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(super) unique: Vec<Unique>,
    /// The positions of simple fields that can be null in the database, but not in the struct.
    pub(super) required: Vec<usize>,
    /// The collections whose elements, keys or values can be null in the database, but not in the
    /// struct.
    pub(super) required_in: Vec<(usize, NullIn)>,
    /// The hooks that validate, in the order of their block.
    pub(super) checkers: Vec<Checker>,
}

impl Rules {
    /// Whether a value can be null in the database, but not in the struct.
    pub(super) fn require_values(&self) -> bool {
        !self.required.is_empty() || !self.required_in.is_empty()
    }
}
