//! Paths without the types of their ends: the declared types and the steps.

use std::sync::Arc;

use crate::model::binding::Models;
use crate::model::error::Result;
use crate::model::kind::{Places, Slot};

/// Names of object types; `None` means all types.
pub(crate) type TypeNames = Option<&'static [&'static str]>;

/// Which values of a field are the references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueRole {
    Simple,
    Element,
    Key,
    Value,
}

/// A field with references, of models that are found when the field is used.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceAt {
    pub(super) places: for<'m> fn(&'m Models, Slot) -> Result<Places<'m>>,
    pub(super) position: usize,
    pub(super) part: ValueRole,
    pub(super) owner: TypeNames,
    pub(super) to: TypeNames,
}

/// A step of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) field: ReferenceAt,
    /// Whether it leads from the target of a reference to the referring object.
    pub(super) back: bool,
}

/// Types and steps.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// Which types are declared before the first step, after it, and so on.
    pub(super) types: Arc<[TypeNames]>,
    pub(super) steps: Arc<[Step]>,
}

impl Step {
    /// The types that are declared at the end of the step.
    fn after(&self) -> TypeNames {
        if self.back { self.field.owner } else { self.field.to }
    }
}

impl Way {
    /// The path without steps, from an object of these types to itself.
    pub(super) fn of(types: TypeNames) -> Self {
        Way { types: [types].into(), steps: [].into() }
    }

    /// This path, and then a step.
    pub(super) fn then(&self, field: ReferenceAt, back: bool) -> Self {
        let step = Step { field, back };
        let types = self.types.iter().copied().chain([step.after()]);
        let steps = self.steps.iter().copied().chain([step]);
        Way { types: types.collect(), steps: steps.collect() }
    }

    /// The same way back.
    pub(super) fn inverted(&self) -> Self {
        let turned = |step: &Step| Step { field: step.field, back: !step.back };
        Way {
            types: self.types.iter().rev().copied().collect(),
            steps: self.steps.iter().rev().map(turned).collect(),
        }
    }
}
