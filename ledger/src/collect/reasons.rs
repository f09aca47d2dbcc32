//! Why a commit is kept.

use std::collections::BTreeSet;
use std::fmt;

use super::bases::keep_for_merges;
use super::history::{History, parents, place};
use super::kept::{kept, last, reached};
use super::names::Names;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::process::open_page::OpenPage;
use crate::rows::parameters::Retention;
use crate::rows::statuses::Remote;

/// Why a commit is [kept](crate::Page::kept).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KeptCommit {
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
    /// merges](KeptCommit::IsMergeBase).
    MergesBranch(String),
    /// The same holds for a commit on which a transaction of a connection is to commit, or that a
    /// receiver has added.
    MergesBase,
    /// It is a merge that is reachable from no head, and that is the base of other merges.
    IsMergeBase,
}

impl fmt::Display for KeptCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeptCommit::IsHead(branch) => write!(f, "it is a head of branch {branch}"),
            KeptCommit::HasTag(tag) => write!(f, "it has tag {tag}"),
            KeptCommit::IsRead => f.write_str("it is being read"),
            KeptCommit::IsBase => {
                f.write_str("an open transaction is to commit on it, or a receiver has added it")
            }
            KeptCommit::ByRuleForBranch(branch) => {
                write!(f, "the rule keeps it, because branch {branch} leads to it")
            }
            KeptCommit::ByRuleForTag(tag) => {
                write!(f, "the rule keeps it, because tag {tag} leads to it")
            }
            KeptCommit::IsUnsynced(commit) => write!(f, "commit {commit} is not at the remote"),
            KeptCommit::IsBeingAttached => {
                f.write_str("the page is being attached to its remote, or detached")
            }
            KeptCommit::MergesBranch(branch) => {
                write!(f, "merging branch {branch} with the others needs it")
            }
            KeptCommit::MergesBase => f.write_str(
                "merging what an open transaction is to commit, or what a receiver has added, needs it",
            ),
            KeptCommit::IsMergeBase => f.write_str("other merges begin with it"),
        }
    }
}

/// All reasons why a commit is kept. Empty if it is not.
pub(crate) fn reasons(page: &OpenPage, id: &CommitId) -> Result<Vec<KeptCommit>> {
    if *id == CommitId::FIRST {
        // The first commit has no row, so it is never removed.
        return page.rows.check_there(&page.read()?).map(|()| Vec::new());
    }
    let (found, host) = (History::read(page)?, page.read()?);
    let parameters = page.rows.parameters(&host)?;
    let retention = parameters.ok_or(LedgerError::PageGone { page: page.rows.page })?.retention;
    let names = Names::read(page, &host)?;
    let history = History::new(page, &host, found, names.all().copied().collect())?;
    let Some(at) = history.place(id) else {
        return Err(LedgerError::NoCommit { page: page.rows.page, commit: *id });
    };
    let all = kept(&history, &names, retention, page.process.now());
    if !all[at] {
        return Ok(Vec::new());
    }
    let of = Of { history: &history, names: &names, id: *id, at };
    let mut found = of.named();
    found.extend(of.by_rule(retention, page.process.now()));
    found.extend(of.unsynced());
    found.extend(of.merging());
    if found.is_empty() {
        found.push(KeptCommit::IsMergeBase);
    }
    Ok(found)
}

/// One commit in its history.
struct Of<'h> {
    history: &'h History,
    names: &'h Names,
    id: CommitId,
    at: usize,
}

impl Of<'_> {
    fn named(&self) -> Vec<KeptCommit> {
        let branches = self.names.branches.iter().filter(|(_, heads)| heads.contains(&self.id));
        let mut found: Vec<_> =
            branches.map(|(name, _)| KeptCommit::IsHead(name.clone())).collect();
        let tags = self.names.tags.iter().filter(|(_, id)| *id == self.id);
        found.extend(tags.map(|(name, _)| KeptCommit::HasTag(name.clone())));
        found.extend(self.names.pins.contains(&self.id).then_some(KeptCommit::IsRead));
        found.extend(self.names.bases.contains(&self.id).then_some(KeptCommit::IsBase));
        found
    }

    /// For each commit whether this one is an ancestor of it, or is it.
    fn leads_to(&self) -> Vec<bool> {
        let mut order: Vec<_> = (0..self.history.len()).map(|at| place(self.history, at)).collect();
        order.sort_unstable();
        let mut leads = vec![false; self.history.len()];
        for (_, _, at) in order {
            leads[at] = at == self.at || parents(self.history, at).any(|parent| leads[parent]);
        }
        leads
    }

    fn by_rule(&self, retention: Retention, now: u64) -> Vec<KeptCommit> {
        let branch = |(name, _): &(String, _)| KeptCommit::ByRuleForBranch(name.clone());
        match retention {
            Retention::Heads => Vec::new(),
            Retention::Last(count) => {
                let is_last = |(_, heads): &&(String, Vec<CommitId>)| {
                    let mut kept = vec![false; self.history.len()];
                    last(self.history, heads, count, &mut kept);
                    kept[self.at]
                };
                self.names.branches.iter().filter(is_last).map(branch).collect()
            }
            Retention::All | Retention::Age(_) => {
                if !retention.reaches(self.history.commit(self.at).time.as_millis(), now) {
                    return Vec::new();
                }
                let leads = self.leads_to();
                let leads =
                    |id: &CommitId| self.history.place(id).is_some_and(|place| leads[place]);
                let branches = self.names.branches.iter();
                let mut found: Vec<_> =
                    branches.filter(|(_, heads)| heads.iter().any(leads)).map(branch).collect();
                let tags = self.names.tags.iter().filter(|(_, id)| leads(id));
                found.extend(tags.map(|(name, _)| KeptCommit::ByRuleForTag(name.clone())));
                found
            }
        }
    }

    fn unsynced(&self) -> Option<KeptCommit> {
        let leads = || self.leads_to();
        let is_named = |leads: &[bool]| {
            self.names.lasting().filter_map(|id| self.history.place(id)).any(|place| leads[place])
        };
        match self.names.remote {
            Remote::None => None,
            Remote::Attaching(_) => is_named(&leads()).then_some(KeptCommit::IsBeingAttached),
            Remote::Attached => {
                // An unsynced commit that is unreachable keeps neither itself nor its parents.
                let reached = reached(self.history, self.names);
                let unsynced = self.names.unsynced.iter().filter_map(|id| {
                    let place = self.history.place(id).filter(|place| reached[*place])?;
                    Some((id, place))
                });
                let mut child = None;
                for (id, place) in unsynced {
                    if place == self.at {
                        return Some(KeptCommit::IsUnsynced(*id));
                    }
                    if child.is_none() && parents(self.history, place).any(|of| of == self.at) {
                        child = Some(*id);
                    }
                }
                child.map(KeptCommit::IsUnsynced)
            }
        }
    }

    /// The branches for which merging needs the commit: those with newer heads do not need it
    /// without them.
    fn merging(&self) -> Vec<KeptCommit> {
        let mut all: Vec<(Option<&String>, Vec<CommitId>)> =
            self.names.branches.iter().map(|(name, heads)| (Some(name), heads.clone())).collect();
        all.extend(self.names.bases.iter().map(|id| (None, vec![*id])));
        let generation = |id: &CommitId| {
            self.history.place(id).map_or(0, |place| self.history.commit(place).generation)
        };
        all.sort_by_key(|(name, heads)| {
            (std::cmp::Reverse(heads.iter().map(generation).max()), *name)
        });
        let (mut others, mut with_first, mut found) = (BTreeSet::new(), false, BTreeSet::new());
        for (name, heads) in all {
            let mut these: BTreeSet<usize> = others.clone();
            these.extend(heads.iter().filter_map(|id| self.history.place(id)));
            let first = with_first || heads.contains(&CommitId::FIRST);
            let mut kept = vec![false; self.history.len()];
            keep_for_merges(self.history, &these, first, &mut kept);
            if kept[self.at] && !these.contains(&self.at) {
                found.insert(match name {
                    Some(name) => KeptCommit::MergesBranch(name.clone()),
                    None => KeptCommit::MergesBase,
                });
            } else {
                (others, with_first) = (these, first);
            }
        }
        found.into_iter().collect()
    }
}
