//! The keep set of a page.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::bases::{keep_bases, keep_for_merges};
use super::history::{History, Parent, Place, parents, place};
use super::names::Names;
use crate::ids::CommitId;
use crate::rows::parameters::Retention;
use crate::rows::statuses::Remote;

/// Computes the keep set: for each commit of the history whether it is kept at time `now`, in
/// milliseconds since 1970.
pub(super) fn kept(history: &History, names: &Names, retention: Retention, now: u64) -> Vec<bool> {
    let mut kept = match retention {
        Retention::All => reached(history, names),
        Retention::Age(_) => {
            let mut kept = reached(history, names);
            for (at, kept) in kept.iter_mut().enumerate() {
                *kept &= retention.reaches(history.commit(at).time.as_millis(), now);
            }
            kept
        }
        Retention::Last(count) => {
            let mut kept = vec![false; history.len()];
            for (_, heads) in &names.branches {
                last(history, heads, count, &mut kept);
            }
            kept
        }
        Retention::Heads => vec![false; history.len()],
    };
    for at in names.all().filter_map(|id| history.place(id)) {
        kept[at] = true;
    }
    keep_unsynced(history, names, &mut kept);
    let heads: Vec<_> = names.heads().chain(&names.bases).collect();
    // The first commit has no row, so it is not in the history.
    let with_first = heads.contains(&&CommitId::FIRST);
    let heads = heads.into_iter().filter_map(|id| history.place(id));
    keep_for_merges(history, &heads.collect(), with_first, &mut kept);
    keep_bases(history, &mut kept);
    kept
}

/// Keeps the commits that are not at the remote yet and are reachable from a head or a tag, and
/// their parents.
fn keep_unsynced(history: &History, names: &Names, kept: &mut [bool]) {
    match names.remote {
        Remote::None => {}
        // While the page is being attached, some unsynced commits have no row yet, so all reachable
        // ones are kept.
        Remote::Attaching(_) => {
            let reached = reached(history, names);
            kept.iter_mut().zip(reached).for_each(|(kept, reached)| *kept |= reached);
        }
        Remote::Attached => {
            let reached = reached(history, names);
            let unsynced = names.unsynced.iter().filter_map(|id| history.place(id));
            for at in unsynced.filter(|at| reached[*at]) {
                kept[at] = true;
                parents(history, at).for_each(|parent| kept[parent] = true);
            }
        }
    }
}

/// Marks the commits that are reachable from a head or a tag.
pub(super) fn reached(history: &History, names: &Names) -> Vec<bool> {
    let mut reached = vec![false; history.len()];
    let mut ahead: Vec<usize> = names.lasting().filter_map(|id| history.place(id)).collect();
    while let Some(at) = ahead.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            ahead.extend(parents(history, at));
        }
    }
    reached
}

/// Keeps the last commits of a branch.
pub(super) fn last(history: &History, heads: &[CommitId], count: u64, kept: &mut [bool]) {
    let heads = heads.iter().filter_map(|id| history.place(id));
    let mut ahead: BTreeSet<Place> = heads.map(|at| place(history, at)).collect();
    for _ in 0..count {
        let Some((_, _, at)) = ahead.pop_last() else { break };
        kept[at] = true;
        ahead.extend(parents(history, at).map(|at| place(history, at)));
    }
}

/// How many children of each commit, and of each pruned parent, are stored here.
#[derive(Debug)]
pub(super) struct Children {
    here: Vec<u32>,
    of_pruned: HashMap<usize, u32>,
}

impl Children {
    pub(super) fn count(history: &History) -> Self {
        let mut children = Children { here: vec![0; history.len()], of_pruned: HashMap::new() };
        for at in 0..history.len() {
            for parent in history.parents(at) {
                match parent {
                    Parent::Here(parent) => children.here[parent] += 1,
                    Parent::Pruned(parent) => {
                        *children.of_pruned.entry(parent).or_default() += 1;
                    }
                }
            }
        }
        children
    }

    pub(super) fn of(&self, parent: Parent) -> u32 {
        match parent {
            Parent::Here(at) => self.here[at],
            Parent::Pruned(at) => self.of_pruned.get(&at).copied().unwrap_or_default(),
        }
    }

    /// Records that children were removed.
    pub(super) fn lose(&mut self, lost: BTreeMap<Parent, u32>) {
        for (parent, lost) in lost {
            match parent {
                Parent::Here(at) => self.here[at] = self.here[at].saturating_sub(lost),
                Parent::Pruned(at) => {
                    let left = self.of_pruned.entry(at).or_default();
                    *left = left.saturating_sub(lost);
                }
            }
        }
    }
}
