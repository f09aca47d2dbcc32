//! Why a statement could not be run.

use permazen::kv::__internal::WithCauses;
use permazen::kv::KvError;
use permazen::object;

use crate::mistake::Mistake;
use crate::not_taken::NotTaken;

/// Why a statement could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The statement cannot mean anything in this database.
    #[error(transparent)]
    Mistake(#[from] Mistake),
    /// An operation on objects was refused, or the store failed.
    #[error(transparent)]
    Object(#[from] object::Error),
    /// An object does not take a change. Nothing was changed.
    #[error("{0}")]
    NotTaken(Box<NotTaken>),
    /// A temporary file for sorting could not be used.
    #[error(
        "sorting needs more memory than it may use, and its temporary file cannot be used: {}; make \
         room, or choose another folder for temporary files",
        WithCauses(.0)
    )]
    Temporary(std::io::Error),
    /// The recorded schemas have changed since the statement was checked.
    #[error("the recorded schemas have changed since the statement was checked; check it again")]
    SchemasChanged,
    /// The statement is of a kind that this function does not run.
    #[error("{0}")]
    WrongKind(&'static str),
}

impl From<KvError> for QueryError {
    fn from(error: KvError) -> Self {
        QueryError::Object(error.into())
    }
}

impl QueryError {
    /// Whether the same statement may succeed in a new transaction.
    pub fn is_retryable(&self) -> bool {
        match self {
            QueryError::Object(error) => error.is_retryable(),
            QueryError::SchemasChanged => true,
            _ => false,
        }
    }
}
