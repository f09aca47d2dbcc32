//! Why an object operation was refused.

use permazen_kv::KvError;

/// Result of an object operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an object operation was refused. A refused operation has changed nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key/value store failed.
    #[error(transparent)]
    Kv(#[from] KvError),
    /// The transaction has ended.
    #[error("the transaction has ended; begin a new one")]
    Ended,
    /// A write failed and could not be undone, so the transaction's content is unknown.
    #[error("an earlier failure could not be undone; roll back and run the transaction again")]
    Broken,
    /// A write was attempted while borrowed bytes of the same transaction are being read.
    #[error("the transaction cannot be changed while bytes borrowed from it are in use")]
    Busy,
    /// A key would be longer than the store takes.
    #[error("key {key} of {len} bytes is longer than the {limit} bytes this store takes")]
    KeyTooLong {
        /// The first bytes of the key, in hex.
        key: String,
        /// Its length.
        len: usize,
        /// The longest key the store takes.
        limit: usize,
    },
}

impl Error {
    /// Whether running the whole transaction again may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Kv(KvError::Retry(_)))
    }
}

/// Bytes as lower-case hex, at most the first `limit` of them.
pub(crate) fn hex(bytes: &[u8], limit: usize) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(2 * bytes.len().min(limit) + 3);
    for byte in bytes.iter().take(limit) {
        let _ = write!(text, "{byte:02x}");
    }
    if bytes.len() > limit {
        text.push('…');
    }
    text
}
