//! SQLite databases in the file format of Permazen for Java (docs/src/format.md#sqlite).
//!
//! The pairs are the rows of one table with two BLOB columns. The database is in WAL mode:
//! read-only transactions see the state that was current when they began and neither wait nor are
//! waited for; transactions that write take turns, in all processes together. All of them are
//! strictly serializable.
//!
//! Results are copies; scans read ahead in pages of 16 to 1024 pairs.
//!
//! The states of a database are numbered as an opened [`SqliteStore`] comes to see them
//! ([`KvTransaction::version`](crate::KvTransaction::version)), those made by other programs included:
//! several commits of others between two looks count as one.

mod connection;
mod database;
mod error;
mod file;
mod log_files;
mod open_files;
mod shared;
mod store;
mod transaction;
mod versions;

pub use self::store::{SqliteBuilder, SqliteStore};
