//! The differences of two versions of a page.

use std::fmt;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::pinned_page::PinnedPage;
use crate::digest::Digest;
use crate::error::Result;
use crate::ids::CommitId;
use crate::tree::diff::{Diff, Stored};
use crate::tree::nodes::root;

/// An entry that two versions of a page do not share.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The key.
    pub key: Vec<u8>,
    /// The value in the old version; `None` if the entry is new.
    pub old: Option<Vec<u8>>,
    /// The value in the new version; `None` if the entry is gone.
    pub new: Option<Vec<u8>>,
}

/// The entries that differ, by their keys. It ends after an error.
pub struct Differences {
    page: Arc<PinnedPage>,
    /// The old and the new commit.
    commits: [CommitId; 2],
    diff: Diff<Arc<PinnedPage>>,
    has_failed: bool,
}

impl fmt::Debug for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Differences").finish_non_exhaustive()
    }
}

impl Differences {
    pub(super) fn new(
        page: Arc<PinnedPage>,
        commits: [CommitId; 2],
        (old, new): (&Digest, &Digest),
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<Self> {
        span.check()?;
        let roots = (root(&*page, old)?, root(&*page, new)?);
        let diff = Diff::new(&page, (&roots.0, &roots.1), span, direction)?;
        Ok(Differences { page, commits, diff, has_failed: false })
    }

    fn change(&mut self) -> Result<Option<Change>> {
        let Some(found) = self.diff.next()? else { return Ok(None) };
        let (page, key) = (&self.page, &found.key);
        let read = |commit, stored: Option<Stored>| match stored {
            Some(stored) => {
                let value = page.value(commit, || key.clone(), stored.payload());
                value.map(|value| Some(value.into_owned()))
            }
            None => Ok(None),
        };
        let (old, new) = (read(&self.commits[0], found.old)?, read(&self.commits[1], found.new)?);
        Ok(Some(Change { key: found.key, old, new }))
    }
}

impl Iterator for Differences {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let change = self.change().transpose();
        self.has_failed = matches!(change, Some(Err(_)));
        change
    }
}
