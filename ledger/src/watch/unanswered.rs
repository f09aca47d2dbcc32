//! The notifications of a connection that nobody has dealt with yet.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How many of the watchers of a connection have told something that was not dealt with.
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

    /// Waits until there are none, for at most `wait`.
    pub(crate) fn wait(&self, wait: Duration) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.fewer.wait_timeout_while(count, wait, |count| *count > 0));
    }
}
