//! What a store is, for those who use one and those who write one. Users find all public items at
//! the root of the crate. The rest of the crate may also use `pass_on!`, which makes methods that pass their
//! arguments on; `WatchTracker`, which the memory store and the optimistic engine notify of their
//! commits (LMDB and SQLite have no watches); and two constants about waiting.
//!
//! `store.rs` has the traits, `error.rs` the errors, `retry.rs` runs transactions until they
//! succeed, `watch.rs` waits for changes.

mod durability;
mod error;
pub(crate) mod pass_on;
mod pointers;
mod retry;
mod store;
mod watch;

pub use durability::Durability;
pub use error::{Conflict, ErrorFamily, KvError, Result};
pub use retry::{KvDatabaseExt, Retry};
#[cfg(any(feature = "lmdb", feature = "sqlite"))]
pub(crate) use store::DEFAULT_WAIT;
pub(crate) use store::TURN_AFTER;
pub use store::{
    Blob, Capabilities, Direction, KvDatabase, KvRead, KvTransaction, KvWrite, Near, Pair, Pending,
    Scan, SharedRead, Statistics, TxOptions, Visitor,
};
pub use watch::WatchTracker;
pub use watch::{KeyWatch, Watches, WrittenWatches};
