//! One path through the commits of a branch.

use std::collections::{BTreeMap, HashSet};

use crate::commit::time::CommitTime;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::head_poller::BranchHeads;
use crate::page::shared::Shared;

/// How many commits are read in one transaction of the host.
const PORTION: usize = 1_024;

/// The position of a handle or watcher that follows a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) commit: CommitId,
    pub(crate) resets: u64,
}

/// The result of following the branch to its present heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nowhere.
    Stay,
    /// To a descendant of the former commit.
    Along(Position),
    /// To the oldest head: after a reset, or without a path from the former commit to a head.
    Jumped(Position),
    /// The branch is gone.
    Gone,
}

impl Position {
    /// The oldest head. `None` if the branch is gone.
    pub(crate) fn first(heads: &BranchHeads) -> Option<Self> {
        let head = heads.heads.first()?;
        Some(Position { commit: head.id, resets: heads.resets })
    }

    /// Follows new commits. Gets each commit between the position and the heads once.
    pub(crate) fn follow(&self, shared: &Shared, heads: &BranchHeads) -> Result<Step> {
        let Some(first) = Position::first(heads) else { return Ok(Step::Gone) };
        if heads.resets != self.resets {
            return Ok(Step::Jumped(first));
        }
        if heads.heads.iter().any(|head| head.id == self.commit) {
            return Ok(Step::Stay);
        }
        let mut at = self.commit;
        let present = match shared.commit(&self.commit) {
            // The commit was pruned.
            Err(LedgerError::NoCommit { .. }) => return Ok(Step::Jumped(first)),
            commit => commit?.map_or(0, |commit| commit.generation),
        };
        let newer = newer(shared, heads, present)?;
        for ((_, _, id), parents) in newer {
            if parents.contains(&at) {
                at = id;
            }
        }
        Ok(match at == self.commit {
            true => Step::Jumped(first),
            false => Step::Along(Position { commit: at, resets: self.resets }),
        })
    }
}

/// The ancestors of the heads, and these, with a generation after `present`, each with its parents
/// and after them. Pruned commits and their ancestors are left out: no path leads through them any
/// more.
fn newer(
    shared: &Shared,
    heads: &BranchHeads,
    present: u64,
) -> Result<BTreeMap<(u64, CommitTime, CommitId), [CommitId; 2]>> {
    let (mut newer, mut seen) = (BTreeMap::new(), HashSet::new());
    let mut ahead: Vec<CommitId> = heads.heads.iter().map(|head| head.id).collect();
    while !ahead.is_empty() {
        // No transaction of the host stays open for long.
        let tx = shared.read()?;
        for _ in 0..PORTION {
            let Some(id) = ahead.pop() else { break };
            if !seen.insert(id) {
                continue;
            }
            let Some(commit) = shared.open.rows.commit(&tx, &id)? else { continue };
            // A commit with one parent has it twice.
            if commit.generation > present
                && let (Some(one), Some(other)) =
                    (commit.parents().first(), commit.parents().last())
            {
                ahead.extend([one, other]);
                newer.insert((commit.generation, commit.time, id), [*one, *other]);
            }
        }
    }
    Ok(newer)
}
