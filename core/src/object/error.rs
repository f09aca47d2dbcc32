//! Why an object operation was refused.

use std::fmt;
use std::sync::{Arc, OnceLock};

use permazen_kv::__internal::WithCauses;
use permazen_kv::{Hex, KvError};

use crate::encoding::{EncodingError, EncodingId};
use crate::id::ObjId;
use crate::schema::{ResolvedSimple, SchemaError, SchemaId};

/// Result of an object operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an object operation was refused. A refused operation has changed nothing, unless it failed
/// when listeners were called after the change (see [`Transaction`](super::Transaction)).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key/value store failed.
    #[error("{}{}", Prefix(.of), WithCauses(source))]
    Kv {
        /// The object, and the field if the failure was about one; empty if that is not known.
        of: String,
        /// The error of the store.
        r#source: KvError,
    },
    /// A schema is invalid, not allowed, unknown or in use, or the recorded schemas are damaged.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The object does not exist. Or a reference may not be set to it because it does not exist.
    #[error("{}{} does not exist", Prefix(.attempted), Named(.type_name, *.id))]
    DeletedObject {
        /// The object.
        id: ObjId,
        /// The name of its type; `None` if no recorded schema has the type.
        type_name: Option<Arc<str>>,
        /// The attempted operation; empty if it is clear.
        attempted: String,
    },
    /// The object cannot be deleted because another one refers to it.
    #[error(
        "{}{} cannot be deleted: {} refers to it through {full_name:?}, which forbids it{}",
        AskedFor(&.of.asked_for), Named(.type_name, *.id), Named(.referrer_type, *.referrer), Forbidden(&.of.other_rule)
    )]
    ReferencedObject {
        /// The object to delete.
        id: ObjId,
        /// The name of its type; `None` if no recorded schema has the type.
        type_name: Option<Arc<str>>,
        /// An object that refers to it.
        referrer: ObjId,
        /// The name of the type of that object; `None` if no recorded schema has the type.
        referrer_type: Option<Arc<str>>,
        /// The field's own name: `element`, `key` or `value` for a sub-field.
        field: Arc<str>,
        /// The field's full name, `friends.element`.
        full_name: Arc<str>,
        /// Where it is forbidden, and for which deletion.
        #[doc(hidden)]
        of: Box<RefusedDeletion>,
    },
    /// There is no such object type in the schema, or in any recorded schema.
    #[error(
        "object type {name} is not known{}; check the name, or open the database with a schema that has it",
        InSchema(.schema)
    )]
    UnknownType {
        /// Its name, or `#n` for storage ID n.
        name: String,
        /// The schema that was searched; `None` means all recorded ones.
        schema: Option<SchemaId>,
    },
    /// The object cannot be moved to a schema that lacks its type.
    #[error(
        "{type_name} {id} cannot be moved to schema {schema}, which has no such object type; delete \
         the object, or use a schema with that type"
    )]
    TypeNotInSchema {
        /// The object.
        id: ObjId,
        /// Its type.
        type_name: String,
        /// The schema.
        schema: SchemaId,
    },
    /// There is no such field, or its kind is not the one that the operation needs.
    #[error(
        "{}field {field} is not known, or is of another kind; check the name and what the schema says of it",
        OfType(.type_name)
    )]
    UnknownField {
        /// The object type that was searched, if it was one.
        type_name: Option<String>,
        /// The field's name, or `#n` for storage ID n. The kind of the field, or a similar name,
        /// may follow.
        field: String,
    },
    /// There is no such index, or its shape is not the one that the operation needs.
    #[error(
        "index {name} is not known, or has another shape; check the name and the fields, or add it to \
         the schema"
    )]
    UnknownIndex {
        /// Its name, or `#n` for storage ID n.
        name: String,
    },
    /// The object may not move to the schema of the transaction, and has not moved.
    #[error(transparent)]
    MoveRefused(Box<dyn std::error::Error + Send + Sync>),
    /// An own conversion, or a listener to the objects that it created, used the object that was
    /// being moved to another schema. It has not moved.
    #[error(
        "object {id} has not moved to another schema: its own conversion, or a listener, moved, changed or deleted it \
         meanwhile; use only the old values there"
    )]
    ChangedAsMoved {
        /// The object.
        id: ObjId,
    },
    /// The transaction is for reading only.
    #[error(
        "this transaction is for reading, so what it writes would be lost; use one that writes (`write` or \
         `begin`)"
    )]
    ReadOnly,
    /// Stored bytes contradict the schema or each other.
    #[error("inconsistent database: {what}")]
    Inconsistent {
        /// The contradiction, with the object, field and key.
        what: String,
    },
    /// An object has a schema that is not recorded.
    #[error(
        "inconsistent database: object {id} is of schema {index}, which is not recorded; check and \
         repair the database"
    )]
    InvalidObjectVersion {
        /// The object.
        id: ObjId,
        /// The schema index of the object.
        index: u32,
    },
    /// The field cannot hold the value.
    #[error("invalid value for {field}: {}", WithCauses(source))]
    InvalidValue {
        /// The field, and the object if there is one.
        field: String,
        /// The problem with the value. [`EncodingError::InvalidReference`] if it refers to an
        /// object of a type that the field does not allow.
        r#source: EncodingError,
    },
    /// The operation needs to understand values of an encoding that is not registered. Only
    /// databases that carry unknown encodings
    /// ([`Database::unknown_encodings`](super::Database::unknown_encodings)) have such fields.
    #[error("{of}: {why}, because encoding {encoding} is not registered; register it first")]
    UnknownEncoding {
        /// The field or index.
        of: String,
        /// The operation that is impossible.
        why: &'static str,
        /// The encoding.
        encoding: EncodingId,
    },
    /// A key of the field or its index would be longer than the store allows.
    #[error(
        "{}key {key} of {len} bytes is longer than the {limit} bytes this store takes; store a shorter \
         value, or one that is in no index, set or map key",
        Prefix(.of)
    )]
    KeyTooLong {
        /// Object and field; empty if unknown.
        of: String,
        /// The first bytes of the key, in hex.
        key: String,
        /// Its length.
        len: usize,
        /// The length of the longest key that the store allows.
        limit: usize,
    },
    /// The position is outside of the list.
    #[error("{}position {index} is outside of the list of size {size}", Prefix(.of))]
    OutOfRange {
        /// Object and field.
        of: String,
        /// The position.
        index: i64,
        /// The size of the list.
        size: u32,
    },
    /// A collection was changed after the elements to remove or replace were chosen. Nothing was
    /// removed or replaced.
    #[error(
        "{of} was changed since it was read, so nothing was removed or replaced; make other changes of it \
         before or after"
    )]
    ChangedMeanwhile {
        /// Object and field.
        of: String,
    },
    /// The source and the destination of a copy do not fit together.
    #[error("{what}")]
    SchemaMismatch {
        /// The mismatch.
        what: String,
    },
    /// Another bad argument.
    #[error("{what}")]
    InvalidArgument {
        /// The problem.
        what: String,
    },
    /// An index entry of an object of another schema has a value that the queried index cannot
    /// have, such as an enum constant that was added later.
    #[error(
        "object {id} stands in index {index} with the value {value:?}, which it has in its own schema and which the \
         queried index does not know; add the value to the model, or leave such entries out with `skip_unknown()`"
    )]
    UnknownValue {
        /// The object.
        id: ObjId,
        /// The index in which the entry is.
        index: String,
        /// The value as text.
        value: String,
    },
    /// The listeners were installed as a set. None can be added or removed.
    #[error("the listeners of this transaction were installed as a set; change that set instead")]
    ListenersInstalled,
    /// No free object ID was found.
    #[error(
        "no free id for a new object of type {type_name:?} after {attempts} attempts; give its id, or \
         the type a storage id of fewer bytes"
    )]
    NoFreeId {
        /// The type.
        type_name: String,
        /// How many were tried.
        attempts: u32,
    },
    /// A listener or callback failed. The change for which the listener was called stays. Listeners
    /// to deletions are called before the deletion, and their failure prevents it.
    #[error("a listener failed: {}", WithCauses(&**.0))]
    Listener(Box<dyn std::error::Error + Send + Sync>),
    /// Objects break rules of the layer above, or these cannot be checked. The error says what
    /// happened: an operation that is checked at its end was undone; after `commit`, everything was
    /// rolled back.
    #[error(transparent)]
    RulesBroken(Box<dyn std::error::Error + Send + Sync>),
    /// A hook of a model failed. The operation that caused its call was undone.
    #[error(transparent)]
    Hook(Box<dyn std::error::Error + Send + Sync>),
    /// The temporary file of a bulk load cannot be made, written or read.
    #[error(
        "sorting what is loaded failed: {}; check the directory for temporary files and its free space",
        WithCauses(.0)
    )]
    TemporaryFile(std::io::Error),
    /// The operating system gave no random bytes.
    #[error("no random bytes from the operating system: {}", WithCauses(.0))]
    Random(std::io::Error),
    /// This transaction does not support the operation.
    #[error("{0} is not possible")]
    Unsupported(&'static str),
    /// The transaction has ended, or is ending.
    #[error("the transaction has ended; begin a new one")]
    Ended,
    /// The transaction was marked for rollback, and was rolled back.
    #[error("the transaction was marked to be rolled back, and was; run it again without that")]
    RollbackOnly,
    /// A write failed and could not be undone, or a panic left an operation in the middle, so the
    /// content of the transaction is unknown.
    #[error(
        "an earlier failure or panic could not be undone; roll back and run the transaction again"
    )]
    Broken,
    /// A write was attempted while bytes borrowed from the same transaction were being read.
    #[error(
        "the transaction cannot be changed while bytes borrowed from it are in use; change it after \
         the closure that reads them"
    )]
    Busy,
}

struct Prefix<'a>(&'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", self.0) }
    }
}

/// `Person 4b1e…`, or `object 4b1e…` if its type is not known.
pub(crate) struct Named<'a>(pub(crate) &'a Option<Arc<str>>, pub(crate) ObjId);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.as_deref().unwrap_or("object"), self.1)
    }
}

/// More about a deletion that is refused ([`Error::ReferencedObject`]).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedDeletion {
    /// The schema of the referring object, if the transaction's schema has another rule for the
    /// field, which does not forbid the deletion. That rule applies when the object has moved.
    pub other_rule: Option<SchemaId>,
    /// The object whose deletion was asked for, and the name of its type, if the one that cannot be
    /// deleted had to go with it.
    pub asked_for: Option<(ObjId, Option<Arc<str>>)>,
}

/// The object whose deletion was asked for, if another one forbids it.
struct AskedFor<'a>(&'a Option<(ObjId, Option<Arc<str>>)>);

impl fmt::Display for AskedFor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some((id, type_name)) => {
                write!(f, "{} cannot be deleted, because ", Named(type_name, *id))?;
                f.write_str("what has to go with it cannot: ")
            }
        }
    }
}

/// Where a deletion is forbidden, if another schema does not forbid it, and what to do.
struct Forbidden<'a>(&'a Option<SchemaId>);

impl fmt::Display for Forbidden<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("; delete that object or change the reference first"),
            Some(schema) => write!(
                f,
                " in schema {schema}, where that object is; the transaction's schema does not forbid it, but applies \
                 only when the object has moved there: move it (`migrate`, `upgrade_all`), delete it, or change the \
                 reference first"
            ),
        }
    }
}

struct InSchema<'a>(&'a Option<SchemaId>);

impl fmt::Display for InSchema<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(schema) => write!(f, " in schema {schema}"),
            None => Ok(()),
        }
    }
}

struct OfType<'a>(&'a Option<String>);

impl fmt::Display for OfType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "object type {name:?}: "),
            None => Ok(()),
        }
    }
}

impl Error {
    /// Whether running the whole transaction again may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Kv { source, .. } => source.is_retryable(),
            Error::Schema(error) => error.is_retryable(),
            Error::Listener(error)
            | Error::MoveRefused(error)
            | Error::RulesBroken(error)
            | Error::Hook(error) => first_to_say(&**error, says_retryable),
            _ => false,
        }
    }

    /// Whether a commit has failed, and it is not known whether it took effect.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Error::Kv { source, .. } if source.is_outcome_unknown())
    }

    /// Whether the error is about the transaction or the store, and not about the object that was
    /// to be changed.
    pub(crate) fn ends_transaction(&self) -> bool {
        use Error::{Broken, Busy, Ended, Kv, Random, ReadOnly, RollbackOnly, Schema, Unsupported};
        matches!(
            self,
            Kv { .. }
                | Schema(_)
                | ReadOnly
                | Random(_)
                | Unsupported(_)
                | Ended
                | RollbackOnly
                | Broken
                | Busy
        ) || self.is_retryable()
    }

    /// An error raised by a listener or callback.
    pub fn listener(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Error::Listener(error.into())
    }

    pub(crate) fn temporary_file(error: std::io::Error) -> Self {
        Error::TemporaryFile(error)
    }

    pub(crate) fn inconsistent(what: impl Into<String>) -> Self {
        Error::Inconsistent { what: what.into() }
    }

    /// An error saying that the default value of a field is needed but unknown.
    #[cold]
    pub(crate) fn unknown_default(of: String, simple: &ResolvedSimple) -> Self {
        let why = "nothing is stored for it, and its default value is not known";
        match simple.encoding.id() {
            Some(id) if simple.is_opaque() => {
                Error::UnknownEncoding { of, why, encoding: id.clone() }
            }
            _ => Error::inconsistent(format!("{of} has no value, and its encoding no default")),
        }
    }

    pub(crate) fn invalid_argument(what: impl Into<String>) -> Self {
        Error::InvalidArgument { what: what.into() }
    }

    /// Adds to the error the object, and the field if it is about one, for which a key was too long
    /// or the store failed, unless the error already names it.
    #[cold]
    pub(crate) fn about(mut self, describe: impl FnOnce() -> String) -> Self {
        if let Error::KeyTooLong { of, .. } | Error::Kv { of, .. } = &mut self
            && of.is_empty()
        {
            *of = describe();
        }
        self
    }
}

/// The error for a key that is longer than the store can hold.
pub(crate) fn key_too_long(key: &[u8], limit: usize) -> Error {
    Error::KeyTooLong { of: String::new(), key: hex(key, 32), len: key.len(), limit }
}

/// The answer of the first of an error and its sources that has one; false if none has.
pub(crate) fn first_to_say(
    error: &(dyn std::error::Error + 'static),
    says: impl FnMut(&(dyn std::error::Error + 'static)) -> Option<bool>,
) -> bool {
    let errors = std::iter::successors(Some(error), |error| error.source());
    errors.filter_map(says).next().unwrap_or(false)
}

/// Whether an error permits to run the transaction again; `None` if it is no error of this layer,
/// of the store or of the layer above.
fn says_retryable(error: &(dyn std::error::Error + 'static)) -> Option<bool> {
    let own = error.downcast_ref::<Error>().map(Error::is_retryable);
    own.or_else(|| error.downcast_ref::<KvError>().map(KvError::is_retryable))
        .or_else(|| ABOVE.get().and_then(|says| says(error)))
}

/// Says of an error of the layer above whether running the transaction again may help; `None` of
/// other errors.
type SaysRetryable = fn(&(dyn std::error::Error + 'static)) -> Option<bool>;

static ABOVE: OnceLock<SaysRetryable> = OnceLock::new();

/// Hooks and listeners fail with errors of the layer above, whose causes are not their sources. So
/// that layer says what its errors are.
pub(crate) fn errors_above(says_retryable: SaysRetryable) {
    ABOVE.get_or_init(|| says_retryable);
}

impl From<KvError> for Error {
    fn from(source: KvError) -> Self {
        Error::Kv { of: String::new(), source }
    }
}

/// Bytes as lower-case hex, at most the first `limit` of them.
pub(crate) fn hex(bytes: &[u8], limit: usize) -> String {
    match bytes.get(..limit) {
        Some(shown) if shown.len() < bytes.len() => format!("{}…", Hex(shown)),
        _ => Hex(bytes).to_string(),
    }
}
