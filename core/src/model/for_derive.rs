//! Names the types of fields for generated code, and has functions for it. The code reaches each
//! type through a trait that says what the type is needed for.
//!
//! If a type cannot be used that way, each use gives the same error, and the compiler reports it
//! only once.

use super::error::{Error, Result};
use super::handle::Handle;
use super::kind::{Included, Mixin};
use super::obj::Obj;
use super::target::{Model, Ref, Target};
use super::tx::Tx;
use super::values::Counter;
use crate::encoding::{EncodingError, FieldType};
use crate::id::ObjId;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// The type of a value that is stored.
pub trait Stored {
    /// The type itself.
    type Itself: FieldType;
}

impl<T: FieldType> Stored for T {
    type Itself = T;
}

/// The type that a reference refers to.
pub trait Referred {
    /// The type itself.
    type Itself: Target;

    /// What following a reference returns.
    type Live<'t>: Copy;
}

impl<T: Target> Referred for T {
    type Itself = T;
    type Live<'t> = T::Live<'t>;
}

/// The type of a field with `#[permazen(with = D)]`. It is stored as a `D` and converted both ways.
pub trait Converted<D> {
    /// The type itself.
    type Itself: Clone + TryFrom<D, Error: Into<BoxedError>>;
}

impl<D, V> Converted<D> for V
where
    D: TryFrom<V, Error: Into<BoxedError>>,
    V: Clone + TryFrom<D, Error: Into<BoxedError>>,
{
    type Itself = V;
}

/// The type of a field that is a counter because its type is called `Counter`.
#[diagnostic::on_unimplemented(
    message = "a field of a type called `Counter` is a counter, and `{Self}` is not `permazen::Counter`",
    label = "another `Counter`",
    note = "add `#[permazen(simple)]` to the field: it then has one value of this type"
)]
pub trait IsCounter {
    /// The value of the field for this counter.
    fn of(counter: Counter) -> Self;

    /// The counter for the value of this field.
    fn counter(&self) -> Counter;
}

impl IsCounter for Counter {
    fn of(counter: Counter) -> Self {
        counter
    }

    fn counter(&self) -> Counter {
        *self
    }
}

/// The object of model `M` with this ID.
///
/// # Errors
/// If the model is not registered, or the ID is of another type.
pub fn object<M: Model>(tx: &Tx, id: ObjId) -> Result<Obj<'_, M>> {
    Obj::of(tx, id)?.ok_or(Error::WrongType { id, expected: M::TYPE_NAME })
}

/// The error for an object that is of no type of a kind.
pub fn of_no_member(id: ObjId, kind: &'static str) -> Error {
    Error::WrongType { id, expected: kind }
}

/// Where the fields of mix-in `X` begin in the model of an object.
pub fn start_of<X: Mixin>(object: &Handle<'_>) -> usize {
    // Each model of a kind has the mix-in: constant code has checked it.
    object.binding.info.included::<X>().map_or(usize::MAX / 2, Included::start)
}

/// Appends the encoded form of a reference.
///
/// # Errors
/// Never.
pub fn encode_id(id: ObjId, out: &mut Vec<u8>) -> Result<(), EncodingError> {
    out.extend_from_slice(id.as_bytes());
    Ok(())
}

/// The value that an expression of the program makes.
pub fn made<T>(make: fn() -> T) -> T {
    make()
}

/// A reference that can become null, for `inverse_delete = "nullify"` where an alias hides the type.
#[diagnostic::on_unimplemented(
    message = "`inverse_delete = \"nullify\"` on a reference that is never null",
    label = "`{Self}` has no null",
    note = "use `Option<Ref<…>>`, or another action"
)]
pub trait Nullable {}

impl<T: Target> Nullable for Option<Ref<T>> {}

/// Compiles for a reference that can become null.
pub const fn can_be_null<T: Nullable>() {}
