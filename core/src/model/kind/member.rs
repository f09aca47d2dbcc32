//! Kinds: sets of models whose objects are those of one enum.

use super::mixin::{Included, Mixin};
use crate::id::ObjId;
use crate::model::any_obj::AnyObj;
use crate::model::error::{Error, Result};
use crate::model::hook::subject::Subject;
use crate::model::hook::told::Told;
use crate::model::model_set::ModelSet;
use crate::model::obj::Obj;
use crate::model::object_type::Model;
use crate::model::target::Target;
use crate::model::tx::Tx;

/// A set of models. `#[derive(PermazenKind)]` on an enum makes a type that implements it: for an
/// enum `Pet<'t>`, the type `PetKind`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kind",
    label = "not a kind",
    note = "add `#[derive(PermazenKind)]` to the enum `Pet<'t>`: its kind is then `PetKind`"
)]
pub trait Kind: Target + Subject {
    /// A set of models with those of the kind, and with its hooks.
    #[doc(hidden)]
    fn register(to: ModelSet) -> ModelSet;
}

/// An object of a model or of a kind of models.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a member of a kind",
    label = "no handle on an object",
    note = "write `Obj<'t, Model>`, or the enum of another kind"
)]
pub trait KindMember<'t>: Copy {
    /// The model or the kind.
    type Of: Target;

    /// For each model, its mix-ins.
    const MIXINS: &'static [&'static [Included]];

    /// The object with this ID, if it is of the model or kind.
    ///
    /// # Errors
    /// If the model is not registered.
    fn of(tx: &'t Tx, id: ObjId) -> Result<Option<Self>>;

    /// The result of `make` for the object with this ID, if it is of the model or kind. Another
    /// member of the kind may have the object.
    #[doc(hidden)]
    fn found<T>(tx: &'t Tx, id: ObjId, make: fn(Self) -> T) -> Result<Option<T>> {
        match Self::of(tx, id) {
            Err(Error::NotRegistered { .. }) => Ok(None),
            found => Ok(found?.map(make)),
        }
    }

    /// The object.
    fn any(&self) -> AnyObj<'t>;

    /// The accessors of mix-in `X`.
    fn shared<'f, X: Mixin>(&'f self) -> &'f X::Shared<'t>
    where
        't: 'f;

    /// A set of models with those of the member.
    fn register(to: ModelSet) -> ModelSet;
}

impl<'t, M: Model> KindMember<'t> for Obj<'t, M> {
    type Of = M;
    const MIXINS: &'static [&'static [Included]] = &[M::MIXINS];

    fn of(tx: &'t Tx, id: ObjId) -> Result<Option<Self>> {
        Obj::of(tx, id)
    }

    fn any(&self) -> AnyObj<'t> {
        Obj::any(self)
    }

    fn shared<'f, X: Mixin>(&'f self) -> &'f X::Shared<'t>
    where
        't: 'f,
    {
        X::shared::<M::Fields<'t>>(self)
    }

    fn register(to: ModelSet) -> ModelSet {
        to.model::<M>()
    }
}

impl ModelSet {
    /// This set with the models of a kind, and with its hooks.
    pub fn kind<K: Kind>(self) -> Self {
        K::register(self)
    }
}

impl<'a> Told<'a> {
    /// The object that is about to be deleted.
    ///
    /// # Errors
    /// If the hook is called for something else, or for an object of another type.
    pub fn deleted<L: KindMember<'a>>(&self) -> Result<L> {
        let (tx, id) = self.deleting()?;
        L::of(tx, id)?.ok_or_else(|| Error::other(format!("object {id} is of another type")))
    }
}
