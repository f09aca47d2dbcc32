//! The sorted transactional byte map that everything in Permazen is built on.
//!
//! [`KvDatabase`] begins transactions, [`KvTransaction`] is one, [`KvRead`] and [`KvWrite`] have
//! its operations. All of these traits are object safe, so a program can choose its store at run
//! time.
//!
//! # For authors of stores
//!
//! Programs that use a store do not need this; the guide's page about stores says how to write one.
//!
//! - [`remote`] makes a store of an engine that asks a server.
//! - [`KvWrite::put`] has a family for one purpose each: `get_to_put`, `put_new`, `put_if_absent`,
//!   `get_or_put`, `append`, `remove_where`, `apply`. Each has a default that needs only `get`,
//!   `put`, `remove` and `visit`. A store implements one where it can do better than that.
//! - `testsuite`, with the feature of that name, tells whether a store keeps the contract.
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod contract;
pub mod copy;
#[cfg_attr(not(any(feature = "lmdb", feature = "sqlite")), allow(dead_code))]
mod group;
mod keys;
#[cfg(feature = "lmdb")]
pub mod lmdb;
pub mod memory;
pub mod optimistic;
pub mod overlay;
pub mod remote;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod store_parts;
#[cfg(feature = "testsuite")]
pub mod testsuite;
mod wrappers;
mod writes;
#[cfg(feature = "xml")]
pub mod xml;

/// Items for other crates of this project only: they change without notice.
#[doc(hidden)]
pub mod __internal {
    pub use crate::contract::attempt_commits;
    pub use crate::contract::store_id::StoreId;
    pub use crate::contract::with_causes::WithCauses;
    #[cfg(feature = "sqlite")]
    pub use crate::sqlite::open_files::unless_open_with_sqlite;
    pub use crate::store_parts::deadline::Deadline;
    pub use crate::store_parts::process::Process;
    pub use crate::store_parts::write_lock::check_can_begin;

    /// What a file is that this process has open with SQLite.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum OpenWithSqlite {
        /// A database.
        Database,
        /// The index of the log of a database (`-shm`).
        Index,
    }

    /// What `read` returns: without the feature `sqlite`, no file is open with SQLite.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "sqlite"))]
    pub fn unless_open_with_sqlite<T>(
        _: &std::path::Path,
        read: impl FnOnce() -> T,
    ) -> Result<T, OpenWithSqlite> {
        Ok(read())
    }
}

pub use contract::{
    Blob, Capabilities, Conflict, Counters, Direction, Durability, ErrorFamily, KeyWatch,
    KvDatabase, KvDatabaseExt, KvError, KvRead, KvTransaction, KvWrite, Near, Pair, Pending,
    Result, Retry, Scan, SharedRead, Space, Statistics, TxOptions, Verdict, Visitor, Warning,
    WarningKind, Watches, WrittenWatches,
};
pub use keys::{Hex, KeyRanges, KeySpan, key};
pub use optimistic::atomic_store::AtomicKvStore;
pub use overlay::branch::{Branch, MergeError};
pub use overlay::conflict::difference_by_scan;
pub use wrappers::{counting, fault, prefix, read_only};
pub use writes::Writes;
