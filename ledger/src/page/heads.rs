//! Commits on branches that can have several heads.

use std::time::{Duration, Instant};

use permazen_kv::TxOptions;

use super::shared::{BranchState, Shared};
use super::write::{Attempt, Draft};
use crate::commit::encoding::Commit;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::rows::page::Head;

/// How long a commit is tried again after conflicts in the host, unless the transaction says.
const WAIT: Duration = Duration::from_secs(30);

impl Shared {
    /// Adds a commit to a branch: in place of its parent if that is a head, as a further head otherwise.
    /// Gives its ID, and how many heads there are then.
    ///
    /// # Errors
    /// [`LedgerError::BranchMoved`] if the branch was reset or removed since `base`.
    pub(crate) fn commit_beside(
        &self,
        branch: &str,
        base: &BranchState,
        commit: &Commit,
        draft: &Draft,
        options: &TxOptions,
    ) -> Result<(CommitId, usize)> {
        let id = Commit::id(&commit.to_bytes());
        let (begun, wait) = (Instant::now(), options.wait.unwrap_or(WAIT));
        loop {
            match self.write_beside((branch, base), (&id, commit), draft, options) {
                // Nothing was changed, and nothing has to be built again.
                Err(LedgerError::Host(error)) if error.is_retryable() && begun.elapsed() < wait => {
                }
                result => {
                    let heads = result?;
                    self.lookout.call();
                    return Ok((id, heads));
                }
            }
        }
    }

    fn write_beside(
        &self,
        (branch, base): (&str, &BranchState),
        (id, commit): (&CommitId, &Commit),
        draft: &Draft,
        options: &TxOptions,
    ) -> Result<usize> {
        let rows = &self.open.rows;
        let mut tx = self.open.host.begin(options)?;
        rows.check_there(&tx)?;
        let heads = rows.heads(&tx, branch)?;
        if heads.is_empty() || rows.resets(&tx, branch)? != base.resets {
            return Err(LedgerError::BranchMoved { branch: branch.to_owned() });
        }
        let replaced = heads.iter().any(|head| head.id == base.head);
        if replaced {
            rows.remove_head(&mut tx, branch, &base.head)?;
        } else {
            // The parent may be one that nothing has kept.
            rows.raise_keeps(&mut tx)?;
        }
        rows.put_head(&mut tx, branch, &Head { id: *id, time: commit.time })?;
        self.put_draft(&mut tx, (id, commit), draft)?;
        self.end(tx, id)?;
        draft.made(id);
        Ok(heads.len() + usize::from(!replaced))
    }

    /// Makes a merge the head of a branch in place of two heads.
    pub(crate) fn join_heads(
        &self,
        branch: &str,
        resets: u64,
        commit: &Commit,
        draft: &Draft,
    ) -> Result<Attempt> {
        let (rows, id) = (&self.open.rows, Commit::id(&commit.to_bytes()));
        let mut tx = self.open.host.begin(&TxOptions::writing())?;
        rows.check_there(&tx)?;
        let heads = rows.heads(&tx, branch)?;
        let is_head = |parent: &CommitId| heads.iter().any(|head| head.id == *parent);
        if !commit.parents().iter().all(is_head) || rows.resets(&tx, branch)? != resets {
            tx.rollback();
            return Ok(Attempt::Moved);
        }
        for parent in commit.parents() {
            rows.remove_head(&mut tx, branch, parent)?;
        }
        rows.put_head(&mut tx, branch, &Head { id, time: commit.time })?;
        if !rows.has_commit(&tx, &id)? {
            self.put_draft(&mut tx, (&id, commit), draft)?;
        } else {
            // It was a merge that led to no head.
            rows.raise_keeps(&mut tx)?;
        }
        self.end(tx, &id)?;
        draft.made(&id);
        self.lookout.call();
        Ok(Attempt::Committed(id))
    }
}
