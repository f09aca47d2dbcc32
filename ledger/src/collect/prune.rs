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

/// The most commits that a slice removes or marks.
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
    to_mark: VecDeque<CommitId>,
    /// Commits whose grace time is cleared: they are kept, or are no longer stored.
    to_keep: VecDeque<CommitId>,
    /// The commits to remove, the oldest first.
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
    /// Another process marks, or reference rows are being built: nothing can be removed now.
    Blocked,
}

impl Prune {
    /// Reads all commits, and computes the keep set.
    pub(super) fn new(page: &OpenPage) -> Result<Self> {
        let found = History::read(page)?;
        Self::decided(page, &page.read()?, found)
    }

    /// Reads all commits, computes the keep set while it holds the write lock of the host, and does
    /// the first slice, so that no ref can change in between. Returns how many commits were
    /// removed.
    pub(super) fn at_once(page: &OpenPage, options: &TxOptions) -> Result<(Self, u64)> {
        let found = History::read(page)?;
        let tx = page.host.begin(options)?;
        page.rows.check_exists(&tx)?;
        let mut prune = Self::decided(page, &tx, found)?;
        if prune.is_done() {
            return Ok((prune, 0));
        }
        match prune.step_in(page, tx)? {
            PruneStep::More(removed) => Ok((prune, removed)),
            PruneStep::Done | PruneStep::KeepSetChanged | PruneStep::Blocked => Ok((prune, 0)),
        }
    }

    fn decided(page: &OpenPage, tx: &dyn KvRead, found: CommitRecords) -> Result<Self> {
        let rows = &page.rows;
        let (keep_version, expiring) = (rows.keep_version(tx)?, rows.expiring(tx)?);
        let mut retention = Retention::All;
        // Without parameters, the page is being deleted.
        if let Some(parameters) = rows.parameters(tx)? {
            rows.check_main(tx)?;
            retention = parameters.retention;
        }
        let mut refs = Refs::read(page, tx)?;
        let history = History::new(page, tx, found, refs.all().copied().collect())?;
        let now = page.process.now();
        let found = keep_set(&history, &refs, retention, now);
        let pins = [&mut refs.pins, &mut refs.bases].map(std::mem::take);
        let has_pins = pins.iter().any(|pins| !pins.is_empty());
        let lasting = match retention {
            Retention::Age(_) => Retention::Heads,
            other => other,
        };
        let is_lasting =
            (!has_pins && lasting == retention) || found == keep_set(&history, &refs, lasting, now);
        let mut prune = Prune {
            children: ChildCounts::count(&history),
            history,
            keep_version,
            to_mark: VecDeque::new(),
            to_keep: VecDeque::new(),
            to_remove: VecDeque::new(),
            has_waiting: false,
            is_lasting,
        };
        prune.decide(&found, &expiring, now, page.process.is_exclusive);
        Ok(prune)
    }

    fn decide(
        &mut self,
        kept: &[bool],
        expiring: &[(CommitId, u64)],
        now: u64,
        is_exclusive: bool,
    ) {
        let (mut marked, mut due) = (BTreeSet::new(), BTreeSet::new());
        for (id, after) in expiring {
            match self.history.index_of(id) {
                Some(at) if kept[at] => self.to_keep.push_back(*id),
                Some(at) => {
                    // Without other processes, the pins of this one are complete, so no grace time
                    // is needed. The row is still written, for commits that are made on it before
                    // the removal.
                    if is_exclusive || *after <= now {
                        due.insert(at);
                    }
                    if is_exclusive || *after <= now.saturating_add(TOO_FAR) {
                        marked.insert(at);
                    }
                }
                // The commit was removed, so its row is removed too.
                None => self.to_keep.push_back(*id),
            }
        }
        let mut remove = Vec::new();
        for at in (0..self.history.len()).filter(|at| !kept[*at]) {
            if due.contains(&at) {
                remove.push(at);
            } else {
                self.has_waiting = true;
                if !marked.contains(&at) {
                    self.to_mark.push_back(self.history.commit(at).id);
                }
            }
        }
        remove.sort_by_key(|at| (self.history.commit(*at).generation, *at));
        self.to_remove = remove.into();
    }

    fn is_done(&self) -> bool {
        self.to_mark.is_empty() && self.to_keep.is_empty() && self.to_remove.is_empty()
    }

    /// Does a slice in one transaction of the host. An error changes nothing.
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
        // No commit is removed while another process marks, or while reference rows are built.
        if counts.round.phase == Phase::Marking || counts.references == References::Building {
            return Ok(PruneStep::Blocked);
        }
        if page.rows.keep_version(&tx)? != self.keep_version {
            return Ok(PruneStep::KeepSetChanged);
        }
        if !self.to_mark.is_empty() || !self.to_keep.is_empty() {
            let (keep, mark) = (first(&self.to_keep), first(&self.to_mark));
            put_times(page, &mut tx, &keep, &mark)?;
            if !keep.is_empty() {
                // These commits lost their grace time. A process that computed the keep set before
                // this must not remove them, so its version is made stale.
                page.rows.raise_keep_version(&mut tx)?;
            }
            tx.commit()?;
            self.keep_version = self.keep_version.wrapping_add(u64::from(!keep.is_empty()));
            self.to_keep.drain(..keep.len());
            self.to_mark.drain(..mark.len());
            return Ok(PruneStep::More(0));
        }
        let all = first(&self.to_remove);
        let ids: Vec<_> = all.iter().map(|at| self.history.commit(*at).id).collect();
        // Also if the host panics, the removal ends, for readers wait for that.
        let removal = page.pins.begin_removal(&ids);
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

    /// Removes commits.
    fn remove(
        &self,
        page: &OpenPage,
        tx: &mut dyn KvWrite,
        slice: &[usize],
        counts: &mut Counts,
    ) -> Result<Removed> {
        let mut removed = Removed::default();
        // The pruned parents that lose their last child.
        let mut over = BTreeSet::new();
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
                    over.insert(id);
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
        for id in over {
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

/// The commits that a slice has removed.
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

/// Removes the grace times of commits that are kept again, and gives other commits theirs.
fn put_times(
    page: &OpenPage,
    tx: &mut dyn KvWrite,
    keep: &[CommitId],
    mark: &[CommitId],
) -> Result<()> {
    let after = page.process.now().saturating_add(GRACE);
    for id in keep {
        page.rows.remove_expiring(tx, id)?;
    }
    for id in mark {
        // Another process may have removed it.
        if page.rows.has_commit(tx, id)? {
            page.rows.put_expiring(tx, id, after)?;
        }
    }
    Ok(())
}
