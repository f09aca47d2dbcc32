//! Errors of the key/value layer, by family.

/// Result of a key/value operation.
pub type Result<T> = std::result::Result<T, KvError>;

/// What can go wrong below the object layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KvError {
    /// The transaction lost against another one, or met a transient condition: run it again.
    #[error("transaction must be retried: {0}")]
    Retry(String),
    /// The transaction has ended or failed and can only be dropped.
    #[error("transaction is no longer usable: {0}")]
    Stale(String),
    /// An argument breaks the contract; nothing was changed.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),
    /// The backend does not offer this operation.
    #[error("{0} is not supported by this store")]
    Unsupported(&'static str),
    /// A failure of the store itself.
    #[error("{context}: {source}")]
    Store {
        /// What was attempted, and where.
        context: String,
        /// The backend's own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
