//! Which commits of a page are kept.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::history::{History, Parent};
use crate::ids::CommitId;
use crate::rows::parameters::Retention;

/// What names commits.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The heads of each branch.
    pub(super) branches: Vec<Vec<CommitId>>,
    pub(super) tags: Vec<CommitId>,
    /// What somebody reads.
    pub(super) pins: Vec<CommitId>,
}

impl Names {
    /// All commits that are named.
    pub(super) fn all(&self) -> impl Iterator<Item = &CommitId> {
        self.branches.iter().flatten().chain(&self.tags).chain(&self.pins)
    }
}

/// For each commit of the history whether it is kept at this time, in milliseconds since 1970.
pub(super) fn kept(history: &History, names: &Names, retention: Retention, now: u64) -> Vec<bool> {
    let mut kept = match retention {
        Retention::All => reached(history, names),
        Retention::Age(age) => {
            let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            let oldest = now.saturating_sub(age);
            let mut kept = reached(history, names);
            for (at, kept) in kept.iter_mut().enumerate() {
                *kept &= history.commit(at).time.as_millis() >= oldest;
            }
            kept
        }
        Retention::Last(count) => {
            let mut kept = vec![false; history.len()];
            for heads in &names.branches {
                last(history, heads, count, &mut kept);
            }
            kept
        }
        Retention::Heads => vec![false; history.len()],
    };
    for at in names.all().filter_map(|id| history.place(id)) {
        kept[at] = true;
    }
    keep_for_merges(history, names, &mut kept);
    kept
}

/// What a head or a tag leads back to.
fn reached(history: &History, names: &Names) -> Vec<bool> {
    let mut reached = vec![false; history.len()];
    let named = names.branches.iter().flatten().chain(&names.tags);
    let mut ahead: Vec<usize> = named.filter_map(|id| history.place(id)).collect();
    while let Some(at) = ahead.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            ahead.extend(parents(history, at));
        }
    }
    reached
}

fn parents(history: &History, at: usize) -> impl Iterator<Item = usize> {
    history.parents(at).filter_map(|parent| match parent {
        Parent::Here(at) => Some(at),
        Parent::Pruned(_) => None,
    })
}

/// A commit in the order of walks: parents are before their children.
type Place = (u64, CommitId, usize);

fn place(history: &History, at: usize) -> Place {
    let commit = history.commit(at);
    (commit.generation, commit.id, at)
}

/// Keeps the last commits of a branch.
fn last(history: &History, heads: &[CommitId], count: u64, kept: &mut [bool]) {
    let heads = heads.iter().filter_map(|id| history.place(id));
    let mut ahead: BTreeSet<Place> = heads.map(|at| place(history, at)).collect();
    for _ in 0..count {
        let Some((_, _, at)) = ahead.pop_last() else { break };
        kept[at] = true;
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

/// Keeps what merging any two heads needs: what not all heads lead back to, and the latest of what all
/// lead back to.
fn keep_for_merges(history: &History, names: &Names, kept: &mut [bool]) {
    let heads: BTreeSet<_> =
        names.branches.iter().flatten().filter_map(|id| history.place(id)).collect();
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

/// How many of the children of each commit are here, and of each pruned parent.
#[derive(Debug)]
pub(super) struct Children {
    pub(super) here: Vec<u32>,
    pub(super) of_pruned: HashMap<CommitId, u32>,
}

impl Children {
    pub(super) fn of(history: &History) -> Self {
        let mut children = Children { here: vec![0; history.len()], of_pruned: HashMap::new() };
        for at in 0..history.len() {
            for parent in history.parents(at) {
                match parent {
                    Parent::Here(parent) => children.here[parent] += 1,
                    Parent::Pruned(parent) => {
                        *children.of_pruned.entry(history.pruned(parent)).or_default() += 1;
                    }
                }
            }
        }
        children
    }
}
