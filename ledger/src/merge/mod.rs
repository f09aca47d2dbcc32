//! Merges: `relation.rs` finds what two commits have in common, `base.rs` what their changes are
//! compared with, `content.rs` what comes of them.

mod base;
mod content;
mod relation;

pub use self::content::{Conflict, KeyClass, LastOneWins, Merger, Resolution};

use permazen_kv::TxOptions;

use self::base::Base;
use self::relation::{Relation, relation};
use crate::commit::encoding::{Commit, CommitId, Origin};
use crate::error::{LedgerError, Result};
use crate::page::Page;
use crate::page::shared::Shared;
use crate::page::write::{Attempt, Draft};
use crate::tree::edit::Edited;

/// How often a merge is made again because others have changed the branch.
const ATTEMPTS: usize = 100;

impl Page {
    /// Merges a commit into a branch, and gives the head of the branch after it.
    ///
    /// If the commit leads to the head, nothing is to be done. If the head leads to the commit, the
    /// commit becomes the head. Otherwise the merge is a commit with both as its parents. It depends on
    /// these and on what `merger` decides alone: the same merge in another copy of the page is the
    /// same commit.
    ///
    /// Loads what both sides do not share, and gets the commits down to what they have in common.
    ///
    /// # Errors
    /// If there is no such branch or commit, the branch has several heads, others change the branch
    /// again and again, or the host fails. The branch is then as it was.
    pub fn merge(
        &self,
        branch: &str,
        from: &CommitId,
        merger: &mut dyn Merger,
    ) -> Result<CommitId> {
        for _ in 0..ATTEMPTS {
            let state = self.shared.state(branch)?;
            let relation = relation(&self.shared, &state.head, from)?;
            if *from == state.head || relation.is_below(from) {
                return Ok(state.head);
            }
            if relation.is_below(&state.head) {
                if self.shared.forward(branch, &state, from)? {
                    return Ok(*from);
                }
                continue;
            }
            let (commit, draft) = merged(&self.shared, [&state.head, from], &relation, merger)?;
            let options = TxOptions::writing();
            let attempt = self.shared.commit_draft(branch, &state, &commit, &draft, &options)?;
            if let Attempt::Committed(id) = attempt {
                return Ok(id);
            }
        }
        Err(LedgerError::BranchMoved { branch: branch.to_owned() })
    }
}

/// The merge of two commits of which none leads to the other.
fn merged(
    shared: &Shared,
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
    let unchanged = |root| Edited { root, nodes: Vec::new() };
    let (edited, pieces) = match changes {
        // A side without changes has nothing of its own but merges.
        [_, false] => (unchanged(older.root), Vec::new()),
        [false, true] => (unchanged(newer.root), Vec::new()),
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
        root: edited.root,
        conflicts: None,
        origin: Origin::Merge { parents },
    };
    Ok((commit, Draft { root: edited.root, nodes: edited.nodes, pieces }))
}

fn side(shared: &Shared, id: &CommitId) -> Result<(CommitId, Commit)> {
    let commit = shared.commit(id)?;
    // The first commit leads to all others, so it is no side of a merge.
    Ok((*id, commit.ok_or(LedgerError::NoCommit { commit: *id })?))
}
