//! Checks what commits, heads, tags and merges say of each other.

use std::collections::{BTreeMap, BTreeSet};

use super::report::Verification;
use crate::commit::encoding::{Commit, Origin};
use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::ids::CommitId;
use crate::rows::inspect::{commit_key, merge_key, pruned_key};
use crate::rows::page::Head;
use crate::rows::retention::Pruned;

/// What is kept of a commit.
struct Facts {
    time: CommitTime,
    generation: u64,
    roots: (Digest, Option<Digest>),
    parents: [Option<CommitId>; 2],
}

impl Facts {
    fn is_merge(&self) -> Option<[CommitId; 2]> {
        Some([self.parents[0]?, self.parents[1]?])
    }
}

/// The commits of a page, and who names them.
pub(super) struct Graph {
    page: u64,
    /// `None`: there is a row, which cannot be read.
    commits: BTreeMap<CommitId, Option<Facts>>,
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
        let facts = commit.map(|commit| Facts {
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

    /// How many rows there are each of which something has begun to keep an older commit for: the tags, and
    /// the branches other than `main`.
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
        self.place(id).map(|(_, generation)| generation)
    }

    /// The commits of a set that are parents of commits which are not in it, each with one of these.
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
    fn place(&self, id: &CommitId) -> Option<(CommitTime, u64)> {
        match id {
            &CommitId::FIRST => Some((CommitTime::default(), 0)),
            id => match self.commits.get(id) {
                Some(facts) => facts.as_ref().map(|facts| (facts.time, facts.generation)),
                None => self.pruned.get(id).map(|pruned| (pruned.time, pruned.generation)),
            },
        }
    }

    /// Whether a commit leads to another one, which is not itself.
    fn leads_to(&self, ancestor: &CommitId, commit: &CommitId) -> bool {
        let Some((_, generation)) = self.place(ancestor) else { return false };
        let (mut next, mut seen) = (vec![*commit], BTreeSet::new());
        while let Some(id) = next.pop() {
            let Some(Some(facts)) = self.commits.get(&id) else { continue };
            for parent in facts.parents.iter().flatten() {
                if parent == ancestor {
                    return true;
                }
                // A commit of a smaller generation is no descendant.
                let is_above = self.place(parent).is_some_and(|(_, found)| found > generation);
                if is_above && seen.insert(*parent) {
                    next.push(*parent);
                }
            }
        }
        false
    }

    pub(super) fn check(&self, report: &mut Verification) {
        for (id, facts) in &self.commits {
            if let Some(facts) = facts {
                self.check_commit(id, facts, report);
            }
        }
        for (parents, merge) in &self.merges {
            let row = merge_key(parents, merge);
            match self.commits.get(merge) {
                Some(Some(facts)) if facts.is_merge() == Some(*parents) => {}
                Some(None) => {}
                Some(Some(_)) => {
                    report.add(self.page, &row, "the parents of the merge", "others");
                }
                None => report.add(self.page, &row, "a merge with a row", "none"),
            }
        }
        self.check_pruned(report);
        for (row, branch, head) in &self.heads {
            self.check_head(row, branch, head, report);
        }
        for (row, commit) in &self.tags {
            if !self.has(commit) {
                report.add(self.page, row, "a commit with a row", format!("commit {commit}"));
            }
        }
    }

    fn check_pruned(&self, report: &mut Verification) {
        let facts = self.commits.values();
        // Which parents a commit has that cannot be read, nobody knows.
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

    fn check_commit(&self, id: &CommitId, facts: &Facts, report: &mut Verification) {
        let row = commit_key(id);
        let parents = facts.parents.iter().flatten();
        for parent in parents.clone() {
            if !self.has(parent) && !self.pruned.contains_key(parent) {
                let expected = format!("the commit that is a parent of commit {id}");
                report.add(self.page, &commit_key(parent), expected, "no row");
            }
        }
        let merge = facts.is_merge();
        if let Some(parents) = merge {
            if !self.merges.contains(&(parents, *id)) {
                let expected = format!("a row of the merge {id}");
                report.add(self.page, &merge_key(&parents, id), expected, "no row");
            }
            for [ancestor, parent] in [parents, [parents[1], parents[0]]] {
                if self.leads_to(&ancestor, &parent) {
                    let found = format!("parent {ancestor}, which leads to parent {parent}");
                    report.add(self.page, &row, "parents of which none leads to the other", found);
                }
            }
        }
        let places: Option<Vec<_>> = parents.map(|parent| self.place(parent)).collect();
        let Some(places) = places else { return };
        let time = places.iter().map(|place| place.0).max().unwrap_or_default();
        let generation = places.iter().map(|place| place.1).max().unwrap_or_default() + 1;
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

    fn check_head(&self, row: &[u8], branch: &str, head: &Head, report: &mut Verification) {
        if !self.has(&head.id) {
            report.add(self.page, row, "a commit with a row", format!("commit {}", head.id));
            return;
        }
        if let Some((time, _)) = self.place(&head.id)
            && time != head.time
        {
            let expected = format!("time {time}, of its commit");
            report.add(self.page, row, expected, format!("time {}", head.time));
        }
        for (_, _, other) in self.heads.iter().filter(|(_, of, _)| of == branch) {
            let is_below = head.id == CommitId::FIRST && other.id != CommitId::FIRST;
            if is_below || self.leads_to(&head.id, &other.id) {
                let found = format!("commit {}, which leads to head {}", head.id, other.id);
                report.add(self.page, row, "a commit that leads to no head of its branch", found);
            }
        }
    }
}
