//! What merges need of the history of a page.

use std::collections::BTreeSet;

use super::history::{History, Place, parents, place};

/// Keeps what merging these heads needs, in any order: everything down to the latest commit that each
/// path from a head leads through.
///
/// The latest commits that two heads have in common are not enough. If there are several, they are
/// merged with each other. And what leads to a head past such a commit may come from before it: whether
/// the other head has that too, only the commits in between can tell.
pub(super) fn keep_for_merges(history: &History, heads: &BTreeSet<usize>, kept: &mut [bool]) {
    let mut ahead: BTreeSet<Place> = heads.iter().map(|at| place(history, *at)).collect();
    // Parents come after their children, so all that is left leads to all heads once it is one.
    while let Some((_, _, at)) = ahead.pop_last() {
        kept[at] = true;
        if ahead.is_empty() {
            break;
        }
        ahead.extend(parents(history, at).map(|at| place(history, at)));
    }
}
