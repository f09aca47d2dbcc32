//! The typed layer: structs as object types, handles on objects, typed queries.
//!
//! A struct with `#[derive(PermazenObject)]` describes an object type. A value of the struct holds
//! the plain data of one object. A [`Permazen`] is a database with a set of models;
//! [`Permazen::write`] and [`Permazen::read`] run transactions. Inside a transaction, copyable
//! handles ([`Obj`]) give access to objects. A [`Ref`] is a reference that outlives the
//! transaction. [`Tx::index`] queries an index, which a field constant such as `Person::NAME`
//! names.

mod any_obj;
pub(crate) mod binding;
mod collection;
mod copy;
mod counter;
pub(crate) mod declare;
mod earlier_schemas;
mod error;
mod evolution;
pub(crate) mod field_roles;
mod fields;
pub(crate) mod for_derive;
pub(crate) mod handle;
pub(crate) mod hook;
pub mod hooks;
pub(crate) mod index;
pub(crate) mod kind;
pub(crate) mod load;
mod loader;
mod model_set;
mod obj;
mod objects;
mod path;
mod permazen;
pub(crate) mod rules;
#[cfg(feature = "serde")]
mod serde_forms;
mod stored_as;
pub(crate) mod target;
mod to_schema;
mod tx;
pub(crate) mod values;
mod versioned;

pub use self::permazen::{Builder, Permazen};
pub use crate::object::{LoadProgress, MigrationEnd, NotMoved, Progress};
pub use crate::schema::DeleteAction;
pub use any_obj::AnyObj;
pub use collection::{ListOf, MapOf, SetOf};
pub use copy::{Cascade, Copy, Detached};
#[cfg(feature = "serde")]
pub use copy::{Graph, GraphError, GraphObject, GraphValue, Import};
pub use counter::CounterOf;
pub use error::{Error, Failure, ModelError, ModelErrors, Result, is_retryable};
pub use evolution::{
    DeleteActionReport, Evolution, EvolutionReport, EvolutionWarning, FieldReport, FieldVerdict,
    IndexReport, Loss, NeverCalled, NewValues, ObjectCount, OldValues, Refusal, TypeReport,
    UpgradeAll, UpgradeReport, VersionReport,
};
pub use field_roles::{IsCounter, Referred, Stored};
pub use fields::{
    Composite, CounterField, Field, Indexed, ListField, MapField, MapKey, MapValue, MapValueKeys,
    Positions, SetField, Unindexed,
};
pub use hook::{
    Along, AnyChange, Change, Changed, Committed, Creation, Deletion, HookCall, ListChange,
    ListChanged, MapChange, MapChanged, Observed, ObserverId, SetChange, SetChanged, Watched,
    along, changes, creations, deletions,
};
pub use index::{
    ByKey, ByPosition, ByTuple, ByValue, Column, Column0, Column1, Column2, Column3, Column4,
    Columns, CompositeIndex, FindBy, HasColumn, Index, IndexOn, OnPartial, OpenAs, Page, PageToken,
    PageTokenError, StoredAsString, Tuple, TupleAs, WhenPartial,
};
#[doc(hidden)]
pub use kind::Becomes;
pub use kind::{Kind, KindMember, Mixin, Source, With, Within};
pub use loader::Loader;
pub use model_set::ModelSet;
pub use obj::Obj;
pub use objects::{Objs, ObjsIter, SetOfObjs};
#[doc(hidden)]
pub use path::MeetsHandle;
pub use path::{Many, Meets, One, Path, Plurality, ReferenceField};
pub use permazen_kv::Retry;
pub use rules::{CommitError, Rule, RulesReport, Validation, Violation, Violations};
pub use stored_as::{ByText, ByTryFrom, HeldFor, StoredAs};
pub use target::{Any, Model, PlainData, Ref, Target};
pub use tx::{Transaction, Tx};
pub use values::{Counter, EncodeAs, EnumType};
pub use versioned::{Base, ChangedField, ChangedSince, Versioned};
