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
use crate::process::pins::Pin;

/// The merge of two commits of which none leads to the other.
pub(super) fn merged(
    shared: &Arc<Shared>,
    heads: [&CommitId; 2],
    relation: &Relation,
    merger: &mut dyn Merger,
) -> Result<(Commit, Draft)> {
    let mut sides = [side(shared, heads[0])?, side(shared, heads[1])?];
    let mut changes = relation.changes;
    if (sides[0].commit.time, sides[0].id) > (sides[1].commit.time, sides[1].id) {
        sides.swap(0, 1);
        changes.swap(0, 1);
    }
    let [older, newer] = &sides;
    let (older_id, newer_id, pin) = (older.id, newer.id, &newer.pin);
    let (older, newer) = (&older.commit, &newer.commit);
    let unchanged = |root| Draft { root, nodes: Vec::new(), pieces: Vec::new() };
    let draft = match changes {
        // A side without changes has nothing of its own but merges.
        [_, false] => unchanged(older.root),
        [false, true] => unchanged(newer.root),
        _ => {
            let base = Base::of(shared, relation, merger)?;
            let sides = (&older.root, (pin, &newer.root));
            let merged = content::merged(shared, &base.root, sides.0, sides.1, merger);
            let read = [base.commit, older_id, newer_id];
            merged.map_err(|error| shared.open.explained(error, &read))?
        }
    };
    let mut parents = [older_id, newer_id];
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

/// A commit that is merged.
struct Side {
    id: CommitId,
    commit: Commit,
    pin: Pin,
}

fn side(shared: &Arc<Shared>, id: &CommitId) -> Result<Side> {
    let (pin, commit) = shared.pinned_commit(id)?;
    // The first commit leads to all others, so it is no side of a merge.
    let commit = commit.ok_or(LedgerError::NoCommit { commit: *id })?;
    Ok(Side { id: *id, commit, pin })
}

/// The state that two commits came from.
struct Base {
    commit: CommitId,
    root: Digest,
    _pin: Pin,
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
                for id in shared.open.rows.merges(&shared.read()?, [*base, next])? {
                    if shared.open.rows.has_commit(&shared.read()?, &id)? {
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
        let (pin, root) = shared.pinned_root(&base)?;
        Ok(Base { commit: base, root, _pin: pin })
    }
}
