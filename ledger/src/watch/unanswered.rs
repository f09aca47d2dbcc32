//! Counts the notifications of a connection that are not handled yet.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The number of watchers of a connection whose last notification is not handled yet.
#[derive(Debug, Default)]
pub(crate) struct Unanswered {
    count: Mutex<usize>,
    fewer: Condvar,
}

impl Unanswered {
    pub(super) fn add(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    pub(super) fn remove(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.fewer.notify_all();
    }

    /// Waits until no notification is unanswered, for at most `wait`.
    pub(crate) fn wait(&self, wait: Duration) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.fewer.wait_timeout_while(count, wait, |count| *count > 0));
    }
}
