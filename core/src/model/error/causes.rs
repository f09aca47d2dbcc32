//! The causes of an error.
//!
//! The texts of errors have those of their causes, so `source` does not return these. Here they
//! are.

use std::error::Error as StdError;

use permazen_kv::KvError;

use super::Error;
use crate::model::rules::CommitError;
use crate::object;
use crate::schema::SchemaError;

/// An error and its causes, from the outermost to the first.
pub(in crate::model) fn causes<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| cause(*error))
}

fn cause<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e (dyn StdError + 'static)> {
    if let Some(error) = error.downcast_ref::<Error>() {
        match error {
            Error::Object(error) => Some(error),
            Error::Hook { source, .. } | Error::Convert { source, .. } | Error::Other(source) => {
                Some(&**source)
            }
            Error::Upgrade { source, .. } | Error::LoadNotUndone { source, .. } => Some(&**source),
            other => other.source(),
        }
    } else if let Some(error) = error.downcast_ref::<object::Error>() {
        match error {
            object::Error::Kv { source, .. } => Some(source),
            object::Error::Schema(error) => Some(error),
            object::Error::Listener(cause)
            | object::Error::MoveRefused(cause)
            | object::Error::RulesBroken(cause)
            | object::Error::Hook(cause) => Some(&**cause),
            other => other.source(),
        }
    } else if let Some(SchemaError::Store(error)) = error.downcast_ref::<SchemaError>() {
        Some(error)
    } else if let Some(error) = error.downcast_ref::<CommitError>() {
        Some(error.error())
    } else {
        error.source()
    }
}

impl Error {
    /// This error and its causes, from the outermost to the first, to look for one of a type. Those
    /// of an error of this crate are not its `source`, because its text has theirs already.
    ///
    /// ```
    /// use permazen::Error;
    /// use permazen::kv::KvError;
    ///
    /// let error = Error::from(KvError::OutcomeUnknown("the connection is lost".to_owned()));
    /// assert!(error.causes().any(|cause| cause.is::<KvError>()));
    /// ```
    pub fn causes(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        causes(self)
    }

    /// Whether a commit has failed, and it is not known whether it took effect: find that out
    /// before the transaction is run again. Closures of [`Permazen::write`](crate::Permazen::write)
    /// are not run again then.
    ///
    /// ```
    /// use permazen::Error;
    /// use permazen::kv::KvError;
    ///
    /// let error = Error::from(KvError::OutcomeUnknown("the connection is lost".to_owned()));
    /// assert!(error.is_outcome_unknown() && !error.is_retryable());
    /// ```
    pub fn is_outcome_unknown(&self) -> bool {
        causes(self)
            .filter_map(|error| error.downcast_ref::<KvError>())
            .any(KvError::is_outcome_unknown)
    }
}
