//! Why bytes, text or a value were refused.

/// Result of an encoding operation.
pub type Result<T> = std::result::Result<T, EncodingError>;

/// Why bytes, a text or a value were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingError {
    /// The input ends inside a value.
    #[error("input ends inside a value")]
    Truncated,
    /// The input is no value of the encoding.
    #[error("{0}")]
    Invalid(String),
}
