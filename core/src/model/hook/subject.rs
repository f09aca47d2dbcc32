//! The objects for which hooks and observers are called: those of a model, of all models that have
//! a mix-in, or of a kind.

use std::any::TypeId;

use super::among::{Among, Which};
use super::told::Told;
use crate::id::ObjId;
use crate::model::error::Result;
use crate::model::kind::Mixin;
use crate::model::obj::Obj;
use crate::model::object_type::Model;
use crate::model::reference::Ref;
use crate::model::target::Target;
use crate::model::tx::Tx;

/// A type that can have hooks and be observed: a model; a mix-in, which means all registered models
/// that have it; or a kind, which means all its models.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no model, mix-in or kind",
    label = "it has no objects in the database",
    note = "add `#[derive(PermazenObject)]` or `#[derive(PermazenFields)]` to a struct, or `#[derive(PermazenKind)]` to \
            an enum `Pet<'t>`, whose kind is then `PetKind`"
)]
pub trait Subject: Sized + 'static {
    /// The handle that a hook or observer gets for an object: `Obj<'t, Person>` of a model,
    /// [`With<'t, Named>`](crate::model::With) of a mix-in, `Pet<'t>` of a kind.
    type This<'t>: Copy;

    /// The models.
    #[doc(hidden)]
    const AMONG: Among;

    /// The object with this ID.
    ///
    /// # Errors
    /// If the ID is of another type.
    #[doc(hidden)]
    fn this(tx: &Tx, id: ObjId) -> Result<Self::This<'_>>;
}

impl<M: Model> Subject for M {
    type This<'t> = Obj<'t, M>;
    const AMONG: Among = Among { name: M::TYPE_NAME, models: Which::One(TypeId::of::<M>) };

    fn this(tx: &Tx, id: ObjId) -> Result<Obj<'_, M>> {
        tx.get(Ref::<M>::new(id))
    }
}

impl Among {
    /// The models that have mix-in `X`, which has this name.
    pub const fn mixin<X: Mixin>(name: &'static str) -> Self {
        Among { name, models: Which::With(TypeId::of::<X>) }
    }

    /// The models of kind `K`, which has this name.
    pub const fn kind<K: Target>(name: &'static str) -> Self {
        Among { name, models: Which::Kind(types::<K>(), None) }
    }

    /// The models of kind `K`, which has this name, and whose models have mix-in `X`.
    pub const fn kind_with<K: Target, X: Mixin>(name: &'static str) -> Self {
        Among { name, models: Which::Kind(types::<K>(), Some(TypeId::of::<X>)) }
    }
}

const fn types<K: Target>() -> &'static [&'static str] {
    match K::TYPES {
        Some(types) => types,
        None => &[],
    }
}

/// The object of a kind with this ID, for generated code.
///
/// # Errors
/// If the ID is of another type.
pub fn object_of<K: Target>(tx: &Tx, id: ObjId) -> Result<K::Live<'_>> {
    tx.get(Ref::<K>::new(id))
}

impl<'a> Told<'a> {
    /// The object for which the hook is called.
    ///
    /// # Errors
    /// If the model is not registered.
    pub fn this<M: Subject>(&self) -> Result<M::This<'a>> {
        M::this(self.tx, self.observer)
    }
}
