//! Why a transaction was not committed.

use std::fmt;
use std::sync::Mutex;

use crate::model::error::Error;
use crate::object;

/// Why a transaction was not committed. If objects break rules, or objects of another version of
/// the program keep a function from checking them ([`Error::is_about_versions`]), the error has the
/// transaction, still open; dropping it rolls it back. After other errors there is no transaction
/// to return: it was rolled back, except after `OutcomeUnknown` (it may be committed) and after an
/// error of `after_commit` (it is committed).
///
/// It converts into [`Error`], so `?` works as usual.
///
/// ```
/// # use permazen::{Error, Permazen, PermazenObject, kv::memory::MemoryStore};
/// #[derive(PermazenObject)]
/// struct User {
///     #[permazen(indexed, unique)]
///     email: String,
/// }
/// # let db = Permazen::builder(MemoryStore::new()).model::<User>().build()?;
/// let tx = db.begin()?;
/// tx.create(User { email: "ann@example.com".into() })?;
/// let second = tx.create(User { email: "ann@example.com".into() })?.to_ref();
/// let refused = tx.commit().unwrap_err();
/// assert!(matches!(refused.error(), Error::Invalid(violations) if violations.len() == 2));
/// let tx = refused.into_transaction().expect("objects break rules");
/// tx.get(second)?.set_email("bob@example.com")?;
/// tx.commit()?;
/// # Ok::<(), Error>(())
/// ```
pub struct CommitError {
    error: Error,
    /// A transaction cannot be shared between threads, but an error should be.
    transaction: Option<Box<Mutex<object::Transaction>>>,
}

impl CommitError {
    pub(in crate::model) fn new(error: Error, transaction: Option<object::Transaction>) -> Self {
        let transaction = transaction.map(|transaction| Box::new(Mutex::new(transaction)));
        CommitError { error, transaction }
    }

    /// Why.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Whether it is not known whether the transaction was committed; see
    /// [`Error::is_outcome_unknown`].
    pub fn is_outcome_unknown(&self) -> bool {
        self.error.is_outcome_unknown()
    }

    /// Why. The transaction is rolled back.
    pub fn into_error(self) -> Error {
        self.error
    }

    /// The error, and the transaction as the object layer has it.
    pub(in crate::model) fn into_parts_below(self) -> (Error, Option<object::Transaction>) {
        let CommitError { error, transaction } = self;
        let inner = |it: Box<Mutex<object::Transaction>>| match it.into_inner() {
            Ok(transaction) => transaction,
            // A panic while the lock was held cannot have damaged the transaction: it is only
            // stored here.
            Err(poisoned) => poisoned.into_inner(),
        };
        (error, transaction.map(inner))
    }

    /// Whether running the whole transaction again may succeed.
    pub fn is_retryable(&self) -> bool {
        self.error.is_retryable()
    }
}

impl fmt::Debug for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CommitError").field(&self.error).finish()
    }
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for CommitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl From<CommitError> for Error {
    fn from(refused: CommitError) -> Error {
        refused.error
    }
}
