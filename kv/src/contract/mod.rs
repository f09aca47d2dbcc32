//! The traits and types of a store, for programs that use one and for authors of new ones. Users
//! find all public items at the root of the crate. The rest of the crate may also use `pass_on!`,
//! which makes methods that pass their arguments on; `WatchTracker`, which the memory store and the
//! optimistic engine notify of their commits (LMDB and SQLite have no watches); and two constants
//! about waiting.
//!
//! `store.rs` has the traits of a database and of its transactions, `pairs.rs` those to read and
//! change pairs, `options.rs` the options of transactions, `capabilities.rs` the abilities of a
//! store, `counters.rs` its counters, `warning.rs` its advice about its server, `space.rs` the
//! space of pairs in its file, `store_id.rs` its identity, `error.rs` the errors, `retry.rs` runs
//! transactions until they succeed, `watch.rs` waits for changes.

mod capabilities;
mod counters;
mod durability;
mod error;
mod options;
mod pairs;
pub(crate) mod pass_on;
mod pointers;
mod retry;
mod space;
mod store;
pub(crate) mod store_id;
mod warning;
mod watch;
pub(crate) mod with_causes;

pub use capabilities::{Capabilities, Statistics};
pub use counters::Counters;
pub use durability::Durability;
pub use error::{Conflict, ErrorFamily, KvError, Result};
pub(crate) use options::TURN_AFTER;
pub use options::{DEFAULT_WAIT, TxOptions};
pub use pairs::{Blob, Direction, KvRead, KvWrite, Near, Pair, Scan, SharedRead, Verdict, Visitor};
pub use retry::{KvDatabaseExt, Retry, attempt_commits};
pub use space::Space;
#[cfg(feature = "lmdb")]
pub(crate) use space::check_spans;
pub use store::{KvDatabase, KvTransaction, Pending};
pub use warning::{Warning, WarningKind};
pub use watch::WatchTracker;
pub use watch::{KeyWatch, Watches, WrittenWatches};
