//! Lets the transactions of a handle take turns.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use permazen_kv::{KvError, Result};

/// Who may write: one transaction at a time.
#[derive(Debug, Default)]
pub(super) struct Turn {
    is_taken: Mutex<bool>,
    over: Condvar,
}

/// The right to write, given back when dropped. It can move to another thread.
#[derive(Debug)]
pub(super) struct Permit(Arc<Turn>);

impl Turn {
    /// Waits for at most `wait` until nobody else may write; a `wait` of zero tries once.
    pub(super) fn take(self: &Arc<Self>, wait: Duration) -> Result<Permit> {
        let is_taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.over.wait_timeout_while(is_taken, wait, |is_taken| *is_taken);
        let mut is_taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        if *is_taken {
            return Err(KvError::Retry(format!(
                "waited {wait:?} for another transaction that writes through this handle of the branch; \
                 if that is one of this thread, use it, or open another handle"
            )));
        }
        *is_taken = true;
        drop(is_taken);
        Ok(Permit(Arc::clone(self)))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.over.notify_one();
    }
}
