//! The pins of an idle watcher, which are dropped after a while.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::target::Target;
use crate::process::open_page::Holder;
use crate::process::pins::Pin;

/// How many milliseconds an idle watcher keeps its pins.
const UNASKED: u64 = 600_000;

/// The pins of a watcher while it is idle: between two calls of `next`.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<Option<Kept>>);

/// What a watcher needs for its next notification.
#[derive(Debug)]
pub(super) struct Kept {
    /// The commit of the last notification.
    pub(super) last: Pin,
    /// A notification that is being delivered in parts.
    pub(super) pending: Option<Target>,
    /// Since when the watcher is idle.
    since: u64,
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an idle time.
    pub(super) fn keep(&self, last: Pin, pending: Option<Target>, now: u64) {
        *self.lock() = Some(Kept { last, pending, since: now });
    }

    /// Ends the idle time. `None` if it was too long, and the pins were dropped.
    pub(super) fn take(&self) -> Option<Kept> {
        self.lock().take()
    }
}

impl Holder for Held {
    fn release(&self, now: u64) {
        let mut kept = self.lock();
        let is_over = |kept: &Kept| now >= kept.since.saturating_add(UNASKED);
        let released = if kept.as_ref().is_some_and(is_over) { kept.take() } else { None };
        drop(kept);
        drop(released);
    }
}
