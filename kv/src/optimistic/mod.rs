//! Transactions that run side by side and are checked when they commit. The rest of the crate may
//! call `atomic_store.rs`, whose trait has the operations that a store must offer. `engine.rs`
//! commits, one at a time (`committing.rs`), `log.rs` keeps the commits of others, `transaction.rs`
//! is one transaction, `fairness.rs` gives its turn to a transaction that others have overtaken
//! again and again.
//!
//! [`OptimisticDatabase`] works over any [`AtomicKvStore`]. Every [`KvDatabase`] whose transactions
//! offer snapshots is one, for example [`MemoryStore`](crate::memory::MemoryStore). It adds to the
//! store: any number of writers at a time, watches, time-outs, snapshots, and counters that can be
//! adjusted without conflicts.
//!
//! A transaction works on the snapshot it began with, which never changes, and keeps its changes to
//! itself. Its commit fails with [`KvError::Conflict`] if a transaction that committed meanwhile
//! has written anything that this one has read. Otherwise all its changes are made at once. So
//! transactions are strictly serializable. A transaction that only reads never fails: it takes
//! place at its beginning. Writing without reading never conflicts either; the later commit wins.
//!
//! Short transactions could overtake a long one each time it runs. So a transaction that has failed
//! five times ([`TxOptions::failed`], which [`Retry`](crate::Retry) counts) gets its turn: from its
//! beginning to its end, commits of other threads wait, for at most their [`TxOptions::wait`].
//! Every second time it also takes the right to write to the underlying store, so that other
//! processes wait too.
//!
//! The turn belongs to the thread that has used the transaction last. Commits of other transactions
//! on this thread do not wait. If the transaction also has the right to write to the store, they
//! fail at once with a retryable error. A thread that was sent the transaction and has not used it
//! yet waits like all others. If a transaction that ran within the turn overtakes the one that has
//! the turn, that one fails with [`Conflict::Within`](crate::Conflict::Within).
//!
//! Others may write to the store at the same time, directly or from another process, if the store
//! numbers its versions ([`KvTransaction::version`]), as the stores of this crate do. A transaction
//! sees their commits before it began. A commit that finds changes of others compares the values
//! that were read with the present ones. If the store has no numbers, all writing must go through
//! one engine, because conflicts with other writers would not be noticed.
//!
//! ```
//! use permazen_kv::{KvDatabase, KvError, KvRead, KvWrite, TxOptions};
//! use permazen_kv::{memory::MemoryStore, optimistic::OptimisticDatabase};
//!
//! let db = OptimisticDatabase::new(MemoryStore::new());
//! let mut one = db.begin(&TxOptions::writing())?;
//! let mut two = db.begin(&TxOptions::writing())?;
//! one.put(b"seat", b"taken by one")?;
//! if two.get(b"seat")?.is_none() {
//!     two.put(b"seat", b"taken by two")?;
//! }
//! one.commit()?;
//! assert!(matches!(two.commit(), Err(KvError::Conflict(_))));
//! # Ok::<(), KvError>(())
//! ```

pub(crate) mod atomic_store;
mod committing;
mod engine;
mod fairness;
mod log;
mod transaction;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use self::atomic_store::AtomicKvStore;
use self::engine::Engine;
use self::transaction::OptimisticTransaction;
use crate::contract::store_id::StoreId;
use crate::{
    Capabilities, Counters, KvDatabase, KvError, KvTransaction, Result, Statistics, TxOptions,
};

/// A database whose transactions are checked when they commit; see the [module](self).
pub struct OptimisticDatabase<S> {
    /// Shared with the transactions, which keep it as long as they are open.
    engine: Arc<Engine<S>>,
}

impl<S: AtomicKvStore> OptimisticDatabase<S> {
    /// Transactions over `store`. From now on others may write to the store only if it numbers its
    /// versions; see the [module](self).
    pub fn new(store: S) -> Self {
        OptimisticDatabase { engine: Arc::new(Engine::new(store)) }
    }

    /// Whether a commit must be durable when it returns; `true` unless set. A store may always make
    /// it durable. Also for transactions that are open.
    #[must_use]
    pub fn with_sync(self, sync: bool) -> Self {
        self.engine.sync.store(sync, Ordering::Relaxed);
        self
    }

    /// How many changes are kept to check open transactions against; a million unless set. A
    /// transaction during which others make more changes cannot be checked: its commit fails with a
    /// retryable error. Also for transactions that are open.
    #[must_use]
    pub fn with_log_limit(self, changes: usize) -> Self {
        self.engine.state().log.set_limit(changes);
        self
    }

    /// The underlying store.
    pub fn store(&self) -> &S {
        &self.engine.store
    }

    /// How many transactions that changed something have been committed.
    pub fn version(&self) -> u64 {
        self.engine.state().version
    }

    /// Ends all watches with an error. From then on every use of a transaction fails with
    /// [`KvError::Stale`], also if the transaction is open already. A running commit is finished
    /// first, but this can return before that commit has told those that watch what it wrote. The
    /// database cannot be started again. Stopping it twice does no harm.
    pub fn stop(&self) {
        self.engine.stop();
    }
}

impl<S: AtomicKvStore + 'static> KvDatabase for OptimisticDatabase<S> {
    /// Waits for other transactions only if this one gets its turn, see [`TxOptions::failed`].
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        if self.engine.stopped.load(Ordering::Acquire) {
            return Err(KvError::IllegalState("database was stopped".to_owned()));
        }
        self.engine.check_process()?;
        let begin = || Ok(Box::new(OptimisticTransaction::begin(&self.engine, options)?) as _);
        self.engine.turns.counts().begin(options, begin)
    }

    fn capabilities(&self) -> Capabilities {
        let mut offered = Capabilities::none();
        offered.persistent = self.engine.store.persistent();
        offered.serializable = true;
        offered.concurrent_writers = true;
        offered.snapshots = true;
        offered.watches = true;
        offered.timeouts = true;
        offered.conflict_free_counters = true;
        offered.read_only_switch = true;
        offered.untracked_reads = true;
        offered.pending_writes = true;
        offered
    }

    fn verify(&self) -> Result<Vec<String>> {
        self.engine.store.verify_store()
    }

    fn statistics(&self) -> Result<Statistics> {
        self.engine.store.store_statistics()
    }

    /// Counts its own transactions. The waits and the servers are those of the store below.
    fn counters(&self) -> Counters {
        let below = self.engine.store.store_counters().of_store_below();
        let mut own = self.engine.turns.counts().counters();
        let sum = |own: Option<u64>, below: Option<u64>| Some(own? + below.unwrap_or_default());
        own.waits = sum(own.waits, below.waits);
        own.waits_in_vain = sum(own.waits_in_vain, below.waits_in_vain);
        own.waited = own.waited.map(|own| own + below.waited.unwrap_or_default());
        own.or(below)
    }

    fn identity(&self) -> Option<StoreId> {
        self.engine.store.store_identity()
    }
}

impl<S: fmt::Debug> fmt::Debug for OptimisticDatabase<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OptimisticDatabase")
            .field("store", &self.engine.store)
            .field("version", &self.engine.state().version)
            .field("watches", &self.engine.watches.len())
            .finish_non_exhaustive()
    }
}
