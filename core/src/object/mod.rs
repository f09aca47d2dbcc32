//! Transactions over objects: fields, collections, indexes, deletion, notifications, migration.

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
mod id_set;
mod id_stream;
mod incoming;
mod index_entry;
mod index_key;
mod index_query;
mod index_view;
mod info;
mod journal;
mod list_cursor;
mod list_shift;
mod list_view;
mod listeners;
mod map_view;
mod migrate;
mod missing;
mod notify;
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
pub use content::ContentIter;
pub use copy::{CopyOptions, IdMap};
pub use database::{Database, TransactionConfig};
pub use error::{Error, Result};
pub use id_set::{IdSet, Ids};
pub use index_entry::{IndexEntry, IndexEntryRef, IndexIter};
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
pub use missing::MissingTargets;
pub use object_data::{FieldValue, ObjectBuilder, ObjectData};
pub use path::{IdFilter, PathStep};
pub use set_view::SetView;
pub use transaction::Transaction;
