//! The keep set of a page.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::history::{History, ParentIndex, WalkKey, parents, walk_key};
use super::merge_bases::{keep_bases, keep_for_merges};
use super::refs::Refs;
use crate::ids::CommitId;
use crate::rows::parameters::Retention;
use crate::rows::statuses::Remote;

/// Computes the keep set: for each commit of the history whether it is kept at time `now`, in
/// milliseconds since 1970.
pub(super) fn keep_set(
    history: &History,
    refs: &Refs,
    retention: Retention,
    now: u64,
) -> Vec<bool> {
    let mut kept = match retention {
        Retention::All => reached(history, refs),
        Retention::Age(_) => {
            let mut kept = reached(history, refs);
            for (at, kept) in kept.iter_mut().enumerate() {
                *kept &= retention.reaches(history.commit(at).time.as_millis(), now);
            }
            kept
        }
        Retention::Last(count) => {
            let mut kept = vec![false; history.len()];
            for (_, heads) in &refs.branches {
                last(history, heads, count, &mut kept);
            }
            kept
        }
        Retention::Heads => vec![false; history.len()],
    };
    for at in refs.all().filter_map(|id| history.index_of(id)) {
        kept[at] = true;
    }
    keep_unsynced(history, refs, &mut kept);
    // Commits that only have a tag or are read are not merged.
    let heads: Vec<_> = refs.heads().chain(&refs.bases).collect();
    // The first commit has no row, so it is not in the history, but it can be a head.
    let with_first = heads.contains(&&CommitId::FIRST);
    let heads = heads.into_iter().filter_map(|id| history.index_of(id));
    keep_for_merges(history, &heads.collect(), with_first, &mut kept);
    keep_bases(history, &mut kept);
    kept
}

/// Keeps the commits that are not at the remote yet and are reachable from a head or a tag, and
/// their parents.
fn keep_unsynced(history: &History, refs: &Refs, kept: &mut [bool]) {
    match refs.remote {
        Remote::None => {}
        // While the page is being attached or detached, some unsynced commits have no row, so all
        // reachable ones are kept.
        Remote::Attaching(_) => {
            let reached = reached(history, refs);
            kept.iter_mut().zip(reached).for_each(|(kept, reached)| *kept |= reached);
        }
        Remote::Attached => {
            let reached = reached(history, refs);
            let unsynced = refs.unsynced.iter().filter_map(|id| history.index_of(id));
            for at in unsynced.filter(|at| reached[*at]) {
                kept[at] = true;
                parents(history, at).for_each(|parent| kept[parent] = true);
            }
        }
    }
}

/// For each commit of the history whether it is reachable from a head or a tag.
pub(super) fn reached(history: &History, refs: &Refs) -> Vec<bool> {
    let mut reached = vec![false; history.len()];
    let mut ahead: Vec<usize> =
        refs.heads_and_tags().filter_map(|id| history.index_of(id)).collect();
    while let Some(at) = ahead.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            ahead.extend(parents(history, at));
        }
    }
    reached
}

/// Keeps the last `count` commits of a branch with these heads, by generation and ID.
pub(super) fn last(history: &History, heads: &[CommitId], count: u64, kept: &mut [bool]) {
    let heads = heads.iter().filter_map(|id| history.index_of(id));
    let mut ahead: BTreeSet<WalkKey> = heads.map(|at| walk_key(history, at)).collect();
    for _ in 0..count {
        let Some((_, _, at)) = ahead.pop_last() else { break };
        kept[at] = true;
        ahead.extend(parents(history, at).map(|at| walk_key(history, at)));
    }
}

/// How many children of each commit, and of each pruned parent, are stored here.
#[derive(Debug)]
pub(super) struct ChildCounts {
    here: Vec<u32>,
    of_pruned: HashMap<usize, u32>,
}

impl ChildCounts {
    pub(super) fn count(history: &History) -> Self {
        let mut children = ChildCounts { here: vec![0; history.len()], of_pruned: HashMap::new() };
        for at in 0..history.len() {
            for parent in history.parents(at) {
                match parent {
                    ParentIndex::Here(parent) => children.here[parent] += 1,
                    ParentIndex::Pruned(parent) => {
                        *children.of_pruned.entry(parent).or_default() += 1;
                    }
                }
            }
        }
        children
    }

    pub(super) fn of(&self, parent: ParentIndex) -> u32 {
        match parent {
            ParentIndex::Here(at) => self.here[at],
            ParentIndex::Pruned(at) => self.of_pruned.get(&at).copied().unwrap_or_default(),
        }
    }

    /// Records how many children these parents have lost.
    pub(super) fn lose(&mut self, lost: BTreeMap<ParentIndex, u32>) {
        for (parent, lost) in lost {
            match parent {
                ParentIndex::Here(at) => self.here[at] = self.here[at].saturating_sub(lost),
                ParentIndex::Pruned(at) => {
                    let left = self.of_pruned.entry(at).or_default();
                    *left = left.saturating_sub(lost);
                }
            }
        }
    }
}
