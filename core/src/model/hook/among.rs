//! Models of the objects for which hooks and observers are called.

use std::any::TypeId;

use crate::id::ObjId;
use crate::model::binding::{Binding, Models};
use crate::model::error::{Error, Result};
use crate::model::model_info::ModelInfo;

/// Models, and where in them the fields begin that the constants of a
/// [`Subject`](super::subject::Subject) name.
#[derive(Debug, Clone, Copy)]
pub struct Among {
    pub(super) name: &'static str,
    pub(super) models: Which,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    One(fn() -> TypeId),
    /// Those that have this mix-in.
    With(fn() -> TypeId),
    /// Those of these types, and the mix-in that all of them have.
    Kind(&'static [&'static str], Option<fn() -> TypeId>),
}

impl Among {
    /// The name of the model, mix-in or kind.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Where the fields begin in a model; `None` if the model is not one of these.
    pub(crate) fn start_in(&self, model: &ModelInfo) -> Option<usize> {
        let start_of = |mixin: fn() -> TypeId| model.mixin(mixin()).map(|mixin| mixin.fields);
        match self.models {
            Which::One(own) => (own() == model.type_id).then_some(0),
            Which::With(mixin) => start_of(mixin),
            // Other models can have the mix-in too, so the list of the kind decides.
            Which::Kind(types, mixin) if types.contains(&model.name) => {
                mixin.map_or(Some(0), start_of)
            }
            Which::Kind(..) => None,
        }
    }

    /// Each of the models, and where the fields begin in it.
    ///
    /// # Errors
    /// If a model is not registered, or none has the mix-in.
    pub(crate) fn places<'m>(&self, models: &'m Models) -> Result<Vec<(&'m Binding, usize)>> {
        // A kind is a promise that all its models are there. Of a mix-in, those that are registered
        // count.
        if let Which::Kind(types, _) = self.models {
            types.iter().try_for_each(|name| models.named(name).map(drop))?;
        }
        let place =
            |binding: &'m Binding| self.start_in(&binding.info).map(|start| (binding, start));
        let places: Vec<_> = models.iter().filter_map(place).collect();
        // Hooks of a type that no model has would never be called, which is likely a mistake.
        if places.is_empty() { Err(self.missing()) } else { Ok(places) }
    }

    /// The model of an object, and where the fields begin in it.
    ///
    /// # Errors
    /// If the model is not registered, or not one of these.
    pub(crate) fn place<'m>(&self, models: &'m Models, id: ObjId) -> Result<(&'m Binding, usize)> {
        let binding = match self.models {
            Which::One(own) => models.with_type_id(own()),
            Which::With(_) | Which::Kind(..) => models.of_type(id.storage_id()),
        };
        let binding = binding.ok_or_else(|| self.missing())?;
        let start = self.start_in(&binding.info).ok_or_else(|| self.missing())?;
        Ok((binding, start))
    }

    fn missing(&self) -> Error {
        Error::NotRegistered { type_name: self.name }
    }
}
