//! The family of an error, and the conversion from and to errors of stores.

use permazen_kv::{ErrorFamily, KvError};

use super::LedgerError;

impl LedgerError {
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            LedgerError::Host(error) => error.is_damage(),
            error => error.family() == ErrorFamily::Damage,
        }
    }

    /// Whether what is stored cannot be read: it is damaged, or of a later version.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.is_damage() || matches!(self, LedgerError::UnknownFormat { .. })
    }

    /// Whether the operation certainly had no effect and may succeed if it is run again.
    pub fn is_retryable(&self) -> bool {
        match self {
            LedgerError::Host(error) => error.is_retryable(),
            error => error.family() == ErrorFamily::Retry,
        }
    }

    /// The family of the error. An error of the host has its own.
    fn family(&self) -> ErrorFamily {
        match self {
            LedgerError::BranchMoved { .. }
            | LedgerError::Busy { .. }
            | LedgerError::ClockAhead { .. }
            | LedgerError::Network { .. }
            | LedgerError::SnapshotExpired { .. } => ErrorFamily::Retry,
            LedgerError::PageGone { .. } => ErrorFamily::Stale,
            LedgerError::NoSuch { .. }
            | LedgerError::Exists { .. }
            | LedgerError::PageInUse { .. }
            | LedgerError::InvalidArgument(_)
            | LedgerError::KeyTooLong { .. }
            | LedgerError::CannotSquash { .. }
            | LedgerError::TransactionInProgress { .. }
            | LedgerError::WrongPage { .. }
            | LedgerError::WholeValueTooLong { .. }
            | LedgerError::ValueTooLong => ErrorFamily::Caller,
            // Nothing stored is damaged if received bytes are refused.
            LedgerError::Integrity { needed_by, .. } if needed_by.received => ErrorFamily::Failure,
            LedgerError::Integrity { .. }
            | LedgerError::DamagedRow { .. }
            | LedgerError::Missing { .. } => ErrorFamily::Damage,
            LedgerError::Other { retryable: true, .. } => ErrorFamily::Retry,
            LedgerError::Other { .. }
            | LedgerError::CannotMerge { .. }
            | LedgerError::NoCommit { .. }
            | LedgerError::NeedsFetch { .. }
            | LedgerError::NotAtSource { .. }
            | LedgerError::BaseMissing { .. }
            | LedgerError::ManyHeads { .. }
            | LedgerError::ValueGone { .. }
            | LedgerError::Random(_)
            | LedgerError::Thread(_)
            | LedgerError::BranchGone { .. }
            | LedgerError::LastCommit { .. }
            | LedgerError::LeftBehind { .. }
            | LedgerError::Resolver { .. }
            | LedgerError::MergeEnded { .. }
            | LedgerError::NoRepository { .. }
            | LedgerError::UnknownFormat { .. }
            | LedgerError::Host(_) => ErrorFamily::Failure,
        }
    }
}

/// A ledger error that was converted to a `KvError` converts back to itself.
impl From<KvError> for LedgerError {
    fn from(error: KvError) -> Self {
        match error {
            KvError::Other { family, source } => match source.downcast::<LedgerError>() {
                Ok(error) => *error,
                Err(source) => LedgerError::Host(KvError::Other { family, source }),
            },
            KvError::KeyTooLong { len, max, start } => LedgerError::KeyTooLong { len, max, start },
            KvError::InvalidArgument(what) => LedgerError::InvalidArgument(what),
            error => LedgerError::Host(error),
        }
    }
}

impl From<LedgerError> for KvError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Host(error) => error,
            LedgerError::KeyTooLong { len, max, start } => KvError::KeyTooLong { len, max, start },
            LedgerError::InvalidArgument(what) => KvError::InvalidArgument(what),
            error => KvError::Other { family: error.family(), source: Box::new(error) },
        }
    }
}
