//! Permazen on PostgreSQL: one table of keys and values, and serializable transactions.
//!
//! ```no_run
//! use permazen_kv::{KvDatabaseExt, KvWrite};
//! use permazen_kv_postgres::PostgresStore;
//!
//! let store = PostgresStore::open("postgres://ann@localhost/music")?;
//! store.write(|tx| tx.put(b"key", b"value"))?;
//! # Ok::<(), permazen_kv::KvError>(())
//! ```
//!
//! The table is the one that Permazen for Java has on SQL databases: `kv_key` and `kv_value`, both
//! `BYTEA`. All programs that write to it must use serializable transactions.
//!
//! A store has up to 16 connections. Each transaction takes one with its first question, and gives
//! it back at its end. All of it works on plain threads, and blocks; from async code, call it in a
//! thread that may block (`spawn_blocking` of tokio).
//!
//! # Lost connections
//!
//! A commit that writes has a random token with it. If no answer to it comes, the store connects
//! again and inserts the token itself. If it is there, the commit took place. If it was not, the
//! commit can never take place any more, and the error is retryable. If no server can be asked, the
//! error is [`OutcomeUnknown`](permazen_kv::KvError::OutcomeUnknown). Tokens are removed after an
//! hour.
//!
//! # What can be in a URL
//!
//! `postgres://USER:PASSWORD@HOST:PORT,HOST2/DATABASE?table=KV&sslmode=disable`. All parts can be
//! left out. The password can also come from `PGPASSWORD` or from `~/.pgpass`. Several hosts are
//! tried in turn. `host=/run/postgresql` names the directory of a socket.
//!
//! Connections to other machines are encrypted, and the certificate and name of the server are
//! verified; see `sslmode` and `sslrootcert` on the guide's page about servers.
//!
//! `deferrable=on`, `watches=on` and `dialect=portable` are the settings of [`PostgresBuilder`]
//! with the same names. The guide's page about servers has all parameters, and the variables of the
//! environment that stand for them.
#![deny(missing_docs)]

mod address;
mod connection;
mod dialect;
mod error;
mod given;
mod host;
mod names;
mod passwords;
mod pool;
#[cfg(test)]
mod precedence;
mod questions;
mod session;
mod settings;
mod socket;
mod sql;
mod statement;
mod store;
mod tables;
mod watches;

pub use error::ServerError;
pub use store::{PostgresBuilder, PostgresStore};
