//! Pins of the commits of a page that this process reads. No process removes a pinned commit.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::clock::have_passed;
use crate::ids::{CommitId, ProcessId};
use crate::rows::process::{PinReason, PinRow};

/// How many milliseconds a pin is in memory only. Other processes remove a commit two minutes after
/// they found it not to be kept, so they see the row of a pin before.
const IN_MEMORY: u64 = 60_000;

/// The pins of a page, counted by commit and reason.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    state: Mutex<PinsState>,
    removed: Condvar,
}

#[derive(Debug, Default)]
struct PinsState {
    commits: HashMap<(CommitId, PinReason), Pinned>,
    /// The commits that this process is removing.
    going: HashSet<CommitId>,
    /// How often this process has begun to remove commits.
    removals: u64,
    /// The rows of dropped pins.
    left: Vec<PinRow>,
}

#[derive(Debug)]
struct Pinned {
    count: usize,
    since: u64,
    row: Option<PinRow>,
}

/// A pinned commit: it is not removed until this is dropped.
#[derive(Debug)]
pub(crate) struct Pin {
    pins: Arc<Pins>,
    commit: CommitId,
    reason: PinReason,
}

/// Commits that are being removed: no thread can pin them until this is dropped, whether they were
/// removed or not.
#[derive(Debug)]
pub(crate) struct Removal<'p> {
    pins: &'p Pins,
    /// The commits that were not pinned.
    pub(crate) free: BTreeSet<CommitId>,
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        let mut state = self.pins.lock();
        state.going.clear();
        // A thread that has read a commit while it was removed must read it again.
        state.removals += 1;
        drop(state);
        self.pins.removed.notify_all();
    }
}

impl Pin {
    /// The commit.
    pub(crate) fn commit(&self) -> CommitId {
        self.commit
    }
}

impl Clone for Pin {
    fn clone(&self) -> Self {
        if let Some(pinned) = self.pins.lock().commits.get_mut(&(self.commit, self.reason)) {
            pinned.count += 1;
        }
        Pin { pins: Arc::clone(&self.pins), commit: self.commit, reason: self.reason }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut state = self.pins.lock();
        let PinsState { commits, left, .. } = &mut *state;
        let Some(pinned) = commits.get_mut(&(self.commit, self.reason)) else { return };
        pinned.count -= 1;
        if pinned.count == 0 {
            left.extend(pinned.row);
            commits.remove(&(self.commit, self.reason));
        }
    }
}

impl Pins {
    fn lock(&self) -> MutexGuard<'_, PinsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often this process has begun to remove commits. Read before the commit that is to be
    /// pinned.
    pub(super) fn removals(&self) -> u64 {
        self.lock().removals
    }

    /// Pins a commit that was read after `removals`. `None` if commits have been removed since,
    /// perhaps this one: read it again.
    pub(super) fn pin(
        self: &Arc<Self>,
        (commit, reason): (CommitId, PinReason),
        removals: u64,
        now: u64,
    ) -> Option<Pin> {
        let mut state = self.lock();
        if state.removals != removals || state.going.contains(&commit) {
            // The commit is being removed: wait for the end, or the next read would find it once
            // more.
            drop(self.removed.wait_while(state, |state| state.going.contains(&commit)));
            return None;
        }
        // The first commit is never removed, but as a base it keeps others.
        if commit != CommitId::FIRST || reason == PinReason::Base {
            let pinned = state.commits.entry((commit, reason));
            pinned.or_insert(Pinned { count: 0, since: now, row: None }).count += 1;
        }
        drop(state);
        Some(Pin { pins: Arc::clone(self), commit, reason })
    }

    /// The commits that are pinned, and why.
    pub(crate) fn commits(&self) -> Vec<(CommitId, PinReason)> {
        self.lock().commits.keys().copied().collect()
    }

    /// Begins to remove those of these commits that are not pinned.
    pub(crate) fn begin_removal(&self, commits: &[CommitId]) -> Removal<'_> {
        let mut state = self.lock();
        state.removals += 1;
        let is_free = |id: &&CommitId| {
            [PinReason::Read, PinReason::Base]
                .iter()
                .all(|reason| !state.commits.contains_key(&(**id, *reason)))
        };
        let free: BTreeSet<_> = commits.iter().filter(is_free).copied().collect();
        state.going.extend(free.iter().copied());
        drop(state);
        Removal { pins: self, free }
    }

    /// The pins that are old enough for a row and have no row of this process, each with a new
    /// number.
    pub(super) fn due(
        &self,
        process: &ProcessId,
        now: u64,
        number: impl Fn() -> u64,
    ) -> Vec<PinRow> {
        let state = self.lock();
        let mut due = Vec::new();
        for ((commit, reason), pinned) in &state.commits {
            let has_row = pinned.row.is_some_and(|row| row.process == *process);
            if !has_row && have_passed(IN_MEMORY, pinned.since, now) {
                let (commit, reason) = (*commit, *reason);
                due.push(PinRow { process: *process, number: number(), commit, reason });
            }
        }
        due
    }

    /// Whether a pin has a row.
    pub(super) fn have_rows(&self) -> bool {
        self.lock().commits.values().any(|pinned| pinned.row.is_some())
    }

    /// Whether a dropped pin has a row.
    pub(crate) fn have_dropped_rows(&self) -> bool {
        !self.lock().left.is_empty()
    }

    /// Takes the rows of dropped pins.
    pub(crate) fn take_dropped_rows(&self) -> Vec<PinRow> {
        std::mem::take(&mut self.lock().left)
    }

    /// Records the rows of pins that were written.
    pub(super) fn wrote(&self, rows: &[PinRow]) {
        let mut state = self.lock();
        let PinsState { commits, left, .. } = &mut *state;
        for row in rows {
            match commits.get_mut(&(row.commit, row.reason)) {
                Some(pinned) => pinned.row = Some(*row),
                None => left.push(*row),
            }
        }
    }

    /// Puts back the rows of dropped pins that could not be removed.
    pub(super) fn not_removed(&self, rows: Vec<PinRow>) {
        self.lock().left.extend(rows);
    }
}
