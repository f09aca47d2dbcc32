//! Fields whose changes are reported to hooks, and the types in which hooks get the changes.

use super::subject::Subject;
use super::told::Told;
use crate::model::error::Result;
use crate::model::fields::CounterField;
use crate::model::tx::Tx;
use crate::object::FieldChange;

/// A field whose changes are reported to hooks: a constant of a simple field, set, list or map.
#[diagnostic::on_unimplemented(
    message = "changes of a `{Self}` are not told",
    label = "no simple field, set, list or map",
    note = "counters never tell of their changes"
)]
pub trait Watched: Copy + Send + Sync + 'static {
    /// The model, mix-in or kind that has the field.
    type Model: Subject;

    /// The change of such a field.
    type Change<'a>;

    /// The position of the field among the fields of the struct.
    #[doc(hidden)]
    fn position(self) -> usize;

    #[doc(hidden)]
    fn told<'a>(tx: &'a Tx, change: &'a FieldChange) -> Self::Change<'a>;
}

/// A field whose changes lead to checks: a constant of any field.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no field",
    label = "expected the name of a field of the struct"
)]
pub trait Checked: Copy {
    /// The position of the field among the fields of the struct.
    fn position(self) -> usize;
}

impl<W: Watched> Checked for W {
    fn position(self) -> usize {
        Watched::position(self)
    }
}

impl<M: Subject> Checked for CounterField<M> {
    fn position(self) -> usize {
        self.position
    }
}

/// A type in which a hook gets a change.
#[diagnostic::on_unimplemented(
    message = "a change is not told as `{Self}`",
    label = "expected `&Change<'_, M>`, or the type of a change of this field"
)]
pub trait FromChange<'a>: Sized {
    /// The change for which a hook is called.
    #[doc(hidden)]
    fn told(told: &Told<'a>) -> Result<Self> {
        told.change()
    }

    /// The change of a field in a transaction.
    fn from_change(tx: &'a Tx, change: &'a FieldChange) -> Self;
}

impl<'a> Told<'a> {
    /// The change of a field.
    ///
    /// # Errors
    /// If the hook is called for something else.
    pub fn change<C: FromChange<'a>>(&self) -> Result<C> {
        Ok(C::from_change(self.tx, self.field_change()?))
    }
}
