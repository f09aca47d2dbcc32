//! Makes commits on branches that can have several heads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::{KvRead, TxOptions};

use super::history::is_ancestor;
use super::retries::Retries;
use super::shared::{BranchState, Shared};
use super::write::{Attempt, Draft};
use crate::commit::encoding::Commit;
use crate::commit::time::CommitTime;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::process::pins::Pin;
use crate::rows::page::Head;
use crate::rows::process::PinReason;
use crate::watch::follow::Position;

/// How often heads are read again because they were changed meanwhile.
const ATTEMPTS: usize = 100;

/// How many commits are visited to tell whether a new head needs an expiring commit. After that, it
/// counts as needing one.
const STEPS: usize = 64;

impl Shared {
    /// The commit at this position, on which a head of the branch is about to be made. While the
    /// pin is held, the commits that merging that head with the others needs are kept.
    ///
    /// # Errors
    /// [`LedgerError::NoCommit`] if it is no head of the branch: then commits between it and the
    /// heads may be expiring.
    pub(crate) fn base(&self, branch: &str, position: &Position) -> Result<(Pin, Option<Commit>)> {
        let id = position.commit;
        self.open.pinned_for(PinReason::Base, |tx| {
            if !self.open.rows.heads(&tx, branch)?.iter().any(|head| head.id == id) {
                return Err(self.no_commit(&id));
            }
            Ok((id, self.commit_in(&tx, &id)?))
        })
    }

    /// Adds a commit to a branch: in place of its parent if that is a head, as a further head
    /// otherwise. Waits at most `wait` for the write lock of the host. Returns its ID, and the
    /// number of heads.
    ///
    /// # Errors
    /// [`LedgerError::BranchMoved`] if the branch was reset or removed since `base`.
    pub(crate) fn commit_beside(
        &self,
        branch: &str,
        base: &BranchState,
        commit: &Commit,
        draft: &Draft,
        wait: Duration,
    ) -> Result<(CommitId, usize)> {
        let (id, mut retries) = (Commit::id(&commit.to_bytes()), Retries::new(wait));
        loop {
            let options = TxOptions::writing().with_wait(retries.left());
            match self.write_beside((branch, base), (&id, commit), draft, &options) {
                // A conflict has changed nothing, and the draft stays valid.
                Err(LedgerError::Host(error))
                    if error.is_retryable() && retries.pause(&*self.open.host)? => {}
                result => {
                    let heads = result?;
                    self.head_poller.wake();
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
        let mut tx = self.begin(options)?;
        rows.check_exists(&tx)?;
        let heads = rows.heads(&tx, branch)?;
        if heads.is_empty() || rows.resets(&tx, branch)? != base.resets {
            return Err(LedgerError::moved(rows.number, branch));
        }
        let replaced = heads.iter().any(|head| head.id == base.head);
        if replaced {
            rows.remove_head(&mut tx, branch, &base.head)?;
        } else if self.may_need_expiring(&tx, &heads, &base.head)? {
            // Collectors that have computed the keep set compute it again, now with this head.
            rows.keep(&mut tx, &base.head)?;
        }
        rows.put_head(&mut tx, branch, &Head { id: *id, time: commit.time })?;
        self.put_draft(&mut tx, (id, commit), draft)?;
        self.finish_commit(tx, id)?;
        self.note_commit(draft, id);
        Ok(heads.len() + usize::from(!replaced))
    }

    /// Whether a commit on this base, beside the heads, may need an expiring commit: the base, or a
    /// commit that merging it with the heads needs. If it does not, no keep set that was computed
    /// before can remove one of these, because a commit is only removed after its grace time, and
    /// clearing that time raises the version of the keep set. So the version need not be raised
    /// here.
    fn may_need_expiring(&self, tx: &dyn KvRead, heads: &[Head], base: &CommitId) -> Result<bool> {
        let rows = &self.open.rows;
        let mut ahead = BTreeMap::new();
        let add = |ahead: &mut BTreeMap<_, _>, id: &CommitId| {
            if let Some(commit) = rows.commit(tx, id)? {
                ahead.insert((commit.generation, *id), commit);
            }
            Ok::<_, LedgerError>(())
        };
        for id in heads.iter().map(|head| &head.id).chain([base]) {
            add(&mut ahead, id)?;
        }
        for _ in 0..STEPS {
            let Some(((_, id), commit)) = ahead.pop_last() else { return Ok(false) };
            if rows.is_expiring(tx, &id)? {
                return Ok(true);
            }
            // The same rule as in the keep set, except for heads at the first commit: down to the
            // latest commit that lies on every path.
            if ahead.is_empty() {
                return Ok(false);
            }
            for parent in commit.parents() {
                add(&mut ahead, parent)?;
            }
        }
        Ok(true)
    }

    /// Makes a merge the head of a branch in place of its two parents. Nothing changes if one of
    /// them is no head any more, or the branch was reset.
    pub(crate) fn join_heads(
        &self,
        branch: &str,
        resets: u64,
        commit: &Commit,
        draft: &Draft,
    ) -> Result<Attempt> {
        let (rows, id) = (&self.open.rows, Commit::id(&commit.to_bytes()));
        let mut tx = self.begin(&TxOptions::writing())?;
        rows.check_exists(&tx)?;
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
            self.finish_commit(tx, &id)?;
            self.note_commit(draft, &id);
        } else {
            // The merge exists already, and may be expiring: another process has made it, it was
            // received, or it was made as the base of another merge.
            rows.keep(&mut tx, &id)?;
            self.finish_without_commit(tx, &id)?;
        }
        self.head_poller.wake();
        Ok(Attempt::Committed(id))
    }

    /// Makes a commit a head of a branch, in place of its ancestors among the heads. If it is an
    /// ancestor of a head itself, nothing changes.
    pub(crate) fn add_head(self: &Arc<Self>, branch: &str, id: &CommitId) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let found = self.head_poller.heads(branch)?;
            if found.heads.is_empty() {
                return Err(LedgerError::no_branch(self.number(), branch));
            }
            let mut replaced = Vec::new();
            for head in &found.heads {
                if is_ancestor(self, id, &head.id)? {
                    return Ok(());
                }
                if is_ancestor(self, &head.id, id)? {
                    replaced.push(head.id);
                }
            }
            let mut tx = self.begin(&TxOptions::writing())?;
            self.open.rows.check_exists(&tx)?;
            if self.open.rows.heads(&tx, branch)? != found.heads
                || self.open.rows.resets(&tx, branch)? != found.resets
            {
                // The branch was changed meanwhile, so its heads are read again.
                continue;
            }
            // Fails if the commit was removed meanwhile.
            let time = self.commit_in(&tx, id)?.map_or(CommitTime::default(), |commit| commit.time);
            for head in &replaced {
                self.open.rows.remove_head(&mut tx, branch, head)?;
            }
            self.open.rows.put_head(&mut tx, branch, &Head { id: *id, time })?;
            // It can be an older commit, which may be expiring.
            self.open.rows.keep(&mut tx, id)?;
            tx.commit()?;
            self.head_poller.wake();
            return Ok(());
        }
        Err(LedgerError::moved(self.number(), branch))
    }
}
