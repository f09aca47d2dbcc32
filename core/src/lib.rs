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
//!     assert_eq!(tx.index(Person::BOSS)?.get(ann)?.count()?, 1); // one person refers to Ann
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
//! | schemas | [`schema`] |
//! | a test that notices changes of the schema | [`assert_schema!`] |
//! | stores: memory, LMDB, SQLite, your own | [`kv`] |
//! | opening what a user names: a path or a URL | [`open()`], [`mod@open`] |
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
mod describe_key;
pub mod encoding;
mod escape;
mod id;
mod layout;
pub mod model;
pub mod object;
pub mod object_xml;
pub mod open;
pub mod schema;
pub mod schema_file;
mod sizes;
mod xml;

/// Items that generated code uses. Other code must not use them: they change without notice.
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
    pub use crate::model::field_roles::{IsCounter, Referred, Stored};
    pub use crate::model::for_derive::{copied, encode_id, made, object, object_of_kind, this};
    pub use crate::model::handle::{Accessors, Handle};
    pub use crate::model::hook::along::{BeginsAt, EndsAt, IsAtEndOf, TellsAllChangesAs};
    pub use crate::model::hook::among::Among;
    pub use crate::model::hook::block::{HasHooks, Hooks, HooksOfModel};
    pub use crate::model::hook::change::{IsAnyChangeOf, IsChangeOf};
    pub use crate::model::hook::declare::HookDecl;
    pub use crate::model::hook::route::{Route, WatchedAt};
    pub use crate::model::hook::subject::object_of;
    pub use crate::model::hook::told::{AsReturned, Given, Outcome, Returned, Told};
    pub use crate::model::hook::watched::{Checked, FromChange};
    pub use crate::model::index::{Columns, Tuple};
    pub use crate::model::kind::Becomes;
    pub use crate::model::kind::{
        Block, Constants, Included, Inside, KindMember as Member, MixinOffset, Next, Places, Slot,
        distinct, joined, object_with, start_of,
    };
    pub use crate::model::load::{ObjectReader, ObjectWriter};
    pub use crate::model::path::MeetsHandle;
    pub use crate::model::rules::validating::{AsSaid, Said, Validates, Validating};
    pub use crate::model::stored_as::{ByText, ByTryFrom, HeldFor};
    pub use crate::model::target::Handles;
    pub use crate::model::{
        Any, AnyObj, Composite, CounterField, CounterOf, DeleteAction, EncodeAs, EnumType, Field,
        Indexed, Kind, ListField, ListOf, MapField, MapOf, Meets, Mixin, Model, ModelSet,
        NewValues, Obj, Objs, OldValues, Ref, Result, SetField, SetOf, Source, Subject, Target, Tx,
        Unindexed, Watched, With, Within,
    };
}

/// Items that the project's own crates use below the public ones: keys, tables of schemas, encoded
/// bytes. Other code must not use them: they change without notice.
#[doc(hidden)]
pub mod __internal {
    /// Which keys hold which data.
    pub mod layout {
        pub use crate::layout::{
            FORMAT_VERSION, FORMAT_VERSION_KEY, FieldKey, IndexPart, KeyKind, LEDGER_KEY, LOADING,
            META_DATA, META_DATA_SPAN, OBJECT_SCHEMA_INDEX, OBJECT_SCHEMA_INDEX_END,
            OBJECT_SCHEMA_INDEX_SPAN, SCHEMA_TABLE, SCHEMA_TABLE_SPAN, STORAGE_ID_TABLE,
            STORAGE_ID_TABLE_SPAN, SchemaIndex, StorageIdKey, TABLES_SPAN, USER_META_DATA,
            append_index_key, append_object_schema_key, content_key, delete_object_data,
            each_index_part, field_key, index_key, index_prefix, is_ledger, list_position,
            object_after, object_info, object_schema_key, object_schema_prefix, parse_key,
            parse_list_position, parse_object_info, prefix_end, schema_table_key, split_field_key,
            split_object_schema, storage_id_table_key,
        };
    }

    /// The meaning of keys of the store, in words.
    pub mod describe_key {
        pub use crate::describe_key::{Lines, Piece, line, meta_data, pieces};
    }

    /// How much each type, field and index takes.
    pub mod sizes {
        pub use crate::sizes::{
            FieldSizes, IndexSizes, MetaDataSizes, ObjectSize, Size, Sizes, Spaces, TypeSizes,
            sizes, spaces,
        };
    }

    /// Showing text of a database on a terminal.
    pub mod escape {
        pub use crate::escape::{
            Escaped, Escaping, PASSWORD_REFUSED, needs_escape, password_in, path_text,
            without_password_in_url,
        };
    }

    /// The encodings, and the conversion of a value to another encoding.
    pub mod encoding {
        pub use crate::encoding::array::ArrayEncoding;
        pub use crate::encoding::dynamic::{EncodingKind, Primitive};
        pub use crate::encoding::enumeration::{EnumArrayEncoding, EnumEncoding};
        pub use crate::encoding::exact_conversion::{Conversion, Inexact};
        pub use crate::encoding::exactness::Exactness;
        pub use crate::encoding::internal::{ObjIdEncoding, UnsignedIntEncoding};
        pub use crate::encoding::null_safe::NullSafe;
        pub use crate::encoding::reference::ReferenceEncoding;
        pub use crate::encoding::registry::UnknownEncoding;
        pub use crate::encoding::string::encoding::StringEncoding;
        pub use crate::encoding::tuple::TupleEncoding;
        pub use crate::encoding::typed::{SchemaForm, TypedEncoding};
    }

    /// How schemas are recorded, and all recorded schemas together.
    pub mod schema {
        pub use crate::schema::add_remove::{add_schema, add_schemas, remove_schema};
        pub use crate::schema::bundle::{BundleItem, Occurrence, ResolvedPart, SchemaBundle};
        pub use crate::schema::comparison::{
            FieldDifference, FieldEffect, IndexDifference, IndexEffect, Narrowed, SchemaComparison,
            TypeDifference, TypeEffect,
        };
        pub use crate::schema::compress::{InflateError, deflate, inflate};
        pub use crate::schema::differences::{Difference, Differences};
        pub use crate::schema::error::Problem;
        pub use crate::schema::item::{Item, Part};
        pub use crate::schema::opening::{
            DatabaseState, OpenedSchema, SchemaConfig, open_schema, read_schemas,
        };
        pub use crate::schema::recorded_schemas::{RecordedSchema, RecordedSchemas};
        pub use crate::schema::resolved::{
            Parent, ReferenceInfo, ResolvedIndex, ResolvedKind, ResolvedSimple, SubFieldRole,
        };
        pub use crate::schema::tables::SchemaTables;
        pub use crate::schema::usable::{UsableSchemas, read_usable_schemas};
        pub use crate::schema::xml::MAX_XML_BYTES;
    }

    /// Objects by resolved fields and encoded bytes, and the changes that writes make.
    pub mod object {
        pub use crate::object::collection::{ContentIter, MAX_LIST_LEN};
        pub use crate::object::encoded::Encoded;
        pub use crate::object::error::RefusedDeletion;
        pub use crate::object::hook_calls::HookLimit;
        pub use crate::object::index::{IndexEntryRef, IndexIter, IndexKind, IndexShape};
        pub use crate::object::migration::{LostValue, MigrateObjects, MigrationReport, WouldLose};
        pub use crate::object::notify::{
            CreateListener, DeleteListener, FieldListener, ListenerSet, SchemaChangeListener,
        };
        pub use crate::object::pending_changes::{
            NetChange, NetChanges, NetContent, NetField, NetMapEntry, NetObject, NetPair,
        };
        pub use crate::object::reference::DeletionStep;
    }

    /// The parts of reports and graphs of the typed layer.
    pub mod model {
        #[cfg(feature = "serde")]
        pub use crate::model::copy::{GraphObject, GraphValue};
        pub use crate::model::error::ModelError;
        pub use crate::model::evolution::{DeleteActionReport, IndexReport, ObjectCount};
        pub use crate::model::hook::HookCall;
    }

    /// The IDs that are made for the objects of documents.
    pub mod object_xml {
        pub use crate::object_xml::generated::GeneratedIds;
    }

    /// A store that is a file of XML, and opening other files.
    pub mod open {
        pub use crate::open::detect::open_to_read;
        pub use crate::open::xml_dump::XmlDump;
    }
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
