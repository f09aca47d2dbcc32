//! Pages: sorted maps with all of their versions.
//!
//! `shared.rs` is what all handles of a page have in common, `snapshot.rs` reads one version, `value.rs` a
//! value in parts, `protected.rs` keeps both from being removed, `write.rs` makes commits, `words.rs` says what they say, `history.rs` goes through them, `branches.rs` has branches and tags, `differences.rs`
//! compares versions, `collection.rs` lets commits go, `cache.rs` keeps nodes in memory, `lookout.rs` looks for new commits.

mod branches;
pub(crate) mod cache;
mod collection;
pub(crate) mod differences;
pub(crate) mod history;
pub(crate) mod lookout;
pub(crate) mod protected;
pub(crate) mod shared;
pub(crate) mod snapshot;
pub(crate) mod value;
pub(crate) mod words;
pub(crate) mod write;

use std::fmt;
use std::sync::Arc;

use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::{Direction, KeySpan};

use self::differences::Differences;
use self::history::Log;
use self::protected::Protected;
use self::shared::Shared;
use self::snapshot::PageSnapshot;
use crate::commit::encoding::Commit;
use crate::error::Result;
use crate::ids::CommitId;
use crate::store::linear::PageStore;
use crate::verify::report::Verification;

/// A page of a [`Repository`](crate::Repository): a sorted map with all of its versions.
///
/// It is cheap to clone; clones are the same page.
#[derive(Clone)]
pub struct Page {
    pub(crate) shared: Arc<Shared>,
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("number", &self.shared.open.rows.page).finish_non_exhaustive()
    }
}

impl Page {
    /// A branch as a database. Each transaction that changes something makes one commit. Transactions
    /// are serializable.
    ///
    /// # Errors
    /// If there is no such branch, it has several heads, or the host fails.
    pub fn database(&self, branch: &str) -> Result<OptimisticDatabase<PageStore>> {
        self.shared.state(branch)?;
        Ok(OptimisticDatabase::new(PageStore::new(Arc::clone(&self.shared), branch)))
    }

    /// The content at a commit.
    ///
    /// # Errors
    /// If there is no such commit, or the host fails.
    pub fn snapshot(&self, at: &CommitId) -> Result<PageSnapshot> {
        let (pin, root) = self.shared.pinned_root(at)?;
        PageSnapshot::new(Arc::clone(&self.shared), pin, &root)
    }

    /// A commit. `None` for the first one, which has nothing but its ID.
    ///
    /// # Errors
    /// If there is no such commit, or the host fails.
    pub fn commit(&self, id: &CommitId) -> Result<Option<Commit>> {
        self.shared.commit(id)
    }

    /// The commits that lead to this one, itself included, without the first one: each before its
    /// parents.
    ///
    /// # Errors
    /// If there is no such commit, or the host fails.
    pub fn log(&self, from: CommitId) -> Result<Log> {
        Log::new(Arc::clone(&self.shared), from)
    }

    /// Whether a commit is another one or leads to it. Gets the commits between them.
    ///
    /// # Errors
    /// If one of them is not in the page, or the host fails.
    pub fn leads_to(&self, ancestor: &CommitId, commit: &CommitId) -> Result<bool> {
        history::leads_to(&self.shared, ancestor, commit)
    }

    /// The entries of a span that differ between two commits, by their keys.
    ///
    /// Loads only the nodes that both do not share.
    ///
    /// # Errors
    /// If one of them is not in the page, or the host fails.
    pub fn diff(
        &self,
        old: &CommitId,
        new: &CommitId,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<Differences> {
        let (old, new) = (self.shared.pinned_root(old)?, self.shared.pinned_root(new)?);
        let page = Protected::new(Arc::clone(&self.shared), vec![old.0, new.0]);
        Differences::new(Arc::new(page), (&old.1, &new.1), span, direction)
    }

    /// Checks all that must hold of the page, as [`Repository::verify`](crate::Repository::verify) does
    /// for all pages. Changes nothing.
    ///
    /// # Errors
    /// If the host fails.
    pub fn verify(&self) -> Result<Verification> {
        crate::verify::page::verify(&self.shared)
    }
}
