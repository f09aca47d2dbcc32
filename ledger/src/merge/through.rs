//! What leads through commits that a squash would replace: it has their changes as its own then, and a merge
//! with it would take them a second time.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use permazen_kv::KvRead;

use super::relation::{Link, Range};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::shared::{Parent, Shared};
use crate::rows::process::{Held, leases};
use crate::rows::statuses::Remote;

/// What can lead through a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Branch(String),
    Tag(String),
    /// A transaction of a connection that is open, or what a receiver has added.
    Base,
}

impl Name {
    fn leads_through(&self) -> String {
        match self {
            Name::Branch(name) => format!("branch {name} leads through it"),
            Name::Tag(name) => format!("tag {name} leads through it"),
            Name::Base => "a commit leads through it on which a connection has a transaction open, or which a \
                           receiver has added"
                .to_owned(),
        }
    }
}

/// The commits that a squash would replace: those that lead to a head, and not to the commit after which it
/// replaces.
pub(super) struct Replaced<'s> {
    pub(super) shared: &'s Shared,
    pub(super) branch: &'s str,
    pub(super) head: CommitId,
    pub(super) range: Range,
}

impl Replaced<'_> {
    /// Fails if another name leads through one of them, or another copy of the page has one.
    ///
    /// Gets each commit once that leads to a name and is as new as these.
    pub(super) fn check(&self, host: &dyn KvRead) -> Result<()> {
        self.check_names(self.names(host)?)?;
        self.check_devices(host)
    }

    /// What names commits, but for the branch itself.
    fn names(&self, host: &dyn KvRead) -> Result<Vec<(Name, CommitId)>> {
        let rows = &self.shared.open.rows;
        let mut names = Vec::new();
        for (name, heads) in rows.branches(host)? {
            if name != self.branch {
                names.extend(heads.iter().map(|head| (Name::Branch(name.clone()), head.id)));
            }
        }
        names.extend(rows.tags(host)?.into_iter().map(|(name, id)| (Name::Tag(name), id)));
        let living: HashSet<_> = leases(host)?.into_iter().map(|(id, _)| id).collect();
        let pins = rows.pins(host)?.into_iter().filter(|pin| living.contains(&pin.process));
        let pins = pins.map(|pin| (pin.commit, pin.held)).chain(self.shared.open.pins.commits());
        let bases = pins.filter(|(_, held)| *held == Held::Base);
        names.extend(bases.map(|(id, _)| (Name::Base, id)));
        Ok(names)
    }

    fn check_names(&self, names: Vec<(Name, CommitId)>) -> Result<()> {
        // The commits that lead to a name, the newest first, with the first name to which they do.
        let mut ahead = BTreeMap::new();
        let oldest = self.range.values().map(|link| link.generation).min().unwrap_or_default();
        let mut hits = BTreeMap::new();
        for (at, (name, id)) in names.iter().enumerate() {
            let link = match (self.shared.commit(id), name) {
                // A receiver is about to write it, or its transaction is about to be refused.
                (Err(LedgerError::NoCommit { .. }), Name::Base) => None,
                (found, _) => found?.as_ref().map(Link::from),
            };
            Self::add(&mut ahead, (id, link), at);
        }
        while let Some(((generation, id), (at, link))) = ahead.pop_last() {
            if generation < oldest {
                break;
            }
            if self.range.contains_key(&id) {
                // What leads to it is in the range too, or leads to the commit that stays.
                hits.insert(id, at);
                continue;
            }
            for parent in &link.parents {
                // What retention has removed leads to nothing.
                let found = match self.shared.parent(parent, &id)? {
                    Parent::Here(commit) => Some(Link::from(&commit)),
                    Parent::First | Parent::Pruned(_) => None,
                };
                Self::add(&mut ahead, (parent, found), at);
            }
        }
        let first = hits.iter().min_by_key(|(_, at)| **at);
        match first.and_then(|(id, at)| Some((id, names.get(*at)?))) {
            Some((id, (name, _))) => {
                Err(self.refused(id, name.leads_through(), &hits.keys().copied().collect()))
            }
            None => Ok(()),
        }
    }

    fn add(
        ahead: &mut BTreeMap<(u64, CommitId), (usize, Link)>,
        (id, link): (&CommitId, Option<Link>),
        name: usize,
    ) {
        if let Some(link) = link {
            let known = ahead.entry((link.generation, *id)).or_insert((name, link));
            known.0 = known.0.min(name);
        }
    }

    /// Fails if a change was made on another device: then it came from a copy of the page, which has it.
    fn check_devices(&self, host: &dyn KvRead) -> Result<()> {
        let Some(here) = self.shared.open.rows.device(host)? else { return Ok(()) };
        let is_other = |link: &Link| link.device.is_some_and(|of| of != here && of != [0; 16]);
        let others: BTreeSet<_> =
            self.range.iter().filter(|(_, link)| is_other(link)).map(|(id, _)| *id).collect();
        match others.first() {
            Some(id) => {
                let reason = "it came from another copy of the page, which has it".to_owned();
                Err(self.refused(id, reason, &others))
            }
            None => Ok(()),
        }
    }

    /// Fails if one of them is at the remote, where others may have it. `is_cut_off` says that
    /// retention has removed commits before them.
    pub(super) fn check_remote(&self, host: &dyn KvRead, is_cut_off: bool) -> Result<()> {
        let rows = &self.shared.open.rows;
        if rows.remote(host)? != Remote::Attached {
            return Ok(());
        }
        let mut synced = BTreeSet::new();
        for id in self.range.keys() {
            if rows.unsynced(host, id)?.is_none() {
                synced.insert(*id);
            }
        }
        if let Some(id) = synced.first() {
            return Err(self.refused(id, "it is at the remote".to_owned(), &synced));
        }
        match is_cut_off {
            true => {
                let reason = "commits before it are no longer kept, and may be at the remote";
                Err(self.refused(&CommitId::FIRST, reason.to_owned(), &BTreeSet::new()))
            }
            false => Ok(()),
        }
    }

    /// The error about a commit, where these forbid the squash.
    fn refused(
        &self,
        commit: &CommitId,
        reason: String,
        forbidding: &BTreeSet<CommitId>,
    ) -> LedgerError {
        let (page, commit) = (self.shared.page(), *commit);
        LedgerError::CannotSquash { page, commit, reason, onto: self.before(forbidding) }
    }

    /// The oldest commit but the head to which all of these lead and through which each way to the head goes. So
    /// nothing after it leads to one of them.
    fn before(&self, forbidding: &BTreeSet<CommitId>) -> Option<CommitId> {
        let mut found = None;
        let mut ahead = BTreeSet::from([(self.range.get(&self.head)?.generation, self.head)]);
        // Parents come after their children, so all that is left leads to a commit that is alone.
        while let Some((_, id)) = ahead.pop_last() {
            if ahead.is_empty() {
                found = Some(id);
            }
            if forbidding.contains(&id) {
                break;
            }
            for parent in self.range.get(&id).into_iter().flat_map(|link| &link.parents) {
                // The first commit stands for all that are not in the range: ways go there too.
                let before = (0, CommitId::FIRST);
                ahead.insert(self.range.get(parent).map_or(before, |of| (of.generation, *parent)));
            }
        }
        found.filter(|found| *found != self.head && !forbidding.is_empty())
    }
}
