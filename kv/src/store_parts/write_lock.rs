//! The right to write. One holder has it at a time; others wait with a limit.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::lock::lock;
use crate::{KvError, Result};

/// A thread that has waited for this long is given the right directly. Until then, any thread that
/// comes at the right moment takes it. For many short transactions, this saves waking a thread for
/// each.
const PATIENCE: Duration = Duration::from_millis(1);

/// Who may write. Unlike a mutex, the right can be passed from thread to thread, threads can wait
/// for it with a limit, and each gets it in time.
#[derive(Debug, Default)]
pub(crate) struct WriteLock {
    state: Mutex<State>,
    taken: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    holder: Option<Holder>,
    /// The waiting threads, in the order in which they came.
    queue: VecDeque<Arc<Waiter>>,
}

#[derive(Debug)]
struct Holder {
    /// For which transaction above the store the right is held, if for one.
    above: Option<Arc<Above>>,
    since: Instant,
}

#[derive(Debug)]
struct Waiter {
    above: Option<Arc<Above>>,
    since: Instant,
    woken: Condvar,
    /// Whether it has become the holder.
    given: AtomicBool,
}

/// The right to write, given back when dropped.
#[derive(Debug)]
pub(crate) struct WritePermit {
    lock: Arc<WriteLock>,
}

/// A transaction that, through another transaction, holds the right to write to the store below it.
/// Its user does not know of that other transaction. It can move from thread to thread.
#[derive(Debug)]
pub(crate) struct Above {
    /// The thread that has used it last.
    thread: Mutex<ThreadId>,
    /// Whether that thread was refused another transaction on the store.
    refused: AtomicBool,
}

thread_local! {
    /// For which transaction this thread is taking the right to write.
    static ABOVE: RefCell<Option<Arc<Above>>> = const { RefCell::new(None) };

    /// Whether this thread has waited in vain for the right to write since it began its latest
    /// attempt.
    static WAITED_IN_VAIN: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread has waited for the right to write until its time was over. The attempt
/// that needed the right is not tried again: it has used up its time to wait, or, if this thread
/// holds the right itself, would wait for itself each time.
pub(crate) fn note_wait_in_vain() {
    WAITED_IN_VAIN.set(true);
}

/// Notes that this thread begins another attempt, or commits. What it waited for in vain before no
/// longer matters.
pub(crate) fn forget_wait_in_vain() {
    WAITED_IN_VAIN.set(false);
}

/// Whether this thread has waited in vain since then.
pub(crate) fn has_waited_in_vain() -> bool {
    WAITED_IN_VAIN.get()
}

impl Above {
    /// A new one for this thread. If this thread is taking the right to write for another one, that
    /// one.
    pub(crate) fn new() -> Arc<Self> {
        let new = || {
            let thread = Mutex::new(thread::current().id());
            Arc::new(Above { thread, refused: AtomicBool::new(false) })
        };
        ABOVE.with_borrow(Clone::clone).unwrap_or_else(new)
    }

    /// Runs `take`, which takes the right to write for this transaction.
    pub(crate) fn hold<T>(self: &Arc<Self>, take: impl FnOnce() -> T) -> T {
        let before = ABOVE.replace(Some(Arc::clone(self)));
        let taken = take();
        ABOVE.set(before);
        taken
    }

    /// Notes which thread uses the transaction.
    pub(crate) fn is_used_by(&self, thread: ThreadId) {
        *lock(&self.thread) = thread;
    }

    /// Whether this thread has used the transaction last.
    pub(crate) fn is_here(&self) -> bool {
        let used_by = *lock(&self.thread);
        used_by == thread::current().id()
    }

    /// The error for another transaction on this thread, which would wait for itself.
    pub(crate) fn refuse(&self) -> KvError {
        self.refused.store(true, Ordering::Relaxed);
        KvError::Retry(
            "this thread is in the middle of a transaction that has failed often and therefore has the \
             store's right to write for itself; write through that one, or run it again, when it leaves \
             others the right"
                .to_owned(),
        )
    }

    pub(crate) fn has_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }
}

impl WriteLock {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits for at most `wait` until no other holder may write; a `wait` of zero tries once.
    ///
    /// Fails at once if this thread would wait for a transaction [`Above`] the store that it runs
    /// itself.
    pub(crate) fn acquire(self: &Arc<Self>, wait: Duration) -> Result<WritePermit> {
        let above = ABOVE.with_borrow(Clone::clone);
        let since = Instant::now();
        let mut state = self.state();
        if state.holder.is_some() {
            state.check_holder()?;
            let given = AtomicBool::new(false);
            let above = above.clone();
            let waiter = Arc::new(Waiter { above, since, woken: Condvar::new(), given });
            state.queue.push_back(Arc::clone(&waiter));
            while let Some(holder) = &state.holder {
                // The holder before has passed the right on to this thread.
                if waiter.given.load(Ordering::Relaxed) {
                    return Ok(WritePermit { lock: Arc::clone(self) });
                }
                let left = wait.saturating_sub(since.elapsed());
                if left.is_zero() {
                    let held = holder.since.elapsed();
                    state.leave(&waiter);
                    note_wait_in_vain();
                    return Err(KvError::Retry(format!(
                        "waited {wait:?} for the right to write, which another transaction has held for {held:?}; \
                         if that is one of this thread, use it instead of beginning another"
                    )));
                }
                let woken = waiter.woken.wait_timeout(state, left);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
            state.leave(&waiter);
        }
        state.holder = Some(Holder { above, since: Instant::now() });
        self.taken.store(true, Ordering::Release);
        drop(state);
        Ok(WritePermit { lock: Arc::clone(self) })
    }

    /// Fails if this thread would wait for a transaction [`Above`] the store that it runs itself.
    /// Costs one atomic load if the right is free.
    #[cfg(feature = "sqlite")]
    pub(crate) fn check_holder(&self) -> Result<()> {
        if self.taken.load(Ordering::Acquire) { self.state().check_holder() } else { Ok(()) }
    }
}

impl State {
    fn check_holder(&self) -> Result<()> {
        match self.holder.as_ref().and_then(|holder| holder.above.as_ref()) {
            Some(above) if above.is_here() => Err(above.refuse()),
            _ => Ok(()),
        }
    }

    fn leave(&mut self, waiter: &Arc<Waiter>) {
        self.queue.retain(|other| !Arc::ptr_eq(other, waiter));
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        let mut state = self.lock.state();
        let now = Instant::now();
        state.holder = None;
        if let Some(first) = state.queue.front().map(Arc::clone) {
            // The first has waited long enough, so the right goes to it directly.
            if now.saturating_duration_since(first.since) >= PATIENCE {
                state.queue.pop_front();
                state.holder = Some(Holder { above: first.above.clone(), since: now });
                first.given.store(true, Ordering::Relaxed);
            }
            first.woken.notify_one();
        }
        self.lock.taken.store(state.holder.is_some(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::mpsc::channel;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn one_holder_at_a_time() {
        let lock = Arc::new(WriteLock::default());
        let permit = lock.acquire(Duration::ZERO).unwrap();
        assert!(lock.acquire(Duration::from_millis(5)).unwrap_err().is_retryable());
        let other = Arc::clone(&lock);
        let waiting = thread::spawn(move || other.acquire(LONG).is_ok());
        drop(permit);
        assert!(waiting.join().unwrap());
        assert!(lock.acquire(LONG).is_ok());
        assert!(lock.state().holder.is_none() && lock.state().queue.is_empty());
    }

    #[test]
    fn one_that_has_waited_is_not_passed_over() {
        let lock = Arc::new(WriteLock::default());
        let permit = lock.acquire(Duration::ZERO).unwrap();
        let (other, (tell, told)) = (Arc::clone(&lock), channel::<()>());
        let waiting = thread::spawn(move || {
            let permit = other.acquire(LONG).unwrap();
            let _ = told.recv();
            drop(permit);
        });
        while lock.state().queue.is_empty() {
            thread::yield_now();
        }
        // Until it has waited for that long, others may take the right before it.
        thread::sleep(PATIENCE);
        drop(permit);
        assert!(lock.acquire(Duration::ZERO).is_err());
        drop(tell);
        waiting.join().unwrap();
        assert!(lock.acquire(Duration::ZERO).is_ok());
    }
}
