//! Permazen on etcd: serializable transactions on a cluster that replicates, for small data that
//! must survive machines.
//!
//! ```no_run
//! use permazen_kv::{KvDatabaseExt, KvWrite};
//! use permazen_kv_etcd::EtcdStore;
//!
//! let store = EtcdStore::open("etcd://localhost/music")?;
//! store.write(|tx| tx.put(b"key", b"value"))?;
//! # Ok::<(), permazen_kv::KvError>(())
//! ```
//!
//! A transaction reads at one revision of the cluster, which its first read fixes. It commits with
//! one transaction of etcd, which checks that none of the ranges that were read has changed since
//! then. Each needs one round trip.
//!
//! All of it works on plain threads, and blocks; from async code, call it in a thread that may
//! block (`spawn_blocking` of tokio). The members are asked over HTTP, through the gateway that
//! etcd has from version 3.4 on, so that building this does not need the compiler of its interface.
//! A store has as many connections as questions are under way at the same time, and keeps up to 16
//! of them to each member.
//!
//! # Limits
//!
//! A transaction that is too large is refused with [`TooLarge`], and never made in parts:
//!
//! - A server takes 128 operations in one transaction unless it is started with `--max-txn-ops`.
//!   Each key that is put or removed is one, and one more is the token of the commit.
//! - It takes 1.5 MiB in one transaction unless it is started with `--max-request-bytes`.
//! - While etcd compares the ranges that were read, it does nothing else, so a transaction that
//!   writes may have read only 100,000 pairs, among them removed ones that were not swept yet: see
//!   [`EtcdBuilder::most_checked`]. One that only reads has no limit.
//! - If more ranges were read than operations are allowed, some are compared as one that contains
//!   them. Then a transaction can be retried because of a change between them. `max_txn_ops=` in
//!   the URL says what the servers allow.
//! - To find the last pairs of a range, etcd reads all of it.
//! - A range is read at a revision. If etcd compacts that revision meanwhile, the transaction is
//!   retried.
//!
//! # What is stored
//!
//! The keys of a store begin with its prefix and a colon; nothing else may use them. `d` and the
//! key has the value, after a byte that is 1. A key that is removed gets the single byte 0: a
//! tombstone. (When etcd compares a range, it does not notice that a key was deleted.) `t` has a
//! token of each commit, and `h` the horizon. Tombstones and tokens before the horizon are removed
//! now and then, after commits, and by [`EtcdStore::sweep`]. A transaction that began before the
//! horizon and writes is retried. No clock decides anything.
//!
//! # Lost connections
//!
//! If no answer to a commit comes, the store asks another member, or the same one again, and puts
//! the token of the commit itself. If it is there, the commit took place. If it was not, the commit
//! can never take place any more, and the error is retryable. If no member can be asked, or the
//! horizon has come past the transaction, the error is
//! [`OutcomeUnknown`](permazen_kv::KvError::OutcomeUnknown).
//!
//! # What can be in a URL
//!
//! `etcd://USER:PASSWORD@HOST:PORT,HOST2,HOST3/PREFIX?tls=on`. All parts can be left out. The port
//! is 2379, the prefix `permazen`. The password can also come from `ETCD_PASSWORD`. Several hosts
//! are members of one cluster, which are asked in turn if one does not answer.
//!
//! Connections to other machines are encrypted, and the certificate and name of the server are
//! verified, unless `tls=off` or `tls=unverified` says otherwise. `cacert=FILE` names the
//! authorities to trust instead of the system's; `cert=FILE` and `key=FILE` prove the identity of
//! this program.
#![deny(missing_docs)]

mod address;
mod client;
mod commit;
mod error;
mod http;
mod layout;
mod merge;
mod reading;
mod session;
mod shared;
mod store;
mod sweep;
mod watches;
mod wire;

pub use error::{ServerError, TooLarge};
pub use store::{EtcdBuilder, EtcdStore};
