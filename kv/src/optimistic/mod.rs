//! Transactions that run side by side and are checked when they commit (kv §8.4, §14.4).
//!
//! [`OptimisticDatabase`] makes them over any [`AtomicKvStore`], and every [`KvDatabase`] whose
//! transactions offer snapshots is one, [`MemoryStore`](crate::memory::MemoryStore) for example.
//! Beyond the store's own transactions there are then any number of writers at a time, watches,
//! time-outs, snapshots, and counters that are adjusted without conflict.
//!
//! A transaction works on the snapshot it began with, which never changes under it, and keeps its
//! changes to itself. Its commit fails with [`KvError::Conflict`] if anything it has read was
//! written by a transaction that committed meanwhile; else its changes are made, all at once. So
//! transactions are strictly serializable. One that only reads never fails: it takes place at
//! its beginning. Writing without reading never conflicts either; the later commit wins.
//!
//! A long transaction could be overtaken by short ones each time it is run. So one that has failed five
//! times ([`TxOptions::failed`], which [`Retry`](crate::Retry) counts) gets its turn: from its beginning
//! to its end commits of other threads wait, at most for their [`TxOptions::wait`]. Every second time it
//! also takes the right to write to the store below, so that other processes wait too. The turn is that of
//! the thread which used the transaction last; what that thread writes meanwhile waits for nobody. Where the
//! transaction has the right to write to the store as well, that fails at once with a retryable error. A
//! thread that was sent the transaction and has not yet used it waits like all others. A transaction that
//! is overtaken by one that ran within it fails with [`Conflict::Within`](crate::Conflict::Within).
//!
//! Others may write to the store meanwhile, directly or from another process, if the store numbers
//! its versions ([`KvTransaction::version`]), as those of this crate do: a transaction sees what they
//! committed before it began, and a commit that finds the store changed by others compares what was
//! read with what is there, value by value. Where a store does not tell, all writing must go through
//! one engine: what others write would not be seen as conflicts.
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

pub(crate) mod atomic;
mod engine;
mod log;
mod transaction;
mod turn;

use std::fmt;
use std::sync::atomic::Ordering;

use self::atomic::AtomicKvStore;
use self::engine::Engine;
use self::transaction::OptimisticTransaction;
use crate::{Capabilities, KvDatabase, KvError, KvTransaction, Result, Statistics, TxOptions};

/// A database whose transactions are checked when they commit; see the [module](self).
pub struct OptimisticDatabase<S> {
    engine: Engine<S>,
}

impl<S: AtomicKvStore> OptimisticDatabase<S> {
    /// Transactions over `store`. Nobody else may write to it from now on unless it numbers its
    /// versions; see the [module](self).
    pub fn new(store: S) -> Self {
        OptimisticDatabase { engine: Engine::new(store) }
    }

    /// Whether a commit has to be durable when it returns; it has unless this is set to false.
    /// A store may always make it so.
    #[must_use]
    pub fn with_sync(mut self, sync: bool) -> Self {
        self.engine.sync = sync;
        self
    }

    /// How many changes by others are remembered for the sake of transactions that are still
    /// open; a million unless set. A transaction that has been open for more than that cannot be
    /// checked and fails to commit, retryably.
    #[must_use]
    pub fn with_log_limit(self, changes: usize) -> Self {
        self.engine.state().log.set_limit(changes);
        self
    }

    /// The store below.
    pub fn store(&self) -> &S {
        &self.engine.store
    }

    /// How many transactions that changed something have been committed.
    pub fn version(&self) -> u64 {
        self.engine.state().version
    }

    /// Ends all watches with an error and makes every use of a transaction fail with
    /// [`KvError::Stale`], those still open included. A commit under way is finished. There is no
    /// way back; stopping twice does no harm.
    pub fn stop(&self) {
        self.engine.stop();
    }
}

impl<S: AtomicKvStore> KvDatabase for OptimisticDatabase<S> {
    /// Waits for other transactions only if it is to have its turn, see [`TxOptions::failed`].
    fn begin<'db>(&'db self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send + 'db>> {
        if self.engine.stopped.load(Ordering::Acquire) {
            return Err(KvError::IllegalState("database was stopped".to_owned()));
        }
        Ok(Box::new(OptimisticTransaction::begin(&self.engine, options)?))
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
        offered
    }

    fn verify(&self) -> Result<Vec<String>> {
        self.engine.store.verify_store()
    }

    fn statistics(&self) -> Result<Statistics> {
        self.engine.store.store_statistics()
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
