//! The subject of an error of a function of the program: the verdict of the function, or a failure
//! that keeps it from a verdict.

use std::error::Error as StdError;

use permazen_kv::KvError;

use super::Error;
use super::causes::causes;
use super::retryable::is_retryable;
use crate::object;

/// The subject of an error of a function of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum About {
    /// The store or the transaction.
    Transaction,
    /// Objects that this version of the program cannot use as another one has stored them.
    Versions,
    /// Anything else: the verdict of the function.
    Verdict,
}

/// The subject of an error of a function of the program. This looks through the error and its
/// causes for errors of this crate and of the store.
pub(in crate::model) fn about(error: &(dyn StdError + 'static)) -> About {
    // An own conversion can fail because of the store, so the store comes first.
    if is_retryable(error) || causes(error).any(is_about_transaction) {
        About::Transaction
    } else if causes(error).any(is_about_versions) {
        About::Versions
    } else {
        About::Verdict
    }
}

fn is_about_transaction(error: &(dyn StdError + 'static)) -> bool {
    error.is::<KvError>()
        || error.downcast_ref::<object::Error>().is_some_and(object::Error::ends_transaction)
}

fn is_about_versions(error: &(dyn StdError + 'static)) -> bool {
    use object::Error as Object;
    if let Some(error) = error.downcast_ref::<Error>() {
        return match error {
            Error::Refused(_)
            | Error::Upgrade { .. }
            | Error::NullInside { .. }
            | Error::WrongTarget { .. }
            | Error::PartialIndex { .. } => true,
            // An object that is just being created gets its values later, so its hook is wrong.
            Error::Missing { is_new, .. } => !is_new,
            _ => false,
        };
    }
    matches!(
        error.downcast_ref(),
        Some(
            Object::MoveRefused(_)
                | Object::ChangedAsMoved { .. }
                | Object::TypeNotInSchema { .. }
                | Object::UnknownValue { .. }
        )
    )
}

impl Error {
    /// Whether the error says that the models cannot use what another version of the program, or
    /// access by name, has stored: a value cannot be converted ([`Error::Refused`],
    /// [`Error::Upgrade`]), is missing or null ([`Error::Missing`], [`Error::NullInside`]), refers
    /// to an object of another type ([`Error::WrongTarget`]), or an index lacks objects
    /// ([`Error::PartialIndex`]). This looks through the causes, so it is true of the error of a
    /// hook ([`Error::Hook`]) that has got such an error.
    ///
    /// No user can help it with other input, and to run the transaction again has the same result:
    /// the program, or the stored objects, must change.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use permazen::kv::memory::MemoryStore;
    /// use permazen::{Error, Permazen};
    ///
    /// mod before {
    ///     #[derive(permazen::PermazenObject)]
    ///     pub struct Book { pub pages: i64 }
    /// }
    /// mod now {
    ///     #[derive(permazen::PermazenObject)]
    ///     pub struct Book { pub pages: i32 }
    /// }
    ///
    /// let store = Arc::new(MemoryStore::new());
    /// let db = Permazen::builder_shared(store.clone()).model::<before::Book>().build()?;
    /// let book = db.write(|tx| Ok(tx.create(before::Book { pages: 5_000_000_000 })?.id()))?;
    /// let db = Permazen::builder_shared(store).model::<now::Book>().build()?;
    /// let error = db.read(|tx| tx.get::<now::Book>(book)?.pages()).unwrap_err();
    /// assert!(error.is_about_versions() && !error.is_retryable());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_about_versions(&self) -> bool {
        about(self) == About::Versions
    }
}
