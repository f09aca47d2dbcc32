//! One commit at a time.

use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::store_parts::counts::Counts;
use crate::store_parts::lock::lock;
use crate::store_parts::process::Process;
use crate::{KvError, Result};

/// The name of an optimistic database in errors.
pub(super) const NAME: &str = "an optimistic database";

/// Held during a commit, so that there is only one at a time.
pub(super) struct Committing {
    commit: Mutex<()>,
    /// The process that has made it.
    made_by: Process,
    /// The process whose threads commit: the one that made this, or, in a forked child, the child
    /// from its first commit on.
    owner: Mutex<Process>,
}

impl Committing {
    pub(super) fn new() -> Self {
        let this = Process::this();
        Committing { commit: Mutex::new(()), made_by: this, owner: Mutex::new(this) }
    }

    /// Waits for the commit that is running; the wait is counted.
    ///
    /// # Errors
    /// [`KvError::Forked`] if it was running when this process was forked from the one that
    /// commits: it never ends here.
    pub(super) fn begin(&self, counts: &Counts) -> Result<MutexGuard<'_, ()>> {
        if self.made_by.is_this() {
            return Ok(counts.lock(&self.commit));
        }
        let mut owner = lock(&self.owner);
        if owner.is_this() {
            drop(owner);
            return Ok(counts.lock(&self.commit));
        }
        let commit = match self.commit.try_lock() {
            Ok(commit) => commit,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(KvError::Forked { store: NAME.into() });
            }
        };
        *owner = Process::this();
        Ok(commit)
    }
}
