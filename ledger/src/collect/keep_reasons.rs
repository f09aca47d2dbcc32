//! Why a commit is kept.

use std::collections::BTreeSet;
use std::fmt;

use super::history::{History, parents, walk_key};
use super::keep_set::{keep_set, last, reached};
use super::merge_bases::keep_for_merges;
use super::refs::Refs;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::process::open_page::OpenPage;
use crate::rows::parameters::Retention;
use crate::rows::statuses::Remote;

/// Why a commit is [kept](crate::Page::keep_reasons).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KeepReason {
    /// It is a head of this branch.
    IsHead(String),
    /// It has this tag.
    HasTag(String),
    /// A snapshot, transaction or watcher reads it, in this process or another one.
    IsRead,
    /// A transaction of a connection or branching database is about to commit on it, or a live
    /// [`Receiver`](crate::Receiver) has added it.
    IsBase,
    /// The [rule](crate::Page::set_retention) keeps it, because it is reachable from this branch.
    ByRuleForBranch(String),
    /// The rule keeps it, because it is reachable from this tag.
    ByRuleForTag(String),
    /// This commit is not at the [remote](crate::Page::remote) yet. It is the kept commit itself,
    /// or a child of it.
    IsUnsynced(CommitId),
    /// The page is being attached to its remote, or detached, and the commit is reachable from a
    /// branch or tag.
    IsBeingAttached,
    /// Merging this branch with the others needs it, because the branch forked from them there or
    /// before. Once the branch is removed, or stands at a later commit, this reason is gone;
    /// sometimes the commit then stays because it [is a base of other
    /// merges](KeepReason::IsMergeBase).
    NeededToMergeBranch(String),
    /// The same holds for a commit on which a transaction of a connection is to commit, or that a
    /// receiver has added.
    NeededToMergeBase,
    /// It is a merge that is reachable from no head, and that is the base of other merges.
    IsMergeBase,
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeepReason::IsHead(branch) => write!(f, "it is a head of branch {branch}"),
            KeepReason::HasTag(tag) => write!(f, "it has tag {tag}"),
            KeepReason::IsRead => f.write_str("it is being read"),
            KeepReason::IsBase => {
                f.write_str("an open transaction is to commit on it, or a receiver has added it")
            }
            KeepReason::ByRuleForBranch(branch) => {
                write!(f, "the rule keeps it, because it is reachable from branch {branch}")
            }
            KeepReason::ByRuleForTag(tag) => {
                write!(f, "the rule keeps it, because it is reachable from tag {tag}")
            }
            KeepReason::IsUnsynced(commit) => write!(f, "commit {commit} is not at the remote"),
            KeepReason::IsBeingAttached => {
                f.write_str("the page is being attached to its remote, or detached")
            }
            KeepReason::NeededToMergeBranch(branch) => {
                write!(f, "merging branch {branch} with the others needs it")
            }
            KeepReason::NeededToMergeBase => f.write_str(
                "merging what an open transaction is to commit, or what a receiver has added, needs it",
            ),
            KeepReason::IsMergeBase => f.write_str("other merges begin with it"),
        }
    }
}

/// All reasons why a commit is kept. Empty if it is not.
pub(crate) fn keep_reasons(page: &OpenPage, id: &CommitId) -> Result<Vec<KeepReason>> {
    if *id == CommitId::FIRST {
        // The first commit has no row, so it is never removed.
        return page.rows.check_exists(&page.read()?).map(|()| Vec::new());
    }
    let (found, tx) = (History::read(page)?, page.read()?);
    let parameters = page.rows.parameters(&tx)?;
    let retention = parameters.ok_or(LedgerError::PageGone { page: page.rows.number })?.retention;
    let refs = Refs::read(page, &tx)?;
    let history = History::new(page, &tx, found, refs.all().copied().collect())?;
    let Some(at) = history.index_of(id) else {
        return Err(LedgerError::NoCommit { page: page.rows.number, commit: *id });
    };
    let all = keep_set(&history, &refs, retention, page.process.now());
    if !all[at] {
        return Ok(Vec::new());
    }
    let of = CommitInHistory { history: &history, refs: &refs, id: *id, at };
    let mut found = of.named();
    found.extend(of.by_rule(retention, page.process.now()));
    found.extend(of.unsynced());
    found.extend(of.merging());
    if found.is_empty() {
        found.push(KeepReason::IsMergeBase);
    }
    Ok(found)
}

/// One commit in its history.
struct CommitInHistory<'h> {
    history: &'h History,
    refs: &'h Refs,
    id: CommitId,
    at: usize,
}

impl CommitInHistory<'_> {
    fn named(&self) -> Vec<KeepReason> {
        let branches = self.refs.branches.iter().filter(|(_, heads)| heads.contains(&self.id));
        let mut found: Vec<_> =
            branches.map(|(name, _)| KeepReason::IsHead(name.clone())).collect();
        let tags = self.refs.tags.iter().filter(|(_, id)| *id == self.id);
        found.extend(tags.map(|(name, _)| KeepReason::HasTag(name.clone())));
        found.extend(self.refs.pins.contains(&self.id).then_some(KeepReason::IsRead));
        found.extend(self.refs.bases.contains(&self.id).then_some(KeepReason::IsBase));
        found
    }

    /// For each commit whether this one is an ancestor of it, or is it.
    fn descendants(&self) -> Vec<bool> {
        let mut order: Vec<_> =
            (0..self.history.len()).map(|at| walk_key(self.history, at)).collect();
        order.sort_unstable();
        let mut descendants = vec![false; self.history.len()];
        for (_, _, at) in order {
            descendants[at] =
                at == self.at || parents(self.history, at).any(|parent| descendants[parent]);
        }
        descendants
    }

    fn by_rule(&self, retention: Retention, now: u64) -> Vec<KeepReason> {
        let branch = |(name, _): &(String, _)| KeepReason::ByRuleForBranch(name.clone());
        match retention {
            Retention::Heads => Vec::new(),
            Retention::Last(count) => {
                let is_last = |(_, heads): &&(String, Vec<CommitId>)| {
                    let mut kept = vec![false; self.history.len()];
                    last(self.history, heads, count, &mut kept);
                    kept[self.at]
                };
                self.refs.branches.iter().filter(is_last).map(branch).collect()
            }
            Retention::All | Retention::Age(_) => {
                if !retention.reaches(self.history.commit(self.at).time.as_millis(), now) {
                    return Vec::new();
                }
                let descendants = self.descendants();
                let descendants = |id: &CommitId| {
                    self.history.index_of(id).is_some_and(|index| descendants[index])
                };
                let branches = self.refs.branches.iter();
                let mut found: Vec<_> = branches
                    .filter(|(_, heads)| heads.iter().any(descendants))
                    .map(branch)
                    .collect();
                let tags = self.refs.tags.iter().filter(|(_, id)| descendants(id));
                found.extend(tags.map(|(name, _)| KeepReason::ByRuleForTag(name.clone())));
                found
            }
        }
    }

    fn unsynced(&self) -> Option<KeepReason> {
        let descendants = || self.descendants();
        let is_named = |descendants: &[bool]| {
            self.refs
                .heads_and_tags()
                .filter_map(|id| self.history.index_of(id))
                .any(|index| descendants[index])
        };
        match self.refs.remote {
            Remote::None => None,
            Remote::Attaching(_) => is_named(&descendants()).then_some(KeepReason::IsBeingAttached),
            Remote::Attached => {
                // An unsynced commit that is unreachable keeps neither itself nor its parents.
                let reached = reached(self.history, self.refs);
                let unsynced = self.refs.unsynced.iter().filter_map(|id| {
                    let index = self.history.index_of(id).filter(|index| reached[*index])?;
                    Some((id, index))
                });
                let mut child = None;
                for (id, index) in unsynced {
                    if index == self.at {
                        return Some(KeepReason::IsUnsynced(*id));
                    }
                    if child.is_none() && parents(self.history, index).any(|of| of == self.at) {
                        child = Some(*id);
                    }
                }
                child.map(KeepReason::IsUnsynced)
            }
        }
    }

    /// The branches that need the commit to be merged. Branches are added one after the other, the
    /// newest first; a branch is a reason if the commit is needed once it is added.
    fn merging(&self) -> Vec<KeepReason> {
        let mut all: Vec<(Option<&String>, Vec<CommitId>)> =
            self.refs.branches.iter().map(|(name, heads)| (Some(name), heads.clone())).collect();
        all.extend(self.refs.bases.iter().map(|id| (None, vec![*id])));
        let generation = |id: &CommitId| {
            self.history.index_of(id).map_or(0, |index| self.history.commit(index).generation)
        };
        all.sort_by_key(|(name, heads)| {
            (std::cmp::Reverse(heads.iter().map(generation).max()), *name)
        });
        let (mut others, mut with_first, mut found) = (BTreeSet::new(), false, BTreeSet::new());
        for (name, heads) in all {
            let mut these: BTreeSet<usize> = others.clone();
            these.extend(heads.iter().filter_map(|id| self.history.index_of(id)));
            let first = with_first || heads.contains(&CommitId::FIRST);
            let mut kept = vec![false; self.history.len()];
            keep_for_merges(self.history, &these, first, &mut kept);
            if kept[self.at] && !these.contains(&self.at) {
                found.insert(match name {
                    Some(name) => KeepReason::NeededToMergeBranch(name.clone()),
                    None => KeepReason::NeededToMergeBase,
                });
            } else {
                (others, with_first) = (these, first);
            }
        }
        found.into_iter().collect()
    }
}
