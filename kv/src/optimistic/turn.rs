//! The turn of a transaction that others have overtaken again and again.
//!
//! While it has its turn, commits of others wait. So what it reads stays as it is, but for what is
//! written below this engine or by other processes; every second turn therefore takes the store's own
//! right to write as well. Whether it succeeds is checked at its commit like that of any other
//! transaction, so nothing depends on the turn but who has to wait.
//!
//! The turn goes with its transaction: it is that of the thread which used the transaction last. To send
//! the transaction to another thread is not to use it: that thread has the turn once it has read or
//! written something in it. If it commits another transaction before, that one waits like those of all
//! others, and fails with a retryable error when its wait is over.
//!
//! The thread that has the turn can run other transactions meanwhile, whose commits wait for nobody. Only
//! the store's right to write is not to be had twice: where that is held, those fail at once, and so do
//! those on the store below; the transaction, run again, has its turns without that.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::contract::TURN_AFTER;
use crate::store_parts::lock::lock;
use crate::store_parts::write_lock::{Above, WriteLock, WritePermit};
use crate::{AtomicKvStore, KvTransaction, Result, TxOptions};

thread_local! {
    /// Whether the transaction that is run again on this thread has had its turn, and the thread has
    /// written in between by itself: then it is not to hold the store.
    static WRITES_WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// Who has the turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Who is to have the turn next, and who waits for its end. Held longer by the one that has the turn only.
    lock: Arc<WriteLock>,
    /// Whether there is one.
    taken: AtomicBool,
    current: Mutex<Option<Current>>,
}

/// The transaction that has the turn.
#[derive(Debug, Clone)]
struct Current {
    above: Arc<Above>,
    /// Whether it has the store's right to write as well.
    holds_store: bool,
}

/// The turn, given back when dropped.
pub(super) struct Turn<'db> {
    /// What keeps others from writing to the store.
    pub(super) store: Option<Box<dyn KvTransaction + Send + 'db>>,
    turns: &'db Turns,
    above: Arc<Above>,
    /// The thread that has used it last, as `above` knows.
    thread: Cell<ThreadId>,
    _permit: WritePermit,
}

impl Turns {
    /// The turn for a transaction that has failed often enough; none for others, and none if another
    /// transaction of this thread has it.
    ///
    /// `commit_under_way` is to wait for it.
    pub(super) fn take<'db>(
        &'db self,
        options: &TxOptions,
        store: &'db impl AtomicKvStore,
        commit_under_way: impl FnOnce(),
    ) -> Result<Option<Turn<'db>>> {
        if !options.has_turn() || self.here().is_some() {
            return Ok(None);
        }
        if options.failed == TURN_AFTER {
            WRITES_WITHIN.set(false);
        }
        let (start, wait) = (Instant::now(), options.writer_wait());
        let permit = self.lock.acquire(wait)?;
        let above = Above::new();
        let thread = Cell::new(thread::current().id());
        *self.current() = Some(Current { above: Arc::clone(&above), holds_store: false });
        self.taken.store(true, Ordering::Release);
        let mut turn = Turn { store: None, turns: self, above, thread, _permit: permit };
        // From here on others wait before they commit.
        commit_under_way();
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

    /// The transaction that has its turn, if this thread uses it. Costs an atomic load if there is none.
    fn here(&self) -> Option<Current> {
        if !self.taken.load(Ordering::Acquire) {
            return None;
        }
        self.current().clone().filter(|current| current.above.is_here())
    }

    /// Whether commits have to wait: a transaction has its turn which this thread does not use.
    pub(super) fn is_taken_elsewhere(&self) -> bool {
        self.taken.load(Ordering::Acquire) && self.here().is_none()
    }

    /// Waits until nobody has the turn, and nobody can have it until the permit is dropped.
    pub(super) fn wait(&self, wait: Duration) -> Result<WritePermit> {
        self.lock.acquire(wait)
    }

    /// Fails if this thread would wait for the store's right to write in vain, since it has that already.
    pub(super) fn check_store_is_free(&self) -> Result<()> {
        match self.here() {
            Some(current) if current.holds_store => Err(current.above.refuse()),
            _ => Ok(()),
        }
    }
}

impl Turn<'_> {
    /// Notes that this thread uses the transaction.
    pub(super) fn follow(&self) {
        let thread = thread::current().id();
        if self.thread.replace(thread) != thread {
            self.above.is_used_by(thread);
        }
    }

    /// Notes that the transaction was overtaken by one that ran within it.
    pub(super) fn note_overtaken_within(&self) {
        WRITES_WITHIN.set(true);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.store = None;
        self.turns.taken.store(false, Ordering::Release);
        *self.turns.current() = None;
        if self.above.has_refused() {
            WRITES_WITHIN.set(true);
        }
    }
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("holds_store", &self.store.is_some()).finish()
    }
}
