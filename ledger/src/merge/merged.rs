//! The merge of two commits, and the base that their changes are compared with, which can be a merge
//! itself.

use std::sync::Arc;

use super::content::{self, Merger};
use super::relation::{Relation, relation};
use crate::commit::encoding::{Commit, Origin};
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::shared::Shared;
use crate::page::write::Draft;

/// The merge of two commits of which none leads to the other.
pub(super) fn merged(
    shared: &Arc<Shared>,
    heads: [&CommitId; 2],
    relation: &Relation,
    merger: &mut dyn Merger,
) -> Result<(Commit, Draft)> {
    let mut sides = [side(shared, heads[0])?, side(shared, heads[1])?];
    let mut changes = relation.changes;
    if (sides[0].1.time, sides[0].0) > (sides[1].1.time, sides[1].0) {
        sides.swap(0, 1);
        changes.swap(0, 1);
    }
    let [(older_id, older), (newer_id, newer)] = &sides;
    let unchanged = |root| Draft { root, nodes: Vec::new(), pieces: Vec::new() };
    let draft = match changes {
        // A side without changes has nothing of its own but merges.
        [_, false] => unchanged(older.root),
        [false, true] => unchanged(newer.root),
        _ => {
            let base = Base::of(shared, relation, merger)?.root;
            content::merged(shared, &base, &older.root, &newer.root, merger)?
        }
    };
    let mut parents = [*older_id, *newer_id];
    parents.sort();
    let commit = Commit {
        time: older.time.max(newer.time),
        generation: older.generation.max(newer.generation) + 1,
        root: draft.root,
        conflicts: None,
        origin: Origin::Merge { parents },
    };
    Ok((commit, draft))
}

fn side(shared: &Arc<Shared>, id: &CommitId) -> Result<(CommitId, Commit)> {
    let commit = shared.commit(id)?;
    // The first commit leads to all others, so it is no side of a merge.
    Ok((*id, commit.ok_or(LedgerError::NoCommit { commit: *id })?))
}

/// The state that two commits came from.
struct Base {
    root: Digest,
}

impl Base {
    /// The one commit that both have in common, or the merge of all that they have in common.
    fn of(shared: &Arc<Shared>, found: &Relation, merger: &mut dyn Merger) -> Result<Self> {
        let mut common = found.common.iter().map(|(_, id)| *id);
        let mut bases = vec![common.next().unwrap_or(CommitId::FIRST)];
        for next in common {
            // A merge that somebody has made is taken, so that everybody takes the same.
            let mut made = Vec::new();
            for base in &bases {
                for id in shared.rows.merges(&shared.read()?, [*base, next])? {
                    if shared.rows.has_commit(&shared.read()?, &id)? {
                        made.push(id);
                    }
                }
            }
            if made.is_empty() {
                let base = bases.iter().min().copied().unwrap_or(CommitId::FIRST);
                let between = relation(shared, &base, &next)?;
                let (commit, draft) = merged(shared, [&base, &next], &between, merger)?;
                made.push(shared.add_draft(&commit, &draft)?);
            }
            bases = made;
        }
        let base = bases.iter().min().copied().unwrap_or(CommitId::FIRST);
        Ok(Base { root: shared.root_of(&base)? })
    }
}
