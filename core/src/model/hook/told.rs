//! The data that a hook gets when it is called.

use crate::id::ObjId;
use crate::model::error::{Error, Result};
use crate::model::tx::Tx;
use crate::object::{Event, FieldChange};

/// The result of the call of a hook.
pub type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The data that a hook gets when it is called, for generated code.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    pub(super) tx: &'a Tx,
    /// `None` if the object is checked.
    pub(super) event: Option<&'a Event<'a>>,
    /// The object for which the hook is called.
    pub(super) observer: ObjId,
}

impl<'a> Told<'a> {
    /// The transaction, and the object that is about to be deleted.
    pub(crate) fn deleting(&self) -> Result<(&'a Tx, ObjId)> {
        match self.event {
            Some(Event::Deleting { id, .. }) => Ok((self.tx, *id)),
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

/// The result of a hook, for generated code. Together with [`AsReturned`], it lets errors that hide
/// what they are be told apart from others.
#[derive(Debug)]
pub struct Given<R>(pub R);

/// The result of a hook, unchanged.
pub trait AsReturned {
    /// The type of the result.
    type Returned;

    /// The result.
    fn __permazen_returned(self) -> Self::Returned;
}

impl<R> AsReturned for Given<R> {
    type Returned = R;

    fn __permazen_returned(self) -> R {
        self.0
    }
}

#[cfg(feature = "anyhow")]
impl Given<Result<(), anyhow::Error>> {
    /// The result of the hook. The box that `anyhow` makes by itself shows the sources of its
    /// error, but not the error.
    ///
    /// # Errors
    /// The error that the hook has returned.
    pub fn __permazen_returned(self) -> Outcome {
        self.0.map_err(anyhow::Error::reallocate_into_boxed_dyn_error_without_backtrace)
    }
}

/// The result of a hook.
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
