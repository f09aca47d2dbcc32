//! What a hook is told when it is called.

use super::change::FromChange;
use super::subject::Subject;
use crate::id::ObjId;
use crate::model::error::{Error, Result};
use crate::model::kind::KindMember;
use crate::model::tx::Tx;
use crate::object::{Event, FieldChange};

/// What the call of a hook gives.
pub type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// What a hook is told when it is called, for generated code.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    pub(super) tx: &'a Tx,
    /// `None` if the object is checked.
    pub(super) event: Option<&'a Event<'a>>,
    /// The object for which the hook is called.
    pub(super) observer: ObjId,
}

impl<'a> Told<'a> {
    /// The object for which the hook is called.
    ///
    /// # Errors
    /// If the model is not registered.
    pub fn this<M: Subject>(&self) -> Result<M::This<'a>> {
        M::this(self.tx, self.observer)
    }

    /// The change of a field.
    ///
    /// # Errors
    /// If the hook is called for something else.
    pub fn change<C: FromChange<'a>>(&self) -> Result<C> {
        Ok(C::from_change(self.tx, self.field_change()?))
    }

    /// The object that is about to be deleted.
    ///
    /// # Errors
    /// If the hook is called for something else, or for an object of another type.
    pub fn deleted<L: KindMember<'a>>(&self) -> Result<L> {
        match self.event {
            Some(Event::Deleting { id, .. }) => L::of(self.tx, *id)?
                .ok_or_else(|| Error::other(format!("object {id} is of another type"))),
            _ => Err(Error::other("a hook to deletions was called for something else")),
        }
    }

    pub(super) fn field_change(&self) -> Result<&'a FieldChange> {
        match self.event {
            Some(Event::Changed { change, .. }) => Ok(change),
            _ => Err(Error::other("a hook to changes was called for something else")),
        }
    }
}

/// What a hook returns.
#[diagnostic::on_unimplemented(
    message = "a hook returns `Result<(), E>`, not `{Self}`",
    label = "expected `permazen::Result<()>`, or a `Result<(), E>` with an error type of the program"
)]
pub trait Returned {
    /// Success, or the error in a box.
    ///
    /// # Errors
    /// The error that the hook has returned.
    fn outcome(self) -> Outcome;
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> Returned for Result<(), E> {
    fn outcome(self) -> Outcome {
        self.map_err(Into::into)
    }
}
