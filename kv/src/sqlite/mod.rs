//! SQLite databases in the file format of Permazen for Java (docs/src/format.md#sqlite). The rest
//! of the crate may call the public items here, [`SqliteStore`] and [`SqliteBuilder`]; all other
//! files are for this folder only, except for `unless_open_with_sqlite` of `open_files.rs`, which
//! is for code that opens files without SQLite.
//!
//! The pairs are the rows of one table with two BLOB columns. The database is in WAL mode.
//! Read-only transactions see the state that was current when they began; they wait for no
//! transaction, and no transaction waits for them. Transactions that write take turns, in all
//! processes together. All transactions are strictly serializable.
//!
//! Results are copies. Scans read ahead in pages of 16 to 1024 pairs (`connection.rs`).
//!
//! An open [`SqliteStore`] numbers the states of the database that it sees
//! ([`KvTransaction::version`](crate::KvTransaction::version)), also the states made by other
//! programs. Several commits of others between two looks count as one.

mod connection;
mod copy;
mod database;
mod error;
mod log_files;
pub(crate) mod open_files;
mod replaced_file;
mod shared;
mod store;
mod transaction;
mod versions;
mod writers;

pub use self::store::{SqliteBuilder, SqliteStore};
