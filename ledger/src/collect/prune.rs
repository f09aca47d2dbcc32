//! Prunes the commits of a page that are not in the keep set.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use permazen_kv::{KvRead, KvTransaction, KvWrite, TxOptions};

use super::history::{CommitRecords, History, ParentIndex};
use super::keep_set::{ChildCounts, keep_set};
use super::refs::Refs;
use crate::error::Result;
use crate::ids::CommitId;
use crate::process::open_page::OpenPage;
use crate::rows::counts::{Counts, Phase};
use crate::rows::parameters::Retention;
use crate::rows::process::{lease, leases};
use crate::rows::references::{References, roots};
use crate::rows::retention::Pruned;

/// The most commits that a slice removes, or whose grace time it writes or clears. Also the most
/// pins that one transaction removes.
const SLICE: usize = 128;

/// The grace time: a commit that is not kept stays for this many milliseconds, because a
/// transaction of another process may have begun on it.
const GRACE: u64 = 120_000;

/// An end of a grace time that lies further ahead than this was written under a wrong clock.
const TOO_FAR: u64 = 180_000;

/// The work that is left.
#[derive(Debug)]
pub(super) struct Prune {
    history: History,
    children: ChildCounts,
    /// The version of the keep set that was computed. Nothing is removed if it has changed.
    keep_version: u64,
    /// Commits that are not kept, and whose grace time has no row yet, or a wrong one.
    to_expire: VecDeque<CommitId>,
    /// Commits whose grace time is cleared: they are kept, or are no longer stored.
    to_clear: VecDeque<CommitId>,
    /// The commits to remove, as indices of the history: parents before their children.
    to_remove: VecDeque<usize>,
    /// Some commits wait for the end of their grace time. With exclusive access a commit can be
    /// removed as soon as it has a row; then this says that some commits have no row yet.
    pub(super) has_waiting: bool,
    /// No commit is kept only by a pin or by its age.
    pub(super) is_lasting: bool,
}

/// Removes the pins of processes whose leases have ended.
pub(super) fn remove_dead_pins(page: &OpenPage, options: &TxOptions) -> Result<()> {
    page.process.remove_ended_leases(&*page.host)?;
    let mut dead = {
        let host = page.read()?;
        let living: HashSet<_> = leases(&host)?.into_iter().map(|(id, _)| id).collect();
        let mut pins = page.rows.pins(&host)?;
        pins.retain(|pin| !living.contains(&pin.process));
        pins
    };
    while !dead.is_empty() {
        let mut tx = page.host.begin(options)?;
        page.rows.check_exists(&tx)?;
        for pin in dead.drain(..dead.len().min(SLICE)) {
            // A lost lease never comes back, but a process can write its first lease late.
            if lease(&tx, &pin.process)?.is_none() {
                page.rows.remove_pin(&mut tx, &pin.process, pin.number)?;
            }
        }
        tx.commit()?;
    }
    Ok(())
}

/// How a slice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PruneStep {
    /// There is more to do. This number of commits was removed.
    More(u64),
    /// Nothing is left to do.
    Done,
    /// The keep set has changed. Begin again.
    KeepSetChanged,
    /// A round marks, or reference rows are being built: nothing can be removed now.
    Blocked,
}

impl Prune {
    /// Reads all commits, and computes the keep set.
    pub(super) fn new(page: &OpenPage) -> Result<Self> {
        let records = History::read(page)?;
        Self::from_records(page, &page.read()?, records)
    }

    /// Reads all commits, computes the keep set while it holds the write lock of the host, and does
    /// the first slice, so that no ref can change in between. Returns how many commits were
    /// removed.
    pub(super) fn with_first_slice(page: &OpenPage, options: &TxOptions) -> Result<(Self, u64)> {
        let records = History::read(page)?;
        let tx = page.host.begin(options)?;
        page.rows.check_exists(&tx)?;
        let mut prune = Self::from_records(page, &tx, records)?;
        if prune.is_done() {
            return Ok((prune, 0));
        }
        match prune.step_in(page, tx)? {
            PruneStep::More(removed) => Ok((prune, removed)),
            // If this still holds then, the next step finds and reports it.
            PruneStep::Done | PruneStep::KeepSetChanged | PruneStep::Blocked => Ok((prune, 0)),
        }
    }

    fn from_records(page: &OpenPage, tx: &dyn KvRead, records: CommitRecords) -> Result<Self> {
        let rows = &page.rows;
        let (keep_version, expiring) = (rows.keep_version(tx)?, rows.expiring(tx)?);
        let mut retention = Retention::All;
        // Without parameters, the page is being deleted: missing heads are no damage then, and
        // `step` removes nothing, because it finds the page gone.
        if let Some(parameters) = rows.parameters(tx)? {
            rows.check_main(tx)?;
            retention = parameters.retention;
        }
        let mut refs = Refs::read(page, tx)?;
        let history = History::new(page, tx, records, refs.all().copied().collect())?;
        let now = page.process.now();
        let kept = keep_set(&history, &refs, retention, now);
        // Compared below with the keep set without pins and ages: if both are the same, it shrinks
        // only when another ref changes.
        let pins = [&mut refs.pins, &mut refs.bases].map(std::mem::take);
        let has_pins = pins.iter().any(|pins| !pins.is_empty());
        let lasting = match retention {
            Retention::Age(_) => Retention::Heads,
            other => other,
        };
        let is_lasting =
            (!has_pins && lasting == retention) || kept == keep_set(&history, &refs, lasting, now);
        let mut prune = Prune {
            children: ChildCounts::count(&history),
            history,
            keep_version,
            to_expire: VecDeque::new(),
            to_clear: VecDeque::new(),
            to_remove: VecDeque::new(),
            has_waiting: false,
            is_lasting,
        };
        prune.decide(&kept, &expiring, now, page.process.is_exclusive);
        Ok(prune)
    }

    fn decide(
        &mut self,
        kept: &[bool],
        expiring: &[(CommitId, u64)],
        now: u64,
        is_exclusive: bool,
    ) {
        let (mut timed, mut due) = (BTreeSet::new(), BTreeSet::new());
        for (id, after) in expiring {
            match self.history.index_of(id) {
                Some(at) if kept[at] => self.to_clear.push_back(*id),
                Some(at) => {
                    // Without other processes, the pins of this one are complete, so no grace time
                    // is needed. The row is still written: a commit that is made on this one before
                    // the removal clears the row, and that makes the keep set stale.
                    if is_exclusive || *after <= now {
                        due.insert(at);
                    }
                    if is_exclusive || *after <= now.saturating_add(TOO_FAR) {
                        timed.insert(at);
                    }
                }
                // The commit was removed, so its row is removed too.
                None => self.to_clear.push_back(*id),
            }
        }
        let mut remove = Vec::new();
        for at in (0..self.history.len()).filter(|at| !kept[*at]) {
            if due.contains(&at) {
                remove.push(at);
            } else {
                self.has_waiting = true;
                if !timed.contains(&at) {
                    self.to_expire.push_back(self.history.commit(at).id);
                }
            }
        }
        remove.sort_by_key(|at| (self.history.commit(*at).generation, *at));
        self.to_remove = remove.into();
    }

    fn is_done(&self) -> bool {
        self.to_expire.is_empty() && self.to_clear.is_empty() && self.to_remove.is_empty()
    }

    /// Does a slice in one transaction of the host. After an error, it can be called again.
    pub(super) fn step(&mut self, page: &OpenPage, options: &TxOptions) -> Result<PruneStep> {
        if self.is_done() {
            return Ok(PruneStep::Done);
        }
        let tx = page.host.begin(options)?;
        page.rows.check_exists(&tx)?;
        self.step_in(page, tx)
    }

    fn step_in(
        &mut self,
        page: &OpenPage,
        mut tx: Box<dyn KvTransaction + Send>,
    ) -> Result<PruneStep> {
        let mut counts = page.rows.counts(&tx)?;
        // A round that marks reads the commits, its roots, in portions, and can miss one that is
        // made meanwhile. Older pieces of that commit are marked through the commits that it has
        // them from, so none of these may go. While reference rows are built, a commit can have its
        // rows already, and they would stay.
        if counts.round.phase == Phase::Marking || counts.references == References::Building {
            return Ok(PruneStep::Blocked);
        }
        if page.rows.keep_version(&tx)? != self.keep_version {
            return Ok(PruneStep::KeepSetChanged);
        }
        if !self.to_expire.is_empty() || !self.to_clear.is_empty() {
            let (clear, expire) = (first(&self.to_clear), first(&self.to_expire));
            update_expiring(page, &mut tx, &clear, &expire)?;
            if !clear.is_empty() {
                // These commits lost their grace time. A process that computed the keep set before
                // this must not remove them, so its keep set is made stale.
                page.rows.raise_keep_version(&mut tx)?;
            }
            tx.commit()?;
            self.keep_version = self.keep_version.wrapping_add(u64::from(!clear.is_empty()));
            self.to_clear.drain(..clear.len());
            self.to_expire.drain(..expire.len());
            return Ok(PruneStep::More(0));
        }
        let all = first(&self.to_remove);
        let ids: Vec<_> = all.iter().map(|at| self.history.commit(*at).id).collect();
        // Dropped also if the host panics: threads that pin these commits wait for its end.
        let removal = page.pins.begin_removal(&ids);
        // Commits that are pinned stay; a later collection decides about them.
        let mut slice = all.clone();
        slice.retain(|at| removal.free.contains(&self.history.commit(*at).id));
        let removed = self.remove(page, &mut tx, &slice, &mut counts).and_then(|removed| {
            // Commits that wrote no pieces count too: they may have been the last to reach pieces
            // of others. With reference rows, suspects are rows instead of this count.
            if counts.references == References::Off {
                counts.suspects =
                    counts.suspects.saturating_add(removed.pieces + slice.len() as u64);
            }
            page.rows.put_counts(&mut tx, &counts)?;
            // Another process that has computed the keep set computes it again.
            page.rows.raise_keep_version(&mut tx)?;
            tx.commit()?;
            Ok(removed)
        });
        drop(removal);
        self.children.lose(removed?.children);
        self.to_remove.drain(..all.len());
        self.keep_version = self.keep_version.wrapping_add(1);
        Ok(PruneStep::More(slice.len() as u64))
    }

    /// Removes the commits of a slice. Those that still have children become pruned parents.
    fn remove(
        &self,
        page: &OpenPage,
        tx: &mut dyn KvWrite,
        slice: &[usize],
        counts: &mut Counts,
    ) -> Result<Removed> {
        let mut removed = Removed::default();
        // The parents that lose their last child; stored ones too.
        let mut childless = BTreeSet::new();
        for at in slice {
            let commit = self.history.commit(*at);
            removed.pieces += u64::from(commit.pieces);
            let mut parents = Vec::new();
            for parent in self.history.parents(*at) {
                let id = match parent {
                    ParentIndex::Here(at) => self.history.commit(at).id,
                    ParentIndex::Pruned(at) => self.history.pruned(at),
                };
                parents.push(id);
                let lost = removed.children.entry(parent).or_default();
                *lost += 1;
                if *lost >= self.children.of(parent) {
                    childless.insert(id);
                }
            }
            if counts.references == References::Complete
                && let Some(content) = page.rows.commit(tx, &commit.id)?
            {
                let roots = roots(&commit.id, &content.root, content.conflicts.as_ref());
                page.rows.remove_references(tx, &roots)?;
            }
            page.rows.remove_commit(tx, &commit.id, &parents)?;
            page.rows.remove_unsynced(tx, &commit.id, counts)?;
        }
        for id in childless {
            // A parent that is stored here, or is removed in this slice, has no such row.
            page.rows.remove_pruned(tx, &id)?;
        }
        for at in slice {
            let (commit, parent) = (self.history.commit(*at), ParentIndex::Here(*at));
            let lost = removed.children.get(&parent).copied().unwrap_or_default();
            if self.children.of(parent) > lost {
                let pruned = Pruned { generation: commit.generation, time: commit.time };
                page.rows.put_pruned(tx, &commit.id, pruned)?;
            }
        }
        Ok(removed)
    }
}

/// Counts about the commits that a slice removes.
#[derive(Debug, Default)]
struct Removed {
    /// How many pieces these commits were the first to write.
    pieces: u64,
    /// How many children their parents have lost.
    children: BTreeMap<ParentIndex, u32>,
}

/// The first items, for one slice.
fn first<T: Clone>(of: &VecDeque<T>) -> Vec<T> {
    of.iter().take(SLICE).cloned().collect()
}

/// Clears the grace times of some commits, and gives others theirs.
fn update_expiring(
    page: &OpenPage,
    tx: &mut dyn KvWrite,
    clear: &[CommitId],
    expire: &[CommitId],
) -> Result<()> {
    let after = page.process.now().saturating_add(GRACE);
    for id in clear {
        page.rows.remove_expiring(tx, id)?;
    }
    for id in expire {
        // Another process may have removed it.
        if page.rows.has_commit(tx, id)? {
            page.rows.put_expiring(tx, id, after)?;
        }
    }
    Ok(())
}
