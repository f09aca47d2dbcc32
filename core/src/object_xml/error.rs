//! Errors of object XML.

use permazen_kv::__internal::WithCauses;

use crate::encoding::EncodingError;
use crate::id::ObjId;
use crate::object::{self, MissingTargets};
use crate::schema::SchemaError;
use crate::xml::{Fault, Position};

/// Why objects could not be written as XML or read from it. Lines and columns start with 1, and
/// columns count characters. They say where the tag or text with the error begins.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectXmlError {
    /// The document is not well-formed, or it is not a document of objects.
    #[error("object XML, line {line}, column {column}: {message}")]
    Document {
        /// Line.
        line: u64,
        /// Column.
        column: u64,
        /// The problem there.
        message: String,
    },
    /// A text, or null, is not a value of its field.
    #[error(
        "object XML, line {line}, column {column}: invalid value {text} for field {field:?}: {}",
        WithCauses(source)
    )]
    Value {
        /// Line.
        line: u64,
        /// Column.
        column: u64,
        /// The full name of the field.
        field: String,
        /// The text in quotes, possibly shortened, or `null`.
        text: String,
        /// The problem with it.
        r#source: EncodingError,
    },
    /// A schema of the document is invalid, or contradicts the database.
    #[error("object XML, line {line}, column {column}: {}", WithCauses(source))]
    Schema {
        /// Line.
        line: u64,
        /// Column.
        column: u64,
        /// The problem with it.
        r#source: SchemaError,
    },
    /// An object cannot be put into the database.
    #[error("object XML, line {line}, column {column}: object {id}: {}", WithCauses(source))]
    Object {
        /// Line.
        line: u64,
        /// Column.
        column: u64,
        /// The object.
        id: ObjId,
        /// Why not.
        r#source: object::Error,
    },
    /// The document refers to objects that are neither in it nor in the database.
    #[error(
        "{} unresolved reference(s) remain{}: add the objects, or allow unresolved references",
        .targets.len(), FirstMissing(.targets)
    )]
    Unresolved {
        /// The missing objects, each with the full name of a field that refers to it.
        targets: MissingTargets,
    },
    /// The text form of a value has a character that XML documents cannot contain. The text forms
    /// of built-in encodings do not have such characters.
    #[error(
        "object {id}, field {field:?}: text contains invalid XML character {character:#x} at offset \
         {offset}; the encoding must escape it in its texts"
    )]
    Character {
        /// The object.
        id: ObjId,
        /// The full name of the field.
        field: String,
        /// The code point.
        character: u32,
        /// How many characters come before it.
        offset: usize,
    },
    /// A value has no text that is read back as the same value, neither here nor by Permazen for
    /// Java. [`with_encoded_values`](super::ObjectXmlWriter::with_encoded_values) writes such
    /// values.
    #[error(
        "object {id}, field {field:?}: the value {} has no text that is read back as the same \
         value; give it another value, or write the document with encoded values, which Permazen \
         for Java does not read", permazen_kv::Hex(.encoded)
    )]
    NoText {
        /// The object.
        id: ObjId,
        /// The full name of the field.
        field: String,
        /// The encoded value.
        encoded: Box<[u8]>,
    },
    /// The document could not be read or written.
    #[error("object XML could not be transferred: {}", WithCauses(.0))]
    Io(std::io::Error),
    /// The transaction failed, but not because of the document.
    #[error(transparent)]
    Transaction(#[from] object::Error),
}

impl From<std::io::Error> for ObjectXmlError {
    fn from(error: std::io::Error) -> Self {
        ObjectXmlError::Io(error)
    }
}

pub(super) type Result<T> = std::result::Result<T, ObjectXmlError>;

impl ObjectXmlError {
    /// Whether it may help to run the whole transaction again.
    pub fn is_retryable(&self) -> bool {
        match self {
            ObjectXmlError::Schema { source, .. } => source.is_retryable(),
            ObjectXmlError::Object { source, .. } => source.is_retryable(),
            ObjectXmlError::Transaction(error) => error.is_retryable(),
            _ => false,
        }
    }

    pub(super) fn document((line, column): Position, message: impl Into<String>) -> Self {
        ObjectXmlError::Document { line, column, message: message.into() }
    }

    /// The error for a fault. Its place is `tag_at`, where the last tag began, unless the fault
    /// says another.
    pub(super) fn from_fault(fault: Fault, tag_at: Position) -> Self {
        match fault {
            Fault::Document { at, message } => Self::document(at.unwrap_or(tag_at), message),
            Fault::Io(error) => ObjectXmlError::Io(error),
        }
    }
}

struct FirstMissing<'a>(&'a MissingTargets);

impl std::fmt::Display for FirstMissing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.first_key_value() {
            Some((target, field)) => {
                write!(f, ", one to object {target} in field {:?}", &**field)
            }
            None => Ok(()),
        }
    }
}
