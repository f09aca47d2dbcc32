//! Transactions over objects: fields, collections, indexes, deletion, notifications, migration.
//!
//! The [typed layer](crate::model) is built on this module. Programs without structs use it
//! directly: they give the name of a field, and [`Value`](crate::encoding::Value)s. [`Database`]
//! has an example to begin with.
//!
//! There are three levels. The same things have the same names on each:
//!
//! | level | a field is | a value is | example |
//! |---|---|---|---|
//! | [typed](crate::model) | a field of a struct | of a Rust type | `person.name()?` |
//! | names and values | its name | a [`Value`](crate::encoding::Value) | `tx.get(id, "name", Migrate::No)?` |
//! | [`encoded()`](Encoded) | a [`ResolvedField`](crate::schema::ResolvedField) | the bytes it is stored as | `tx.encoded().get(id, &name, Migrate::No, decode)?` |
//!
//! | for | see |
//! |---|---|
//! | beginning and ending transactions, steps that are undone | [`Database`], [`Transaction`], [`Callback`] |
//! | objects: creating, loading, storing | [`Transaction::create_with`], [`ObjectBuilder`], [`ObjectData`] |
//! | fields and counters | [`Transaction::get`], [`Transaction::set`], [`Transaction::adjust_counter`] |
//! | all of these by bytes | [`Transaction::encoded`], [`Encoded`] |
//! | collections | [`SetView`], [`ListView`], [`ListCursor`], [`MapView`] |
//! | indexes and sets of objects | [`Transaction::index_by_name`], [`IndexView`], [`IdSet`] |
//! | references: deleting, paths | [`Transaction::delete`], [`Transaction::follow_path`], [`Transaction::referrers`] |
//! | listeners | [`Transaction::on_change`], [`Watch`], [`ListenerSet`] |
//! | what pending writes change | [`Transaction::pending_changes`], [`NetChanges`] |
//! | other schemas | [`Migrate`], [`Transaction::migrate`], [`Transaction::migrate_exactly`], [`Database::migrate_objects`], [`Transaction::add_schema`] |
//! | transactions in memory, copies | [`Transaction::detached`], [`Transaction::snapshot`], [`Transaction::copy_to`] |
//! | what can go wrong | [`Error`] |

mod bulk;
mod callbacks;
mod collection;
mod counters;
mod database;
mod describe;
mod detached;
mod dirty_set;
mod encoded;
mod error;
mod fields;
mod hook_calls;
mod id_set;
mod index;
mod info;
mod migration;
mod names;
mod notify;
mod operation;
mod pending_changes;
mod reference;
mod schemas;
mod store;
mod transaction;
mod typed_hooks;
mod whole_object;

pub use bulk::LoadProgress;
pub(crate) use bulk::{Loaded, Loader, Memory, UnfinishedLoad};
pub use callbacks::Callback;
pub use collection::{ContentIter, ListCursor, ListView, MAX_LIST_LEN, MapView, SetView};
pub use database::{Database, TransactionConfig};
pub(crate) use dirty_set::{NullAs, NullIn, Touched, WatchedFields, WatchedType};
pub use encoded::Encoded;
pub use error::{Error, RefusedDeletion, Result};
pub(crate) use error::{errors_above, first_to_say};
pub use hook_calls::HookLimit;
pub(crate) use hook_calls::{Call, Hook};
pub use id_set::{IdSet, Ids};
pub(crate) use index::{
    EncodedRange, Entries, HiddenObjects, IndexOverlay, MergedIndex, Selection, borrowed,
    encode_bound, map_key_of,
};
pub use index::{IndexEntry, IndexEntryRef, IndexIds, IndexIter, IndexKind, IndexShape, IndexView};
pub use info::Migrate;
pub(crate) use migration::{
    Batch, Batches, Content, Done, FieldConversion, Found, Narrows, Renamed, Rule, RunOptions,
    Visitor, in_batches, kind, stored_text, value_text,
};
pub use migration::{
    LostValue, MigrateObjects, MigrationEnd, MigrationReport, NotMoved, Progress, WouldLose,
};
pub(crate) use notify::Happened;
pub use notify::{
    ChangeKind, CreateListener, DeleteListener, FieldChange, FieldListener, ListenerId,
    ListenerSet, SchemaChange, SchemaChangeListener, Watch,
};
pub use pending_changes::{
    NetChange, NetChanges, NetContent, NetField, NetMapEntry, NetObject, NetPair,
};
pub use reference::{DeletionStep, IdFilter, MissingTargets, PathStep};
pub use transaction::Transaction;
pub(crate) use typed_hooks::{Event, changed, created, deleting};
pub(crate) use whole_object::{Converter, Counters, Given, Moves, Moving};
pub use whole_object::{CopyOptions, FieldValue, IdMap, ObjectBuilder, ObjectData};
