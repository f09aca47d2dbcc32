//! Giving up the snapshot of a transaction that is too old: the store could not use the space of
//! anything that was deleted meanwhile.

use std::sync::PoisonError;

use super::pending::{Pending, Shared};

impl Shared<'_> {
    /// Waits until the end of the prompt, and gives up each transaction that becomes too old.
    pub(super) fn give_up_when_too_old(&self) {
        let mut pending = self.pending();
        while !self.has_ended() {
            self.give_up_if_too_old(&mut pending);
            let left = pending.transaction.as_ref().map(|open| {
                // At the very age, it is not over it.
                self.max_age.saturating_sub(open.begun.elapsed())
            });
            pending = match left {
                None => self.changed.wait(pending).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.changed.wait_timeout(pending, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Gives up the transaction if it is too old. Its statements stay.
    pub(super) fn give_up_if_too_old(&self, pending: &mut Pending<'_>) {
        let is_too_old = |open: &super::pending::Open<'_>| open.begun.elapsed() >= self.max_age;
        if pending.transaction.as_ref().is_some_and(is_too_old) {
            pending.transaction = None;
            pending.is_too_old = true;
        }
    }
}
