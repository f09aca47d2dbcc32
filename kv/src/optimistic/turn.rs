//! The turn of a transaction that others have overtaken again and again.
//!
//! While it has its turn, commits of other threads wait. So what it reads stays as it is, but for what is
//! written below this engine or by other processes; every second turn therefore takes the store's own
//! right to write as well. Whether it succeeds is checked at its commit like that of any other
//! transaction, so nothing depends on the turn but who has to wait.
//!
//! The thread of a transaction that has its turn can run other transactions meanwhile, whose commits wait
//! for nobody. Only the store's right to write is not to be had twice: where that is held, those fail at
//! once, and the transaction, run again, has its turn without that.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::store::TURN_AFTER;
use crate::write_lock::{WriteLock, WritePermit};
use crate::{AtomicKvStore, KvError, KvTransaction, Result, TxOptions};

/// Who has the turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    lock: Arc<WriteLock>,
    /// Whether the one that has the turn has the store's right to write as well.
    holds_store: AtomicBool,
}

/// The turn, given back when dropped.
pub(super) struct Turn<'db> {
    /// What keeps others from writing to the store.
    pub(super) store: Option<Box<dyn KvTransaction + Send + 'db>>,
    holds_store: &'db AtomicBool,
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
        if !options.has_turn() || self.lock.is_taken_here() {
            return Ok(None);
        }
        let (start, wait) = (Instant::now(), options.writer_wait());
        let permit = self.lock.acquire(wait)?;
        // From here on others wait before they commit.
        commit_under_way();
        let mut turn = Turn { store: None, holds_store: &self.holds_store, _permit: permit };
        if (options.failed - TURN_AFTER) % 2 == 1 {
            turn.store = store.hold(wait.saturating_sub(start.elapsed()))?;
            self.holds_store.store(turn.store.is_some(), Ordering::Release);
        }
        Ok(Some(turn))
    }

    /// Whether commits have to wait: another thread has the turn. Costs an atomic load if nobody has it.
    pub(super) fn is_taken_elsewhere(&self) -> bool {
        self.lock.is_taken() && !self.lock.is_taken_here()
    }

    /// Waits until nobody has the turn, and has it until the permit is dropped.
    pub(super) fn wait(&self, wait: Duration) -> Result<WritePermit> {
        self.lock.acquire(wait)
    }

    /// Fails if this thread waits for the store's right to write in vain, since it has that already.
    pub(super) fn check_store_is_free(&self) -> Result<()> {
        if self.holds_store.load(Ordering::Acquire) && self.lock.is_taken_here() {
            return Err(KvError::Retry(
                "this thread is running a transaction that has failed often and is alone with the store \
                 now; run it again"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.store = None;
        self.holds_store.store(false, Ordering::Release);
    }
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("holds_store", &self.store.is_some()).finish()
    }
}
