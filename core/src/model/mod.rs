//! The typed layer: structs as object types, handles on objects, typed queries.
//!
//! A struct with `#[derive(PermazenObject)]` describes an object type. A value of the struct holds
//! the plain data of one object. A [`Permazen`] is a database with a set of models;
//! [`Permazen::write`] and [`Permazen::read`] run transactions. Inside a transaction, copyable
//! handles ([`Obj`]) give access to objects. A [`Ref`] is a reference that outlives the
//! transaction. [`Tx::index`] queries an index, which a field constant such as `Person::NAME`
//! names.

mod any_obj;
mod base;
mod binding;
mod changed_since;
mod collection;
pub(crate) mod composite;
mod counter;
mod coverage;
pub(crate) mod declare;
mod differences;
mod error;
mod evolution_report;
mod field_conversion;
mod fields;
pub(crate) mod for_derive;
pub(crate) mod handle;
mod in_place;
pub(crate) mod index;
pub(crate) mod load;
mod obj;
mod objects;
mod old_values;
mod owned_transaction;
mod partial;
mod permazen;
mod plan;
mod refusal;
pub(crate) mod target;
mod to_schema;
mod tx;
mod upgrade;
mod upgrade_all;
pub(crate) mod values;
mod verdict;
mod versioned;

pub use self::permazen::{Builder, Permazen};
pub use crate::schema::DeleteAction;
pub use any_obj::AnyObj;
pub use base::Base;
pub use changed_since::{ChangedField, ChangedSince};
pub use collection::{ListOf, MapOf, SetOf};
pub use composite::{ByTuple, CompositeIndex};
pub use counter::CounterOf;
pub use error::{Error, Failure, ModelError, ModelErrors, Result, is_retryable};
pub use evolution_report::{
    EvolutionReport, EvolutionWarning, FieldReport, FieldVerdict, IndexReport, ObjectCount,
    TypeReport, VersionReport,
};
pub use fields::{
    Composite, CounterField, Field, Indexed, ListField, MapField, MapKey, MapValue, MapValueKeys,
    Positions, SetField, Unindexed,
};
pub use index::{ByKey, ByPosition, ByValue, Index, IndexOn};
pub use obj::Obj;
pub use objects::{Objs, ObjsIter};
pub use old_values::{NewValues, OldValues};
pub use partial::{OnPartial, OpenAs, WhenPartial};
pub use permazen_kv::Retry;
pub use refusal::{Loss, Refusal};
pub use target::{Any, Model, Ref, Target};
pub use tx::{Transaction, Tx};
pub use upgrade::Evolution;
pub use upgrade_all::{NotMoved, Progress, UpgradeAll, UpgradeEnd, UpgradeReport};
pub use values::{Counter, EncodeAs, EnumType};
pub use versioned::Versioned;
