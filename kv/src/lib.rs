//! The sorted transactional byte map everything in Permazen stands on.
#![deny(missing_docs)]

mod error;
mod span;
mod store;

pub mod memory;

pub use error::{KvError, Result};
pub use span::KeySpan;
pub use store::{
    Blob, Direction, KvDatabase, KvRead, KvTransaction, KvWrite, Pair, Scan, SharedRead, TxOptions,
};
