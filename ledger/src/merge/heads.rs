//! Which heads of a branch are merged.

use std::sync::Arc;

use super::merged::merged;
use super::relation::relation;
use super::strategy::Strategy;
use crate::commit::encoding::Commit;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::shared::Shared;
use crate::page::write::{Attempt, Draft};

/// How a step has ended.
#[derive(Debug)]
pub(crate) enum Joined {
    /// The branch has one head.
    One(CommitId),
    /// Two heads have become one.
    Some,
    /// Others have changed the branch.
    Moved,
    /// Something that each pair of heads needs is not here.
    Missing(LedgerError),
}

/// Merges two heads of a branch: the first pair of which everything is here, by time and ID.
pub(crate) fn join(
    shared: &Arc<Shared>,
    branch: &str,
    strategy: &mut dyn Strategy,
) -> Result<Joined> {
    let found = shared.lookout.heads(branch)?;
    let heads: Vec<CommitId> = found.heads.iter().map(|head| head.id).collect();
    match heads[..] {
        [] => return Err(LedgerError::no_branch(shared.page(), branch)),
        [head] => return Ok(Joined::One(head)),
        _ => {}
    }
    let (mut missing, mut refused) = (None, None);
    for (at, one) in heads.iter().enumerate() {
        for other in &heads[at + 1..] {
            match pair(shared, [one, other], strategy) {
                Err(error) if is_missing(&error) => missing = missing.or(Some(error)),
                // Other heads do not wait for these.
                Err(error @ (LedgerError::NeedsFetch { .. } | LedgerError::CannotMerge { .. })) => {
                    refused = refused.or(Some(error))
                }
                Err(error) => return Err(error),
                Ok((commit, draft)) => {
                    return Ok(match shared.join_heads(branch, found.resets, &commit, &draft)? {
                        Attempt::Committed(_) => Joined::Some,
                        Attempt::Moved => Joined::Moved,
                    });
                }
            }
        }
    }
    match (refused, missing) {
        // Once somebody has fetched what is needed, or has merged by hand, the rest can be merged.
        (Some(error), _) => Err(error),
        (None, Some(error)) => Ok(Joined::Missing(error)),
        (None, None) => Ok(Joined::Moved),
    }
}

fn pair(
    shared: &Arc<Shared>,
    heads: [&CommitId; 2],
    strategy: &mut dyn Strategy,
) -> Result<(Commit, Draft)> {
    let relation = relation(shared, heads[0], heads[1])?;
    merged(shared, heads, relation, strategy)
}

/// Whether something is not here that another copy of the page may have.
fn is_missing(error: &LedgerError) -> bool {
    matches!(error, LedgerError::BaseMissing { .. } | LedgerError::Missing { .. })
}
