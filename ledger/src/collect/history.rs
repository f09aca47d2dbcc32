//! The graph of the commits of a page, compact in memory.

use std::ops::ControlFlow;

use permazen_kv::KvRead;

use crate::commit::encoding::Commit;
use crate::commit::time::CommitTime;
use crate::digest::Kind;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::process::open_page::OpenPage;

/// How many commits are read in one transaction.
const PORTION: usize = 4_096;

/// A parent that is not stored: the first commit.
const FIRST: u32 = u32::MAX;

/// A parent that is pruned: this bit, and its index in the list of pruned parents.
const PRUNED: u32 = 1 << 31;

/// The commits of a page: about 64 bytes for each.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Sorted by ID, except for the commits at the end that were made while the others were read.
    commits: Vec<CommitRecord>,
    sorted: usize,
    /// Parents that were pruned.
    pruned: Vec<CommitId>,
}

#[derive(Debug, Clone)]
pub(super) struct CommitRecord {
    pub(super) id: CommitId,
    pub(super) generation: u64,
    pub(super) time: CommitTime,
    /// How many pieces the commit was the first to write.
    pub(super) pieces: u32,
    parents: [u32; 2],
}

/// A parent of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ParentIndex {
    /// Its index in the history.
    Here(usize),
    /// Its index in the list of pruned parents.
    Pruned(usize),
}

/// Commits with their parents, as they were read.
pub(super) type CommitRecords = Vec<(CommitRecord, [CommitId; 2])>;

impl History {
    /// Reads the commits of a page, in portions.
    pub(super) fn read(page: &OpenPage) -> Result<CommitRecords> {
        let mut found = CommitRecords::new();
        loop {
            let (before, last) = (found.len(), found.last().map(|(record, _)| record.id));
            page.rows.visit_commits(&*page.read()?, last.as_ref(), |id, commit, pieces| {
                found.push(record(id, &commit, pieces));
                match found.len() - before < PORTION {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
            if found.len() - before < PORTION {
                return Ok(found);
            }
        }
    }

    /// The history of the commits that were read, of those that refs have begun to name meanwhile,
    /// and of the ancestors of these.
    pub(super) fn new(
        page: &OpenPage,
        tx: &dyn KvRead,
        mut found: CommitRecords,
        names: Vec<CommitId>,
    ) -> Result<Self> {
        let (sorted, mut ahead) = (found.len(), names);
        let mut later = std::collections::BTreeSet::new();
        while let Some(id) = ahead.pop() {
            let is_here =
                found[..sorted].binary_search_by_key(&id, |(record, _)| record.id).is_ok();
            if is_here || id == CommitId::FIRST || !later.insert(id) {
                continue;
            }
            if let Some(commit) = page.rows.commit(tx, &id)? {
                ahead.extend(commit.parents());
                // It was made a moment ago, so it is kept, and its number of pieces is not needed.
                found.push(record(id, &commit, 0));
            }
        }
        Self::of(found, sorted).map_err(|error| error.needed(|by| by.page = page.rows.number))
    }

    /// # Errors
    /// If a commit has no later generation than its parents. A walk by generation would visit its
    /// history again and again.
    fn of(found: CommitRecords, sorted: usize) -> Result<Self> {
        let (commits, named): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let mut history = History { commits, sorted, pruned: Vec::new() };
        for (at, named) in named.iter().enumerate() {
            for (which, parent) in named.iter().enumerate() {
                let index = match history.index_of(parent) {
                    _ if *parent == CommitId::FIRST => FIRST,
                    Some(index) => packed_index(index)?,
                    None => {
                        history.pruned.push(*parent);
                        PRUNED | packed_index(history.pruned.len() - 1)?
                    }
                };
                history.commits[at].parents[which] = index;
            }
        }
        history.name_pruned_once()?;
        for (at, commit) in history.commits.iter().enumerate() {
            for parent in parents(&history, at).map(|at| &history.commits[at]) {
                if parent.generation >= commit.generation {
                    let expected = format!("a generation after {}", parent.generation);
                    let found = format!("generation {}", commit.generation);
                    return Err(LedgerError::integrity(
                        Kind::Commit,
                        &commit.id.0,
                        expected,
                        found,
                    ));
                }
            }
        }
        Ok(history)
    }

    /// Gives each pruned parent one index, however many commits name it.
    fn name_pruned_once(&mut self) -> Result<()> {
        let mut once = self.pruned.clone();
        once.sort_unstable();
        once.dedup();
        for commit in &mut self.commits {
            for parent in &mut commit.parents {
                if *parent != FIRST && *parent & PRUNED != 0 {
                    let id = self.pruned[(*parent & !PRUNED) as usize];
                    let index = once.binary_search(&id).unwrap_or_default();
                    *parent = PRUNED | packed_index(index)?;
                }
            }
        }
        self.pruned = once;
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.commits.len()
    }

    pub(super) fn commit(&self, at: usize) -> &CommitRecord {
        &self.commits[at]
    }

    /// The index of a commit. `None` if it is not stored here.
    pub(super) fn index_of(&self, id: &CommitId) -> Option<usize> {
        match self.commits[..self.sorted].binary_search_by_key(id, |record| record.id) {
            Ok(at) => Some(at),
            Err(_) => {
                let later = self.commits[self.sorted..].iter().position(|record| record.id == *id);
                later.map(|at| at + self.sorted)
            }
        }
    }

    /// The parents of a commit, without the first commit of the page.
    pub(super) fn parents(&self, at: usize) -> impl Iterator<Item = ParentIndex> {
        let parents = self.commits[at].parents;
        // A commit with one parent has it twice.
        let count = if parents[0] == parents[1] { 1 } else { 2 };
        parents.into_iter().take(count).filter(|parent| *parent != FIRST).map(|parent| match parent
            & PRUNED
        {
            0 => ParentIndex::Here(parent as usize),
            _ => ParentIndex::Pruned((parent & !PRUNED) as usize),
        })
    }

    /// The ID of a pruned parent.
    pub(super) fn pruned(&self, at: usize) -> CommitId {
        self.pruned[at]
    }
}

/// An index in 31 bits.
fn packed_index(index: usize) -> Result<u32> {
    u32::try_from(index).ok().filter(|index| *index < PRUNED).ok_or_else(|| {
        let what = "a page with 2³¹ commits or more cannot be collected: squash its branches";
        LedgerError::InvalidArgument(what.to_owned())
    })
}

fn record(id: CommitId, commit: &Commit, pieces: u32) -> (CommitRecord, [CommitId; 2]) {
    let Commit { generation, time, .. } = *commit;
    let parents = match commit.parents() {
        [first, second] => [*first, *second],
        [parent] => [*parent; 2],
        _ => [CommitId::FIRST; 2],
    };
    (CommitRecord { id, generation, time, pieces, parents: [FIRST; 2] }, parents)
}

/// The parents of a commit that are stored here.
pub(super) fn parents(history: &History, at: usize) -> impl Iterator<Item = usize> {
    history.parents(at).filter_map(|parent| match parent {
        ParentIndex::Here(at) => Some(at),
        ParentIndex::Pruned(_) => None,
    })
}

/// The key by which walks order commits: generation, ID, index. Parents come before their children.
pub(super) type WalkKey = (u64, CommitId, usize);

pub(super) fn walk_key(history: &History, at: usize) -> WalkKey {
    let commit = history.commit(at);
    (commit.generation, commit.id, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn generations_that_do_not_ascend_are_refused() {
        let id = |number: u8| CommitId(Digest([number; 32]));
        let history = |generations: [u64; 3]| {
            let commit = |at: usize| {
                let (id, parent) = (id(at as u8 + 1), id(at as u8));
                let (time, generation) = (CommitTime::default(), generations[at]);
                (CommitRecord { id, generation, time, pieces: 0, parents: [FIRST; 2] }, [parent; 2])
            };
            History::of((0..3).map(commit).collect(), 3)
        };
        assert_eq!(history([1, 2, 3]).unwrap().len(), 3);
        for generations in [[2, 1, 3], [1, 3, 3]] {
            let error = history(generations).unwrap_err();
            assert!(matches!(error, LedgerError::Integrity { .. }), "{error}");
        }
    }
}
