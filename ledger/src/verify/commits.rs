//! Checks the graph of commits, heads, tags and merges.

use std::collections::{BTreeMap, BTreeSet};

use super::report::Verification;
use crate::commit::encoding::{Commit, Origin};
use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::ids::CommitId;
use crate::rows::inspect::{commit_key, merge_key, pruned_key};
use crate::rows::page::Head;
use crate::rows::retention::Pruned;

/// The facts of a commit that are needed.
struct CommitFacts {
    time: CommitTime,
    generation: u64,
    roots: (Digest, Option<Digest>),
    parents: [Option<CommitId>; 2],
}

impl CommitFacts {
    fn merge_parents(&self) -> Option<[CommitId; 2]> {
        Some([self.parents[0]?, self.parents[1]?])
    }
}

/// The pairs of parent and child, sorted.
struct Children<'g>(Vec<(&'g CommitId, &'g CommitId)>);

impl<'g> Children<'g> {
    fn of(&self, id: &CommitId) -> impl Iterator<Item = &'g CommitId> {
        let from = self.0.partition_point(|(parent, _)| *parent < id);
        let count = self.0[from..].partition_point(|(parent, _)| *parent == id);
        self.0[from..from + count].iter().map(|(_, child)| *child)
    }
}

/// A search through commits, in one direction.
#[derive(Default)]
struct CommitSearch {
    ahead: Vec<CommitId>,
    seen: BTreeSet<CommitId>,
}

impl CommitSearch {
    fn from(id: &CommitId) -> Self {
        CommitSearch { ahead: vec![*id], seen: BTreeSet::new() }
    }

    fn next(&mut self) -> Option<CommitId> {
        self.ahead.pop()
    }

    /// Adds the next commits, if they can lie on the path. Returns whether one of them is `to`.
    fn reaches<'g>(
        &mut self,
        mut next: impl Iterator<Item = &'g CommitId>,
        to: &CommitId,
        is_on_the_way: impl Fn(&CommitId) -> bool,
    ) -> bool {
        next.any(|id| {
            if is_on_the_way(id) && self.seen.insert(*id) {
                self.ahead.push(*id);
            }
            id == to
        })
    }
}

/// The commits of a page, and their refs.
pub(super) struct Graph {
    page: u64,
    /// `None` for a row that cannot be read.
    commits: BTreeMap<CommitId, Option<CommitFacts>>,
    merges: BTreeSet<([CommitId; 2], CommitId)>,
    /// The parents that were removed.
    pruned: BTreeMap<CommitId, Pruned>,
    heads: Vec<(Vec<u8>, String, Head)>,
    tags: Vec<(Vec<u8>, CommitId)>,
}

impl Graph {
    pub(super) fn new(page: u64) -> Self {
        Graph {
            page,
            commits: BTreeMap::new(),
            merges: BTreeSet::new(),
            pruned: BTreeMap::new(),
            heads: Vec::new(),
            tags: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.commits.len() as u64
    }

    pub(super) fn add_commit(&mut self, id: CommitId, commit: Option<&Commit>) {
        let facts = commit.map(|commit| CommitFacts {
            time: commit.time,
            generation: commit.generation,
            roots: (commit.root, commit.conflicts),
            parents: match &commit.origin {
                Origin::Change { parent, .. } => [Some(*parent), None],
                Origin::Merge { parents } => parents.map(Some),
            },
        });
        self.commits.insert(id, facts);
    }

    pub(super) fn add_merge(&mut self, parents: [CommitId; 2], merge: CommitId) {
        self.merges.insert((parents, merge));
    }

    pub(super) fn add_pruned(&mut self, id: CommitId, pruned: Pruned) {
        self.pruned.insert(id, pruned);
    }

    pub(super) fn add_head(&mut self, row: &[u8], branch: &str, head: Head) {
        self.heads.push((row.to_vec(), branch.to_owned(), head));
    }

    pub(super) fn add_tag(&mut self, row: &[u8], commit: CommitId) {
        self.tags.push((row.to_vec(), commit));
    }

    /// The number of refs whose creation has raised the version of the keep set: tags, and branches
    /// other than `main`.
    pub(super) fn kept(&self, main: &str) -> u64 {
        let branches: BTreeSet<_> = self.heads.iter().map(|(_, branch, _)| &branch[..]).collect();
        (self.tags.len() + branches.iter().filter(|branch| **branch != main).count()) as u64
    }

    /// The commits with the roots of their trees.
    pub(super) fn roots(&self) -> impl Iterator<Item = (&CommitId, Digest)> {
        self.commits.iter().flat_map(|(id, facts)| {
            let roots = facts.as_ref().map(|facts| facts.roots);
            let all = roots.into_iter().flat_map(|(root, conflicts)| [Some(root), conflicts]);
            all.flatten().map(move |root| (id, root))
        })
    }

    /// Whether a commit has this root, or this tree of conflicts.
    pub(super) fn has_root(&self, id: &CommitId, root: &Digest) -> bool {
        let facts = self.commits.get(id).and_then(Option::as_ref);
        facts.is_some_and(|facts| facts.roots.0 == *root || facts.roots.1 == Some(*root))
    }

    /// Whether there is such a commit.
    pub(super) fn has(&self, id: &CommitId) -> bool {
        *id == CommitId::FIRST || self.commits.contains_key(id)
    }

    /// Whether there is a row of the commit.
    pub(super) fn is_here(&self, id: &CommitId) -> bool {
        self.commits.contains_key(id)
    }

    /// The generation of a commit that can be read.
    pub(super) fn generation(&self, id: &CommitId) -> Option<u64> {
        self.time_and_generation(id).map(|(_, generation)| generation)
    }

    /// The commits of a set that are parents of commits outside of it, each with one of these.
    pub(super) fn below_others(&self, set: &BTreeSet<CommitId>) -> BTreeMap<CommitId, CommitId> {
        let mut below = BTreeMap::new();
        for (id, facts) in self.commits.iter().filter(|(id, _)| !set.contains(id)) {
            let parents = facts.iter().flat_map(|facts| facts.parents.iter().flatten());
            for parent in parents.filter(|parent| set.contains(parent)) {
                below.insert(*parent, *id);
            }
        }
        below
    }

    /// Time and generation of a commit that can be read.
    fn time_and_generation(&self, id: &CommitId) -> Option<(CommitTime, u64)> {
        match id {
            &CommitId::FIRST => Some((CommitTime::default(), 0)),
            id => match self.commits.get(id) {
                Some(facts) => facts.as_ref().map(|facts| (facts.time, facts.generation)),
                None => self.pruned.get(id).map(|pruned| (pruned.time, pruned.generation)),
            },
        }
    }

    /// All pairs of parent and child.
    fn children(&self) -> Children<'_> {
        let mut all = Vec::new();
        for (id, facts) in &self.commits {
            let parents = facts.iter().flat_map(|facts| facts.parents.iter().flatten());
            all.extend(parents.map(|parent| (parent, id)));
        }
        all.sort_unstable();
        Children(all)
    }

    /// Whether a commit is an ancestor of another one. Searches from both ends at the same time,
    /// until one search ends: on an old branch with few commits, one of them ends soon.
    fn is_ancestor(&self, ancestor: &CommitId, commit: &CommitId, children: &Children<'_>) -> bool {
        let (Some((_, least)), Some((_, most))) =
            (self.time_and_generation(ancestor), self.time_and_generation(commit))
        else {
            return false;
        };
        // An ancestor has a smaller generation.
        let is_between = |id: &CommitId| {
            self.time_and_generation(id).is_some_and(|(_, at)| least < at && at < most)
        };
        let (mut below, mut above) = (CommitSearch::from(commit), CommitSearch::from(ancestor));
        loop {
            let Some(id) = below.next() else { return false };
            if let Some(Some(facts)) = self.commits.get(&id) {
                let parents = facts.parents.iter().flatten();
                if below.reaches(parents, ancestor, is_between) {
                    return true;
                }
            }
            let Some(id) = above.next() else { return false };
            if above.reaches(children.of(&id), commit, is_between) {
                return true;
            }
        }
    }

    pub(super) fn check(&self, report: &mut Verification) {
        let children = self.children();
        for (id, facts) in &self.commits {
            if let Some(facts) = facts {
                self.check_commit(id, facts, &children, report);
            }
        }
        for (parents, merge) in &self.merges {
            let row = merge_key(parents, merge);
            match self.commits.get(merge) {
                Some(Some(facts)) if facts.merge_parents() == Some(*parents) => {}
                Some(None) => {}
                Some(Some(_)) => {
                    report.add(self.page, &row, "the parents of the merge", "others");
                }
                None => report.add(self.page, &row, "a merge with a row", "none"),
            }
        }
        self.check_pruned(report);
        for (row, _, head) in &self.heads {
            self.check_head(row, head, report);
        }
        // Heads were added in the order of the names of their branches.
        for heads in self.heads.chunk_by(|one, other| one.1 == other.1) {
            self.check_heads(heads, &children, report);
        }
        for (row, commit) in &self.tags {
            if !self.has(commit) {
                report.add(self.page, row, "a commit with a row", format!("commit {commit}"));
            }
        }
    }

    fn check_pruned(&self, report: &mut Verification) {
        let facts = self.commits.values();
        // The parents of an unreadable commit are not known.
        let is_known = self.commits.values().all(Option::is_some);
        let parents: BTreeSet<_> =
            facts.flatten().flat_map(|facts| facts.parents.iter().flatten()).collect();
        for id in self.pruned.keys() {
            if self.has(id) {
                let found = format!("commit {id}, which is here");
                report.add(self.page, &pruned_key(id), "a commit that was removed", found);
            } else if is_known && !parents.contains(id) {
                let expected = "a parent of a commit that is here";
                report.add(self.page, &pruned_key(id), expected, format!("commit {id}"));
            }
        }
    }

    fn check_commit(
        &self,
        id: &CommitId,
        facts: &CommitFacts,
        children: &Children<'_>,
        report: &mut Verification,
    ) {
        let row = commit_key(id);
        let parents = facts.parents.iter().flatten();
        for parent in parents.clone() {
            if !self.has(parent) && !self.pruned.contains_key(parent) {
                let expected = format!("the commit that is a parent of commit {id}");
                report.add(self.page, &commit_key(parent), expected, "no row");
            }
        }
        let merge = facts.merge_parents();
        if let Some(parents) = merge {
            if !self.merges.contains(&(parents, *id)) {
                let expected = format!("a row of the merge {id}");
                report.add(self.page, &merge_key(&parents, id), expected, "no row");
            }
            for [ancestor, parent] in [parents, [parents[1], parents[0]]] {
                if self.is_ancestor(&ancestor, &parent, children) {
                    let found =
                        format!("parent {ancestor}, which is an ancestor of parent {parent}");
                    report.add(
                        self.page,
                        &row,
                        "parents of which none is an ancestor of the other",
                        found,
                    );
                }
            }
        }
        let places: Option<Vec<_>> =
            parents.map(|parent| self.time_and_generation(parent)).collect();
        let Some(places) = places else { return };
        let time = places.iter().map(|of| of.0).max().unwrap_or_default();
        let generation = places.iter().map(|of| of.1).max().unwrap_or_default();
        let generation = generation.saturating_add(1);
        if facts.generation != generation {
            let (expected, found) = (format!("generation {generation}"), facts.generation);
            report.add(self.page, &row, expected, format!("generation {found}"));
        }
        let found = format!("time {}", facts.time);
        match merge {
            Some(_) if facts.time != time => {
                report.add(self.page, &row, format!("time {time}, of its later parent"), found);
            }
            None if facts.time <= time => {
                let expected = format!("a time after {time}, that of its parent");
                report.add(self.page, &row, expected, found);
            }
            _ => {}
        }
    }

    fn check_head(&self, row: &[u8], head: &Head, report: &mut Verification) {
        if !self.has(&head.id) {
            report.add(self.page, row, "a commit with a row", format!("commit {}", head.id));
            return;
        }
        if let Some((time, _)) = self.time_and_generation(&head.id)
            && time != head.time
        {
            let expected = format!("time {time}, of its commit");
            report.add(self.page, row, expected, format!("time {}", head.time));
        }
    }

    /// Compares the heads of one branch with each other.
    fn check_heads(
        &self,
        heads: &[(Vec<u8>, String, Head)],
        children: &Children<'_>,
        report: &mut Verification,
    ) {
        if heads.len() < 2 {
            return;
        }
        // One walk finds all ancestors of heads; only heads among them are searched further.
        let generation =
            |id: &CommitId| self.time_and_generation(id).map_or(0, |(_, generation)| generation);
        let least = heads.iter().map(|(_, _, head)| generation(&head.id)).min().unwrap_or(0);
        let mut ahead: Vec<CommitId> = heads.iter().map(|(_, _, head)| head.id).collect();
        let mut below = BTreeSet::new();
        while let Some(id) = ahead.pop() {
            let Some(Some(facts)) = self.commits.get(&id) else { continue };
            for parent in facts.parents.iter().flatten() {
                if generation(parent) >= least && below.insert(*parent) {
                    ahead.push(*parent);
                }
            }
        }
        for (row, _, head) in heads.iter().filter(|(_, _, head)| self.has(&head.id)) {
            let others = || heads.iter().map(|(_, _, other)| other.id).filter(|id| *id != head.id);
            let is_below = |other: &CommitId| {
                head.id == CommitId::FIRST || self.is_ancestor(&head.id, other, children)
            };
            if (below.contains(&head.id) || head.id == CommitId::FIRST)
                && let Some(other) = others().find(is_below)
            {
                let found = format!("commit {}, which is an ancestor of head {other}", head.id);
                report.add(
                    self.page,
                    row,
                    "a commit that is no ancestor of another head of its branch",
                    found,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> CommitId {
        let mut digest = [1; 32];
        // Not in the order in which they were made.
        digest[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        CommitId(Digest(digest))
    }

    fn add(graph: &mut Graph, id: CommitId, time: u64, generation: u64, parents: &[CommitId]) {
        let mut parents = parents.to_vec();
        parents.sort();
        if let [first, second] = parents[..] {
            graph.add_merge([first, second], id);
        }
        let facts = CommitFacts {
            time: CommitTime(time),
            generation,
            roots: (Digest([0; 32]), None),
            parents: [parents.first().copied(), parents.get(1).copied()],
        };
        graph.commits.insert(id, Some(facts));
    }

    /// Each with each other, or down all history for each merge, would take minutes.
    #[test]
    fn many_branches_of_an_old_commit_are_checked_at_once() {
        let mut graph = Graph::new(1);
        let mut main = id(0);
        add(&mut graph, main, 1, 1, &[CommitId::FIRST]);
        let base = main;
        for number in 1..=10_000 {
            let (side, merge) = (id(2 * number), id(2 * number + 1));
            let time = 1 + number;
            add(&mut graph, side, time, 2, &[base]);
            if number == 1 {
                let before = id(1);
                add(&mut graph, before, 2, 2, &[base]);
                main = before;
                add(&mut graph, merge, 2, 3, &[side, main]);
            } else {
                add(&mut graph, merge, time, 1 + 1 + number, &[side, main]);
            }
            main = merge;
            let head = Head { id: side, time: CommitTime(time) };
            graph.add_head(b"", &format!("{number:06}"), head);
        }
        let mut report = Verification::default();
        graph.check(&mut report);
        assert_eq!(report.findings, []);
        // A head that is an ancestor of another one, on a branch with many heads.
        graph.heads.iter_mut().for_each(|(_, branch, _)| "main".clone_into(branch));
        let head = Head { id: main, time: CommitTime(10_001) };
        graph.check(&mut report);
        assert_eq!(report.findings, []);
        graph.heads.truncate(3);
        graph.add_head(b"", "main", head);
        graph.check(&mut report);
        assert_eq!(report.findings.len(), 3);
    }
}
