//! Why a transaction can only be dropped: an operation has failed in it before.

use crate::KvError;

/// The failure. Each later operation of the transaction returns it as an error, and so does the
/// commit.
#[derive(Debug, Clone)]
pub(crate) struct EarlierFailure {
    /// The transaction may succeed if it is run again, so the errors of later operations are
    /// retryable too.
    passes: bool,
    what: String,
}

impl EarlierFailure {
    pub(crate) fn of(error: &KvError) -> Self {
        let what = match error {
            KvError::Retry(what) | KvError::Stale(what) => what.clone(),
            KvError::Conflict(conflict) => conflict.to_string(),
            error => error.to_string(),
        };
        EarlierFailure { passes: error.is_retryable(), what }
    }

    /// The transaction has ended, for this reason.
    pub(crate) fn ended(what: &str) -> Self {
        EarlierFailure { passes: false, what: what.to_owned() }
    }

    /// The error of an operation that comes later.
    pub(crate) fn error(&self) -> KvError {
        let what = format!("an earlier operation has failed in it: {}", self.what);
        if self.passes { KvError::Retry(what) } else { KvError::Stale(what) }
    }
}
