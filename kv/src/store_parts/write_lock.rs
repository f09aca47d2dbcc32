//! The right to write. One holder has it at a time; others wait with a limit. Some of the waiting
//! transactions can commit together with the holder (`group/`): the lock decides which ones do, and
//! in which order (`turns.rs`).

mod turns;

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use self::turns::{Latest, Running};
use super::awake::{AWAKE, stay_awake};
use super::counts::Counts;
use super::lock::lock;
use super::process::Process;
use super::upper_transaction::UpperTransaction;
use crate::group::shared::Group;
use crate::{KvDatabase, KvError, Result, TxOptions};

pub(crate) use self::turns::{Limits, Seat};

/// A thread that has waited for this long is given the right directly. Until then, any thread that
/// comes at the right moment takes it. For many short transactions, this saves waking a thread for
/// each.
const PATIENCE: Duration = Duration::from_millis(1);

/// The right to write. Unlike a mutex, it can be passed from thread to thread, threads can wait for
/// it with a limit, and each thread gets it in its turn.
#[derive(Debug, Default)]
pub(crate) struct WriteLock {
    /// The counts of the store to which this lock belongs.
    counts: Counts,
    state: Mutex<LockState>,
    taken: AtomicBool,
    limits: Limits,
}

#[derive(Debug, Default)]
struct LockState {
    holder: Option<Holder>,
    /// The waiting threads, in the order in which they came.
    queue: VecDeque<Arc<Waiter>>,
    /// The group that the holder leads.
    running: Option<Running>,
    /// The transactions of members that have not ended, with the threads that began them. All but
    /// one of them must run again.
    members: Vec<(ThreadId, Arc<Group>)>,
    /// No group begins before this time.
    no_groups_until: Option<Instant>,
    /// How long no group began when a member took too long the last time.
    rest: Duration,
    /// About how long the commit of a group takes.
    commit_takes: Duration,
    /// The latest group.
    latest: Option<Latest>,
}

#[derive(Debug)]
struct Holder {
    /// The transaction above the store for which the right is held, if there is one.
    above: Option<Arc<UpperTransaction>>,
    asker: Asker,
    /// The process of the thread that holds it. In a child that was forked from that process, the
    /// holder never ends.
    process: Process,
    since: Instant,
    /// Whether it may still give turns in a group.
    gives_turns: bool,
}

/// The thread that has asked for the right.
#[derive(Debug, Clone, Copy)]
struct Asker {
    thread: ThreadId,
    /// Whether the transaction ends on this thread.
    stays: bool,
}

#[derive(Debug)]
struct Waiter {
    above: Option<Arc<UpperTransaction>>,
    asker: Asker,
    /// Whether it can commit together with the holder.
    joins: bool,
    since: Instant,
    woken: Condvar,
    /// Whether it was woken while it stayed awake.
    called: AtomicBool,
    /// Whether it has become the holder.
    given: AtomicBool,
}

/// The right to write, given back when dropped.
#[derive(Debug)]
pub(crate) struct WritePermit {
    lock: Arc<WriteLock>,
}

/// The result of waiting for the right.
#[derive(Debug)]
pub(crate) enum Turn {
    /// The right to write.
    Right(WritePermit),
    /// A turn as a member of the group that the holder leads.
    Member(Seat),
}

thread_local! {
    /// Whether this thread has waited in vain for the right to write, or for a connection, since it
    /// began its latest attempt.
    static WAITED_IN_VAIN: Cell<bool> = const { Cell::new(false) };
    /// Whether an attempt of this thread has committed in spite of such a wait.
    static IGNORED_WAIT: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread has waited for the right to write, or for a connection to a server, until
/// its time was over. [`Retry`](crate::Retry) does not run the attempt that needed it again: the
/// attempt has used up its time to wait, or, if this thread itself holds what the attempt waits
/// for, would wait in vain each time.
pub fn note_wait_in_vain() {
    WAITED_IN_VAIN.set(true);
}

/// Notes that this thread begins another attempt. Its earlier waits in vain no longer matter.
pub(crate) fn forget_wait_in_vain() {
    WAITED_IN_VAIN.set(false);
}

/// Notes that this thread commits its attempt, for which its waits in vain do not matter. They
/// still do for an attempt around this one.
pub(crate) fn ignore_wait_in_vain() {
    if WAITED_IN_VAIN.replace(false) {
        IGNORED_WAIT.set(true);
    }
}

/// Whether this thread has waited in vain since then.
pub(crate) fn has_waited_in_vain() -> bool {
    WAITED_IN_VAIN.get()
}

/// Keeps the note about waits in vain of an attempt while other attempts run within it, or a store
/// is opened. When this is dropped, the note is set again if it was set.
pub(crate) struct KeptWait {
    has_waited: bool,
    has_ignored: bool,
}

impl KeptWait {
    pub(crate) fn new() -> Self {
        KeptWait { has_waited: has_waited_in_vain(), has_ignored: IGNORED_WAIT.replace(false) }
    }
}

impl Drop for KeptWait {
    fn drop(&mut self) {
        // What waits in vain within an attempt is a part of it.
        if self.has_waited || IGNORED_WAIT.get() {
            note_wait_in_vain();
        }
        IGNORED_WAIT.set(self.has_ignored);
    }
}

/// Fails if a transaction that writes cannot begin on this thread however long it waits, because it
/// would wait for itself, or because this process was forked. It does not wait for the right to
/// write, except on LMDB for up to 100 ms while another process has it. It changes nothing, but
/// counts as a begun transaction. It does not report other failures, nor that another transaction
/// has the right to write: the transaction that begins later finds these out.
///
/// # Errors
/// [`KvError::WithinWrite`] or [`KvError::Forked`]; a retryable error if this thread is in the
/// middle of a transaction above the store that has failed often and holds the right to write.
pub fn check_can_begin(store: &(impl KvDatabase + ?Sized)) -> Result<()> {
    let before = has_waited_in_vain();
    let options = TxOptions::writing().with_wait(Duration::ZERO);
    let begin = || store.begin(&options).map(drop);
    let (begun, is_refused) = UpperTransaction::noticing_refusal(begin);
    // It has not waited, so its result says nothing about the next attempt.
    WAITED_IN_VAIN.set(before);
    match begun {
        Err(error @ (KvError::WithinWrite { .. } | KvError::Forked { .. })) => Err(error),
        Err(error) if is_refused => Err(error),
        _ => Ok(()),
    }
}

impl WriteLock {
    fn state(&self) -> MutexGuard<'_, LockState> {
        lock(&self.state)
    }

    /// A lock for the right to write to the store with this name.
    pub(crate) fn of(name: impl Into<Box<str>>) -> Arc<Self> {
        Arc::new(WriteLock { counts: Counts::of(name), ..WriteLock::default() })
    }

    /// The counts of the store to which this lock belongs.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Waits for at most `wait` until no other holder may write; a `wait` of zero tries once.
    ///
    /// Fails at once if this thread would wait for itself: for a transaction that ends on this
    /// thread, or for an [upper transaction](UpperTransaction) of the store that this thread runs;
    /// also if the right is held by a thread that only the parent of this process has.
    pub(crate) fn acquire(self: &Arc<Self>, wait: Duration) -> Result<WritePermit> {
        self.right(wait, false)
    }

    /// Does the same for a transaction with these options.
    pub(crate) fn acquire_for(self: &Arc<Self>, options: &TxOptions) -> Result<WritePermit> {
        self.right(options.writer_wait(), options.stays_here())
    }

    fn right(self: &Arc<Self>, wait: Duration, stays: bool) -> Result<WritePermit> {
        match self.wait(wait, false, stays)? {
            Turn::Right(permit) => Ok(permit),
            Turn::Member(_) => {
                Err(KvError::Retry("this transaction cannot join a group".to_owned()))
            }
        }
    }

    /// Does the same. A transaction that `joins` gets a turn as a member of a group instead, if the
    /// holder makes a group meanwhile.
    pub(crate) fn turn(self: &Arc<Self>, options: &TxOptions, joins: bool) -> Result<Turn> {
        self.wait(options.writer_wait(), joins, options.stays_here())
    }

    fn wait(self: &Arc<Self>, wait: Duration, joins: bool, stays: bool) -> Result<Turn> {
        let above = UpperTransaction::of_this_thread();
        let asker = Asker { thread: thread::current().id(), stays };
        let since = Instant::now();
        let mut state = self.state();
        if let Some(holder) = &state.holder {
            holder.process.check(|| self.counts.store())?;
        }
        if state.is_used_by(asker.thread) {
            return Err(KvError::WithinWrite { store: self.counts.store().into() });
        }
        if state.holder.is_some() {
            state.check_holder()?;
            let mut waiting = self.counts.waits().since(since);
            let given = AtomicBool::new(false);
            let joins = joins && above.is_none();
            let (woken, called) = (Condvar::new(), AtomicBool::new(false));
            let waiter = Waiter { above: above.clone(), asker, joins, since, woken, called, given };
            let waiter = Arc::new(waiter);
            state.queue.push_back(Arc::clone(&waiter));
            // If the leader waits for members to come, no member passes the turn on to this thread.
            if let Some(group) = state.idle_group() {
                state.next_turn(&self.limits);
                group.wake_leader();
            }
            loop {
                // The holder before has passed the right on to this thread.
                if waiter.given.load(Ordering::Relaxed) {
                    return Ok(Turn::Right(WritePermit { lock: Arc::clone(self) }));
                }
                if let Some(group) = state.take_turn(&waiter) {
                    let (lock, thread) = (Arc::clone(self), thread::current().id());
                    return Ok(Turn::Member(Seat { lock, group, thread }));
                }
                let Some(holder) = &state.holder else { break };
                let left = wait.saturating_sub(since.elapsed());
                if left.is_zero() {
                    let held = holder.since.elapsed();
                    let (origin, advice) = match holder.asker.thread == asker.thread {
                        true => (
                            ", begun on this thread,",
                            "; if it is still open here, use it or end it instead of beginning another",
                        ),
                        false => ("", ""),
                    };
                    let error = format!(
                        "waited {wait:?} for the right to write, which another transaction{origin} has held for \
                         {held:?}{advice}"
                    );
                    state.leave(&waiter);
                    waiting.in_vain = true;
                    note_wait_in_vain();
                    return Err(KvError::Retry(error));
                }
                if joins && holder.gives_turns && since.elapsed() < AWAKE.min(wait) {
                    waiter.called.store(false, Ordering::Relaxed);
                    drop(state);
                    stay_awake(since, AWAKE.min(wait), &waiter.called);
                    state = self.state();
                } else {
                    let woken = waiter.woken.wait_timeout(state, left);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
            state.leave(&waiter);
        }
        let (process, since) = (Process::this(), Instant::now());
        state.holder = Some(Holder { above, asker, process, since, gives_turns: joins });
        self.taken.store(true, Ordering::Release);
        drop(state);
        Ok(Turn::Right(WritePermit { lock: Arc::clone(self) }))
    }

    #[cfg(test)]
    pub(crate) fn with_limits(limits: Limits) -> Self {
        WriteLock { limits, ..WriteLock::default() }
    }

    /// How many threads wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state().queue.len()
    }

    /// Whether the leader of a group waits for members to come.
    #[cfg(test)]
    pub(crate) fn leader_waits(&self) -> bool {
        self.state().idle_group().is_some()
    }

    /// Fails if this thread would wait for an [upper transaction](UpperTransaction) of the store
    /// that it runs itself. Costs one atomic load if the right is free.
    #[cfg(feature = "sqlite")]
    pub(crate) fn check_holder(&self) -> Result<()> {
        if self.taken.load(Ordering::Acquire) { self.state().check_holder() } else { Ok(()) }
    }
}

impl LockState {
    fn check_holder(&self) -> Result<()> {
        match self.holder.as_ref().and_then(|holder| holder.above.as_ref()) {
            Some(above) if above.is_here() => Err(above.refuse()),
            _ => Ok(()),
        }
    }

    /// Notes that the holder gives no more turns.
    fn note_commit(&mut self) {
        if let Some(holder) = &mut self.holder {
            holder.gives_turns = false;
        }
    }

    fn leave(&mut self, waiter: &Arc<Waiter>) {
        self.queue.retain(|other| !Arc::ptr_eq(other, waiter));
    }

    /// Whether `thread` runs the transaction of the holder, or of a member of its group, so that
    /// another transaction of the thread would make it wait for itself.
    fn is_used_by(&self, thread: ThreadId) -> bool {
        let holds = |holder: &Holder| holder.asker.stays && holder.asker.thread == thread;
        self.holder.as_ref().is_some_and(holds)
            || self.members.iter().any(|(member, _)| *member == thread)
    }
}

impl Waiter {
    fn wake(&self) {
        self.called.store(true, Ordering::Release);
        self.woken.notify_one();
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        let mut state = self.lock.state();
        let now = Instant::now();
        state.holder = None;
        state.running = None;
        if let Some(first) = state.queue.front().map(Arc::clone) {
            // The first has waited long enough, so the right goes to it directly.
            if now.saturating_duration_since(first.since) >= PATIENCE {
                state.queue.pop_front();
                let (above, asker) = (first.above.clone(), first.asker);
                let gives_turns = first.joins;
                let process = Process::this();
                state.holder = Some(Holder { above, asker, process, since: now, gives_turns });
                first.given.store(true, Ordering::Relaxed);
            }
            first.wake();
        }
        self.lock.taken.store(state.holder.is_some(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
