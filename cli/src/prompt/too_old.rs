//! Giving up the snapshot of a transaction that is too old: the store could not use the space of
//! anything that was deleted meanwhile.

use std::sync::{MutexGuard, PoisonError};

use super::pending::{Pending, Shared};
use crate::output;

impl Shared {
    /// The waiting transaction, for the next line. A transaction that is too old is given up, with
    /// one message.
    pub(super) fn pending_now(&self) -> MutexGuard<'_, Pending> {
        let mut pending = self.pending();
        self.give_up_if_too_old(&mut pending);
        if std::mem::take(&mut pending.is_too_old) {
            let what = "the transaction was older than --max-age, so what it saw is given up";
            match pending.edits.is_empty() {
                true => output::note(what),
                false => output::note(format_args!("{what}; `replay` runs its statements again")),
            }
        }
        pending
    }

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
    pub(super) fn give_up_if_too_old(&self, pending: &mut Pending) {
        let is_too_old = |open: &super::pending::Open| open.begun.elapsed() >= self.max_age;
        if pending.transaction.as_ref().is_some_and(is_too_old) {
            pending.transaction = None;
            pending.is_too_old = true;
        }
    }
}
