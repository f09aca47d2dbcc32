//! The state that the transactions of a database share: snapshots, the log of commits, and
//! committing.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use super::atomic_store::{AtomicKvStore, apply_in};
use super::committing::Committing;
use super::fairness::{Turn, Turns};
use super::log::CommitLog;
use crate::contract::WatchTracker;
use crate::overlay::MutableView;
use crate::store_parts::lock::lock;
use crate::store_parts::process::Process;
use crate::{Conflict, KeyWatch, KvError, KvRead, Result, SharedRead};

/// A store, and the state against which its transactions are checked.
pub(super) struct Engine<S> {
    pub(super) store: S,
    /// Whether the store numbers its versions. `true` if the store could not say.
    numbered: bool,
    /// Whether a commit must be durable when it returns.
    pub(super) sync: AtomicBool,
    pub(super) committing: Committing,
    /// Shared with the transaction that has the turn.
    pub(super) turns: Arc<Turns>,
    state: Mutex<CommitState>,
    pub(super) watches: WatchTracker,
    beginning_to_watch: Mutex<()>,
    pub(super) stopped: AtomicBool,
    /// The process that has made it.
    process: Process,
}

pub(super) struct CommitState {
    /// The number of commits so far.
    pub(super) version: u64,
    /// The content at this version, while transactions hold it. Nothing holds it for longer: stores
    /// such as LMDB cannot use space again that was freed after a version that is still held.
    snapshot: Option<HeldElsewhere>,
    pub(super) log: CommitLog,
    /// The store's own number for the result of the last commit, if it has one.
    expected: Option<u64>,
    /// Other writers wrote to the store up to this version. For transactions that began with an
    /// earlier version, the log alone does not tell which keys have changed.
    others_wrote: u64,
}

/// One state of the content of the store.
pub(super) struct Snapshot {
    pub(super) content: SharedRead,
    /// The store's own number for it, if it has one.
    pub(super) version: Option<u64>,
}

/// A [`Snapshot`] that exists as long as transactions hold it.
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

impl<S> Engine<S> {
    pub(super) fn state(&self) -> MutexGuard<'_, CommitState> {
        lock(&self.state)
    }
}

impl<S: AtomicKvStore> Engine<S> {
    pub(super) fn new(store: S) -> Self {
        // If the store fails here, the first commit compares values although it need not.
        let version = store.version();
        let numbered = version.as_ref().map_or(true, Option::is_some);
        let expected = version.ok().flatten();
        Engine {
            store,
            numbered,
            sync: AtomicBool::new(true),
            committing: Committing::new(),
            turns: Arc::default(),
            state: Mutex::new(CommitState {
                version: 0,
                snapshot: None,
                log: CommitLog::new(),
                expected,
                others_wrote: 0,
            }),
            watches: WatchTracker::default(),
            beginning_to_watch: Mutex::new(()),
            stopped: AtomicBool::new(false),
            process: Process::this(),
        }
    }

    /// Fails in a process that was forked from the one that has made it, if the store can be used
    /// only there. Then the locks in here may be held by threads of the parent, and waiting for
    /// them would be in vain.
    pub(super) fn check_process(&self) -> Result<()> {
        if !self.process.is_this() {
            self.store.version()?;
        }
        Ok(())
    }

    /// See [`OptimisticDatabase::stop`](super::OptimisticDatabase::stop).
    pub(super) fn stop(&self) {
        // A commit that never ends here need not be waited for.
        let commit = self.committing.begin(self.turns.counts()).ok();
        self.stopped.store(true, Ordering::Release);
        drop(commit);
        self.watches.close();
        self.state().snapshot = None;
    }

    pub(super) fn check_running(&self) -> Result<()> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(KvError::Stale("database was stopped".to_owned()));
        }
        Ok(())
    }

    /// The latest version and its content.
    ///
    /// During a commit the content may be newer than the version says. Then something that was read
    /// and written may count as a conflict although it is not one; a conflict is never missed.
    pub(super) fn open(&self, writing: bool) -> Result<(u64, Snapshot)> {
        let mut state = self.state();
        // Transactions that are open at the same time share a snapshot, because a store has a
        // limited number of reader slots. The version is needed only if there is a snapshot to
        // share.
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

    pub(super) fn watch(&self, key: &[u8]) -> Result<KeyWatch> {
        // A second watch waits until the store knows of the first: otherwise it could miss the
        // writes of others until then.
        let beginning = lock(&self.beginning_to_watch);
        let watches = self.watches.watches();
        let first = watches.is_empty();
        let watch = self.watches.watch(key);
        if first {
            self.store.watched(&watches)?;
        }
        drop(beginning);
        Ok(watch)
    }

    /// Fails if a commit after `base` has written keys that were read through `view`.
    fn validate(&self, base: u64, view: &MutableView<SharedRead>) -> Result<()> {
        let newer = self.state().log.since(base)?;
        match newer.iter().find_map(|writes| view.conflict_with(writes)) {
            Some(conflict) => Err(conflict.into()),
            None => Ok(()),
        }
    }

    /// Commits a transaction that began with version `base`. Waits for at most `wait` for a
    /// transaction that has its turn, and then again for the store.
    pub(super) fn commit(
        &self,
        base: u64,
        view: MutableView<SharedRead>,
        mut turn: Option<Turn>,
        wait: Duration,
    ) -> Result<()> {
        self.check_process()?;
        let mut committing = self.committing.begin(self.turns.counts())?;
        // A thread that takes the turn waits for this lock. So either its turn is visible here, or
        // this commit comes before it.
        if turn.is_none() && self.turns.is_taken_elsewhere() {
            drop(committing);
            let turn_is_free = self.turns.wait(wait)?;
            committing = self.committing.begin(self.turns.counts())?;
            drop(turn_is_free);
        }
        // This thread may itself hold the store; waiting for it would be in vain.
        if turn.is_none() {
            self.turns.check_store_is_free()?;
        }
        self.check_running()?;
        self.validate(base, &view).map_err(|error| match (error, &turn) {
            // No other thread could commit through this engine, so a transaction of this thread
            // did.
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
            content.first_difference(now, &reads)?.map_or(Ok(()), |conflict| Err(conflict.into()))
        };
        let expected = expected.filter(|_| log_tells);
        let result = match turn.as_mut().and_then(|turn| turn.store.take()) {
            Some(tx) => apply_in(tx, expected, &writes, &compare),
            None => {
                let sync = self.sync.load(Ordering::Relaxed);
                self.store.apply_to(expected, &writes, sync, wait, &compare)
            }
        };
        // Nothing was changed, and the transaction may run again.
        if result.as_ref().is_err_and(KvError::is_retryable) {
            return result.map(drop);
        }
        // After other failures it is not always known whether the changes were made. So they count
        // as made; at worst, this causes a conflict without a reason. From here on only keys
        // matter, so the values go.
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
        let written = match others_wrote.get() {
            // It is not known which keys the other writers wrote.
            true => self.watches.take_where(|_| true),
            false => self.watches.take_written(&writes),
        };
        // The commit is over: a waker that is called on this thread may commit at once.
        drop(committing);
        drop(turn);
        written.tell();
        result.map(drop)
    }
}
