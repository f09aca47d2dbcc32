//! Transactions over objects: fields, collections, indexes, deletion, notifications, migration.

mod error;
mod journal;
#[allow(dead_code, reason = "what stands on it follows")]
mod store;

pub use error::{Error, Result};
