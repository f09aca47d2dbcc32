//! What the changes of two commits are compared with.

use super::content::Merger;
use super::merged;
use super::relation::{Relation, relation};
use crate::commit::encoding::CommitId;
use crate::digest::Digest;
use crate::error::Result;
use crate::page::shared::Shared;

/// The state that two commits came from.
pub(super) struct Base {
    pub(super) root: Digest,
}

impl Base {
    /// The one commit that both have in common, or the merge of all that they have in common.
    pub(super) fn of(shared: &Shared, found: &Relation, merger: &mut dyn Merger) -> Result<Self> {
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
