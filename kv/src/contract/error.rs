//! Errors of the key/value layer, by family.

use std::fmt;
use std::path::Path;

use super::with_causes::WithCauses;
use crate::{Hex, KeySpan};

/// Result of a key/value operation.
pub type Result<T> = std::result::Result<T, KvError>;

/// An error below the object layer.
///
/// Three questions decide what to do about an error. May the transaction be run again
/// ([`is_retryable`](KvError::is_retryable))? Has it ended ([`is_stale`](KvError::is_stale))? Was
/// it perhaps committed in spite of the error
/// ([`is_outcome_unknown`](KvError::is_outcome_unknown))?
///
/// ```
/// use permazen_kv::{KvDatabase, KvError, KvRead, KvWrite, TxOptions};
/// use permazen_kv::{memory::MemoryStore, optimistic::OptimisticDatabase};
///
/// let db = OptimisticDatabase::new(MemoryStore::new());
/// let mut late = db.begin(&TxOptions::writing())?;
/// late.get(b"key")?;
/// late.put(b"other", b"")?;
/// let mut first = db.begin(&TxOptions::writing())?;
/// first.put(b"key", b"")?;
/// first.commit()?;
/// let error = late.commit().unwrap_err();
/// assert!(error.is_retryable() && !error.is_stale() && !error.is_outcome_unknown());
/// assert_eq!(error.to_string(), "transaction must be retried: read/write conflict at 6b6579");
/// # Ok::<(), KvError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KvError {
    /// A condition that will pass, such as a lock that others hold. Run the transaction again, or
    /// open the store again.
    #[error("this must be retried: {0}")]
    Retry(String),
    /// This thread is in the middle of a transaction that writes to the same store. In this store
    /// one transaction writes at a time, so a second one would wait for the first forever. Nothing
    /// was changed, and the first one is still usable. Waiting or running again does not help: the
    /// program must be changed.
    #[error(
        "cannot begin to write to {store}: this thread is already in a transaction that writes to it, and \
         would wait for itself; use that transaction (in a closure the one that it is given, also in hooks \
         and observers), or end it first (return from the closure)"
    )]
    WithinWrite {
        /// The store.
        store: Box<str>,
    },
    /// Another transaction has changed values that this one has read. Run this one again.
    #[error("transaction must be retried: {0}")]
    Conflict(Box<Conflict>),
    /// The commit failed, and it is not known whether it took effect.
    ///
    /// Either all changes were made, or none. Find out which before you run the transaction again,
    /// unless running it twice does no harm.
    #[error("outcome of the commit is unknown: {0}")]
    OutcomeUnknown(String),
    /// The transaction has ended or failed and can only be dropped.
    #[error("transaction is no longer usable: {0}")]
    Stale(String),
    /// The transaction was open for longer than its time-out, and was rolled back.
    #[error("transaction cannot be accessed because it has timed out: {0}")]
    Timeout(String),
    /// An argument breaks the contract; nothing was changed.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),
    /// The operation is not possible at this time; nothing was changed.
    #[error("illegal state: {0}")]
    IllegalState(String),
    /// The caller has asked a long operation to stop. Its changes must be rolled back.
    #[error("{0} was stopped")]
    Stopped(&'static str),
    /// The backend does not offer this operation.
    #[error("{0} is not supported by this store")]
    Unsupported(&'static str),
    /// The key is longer than the store can hold; nothing was changed.
    #[error("key of {len} bytes is too long for this store, which takes at most {max}: {start}…")]
    KeyTooLong {
        /// Length of the key in bytes.
        len: usize,
        /// The longest key the store can hold.
        max: usize,
        /// The first bytes of the key in hexadecimal.
        start: Box<str>,
    },
    /// Every slot for readers is taken; nothing was changed.
    #[error(
        "{}: all {max} reader slots are in use: end read-only transactions and snapshots, or \
         open the store with more slots",
        path.display()
    )]
    ReadersFull {
        /// The store.
        path: Box<Path>,
        /// How many readers it was opened for.
        max: u32,
    },
    /// There is no room for the change: the disk, a file-size limit or the store's map is full.
    /// (LMDB cannot always tell a full disk from a failing one.) The transaction was rolled back.
    /// Earlier commits are intact.
    #[error("{}: store is full: {reason}", path.display())]
    Full {
        /// The store.
        path: Box<Path>,
        /// Which limit was met.
        reason: Box<str>,
    },
    /// The store cannot be opened as asked.
    #[error("{}: {reason}", path.display())]
    Open {
        /// The store.
        path: Box<Path>,
        /// Why, and what to do about it.
        reason: Box<str>,
    },
    /// There is no store on the server, and the options do not allow creating one.
    #[error("{}: {reason}", path.display())]
    NoStore {
        /// The name that the store would have.
        path: Box<Path>,
        /// The missing part.
        reason: Box<str>,
    },
    /// The store cannot be opened as long as another program, which cannot share it, has it open.
    #[error("{}: {reason}", path.display())]
    InUse {
        /// The store.
        path: Box<Path>,
        /// Which program has it open, and what to do about it.
        reason: Box<str>,
    },
    /// This process was forked from the one that has opened the store. Nothing was changed.
    #[error(
        "{store}: this process was forked from the process that opened it, and cannot use what was opened there; drop \
         that, and open the store again in this process"
    )]
    Forked {
        /// The store.
        store: Box<str>,
    },
    /// The stored bytes break the rules of the store's format.
    #[error(
        "{}: store is damaged: {reason}; restore it from a backup; jsck says what else is wrong with it",
        path.display()
    )]
    Damaged {
        /// The store.
        path: Box<Path>,
        /// The damage that was found.
        reason: Box<str>,
    },
    /// A failure of the store itself.
    #[error("{context}: {}", WithCauses(&**source))]
    Store {
        /// The attempted action, and the place.
        context: Box<str>,
        /// The backend's own error.
        r#source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An error of a layer that is itself a store and has errors of its own, such as a ledger.
    #[error("{}", WithCauses(&**source))]
    Other {
        /// Its family, which decides what to do about it.
        family: ErrorFamily,
        /// The layer's own error.
        r#source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The way to treat an error of a layer that is itself a store; see [`KvError::Other`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorFamily {
    /// Run the transaction again; it certainly had no effect.
    Retry,
    /// The transaction or the database has ended; begin, or open, a new one.
    Stale,
    /// The caller made a mistake; nothing was changed, and the transaction is still usable.
    Caller,
    /// The stored bytes break the rules of their format.
    Damage,
    /// Anything else.
    Failure,
}

impl KvError {
    /// Whether the transaction certainly had no effect and may succeed if it is run again.
    pub fn is_retryable(&self) -> bool {
        matches!(self, KvError::Retry(_) | KvError::Conflict(_)) || self.is_of(ErrorFamily::Retry)
    }

    /// Whether this is an error of another layer, of this family.
    fn is_of(&self, asked: ErrorFamily) -> bool {
        matches!(self, KvError::Other { family, .. } if *family == asked)
    }

    /// Whether the transaction had ended before the operation, for example by a time-out.
    pub fn is_stale(&self) -> bool {
        matches!(self, KvError::Stale(_) | KvError::Timeout(_)) || self.is_of(ErrorFamily::Stale)
    }

    /// Whether the failed commit may have taken effect.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, KvError::OutcomeUnknown(_))
    }

    /// Whether the caller made a mistake and the transaction is still usable.
    pub fn is_caller_error(&self) -> bool {
        matches!(
            self,
            KvError::InvalidArgument(_)
                | KvError::IllegalState(_)
                | KvError::Unsupported(_)
                | KvError::KeyTooLong { .. }
                | KvError::WithinWrite { .. }
        ) || self.is_of(ErrorFamily::Caller)
    }

    /// Whether the stored bytes break the rules of their format.
    pub fn is_damage(&self) -> bool {
        matches!(self, KvError::Damaged { .. }) || self.is_of(ErrorFamily::Damage)
    }

    /// The kind of the error in a word, which reveals no stored data.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            KvError::Retry(_) => "retry",
            KvError::WithinWrite { .. } => "within-write",
            KvError::Conflict(_) => "conflict",
            KvError::OutcomeUnknown(_) => "outcome-unknown",
            KvError::Stale(_) => "stale",
            KvError::Timeout(_) => "timeout",
            KvError::InvalidArgument(_) => "invalid-argument",
            KvError::IllegalState(_) => "illegal-state",
            KvError::Stopped(_) => "stopped",
            KvError::Unsupported(_) => "unsupported",
            KvError::KeyTooLong { .. } => "key-too-long",
            KvError::ReadersFull { .. } => "readers-full",
            KvError::Full { .. } => "full",
            KvError::Open { .. } => "open",
            KvError::NoStore { .. } => "no-store",
            KvError::InUse { .. } => "in-use",
            KvError::Forked { .. } => "forked",
            KvError::Damaged { .. } => "damaged",
            KvError::Store { .. } => "store",
            KvError::Other { family, .. } => match family {
                ErrorFamily::Retry => "retry",
                ErrorFamily::Stale => "stale",
                ErrorFamily::Caller => "caller",
                ErrorFamily::Damage => "damaged",
                ErrorFamily::Failure => "other",
            },
        }
    }

    /// The conflict that made this transaction fail, if the store has said that it is one.
    pub fn conflict(&self) -> Option<&Conflict> {
        match self {
            KvError::Conflict(conflict) => Some(conflict),
            _ => None,
        }
    }

    /// The error for a process that was forked from the one that has `path` open.
    #[cfg(any(feature = "lmdb", feature = "sqlite"))]
    #[cold]
    pub(crate) fn forked(path: &Path) -> KvError {
        KvError::Forked { store: path.display().to_string().into() }
    }

    /// The error for a key that must be new and is there.
    pub fn is_not_new(key: &[u8]) -> KvError {
        let what = format!("key {} must be new, and is there already", Hex(key));
        Conflict::Reported(what.into()).into()
    }

    /// The error for a key that is longer than a store's `max`.
    pub fn key_too_long(key: &[u8], max: usize) -> KvError {
        let start = Hex(key.get(..16).unwrap_or(key)).to_string().into();
        KvError::KeyTooLong { len: key.len(), max, start }
    }

    /// The error for a value that is longer than a store's `max`.
    pub(crate) fn value_too_long(key: &[u8], len: usize, max: usize) -> KvError {
        let key = Hex(key.get(..32).unwrap_or(key));
        KvError::InvalidArgument(format!(
            "the value of key {key} has {len} bytes, and this store takes at most {max}: divide it among several keys"
        ))
    }
}

impl From<Conflict> for KvError {
    fn from(conflict: Conflict) -> Self {
        KvError::Conflict(Box::new(conflict))
    }
}

/// How another transaction changed values that this one has read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// A key that was read has been written.
    ReadWrite(bytes::Bytes),
    /// A counter that was read has been adjusted.
    ReadAdjust(bytes::Bytes),
    /// Keys that were read have been removed.
    ReadRemove {
        /// The first key of the removed range.
        min: bytes::Bytes,
        /// The first key after it, if it has an end.
        max: Option<bytes::Bytes>,
    },
    /// The report of a store that finds conflicts itself and does not name the key, such as a store
    /// on a server.
    Reported(Box<str>),
    /// Another transaction changed values that this one has read, and ran within this one: on the
    /// same thread, while all other threads had to wait. Running this one again has the same
    /// result.
    Within(Box<Conflict>),
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Conflict::ReadWrite(key) => write!(f, "read/write conflict at {}", Hex(key)),
            Conflict::ReadAdjust(key) => write!(f, "read/adjust conflict at {}", Hex(key)),
            Conflict::ReadRemove { min, max } => {
                write!(f, "read/remove conflict at {}", KeySpan::new(min, max.as_deref()))
            }
            Conflict::Reported(what) => f.write_str(what),
            Conflict::Within(conflict) => write!(
                f,
                "{conflict}: another transaction changed this, and was committed within this one \
                 on the same thread; make its changes in this one, or commit it before this one begins"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_disjoint() {
        let retry = KvError::from(Conflict::ReadWrite(vec![1, 0xab].into()));
        assert!(retry.is_retryable() && !retry.is_stale());
        assert_eq!(retry.to_string(), "transaction must be retried: read/write conflict at 01ab");
        assert!(KvError::Timeout(String::new()).is_stale());
        let unknown = KvError::OutcomeUnknown("the disk is gone".to_owned());
        assert!(unknown.is_outcome_unknown() && !unknown.is_retryable());
        assert!(KvError::key_too_long(&[7; 600], 510).is_caller_error());
    }

    #[test]
    fn errors_of_other_layers_say_their_family() {
        let of = |family| {
            let error = KvError::Other { family, source: "the layer's words".into() };
            assert_eq!(error.to_string(), "the layer's words");
            let retryable = (error.is_retryable(), error.is_stale());
            (retryable, error.is_caller_error(), error.is_damage())
        };
        assert_eq!(of(ErrorFamily::Retry), ((true, false), false, false));
        assert_eq!(of(ErrorFamily::Stale), ((false, true), false, false));
        assert_eq!(of(ErrorFamily::Caller), ((false, false), true, false));
        assert_eq!(of(ErrorFamily::Damage), ((false, false), false, true));
        assert_eq!(of(ErrorFamily::Failure), ((false, false), false, false));
    }

    #[test]
    fn a_removed_range_shows_its_shape() {
        let range = Conflict::ReadRemove { min: vec![0x10].into(), max: Some(vec![0x12].into()) };
        assert_eq!(range.to_string(), "read/remove conflict at [10,12)");
    }
}
