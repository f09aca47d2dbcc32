//! The transaction that waits for `commit`, and the statements that ran in it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use permazen::object::Transaction;

use crate::script::Ids;

/// The transaction that waits for `commit`.
#[derive(Default)]
pub(super) struct Pending {
    /// The transaction; `None` if no transaction is open, or if it was given up and can be
    /// replayed.
    pub(super) transaction: Option<Open>,
    /// The texts of the statements and commands that have changed something in it, in order.
    pub(super) edits: Vec<Edit>,
    /// The IDs of the objects that they have created.
    pub(super) ids: Ids,
    /// Whether the transaction was given up because it was too old, and the user was not told yet.
    pub(super) is_too_old: bool,
}

/// A statement or command that has changed something.
pub(super) struct Edit {
    pub(super) text: String,
    /// Whether it has changed objects when it ran last.
    pub(super) has_changed: bool,
}

/// A transaction that is open.
pub(super) struct Open {
    pub(super) transaction: Transaction,
    pub(super) begun: Instant,
    /// The number of the committed state that it sees, if the store counts them.
    pub(super) version: Option<u64>,
}

/// The last committed state.
#[derive(Clone, Copy)]
pub(super) struct Version {
    pub(super) number: u64,
    /// Whether each commit of another process counts. SQLite only says that there were some.
    pub(super) is_exact: bool,
}

impl Open {
    /// Its age, and how many commits it does not see.
    fn about(&self, now: Option<Version>) -> String {
        let minutes = self.begun.elapsed().as_secs() / 60;
        let unseen = self
            .version
            .zip(now)
            .map(|(seen, now)| (now.number.saturating_sub(seen), now.is_exact));
        match unseen {
            None | Some((0, _)) => format!("open {minutes}m"),
            Some((behind, true)) => format!("open {minutes}m, {behind} behind"),
            Some((_, false)) => format!("open {minutes}m, behind"),
        }
    }
}

impl Pending {
    /// Whether there are statements whose transaction was given up, so that they must be replayed.
    pub(super) fn must_be_replayed(&self) -> bool {
        self.transaction.is_none() && !self.edits.is_empty()
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.transaction.is_none() && self.edits.is_empty()
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Pending::default();
    }

    /// The text before a line. `now` is the last committed state.
    pub(super) fn prompt(&self, now: Option<Version>) -> String {
        match &self.transaction {
            Some(open) => format!("permazen [{}]> ", open.about(now)),
            None if self.must_be_replayed() => "permazen [replay]> ".to_owned(),
            None => "permazen> ".to_owned(),
        }
    }
}

/// The transaction that waits for `commit`, for the prompt and for the thread that looks at its
/// age.
pub(super) struct Shared {
    pending: Mutex<Pending>,
    /// Told when the transaction may be another one, and at the end.
    pub(super) changed: Condvar,
    pub(super) max_age: Duration,
    /// Whether the prompt has ended.
    ended: AtomicBool,
}

impl Shared {
    pub(super) fn new(max_age: Duration) -> Shared {
        Shared {
            pending: Mutex::default(),
            changed: Condvar::new(),
            max_age,
            ended: AtomicBool::new(false),
        }
    }

    pub(super) fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the thread that looks at the age.
    pub(super) fn stop_watching(&self) {
        // The thread looks at this while it has the lock of the transaction.
        let pending = self.pending();
        self.ended.store(true, Ordering::Relaxed);
        drop(pending);
        self.changed.notify_all();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}
