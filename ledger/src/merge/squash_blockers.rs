//! Finds the refs that forbid a squash: those from which the replaced commits are reachable. They
//! would keep the replaced changes as their own, and a merge with them would apply these a second
//! time.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use permazen_kv::KvRead;

use super::merge_bases::{CommitRange, RangeCommit};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::shared::{Parent, Shared};
use crate::rows::process::{PinReason, leases};
use crate::rows::statuses::Remote;

/// A ref that can reach a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ref {
    Branch(String),
    Tag(String),
    /// An open transaction of a connection, or a commit that a receiver has added.
    Base,
}

impl Ref {
    fn reason(&self) -> String {
        match self {
            Ref::Branch(name) => format!("it is reachable from branch {name}"),
            Ref::Tag(name) => format!("it is reachable from tag {name}"),
            Ref::Base => {
                "it is reachable from an open transaction of a connection, or from a commit that \
                           a receiver has added"
                    .to_owned()
            }
        }
    }
}

/// The commits that a squash would replace: the ancestors of the head that are no ancestors of the
/// commit that stays.
pub(super) struct Replaced<'s> {
    pub(super) shared: &'s Shared,
    pub(super) branch: &'s str,
    pub(super) head: CommitId,
    pub(super) range: CommitRange,
}

impl Replaced<'_> {
    /// Fails if one of them is reachable from another ref, another copy of the page has it, or it
    /// is at the remote, where others may have it. `is_cut_off` says that retention has removed
    /// commits before them.
    ///
    /// The error proposes the oldest commit onto which the branch can be squashed.
    ///
    /// Gets each commit once that is reachable from a ref and is as new as these.
    pub(super) fn check(&self, tx: &dyn KvRead, is_cut_off: bool) -> Result<()> {
        let refs = self.refs(tx)?;
        let reachable = self.reachable(&refs)?;
        let from_others = self.changes_of_other_devices(tx)?;
        let (is_attached, synced) = self.synced(tx)?;
        let is_cut_off = is_cut_off && is_attached;
        let first = reachable.iter().min_by_key(|(_, at)| **at);
        let (commit, reason) =
            if let Some((id, (name, _))) = first.and_then(|(id, at)| Some((*id, refs.get(*at)?))) {
                (id, name.reason())
            } else if let Some(id) = from_others.first() {
                (*id, "it came from another copy of the page, which has it".to_owned())
            } else if let Some(id) = synced.first() {
                (*id, "it is at the remote".to_owned())
            } else if is_cut_off {
                let reason = "commits before it are no longer kept, and may be at the remote";
                (CommitId::FIRST, reason.to_owned())
            } else {
                return Ok(());
            };
        let mut forbidding: BTreeSet<_> = reachable.into_keys().collect();
        forbidding.extend(from_others);
        forbidding.extend(synced);
        let page = self.shared.number();
        let onto = self.possible_onto(&forbidding, is_cut_off);
        Err(LedgerError::CannotSquash { page, commit, reason, onto })
    }

    /// All refs but the branch itself.
    fn refs(&self, tx: &dyn KvRead) -> Result<Vec<(Ref, CommitId)>> {
        let rows = &self.shared.open.rows;
        let mut refs = Vec::new();
        for (name, heads) in rows.branches(tx)? {
            if name != self.branch {
                refs.extend(heads.iter().map(|head| (Ref::Branch(name.clone()), head.id)));
            }
        }
        refs.extend(rows.tags(tx)?.into_iter().map(|(name, id)| (Ref::Tag(name), id)));
        let living: HashSet<_> = leases(tx)?.into_iter().map(|(id, _)| id).collect();
        let pins = rows.pins(tx)?.into_iter().filter(|pin| living.contains(&pin.process));
        let pins = pins.map(|pin| (pin.commit, pin.reason)).chain(self.shared.open.pins.commits());
        let bases = pins.filter(|(_, reason)| *reason == PinReason::Base);
        refs.extend(bases.map(|(id, _)| (Ref::Base, id)));
        Ok(refs)
    }

    /// The replaced commits that are reachable from one of these refs, each with the index of the
    /// first ref.
    fn reachable(&self, refs: &[(Ref, CommitId)]) -> Result<BTreeMap<CommitId, usize>> {
        // The reachable commits, the newest first, each with the first ref that reaches it.
        let mut ahead = BTreeMap::new();
        let oldest = self.range.values().map(|link| link.generation).min().unwrap_or_default();
        let mut hits = BTreeMap::new();
        for (at, (name, id)) in refs.iter().enumerate() {
            let link = match (self.shared.commit(id), name) {
                // The pin is of a commit that a receiver is about to write, or of a transaction
                // that will be refused.
                (Err(LedgerError::NoCommit { .. }), Ref::Base) => None,
                (found, _) => found?.as_ref().map(RangeCommit::from),
            };
            Self::add(&mut ahead, (id, link), at);
        }
        while let Some(((generation, id), (at, link))) = ahead.pop_last() {
            if generation < oldest {
                break;
            }
            if self.range.contains_key(&id) {
                // Its ancestors are in the range too, or are ancestors of the commit that stays.
                hits.insert(id, at);
                continue;
            }
            for parent in &link.parents {
                // A pruned commit has no known ancestors.
                let found = match self.shared.parent(parent, &id)? {
                    Parent::Here(commit) => Some(RangeCommit::from(&commit)),
                    Parent::First | Parent::Pruned(_) => None,
                };
                Self::add(&mut ahead, (parent, found), at);
            }
        }
        Ok(hits)
    }

    fn add(
        ahead: &mut BTreeMap<(u64, CommitId), (usize, RangeCommit)>,
        (id, link): (&CommitId, Option<RangeCommit>),
        name: usize,
    ) {
        if let Some(link) = link {
            let known = ahead.entry((link.generation, *id)).or_insert((name, link));
            known.0 = known.0.min(name);
        }
    }

    /// The changes that were made on another device: they came from a copy of the page, which has
    /// them.
    fn changes_of_other_devices(&self, tx: &dyn KvRead) -> Result<BTreeSet<CommitId>> {
        // It is written when the page is opened, or before the squash.
        let Some(here) = self.shared.open.rows.device(tx)? else {
            let page = self.shared.number();
            let what = format!("page {page} has no row that names this device");
            return Err(LedgerError::Busy { what });
        };
        let is_other =
            |link: &RangeCommit| link.device.is_some_and(|of| of != here && of != [0; 16]);
        Ok(self.range.iter().filter(|(_, link)| is_other(link)).map(|(id, _)| *id).collect())
    }

    /// Whether the page is attached to a remote, and which of the commits are there.
    fn synced(&self, tx: &dyn KvRead) -> Result<(bool, BTreeSet<CommitId>)> {
        let rows = &self.shared.open.rows;
        let mut synced = BTreeSet::new();
        if rows.remote(tx)? != Remote::Attached {
            return Ok((false, synced));
        }
        for id in self.range.keys() {
            if rows.unsynced(tx, id)?.is_none() {
                synced.insert(*id);
            }
        }
        Ok((true, synced))
    }

    /// The oldest commit onto which the branch can be squashed: each of these is it or an ancestor
    /// of it, and each path from the head leads through it. `None` if only the head is. Not the
    /// first commit if `is_cut_off`.
    fn possible_onto(&self, forbidding: &BTreeSet<CommitId>, is_cut_off: bool) -> Option<CommitId> {
        let mut found = None;
        let mut ahead = BTreeSet::from([(self.range.get(&self.head)?.generation, self.head)]);
        // Parents come after their children, so a commit that is left alone lies on every path.
        while let Some((_, id)) = ahead.pop_last() {
            if is_cut_off && id == CommitId::FIRST {
                break;
            }
            if ahead.is_empty() {
                found = Some(id);
            }
            if forbidding.contains(&id) {
                break;
            }
            for parent in self.range.get(&id).into_iter().flat_map(|link| &link.parents) {
                // The first commit stands for all that are not in the range: paths go there too.
                let before = (0, CommitId::FIRST);
                ahead.insert(self.range.get(parent).map_or(before, |of| (of.generation, *parent)));
            }
        }
        found.filter(|found| *found != self.head)
    }
}
