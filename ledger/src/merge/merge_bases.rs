//! The merge bases of two commits.

use std::collections::{BTreeMap, HashMap};

use crate::commit::encoding::{Commit, Origin};
use crate::commit::time::CommitTime;
use crate::digest::Kind;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::shared::{Parent, Shared};

/// The commits that a squash would replace.
pub(super) type CommitRange = BTreeMap<CommitId, RangeCommit>;

/// A commit of such a range: its generation, its parents and its device.
#[derive(Debug)]
pub(super) struct RangeCommit {
    pub(super) generation: u64,
    pub(super) parents: Vec<CommitId>,
    /// The device of a change, zeros if it names none. `None` for a merge.
    pub(super) device: Option<[u8; 16]>,
}

impl From<&Commit> for RangeCommit {
    fn from(commit: &Commit) -> Self {
        let device = match &commit.origin {
            Origin::Change { device, .. } => Some(*device),
            Origin::Merge { .. } => None,
        };
        RangeCommit { generation: commit.generation, parents: commit.parents().to_vec(), device }
    }
}

/// The merge bases of two commits.
#[derive(Debug)]
pub(super) struct MergeBases {
    /// The merge bases by time and ID: the common ancestors that are ancestors of no other common
    /// ancestor.
    pub(super) bases: Vec<(CommitTime, CommitId)>,
    /// For the left and for the right commit: whether it reaches a change (not a merge) that the
    /// other one does not reach.
    pub(super) changes: [bool; 2],
}

impl MergeBases {
    /// Whether this one of the two commits is an ancestor of the other.
    pub(super) fn is_ancestor(&self, commit: &CommitId) -> bool {
        self.bases.iter().any(|(_, id)| id == commit)
    }
}

/// A mark: the commit is the left one, or an ancestor of it. `RIGHT` likewise.
const LEFT: u8 = 1;
const RIGHT: u8 = 2;
/// A mark: the commit is a merge base, or an ancestor of one (git calls it stale).
const ANCESTOR_OF_BASE: u8 = 4;

/// A walk from commits to their ancestors, by descending generation. It holds the commits that were
/// reached but not visited, with their marks. The one of the largest generation has all its marks,
/// because only commits of later generations reach it, and is not reached again.
struct AncestorWalk<'s> {
    shared: &'s Shared,
    marks: BTreeMap<(u64, CommitId), u8>,
    /// Each commit is read once.
    loaded: HashMap<CommitId, (u64, Parent)>,
    /// How many commits of `marks` are not marked as ancestors of a merge base.
    undecided: usize,
    /// A pruned commit that is no ancestor of a merge base. Its own ancestors are unknown.
    pruned: Option<CommitId>,
}

impl<'s> AncestorWalk<'s> {
    fn new(shared: &'s Shared) -> Self {
        AncestorWalk {
            shared,
            marks: BTreeMap::new(),
            loaded: HashMap::new(),
            undecided: 0,
            pruned: None,
        }
    }

    /// Begins at a commit.
    fn start(&mut self, id: &CommitId, marks: u8) -> Result<()> {
        let load = |shared: &Shared| Ok(shared.commit(id)?.map_or(Parent::First, Parent::Here));
        self.add(id, marks, load).map(drop)
    }

    /// Continues with the parents of a commit.
    ///
    /// # Errors
    /// If a parent has no smaller generation: it may have been visited already, so merge bases
    /// would be missed, or the walk would never end.
    fn mark_parents(&mut self, id: &CommitId, commit: &Commit, marks: u8) -> Result<()> {
        for parent in commit.parents() {
            let generation = self.add(parent, marks, |shared| shared.parent(parent, id))?;
            if generation >= commit.generation {
                let expected = format!("a generation after {generation}");
                let found = format!("generation {}", commit.generation);
                let error = LedgerError::integrity(Kind::Commit, &id.0, expected, found);
                return Err(error.needed(|by| by.page = self.shared.number()));
            }
        }
        Ok(())
    }

    /// Adds marks to a commit. Returns its generation.
    fn add(
        &mut self,
        id: &CommitId,
        marks: u8,
        load: impl FnOnce(&Shared) -> Result<Parent>,
    ) -> Result<u64> {
        let generation = match self.loaded.get(id) {
            Some((generation, _)) => *generation,
            None => {
                let found = load(self.shared)?;
                let generation = match &found {
                    Parent::First => 0,
                    Parent::Here(commit) => commit.generation,
                    Parent::Pruned(pruned) => pruned.generation,
                };
                self.loaded.insert(*id, (generation, found));
                generation
            }
        };
        let old = self.marks.entry((generation, *id)).or_default();
        let was_undecided = *old != 0 && *old & ANCESTOR_OF_BASE == 0;
        *old |= marks;
        self.undecided += usize::from(*old & ANCESTOR_OF_BASE == 0);
        self.undecided -= usize::from(was_undecided);
        Ok(generation)
    }

    /// Takes the commit with the largest generation, with its marks. Instead of the [`Commit`] it
    /// gives `None` for the first commit of the page, and for a pruned one.
    fn pop_last(&mut self) -> Option<(CommitId, u8, Option<Commit>)> {
        let ((_, id), marks) = self.marks.pop_last()?;
        let is_undecided = marks & ANCESTOR_OF_BASE == 0;
        self.undecided -= usize::from(is_undecided);
        let commit = match self.loaded.remove(&id) {
            Some((_, Parent::Here(commit))) => Some(commit),
            Some((_, Parent::Pruned(_))) if is_undecided => {
                self.pruned.get_or_insert(id);
                None
            }
            _ => None,
        };
        Some((id, marks, commit))
    }

    /// Fails if the walk is incomplete.
    ///
    /// # Errors
    /// [`LedgerError::BaseMissing`] if it met a pruned commit that is no ancestor of a merge base.
    fn check(&self) -> Result<()> {
        let page = self.shared.number();
        self.pruned.map_or(Ok(()), |commit| Err(LedgerError::BaseMissing { page, commit }))
    }
}

/// Walks from both commits to their ancestors, until only ancestors of merge bases remain.
pub(super) fn merge_bases(
    shared: &Shared,
    left: &CommitId,
    right: &CommitId,
) -> Result<MergeBases> {
    if *left == CommitId::FIRST || *right == CommitId::FIRST {
        // The first commit is an ancestor of all others, also where history between was pruned.
        // Fails if one of them is not stored.
        shared.commit(left)?;
        shared.commit(right)?;
        let changes = [left, right].map(|commit| *commit != CommitId::FIRST);
        return Ok(MergeBases { bases: vec![(CommitTime::default(), CommitId::FIRST)], changes });
    }
    let mut walk = AncestorWalk::new(shared);
    walk.start(left, LEFT)?;
    walk.start(right, RIGHT)?;
    let mut found = MergeBases { bases: Vec::new(), changes: [false; 2] };
    while walk.undecided > 0 {
        let Some((id, mut marks, commit)) = walk.pop_last() else { break };
        if marks == LEFT | RIGHT {
            let time = commit.as_ref().map_or(CommitTime::default(), |commit| commit.time);
            found.bases.push((time, id));
            marks |= ANCESTOR_OF_BASE;
        }
        let Some(commit) = commit else { continue };
        if matches!(commit.origin, Origin::Change { .. }) {
            found.changes[0] |= marks == LEFT;
            found.changes[1] |= marks == RIGHT;
        }
        walk.mark_parents(&id, &commit, marks)?;
    }
    if walk.pruned.is_some()
        && let Some(at) = found.bases.iter().position(|(_, id)| id == left || id == right)
    {
        // One is an ancestor of the other, so it is the merge base, also if history is missing. The
        // marks may be incomplete, so the other one counts as one with changes.
        found.bases = vec![found.bases.swap_remove(at)];
        found.changes = [left, right].map(|of| *of != found.bases[0].1);
        return Ok(found);
    }
    walk.check()?;
    found.bases.sort();
    Ok(found)
}

/// The ancestors of `head`, itself included, that are no ancestors of `onto`, which is not the
/// first commit. `None` if `onto` is no ancestor of `head`.
pub(super) fn commits_after(
    shared: &Shared,
    onto: &CommitId,
    head: &CommitId,
) -> Result<Option<CommitRange>> {
    // `onto` takes the part of a merge base, and `head` that of the left commit.
    let mut walk = AncestorWalk::new(shared);
    walk.start(onto, ANCESTOR_OF_BASE)?;
    walk.start(head, LEFT)?;
    let mut after = CommitRange::default();
    let mut leads = onto == head;
    while walk.undecided > 0 {
        let Some((id, marks, commit)) = walk.pop_last() else { break };
        walk.check()?;
        if let Some(commit) = commit {
            leads |= commit.parents().contains(onto)
                && marks & LEFT != 0
                && marks & ANCESTOR_OF_BASE == 0;
            walk.mark_parents(&id, &commit, marks)?;
            if marks & ANCESTOR_OF_BASE == 0 {
                after.insert(id, RangeCommit::from(&commit));
            }
        }
    }
    Ok(leads.then_some(after))
}
