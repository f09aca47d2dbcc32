//! What merges need of the history of a page.

use std::collections::{BTreeSet, HashSet};

use super::history::{History, Parent, Place, parents, place};

/// Keeps what merging these heads needs, in any order: everything down to the latest commit that
/// each path from a head leads through.
///
/// The latest commits that two heads have in common are not enough. If there are several, they are
/// merged with each other. And what leads to a head past such a commit may come from before it:
/// whether the other head has that too, only the commits in between can tell.
///
/// If the first commit is one of the heads, nothing but that leads to all.
pub(super) fn keep_for_merges(
    history: &History,
    heads: &BTreeSet<usize>,
    with_first: bool,
    kept: &mut [bool],
) {
    let mut ahead: BTreeSet<Place> = heads.iter().map(|at| place(history, *at)).collect();
    // Parents come after their children, so all that is left leads to all heads once it is one.
    while let Some((_, _, at)) = ahead.pop_last() {
        kept[at] = true;
        if ahead.is_empty() && !with_first {
            break;
        }
        ahead.extend(parents(history, at).map(|at| place(history, at)));
    }
}

/// Keeps merges to which nothing leads and which can be the base of others, so that these are not
/// made anew for each: those of two commits that two others can have in common.
///
/// What two commits have in common leads to them on two ways, so two of its children are kept; or
/// it is such a merge itself.
pub(super) fn keep_bases(history: &History, kept: &mut [bool]) {
    let mut children = vec![0_u32; history.len()];
    for at in (0..history.len()).filter(|at| kept[*at]) {
        parents(history, at).for_each(|parent| children[parent] += 1);
    }
    let both = |at: usize| match history.parents(at).collect::<Vec<_>>()[..] {
        [Parent::Here(first), Parent::Here(second)] => Some([first, second]),
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
