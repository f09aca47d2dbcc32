//! Errors by the names under which traces record them.

use permazen::encoding::EncodingError;
use permazen::object::Error;
use permazen::schema::SchemaError;
use serde_json::{Map, Value, json};

use crate::outcome::Stop;

/// The answer of an operation.
pub type Answer<T = Value> = Result<T, Refusal>;

/// A failed operation.
#[derive(Debug)]
pub struct Refusal {
    /// The recorded name of this kind of failure. Failures that are never recorded have another
    /// name.
    pub kind: &'static str,
    /// The objects and fields that the error names.
    pub detail: Map<String, Value>,
    /// The text for people.
    pub text: String,
    /// The error itself, to pass it through a listener.
    error: Option<Box<Error>>,
}

impl Refusal {
    pub fn new(kind: &'static str, text: impl Into<String>) -> Refusal {
        Refusal { kind, detail: Map::new(), text: text.into(), error: None }
    }

    /// The error that a listener returns.
    pub fn into_error(self) -> Error {
        match self.error {
            Some(error) => *error,
            None => Error::listener(self.text),
        }
    }
}

impl From<Stop> for Refusal {
    fn from(stop: Stop) -> Refusal {
        let (Stop::Fail(text) | Stop::Skip(text)) = stop;
        Refusal::new("test error", text)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let mut detail = Map::new();
        match &error {
            Error::DeletedObject { id, .. } | Error::TypeNotInSchema { id, .. } => {
                detail.insert("id".to_owned(), json!(id.to_string()));
            }
            Error::ReferencedObject { id, referrer, field, .. } => {
                detail.insert("id".to_owned(), json!(id.to_string()));
                detail.insert("referrer".to_owned(), json!(referrer.to_string()));
                detail.insert("field".to_owned(), json!(**field));
            }
            Error::InvalidValue { source: EncodingError::InvalidReference { id, .. }, .. } => {
                detail.insert("id".to_owned(), json!(id.to_string()));
            }
            _ => {}
        }
        Refusal {
            kind: kind(&error),
            detail,
            text: error.to_string(),
            error: Some(Box::new(error)),
        }
    }
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::DeletedObject { .. } => "deleted-object",
        Error::ReferencedObject { .. } => "referenced-object",
        Error::UnknownType { .. } => "unknown-type",
        Error::TypeNotInSchema { .. } => "type-not-in-schema",
        Error::UnknownField { .. } => "unknown-field",
        Error::UnknownIndex { .. } => "unknown-index",
        Error::InvalidValue { source: EncodingError::InvalidReference { .. }, .. } => {
            "invalid-reference"
        }
        Error::InvalidValue { .. } => "invalid-value",
        Error::InvalidArgument { .. } => "illegal-argument",
        Error::OutOfRange { .. } => "index-out-of-range",
        Error::SchemaMismatch { .. } => "schema-mismatch",
        Error::Schema(error) => match error {
            SchemaError::NotAllowed { .. }
            | SchemaError::Removed { .. }
            | SchemaError::StorageIdConflict { .. } => "schema-mismatch",
            SchemaError::InUse { .. } | SchemaError::UnknownSchema(_) | SchemaError::Empty => {
                "illegal-argument"
            }
            SchemaError::Invalid(_) | SchemaError::Xml { .. } => "invalid-schema",
            _ => "inconsistent-database",
        },
        Error::Inconsistent { .. } | Error::InvalidObjectVersion { .. } => "inconsistent-database",
        Error::Listener(_) => "listener-failed",
        Error::Ended => "stale-transaction",
        Error::RollbackOnly => "rollback-only",
        Error::Unsupported(_) => "unsupported",
        _ => "other error",
    }
}
