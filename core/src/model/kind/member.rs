//! Kinds: sets of models whose objects are those of one enum.

use super::mixin::{Included, Mixin};
use crate::id::ObjId;
use crate::model::any_obj::AnyObj;
use crate::model::error::{Error, Result};
use crate::model::hook::subject::Subject;
use crate::model::model_set::ModelSet;
use crate::model::obj::Obj;
use crate::model::target::{Model, Target};
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

    /// What `make` makes of the object with this ID, if it is of the model or kind. Another member of
    /// the kind may have the object.
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

/// A model or kind whose objects are all of `K`: `K` itself, a kind that has it, or [`Any`](crate::Any).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no member of `{K}`",
    label = "an object of another type",
    note = "add it to the enum of the kind, if it belongs there; a member of a kind within the kind is given as one: \
            `Outer::from(Inner::from(object))`"
)]
pub trait Within<K> {}

#[diagnostic::do_not_recommend]
impl<T: Target, K: Target> Within<K> for T where T::Live<'static>: Becomes<K::Live<'static>> {}

/// A handle on an object that can also have an `L`. The derive of a kind knows the enums of other
/// kinds among its members, and not how these kinds are called; so what belongs to a kind is said of
/// handles.
#[doc(hidden)]
pub trait Becomes<L> {}

impl<'t, M: Model> Becomes<Obj<'t, M>> for Obj<'t, M> {}
impl<'t, M: Model> Becomes<AnyObj<'t>> for Obj<'t, M> {}
impl<'t> Becomes<AnyObj<'t>> for AnyObj<'t> {}

/// Whether two texts are equal.
pub(super) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The items of these lists. `none` is any item.
pub const fn joined<T: Copy, const N: usize>(lists: &[&[T]], none: T) -> [T; N] {
    let mut all = [none; N];
    let (mut list, mut count) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            all[count] = lists[list][at];
            count += 1;
            at += 1;
        }
        list += 1;
    }
    all
}

/// Whether no name occurs twice.
pub const fn distinct(names: &[&str]) -> bool {
    let mut at = 0;
    while at < names.len() {
        let mut other = 0;
        while other < at {
            if same(names[at], names[other]) {
                return false;
            }
            other += 1;
        }
        at += 1;
    }
    true
}
