//! Whether a transaction that has failed may succeed when it runs again.

use permazen_kv::KvError;

use super::Error;
use crate::model::rules::CommitError;
use crate::object;

impl Error {
    /// Whether running the whole transaction again may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Object(error) => is_object_error_retryable(error),
            Error::Upgrade { source, .. } => source.is_retryable(),
            Error::Other(error)
            | Error::Hook { source: error, .. }
            | Error::Convert { source: error, .. } => is_retryable(&**error),
            _ => false,
        }
    }
}

/// Whether running the transaction again may remove the cause of an error. This looks through the
/// error and its sources for an error of this crate that says so.
pub fn is_retryable(error: &(dyn std::error::Error + 'static)) -> bool {
    object::first_to_say(error, says_retryable)
}

/// Whether an error says that running the transaction again may help; `None` if it is neither an
/// error of this crate nor of the store.
pub(in crate::model) fn says_retryable(error: &(dyn std::error::Error + 'static)) -> Option<bool> {
    if let Some(error) = error.downcast_ref::<Error>() {
        Some(error.is_retryable())
    } else if let Some(error) = error.downcast_ref::<object::Error>() {
        Some(is_object_error_retryable(error))
    } else if let Some(error) = error.downcast_ref::<CommitError>() {
        Some(error.is_retryable())
    } else {
        error.downcast_ref::<KvError>().map(KvError::is_retryable)
    }
}

fn is_object_error_retryable(error: &object::Error) -> bool {
    match error {
        // A listener can fail with an error of the typed layer, which the object layer does not
        // know.
        object::Error::Listener(cause)
        | object::Error::MoveRefused(cause)
        | object::Error::RulesBroken(cause)
        | object::Error::Hook(cause) => is_retryable(&**cause),
        _ => error.is_retryable(),
    }
}

/// An error that a transaction closure may return; see [`Permazen::write`](crate::Permazen::write).
///
/// It is implemented for [`Error`], boxed errors and, with the feature `anyhow`, `anyhow::Error`.
/// An error type of your own needs a `From<permazen::Error>`, and one line:
///
/// ```
/// # #[derive(Debug)] struct MyError(permazen::Error);
/// # impl std::fmt::Display for MyError {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { self.0.fmt(f) }
/// # }
/// # impl std::error::Error for MyError {
/// #     fn source(&self) -> Option<&(dyn std::error::Error + 'static)> { Some(&self.0) }
/// # }
/// # impl From<permazen::Error> for MyError { fn from(error: permazen::Error) -> Self { MyError(error) } }
/// impl permazen::Failure for MyError {
///     fn is_retryable(&self) -> bool { permazen::is_retryable(self) }
/// }
/// ```
pub trait Failure: From<Error> {
    /// Whether running the whole transaction again may succeed.
    fn is_retryable(&self) -> bool;
}

impl Failure for Error {
    fn is_retryable(&self) -> bool {
        Error::is_retryable(self)
    }
}

impl Failure for Box<dyn std::error::Error> {
    fn is_retryable(&self) -> bool {
        is_retryable(&**self)
    }
}

impl Failure for Box<dyn std::error::Error + Send + Sync> {
    fn is_retryable(&self) -> bool {
        is_retryable(&**self)
    }
}

#[cfg(feature = "anyhow")]
impl Failure for anyhow::Error {
    fn is_retryable(&self) -> bool {
        is_retryable(&**self)
    }
}
