//! Why bytes, text or a value were refused.

use crate::id::{ObjId, StorageId};

/// Result of an encoding operation.
pub type Result<T> = std::result::Result<T, EncodingError>;

/// Why bytes, a text or a value were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingError {
    /// The input ends inside a value.
    #[error("the bytes end inside a value: they were cut off, or written by another encoding")]
    Truncated,
    /// The input is not a value of the encoding.
    #[error("{0}")]
    Invalid(String),
    /// A null where a value is required: the encoding has no null, or the Rust type is not an
    /// `Option`.
    #[error(
        "null is no value of {0}: give a value, or use an encoding or an `Option` that has null"
    )]
    NullValue(String),
    /// A value whose type is not the one the encoding takes.
    #[error(
        "{encoding} takes no value of type {found}: give one of its own type, or convert it first"
    )]
    WrongType {
        /// The encoding, as diagnostics name it.
        encoding: String,
        /// The type of the given value.
        found: String,
    },
    /// A reference to an object of a type the field may not refer to.
    #[error(
        "reference to object {id} of the type with storage id {storage_id}, which is not among those allowed: refer to \
         an object of an allowed type, or allow this one in the schema"
    )]
    InvalidReference {
        /// The object the reference is to.
        id: ObjId,
        /// The storage ID of its type.
        storage_id: StorageId,
    },
}

/// Shorthand for [`EncodingError::Invalid`].
pub(crate) fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(EncodingError::Invalid(message.into()))
}
