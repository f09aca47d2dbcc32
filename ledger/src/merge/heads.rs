//! Merges the heads of a branch, two at a time.

use std::sync::Arc;

use super::merge_bases::merge_bases;
use super::merge_commit::merge_commit;
use super::strategy::Strategy;
use crate::commit::encoding::Commit;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::shared::Shared;
use crate::page::write::{Attempt, Draft};

/// The result of merging two heads.
#[derive(Debug)]
pub(crate) enum HeadMerge {
    /// The branch has one head.
    OneHead(CommitId),
    /// Two heads have become one.
    Merged,
    /// The branch was changed meanwhile.
    Moved,
    /// Every pair of heads needs something that is not stored here.
    Missing(LedgerError),
}

/// Merges two heads of a branch: the first pair, by time and ID, whose history and contents are
/// stored here.
pub(crate) fn merge_two_heads(
    shared: &Arc<Shared>,
    branch: &str,
    strategy: &mut dyn Strategy,
) -> Result<HeadMerge> {
    let found = shared.head_poller.heads(branch)?;
    let heads: Vec<CommitId> = found.heads.iter().map(|head| head.id).collect();
    match heads[..] {
        [] => return Err(LedgerError::no_branch(shared.number(), branch)),
        [head] => return Ok(HeadMerge::OneHead(head)),
        _ => {}
    }
    let (mut missing, mut refused) = (None, None);
    for (at, one) in heads.iter().enumerate() {
        for other in &heads[at + 1..] {
            match pair(shared, [one, other], strategy) {
                Err(error) if is_missing(&error) => missing = missing.or(Some(error)),
                // These two cannot be merged now. Other pairs can.
                Err(error @ (LedgerError::NeedsFetch { .. } | LedgerError::CannotMerge { .. })) => {
                    refused = refused.or(Some(error))
                }
                Err(error) => return Err(error),
                Ok((commit, draft)) => {
                    return Ok(match shared.join_heads(branch, found.resets, &commit, &draft)? {
                        Attempt::Committed(_) => HeadMerge::Merged,
                        Attempt::Moved => HeadMerge::Moved,
                    });
                }
            }
        }
    }
    match (refused, missing) {
        // This error comes first: after a fetch, or a merge by the program, the rest can be merged.
        (Some(error), _) => Err(error),
        (None, Some(error)) => Ok(HeadMerge::Missing(error)),
        (None, None) => Ok(HeadMerge::Moved),
    }
}

fn pair(
    shared: &Arc<Shared>,
    heads: [&CommitId; 2],
    strategy: &mut dyn Strategy,
) -> Result<(Commit, Draft)> {
    let bases = merge_bases(shared, heads[0], heads[1])?;
    merge_commit(shared, heads, bases, strategy)
}

/// Whether history or a piece is missing that another copy of the page may have.
fn is_missing(error: &LedgerError) -> bool {
    matches!(error, LedgerError::BaseMissing { .. } | LedgerError::Missing { .. })
}
