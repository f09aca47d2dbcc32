//! Tells a database on a branch what others have written.

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

/// The watches of a database on a branch.
pub(super) struct WatchedKeys {
    pub(super) shared: Arc<Shared>,
    pub(super) branch: String,
    pub(super) watches: Watches,
    pub(super) told: Told,
}

impl WatchedKeys {
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
        let now = match heads.heads.first() {
            Some(head) => self.shared.root_of(&head.id).ok(),
            None => None,
        };
        let changes = match now {
            Some(now) => match self.told.replace(now) {
                Some(old) if old == now => return,
                Some(old) => self.changes(&old, &now).ok().flatten(),
                None => None,
            },
            None => None,
        };
        // What cannot be compared may have changed: a watch is told too often rather than never.
        let everything = || {
            let mut writes = Writes::default();
            writes.removes.add(KeySpan::new(b"", None));
            writes
        };
        self.watches.note_others(&changes.unwrap_or_else(everything));
    }
}
