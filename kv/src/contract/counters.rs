//! The counters of a store since it was opened.

use std::time::Duration;

/// The counters of a store since this process opened it; see
/// [`KvDatabase::counters`](crate::KvDatabase::counters). A figure that a store does not have, or
/// does not count, is `None`.
///
/// All but the connections only grow, so that the difference of two readings is the work in
/// between. They are read one after the other while transactions may be running, so they need not
/// be of one moment.
///
/// ```
/// use permazen_kv::{KvDatabase, KvDatabaseExt, KvWrite, memory::MemoryStore};
///
/// let store = MemoryStore::new();
/// let before = store.counters();
/// store.write(|tx| tx.put(b"key", b"value"))?;
/// let after = store.counters();
/// let commits = |counters: &permazen_kv::Counters| counters.commits.unwrap_or_default();
/// println!("{} commits", commits(&after) - commits(&before));
/// assert_eq!(after.requests, None, "it asks no server");
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Transactions begun, for reading and for writing. Each attempt of a closure is one.
    pub begun: Option<u64>,
    /// Transactions that have written something and were committed. Each transaction of a group
    /// counts.
    pub commits: Option<u64>,
    /// Transactions that failed because another one has changed values that they have read, when
    /// they read, wrote or committed.
    pub conflicts: Option<u64>,
    /// Transactions that were begun because the same work had failed before: transactions with
    /// [`TxOptions::failed`](crate::TxOptions::failed), such as the second and later attempts of
    /// closures.
    pub retries: Option<u64>,
    /// Commits of which it is not known whether they took effect.
    pub unknown_outcomes: Option<u64>,
    /// How often a transaction has waited for others of this process: for its turn to write, or for
    /// a connection to a server. A transaction that waits and then commits in a group counts too.
    /// Waits for other processes do not.
    pub waits: Option<u64>,
    /// How many of these waits were in vain, because the time to wait was over.
    pub waits_in_vain: Option<u64>,
    /// How long all of these waits took together.
    pub waited: Option<Duration>,
    /// Requests to servers, each of which costs a round trip. Connecting and logging in do not
    /// count.
    pub requests: Option<u64>,
    /// How often another server than before has answered, because the one before did not.
    pub failovers: Option<u64>,
    /// Connections to servers that are open or being opened, at this moment.
    pub connections: Option<u64>,
    /// Connections that are open and that no transaction uses, at this moment.
    pub idle_connections: Option<u64>,
    /// How many connections there can be.
    pub most_connections: Option<u64>,
}

impl Counters {
    /// These counters; where one is `None`, that of `other`.
    ///
    /// ```
    /// use permazen_kv::Counters;
    ///
    /// let mut own = Counters::default();
    /// own.commits = Some(3);
    /// let mut of_server = Counters::default();
    /// (of_server.commits, of_server.requests) = (Some(9), Some(5));
    /// let all = own.or(of_server);
    /// assert_eq!((all.commits, all.requests), (Some(3), Some(5)));
    /// ```
    #[must_use]
    pub fn or(self, other: Counters) -> Counters {
        Counters {
            begun: self.begun.or(other.begun),
            commits: self.commits.or(other.commits),
            conflicts: self.conflicts.or(other.conflicts),
            retries: self.retries.or(other.retries),
            unknown_outcomes: self.unknown_outcomes.or(other.unknown_outcomes),
            waits: self.waits.or(other.waits),
            waits_in_vain: self.waits_in_vain.or(other.waits_in_vain),
            waited: self.waited.or(other.waited),
            requests: self.requests.or(other.requests),
            failovers: self.failovers.or(other.failovers),
            connections: self.connections.or(other.connections),
            idle_connections: self.idle_connections.or(other.idle_connections),
            most_connections: self.most_connections.or(other.most_connections),
        }
    }

    /// The part of these counters that a store built on this one reports as well: how long
    /// transactions have waited, and the servers. It leaves out transactions and commits, because
    /// the store above counts its own.
    ///
    /// ```
    /// use permazen_kv::Counters;
    ///
    /// let mut below = Counters::default();
    /// (below.commits, below.requests) = (Some(9), Some(5));
    /// let below = below.of_store_below();
    /// assert_eq!((below.commits, below.requests), (None, Some(5)));
    /// ```
    #[must_use]
    pub fn of_store_below(self) -> Counters {
        Counters {
            begun: None,
            commits: None,
            conflicts: None,
            retries: None,
            unknown_outcomes: None,
            ..self
        }
    }
}
