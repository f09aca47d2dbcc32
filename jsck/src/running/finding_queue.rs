//! Passes findings from a thread that reads to the one that reports them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::report::finding::Finding;

/// How many findings of a part may wait until the findings of earlier parts have been passed on.
const WAITING: usize = 256;

/// The findings of one part. Uses almost no memory while it is empty.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    findings: VecDeque<Finding>,
    /// No more will come.
    ended: bool,
    /// The findings are not taken any more.
    abandoned: bool,
}

/// The next item of a queue.
pub(crate) enum Next {
    Finding(Finding),
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing will come.
    End,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a finding when there is room for it. Returns whether findings are still taken.
    pub(crate) fn push(&self, finding: Finding) -> bool {
        let is_full = |state: &mut State| state.findings.len() >= WAITING && !state.abandoned;
        let state = self.changed.wait_while(self.lock(), is_full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.abandoned {
            return false;
        }
        state.findings.push_back(finding);
        self.changed.notify_all();
        true
    }

    /// Takes the next finding; waits for it for at most `patience`.
    pub(crate) fn next(&self, patience: Duration) -> Next {
        let is_idle = |state: &mut State| state.findings.is_empty() && !state.ended;
        let waited = self.changed.wait_timeout_while(self.lock(), patience, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let next = match state.findings.pop_front() {
            Some(finding) => Next::Finding(finding),
            None if state.ended => Next::End,
            None => Next::Nothing,
        };
        self.changed.notify_all();
        next
    }

    /// Says that no more findings come.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// Says that the findings are not taken any more.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        state.findings = VecDeque::new();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::finding::Class;

    #[test]
    fn a_queue_without_findings_takes_no_memory() {
        let queue = Queue::default();
        assert_eq!(queue.lock().findings.capacity(), 0);
        assert!(queue.push(Finding::new(Class::ForeignKey, b"key", "")));
        assert!(matches!(queue.next(Duration::ZERO), Next::Finding(_)));
        assert!(matches!(queue.next(Duration::ZERO), Next::Nothing));
        queue.end();
        assert!(matches!(queue.next(Duration::ZERO), Next::End));
        queue.abandon();
        assert!(!queue.push(Finding::new(Class::ForeignKey, b"key", "")));
    }
}
