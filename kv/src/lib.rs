//! The sorted transactional byte map everything in Permazen stands on.
//!
//! [`KvDatabase`] begins transactions, [`KvTransaction`] is one, [`KvRead`] and [`KvWrite`] are what
//! can be done in it. All of them are object safe: a program chooses its store at run time.
#![deny(missing_docs)]

mod deadline;
mod error;
mod span;
mod store;
mod write_lock;

pub mod memory;

pub use error::{Conflict, KvError, Result};
pub use span::{Hex, KeySpan};
pub use store::{
    Blob, Capabilities, Direction, KvDatabase, KvRead, KvTransaction, KvWrite, Pair, Scan,
    SharedRead, Statistics, TxOptions,
};
