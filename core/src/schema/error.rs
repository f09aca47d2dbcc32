//! Errors of schemas, and of the schemas that a database records.

use std::fmt;

use permazen_kv::{Hex, KvError};

use super::SchemaId;

/// Result of a schema operation.
pub(crate) type Result<T> = std::result::Result<T, SchemaError>;

/// An error of a schema, or of the schemas that a database records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A schema model breaks the rules.
    #[error("invalid schema: {0}")]
    Invalid(Problems),
    /// A schema XML document cannot be read.
    #[error("schema XML, line {line}, column {column}: {message}")]
    Xml {
        /// Line, from 1.
        line: u64,
        /// Column in characters, from 1.
        column: u64,
        /// The problem there.
        message: String,
    },
    /// The schema is not recorded in the database, and recording new schemas was not allowed.
    #[error(
        "the schema {schema_id} is not recorded in this database, and recording it is not allowed; \
         allow new schemas, or use the recorded one"
    )]
    NotAllowed {
        /// The schema.
        schema_id: SchemaId,
    },
    /// The schema was recorded in the database, but was removed because no object used it.
    /// Recording it again was not allowed.
    #[error(
        "the schema {schema_id} was recorded in this database, and was removed because no object used it, by this \
         program or by another one that began with other models; recording it again is not allowed: allow new \
         schemas, or let all programs open the database with SchemaRemoval::Never"
    )]
    Removed {
        /// The schema.
        schema_id: SchemaId,
    },
    /// A schema asks for a storage ID that contradicts the database, or that no object type can
    /// have.
    #[error("{item} asks for storage ID {wanted}, but {reason}")]
    StorageIdConflict {
        /// Path of the item.
        item: String,
        /// The storage ID that the schema asks for.
        wanted: u32,
        /// The contradiction, and the storage ID to ask for instead.
        reason: String,
    },
    /// The meta-data of the database contradicts itself or is damaged.
    #[error("inconsistent database: {what}{}", Key(.key))]
    Inconsistent {
        /// The contradiction.
        what: String,
        /// The key at fault.
        key: Option<Vec<u8>>,
    },
    /// The database has a format version that this program does not know.
    #[error(
        "the database has format version {version}, only version 1 is known; open it with the \
         program that wrote it, or a newer one"
    )]
    UnknownFormatVersion {
        /// The version found, or the value in hex if it is not a number.
        version: String,
    },
    /// A bulk load of the database runs, or did not come to its end.
    #[error(
        "the database is being loaded, or a program that loaded it has ended before the load was \
         complete: wait for its end, or, once no load is running any more, remove the store and load it again"
    )]
    LoadUnfinished,
    /// The store holds data, but is not a Permazen database.
    #[error(
        "the store is not empty and is no Permazen database{}: choose another store, or empty it",
        Key(&Some(.key.clone()))
    )]
    NotPermazen {
        /// A key that a Permazen database cannot have.
        key: Vec<u8>,
    },
    /// The store is a repository of the crate permazen-ledger, which has databases in its pages.
    #[error(
        "the store is a repository of permazen-ledger and must not be changed by others: open a branch of a page \
         with that crate (Page::database)"
    )]
    Ledger,
    /// No such schema is recorded.
    #[error("no schema {0} is recorded in this database; open it with that schema to record it")]
    UnknownSchema(String),
    /// Objects of the schema exist, so it cannot be removed.
    #[error("schema {schema_id} is in use: objects of it exist; migrate or delete them first")]
    InUse {
        /// The schema.
        schema_id: SchemaId,
    },
    /// The empty schema cannot be recorded.
    #[error("the empty schema cannot be recorded; give it an object type")]
    Empty,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] KvError),
}

impl SchemaError {
    pub(crate) fn inconsistent(what: impl Into<String>, key: &[u8]) -> Self {
        SchemaError::Inconsistent { what: what.into(), key: Some(key.to_vec()) }
    }

    /// Whether running the transaction again can help.
    pub fn is_retryable(&self) -> bool {
        matches!(self, SchemaError::Store(error) if error.is_retryable())
    }
}

/// One way in which a schema model breaks the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: `ObjectType "Person" / field "name"`.
    pub location: String,
    /// The problem.
    pub message: String,
}

/// The largest number of problems that are reported.
const MAX_PROBLEMS: usize = 10_000;

/// Notes a problem, unless there are already too many to read.
pub(super) fn note(problems: &mut Vec<Problem>, problem: impl FnOnce() -> Problem) {
    if problems.len() < MAX_PROBLEMS {
        problems.push(problem());
    } else if problems.len() == MAX_PROBLEMS {
        // A hostile document can have any number of problems.
        let location = "and elsewhere".to_owned();
        problems.push(Problem { location, message: "there are more problems".to_owned() });
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

/// All the ways in which a schema model breaks the rules; never empty. If there are more than ten
/// thousand, the last one says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub(super) Vec<Problem>);

impl Problems {
    /// The problems, in the order of the schema.
    #[doc(hidden)]
    pub fn list(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if i == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

struct Key<'a>(&'a Option<Vec<u8>>);

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(key) = self.0 else { return Ok(()) };
        write!(f, " (key {})", Hex(key))
    }
}
