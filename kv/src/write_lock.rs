//! The right to write: one holder at a time, with a bounded wait.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::retry::note_wait_in_vain;
use crate::{KvError, Result};

/// How long a transaction waits for its turn to write unless it says otherwise.
pub(crate) const DEFAULT_WAIT: Duration = Duration::from_secs(30);

/// Who may write. Unlike a mutex it can be handed from thread to thread and waited for with a limit.
#[derive(Debug, Default)]
pub(crate) struct WriteLock {
    taken: Mutex<Option<Instant>>,
    freed: Condvar,
}

/// The right to write, given back when dropped.
#[derive(Debug)]
pub(crate) struct WritePermit {
    lock: Arc<WriteLock>,
}

impl WriteLock {
    fn taken(&self) -> MutexGuard<'_, Option<Instant>> {
        // The guarded value is always whole: a panic elsewhere cannot leave it half changed.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for at most `wait` until nobody else may write; a `wait` of zero is a try.
    pub(crate) fn acquire(self: &Arc<Self>, wait: Duration) -> Result<WritePermit> {
        let start = Instant::now();
        let mut taken = self.taken();
        while let Some(since) = *taken {
            let left = wait.saturating_sub(start.elapsed());
            if left.is_zero() {
                note_wait_in_vain();
                return Err(KvError::Retry(format!(
                    "waited {:?} for the right to write, which another transaction has held for {:?}; if that \
                     is one of this thread, use it instead of beginning another",
                    wait,
                    since.elapsed()
                )));
            }
            taken = self.freed.wait_timeout(taken, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken = Some(start);
        drop(taken);
        Ok(WritePermit { lock: Arc::clone(self) })
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        *self.lock.taken() = None;
        self.lock.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let lock = Arc::new(WriteLock::default());
        let permit = lock.acquire(Duration::ZERO).unwrap();
        assert!(lock.acquire(Duration::from_millis(5)).unwrap_err().is_retryable());
        let other = Arc::clone(&lock);
        let waiting = std::thread::spawn(move || other.acquire(Duration::from_secs(60)).is_ok());
        drop(permit);
        assert!(waiting.join().unwrap());
        assert!(lock.acquire(Duration::from_secs(60)).is_ok());
    }
}
