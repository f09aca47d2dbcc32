//! The state that the leader of a group and its members share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::store_parts::awake::stay_awake;
use crate::store_parts::lock::lock;
use crate::{KvError, KvRead, KvWrite, Result, Writes};

/// A transaction that is about to commit and has the right to write.
pub(crate) trait Leader: KvWrite + Send {
    /// Commits it. Called on the thread that asked for the commit.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A group of transactions that are committed together.
pub(crate) struct Group {
    lent: Mutex<Lent>,
    /// Whether the member that runs must run again, alone.
    revoked: AtomicBool,
    max_key_len: usize,
    outcome: Mutex<Option<Result<()>>>,
    told: Condvar,
    /// Wakes the leader when no member runs.
    ended: Condvar,
    /// Whether the leader was woken, if it has not gone to sleep.
    called: AtomicBool,
}

/// The transaction of the leader.
struct Lent {
    /// Taken out when the group is closed.
    leader: Option<Box<dyn Leader>>,
    /// How many members have made their writes in it.
    members: usize,
    /// Whether the writes of a member may have been made in part.
    failed: bool,
}

/// The remains of a group that was closed.
pub(super) struct Closed {
    pub(super) leader: Option<Box<dyn Leader>>,
    /// How many members have made their writes.
    pub(super) members: usize,
    /// Whether the transaction must be rolled back.
    pub(super) failed: bool,
}

/// The error of a member that took too long for the others.
fn too_long() -> KvError {
    KvError::Retry(
        "others that commit together with this transaction could not wait for it; when it is run again, it \
         commits alone"
            .to_owned(),
    )
}

/// The error of transactions that could not be committed together.
pub(super) fn alone() -> KvError {
    KvError::Retry(
        "this transaction could not be committed together with others; when it is run again, it commits \
         alone"
            .to_owned(),
    )
}

impl Group {
    pub(super) fn new(leader: Box<dyn Leader>) -> Arc<Self> {
        let max_key_len = leader.max_key_len();
        Arc::new(Group {
            lent: Mutex::new(Lent { leader: Some(leader), members: 0, failed: false }),
            revoked: AtomicBool::new(false),
            max_key_len,
            outcome: Mutex::default(),
            told: Condvar::new(),
            ended: Condvar::new(),
            called: AtomicBool::new(false),
        })
    }

    pub(super) fn max_key_len(&self) -> usize {
        self.max_key_len
    }

    fn lent(&self) -> MutexGuard<'_, Lent> {
        lock(&self.lent)
    }

    /// Fails if the member that runs must run again.
    pub(super) fn check(&self) -> Result<()> {
        if self.revoked.load(Ordering::Acquire) { Err(too_long()) } else { Ok(()) }
    }

    /// Reads the state with the writes of the leader and the members so far. The result of `read`
    /// cannot borrow from the leader, which may take its transaction back at any time.
    pub(super) fn read<R>(&self, read: impl FnOnce(&dyn KvRead) -> Result<R>) -> Result<R> {
        let lent = self.lent();
        self.check()?;
        match &lent.leader {
            Some(leader) => read(&**leader),
            None => Err(too_long()),
        }
    }

    /// Makes the writes of the member that runs in the transaction of the leader.
    pub(super) fn apply(&self, writes: &Writes) -> Result<()> {
        let mut lent = self.lent();
        self.check()?;
        let Lent { leader: Some(leader), members, failed: failed @ false } = &mut *lent else {
            return Err(alone());
        };
        // Reset at the end, so that it stays set after a panic.
        *failed = true;
        if let Err(error) = leader.apply(writes) {
            tracing::debug!(error = error.kind(), "a group cannot be committed together");
            return Err(alone());
        }
        *failed = false;
        *members += 1;
        Ok(())
    }

    /// Whether no other member can begin.
    pub(crate) fn is_over(&self) -> bool {
        self.revoked.load(Ordering::Acquire) || self.lent().failed
    }

    /// Waits for at most `wait` until a member wakes the leader.
    pub(crate) fn wait_as_leader<'s, S>(
        &self,
        state: MutexGuard<'s, S>,
        wait: Duration,
    ) -> MutexGuard<'s, S> {
        self.ended.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Lets others run until a member wakes the leader, or until `long` after `since`. Gives up the
    /// lock of `state` meanwhile.
    pub(crate) fn stay_awake_as_leader<'s, S>(
        &self,
        state: MutexGuard<'s, S>,
        since: Instant,
        long: Duration,
    ) {
        // An earlier call that woke the leader was seen under the lock.
        self.called.store(false, Ordering::Relaxed);
        drop(state);
        stay_awake(since, long, &self.called);
    }

    /// Wakes the leader.
    pub(crate) fn wake_leader(&self) {
        self.called.store(true, Ordering::Release);
        self.ended.notify_one();
    }

    pub(super) fn close(&self) -> Closed {
        let mut lent = self.lent();
        self.revoked.store(true, Ordering::Release);
        Closed { leader: lent.leader.take(), members: lent.members, failed: lent.failed }
    }

    /// Gives the members the outcome of the commit, if they do not have it yet.
    pub(super) fn tell(&self, error: Option<&KvError>) {
        let mut outcome = lock(&self.outcome);
        outcome.get_or_insert_with(|| error.map_or(Ok(()), |error| Err(same(error))));
        drop(outcome);
        self.told.notify_all();
    }

    /// Waits until the leader has committed. The leader does not wait long for any thread, so this
    /// does not wait long either.
    pub(super) fn outcome(&self) -> Result<()> {
        let mut outcome = lock(&self.outcome);
        loop {
            match &*outcome {
                Some(Ok(())) => return Ok(()),
                Some(Err(error)) => return Err(same(error)),
                None => outcome = self.told.wait(outcome).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("revoked", &self.revoked).finish_non_exhaustive()
    }
}

/// The error of a failed commit, for another transaction of the group.
fn same(error: &KvError) -> KvError {
    match error {
        KvError::Retry(why) => KvError::Retry(why.clone()),
        KvError::OutcomeUnknown(why) => KvError::OutcomeUnknown(why.clone()),
        KvError::Stale(why) => KvError::Stale(why.clone()),
        KvError::IllegalState(why) => KvError::IllegalState(why.clone()),
        KvError::Full { path, reason } => {
            KvError::Full { path: path.clone(), reason: reason.clone() }
        }
        KvError::Open { path, reason } => {
            KvError::Open { path: path.clone(), reason: reason.clone() }
        }
        KvError::InUse { path, reason } => {
            KvError::InUse { path: path.clone(), reason: reason.clone() }
        }
        KvError::Damaged { path, reason } => {
            KvError::Damaged { path: path.clone(), reason: reason.clone() }
        }
        KvError::Store { context, source } => {
            KvError::Store { context: context.clone(), source: source.to_string().into() }
        }
        // No other comes from a commit.
        other => {
            KvError::Store { context: "cannot commit".into(), source: other.to_string().into() }
        }
    }
}
