//! Names the types of fields for generated code, and has functions for it. The code reaches each
//! type through a trait that says what the type is needed for.
//!
//! If a type cannot be used that way, each use gives the same error, and the compiler reports it
//! only once.

use super::target::{Ref, Target};
use super::values::Counter;
use crate::encoding::FieldType;

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
