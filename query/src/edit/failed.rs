//! Why a step is undone.

use permazen::object;

use crate::error::QueryError;
use crate::limits::Limits;
use crate::not_taken::NotTaken;

/// Why a statement is undone.
#[derive(Debug)]
pub(super) enum Failed {
    /// It was stopped.
    Stopped,
    /// It failed.
    Error(QueryError),
}

impl From<object::Error> for Failed {
    fn from(error: object::Error) -> Self {
        Failed::Error(error.into())
    }
}

impl From<QueryError> for Failed {
    fn from(error: QueryError) -> Self {
        Failed::Error(error)
    }
}

impl From<NotTaken> for Failed {
    fn from(error: NotTaken) -> Self {
        Failed::Error(QueryError::NotTaken(Box::new(error)))
    }
}

pub(super) type Result<T> = std::result::Result<T, Failed>;

/// Fails if the statement is to stop.
pub(super) fn go_on(limits: &Limits) -> Result<()> {
    if limits.is_stopped() { Err(Failed::Stopped) } else { Ok(()) }
}
