//! Own validation of plain data: what a model declares, and how its functions are called.

use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fmt::Display;

use permazen_kv::KvError;

use super::commit_error::CommitError;
use crate::model::error::Error;
use crate::object;

/// Which functions of its own a model has to check plain data.
#[derive(Debug, Clone, Copy)]
pub struct Validates {
    pub(crate) object: bool,
    pub(crate) fields: &'static [usize],
}

impl Validates {
    /// Whether there is one.
    pub(crate) const fn any(&self) -> bool {
        self.object || !self.fields.is_empty()
    }

    /// No function.
    pub const NOTHING: Validates = Validates { object: false, fields: &[] };

    /// One for the whole struct if `object` is set, and one for each field at these positions.
    pub const fn new(object: bool, fields: &'static [usize]) -> Self {
        Validates { object, fields }
    }
}

/// An error of a function that checks plain data.
#[derive(Debug)]
pub(super) enum Finding {
    /// The problem, in words.
    Wrong(String),
    /// An error that may be one of this crate, or have one as its source.
    Error(Box<dyn StdError + Send + Sync>),
}

/// The error of a function that checks plain data.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no error of a function that checks plain data",
    label = "implement `Display` for it"
)]
pub trait Says {
    /// Notes what the error says.
    fn says(self, to: &mut Validating, position: Option<usize>);
}

impl<E: Display> Says for E {
    fn says(self, to: &mut Validating, position: Option<usize>) {
        to.findings.push((position, Finding::Wrong(self.to_string())));
    }
}

/// An error that is more than a text.
#[derive(Debug)]
pub struct Kept(Box<dyn StdError + Send + Sync>);

impl Says for Kept {
    fn says(self, to: &mut Validating, position: Option<usize>) {
        to.findings.push((position, Finding::Error(self.0)));
    }
}

/// The result of a function that checks plain data, for generated code. Together with [`AsSaid`],
/// it keeps errors of those types that can be or hold one of this crate.
#[derive(Debug)]
pub struct Said<R>(pub R);

/// The result of a function, unchanged.
pub trait AsSaid {
    /// The type of the result.
    type Said;

    /// The result.
    fn __permazen_said(self) -> Self::Said;
}

impl<R> AsSaid for Said<R> {
    type Said = R;

    fn __permazen_said(self) -> R {
        self.0
    }
}

macro_rules! kept {
    ($($error:ty: $kept:expr),* $(,)?) => {
        $(impl Said<Result<(), $error>> {
            /// The result of the function.
            ///
            /// # Errors
            /// The error that the function has returned.
            pub fn __permazen_said(self) -> Result<(), Kept> {
                self.0.map_err(|error| Kept($kept(error)))
            }
        })*
    };
}

kept! {
    Error: Into::into,
    CommitError: Into::into,
    object::Error: Into::into,
    KvError: Into::into,
    Box<dyn StdError + Send + Sync>: Into::into,
    Box<dyn StdError>: sendable,
}

// Other boxes that `anyhow` makes hide the error.
#[cfg(feature = "anyhow")]
kept!(anyhow::Error: anyhow::Error::reallocate_into_boxed_dyn_error_without_backtrace);

/// A box that can leave its thread. Of an error that is none of this crate, it has the text.
fn sendable(error: Box<dyn StdError>) -> Box<dyn StdError + Send + Sync> {
    // These types can be sent, so they keep more than their text.
    let error = match error.downcast::<Error>() {
        Ok(error) => return error,
        Err(error) => error,
    };
    let error = match error.downcast::<object::Error>() {
        Ok(error) => return error,
        Err(error) => error,
    };
    match error.downcast::<KvError>() {
        Ok(error) => error,
        Err(error) => error.to_string().into(),
    }
}

/// Calls a model's own functions, and keeps the problems that they find.
#[derive(Debug)]
pub struct Validating {
    /// The positions of the fields that have changed; `None` stands for all.
    changed: Option<BTreeSet<usize>>,
    /// The position of the field, if a function checks one, and what it says.
    pub(super) findings: Vec<(Option<usize>, Finding)>,
}

impl Validating {
    pub(super) fn new(changed: Option<BTreeSet<usize>>) -> Self {
        Validating { changed, findings: Vec::new() }
    }

    /// Checks the whole struct.
    pub fn object<E: Says>(&mut self, check: impl FnOnce() -> Result<(), E>) {
        self.note(None, check());
    }

    /// Checks the field at a position, if it has changed.
    pub fn field<E: Says>(&mut self, position: usize, check: impl FnOnce() -> Result<(), E>) {
        // A field that has not changed was checked when it got its value.
        if self.changed.as_ref().is_none_or(|changed| changed.contains(&position)) {
            self.note(Some(position), check());
        }
    }

    fn note<E: Says>(&mut self, position: Option<usize>, checked: Result<(), E>) {
        if let Err(error) = checked {
            error.says(self, position);
        }
    }
}
