//! Fields that can be steps of a path.

use super::plurality::{Many, One, Plurality};
use super::way::{ReferenceAt, ValueRole};
use crate::model::any_obj::AnyObj;
use crate::model::fields::{Field, ListField, MapKey, MapValue, SetField};
use crate::model::kind::Source;
use crate::model::obj::Obj;
use crate::model::object_type::Model;
use crate::model::reference::Ref;
use crate::model::target::Target;

/// A field with references, as a step of a path takes it: a reference, the elements of a set or
/// list, or the keys or values of a map.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no references that a path can follow",
    label = "not a reference",
    note = "a step is the constant of a field with references, such as `Person::FRIENDS`; of a map, `Person::LABELS.key()` or `Person::LABELS.value()`"
)]
pub trait ReferenceField: Copy {
    /// The type that has the field: a model or a kind; [`Any`](crate::Any) for a field of a mix-in.
    type Owner: Target;

    /// To what the references refer.
    type To: Target;

    /// [`One`] for a reference, [`Many`] for a collection.
    type Plurality: Plurality;

    /// The field as steps need it.
    #[doc(hidden)]
    fn at(self) -> ReferenceAt;
}

/// Whether an object can belong to both types: a model meets itself and the kinds to which it
/// belongs, a kind meets itself and its members, and [`Any`](crate::Any) meets all of them.
#[diagnostic::on_unimplemented(
    message = "this step cannot be made from `{Self}`: the field is of or refers to `{Other}`",
    label = "the objects here are `{Self}`",
    note = "`.to(field)` takes a field of the type that the path has reached; `.from(field)`, `referrers(field)` and `inverse(name = field)` take a field that refers to it"
)]
pub trait Meets<Other> {}

#[diagnostic::do_not_recommend]
impl<A: Target, B: Target> Meets<B> for A where A::Live<'static>: MeetsHandle<B::Live<'static>> {}

/// A handle on an object that can also have an `L`, or an object of which some have one. It is to
/// [`Meets`] what `Becomes` is to `Within`.
#[doc(hidden)]
pub trait MeetsHandle<L> {}

impl<'t, M: Model> MeetsHandle<Obj<'t, M>> for Obj<'t, M> {}
impl<'t, M: Model> MeetsHandle<AnyObj<'t>> for Obj<'t, M> {}
impl<'t, M: Model> MeetsHandle<Obj<'t, M>> for AnyObj<'t> {}
impl<'t> MeetsHandle<AnyObj<'t>> for AnyObj<'t> {}

impl ReferenceAt {
    fn new<S: Source, F: ReferenceField>(position: usize, part: ValueRole) -> Self {
        ReferenceAt { places: S::places, position, part, owner: F::Owner::TYPES, to: F::To::TYPES }
    }
}

/// A value of a reference field.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no reference",
    label = "this field has no references",
    note = "a step is the constant of a field with references, such as `Person::FRIENDS`; of a map, `Person::LABELS.key()` or `Person::LABELS.value()`"
)]
pub trait ReferenceValue {
    /// To what it refers.
    type To: Target;
}

impl<T: Target> ReferenceValue for Ref<T> {
    type To = T;
}

impl<T: Target> ReferenceValue for Option<Ref<T>> {
    type To = T;
}

macro_rules! reference_field {
    ([$($parameter:ident $(: $bound:ident)?),*] $field:ty, $value:ident, $plurality:ident, $part:ident) => {
        impl<S: Source, $($parameter $(: $bound)?),*> ReferenceField for $field {
            type Owner = S::Found;
            type To = $value::To;
            type Plurality = $plurality;

            fn at(self) -> ReferenceAt {
                ReferenceAt::new::<S, Self>(self.position, ValueRole::$part)
            }
        }
    };
}

reference_field!([V: ReferenceValue, I] Field<S, V, I>, V, One, Simple);
reference_field!([E: ReferenceValue, I] SetField<S, E, I>, E, Many, Element);
reference_field!([E: ReferenceValue, I] ListField<S, E, I>, E, Many, Element);
reference_field!([K: ReferenceValue, I] MapKey<S, K, I>, K, Many, Key);
reference_field!([K, V: ReferenceValue, I] MapValue<S, K, V, I>, V, Many, Value);
