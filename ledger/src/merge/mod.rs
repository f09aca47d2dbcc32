//! Merges: `merge_bases.rs` finds the merge bases of two commits, `merge_commit.rs` makes the merge
//! commit, `strategy.rs` is the interface of the code that decides its content: `merger.rs` decides
//! entry by entry, and `content.rs` builds the content. `heads.rs` merges the heads of a branch.
//! `squash.rs` makes one commit of several, and `squash_blockers.rs` finds the refs that forbid
//! that. `sides.rs` has the two sides of a merge, for a merger, and `whole_ranges.rs` is a merger
//! that never mixes both sides in some ranges.

pub(crate) mod content;
pub(crate) mod heads;
mod merge_bases;
pub(crate) mod merge_commit;
pub(crate) mod merger;
pub(crate) mod sides;
mod squash;
mod squash_blockers;
pub(crate) mod strategy;
pub(crate) mod whole_ranges;

pub use self::merger::{Conflict, KeyClass, LastWriterWins, Merger, Resolution};

use permazen_kv::TxOptions;

use self::content::ByMerger;
use self::heads::{HeadMerge, merge_two_heads};
use self::merge_bases::merge_bases;
use self::merge_commit::merge_commit;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::Page;
use crate::page::write::Attempt;

/// How often a merge is made again because the branch was changed meanwhile.
const ATTEMPTS: usize = 100;

impl Page {
    /// Merges a commit into a branch, and returns the new head of the branch.
    ///
    /// If the commit is an ancestor of the head, nothing changes. If the head is an ancestor of the
    /// commit, the branch is fast-forwarded. Otherwise the merge is a commit with both as its
    /// parents. It depends only on these and on the decisions of `merger`: the same merge in
    /// another copy of the page is the same commit.
    ///
    /// Loads the nodes that the sides do not share, and reads the commits down to the merge bases.
    ///
    /// # Errors
    /// If there is no such branch or commit, the branch has several heads, it is changed again and
    /// again meanwhile, history or contents are missing, the merger fails, or the host. The branch
    /// is then as it was.
    pub fn merge(
        &self,
        branch: &str,
        from: &CommitId,
        merger: &mut dyn Merger,
    ) -> Result<CommitId> {
        for _ in 0..ATTEMPTS {
            let state = self.shared.state(branch)?;
            let bases = merge_bases(&self.shared, &state.head, from)?;
            if *from == state.head || bases.is_ancestor(from) {
                return Ok(state.head);
            }
            if bases.is_ancestor(&state.head) {
                if self.shared.forward(branch, &state, from)? {
                    return Ok(*from);
                }
                // The branch was changed meanwhile, so its new head is merged.
                continue;
            }
            let (heads, mut strategy) = ([&state.head, from], ByMerger(merger));
            let (commit, draft) = merge_commit(&self.shared, heads, bases, &mut strategy)?;
            let options = TxOptions::writing();
            let attempt = self.shared.commit_draft(branch, &state, &commit, &draft, &options)?;
            // Otherwise the branch was changed meanwhile, so its new head is merged.
            if let Attempt::Committed(id) = attempt {
                return Ok(id);
            }
        }
        Err(LedgerError::moved(self.shared.number(), branch))
    }

    /// Merges the heads of a branch until there is one, and returns it.
    ///
    /// Each step merges the two oldest heads, by time and ID; their merge has the time of the newer
    /// one. So the result depends only on the heads and on the decisions of `merger`: in another
    /// copy of the page, the same heads become the same commit.
    ///
    /// If two heads cannot be merged because history or contents are missing, other ones are merged
    /// first; the call fails once no two can be merged. Costs a [`merge`](Page::merge) for each
    /// head but one.
    ///
    /// # Errors
    /// If there is no such branch, it is changed again and again meanwhile, history or contents are
    /// missing, the merger fails, or the host. Merges that were made before stay.
    pub fn merge_heads(&self, branch: &str, merger: &mut dyn Merger) -> Result<CommitId> {
        let mut strategy = ByMerger(merger);
        let mut moved = 0;
        while moved < ATTEMPTS {
            match merge_two_heads(&self.shared, branch, &mut strategy)? {
                HeadMerge::OneHead(head) => return Ok(head),
                HeadMerge::Merged => {}
                HeadMerge::Moved => moved += 1,
                HeadMerge::Missing(error) => return Err(error),
            }
        }
        Err(LedgerError::moved(self.shared.number(), branch))
    }
}
