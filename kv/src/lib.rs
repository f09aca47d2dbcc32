//! The sorted transactional byte map everything in Permazen stands on.
//!
//! [`KvDatabase`] begins transactions, [`KvTransaction`] is one, [`KvRead`] and [`KvWrite`] are what
//! can be done in it. All of them are object safe: a program chooses its store at run time.
#![deny(missing_docs)]

mod atomic;
mod branch;
mod codec;
mod conflict;
mod deadline;
mod durability;
mod error;
#[cfg(any(feature = "lmdb", feature = "sqlite"))]
mod file_id;
mod pass_on;
mod pointers;
mod ranges;
#[cfg(any(feature = "lmdb", feature = "sqlite"))]
mod read_transaction;
mod retry;
mod span;
mod store;
mod watch;
mod write_lock;
mod writes;

pub mod counting;
pub mod fault;
pub mod key;
#[cfg(feature = "lmdb")]
pub mod lmdb;
pub mod memory;
mod observed;
pub mod optimistic;
pub mod overlay;
pub mod prefix;
pub mod read_only;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "testsuite")]
pub mod testsuite;
#[cfg(feature = "xml")]
pub mod xml;

pub use atomic::AtomicKvStore;
pub use branch::{Branch, MergeError};
pub use durability::Durability;
pub use error::{Conflict, KvError, Result};
pub use ranges::KeyRanges;
pub use retry::{KvDatabaseExt, Retry};
pub use span::{Hex, KeySpan};
pub use store::{
    Blob, Capabilities, Direction, KvDatabase, KvRead, KvTransaction, KvWrite, Pair, Scan,
    SharedRead, Statistics, TxOptions, Visitor,
};
pub use watch::Watch;
pub use writes::Writes;
