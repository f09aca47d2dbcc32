//! What has fields to query: a model, a mix-in, or a kind whose models share a mix-in.

use std::sync::Arc;

use super::mixin::Mixin;
use crate::model::binding::{Binding, Models};
use crate::model::error::{Error, Result};
use crate::model::target::{Model, Target};
use crate::object::{self, IndexShape};

/// What a field constant can name a field of: a model; a mix-in, which means all registered models
/// that have it; or a kind, which means all its models.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no model, mix-in or kind",
    label = "it has no fields in the database"
)]
pub trait Source: Sized + 'static {
    /// What queries return, and the type of the objects that have the field.
    type Found: Target;

    /// The fields that a constant means.
    ///
    /// # Errors
    /// If a model is not registered.
    #[doc(hidden)]
    fn places(models: &Models, slot: Slot) -> Result<Places<'_>>;
}

impl<M: Model> Source for M {
    type Found = M;

    fn places(models: &Models, slot: Slot) -> Result<Places<'_>> {
        Ok(Places(Found::One([(models.of::<M>()?, slot.position())])))
    }
}

/// A field or a composite index, by its position.
#[derive(Debug, Clone, Copy)]
pub enum Slot {
    /// A field.
    Field(usize),
    /// A composite index.
    Composite(usize),
}

impl Slot {
    fn position(self) -> usize {
        match self {
            Slot::Field(position) | Slot::Composite(position) => position,
        }
    }
}

/// The fields that a constant means, each with its model: those of one model, or of several.
#[derive(Debug)]
pub struct Places<'t>(Found<'t>);

#[derive(Debug)]
enum Found<'t> {
    One([(&'t Binding, usize); 1]),
    Several(Vec<(&'t Binding, usize)>),
}

impl<'t> Places<'t> {
    /// The fields of all registered models that have mix-in `X`.
    ///
    /// # Errors
    /// If no model has it.
    pub fn of_mixin<X: Mixin>(models: &'t Models, slot: Slot) -> Result<Self> {
        let places = models.iter().filter_map(|binding| place::<X>(binding, slot));
        Self::several::<X>(places.collect())
    }

    /// The fields of all models of kind `K`, which have mix-in `X`.
    ///
    /// # Errors
    /// If a model of the kind is not registered.
    pub fn of_kind<K: Target, X: Mixin>(models: &'t Models, slot: Slot) -> Result<Self> {
        let bindings = models.of_target::<K>()?.into_iter();
        Self::several::<X>(bindings.filter_map(|binding| place::<X>(binding, slot)).collect())
    }

    fn several<X: Mixin>(places: Vec<(&'t Binding, usize)>) -> Result<Self> {
        if places.is_empty() {
            return Err(Error::NotRegistered { type_name: X::PATH });
        }
        Ok(Places(Found::Several(places)))
    }

    /// Each model with the position of the field or index in it.
    pub(crate) fn as_slice(&self) -> &[(&'t Binding, usize)] {
        match &self.0 {
            Found::One(one) => &one[..],
            Found::Several(several) => several,
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

/// The field of a model that is at a position in a mix-in.
fn place<X: Mixin>(binding: &Binding, slot: Slot) -> Option<(&Binding, usize)> {
    let included = binding.info.included::<X>()?;
    let start = match slot {
        Slot::Field(_) => included.fields,
        Slot::Composite(_) => included.composites,
    };
    Some((binding, start + slot.position()))
}
