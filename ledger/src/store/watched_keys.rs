//! Tells a database on a branch what others have written.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use permazen_kv::{Direction, KeySpan, Watches, Writes};

use crate::digest::Digest;
use crate::error::Result;
use crate::page::lookout::{BranchHeads, Onlooker};
use crate::page::shared::Shared;
use crate::tree::diff::Diff;
use crate::tree::nodes::root;

/// How often it is compared what has changed, while the database itself commits.
const ATTEMPTS: usize = 3;

/// With more changes than this, all watches end.
const MOST: usize = 10_000;

/// What a database shows: a number that grows with each change of it, and the root.
pub(super) type Shown = (u64, Digest);

/// What the watches of a database have been told of last. `None` before the first watch.
#[derive(Debug, Clone, Default)]
pub(super) struct Told(Arc<Mutex<Option<Shown>>>);

impl Told {
    fn lock(&self) -> MutexGuard<'_, Option<Shown>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, shown: Shown) {
        *self.lock() = Some(shown);
    }

    /// Notes a commit of the database itself, which tells its watches.
    pub(super) fn advance(&self, from: &Digest, to: Shown) {
        let mut told = self.lock();
        // After a commit of others the difference has theirs too, so it must be told.
        if told.is_some_and(|(number, root)| root == *from && number < to.0) {
            *told = Some(to);
        }
    }
}

/// Finds what a database shows, from the heads of its branch. `None` if the branch is gone or the
/// host fails.
pub(super) type FindShown = dyn Fn(&BranchHeads) -> Option<Shown> + Send + Sync;

/// The watches of a database on a branch.
pub(super) struct WatchedKeys {
    pub(super) shared: Arc<Shared>,
    pub(super) branch: String,
    pub(super) watches: Watches,
    pub(super) told: Told,
    pub(super) shown: Box<FindShown>,
}

impl WatchedKeys {
    /// Tells these watches from now on.
    pub(super) fn begin(self) -> Result<()> {
        let (lookout, watches) = (Arc::clone(&self.shared.lookout), self.watches.clone());
        let same = |other: &dyn Onlooker| {
            let other: Option<&WatchedKeys> = (other as &dyn Any).downcast_ref();
            other.is_some_and(|other| other.watches.is_same(&watches))
        };
        lookout.add(Arc::new(self), same)
    }

    /// What differs between two roots. `None` if it is too much.
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

impl Onlooker for WatchedKeys {
    fn branch(&self) -> &str {
        &self.branch
    }

    fn is_needed(&self) -> bool {
        !self.watches.is_empty()
    }

    fn look(&self, heads: &BranchHeads) {
        let Some(now) = (self.shown)(heads) else {
            // A branch that is gone has no keys. So all of them have changed.
            self.watches.note_others(&everything());
            return;
        };
        for attempt in 0..ATTEMPTS {
            let told = *self.told.lock();
            let changes = match told {
                // The database itself has committed since the heads were read, and has told of
                // that.
                Some((number, _)) if number > now.0 => return,
                Some((_, old)) if old == now.1 => Some(Writes::default()),
                Some((_, old)) if attempt + 1 < ATTEMPTS => {
                    self.changes(&old, &now.1).ok().flatten()
                }
                _ => None,
            };
            // What cannot be compared may have changed: a watch is told too often rather than
            // never.
            let changes = changes.unwrap_or_else(everything);
            let mut known = self.told.lock();
            // With a commit of the database itself in between, the changes are not those that
            // nobody was told of.
            if *known == told || attempt + 1 == ATTEMPTS {
                // Whoever watches after the commit of the database itself must not be told of it.
                // So it is found here, before that commit ends, who watches.
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

    /// Perhaps nobody can ever say what has changed: a watch is told too often rather than never.
    fn look_failed(&self) {
        self.watches.note_others(&everything());
    }
}

/// A change of all keys.
fn everything() -> Writes {
    let mut writes = Writes::default();
    writes.removes.add(KeySpan::new(b"", None));
    writes
}
