//! For authors of stores: transactions on a store of another machine, which is asked as seldom as
//! possible. Programs that use such a store need nothing of this module.
//!
//! An [`Engine`] knows how to ask a store and how to commit; [`RemoteDatabase`] makes a
//! [`KvDatabase`] of it. Each question costs a round trip, which takes a hundred times longer than
//! an operation of an embedded store. So a transaction
//!
//! - keeps the pairs that it has read, and the gaps between them: nothing is asked twice;
//! - keeps its own writes until it commits, and sends them in one request with the commit;
//! - reads ranges in pages, of 256 pairs at first, then of twice as many each time, up to 1 MiB.
//!   From the second page on, the next page is under way while the caller works;
//! - sends the spans of [`KvRead::prefetch`](crate::KvRead::prefetch) with its next question;
//! - begins with its first question.
//!
//! The pairs of the store that it keeps are limited to about 32 MiB.
//!
//! `engine.rs` is the trait of an engine; `lane.rs` asks one session and remembers, in `known.rs`;
//! `reader.rs` reads, on as many sessions as threads read a snapshot at once, in `lanes.rs`;
//! `transaction.rs` is the transaction over it, and `shared.rs` is the state that it shares with
//! its database. `address.rs` reads URLs, `connect.rs` connects to one of the addresses of a host,
//! `tls.rs` encrypts, `listener.rs` keeps watches, `server_counts.rs` counts requests, and
//! `pauses.rs` says how long to wait between attempts; these are for engines. `simulated.rs` is an
//! engine in memory for tests.

mod address;
mod connect;
mod engine;
mod known;
mod lane;
mod lanes;
mod listener;
mod pauses;
mod reader;
mod server_counts;
mod shared;
#[cfg(feature = "testsuite")]
mod simulated;
#[cfg(feature = "tls")]
mod tls;
mod transaction;

use std::sync::Arc;

use self::lane::FORKED;
use self::shared::SharedEngine;
use self::transaction::RemoteTransaction;
use crate::store_parts::counts::Counts;
use crate::store_parts::process::Process;
use crate::{Capabilities, Counters, KvDatabase, KvTransaction, Result, Statistics, TxOptions};

pub use crate::contract::{DEFAULT_WAIT, WatchTracker};
pub use crate::store_parts::write_lock::note_wait_in_vain;

pub use self::address::{ServerHost, ServerUrl};
pub use self::engine::{Changes, Engine, LONGEST_WAIT, RangePage, RangeRead, Session, Siblings};
pub use self::listener::{Closer, Heard, News, NoNews, WatchListener};
pub use self::pauses::Pauses;
pub use self::server_counts::{ConnectionWait, Request, ServerCounts};
#[cfg(feature = "testsuite")]
pub use self::simulated::SimulatedServer;
#[cfg(feature = "tls")]
pub use self::tls::{EncryptedStream, Encryption, OwnCertificate, Tls, TlsError};

/// The database of an [`Engine`].
///
/// Clones of an engine that share their connections can be used beside it.
#[derive(Debug)]
pub struct RemoteDatabase<E> {
    shared: Arc<SharedEngine<E>>,
}

impl<E> Clone for RemoteDatabase<E> {
    fn clone(&self) -> Self {
        RemoteDatabase { shared: Arc::clone(&self.shared) }
    }
}

impl<E: Engine> RemoteDatabase<E> {
    /// The database of this engine.
    pub fn new(engine: E) -> Self {
        let counts = Arc::new(Counts::of(engine.name()));
        RemoteDatabase {
            shared: Arc::new(SharedEngine { engine, counts, process: Process::this() }),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.shared.engine
    }

    fn check_process(&self) -> Result<()> {
        self.shared.process.check(|| FORKED)
    }
}

impl<E: Engine> KvDatabase for RemoteDatabase<E> {
    /// The store is asked with the first read. Until then, the state that the transaction sees is
    /// not fixed.
    ///
    /// Fails in a process that was forked from the one that has opened the database.
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        self.check_process()?;
        let begin = || Ok(Box::new(RemoteTransaction::begin(&self.shared, options)?) as _);
        self.shared.counts.begin(options, begin)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            lazy_begin: true,
            timeouts: true,
            read_only_switch: true,
            snapshots: false,
            untracked_reads: false,
            pending_writes: true,
            conflict_free_counters: false,
            ..self.shared.engine.capabilities()
        }
    }

    fn statistics(&self) -> Result<Statistics> {
        self.check_process()?;
        self.shared.engine.statistics()
    }

    fn counters(&self) -> Counters {
        // The engine counts the waits of its transactions.
        self.shared.engine.counters().or(self.shared.counts.counters())
    }
}
