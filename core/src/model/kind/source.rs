//! Sources of queries: a model, a mix-in, or a kind whose models share a mix-in.

use super::mixin::Mixin;
use super::places::{OneOrSeveral, Places, Slot};
use crate::model::binding::{Binding, Models};
use crate::model::error::{Error, Result};
use crate::model::object_type::Model;
use crate::model::target::Target;

/// A type whose fields constants can name: a model; a mix-in, which means all registered models
/// that have it; or a kind, which means all its models.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no model, mix-in or kind",
    label = "it has no fields in the database"
)]
pub trait Source: Sized + 'static {
    /// The type that queries return, and the type of the objects that have the field.
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
        Ok(Places(OneOrSeveral::One([(models.of::<M>()?, slot.position())])))
    }
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
        Ok(Places(OneOrSeveral::Several(places)))
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
