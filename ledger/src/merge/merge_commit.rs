//! Makes the merge commit of two commits. With several merge bases, these are merged first.

use std::sync::Arc;

use super::merge_bases::{MergeBases, merge_bases};
use super::strategy::{Strategy, ThreeVersions, Version};
use crate::commit::encoding::{Commit, Origin};
use crate::error::Result;
use crate::ids::CommitId;
use crate::page::shared::Shared;
use crate::page::write::Draft;

/// A merge while it is made.
struct PendingMerge {
    /// The older commit and the newer one.
    sides: [(Commit, Version); 2],
    /// Whether each has changes of its own.
    changes: [bool; 2],
    /// The merge bases that are not part of the base yet.
    remaining: std::vec::IntoIter<CommitId>,
    /// The merges of the merge bases that are. If other copies have merged them differently there
    /// are several; the one with the smallest ID is the base.
    bases: Vec<CommitId>,
}

/// The merge of two commits, neither of which is an ancestor of the other.
pub(super) fn merge_commit(
    shared: &Arc<Shared>,
    heads: [&CommitId; 2],
    found: MergeBases,
    strategy: &mut dyn Strategy,
) -> Result<(Commit, Draft)> {
    // To merge two merge bases, their own merge bases may have to be merged first, as in git's
    // recursive strategy. The pending merges are on a stack, because they can nest as deep as
    // history.
    let (mut step, mut waiting) = (PendingMerge::new(shared, heads, found)?, Vec::new());
    loop {
        match step.next_pair(shared)? {
            Some([one, other]) => {
                let found = merge_bases(shared, &one, &other)?;
                let before =
                    std::mem::replace(&mut step, PendingMerge::new(shared, [&one, &other], found)?);
                waiting.push(before);
            }
            None => {
                let (commit, draft) = step.end(shared, strategy)?;
                let Some(before) = waiting.pop() else { return Ok((commit, draft)) };
                step = before;
                step.bases = vec![shared.add_draft(&commit, &draft)?];
            }
        }
    }
}

impl PendingMerge {
    fn new(shared: &Arc<Shared>, heads: [&CommitId; 2], found: MergeBases) -> Result<Self> {
        let mut sides = [side(shared, heads[0])?, side(shared, heads[1])?];
        let mut changes = found.changes;
        if (sides[0].0.time, sides[0].1.commit) > (sides[1].0.time, sides[1].1.commit) {
            sides.swap(0, 1);
            changes.swap(0, 1);
        }
        let remaining: Vec<_> = found.bases.into_iter().map(|(_, id)| id).collect();
        let mut remaining = remaining.into_iter();
        let bases = vec![remaining.next().unwrap_or(CommitId::FIRST)];
        Ok(PendingMerge { sides, changes, remaining, bases })
    }

    fn base(&self) -> CommitId {
        self.bases.iter().min().copied().unwrap_or(CommitId::FIRST)
    }

    /// The next two commits whose merge has to be made first.
    fn next_pair(&mut self, shared: &Arc<Shared>) -> Result<Option<[CommitId; 2]>> {
        if self.changes != [true; 2] {
            return Ok(None);
        }
        let rows = &shared.open.rows;
        for next in self.remaining.by_ref() {
            // An existing merge is taken, so that all copies take the same one.
            let mut made = Vec::new();
            for base in &self.bases {
                for id in rows.merges(&shared.read()?, [*base, next])? {
                    if rows.has_commit(&shared.read()?, &id)? {
                        made.push(id);
                    }
                }
            }
            if made.is_empty() {
                return Ok(Some([self.base(), next]));
            }
            self.bases = made;
        }
        Ok(None)
    }

    /// Makes the merge, once its base is complete.
    fn end(self, shared: &Arc<Shared>, strategy: &mut dyn Strategy) -> Result<(Commit, Draft)> {
        let base = self.base();
        let [(older_commit, older), (newer_commit, newer)] = self.sides;
        let (older_id, newer_id) = (older.commit, newer.commit);
        let mut parents = [older_id, newer_id];
        parents.sort();
        let (draft, conflicts) = match self.changes {
            // A side without changes has only merges of its own, so the content is that of the
            // other side, and so are its conflicts.
            [_, false] => (Draft::unchanged(older.root), older_commit.conflicts),
            [false, true] => (Draft::unchanged(newer.root), newer_commit.conflicts),
            [true, true] => {
                let (pin, root) = shared.pinned_root(&base)?;
                let read = [base, older.commit, newer.commit];
                let base = Version { commit: base, root, pin };
                let content = strategy.content(shared, &ThreeVersions { base, older, newer });
                (content.map_err(|error| shared.open.explained(error, &read))?, None)
            }
        };
        let (generation, latest) = match older_commit.generation > newer_commit.generation {
            true => (older_commit.generation, older_id),
            false => (newer_commit.generation, newer_id),
        };
        let commit = Commit {
            time: older_commit.time.max(newer_commit.time),
            generation: shared.generation_after(generation, &latest)?,
            root: draft.root,
            conflicts,
            origin: Origin::Merge { parents },
        };
        Ok((commit, draft))
    }
}

/// One side of a merge, pinned.
fn side(shared: &Arc<Shared>, id: &CommitId) -> Result<(Commit, Version)> {
    let (pin, commit) = shared.pinned_commit(id)?;
    // The first commit is an ancestor of all others, so it is no side of a merge.
    let commit = commit.ok_or_else(|| shared.no_commit(id))?;
    let root = commit.root;
    Ok((commit, Version { commit: *id, root, pin }))
}
