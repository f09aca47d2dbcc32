//! An object database over any ordered key/value store, compatible byte for byte with Permazen for
//! Java.
//!
//! Structs are object types. Objects have identity and refer to each other. The database keeps
//! indexes on their fields and collections, leaves no dangling references unless a field allows
//! them, and notices when a struct has changed. There is no query language: a query is Rust code
//! over typed, sorted indexes.
//!
//! ```
//! use permazen::{Permazen, PermazenObject, Ref, kv::memory::MemoryStore};
//!
//! #[derive(PermazenObject, Default, Debug)]
//! #[permazen(composite(name = "byNameAge", fields(name, age)))]
//! struct Person {
//!     #[permazen(indexed)]
//!     name: String,
//!     age: i32,
//!     #[permazen(inverse_delete = "nullify")]
//!     boss: Option<Ref<Person>>,
//!     #[permazen(element(indexed))]
//!     tags: Vec<String>,
//! }
//!
//! let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
//! let ann = db.write(|tx| {
//!     let ann = tx.create(Person { name: "Ann".into(), age: 41, ..Default::default() })?;
//!     let boss = Some(ann.to_ref());
//!     let bob = tx.create(Person { name: "Bob".into(), age: 25, boss, tags: vec!["new".into()] })?;
//!     bob.set_age(26)?;
//!     bob.tags()?.push("night shift")?;
//!     Ok(ann.to_ref())
//! })?;
//! db.read(|tx| {
//!     for entry in tx.index(Person::NAME)?.range("B"..)?.iter() {
//!         let (name, person) = entry?;
//!         assert_eq!((name.as_str(), person.age()?), ("Bob", 26));
//!     }
//!     let young = tx.index(Person::BY_NAME_AGE)?.prefix("Bob")?.range(..30)?;
//!     assert_eq!(young.count()?, 1);
//!     assert_eq!(tx.index(Person::BOSS)?.get(ann)?.count()?, 1); // who refers to Ann
//!     assert_eq!(tx.get(ann)?.load()?.name, "Ann"); // the whole object, as plain data
//!     Ok(())
//! })?;
//! # Ok::<(), permazen::Error>(())
//! ```
//!
//! | for | see |
//! |---|---|
//! | the attributes of structs and enums | [`PermazenObject`](derive@PermazenObject), [`PermazenEnum`](derive@PermazenEnum) |
//! | fields that models share, sets of models | [`PermazenFields`](derive@PermazenFields), [`PermazenKind`](derive@PermazenKind) |
//! | opening a database, running transactions | [`Permazen`], [`Tx`] |
//! | objects and references | [`Obj`], [`Ref`], [`AnyObj`] for access by name |
//! | collections, queries and the rest of the typed layer | [`model`] |
//! | objects without structs: fields by name, listeners, copies | [`object`] |
//! | values as bytes, encodings for your own types | [`encoding`] |
//! | export and import of objects as XML | [`object_xml`] |
//! | what must be unique, and other rules | [`Validation`], [`Violation`], [`Tx::singleton`], [`Permazen::check_rules`] |
//! | schemas and how they are recorded | [`schema`], [`layout`] |
//! | a test that notices changes of the schema | [`assert_schema!`] |
//! | stores: memory, LMDB, SQLite, your own | [`kv`] |
//! | opening what a user names: a path or a URL | [`open()`], [`mod@open`] |
//! | what a key of the store means, in words | [`describe_key`] |
//! | how much each type, field and index takes | [`sizes`] |
//! | showing text of a database on a terminal | [`escape`] |
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

// Generated code says `permazen::…`. This makes that path work inside this crate too.
extern crate self as permazen;

pub use permazen_kv as kv;
#[cfg(feature = "etcd")]
pub use permazen_kv_etcd as etcd;
#[cfg(feature = "postgres")]
pub use permazen_kv_postgres as postgres;

mod bytes;
pub mod describe_key;
pub mod encoding;
pub mod escape;
mod id;
pub mod layout;
pub mod model;
pub mod object;
pub mod object_xml;
pub mod open;
pub mod schema;
pub mod schema_file;
pub mod sizes;
mod xml;

/// What generated code uses. Other code must not use it: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use std::string::String;
    pub use std::vec::Vec;

    pub use crate::encoding::{EncodingError, FieldType};
    pub use crate::id::ObjId;
    pub use crate::model::binding::Models;
    pub use crate::model::declare::{
        CompositeDecl, Exclude, ExcludeBound, FieldDecl, Upgrade, UpgradeWith, ValueDecl,
        WriteDefault,
    };
    pub use crate::model::for_derive::{
        copied, encode_id, made, object, object_of_kind, start_of, this,
    };
    pub use crate::model::handle::Handle;
    pub use crate::model::hook::along::{Route, WatchedAt};
    pub use crate::model::hook::declare::HookDecl;
    pub use crate::model::hook::subject::{Among, object_of, object_with};
    pub use crate::model::hook::told::{Outcome, Told};
    pub use crate::model::hooks::{
        BeginsAt, Checked, EndsAt, FromChange, HasHooks, Hooks, HooksOfModel, IsAnyChangeOf,
        IsAtEndOf, IsChangeOf, Returned, Subject, TellsAllChangesAs, Watched,
    };
    pub use crate::model::index::{
        Column, Column0, Column1, Column2, Column3, Column4, Columns, HasColumn, Tuple,
    };
    pub use crate::model::kind::{
        Block, Constants, Included, Inside, Next, Place, Places, Slot, distinct, joined,
    };
    pub use crate::model::load::{ObjectReader, ObjectWriter};
    pub use crate::model::rules::validating::{Validates, Validating};
    pub use crate::model::target::{Accessors, Handles};
    pub use crate::model::{
        Any, AnyObj, Becomes, ByText, ByTryFrom, Composite, CounterField, CounterOf, DeleteAction,
        EncodeAs, EnumType, Field, HeldFor, Indexed, IsCounter, Kind, KindMember as Member,
        ListField, ListOf, MapField, MapOf, Meets, MeetsHandle, Mixin, Model, ModelSet, NewValues,
        Obj, Objs, OldValues, Ref, Referred, Result, SetField, SetOf, Source, Stored, Target, Tx,
        Unindexed, With, Within,
    };
}

pub use id::{ObjId, ObjIdGenerator, StorageId};
pub use model::{
    Any, AnyObj, Base, Builder, CommitError, Counter, Error, Evolution, Failure, Kind, Mixin,
    Model, ModelSet, NewValues, Obj, OldValues, Permazen, Ref, Result, Transaction, Tx, Validation,
    Versioned, Violation, Violations, is_retryable,
};
pub use open::open;
#[cfg(feature = "derive")]
pub use permazen_derive::{PermazenEnum, PermazenFields, PermazenKind, PermazenObject, hooks};

/// The documentation tests also run the examples of the README.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../README.md")]
struct Readme;

/// They also run the examples of the guide.
#[cfg(all(doctest, feature = "derive"))]
mod guide {
    #[doc = include_str!("../../docs/src/questions.md")]
    struct Questions;
    #[doc = include_str!("../../docs/src/outgrowing.md")]
    struct Outgrowing;
    #[doc = include_str!("../../docs/src/java.md")]
    struct Java;
    #[doc = include_str!("../../docs/src/costs.md")]
    struct Costs;
    #[cfg(feature = "lmdb")]
    #[doc = include_str!("../../docs/src/tutorial.md")]
    struct Tutorial;
    #[doc = include_str!("../../docs/src/attributes.md")]
    struct Attributes;
    #[doc = include_str!("../../docs/src/transactions.md")]
    struct Transactions;
    #[doc = include_str!("../../docs/src/objects.md")]
    struct Objects;
    #[cfg(all(feature = "anyhow", feature = "serde"))]
    #[doc = include_str!("../../docs/src/programs.md")]
    struct Programs;
    #[cfg(feature = "jiff")]
    #[doc = include_str!("../../docs/src/encodings.md")]
    struct Encodings;
    #[doc = include_str!("../../docs/src/monitoring.md")]
    struct Monitoring;
    #[doc = include_str!("../../docs/src/kinds.md")]
    struct Kinds;
    #[doc = include_str!("../../docs/src/hooks.md")]
    struct Hooks;
    #[doc = include_str!("../../docs/src/references.md")]
    struct References;
    #[doc = include_str!("../../docs/src/copies.md")]
    struct Copies;
    #[doc = include_str!("../../docs/src/listeners.md")]
    struct Listeners;
    #[doc = include_str!("../../docs/src/rules.md")]
    struct Rules;
    #[doc = include_str!("../../docs/src/cookbook.md")]
    struct Cookbook;
    #[doc = include_str!("../../docs/src/schemas.md")]
    struct Schemas;
    #[doc = include_str!("../../docs/src/evolution.md")]
    struct Evolution;
    #[doc = include_str!("../../docs/src/export.md")]
    struct Export;
}
