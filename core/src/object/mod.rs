//! Transactions over objects: fields, collections, indexes, deletion, notifications, migration.
//!
//! The [typed layer](crate::model) is built on this module. Programs without structs use it
//! directly: they give the name of a field, and [`Value`](crate::encoding::Value)s. [`Database`]
//! has an example to begin with.
//!
//! There are two levels. The same things have the same names on both:
//!
//! | level | a field is | a value is | example |
//! |---|---|---|---|
//! | [typed](crate::model) | a field of a struct | of a Rust type | `person.name()?` |
//! | names and values | its name | a [`Value`](crate::encoding::Value) | `tx.get(id, "name", Migrate::No)?` |
//!
//! | for | see |
//! |---|---|
//! | beginning and ending transactions, steps that are undone | [`Database`], [`Transaction`], [`Callback`] |
//! | objects: creating, loading, storing | [`Transaction::create_with`], [`ObjectBuilder`], [`ObjectData`] |
//! | fields and counters | [`Transaction::get`], [`Transaction::set`], [`Transaction::adjust_counter`] |
//! | collections | [`SetView`], [`ListView`], [`ListCursor`], [`MapView`] |
//! | indexes and sets of objects | [`Transaction::index_by_name`], [`IndexView`], [`IdSet`] |
//! | references: deleting, paths | [`Transaction::delete`], [`Transaction::follow_path`], [`Transaction::referrers`] |
//! | listeners | [`Transaction::on_change`], [`Watch`] |
//! | other schemas | [`Migrate`], [`Transaction::migrate`], [`Transaction::add_schema`] |
//! | transactions in memory, copies | [`Transaction::detached`], [`Transaction::snapshot`], [`Transaction::copy_to`] |
//! | what can go wrong | [`Error`] |

mod bulk;
mod callbacks;
pub(crate) mod collection;
mod counters;
mod database;
mod describe;
mod detached;
mod dirty_set;
pub(crate) mod encoded;
pub(crate) mod error;
mod fields;
pub(crate) mod hook_calls;
mod id_set;
pub(crate) mod index;
mod info;
pub(crate) mod migration;
mod names;
pub(crate) mod notify;
mod operation;
pub(crate) mod pending_changes;
pub(crate) mod reference;
mod schemas;
mod store;
mod transaction;
mod typed_hooks;
mod whole_object;

pub use bulk::LoadProgress;
pub(crate) use bulk::{Loaded, Loader, Memory, UnfinishedLoad};
pub use callbacks::Callback;
pub(crate) use collection::MAX_LIST_LEN;
pub use collection::{ListCursor, ListView, MapView, SetView};
pub use database::{Database, TransactionConfig};
pub(crate) use dirty_set::{NullAs, NullIn, Touched, WatchedFields, WatchedType};
pub(crate) use encoded::Encoded;
pub(crate) use error::RefusedDeletion;
pub use error::{Error, Result};
pub(crate) use error::{errors_above, first_to_say};
pub(crate) use hook_calls::{Call, Hook, HookLimit};
pub use id_set::{IdSet, Ids};
pub(crate) use index::{
    EncodedRange, EntryPage, HiddenObjects, IndexEntryRef, IndexKind, IndexOverlay, IndexShape,
    MergedIndex, Selection, borrowed, encode_bound, map_key_of,
};
pub use index::{IndexEntry, IndexView};
pub use info::Migrate;
pub(crate) use migration::{
    Batch, Batches, Done, FieldConversion, LossPolicy, Narrows, NewContent, ObjectToMove, Renamed,
    RunOptions, Visitor, in_batches, kind, stored_text, value_text,
};
pub use migration::{MigrationEnd, NotMoved, Progress};
pub(crate) use notify::Happened;
pub use notify::{ChangeKind, FieldChange, ListenerId, SchemaChange, Watch};
pub(crate) use notify::{FieldListener, ListenerSet};
pub use reference::{IdFilter, MissingTargets, PathStep};
pub use transaction::Transaction;
pub(crate) use typed_hooks::{Event, changed, created, deleting};
pub(crate) use whole_object::{Converter, Counters, Given, Moves, Moving};
pub use whole_object::{CopyOptions, FieldValue, IdMap, ObjectBuilder, ObjectData};
