//! The pins of an idle watcher, which are dropped after a while.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::target::Target;
use crate::process::open_page::PinHolder;
use crate::process::pins::Pin;

/// How many milliseconds an idle watcher keeps its pins.
const UNASKED: u64 = 600_000;

/// The pins of a watcher while it is idle: between two calls of `next`.
#[derive(Debug, Default)]
pub(super) struct IdlePins(Mutex<Option<Idle>>);

/// The state that a watcher needs for its next notification.
#[derive(Debug)]
pub(super) struct Idle {
    /// The commit of the last notification.
    pub(super) last: Pin,
    /// A notification that is being delivered in parts.
    pub(super) pending: Option<Target>,
    /// Since when the watcher is idle.
    since: u64,
}

impl IdlePins {
    fn lock(&self) -> MutexGuard<'_, Option<Idle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an idle time.
    pub(super) fn begin(&self, last: Pin, pending: Option<Target>, now: u64) {
        *self.lock() = Some(Idle { last, pending, since: now });
    }

    /// Ends the idle time. `None` if it was too long, and the pins were dropped.
    pub(super) fn end(&self) -> Option<Idle> {
        self.lock().take()
    }
}

impl PinHolder for IdlePins {
    fn release(&self, now: u64) {
        let mut idle = self.lock();
        let released = idle.take_if(|idle| {
            // If the clock was set back, the idle time begins again.
            idle.since = idle.since.min(now);
            now >= idle.since.saturating_add(UNASKED)
        });
        drop(idle);
        drop(released);
    }
}
