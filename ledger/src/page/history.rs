//! Walks the history of a commit.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use super::shared::{Parent, Shared};
use crate::commit::encoding::Commit;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;

/// The ancestors of a commit and itself, each before its parents: by generation and ID, descending.
/// It ends before commits that are not kept any more.
///
/// Gets each commit once from the host.
pub struct Log {
    shared: Arc<Shared>,
    /// The commits to give, by generation and ID.
    next: BTreeSet<(u64, CommitId)>,
    loaded: HashMap<CommitId, Commit>,
    /// The newest commit that is not kept any more, by generation and ID.
    pruned: Option<(u64, CommitId)>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Log {
    pub(super) fn new(shared: Arc<Shared>, from: CommitId) -> Result<Self> {
        let mut log = Log { shared, next: BTreeSet::new(), loaded: HashMap::new(), pruned: None };
        // Only the parents of a commit can be pruned; if the commit itself is not stored, that is
        // an error.
        log.shared.commit(&from)?;
        log.add(&from, &from)?;
        Ok(log)
    }

    fn add(&mut self, id: &CommitId, child: &CommitId) -> Result<()> {
        if self.loaded.contains_key(id) {
            return Ok(());
        }
        match self.shared.parent(id, child)? {
            Parent::Here(commit) => {
                self.next.insert((commit.generation, *id));
                self.loaded.insert(*id, commit);
            }
            Parent::Pruned(pruned) => self.pruned = self.pruned.max(Some((pruned.generation, *id))),
            Parent::First => {}
        }
        Ok(())
    }

    /// The newest commit that this log has left out because it is not kept any more.
    pub(crate) fn pruned(&self) -> Option<(u64, CommitId)> {
        self.pruned
    }
}

impl Iterator for Log {
    type Item = Result<(CommitId, Commit)>;

    fn next(&mut self) -> Option<Self::Item> {
        let (_, id) = self.next.pop_last()?;
        // Children have larger generations, so all of them were returned before, and the commit is
        // not needed again.
        let commit = self.loaded.remove(&id)?;
        for parent in commit.parents() {
            if let Err(error) = self.add(parent, &id) {
                self.next.clear();
                return Some(Err(error));
            }
        }
        Some(Ok((id, commit)))
    }
}

/// Whether a pruned commit is an ancestor of another one, as far as the stored history tells.
pub(super) fn is_pruned_ancestor(
    shared: &Arc<Shared>,
    (ancestor, generation): (&CommitId, u64),
    commit: &CommitId,
) -> Result<bool> {
    for found in Log::new(Arc::clone(shared), *commit)? {
        let (_, found) = found?;
        if found.generation <= generation {
            break;
        }
        if found.parents().contains(ancestor) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn is_ancestor(
    shared: &Arc<Shared>,
    ancestor: &CommitId,
    commit: &CommitId,
) -> Result<bool> {
    let generation = shared.commit(ancestor)?.map_or(0, |commit| commit.generation);
    shared.commit(commit)?;
    if *ancestor == CommitId::FIRST || ancestor == commit {
        return Ok(true);
    }
    let mut log = Log::new(Arc::clone(shared), *commit)?;
    for found in log.by_ref() {
        let (id, found) = found?;
        if id == *ancestor {
            return Ok(true);
        }
        if found.generation < generation {
            break;
        }
    }
    match log.pruned() {
        // The ancestor may lie in the pruned history.
        Some((newest, id)) if newest > generation => {
            Err(LedgerError::BaseMissing { page: shared.number(), commit: id })
        }
        _ => Ok(false),
    }
}
