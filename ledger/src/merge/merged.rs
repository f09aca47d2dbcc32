//! The merge of two commits, and the base that their changes are compared with, which can be a merge
//! itself.

use std::sync::Arc;

use super::relation::{Relation, relation};
use super::strategy::{Strategy, ThreeVersions, Version};
use crate::commit::encoding::{Commit, Origin};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::shared::Shared;
use crate::page::write::Draft;

/// The merge of two commits of which none leads to the other.
pub(super) fn merged(
    shared: &Arc<Shared>,
    heads: [&CommitId; 2],
    relation: &Relation,
    strategy: &mut dyn Strategy,
) -> Result<(Commit, Draft)> {
    let mut sides = [side(shared, heads[0])?, side(shared, heads[1])?];
    let mut changes = relation.changes;
    if (sides[0].0.time, sides[0].1.commit) > (sides[1].0.time, sides[1].1.commit) {
        sides.swap(0, 1);
        changes.swap(0, 1);
    }
    let [(older_commit, older), (newer_commit, newer)] = sides;
    let mut parents = [older.commit, newer.commit];
    parents.sort();
    let draft = match changes {
        // A side without changes has nothing of its own but merges.
        [_, false] => Draft::unchanged(older.root),
        [false, true] => Draft::unchanged(newer.root),
        _ => {
            let base = base(shared, relation, strategy)?;
            let read = [base.commit, older.commit, newer.commit];
            let versions = ThreeVersions { base, older, newer };
            let content = strategy.content(shared, &versions);
            content.map_err(|error| shared.open.explained(error, &read))?
        }
    };
    let commit = Commit {
        time: older_commit.time.max(newer_commit.time),
        generation: older_commit.generation.max(newer_commit.generation) + 1,
        root: draft.root,
        conflicts: None,
        origin: Origin::Merge { parents },
    };
    Ok((commit, draft))
}

/// A commit that is merged.
fn side(shared: &Arc<Shared>, id: &CommitId) -> Result<(Commit, Version)> {
    let (pin, commit) = shared.pinned_commit(id)?;
    // The first commit leads to all others, so it is no side of a merge.
    let commit = commit.ok_or(LedgerError::NoCommit { commit: *id })?;
    let root = commit.root;
    Ok((commit, Version { commit: *id, root, pin }))
}

/// The one commit that both have in common, or the merge of all that they have in common.
fn base(shared: &Arc<Shared>, found: &Relation, strategy: &mut dyn Strategy) -> Result<Version> {
    let mut common = found.common.iter().map(|(_, id)| *id);
    let mut bases = vec![common.next().unwrap_or(CommitId::FIRST)];
    for next in common {
        // A merge that somebody has made is taken, so that everybody takes the same.
        let mut made = Vec::new();
        for base in &bases {
            for id in shared.open.rows.merges(&shared.read()?, [*base, next])? {
                if shared.open.rows.has_commit(&shared.read()?, &id)? {
                    made.push(id);
                }
            }
        }
        if made.is_empty() {
            let base = bases.iter().min().copied().unwrap_or(CommitId::FIRST);
            let between = relation(shared, &base, &next)?;
            let (commit, draft) = merged(shared, [&base, &next], &between, strategy)?;
            made.push(shared.add_draft(&commit, &draft)?);
        }
        bases = made;
    }
    let base = bases.iter().min().copied().unwrap_or(CommitId::FIRST);
    let (pin, root) = shared.pinned_root(&base)?;
    Ok(Version { commit: base, root, pin })
}
