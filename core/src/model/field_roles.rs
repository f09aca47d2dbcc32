//! The role of a type in a struct: a stored value, the target of a reference, a counter.
//!
//! Generated code reaches each type through one of these traits. If a type cannot be used that way,
//! each use gives the same error, and the compiler reports it only once.

use super::target::Target;
use super::values::Counter;
use crate::encoding::FieldType;

/// A type whose values are stored in a field, or in a collection: each [`FieldType`].
pub trait Stored {
    /// The type itself.
    type Itself: FieldType;
}

impl<T: FieldType> Stored for T {
    type Itself = T;
}

/// A type that a reference refers to: each [`Target`].
pub trait Referred {
    /// The type itself.
    type Itself: Target;

    /// The type that following a reference returns.
    type Live<'t>: Copy;
}

impl<T: Target> Referred for T {
    type Itself = T;
    type Live<'t> = T::Live<'t>;
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
