//! Transactions over objects: fields, collections, indexes, deletion, notifications, migration.
//!
//! This is what the [typed layer](crate::model) stands on, and what programs use that know no structs: fields are named,
//! values are [`Value`](crate::encoding::Value)s. [`Database`] has an example to begin with.
//!
//! | for | see |
//! |---|---|
//! | beginning and ending transactions, steps that are undone | [`Database`], [`Transaction`], [`Callback`] |
//! | objects: creating, loading, storing | [`Transaction::create_with`], [`ObjectBuilder`], [`ObjectData`] |
//! | fields and counters | [`Transaction::get`], [`Transaction::set`], [`Transaction::adjust_counter`] |
//! | collections | [`SetView`], [`ListView`], [`ListCursor`], [`MapView`] |
//! | indexes and sets of objects | [`Transaction::index_by_name`], [`IndexView`], [`IdSet`] |
//! | references: deleting, paths | [`Transaction::delete`], [`Transaction::follow_path`], [`Transaction::referrers`] |
//! | listeners | [`Transaction::on_change`], [`Watch`], [`ListenerSet`] |
//! | other schemas | [`Migrate`], [`Transaction::migrate`], [`Transaction::add_schema`] |
//! | transactions in memory, copies | [`Transaction::detached`], [`Transaction::snapshot`], [`Transaction::copy_to`] |
//! | what can go wrong | [`Error`] |

mod batch;
mod callbacks;
mod change;
mod collections;
mod column;
mod content;
mod content_change;
mod copy;
mod database;
mod delete;
mod detached;
mod enumeration;
mod error;
mod fields;
mod follow;
mod id_merge;
mod id_node;
mod id_set;
mod id_stream;
mod incoming;
mod index_entry;
mod index_ids;
mod index_key;
mod index_query;
mod index_view;
mod info;
mod journal;
mod list_change;
mod list_cursor;
mod list_shift;
mod list_view;
mod listeners;
mod map_view;
mod migrate;
mod missing;
mod notify;
mod object_builder;
mod object_data;
mod objects;
mod pairs;
mod path;
mod references;
mod scan;
mod schemas;
mod set_view;
mod store;
mod transaction;
mod unreference;

pub use callbacks::Callback;
pub use change::{ChangeKind, FieldChange};
pub use column::EncodedRange;
pub(crate) use column::encode_bound;
pub use content::ContentIter;
pub use copy::{CopyOptions, IdMap};
pub use database::{Database, TransactionConfig};
pub use error::{Error, Result};
pub use id_set::{IdSet, Ids};
pub use index_entry::{IndexEntry, IndexEntryRef, IndexIter};
pub use index_ids::IndexIds;
pub use index_key::{IndexKind, IndexShape};
pub use index_view::IndexView;
pub use info::Migrate;
pub use list_cursor::ListCursor;
pub use list_view::{ListView, MAX_LIST_LEN};
pub use listeners::{
    CreateListener, DeleteListener, FieldListener, ListenerId, ListenerSet, SchemaChange,
    SchemaChangeListener, Watch,
};
pub use map_view::MapView;
pub(crate) use migrate::Narrowing;
pub use missing::MissingTargets;
pub use object_builder::ObjectBuilder;
pub use object_data::{FieldValue, ObjectData};
pub use path::{IdFilter, PathStep};
pub use set_view::SetView;
pub use transaction::Transaction;
