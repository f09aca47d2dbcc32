//! One path through the commits of a branch.

use std::collections::BTreeMap;

use crate::commit::encoding::Commit;
use crate::commit::time::CommitTime;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::lookout::BranchHeads;
use crate::page::shared::Shared;

/// Where somebody stands who follows a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) commit: CommitId,
    pub(crate) resets: u64,
}

/// Where a look at the heads has led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nowhere.
    Stay,
    /// To a commit that the former one leads to.
    Along(Position),
    /// To the first head, because no path leads from the former commit to a head.
    Moved(Position),
    /// The branch is gone.
    Gone,
}

impl Position {
    /// The first head. `None` if the branch is gone.
    pub(crate) fn first(heads: &BranchHeads) -> Option<Self> {
        let head = heads.heads.first()?;
        Some(Position { commit: head.id, resets: heads.resets })
    }

    /// Goes on along the commits that are new. Gets each commit between here and the heads once.
    pub(crate) fn follow(&self, shared: &Shared, heads: &BranchHeads) -> Result<Step> {
        let Some(first) = Position::first(heads) else { return Ok(Step::Gone) };
        if heads.resets != self.resets {
            return Ok(Step::Moved(first));
        }
        if heads.heads.iter().any(|head| head.id == self.commit) {
            return Ok(Step::Stay);
        }
        let mut at = self.commit;
        let newer = match self.newer(shared, heads) {
            // History ends before the present commit.
            Err(LedgerError::NoCommit { .. }) => return Ok(Step::Moved(first)),
            newer => newer?,
        };
        for ((_, _, id), commit) in newer {
            if commit.parents().contains(&at) {
                at = id;
            }
        }
        Ok(match at == self.commit {
            true => Step::Moved(first),
            false => Step::Along(Position { commit: at, resets: self.resets }),
        })
    }

    /// The commits that lead to the heads and are later in history than the present one: each after
    /// its parents.
    fn newer(
        &self,
        shared: &Shared,
        heads: &BranchHeads,
    ) -> Result<BTreeMap<(u64, CommitTime, CommitId), Commit>> {
        let present = shared.commit(&self.commit)?.map_or(0, |commit| commit.generation);
        let mut newer = BTreeMap::new();
        let mut ahead: Vec<CommitId> = heads.heads.iter().map(|head| head.id).collect();
        let host = shared.read()?;
        while let Some(id) = ahead.pop() {
            let Some(commit) = shared.commit_in(&host, &id)? else { continue };
            let place = (commit.generation, commit.time, id);
            if commit.generation > present && !newer.contains_key(&place) {
                ahead.extend(commit.parents());
                newer.insert(place, commit);
            }
        }
        Ok(newer)
    }
}
