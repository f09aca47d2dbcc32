//! Merges the heads of branches without being asked: `factory.rs` says how the pages of a
//! repository are merged, `rules.rs` is what it has said of one page, `registry.rs` knows the open
//! pages, `merging.rs` merges the heads of one, `strategy.rs` decides as its policy says,
//! `resolver.rs` lets somebody outside decide, `backoff.rs` waits longer each time.

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
    /// Merges the heads of all branches at once, in this thread, as the policy of the page says:
    /// [`Repository::add_merge_factory`](crate::Repository::add_merge_factory). Whether every
    /// branch has one head then.
    ///
    /// The same happens by itself on a thread, unless the repository is
    /// [kept by hand](crate::RepositoryBuilder::upkeep_by_hand).
    ///
    /// # Errors
    /// The first error of a merge, after all branches were looked at. It is tried again by itself,
    /// unless something is missing that the merge needs.
    /// [`LedgerError::Busy`](crate::LedgerError::Busy) if another thread merges at the moment, or a
    /// resolver calls this.
    pub fn merge_by_policy(&self) -> Result<bool> {
        self.merging.look(Trigger::Asked)?;
        Ok(!self.merging.is_unfinished()?)
    }

    /// Whether a branch has several heads.
    ///
    /// # Errors
    /// If the host fails.
    pub fn has_unfinished_merges(&self) -> Result<bool> {
        self.merging.is_unfinished()
    }

    /// Waits until every branch has one head, for at most `timeout`. If that is so, returns at
    /// once.
    ///
    /// # Errors
    /// If the host fails.
    pub fn wait_for_merges(&self, timeout: Duration) -> Result<MergeWait> {
        self.merging.wait(timeout)
    }

    /// Makes a commit a head of a branch, in addition to those that it has. Heads that lead to it
    /// are replaced. If it leads to a head, nothing is to be done. The policy of the page, or
    /// [`merge_heads`](Page::merge_heads), merges them.
    ///
    /// Gets the commits between it and each head.
    ///
    /// # Errors
    /// If there is no such branch or commit, the branch is changed at the same time, or the host
    /// fails.
    pub fn add_head(&self, branch: &str, commit: &CommitId) -> Result<()> {
        self.shared.add_head(branch, commit)?;
        self.merging.call(Trigger::Others);
        Ok(())
    }
}
