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
//! the thread which used the transaction last; what that thread writes meanwhile waits for nobody, and fails
//! at once, retryably, where it would wait for the transaction. A transaction that is overtaken by one that
//! ran within it fails with [`Conflict::Within`].
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

mod atomic;
mod log;
mod transaction;
mod turn;

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

pub use self::atomic::AtomicKvStore;
use self::atomic::apply_in;
use self::log::Log;
use self::transaction::OptimisticTransaction;
use self::turn::{Turn, Turns};
use crate::contract::WatchTracker;
use crate::overlay::MutableView;
use crate::overlay::conflict::find_difference;
use crate::store_parts::lock::lock;
use crate::{
    Capabilities, Conflict, KvDatabase, KvError, KvRead, KvTransaction, Result, SharedRead,
    Statistics, TxOptions,
};

/// A database whose transactions are checked when they commit; see the [module](self).
pub struct OptimisticDatabase<S> {
    store: S,
    /// Whether the store numbers its versions, as far as is known.
    numbered: bool,
    sync: bool,
    /// Held through a commit, so that there is one at a time.
    committing: Mutex<()>,
    turns: Turns,
    state: Mutex<State>,
    watches: WatchTracker,
    stopped: AtomicBool,
}

struct State {
    /// The number of commits so far.
    version: u64,
    /// The content at this version, as long as somebody needs it: stores such as LMDB cannot use
    /// space again that was freed after a version that is still held.
    snapshot: Option<HeldElsewhere>,
    log: Log,
    /// The store's own number for what the last commit led to, if it has one.
    expected: Option<u64>,
    /// Whoever began with an earlier version than this cannot tell from the log alone what has
    /// changed, because others have written to the store as well.
    others_wrote: u64,
}

/// A content of the store.
struct Snapshot {
    content: SharedRead,
    /// The store's own number for it, if it has one.
    version: Option<u64>,
}

/// A [`Snapshot`] that is there while transactions hold it.
struct HeldElsewhere {
    content: Weak<dyn KvRead + Send + Sync>,
    version: Option<u64>,
}

impl HeldElsewhere {
    fn new(snapshot: &Snapshot) -> Self {
        HeldElsewhere { content: Arc::downgrade(&snapshot.content), version: snapshot.version }
    }

    fn get(&self) -> Option<Snapshot> {
        Some(Snapshot { content: self.content.upgrade()?, version: self.version })
    }
}

impl<S: AtomicKvStore> OptimisticDatabase<S> {
    /// Transactions over `store`. Nobody else may write to it from now on unless it numbers its
    /// versions; see the [module](self).
    pub fn new(store: S) -> Self {
        // If the store fails here, the first commit takes a closer look than it need.
        let version = store.version();
        let numbered = version.as_ref().map_or(true, Option::is_some);
        let expected = version.ok().flatten();
        OptimisticDatabase {
            store,
            numbered,
            sync: true,
            committing: Mutex::new(()),
            turns: Turns::default(),
            state: Mutex::new(State {
                version: 0,
                snapshot: None,
                log: Log::new(),
                expected,
                others_wrote: 0,
            }),
            watches: WatchTracker::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Whether a commit has to be durable when it returns; it has unless this is set to false.
    /// A store may always make it so.
    #[must_use]
    pub fn with_sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    /// How many changes by others are remembered for the sake of transactions that are still
    /// open; a million unless set. A transaction that has been open for more than that cannot be
    /// checked and fails to commit, retryably.
    #[must_use]
    pub fn with_log_limit(self, changes: usize) -> Self {
        self.state().log.set_limit(changes);
        self
    }

    /// The store below.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// How many transactions that changed something have been committed.
    pub fn version(&self) -> u64 {
        self.state().version
    }

    /// Ends all watches with an error and makes every use of a transaction fail with
    /// [`KvError::Stale`], those still open included. A commit under way is finished. There is no
    /// way back; stopping twice does no harm.
    pub fn stop(&self) {
        let commit = lock(&self.committing);
        self.stopped.store(true, Ordering::Release);
        drop(commit);
        self.watches.close();
        self.state().snapshot = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn check_running(&self) -> Result<()> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(KvError::Stale("database was stopped".to_owned()));
        }
        Ok(())
    }

    /// The latest version and its content.
    ///
    /// While a commit is under way the content may be newer than the version says. What then is
    /// read and written is taken for a conflict without need, but never the other way around.
    fn open(&self, writing: bool) -> Result<(u64, Snapshot)> {
        let mut state = self.state();
        // Transactions that are open at the same time share a snapshot, for a store has only so
        // many places for readers. The store is asked for its version only if there is one to share.
        let held = state.snapshot.as_ref().and_then(HeldElsewhere::get);
        let current = match held {
            Some(_) if self.numbered => self.store.version()?,
            _ => None,
        };
        let snapshot = match held {
            Some(snapshot) if snapshot.version == current => snapshot,
            _ => {
                let (content, version) = self.store.versioned_snapshot()?;
                let snapshot = Snapshot { content, version };
                state.snapshot = Some(HeldElsewhere::new(&snapshot));
                snapshot
            }
        };
        let version = state.version;
        if writing {
            state.log.register(version);
        }
        Ok((version, snapshot))
    }

    /// Fails if a commit after `base` has written what was read through `view`.
    fn validate(&self, base: u64, view: &MutableView<SharedRead>) -> Result<()> {
        let newer = self.state().log.since(base)?;
        match newer.iter().find_map(|writes| view.conflict_with(writes)) {
            Some(conflict) => Err(conflict.into()),
            None => Ok(()),
        }
    }

    /// Commits a transaction that began with version `base`. Waits for at most `wait` for one that has its
    /// turn, and again for the store.
    fn commit(
        &self,
        base: u64,
        view: MutableView<SharedRead>,
        mut turn: Option<Turn<'_>>,
        wait: Duration,
    ) -> Result<()> {
        let mut committing = lock(&self.committing);
        // Whoever takes the turn waits for this lock: it is seen here, or the commit comes first.
        if turn.is_none() && self.turns.is_taken_elsewhere() {
            drop(committing);
            let nobody_has_the_turn = self.turns.wait(wait)?;
            committing = lock(&self.committing);
            drop(nobody_has_the_turn);
        }
        if turn.is_none() {
            self.turns.check_store_is_free()?;
        }
        self.check_running()?;
        self.validate(base, &view).map_err(|error| match (error, &turn) {
            // Nobody else could commit by this engine meanwhile.
            (KvError::Conflict(conflict), Some(turn)) => {
                turn.note_overtaken_within();
                Conflict::Within(conflict).into()
            }
            (error, _) => error,
        })?;
        let (content, reads, mut writes) = view.into_parts();
        let (expected, log_tells) = {
            let state = self.state();
            (state.expected, base >= state.others_wrote)
        };
        let others_wrote = Cell::new(false);
        let compare = |now: &dyn KvRead, found: u64| {
            others_wrote.set(expected != Some(found));
            find_difference(&reads, &*content, now)?.map_or(Ok(()), |conflict| Err(conflict.into()))
        };
        let expected = expected.filter(|_| log_tells);
        let result = match turn.as_mut().and_then(|turn| turn.store.take()) {
            Some(tx) => apply_in(tx, expected, &writes, &compare),
            None => self.store.apply_to(expected, &writes, self.sync, wait, &compare),
        };
        if result.as_ref().is_err_and(KvError::is_retryable) {
            return result.map(drop);
        }
        // Other than by a retryable failure the changes count as made even if that failed, for it is
        // not always known whether they were: the worst that comes of it is a conflict that is none.
        // Only keys matter from here on.
        writes.puts.values_mut().for_each(|value| *value = Vec::new());
        let writes = Arc::new(writes);
        let mut state = self.state();
        state.version += 1;
        let version = state.version;
        state.log.append(version, &writes);
        state.expected = result.as_ref().ok().copied().flatten();
        if others_wrote.get() {
            state.others_wrote = version;
        }
        state.snapshot = None;
        drop(state);
        if others_wrote.get() {
            // Nobody knows which keys they wrote.
            self.watches.notify_where(|_| true);
        } else {
            self.watches.notify(&writes);
        }
        drop(committing);
        result.map(drop)
    }
}

impl<S: AtomicKvStore> KvDatabase for OptimisticDatabase<S> {
    /// Waits for other transactions only if it is to have its turn, see [`TxOptions::failed`].
    fn begin<'db>(&'db self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send + 'db>> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(KvError::IllegalState("database was stopped".to_owned()));
        }
        Ok(Box::new(OptimisticTransaction::begin(self, options)?))
    }

    fn capabilities(&self) -> Capabilities {
        let mut offered = Capabilities::none();
        offered.persistent = self.store.persistent();
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
        self.store.verify_store()
    }

    fn statistics(&self) -> Result<Statistics> {
        self.store.store_statistics()
    }
}

impl<S: fmt::Debug> fmt::Debug for OptimisticDatabase<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OptimisticDatabase")
            .field("store", &self.store)
            .field("version", &lock(&self.state).version)
            .field("watches", &self.watches.len())
            .finish_non_exhaustive()
    }
}
