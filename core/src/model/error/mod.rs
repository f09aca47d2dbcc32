//! Why the typed layer refused something.

mod about;
pub(in crate::model) mod causes;
mod debug;
mod from;
mod retryable;

use std::fmt;
use std::sync::Arc;

use permazen_kv::__internal::WithCauses;
use permazen_kv::KvError;

use crate::encoding::EncodingError;
use crate::id::ObjId;
use crate::model::evolution::{EvolutionReport, Refusal};
use crate::model::hook::{self, HookCall};
use crate::model::index::{PageTokenError, described};
use crate::model::rules::Violations;
use crate::model::versioned::ChangedSince;
use crate::object;
use crate::schema::{SchemaError, SchemaId};

pub(in crate::model) use about::{About, about};
pub(in crate::model) use retryable::says_retryable;
pub use retryable::{Failure, is_retryable};

/// Result of an operation of the typed layer.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something was refused. Unless the documentation of an operation says otherwise, a refused
/// operation has changed nothing.
///
/// The text has those of the causes, so a chain of sources shows no text twice:
/// [`source`](std::error::Error::source) does not return the causes that are in the text. The
/// causes themselves are in the fields.
///
/// `?` turns every error of this crate and of its stores into this one. A `main` that returns it
/// prints it for people, because `{:?}` is the text of the error with its causes; `{:#?}` shows its
/// parts.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An object operation was refused, or the store failed.
    #[error(transparent)]
    Object(object::Error),
    /// Text or bytes are no value, for example no object ID.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// The models contradict themselves or each other.
    #[error("invalid model: {0}")]
    Models(ModelErrors),
    /// The database has other schemas than the models describe, and a new one may not be recorded.
    #[error(
        "the models differ from the schema recorded in the database: {differences}; change the models, or allow new \
         schemas (if their schema was recorded before, no object used it and a program with other models removed it, \
         unless all of them open the database with SchemaRemoval::Never)"
    )]
    SchemaDiffers {
        /// The differences.
        differences: String,
    },
    /// A model was used that was not registered when the database was opened.
    #[error(
        "object type {type_name} is not registered: call `.model::<{type_name}>()` when building the database"
    )]
    NotRegistered {
        /// The name of the object type.
        type_name: &'static str,
    },
    /// There is no object of a singleton type, and the transaction cannot make it.
    #[error(
        "there is no {type_name} yet, and this transaction is for reading, so it does not make it: use \
         `find_singleton`, which only looks, or call `singleton` in one that writes first (`write` or `begin`)"
    )]
    NoSingleton {
        /// The name of the object type.
        type_name: &'static str,
    },
    /// An object has another type than the one asked for.
    #[error("{} is not of type {expected}; use the type it has, or the untyped access", named(.found, .id))]
    WrongType {
        /// The object.
        id: ObjId,
        /// The name of its type; `None` if no recorded schema has the type.
        found: Option<Arc<str>>,
        /// The type asked for.
        expected: &'static str,
    },
    /// A field refers to an object of a type that the model does not allow there. The object that
    /// has the field may be in a schema that allows it.
    #[error(
        "{field} of object {id}, which is in schema {schema}, refers to object {target} of type {target_type}, where \
         the model expects {expected}: read the reference with `get` and the constant of the field and follow it with \
         `tx.any`, set the field, or let the field of the model refer to this type too"
    )]
    WrongTarget {
        /// Type and field.
        field: String,
        /// The object that has the field.
        id: ObjId,
        /// The schema in which it is.
        schema: SchemaId,
        /// The object it refers to.
        target: ObjId,
        /// The type of that object.
        target_type: String,
        /// The type that the model expects.
        expected: &'static str,
    },
    /// A stored value does not fit the type in the struct.
    #[error("{field} of object {id}: {}", WithCauses(source))]
    Decode {
        /// Type and field.
        field: String,
        /// The object.
        id: ObjId,
        /// The problem with the value.
        r#source: EncodingError,
    },
    /// A given value does not fit the field.
    #[error("{field}: {}", WithCauses(source))]
    Encode {
        /// Type and field.
        field: String,
        /// The problem with the value.
        r#source: EncodingError,
    },
    /// A value could not be converted between the type in the struct and the stored type
    /// (`with = …`).
    #[error("{field}: the value cannot be converted: {}", WithCauses(&**source))]
    Convert {
        /// Type and field.
        field: String,
        /// Why.
        r#source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An object does not move to the schema of the models, because values would be lost. It stays
    /// in its schema, and operations that need no move work there.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// An own conversion failed. The object stays in its schema.
    #[error(
        "{field} of object {id}: its own conversion from schema {schema}{} failed: {}; the object stays there: \
         let the conversion handle this, or give the field a value",
        of_value(.value),
        WithCauses(&**source)
    )]
    Upgrade {
        /// The type, and the field if the conversion is that of a field.
        field: String,
        /// The object.
        id: ObjId,
        /// The schema in which the object is.
        schema: SchemaId,
        /// The value of that field there as text, escaped and shortened; `None` if the conversion
        /// is that of the type, or the object has no value in a field of this name.
        value: Option<String>,
        /// The error of the conversion.
        r#source: Box<Error>,
    },
    /// An object lacks a value that the model requires: its schema lacks the field, or the value is
    /// null there.
    #[error("{field} of object {id}{}", missing(.schema, *.is_null, *.is_new))]
    Missing {
        /// Type and field.
        field: String,
        /// The object.
        id: ObjId,
        /// The schema in which the object is.
        schema: SchemaId,
        /// Whether that is the schema of the models. Then the value is null there, as that of a new
        /// object is until it gets its values.
        is_null: bool,
        /// Whether the object is just being created: this is the error of an `#[on_create]` hook,
        /// or an observer of creations, which is called before the object gets its values.
        is_new: bool,
    },
    /// A collection contains null, but the type of its elements, keys or values in the struct is no
    /// `Option`. Another program or access by name has put it there.
    #[error(
        "{field} of object {id} contains null, but its type in the struct does not: remove or replace the null by \
         name (`tx.core()`, for example `tx.core().list_view(…)`), or replace all of it, or declare an `Option` there"
    )]
    NullInside {
        /// Type and field.
        field: String,
        /// The object.
        id: ObjId,
    },
    /// Models were refused because stored objects would lose values or lack required ones
    /// ([`Builder::strict`](crate::Builder::strict)). The database is untouched.
    #[error("the models are refused, because stored objects would not fit them (`strict`): {}", join(.0.warnings()))]
    WouldLose(Box<EvolutionReport>),
    /// A value that was loaded earlier is not stored, because another transaction has changed the
    /// same fields since.
    #[error("{0}")]
    ChangedSince(Box<ChangedSince>),
    /// Plain data cannot be imported as objects, or objects not exported as plain data.
    #[cfg(feature = "serde")]
    #[error(transparent)]
    Graph(#[from] crate::model::copy::GraphError),
    /// The objects of a graph cannot have its IDs in this database, because its object types have
    /// other storage IDs here, and IDs begin with these.
    #[error(
        "the objects of the graph cannot have their IDs in this database: {reason}; {}",
        KEEP_IDS
    )]
    GraphIds {
        /// The contradiction to the graph.
        reason: String,
    },
    /// Bytes are not the [`Base`](crate::Base) of an object of this model.
    #[error(
        "what an object contained when it was loaded cannot be used: {reason}; load the object again"
    )]
    DamagedBase {
        /// The problem.
        reason: String,
    },
    /// A query cannot continue at a page token.
    #[error(transparent)]
    PageToken(#[from] PageTokenError),
    /// Objects of other recorded schemas have no entries in an index. The query would not find
    /// them.
    #[error("{}", described(.index, .type_name, *.missing, .schemas, .immovable.as_deref()))]
    PartialIndex {
        /// The index.
        index: String,
        /// The type of the objects; several are joined with `and`.
        type_name: String,
        /// How many objects there are. 1,000 means at least 1,000.
        missing: usize,
        /// The schemas in which they are.
        schemas: Vec<SchemaId>,
        /// Why the first of them cannot move; `None` if it can.
        immovable: Option<Box<Error>>,
    },
    /// Several types share an index of map values, and their maps have keys of different types. A
    /// query of all types cannot show the keys.
    #[error(
        "index {index} also has the values of maps of type {type_name}, whose keys have another type: query them \
         without keys (leave out `with_keys()`), or leave them out with `allow_partial()`"
    )]
    OtherKeys {
        /// The index.
        index: String,
        /// The type whose maps have other keys.
        type_name: String,
    },
    /// Objects break rules of their models. An operation that is checked at its end
    /// ([`Validation::Early`](crate::Validation::Early)) was undone. Otherwise the objects are as
    /// they were, and nothing was committed.
    #[error("{0}")]
    Invalid(Violations),
    /// A hook or an observer failed. The operation that caused its call was undone. Or a function
    /// that checks objects got an error of this crate that is no verdict: it is about the store or
    /// [about versions](Error::is_about_versions).
    #[error("{hook} of object {object} failed{}: {}", hook::failed(.calls), WithCauses(&**source))]
    Hook {
        /// The hook, `Person::aged`, what an observer observes, or what a function checks,
        /// `Person.age`.
        hook: String,
        /// The object for which it was called.
        object: ObjId,
        /// The calls of hooks that led to this one, the first one first. Each made the change for
        /// which the next one was called.
        #[doc(hidden)]
        calls: Vec<HookCall>,
        /// The error that it has returned, or the limit of calls that it exceeds.
        r#source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A load failed ([`Loader::finish`](crate::model::Loader::finish)), and the pairs that it had
    /// written could not be removed. The store can be refused as one that is being loaded.
    #[error(
        "{}; what was loaded could not be taken back ({undo}): if the database is refused, remove the store and \
         load it again",
        WithCauses(&**source)
    )]
    LoadNotUndone {
        /// Why the load failed.
        r#source: Box<Error>,
        /// Why it could not be taken back.
        undo: Box<KvError>,
    },
    /// An error of the application, made by [`Error::other`].
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// How the objects of a graph can have the same IDs elsewhere, or what to do instead.
pub(in crate::model) const KEEP_IDS: &str = "import with new IDs (`Import::new_ids`); or, to keep the IDs, into a new database that is opened with \
     `Builder::schemas_of`, which records the schemas of the graph before those of the models; or copy the whole \
     database (`permazen copy`, `backup`, or `save --storage-ids` and `load`)";

impl Error {
    /// Makes an error of the application, which ends a transaction.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Error::Other(error.into())
    }
}

impl From<ModelErrors> for Error {
    fn from(errors: ModelErrors) -> Self {
        Error::Models(errors)
    }
}

impl From<KvError> for Error {
    fn from(error: KvError) -> Self {
        Error::Object(error.into())
    }
}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Self {
        Error::Object(error.into())
    }
}

impl From<object::Error> for Error {
    /// Why the typed layer does not move an object, which rules are broken, and the error of a
    /// hook, are returned as they are, not as the error of a listener.
    fn from(error: object::Error) -> Self {
        match error {
            object::Error::MoveRefused(cause) => match cause.downcast() {
                Ok(own) if matches!(*own, Error::Upgrade { .. } | Error::Refused(_)) => *own,
                Ok(others) => Error::Object(object::Error::MoveRefused(others)),
                Err(cause) => Error::Object(object::Error::MoveRefused(cause)),
            },
            object::Error::RulesBroken(cause) => match cause.downcast() {
                Ok(own) => *own,
                Err(cause) => Error::Object(object::Error::RulesBroken(cause)),
            },
            object::Error::Hook(cause) => match cause.downcast() {
                Ok(own) => *own,
                Err(cause) => Error::Object(object::Error::Hook(cause)),
            },
            error => Error::Object(error),
        }
    }
}

/// Everything that is wrong with a set of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelErrors(pub(crate) Vec<ModelError>);

impl ModelErrors {
    /// The problems, one by one.
    #[doc(hidden)]
    pub fn iter(&self) -> impl Iterator<Item = &ModelError> {
        self.0.iter()
    }
}

impl std::error::Error for ModelErrors {}

/// `Dog 4b1e…`, or `object 4b1e…` if its type is not known.
fn named(type_name: &Option<Arc<str>>, id: &ObjId) -> String {
    format!("{} {id}", type_name.as_deref().unwrap_or("object"))
}

/// ` of the value "17"`, or nothing.
fn of_value(value: &Option<String>) -> String {
    value.as_ref().map_or(String::new(), |value| format!(" of the value {value}"))
}

/// Why a required value is missing, and what to do.
fn missing(schema: &SchemaId, is_null: bool, is_new: bool) -> String {
    if is_new {
        " has no value, but the model requires one: set it, or make it an `Option`; the values of a new object follow \
         as changes after its `#[on_create]`: see them in `#[on_change]`"
            .to_owned()
    } else if is_null {
        format!(
            " has no value, but the model requires one: it is null, and the object is in schema {schema}, that of the \
             models: set it, or make it an `Option`; `default = …` does not help, because it is only for new objects \
             and those whose schema lacks the field"
        )
    } else {
        format!(
            ": the object is in schema {schema} and has no value there, but the model requires one: if a newer program \
             has renamed the field, name the newer field: `was = …`; if it has split the field, make the value from \
             the newer fields: `upgrade_with = …`; if not, set the field, make it an `Option`, or, if that schema \
             lacks the field, give it `default = …`"
        )
    }
}

/// The items as text, with semicolons between them.
fn join(items: impl Iterator<Item = impl fmt::Display>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for ModelErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&join(self.0.iter()))
    }
}

/// One problem of a model, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// `Person`, `Person.friends` or `Person.friends.element`.
    pub path: String,
    /// The problem.
    pub problem: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.problem)
    }
}
