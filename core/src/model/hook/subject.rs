//! Whose objects hooks and observers are told of: those of a model, of all models that have a mix-in,
//! or of a kind.

use std::any::TypeId;

use crate::id::ObjId;
use crate::model::binding::{Binding, Models};
use crate::model::error::{Error, Result};
use crate::model::kind::{Mixin, With};
use crate::model::obj::Obj;
use crate::model::target::{Model, ModelInfo, Ref, Target};
use crate::model::tx::Tx;

/// What can have hooks and be observed: a model; a mix-in, which means all registered models that
/// have it; or a kind, which means all its models.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no model, mix-in or kind",
    label = "it has no objects in the database",
    note = "add `#[derive(PermazenObject)]` or `#[derive(PermazenFields)]` to a struct, or `#[derive(PermazenKind)]` to \
            an enum `Pet<'t>`, whose kind is then `PetKind`"
)]
pub trait Subject: Sized + 'static {
    /// What a hook or observer gets of an object: `Obj<'t, Person>` of a model, [`With<'t, Named>`](With)
    /// of a mix-in, `Pet<'t>` of a kind.
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

/// Models, and where in them the fields begin that the constants of a [`Subject`] name.
#[derive(Debug, Clone, Copy)]
pub struct Among {
    name: &'static str,
    models: Which,
}

#[derive(Debug, Clone, Copy)]
enum Which {
    One(fn() -> TypeId),
    /// Those that have this mix-in.
    With(fn() -> TypeId),
    /// Those of these types, and the mix-in that all of them have.
    Kind(&'static [&'static str], Option<fn() -> TypeId>),
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

    /// The name of the model, mix-in or kind.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Where the fields begin in a model; `None` if the model is not one of these.
    pub(crate) fn start_in(&self, model: &ModelInfo) -> Option<usize> {
        let start_of = |mixin: fn() -> TypeId| {
            let included = model.mixins.iter().find(|included| included.type_id() == mixin());
            included.map(|included| included.start())
        };
        match self.models {
            Which::One(own) => (own() == model.type_id).then_some(0),
            Which::With(mixin) => start_of(mixin),
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
        if let Which::Kind(types, _) = self.models {
            types.iter().try_for_each(|name| models.named(name).map(drop))?;
        }
        let place =
            |binding: &'m Binding| self.start_in(&binding.info).map(|start| (binding, start));
        let places: Vec<_> = models.iter().filter_map(place).collect();
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

const fn types<K: Target>() -> &'static [&'static str] {
    match K::TYPES {
        Some(types) => types,
        None => &[],
    }
}

/// The object with this ID, of any model that has mix-in `X`, for generated code.
///
/// # Errors
/// If the ID is of another type.
pub fn object_with<X: Mixin>(tx: &Tx, id: ObjId) -> Result<With<'_, X>> {
    With::of(tx, id)
}

/// The object of a kind with this ID, for generated code.
///
/// # Errors
/// If the ID is of another type.
pub fn object_of<K: Target>(tx: &Tx, id: ObjId) -> Result<K::Live<'_>> {
    tx.get(Ref::<K>::new(id))
}
