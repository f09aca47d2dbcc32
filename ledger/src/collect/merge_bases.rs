//! Which commits merges will need: the merge bases of all heads, and the history down to them.

use std::collections::{BTreeSet, HashSet};

use super::history::{History, ParentIndex, WalkKey, parents, walk_key};

/// Adds to the keep set the commits that merging these heads needs, in any order: everything down
/// to the latest commit that lies on every path from a head to the first commit.
///
/// The merge bases of two heads are not enough. If there are several, they are merged with each
/// other. And an ancestor of one head that is not a descendant of such a base may also be an
/// ancestor of the other head: only the commits in between can tell.
///
/// If the first commit is one of the heads, it is their only common ancestor.
pub(super) fn keep_for_merges(
    history: &History,
    heads: &BTreeSet<usize>,
    with_first: bool,
    kept: &mut [bool],
) {
    let mut ahead: BTreeSet<WalkKey> = heads.iter().map(|at| walk_key(history, *at)).collect();
    // Parents come after their children, so a commit that is left alone is an ancestor of all
    // heads.
    while let Some((_, _, at)) = ahead.pop_last() {
        kept[at] = true;
        if ahead.is_empty() && !with_first {
            break;
        }
        ahead.extend(parents(history, at).map(|at| walk_key(history, at)));
    }
}

/// Adds to the keep set merges that are no ancestor of a head but can be the base of other merges,
/// so that these need not make them again: merges of two commits that can both be common ancestors.
///
/// A merge base is reached by two paths, so two of its children are kept; or it is such a merge
/// itself.
pub(super) fn keep_bases(history: &History, kept: &mut [bool]) {
    let mut children = vec![0_u32; history.len()];
    for at in (0..history.len()).filter(|at| kept[*at]) {
        parents(history, at).for_each(|parent| children[parent] += 1);
    }
    let both = |at: usize| match history.parents(at).collect::<Vec<_>>()[..] {
        [ParentIndex::Here(first), ParentIndex::Here(second)] => Some([first, second]),
        _ => None,
    };
    let mut merges: Vec<_> =
        (0..history.len()).filter(|at| !kept[*at] && both(*at).is_some()).collect();
    merges.sort_unstable_by_key(|at| history.commit(*at).generation);
    let mut bases = HashSet::new();
    for at in merges {
        let is_common = |of: &usize| kept[*of] && (children[*of] > 1 || bases.contains(of));
        if both(at).is_some_and(|parents| parents.iter().all(is_common)) {
            kept[at] = true;
            bases.insert(at);
        }
    }
}
