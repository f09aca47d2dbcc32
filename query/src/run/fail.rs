//! Why a run ended early.

use permazen::kv::KvError;

use crate::error::QueryError;

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Fail {
    /// It was stopped.
    Stopped,
    /// There was an error.
    Error(QueryError),
}

pub(crate) type Result<T, E = Fail> = std::result::Result<T, E>;

impl From<QueryError> for Fail {
    fn from(error: QueryError) -> Self {
        Fail::Error(error)
    }
}

impl From<KvError> for Fail {
    fn from(error: KvError) -> Self {
        Fail::Error(error.into())
    }
}
