//! Tells a database on a branch what others have written.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use permazen_kv::{Direction, KeySpan, Watches, Writes};

use crate::digest::Digest;
use crate::error::Result;
use crate::page::lookout::{BranchHeads, Onlooker};
use crate::page::shared::Shared;
use crate::tree::diff::Diff;
use crate::tree::nodes::root;

/// With more changes than this, all watches end.
const MOST: usize = 10_000;

/// The root that the watches of a database have been told of last. `None` before the first watch.
#[derive(Debug, Clone, Default)]
pub(super) struct Told(Arc<Mutex<Option<Digest>>>);

impl Told {
    pub(super) fn set(&self, root: Digest) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(root);
    }

    /// Notes a commit of the database itself, which has told its watches.
    pub(super) fn advance(&self, from: &Digest, to: Digest) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // After a commit of others the difference has theirs too, so it must be told.
        if told.as_ref() == Some(from) {
            *told = Some(to);
        }
    }

    fn replace(&self, root: Digest) -> Option<Digest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(root)
    }
}

/// Finds the root that a database shows, from the heads of its branch. `None` if the branch is gone or
/// the host fails.
pub(super) type Shown = dyn Fn(&BranchHeads) -> Option<Digest> + Send + Sync;

/// The watches of a database on a branch.
pub(super) struct WatchedKeys {
    pub(super) shared: Arc<Shared>,
    pub(super) branch: String,
    pub(super) watches: Watches,
    pub(super) told: Told,
    pub(super) shown: Box<Shown>,
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
        // A branch that is gone has no keys. So all of them have changed.
        let changes = match (self.shown)(heads) {
            Some(now) => match self.told.replace(now) {
                Some(old) if old == now => return,
                Some(old) => self.changes(&old, &now).ok().flatten(),
                None => None,
            },
            None => None,
        };
        // What cannot be compared may have changed: a watch is told too often rather than never.
        self.watches.note_others(&changes.unwrap_or_else(everything));
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
