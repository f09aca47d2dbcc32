//! The right to write: one holder at a time, with a bounded wait.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::lock::lock;
use crate::{KvError, Result};

/// After this time one that waits is given the right directly. Before, whoever comes at the right moment
/// takes it, which saves waking a thread for each of many short transactions.
const PATIENCE: Duration = Duration::from_millis(1);

/// Who may write. Unlike a mutex it can be handed from thread to thread and waited for with a limit, and
/// nobody is passed over for long.
#[derive(Debug, Default)]
pub(crate) struct WriteLock {
    state: Mutex<State>,
    taken: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    holder: Option<Holder>,
    /// Those who wait, in the order in which they came.
    queue: VecDeque<Arc<Waiter>>,
}

#[derive(Debug)]
struct Holder {
    /// Whoever it holds the right for.
    above: Option<Arc<Above>>,
    since: Instant,
}

#[derive(Debug)]
struct Waiter {
    above: Option<Arc<Above>>,
    since: Instant,
    woken: Condvar,
    /// Whether it was made the holder.
    given: AtomicBool,
}

/// The right to write, given back when dropped.
#[derive(Debug)]
pub(crate) struct WritePermit {
    lock: Arc<WriteLock>,
}

/// A transaction that holds the right to write to the store below it by another transaction, of which
/// its user knows nothing. It can go from thread to thread.
#[derive(Debug)]
pub(crate) struct Above {
    /// The thread that used it last.
    thread: Mutex<ThreadId>,
    /// Whether that thread was refused another transaction on the store.
    refused: AtomicBool,
}

thread_local! {
    /// What this thread is just taking the right to write for.
    static ABOVE: RefCell<Option<Arc<Above>>> = const { RefCell::new(None) };

    /// Whether this thread has waited in vain for the right to write since its latest attempt began.
    static WAITED_IN_VAIN: Cell<bool> = const { Cell::new(false) };
}

/// Notes that this thread has waited for the right to write as long as it was to. What it does then is
/// not tried again: it has waited for its turn already, or, if it holds the right itself, waits for
/// itself each time.
pub(crate) fn note_wait_in_vain() {
    WAITED_IN_VAIN.set(true);
}

/// Notes that this thread begins another attempt, or commits: what it waited for in vain before, it does
/// without.
pub(crate) fn forget_wait_in_vain() {
    WAITED_IN_VAIN.set(false);
}

/// Whether this thread has waited in vain since.
pub(crate) fn has_waited_in_vain() -> bool {
    WAITED_IN_VAIN.get()
}

impl Above {
    /// One on this thread; if this thread takes the right to write for another one, that one.
    pub(crate) fn new() -> Arc<Self> {
        let new = || {
            let thread = Mutex::new(thread::current().id());
            Arc::new(Above { thread, refused: AtomicBool::new(false) })
        };
        ABOVE.with_borrow(Clone::clone).unwrap_or_else(new)
    }

    /// Runs `take`, which takes the right to write for this one.
    pub(crate) fn hold<T>(self: &Arc<Self>, take: impl FnOnce() -> T) -> T {
        let before = ABOVE.replace(Some(Arc::clone(self)));
        let taken = take();
        ABOVE.set(before);
        taken
    }

    /// Notes which thread uses it.
    pub(crate) fn is_used_by(&self, thread: ThreadId) {
        *lock(&self.thread) = thread;
    }

    /// Whether it is this thread that used it last.
    pub(crate) fn is_here(&self) -> bool {
        let used_by = *lock(&self.thread);
        used_by == thread::current().id()
    }

    /// The error of another transaction on this thread, which would wait for itself.
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

    /// Waits for at most `wait` until nobody else may write; a `wait` of zero is a try.
    ///
    /// Who would wait for a transaction [`Above`] the store that the same thread is running fails at once.
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

    /// Fails if this thread would wait for a transaction [`Above`] the store that it is running. Costs an
    /// atomic load if nobody has the right.
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
        // Until it has waited for so long, the right may be taken before it.
        thread::sleep(PATIENCE);
        drop(permit);
        assert!(lock.acquire(Duration::ZERO).is_err());
        drop(tell);
        waiting.join().unwrap();
        assert!(lock.acquire(Duration::ZERO).is_ok());
    }
}
