//! What can go wrong in a ledger.

use permazen_kv::KvError;

use crate::digest::{Digest, Kind};

/// Result of an operation of a ledger.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// What can go wrong in a ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// What is stored is not what was written.
    #[error("damaged {kind} {digest}: {found}; run `verify`, and get it from a copy of the page")]
    Integrity {
        /// What the piece should be.
        kind: Kind,
        /// Its digest.
        digest: Digest,
        /// What was found.
        found: String,
    },
    /// A piece that something refers to is not there.
    #[error("{kind} {digest} is missing; run `verify`, and get it from a copy of the page")]
    Missing {
        /// What the piece should be.
        kind: Kind,
        /// Its digest.
        digest: Digest,
    },
    /// A key is too long; nothing was changed.
    #[error("key of {len} bytes is too long for a page, which takes at most {max}")]
    KeyTooLong {
        /// Length of the key in bytes.
        len: usize,
        /// The longest key of a page.
        max: usize,
    },
    /// A value is too long; nothing was changed.
    #[error("a value of a page has at most 2⁴⁸ − 1 bytes")]
    ValueTooLong,
    /// An error of the host.
    #[error(transparent)]
    Host(#[from] KvError),
}

impl LedgerError {
    pub(crate) fn integrity(kind: Kind, digest: &Digest, found: impl Into<String>) -> Self {
        LedgerError::Integrity { kind, digest: *digest, found: found.into() }
    }
}
