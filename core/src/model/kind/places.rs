//! Fields and composite indexes, each with the model that has it.

use std::sync::Arc;

use crate::model::binding::Binding;
use crate::model::error::{Error, Result};
use crate::object::{self, IndexShape};

/// A field or a composite index, by its position.
#[derive(Debug, Clone, Copy)]
pub enum Slot {
    /// A field.
    Field(usize),
    /// A composite index.
    Composite(usize),
}

impl Slot {
    pub(super) fn position(self) -> usize {
        match self {
            Slot::Field(position) | Slot::Composite(position) => position,
        }
    }
}

/// The fields that a constant means, each with its model: those of one model, or of several.
#[derive(Debug)]
pub struct Places<'t>(pub(super) OneOrSeveral<'t>);

#[derive(Debug)]
pub(super) enum OneOrSeveral<'t> {
    One([(&'t Binding, usize); 1]),
    Several(Vec<(&'t Binding, usize)>),
}

impl<'t> Places<'t> {
    /// Each model with the position of the field or index in it.
    pub(crate) fn as_slice(&self) -> &[(&'t Binding, usize)] {
        match &self.0 {
            OneOrSeveral::One(one) => &one[..],
            OneOrSeveral::Several(several) => several,
        }
    }

    /// The one index of the field in all models, which `shape_of` gives for each of them, and the
    /// models.
    pub(crate) fn index(
        &self,
        shape_of: impl Fn(&'t Binding, usize) -> Result<Arc<IndexShape>>,
    ) -> Result<(Arc<IndexShape>, Vec<&'t Binding>)> {
        let places = self.as_slice();
        let mut shared: Option<Arc<IndexShape>> = None;
        for (binding, position) in places {
            let shape = shape_of(binding, *position)?;
            // Fields of one name and definition share an index.
            if shared.as_ref().is_some_and(|other| other.storage_id() != shape.storage_id()) {
                let what = format!(
                    "{} and other types have different indexes {}",
                    binding.info.name,
                    shape.name()
                );
                return Err(Error::Object(object::Error::Inconsistent { what }));
            }
            shared.get_or_insert(shape);
        }
        let shape = shared.ok_or_else(|| Error::other("an index of no model"))?;
        Ok((shape, places.iter().map(|(binding, _)| *binding).collect()))
    }
}
