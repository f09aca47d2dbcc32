//! Notifies the watches of a database on a branch of the writes of others.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use permazen_kv::{Direction, KeySpan, Watches, Writes};

use crate::digest::Digest;
use crate::error::Result;
use crate::page::head_poller::{BranchHeads, HeadObserver};
use crate::page::shared::Shared;
use crate::tree::diff::Diff;
use crate::tree::nodes::root;

/// How often roots are compared again because the database itself has committed meanwhile.
const ATTEMPTS: usize = 3;

/// With more changes than this, all watches are notified.
const MOST: usize = 10_000;

/// The state that a database shows: a number that grows with each change, and the root.
pub(super) type Shown = (u64, Digest);

/// The state that the watches of a database were notified of last. `None` before the first watch.
#[derive(Debug, Clone, Default)]
pub(super) struct NotifiedState(Arc<Mutex<Option<Shown>>>);

impl NotifiedState {
    fn lock(&self) -> MutexGuard<'_, Option<Shown>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, shown: Shown) {
        *self.lock() = Some(shown);
    }

    /// Records a commit of the database itself, which notifies its watches.
    pub(super) fn advance(&self, from: &Digest, to: Shown) {
        let mut notified = self.lock();
        // Only if nothing was committed in between: otherwise the watches must be notified of that,
        // too.
        if notified.is_some_and(|(number, root)| root == *from && number < to.0) {
            *notified = Some(to);
        }
    }
}

/// Finds the content that a database shows, from the heads of its branch. `None` if the branch is
/// gone or the host fails.
pub(super) type FindShown = dyn Fn(&BranchHeads) -> Option<Shown> + Send + Sync;

/// The watches of a database on a branch.
pub(super) struct WatchedKeys {
    pub(super) shared: Arc<Shared>,
    pub(super) branch: String,
    pub(super) watches: Watches,
    pub(super) notified: NotifiedState,
    pub(super) shown: Box<FindShown>,
}

impl WatchedKeys {
    /// Notifies these watches from now on.
    pub(super) fn begin(self) -> Result<()> {
        let (head_poller, watches) = (Arc::clone(&self.shared.head_poller), self.watches.clone());
        let same = |other: &dyn HeadObserver| {
            let other: Option<&WatchedKeys> = (other as &dyn Any).downcast_ref();
            other.is_some_and(|other| other.watches.is_same(&watches))
        };
        head_poller.add(Arc::new(self), same)
    }

    /// The keys that differ between two roots. `None` if there are too many.
    fn changes(&self, old: &Digest, new: &Digest) -> Result<Option<Writes>> {
        let roots = (root(&*self.shared, old)?, root(&*self.shared, new)?);
        let all = KeySpan::new(b"", None);
        let mut diff = Diff::new(&self.shared, (&roots.0, &roots.1), all, Direction::Forward)?;
        let mut writes = Writes::default();
        while let Some(change) = diff.next()? {
            if writes.puts.len() == MOST {
                return Ok(None);
            }
            writes.puts.insert(change.key, Vec::new());
        }
        Ok(Some(writes))
    }
}

impl HeadObserver for WatchedKeys {
    fn branch(&self) -> &str {
        &self.branch
    }

    fn is_needed(&self) -> bool {
        !self.watches.is_empty()
    }

    fn heads_read(&self, heads: &BranchHeads) {
        let Some(now) = (self.shown)(heads) else {
            // A branch that is gone has no keys, so all of them have changed.
            self.watches.note_others(&everything());
            return;
        };
        for attempt in 0..ATTEMPTS {
            let notified = *self.notified.lock();
            let changes = match notified {
                // The database itself has committed since the heads were read, and has notified its
                // watches.
                Some((number, _)) if number > now.0 => return,
                Some((_, old)) if old == now.1 => Some(Writes::default()),
                Some((_, old)) if attempt + 1 < ATTEMPTS => {
                    self.changes(&old, &now.1).ok().flatten()
                }
                _ => None,
            };
            // If the roots cannot be compared, all keys may have changed: a watch is notified too
            // often rather than never.
            let changes = changes.unwrap_or_else(everything);
            let mut known = self.notified.lock();
            // If the database itself has committed in between, the changes include its own, and
            // must be computed again.
            if *known == notified || attempt + 1 == ATTEMPTS {
                // The watches are chosen under the lock, before a commit of the database itself can
                // end: a watch that is made after that commit must not be notified of it.
                let written = self.watches.take_written(&changes);
                if known.is_none_or(|(number, _)| number < now.0) {
                    *known = Some(now);
                }
                drop(known);
                written.tell();
                return;
            }
        }
    }

    /// The changes may never be known: a watch is notified too often rather than never.
    fn heads_unreadable(&self) {
        self.watches.note_others(&everything());
    }
}

/// A change of all keys.
fn everything() -> Writes {
    let mut writes = Writes::default();
    writes.removes.add(KeySpan::new(b"", None));
    writes
}
