//! Transactions over objects: fields, collections, indexes, deletion, notifications, migration.

mod callbacks;
mod change;
mod database;
mod delete;
mod error;
mod fields;
mod incoming;
mod info;
mod journal;
mod listeners;
mod migrate;
mod missing;
mod notify;
mod object_data;
mod objects;
mod pairs;
mod path;
mod references;
mod schemas;
mod store;
mod transaction;

pub use callbacks::Callback;
pub use change::{ChangeKind, FieldChange};
pub use database::{Database, TransactionConfig};
pub use error::{Error, Result};
pub use info::Migrate;
pub use listeners::{
    CreateListener, DeleteListener, FieldListener, ListenerId, ListenerSet, SchemaChange,
    SchemaChangeListener, Watch,
};
pub use missing::MissingTargets;
pub use object_data::{FieldValue, ObjectData};
pub use path::{IdFilter, PathStep};
pub use transaction::Transaction;
