//! Merges the heads of branches automatically: `factory.rs` has the policies and the factories that
//! choose them, `rules.rs` the choice for one page, `registry.rs` the open pages, `merging.rs`
//! merges the heads of one, `strategy.rs` decides by its policy, `resolver.rs` lets the program
//! decide, `backoff.rs` computes pauses.

mod backoff;
pub(crate) mod factory;
pub(crate) mod merging;
pub(crate) mod registry;
pub(crate) mod resolver;
mod rules;
mod strategy;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::merging::{MergeWait, Trigger};
use crate::error::Result;
use crate::ids::CommitId;
use crate::page::Page;

impl Page {
    /// Merges the heads of all branches at once, in this thread, by the policy of the page
    /// ([`Repository::add_merge_factory`](crate::Repository::add_merge_factory)). Returns whether
    /// every branch has one head then.
    ///
    /// A thread does the same, unless [maintenance is
    /// manual](crate::RepositoryBuilder::manual_maintenance).
    ///
    /// # Errors
    /// The first error of a merge, after all branches were tried. The merge is tried again
    /// automatically, unless history or a piece is missing.
    /// [`LedgerError::Busy`](crate::LedgerError::Busy) if another thread merges at the moment, or a
    /// resolver calls this.
    pub fn merge_by_policy(&self) -> Result<bool> {
        self.merging.merge_branches(Trigger::Asked)?;
        Ok(!self.merging.is_unfinished()?)
    }

    /// Whether a branch has several heads.
    ///
    /// # Errors
    /// If the host fails.
    pub fn has_unfinished_merges(&self) -> Result<bool> {
        self.merging.is_unfinished()
    }

    /// Waits until every branch has one head, for at most `timeout`. Returns at once if there is
    /// nothing to merge.
    ///
    /// # Errors
    /// If the host fails.
    pub fn wait_for_merges(&self, timeout: Duration) -> Result<MergeWait> {
        self.merging.wait(timeout)
    }

    /// Makes a commit a further head of a branch. Heads that are its ancestors are replaced. If it
    /// is an ancestor of a head, nothing changes. The policy of the page, or
    /// [`merge_heads`](Page::merge_heads), merges the heads.
    ///
    /// Gets the commits between it and each head.
    ///
    /// # Errors
    /// If there is no such branch or commit,
    /// [`LedgerError::BaseMissing`](crate::LedgerError::BaseMissing) if pruned history hides
    /// whether a head is an ancestor, [`LedgerError::BranchMoved`](crate::LedgerError::BranchMoved)
    /// if the branch is changed again and again meanwhile, or if the host fails.
    pub fn add_head(&self, branch: &str, commit: &CommitId) -> Result<()> {
        self.shared.add_head(branch, commit)?;
        self.merging.wake(Trigger::Others);
        Ok(())
    }
}
