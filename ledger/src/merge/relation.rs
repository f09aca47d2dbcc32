//! What two commits have in common.

use std::collections::{BTreeMap, HashMap};

use crate::commit::encoding::{Commit, Origin};
use crate::commit::time::CommitTime;
use crate::digest::Kind;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::shared::{Parent, Shared};

/// Commits that a squash would replace.
pub(super) type Range = BTreeMap<CommitId, Link>;

/// What is asked of a commit that would be replaced.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) generation: u64,
    pub(super) parents: Vec<CommitId>,
    /// The device of a change; zeros if the change does not say it.
    pub(super) device: Option<[u8; 16]>,
}

impl From<&Commit> for Link {
    fn from(commit: &Commit) -> Self {
        let device = match &commit.origin {
            Origin::Change { device, .. } => Some(*device),
            Origin::Merge { .. } => None,
        };
        Link { generation: commit.generation, parents: commit.parents().to_vec(), device }
    }
}

/// What two commits have in common.
#[derive(Debug)]
pub(super) struct Relation {
    /// The commits that lead to both, and to no other commit that does: by time and ID.
    pub(super) common: Vec<(CommitTime, CommitId)>,
    /// Whether changes lead to the one commit and not to the other.
    pub(super) changes: [bool; 2],
}

impl Relation {
    /// Whether this one of the two commits leads to the other.
    pub(super) fn is_below(&self, commit: &CommitId) -> bool {
        self.common.iter().any(|(_, id)| id == commit)
    }
}

/// It leads to the one commit, or to the other.
const LEFT: u8 = 1;
const RIGHT: u8 = 2;
/// It leads to a commit that leads to both.
const BELOW: u8 = 4;

/// The commits that a search has reached and not passed, with their marks. A parent has a smaller
/// generation, so the last one has all of its marks, and nobody reaches it again.
struct Reached<'s> {
    shared: &'s Shared,
    marks: BTreeMap<(u64, CommitId), u8>,
    /// Each is got once.
    loaded: HashMap<CommitId, (u64, Parent)>,
    /// How many of them are not below a common one.
    open: usize,
    /// A commit that is pruned and not below a common one. What is below it cannot be found any
    /// more.
    missing: Option<CommitId>,
}

impl<'s> Reached<'s> {
    fn new(shared: &'s Shared) -> Self {
        Reached { shared, marks: BTreeMap::new(), loaded: HashMap::new(), open: 0, missing: None }
    }

    /// Begins at a commit.
    fn start(&mut self, id: &CommitId, marks: u8) -> Result<()> {
        let load = |shared: &Shared| Ok(shared.commit(id)?.map_or(Parent::First, Parent::Here));
        self.add(id, marks, load).map(drop)
    }

    /// Continues with the parents of a commit.
    ///
    /// # Errors
    /// If one has no smaller generation: then it may have been passed already, and what leads to
    /// both would not be found, or be walked through again and again.
    fn mark_parents(&mut self, id: &CommitId, commit: &Commit, marks: u8) -> Result<()> {
        for parent in commit.parents() {
            let generation = self.add(parent, marks, |shared| shared.parent(parent, id))?;
            if generation >= commit.generation {
                let expected = format!("a generation after {generation}");
                let found = format!("generation {}", commit.generation);
                let error = LedgerError::integrity(Kind::Commit, &id.0, expected, found);
                return Err(error.needed(|by| by.page = self.shared.page()));
            }
        }
        Ok(())
    }

    /// Gives the generation.
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
        let was_open = *old != 0 && *old & BELOW == 0;
        *old |= marks;
        self.open += usize::from(*old & BELOW == 0);
        self.open -= usize::from(was_open);
        Ok(generation)
    }

    /// The commit with the largest generation, and its marks. It is `None` for the first commit of
    /// the page, and for one that is pruned.
    fn pop_last(&mut self) -> Option<(CommitId, u8, Option<Commit>)> {
        let ((_, id), marks) = self.marks.pop_last()?;
        let is_open = marks & BELOW == 0;
        self.open -= usize::from(is_open);
        let commit = match self.loaded.remove(&id) {
            Some((_, Parent::Here(commit))) => Some(commit),
            Some((_, Parent::Pruned(_))) if is_open => {
                self.missing.get_or_insert(id);
                None
            }
            _ => None,
        };
        Some((id, marks, commit))
    }

    /// # Errors
    /// [`LedgerError::BaseMissing`] if something could not be found.
    fn check(&self) -> Result<()> {
        let page = self.shared.page();
        self.missing.map_or(Ok(()), |commit| Err(LedgerError::BaseMissing { page, commit }))
    }
}

/// Walks down from both commits, until all that is left leads to a common one.
pub(super) fn relation(shared: &Shared, left: &CommitId, right: &CommitId) -> Result<Relation> {
    if *left == CommitId::FIRST || *right == CommitId::FIRST {
        // It leads to all others, also where the commits between are no longer kept.
        shared.commit(left)?;
        shared.commit(right)?;
        let changes = [left, right].map(|commit| *commit != CommitId::FIRST);
        return Ok(Relation { common: vec![(CommitTime::default(), CommitId::FIRST)], changes });
    }
    let mut reached = Reached::new(shared);
    reached.start(left, LEFT)?;
    reached.start(right, RIGHT)?;
    let mut found = Relation { common: Vec::new(), changes: [false; 2] };
    while reached.open > 0 {
        let Some((id, mut marks, commit)) = reached.pop_last() else { break };
        if marks == LEFT | RIGHT {
            let time = commit.as_ref().map_or(CommitTime::default(), |commit| commit.time);
            found.common.push((time, id));
            marks |= BELOW;
        }
        let Some(commit) = commit else { continue };
        if matches!(commit.origin, Origin::Change { .. }) {
            found.changes[0] |= marks == LEFT;
            found.changes[1] |= marks == RIGHT;
        }
        reached.mark_parents(&id, &commit, marks)?;
    }
    if reached.missing.is_some()
        && let Some(at) = found.common.iter().position(|(_, id)| id == left || id == right)
    {
        // One leads to the other, whatever else does.
        found.common = vec![found.common.swap_remove(at)];
        found.changes = [left, right].map(|of| *of != found.common[0].1);
        return Ok(found);
    }
    reached.check()?;
    found.common.sort();
    Ok(found)
}

/// The commits that lead to `head`, itself included, and do not lead to `onto`, which is not the
/// first commit. `None` if `onto` does not lead to `head`.
pub(super) fn after(shared: &Shared, onto: &CommitId, head: &CommitId) -> Result<Option<Range>> {
    let mut reached = Reached::new(shared);
    reached.start(onto, BELOW)?;
    reached.start(head, LEFT)?;
    let mut after = Range::default();
    let mut leads = onto == head;
    while reached.open > 0 {
        let Some((id, marks, commit)) = reached.pop_last() else { break };
        reached.check()?;
        if let Some(commit) = commit {
            leads |= commit.parents().contains(onto) && marks & LEFT != 0 && marks & BELOW == 0;
            reached.mark_parents(&id, &commit, marks)?;
            if marks & BELOW == 0 {
                after.insert(id, Link::from(&commit));
            }
        }
    }
    Ok(leads.then_some(after))
}
