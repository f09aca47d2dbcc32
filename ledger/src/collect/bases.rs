//! What merges need of the history of a page.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{History, Place, parents, place};

/// How many commits are looked at to compare heads with each other, two at a time.
const MOST: usize = 1 << 27;

/// Keeps what merging any two of these heads needs.
pub(super) fn keep_for_merges(history: &History, heads: &BTreeSet<usize>, kept: &mut [bool]) {
    keep_to_latest(history, heads, kept);
    let pairs = heads.len() * heads.len() / 2;
    if pairs.saturating_mul(history.len()) > MOST {
        return keep_to_narrow(history, heads, kept);
    }
    let mut seen = BTreeSet::new();
    for bases in all_bases(history, heads) {
        if bases.len() > 1 && seen.insert(bases.clone()) {
            keep_for_bases(history, bases, kept);
        }
    }
}

/// Keeps what merging commits needs that two heads have in common. The result is what the heads are
/// compared with.
fn keep_for_bases(history: &History, mut bases: BTreeSet<usize>, kept: &mut [bool]) {
    // Each step leads to earlier commits, so there is a last one.
    while bases.len() > 1 {
        keep_to_latest(history, &bases, kept);
        bases = all_bases(history, &bases).flatten().collect();
    }
}

/// For each two of these commits the latest that both have in common.
fn all_bases<'h>(
    history: &'h History,
    of: &'h BTreeSet<usize>,
) -> impl Iterator<Item = BTreeSet<usize>> + 'h {
    of.iter().flat_map(move |one| {
        let others = of.range(one + 1..);
        others.map(move |other| latest_in_common(history, *one, *other))
    })
}

/// It leads back to the one commit, to the other, or to one that both lead back to.
const ONE: u8 = 1;
const OTHER: u8 = 2;
const BELOW: u8 = 4;

/// The latest commits that both lead back to.
fn latest_in_common(history: &History, one: usize, other: usize) -> BTreeSet<usize> {
    let mut ahead: BTreeMap<Place, u8> = BTreeMap::new();
    ahead.insert(place(history, one), ONE);
    ahead.insert(place(history, other), OTHER);
    let mut latest = BTreeSet::new();
    // How many of those ahead are not below a common one.
    let mut open = 2;
    while open > 0 {
        let Some(((_, _, at), mut marks)) = ahead.pop_last() else { break };
        open -= usize::from(marks & BELOW == 0);
        if marks == ONE | OTHER {
            latest.insert(at);
            marks |= BELOW;
        }
        for parent in parents(history, at) {
            let old = ahead.entry(place(history, parent)).or_default();
            open -= usize::from(*old != 0 && *old & BELOW == 0);
            *old |= marks;
            open += usize::from(*old & BELOW == 0);
        }
    }
    latest
}

/// Keeps everything down to the latest commit that each path from a head leads through.
fn keep_to_narrow(history: &History, heads: &BTreeSet<usize>, kept: &mut [bool]) {
    let mut ahead: BTreeSet<Place> = heads.iter().map(|at| place(history, *at)).collect();
    while let Some((_, _, at)) = ahead.pop_last() {
        kept[at] = true;
        if ahead.is_empty() {
            break;
        }
        ahead.extend(parents(history, at).map(|at| place(history, at)));
    }
}

/// Some of the heads, one bit for each.
type Heads = Vec<u64>;

/// A commit that a walk from all heads has reached.
#[derive(Debug, Default)]
struct Reached {
    /// The heads that lead back to it.
    by: Heads,
    /// The most heads that lead back to one of its children.
    most: u32,
}

fn count(heads: &Heads) -> u32 {
    heads.iter().map(|word| word.count_ones()).sum()
}

/// Keeps what not all heads lead back to, and the latest of what all lead back to. If no two of them have
/// several latest commits in common, merging any two of them needs nothing else.
fn keep_to_latest(history: &History, heads: &BTreeSet<usize>, kept: &mut [bool]) {
    let all = heads.len() as u32;
    let mut ahead: BTreeMap<Place, Reached> = BTreeMap::new();
    for (bit, at) in heads.iter().enumerate() {
        let mut by = vec![0; heads.len().div_ceil(64)];
        by[bit / 64] |= 1 << (bit % 64);
        ahead.insert(place(history, *at), Reached { by, most: 0 });
    }
    // How many of those ahead are not below a commit that all heads lead back to.
    let mut open = ahead.len();
    while open > 0 {
        let Some(((_, _, at), Reached { by, most })) = ahead.pop_last() else { break };
        if most < all {
            open -= 1;
        }
        let found = count(&by);
        // With as many as one of its children has, it has the same heads as this child.
        if found < all || most < found {
            kept[at] = true;
        }
        for parent in parents(history, at) {
            let is_new = !ahead.contains_key(&place(history, parent));
            let reached = ahead.entry(place(history, parent)).or_default();
            let was_open = !is_new && reached.most < all;
            reached.by.resize(by.len(), 0);
            reached.by.iter_mut().zip(&by).for_each(|(word, more)| *word |= more);
            reached.most = reached.most.max(found);
            open += usize::from(reached.most < all);
            open -= usize::from(was_open);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn with_many_heads_more_is_kept_and_not_less() {
        let mut random = StdRng::seed_from_u64(8);
        let mut more = 0;
        for _ in 0..500 {
            // Commits on a few branches, with merges among them.
            let mut heads = vec![None; random.random_range(2..5)];
            let mut commits: Vec<[Option<usize>; 2]> = Vec::new();
            for at in 0..random.random_range(5..40) {
                let branch = random.random_range(0..heads.len());
                let other = heads[random.random_range(0..heads.len())];
                let merged = if random.random_range(0..3) == 0 { other } else { None };
                commits.push([heads[branch].or(other), merged]);
                heads[branch] = Some(at);
            }
            let history = History::with_parents(&commits);
            let heads: BTreeSet<_> = heads.into_iter().flatten().collect();
            let (mut exact, mut narrow) = (vec![false; commits.len()], vec![false; commits.len()]);
            keep_for_merges(&history, &heads, &mut exact);
            keep_to_narrow(&history, &heads, &mut narrow);
            assert!(
                exact.iter().zip(&narrow).all(|(exact, narrow)| *narrow || !exact),
                "{commits:?}"
            );
            more += usize::from(exact != narrow);
        }
        assert!(more > 50, "{more}");
    }
}
