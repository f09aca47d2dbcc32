//! Own validation of plain data: what a model declares, and how its functions are called.

use std::collections::BTreeSet;
use std::fmt::Display;

/// Which functions of its own a model has to check plain data.
#[derive(Debug, Clone, Copy)]
pub struct Validates {
    pub(crate) object: bool,
    pub(crate) fields: &'static [usize],
}

impl Validates {
    /// Whether there is one.
    pub(crate) const fn any(&self) -> bool {
        self.object || !self.fields.is_empty()
    }

    /// No function.
    pub const NOTHING: Validates = Validates { object: false, fields: &[] };

    /// One for the whole struct if `object` is set, and one for each field at these positions.
    pub const fn new(object: bool, fields: &'static [usize]) -> Self {
        Validates { object, fields }
    }
}

/// Calls a model's own functions, and keeps the problems that they find.
#[derive(Debug)]
pub struct Validating {
    /// The positions of the fields that have changed; `None` stands for all.
    changed: Option<BTreeSet<usize>>,
    /// The position of the field, if a function checks one, and what it says.
    pub(super) findings: Vec<(Option<usize>, String)>,
}

impl Validating {
    pub(super) fn new(changed: Option<BTreeSet<usize>>) -> Self {
        Validating { changed, findings: Vec::new() }
    }

    /// Checks the whole struct.
    pub fn object<E: Display>(&mut self, check: impl FnOnce() -> Result<(), E>) {
        self.note(None, check());
    }

    /// Checks the field at a position, if it has changed.
    pub fn field<E: Display>(&mut self, position: usize, check: impl FnOnce() -> Result<(), E>) {
        if self.changed.as_ref().is_none_or(|changed| changed.contains(&position)) {
            self.note(Some(position), check());
        }
    }

    fn note<E: Display>(&mut self, position: Option<usize>, checked: Result<(), E>) {
        if let Err(error) = checked {
            self.findings.push((position, error.to_string()));
        }
    }
}
