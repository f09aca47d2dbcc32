//! Fairness: a transaction that others have overtaken again and again gets its turn.
//!
//! While a transaction has its turn, commits of others wait. So the values that it reads stay the
//! same, apart from writes directly to the store and writes of other processes. That is why every
//! second turn also takes the store's own right to write. The commit of the transaction is checked
//! like any other, so the turn only decides which commits wait; the result never depends on it.
//!
//! The turn belongs to the thread that has used the transaction last. Sending the transaction to
//! another thread is not a use: that thread has the turn once it has read or written something in
//! the transaction. If it commits another transaction before that, the commit waits like the
//! commits of all other threads, and fails with a retryable error when its wait is over.
//!
//! The thread that has the turn can run other transactions in between, whose commits do not wait.
//! Only the store's right to write cannot be held twice. If the turn includes it, those other
//! transactions fail at once, and so do transactions of the thread directly on the store. When the
//! transaction runs again, its turns do not take that right.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::committing::NAME;
use crate::contract::TURN_AFTER;
use crate::store_parts::counts::Counts;
use crate::store_parts::lock::lock;
use crate::store_parts::upper_transaction::UpperTransaction;
use crate::store_parts::write_lock::{WriteLock, WritePermit};
use crate::{AtomicKvStore, KvTransaction, Result, TxOptions};

thread_local! {
    /// Whether the transaction that runs again on this thread has had its turn, and the thread
    /// wrote in another transaction within that turn. Then the next turns must not hold the store.
    static WRITES_WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// The turn, and the transaction that has it.
#[derive(Debug)]
pub(super) struct Turns {
    /// Held by the transaction that has the turn. Others hold it only for a moment, after they have
    /// waited for the end of the turn.
    lock: Arc<WriteLock>,
    /// Whether a transaction has the turn.
    taken: AtomicBool,
    current: Mutex<Option<Current>>,
}

impl Default for Turns {
    fn default() -> Self {
        let lock = WriteLock::of(NAME);
        Turns { lock, taken: AtomicBool::new(false), current: Mutex::default() }
    }
}

/// The transaction that has the turn.
#[derive(Debug, Clone)]
struct Current {
    above: Arc<UpperTransaction>,
    /// Whether it also has the store's right to write.
    holds_store: bool,
}

/// The turn, given back when dropped.
pub(super) struct Turn {
    /// The transaction that keeps others from writing to the store.
    pub(super) store: Option<Box<dyn KvTransaction + Send>>,
    turns: Arc<Turns>,
    above: Arc<UpperTransaction>,
    /// The thread that has used it last, as far as `above` knows.
    thread: Cell<ThreadId>,
    _permit: WritePermit,
}

impl Turns {
    /// The counts of the database, with waits for turns.
    pub(super) fn counts(&self) -> &Counts {
        self.lock.counts()
    }

    /// The turn, for a transaction that has failed often enough. `None` for other transactions, and
    /// if another transaction of this thread has the turn.
    ///
    /// `commit_under_way` must wait for the commit that is running, if there is one.
    pub(super) fn take(
        self: &Arc<Self>,
        options: &TxOptions,
        store: &impl AtomicKvStore,
        commit_under_way: impl FnOnce() -> Result<()>,
    ) -> Result<Option<Turn>> {
        if !options.has_turn() || self.here().is_some() {
            return Ok(None);
        }
        // In its first turn, a note of an earlier transaction on this thread does not count.
        if options.failed == TURN_AFTER {
            WRITES_WITHIN.set(false);
        }
        let (start, wait) = (Instant::now(), options.writer_wait());
        let permit = self.lock.acquire(wait)?;
        let above = UpperTransaction::new();
        let thread = Cell::new(thread::current().id());
        *self.current() = Some(Current { above: Arc::clone(&above), holds_store: false });
        self.taken.store(true, Ordering::Release);
        let turns = Arc::clone(self);
        let mut turn = Turn { store: None, turns, above, thread, _permit: permit };
        // From here on, others wait before they commit.
        commit_under_way()?;
        // Every second turn also takes the store's right to write.
        if (options.failed - TURN_AFTER) % 2 == 1 && !WRITES_WITHIN.get() {
            let left = wait.saturating_sub(start.elapsed());
            turn.store = turn.above.hold(|| store.hold(left))?;
            if let Some(current) = &mut *self.current() {
                current.holds_store = turn.store.is_some();
            }
        }
        Ok(Some(turn))
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        lock(&self.current)
    }

    /// The transaction that has its turn, if this thread uses it. Costs one atomic load if no
    /// transaction has it.
    fn here(&self) -> Option<Current> {
        if !self.taken.load(Ordering::Acquire) {
            return None;
        }
        self.current().clone().filter(|current| current.above.is_here())
    }

    /// Whether commits must wait: another thread uses the transaction that has its turn.
    pub(super) fn is_taken_elsewhere(&self) -> bool {
        self.taken.load(Ordering::Acquire) && self.here().is_none()
    }

    /// Waits until no transaction has the turn. No transaction can get it until the permit is
    /// dropped.
    pub(super) fn wait(&self, wait: Duration) -> Result<WritePermit> {
        self.lock.acquire(wait)
    }

    /// Fails if this thread itself has the store's right to write, because waiting for that would
    /// be in vain.
    pub(super) fn check_store_is_free(&self) -> Result<()> {
        match self.here() {
            Some(current) if current.holds_store => Err(current.above.refuse()),
            _ => Ok(()),
        }
    }
}

impl Turn {
    /// Notes that this thread uses the transaction.
    pub(super) fn follow(&self) {
        let thread = thread::current().id();
        if self.thread.replace(thread) != thread {
            self.above.is_used_by(thread);
        }
    }

    /// Notes that a transaction that ran within this one has overtaken it.
    pub(super) fn note_overtaken_within(&self) {
        WRITES_WITHIN.set(true);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.store = None;
        self.turns.taken.store(false, Ordering::Release);
        *self.turns.current() = None;
        if self.above.has_refused() {
            WRITES_WITHIN.set(true);
        }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("holds_store", &self.store.is_some()).finish()
    }
}
