//! The typed layer: structs as object types, handles on objects, typed queries.
//!
//! A struct with `#[derive(PermazenObject)]` describes an object type. A value of the struct holds
//! the plain data of one object. A [`Permazen`] is a database with a set of models;
//! [`Permazen::write`] and [`Permazen::read`] run transactions. Inside a transaction, copyable
//! handles ([`Obj`]) give access to objects. A [`Ref`] is a reference that outlives the
//! transaction. [`Tx::index`] queries an index, which a field constant such as `Person::NAME`
//! names.
//!
//! The modules from below: what models declare (`declare`, `model_info`); their fields, bound to a
//! recorded schema, and values of whole objects (`bound_fields`, `load`); all that is bound
//! (`binding`) and the transaction (`tx`); what references can refer to (`target`), and the fields
//! of one object (`handle`); models and their objects (`object_type`, `obj`). On these stand the
//! folders, each with the methods of `Tx` and of handles that belong to its subject. `bind` and
//! `attach` put all of it together for `permazen`.

mod any_obj;
mod attach;
mod bind;
pub(crate) mod binding;
mod bound_fields;
mod collection;
pub(crate) mod copy;
mod counter;
mod create;
pub(crate) mod declare;
mod earlier_schemas;
pub(crate) mod error;
pub(crate) mod evolution;
pub(crate) mod field_roles;
mod fields;
pub(crate) mod for_derive;
pub(crate) mod handle;
pub(crate) mod hook;
pub(crate) mod index;
pub(crate) mod kind;
pub(crate) mod load;
mod loader;
mod model_info;
mod model_set;
mod obj;
mod object_type;
mod objects;
pub(crate) mod path;
mod permazen;
mod reference;
pub(crate) mod rules;
#[cfg(feature = "serde")]
mod serde_forms;
pub(crate) mod stored_as;
pub(crate) mod target;
mod to_schema;
mod transaction;
mod tx;
pub(crate) mod values;
mod versioned;

pub use self::permazen::Permazen;
pub use self::permazen::builder::Builder;
pub use crate::object::{LoadProgress, MigrationEnd, NotMoved, Progress};
pub use crate::schema::DeleteAction;
pub use any_obj::AnyObj;
pub use collection::{ListOf, MapOf, SetOf};
pub use copy::{Cascade, Copy, Detached};
#[cfg(feature = "serde")]
pub use copy::{Graph, GraphError, Import};
pub use counter::CounterOf;
pub use error::{Error, Failure, ModelErrors, Result, is_retryable};
pub use evolution::{
    Evolution, EvolutionReport, EvolutionWarning, FieldReport, FieldVerdict, Loss, NeverCalled,
    NewValues, OldValues, Refusal, TypeReport, UpgradeAll, UpgradeReport, VersionReport,
};
pub use fields::{
    Composite, CounterField, Field, Indexed, ListField, MapField, MapKey, MapValue, MapValueKeys,
    Positions, SetField, Unindexed,
};
pub use hook::{
    Along, AnyChange, Change, Changed, Committed, Creation, Deletion, LeadsTo, ListChange,
    ListChanged, MapChange, MapChanged, Observed, ObserverId, SetChange, SetChanged, Subject,
    Watched, along, changes, creations, deletions,
};
pub use index::{
    ByKey, ByPosition, ByValue, Columns, CompositeIndex, FindBy, Index, IndexOn, Page, PageToken,
    PageTokenError, StoredAsString, Tuple, WhenPartial,
};
pub use kind::{Kind, Mixin, Source, With, Within};
pub use loader::Loader;
pub use model_set::ModelSet;
pub use obj::Obj;
pub use object_type::{Model, PlainData};
pub use objects::{Objs, ObjsIter, SetOfObjs};
pub use path::{Many, Meets, One, Path, Plurality, ReferenceField};
#[doc(no_inline)]
pub use permazen_kv::Retry;
pub use reference::{Any, Ref};
pub use rules::{CommitError, Rule, RulesReport, Validation, Violation, Violations};
pub use target::Target;
pub use transaction::Transaction;
pub use tx::Tx;
pub use values::{Counter, EncodeAs, EnumType};
pub use versioned::{Base, ChangedField, ChangedSince, Versioned};

// For generated code. Messages of the compiler name these traits, and find them here.
#[doc(hidden)]
pub use field_roles::{IsCounter, Referred, Stored};
#[doc(hidden)]
pub use hook::along::{BeginsAt, EndsAt, Includes, IsAtEndOf, TellsAllChangesAs};
#[doc(hidden)]
pub use hook::block::{HasHooks, Hooks, HooksOfModel};
#[doc(hidden)]
pub use hook::change::{IsAnyChangeOf, IsChangeOf};
#[doc(hidden)]
pub use hook::told::Returned;
#[doc(hidden)]
pub use hook::watched::{Checked, FromChange};
#[doc(hidden)]
pub use kind::{Becomes, KindMember};
#[doc(hidden)]
pub use path::MeetsHandle;
#[doc(hidden)]
pub use stored_as::{ByText, ByTryFrom, HeldFor, StoredAs};
