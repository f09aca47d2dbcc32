//! The right to write: one holder at a time, with a bounded wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::retry::note_wait_in_vain;
use crate::{KvError, Result};

/// How long a transaction waits for its turn to write unless it says otherwise.
pub(crate) const DEFAULT_WAIT: Duration = Duration::from_secs(30);

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
    thread: ThreadId,
    since: Instant,
}

#[derive(Debug)]
struct Waiter {
    thread: ThreadId,
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

impl WriteLock {
    fn state(&self) -> MutexGuard<'_, State> {
        // What is guarded is always whole: a panic elsewhere cannot leave it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for at most `wait` until nobody else may write; a `wait` of zero is a try.
    pub(crate) fn acquire(self: &Arc<Self>, wait: Duration) -> Result<WritePermit> {
        let thread = thread::current().id();
        let since = Instant::now();
        let mut state = self.state();
        if state.holder.is_some() {
            let given = AtomicBool::new(false);
            let waiter = Arc::new(Waiter { thread, since, woken: Condvar::new(), given });
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
        state.holder = Some(Holder { thread, since: Instant::now() });
        self.taken.store(true, Ordering::Release);
        drop(state);
        Ok(WritePermit { lock: Arc::clone(self) })
    }

    /// Whether somebody has the right. Costs an atomic load.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Acquire)
    }

    /// Whether somebody has the right who asked for it on this thread.
    pub(crate) fn is_taken_here(&self) -> bool {
        let here = thread::current().id();
        self.is_taken() && self.state().holder.as_ref().is_some_and(|holder| holder.thread == here)
    }
}

impl State {
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
                state.holder = Some(Holder { thread: first.thread, since: now });
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
        assert!(lock.is_taken() && lock.is_taken_here());
        assert!(lock.acquire(Duration::from_millis(5)).unwrap_err().is_retryable());
        let other = Arc::clone(&lock);
        let waiting = thread::spawn(move || {
            assert!(!other.is_taken_here());
            other.acquire(LONG).is_ok()
        });
        drop(permit);
        assert!(waiting.join().unwrap());
        assert!(lock.acquire(LONG).is_ok());
        assert!(!lock.is_taken() && lock.state().queue.is_empty());
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
