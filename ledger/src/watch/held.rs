//! What a watcher keeps from being removed, until nobody asks it any more.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::target::Target;
use crate::process::open_page::Holder;
use crate::process::pins::Pin;

/// How many milliseconds a watcher that nobody asks keeps what it has told.
const UNASKED: u64 = 600_000;

/// What a watcher keeps while nobody asks it.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<Option<Kept>>);

/// What a watcher needs to tell more.
#[derive(Debug)]
pub(super) struct Kept {
    /// The commit that was told last.
    pub(super) last: Pin,
    /// What is being told in parts.
    pub(super) pending: Option<Target>,
    /// Since when nobody asks.
    since: u64,
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps this from now on.
    pub(super) fn keep(&self, last: Pin, pending: Option<Target>, now: u64) {
        *self.lock() = Some(Kept { last, pending, since: now });
    }

    /// Gives back what was kept. `None` if nobody has asked for too long.
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
