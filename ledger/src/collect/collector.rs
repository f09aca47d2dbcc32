//! Collects the garbage of a page in slices: prunes commits, then marks and sweeps pieces.

mod state;

use std::sync::Arc;
use std::time::{Duration, Instant};

use permazen_kv::{KvRead, KvTransaction, TxOptions};
use roaring::RoaringTreemap;

use self::state::{CollectorState, PrunePass};
use super::mark::Mark;
use super::pace::Pace;
use super::prune::{Prune, PruneStep, remove_dead_pins};
use super::references::{Build, clear};
use super::streams::Leftovers;
use super::suspects::Suspects;
use super::sweep::Sweep;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::process::clock::have_passed;
use crate::process::open_page::OpenPage;
use crate::rows::counts::{Counts, Phase, Round};
use crate::rows::references::References;

/// After this many milliseconds without a change of the row of a round, another process takes it
/// over.
const STALLED_AFTER: u64 = 60_000;

/// While a round removes nothing, its row is written at this interval in milliseconds, so that
/// other processes see that it runs.
const HEARTBEAT: u64 = 10_000;

/// The most rows with marks that a slice writes or removes.
const MARKS: usize = 16;

/// How often the keep set is computed again because it has changed meanwhile. After that, it is
/// computed while this process holds the write lock of the host; the commits are read before.
const CHANGES: usize = 10;

/// The number of commits and pieces that a collection has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Collected {
    /// Commits.
    pub commits: u64,
    /// Nodes, chunks and index pieces.
    pub pieces: u64,
}

/// Garbage is collected this many milliseconds after the last round began, however little it is.
const MAX_GARBAGE_AGE: u64 = 24 * 60 * 60 * 1_000;

/// Whether pieces are collected after commits were pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectPieces {
    /// In any case.
    Always,
    /// If there may be much garbage, because marking reads all nodes.
    IfMuch,
}

/// Collects the garbage of one page in this process.
#[derive(Debug)]
pub(crate) struct Collector {
    page: Arc<OpenPage>,
    state: CollectorState,
    pieces: CollectPieces,
    round: u64,
    collected: Collected,
    /// When the row of the round was written last.
    written: u64,
    /// When a round was begun last, or the page was opened.
    begun: u64,
    /// The round of another process, and when it was seen first.
    other: Option<(Counts, u64)>,
    /// The damage that stopped the last round, the suspects or the building of reference rows.
    /// Maintenance collects no more until a collection succeeds.
    failed: Option<String>,
    /// The round was begun before this collection, by another process or by this one, so another
    /// round follows it.
    is_adopted: bool,
    /// A marking round, or the building of reference rows, has kept this collection from pruning
    /// commits.
    is_blocked: bool,
    has_waiting: bool,
    is_lasting: bool,
    /// The options of each writing transaction.
    options: TxOptions,
}

impl Collector {
    pub(crate) fn new(page: Arc<OpenPage>) -> Self {
        let begun = page.process.now();
        Collector {
            page,
            state: CollectorState::Idle,
            pieces: CollectPieces::Always,
            round: 0,
            collected: Collected::default(),
            written: 0,
            begun,
            other: None,
            failed: None,
            is_adopted: false,
            is_blocked: false,
            has_waiting: false,
            is_lasting: true,
            options: TxOptions::writing(),
        }
    }

    /// Sets how long a slice waits for the write lock of the host.
    pub(crate) fn set_wait(&mut self, wait: Duration) {
        self.options = TxOptions::writing().with_wait(wait);
    }

    /// Whether commits that are not kept still wait for the end of their grace time.
    pub(crate) fn has_waiting(&self) -> bool {
        self.has_waiting
    }

    /// Whether the keep set can shrink only when a ref changes: no commit is kept only by a pin or
    /// by its age.
    pub(super) fn is_lasting(&self) -> bool {
        self.is_lasting
    }

    /// Whether maintenance collects the garbage: it may be more than a quarter of the pieces, or it
    /// is a day since the last round began.
    pub(super) fn has_much(&self, counts: &Counts) -> bool {
        let is_much = counts.suspects.saturating_mul(4) > counts.pieces;
        let is_late = have_passed(MAX_GARBAGE_AGE, self.begun, self.page.process.now());
        counts.suspects > 0 && (is_much || is_late)
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, CollectorState::Idle)
    }

    /// Why the last round was given up.
    pub(crate) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Returns the numbers since the last call.
    pub(crate) fn take_collected(&mut self) -> Collected {
        std::mem::take(&mut self.collected)
    }

    /// Begins a collection: first commits, then pieces.
    pub(super) fn start(&mut self, pieces: CollectPieces) -> Result<()> {
        if self.is_idle() {
            (self.pieces, self.is_blocked) = (pieces, false);
            remove_dead_pins(&self.page, &self.options)?;
            self.end_dead_mark()?;
            let tx = self.page.read()?;
            self.state = match self.page.rows.counts(&tx)?.references {
                References::Building => CollectorState::Build(Build::default()),
                References::Off if self.page.rows.has_reference_rows(&tx)? => {
                    CollectorState::ClearReferences
                }
                References::Off | References::Complete => {
                    drop(tx);
                    self.commits()?
                }
            };
        }
        Ok(())
    }

    /// Ends the round of a process that stopped while it marked. No commit is pruned while a round
    /// marks, so without this the collection would remove only earlier garbage.
    fn end_dead_mark(&mut self) -> Result<()> {
        let is_marking = |counts: &Counts| counts.round.phase == Phase::Marking;
        if !is_marking(&self.page.rows.counts(&*self.page.read()?)?) {
            return Ok(());
        }
        let page = Arc::clone(&self.page);
        let mut tx = page.host.begin(&self.options)?;
        page.rows.check_exists(&tx)?;
        let mut counts = page.rows.counts(&tx)?;
        if is_marking(&counts) && self.can_take_over(&tx, &counts)? {
            counts.end_round();
            page.rows.put_counts(&mut tx, &counts)?;
            tx.commit()?;
        }
        Ok(())
    }

    /// Reads all commits, to prune those that are not in the keep set.
    fn commits(&mut self) -> Result<CollectorState> {
        self.pass(PrunePass::default())
    }

    fn pass(&mut self, pass: PrunePass) -> Result<CollectorState> {
        let prune = match pass.changes {
            changes if changes < CHANGES => Prune::new(&self.page)?,
            _ => {
                let (prune, removed) = Prune::with_first_slice(&self.page, &self.options)?;
                self.collected.commits += removed;
                prune
            }
        };
        (self.has_waiting, self.is_lasting) = (prune.has_waiting, prune.is_lasting);
        Ok(CollectorState::Prune(Box::new(prune), pass))
    }

    /// Does one slice. `false` once nothing is under way.
    ///
    /// # Errors
    /// If the host is busy, the next step repeats the slice. After any other error, the collection
    /// is over.
    pub(crate) fn step(&mut self) -> Result<bool> {
        let mut state = std::mem::replace(&mut self.state, CollectorState::Idle);
        match self.slice(&mut state) {
            Ok(next) => {
                self.state = next.unwrap_or(state);
                Ok(!self.is_idle())
            }
            Err(error) => {
                if matches!(&error, LedgerError::Host(host) if host.is_retryable()) {
                    self.state = state;
                } else if error.is_unreadable() && state.is_round() {
                    // If the round was ended meanwhile, pieces that it was to read may have been
                    // removed since. That is no damage.
                    if self.own(&*self.page.read()?)?.is_none() {
                        self.state = self.begin_anew()?;
                        return Ok(true);
                    }
                    self.failed = Some(error.to_string());
                    self.give_up()?;
                }
                Err(error)
            }
        }
    }

    /// Does one slice, and returns the next state; `None` for more of the same. An error changes no
    /// state.
    fn slice(&mut self, state: &mut CollectorState) -> Result<Option<CollectorState>> {
        Ok(match state {
            CollectorState::Idle => None,
            CollectorState::ClearReferences => {
                if clear(&self.page, &self.options)? {
                    return Ok(None);
                }
                Some(self.commits()?)
            }
            CollectorState::Build(build) => {
                let step = build.step(&self.page, &self.options);
                if self.note_damage(step)? {
                    return Ok(None);
                }
                Some(self.commits()?)
            }
            CollectorState::Suspects(suspects) => {
                let step = suspects.step(&self.page, &self.options);
                let is_more = self.note_damage(step)?;
                self.collected.pieces += suspects.take_removed();
                if !is_more {
                    self.failed = None;
                }
                (!is_more).then_some(CollectorState::Idle)
            }
            CollectorState::Prune(prune, pass) => self.prune(prune, *pass)?,
            CollectorState::Streams(left) => {
                (!left.step(&self.page, &self.options)?).then_some(CollectorState::Begin)
            }
            CollectorState::Begin => Some(self.begin()?),
            CollectorState::Mark(mark) => self.mark(mark)?,
            CollectorState::WriteMarks(marks, bytes, part) => {
                self.write_marks(marks, bytes, part)?
            }
            CollectorState::Sweep(sweep) => self.sweep(sweep)?,
            CollectorState::Clear => self.clear()?,
        })
    }

    /// Notes damage, so that maintenance does not try again.
    fn note_damage(&mut self, step: Result<bool>) -> Result<bool> {
        step.inspect_err(|error| {
            if error.is_unreadable() {
                self.failed = Some(error.to_string());
            }
        })
    }

    fn prune(&mut self, prune: &mut Prune, pass: PrunePass) -> Result<Option<CollectorState>> {
        Ok(match prune.step(&self.page, &self.options)? {
            PruneStep::More(removed) => {
                self.collected.commits += removed;
                None
            }
            PruneStep::KeepSetChanged => {
                Some(self.pass(PrunePass { changes: pass.changes + 1, ..pass })?)
            }
            PruneStep::Blocked => {
                self.is_blocked = true;
                Some(self.streams()?)
            }
            // With exclusive access, commits need no grace time: a second pass removes those that
            // just got their rows.
            PruneStep::Done
                if self.page.process.is_exclusive && prune.has_waiting && !pass.is_second =>
            {
                Some(self.pass(PrunePass { is_second: true, ..pass })?)
            }
            PruneStep::Done => Some(self.streams()?),
        })
    }

    /// Removes the rows that streams have left, before a round begins.
    fn streams(&self) -> Result<CollectorState> {
        let left = Leftovers::new(&self.page, &self.options, true)?;
        Ok(left.map_or(CollectorState::Begin, CollectorState::Streams))
    }

    fn write(&self) -> Result<Box<dyn KvTransaction + Send>> {
        let tx = self.page.host.begin(&self.options)?;
        self.page.rows.check_exists(&tx)?;
        Ok(tx)
    }

    /// Begins a round, or takes over that of a process that has stopped.
    fn begin(&mut self) -> Result<CollectorState> {
        // After a round of another process that ends just now there is nothing left to collect, but
        // commits to prune.
        let can_skip = self.pieces == CollectPieces::IfMuch && !self.is_blocked;
        if can_skip && !self.is_round_due()? {
            return Ok(CollectorState::Idle);
        }
        let (page, now) = (Arc::clone(&self.page), self.page.process.now());
        let mut tx = page.host.begin(&self.options)?;
        page.rows.check_exists(&tx)?;
        let process = page.process.ensure_lease(&mut tx)?;
        let mut counts = page.rows.counts(&tx)?;
        match counts.references {
            // Reference rows were turned on meanwhile, which may have stopped the pruning. Commits
            // are pruned once the rows are built.
            References::Building => {
                self.is_blocked = false;
                return Ok(CollectorState::Build(Build::default()));
            }
            // The round that has kept the commits from being pruned is over.
            _ if self.is_blocked && counts.round.phase != Phase::Marking => {
                drop(tx);
                self.is_blocked = false;
                return self.commits();
            }
            References::Off => {}
            References::Complete => return Ok(CollectorState::Suspects(Suspects::default())),
        }
        if !self.can_take_over(&tx, &counts)? {
            return Err(self.busy());
        }
        let marks = match counts.round.phase {
            Phase::Sweeping => {
                match page.rows.marks(&tx, counts.round.number) {
                    // The marks are damaged, so a new round marks again.
                    Err(error) if error.is_damage() => None,
                    bytes => RoaringTreemap::deserialize_from(&*bytes?).ok(),
                }
            }
            _ => None,
        };
        let state = match (counts.round.phase, marks) {
            (Phase::Sweeping, Some(marks)) => {
                let Round { new_from, reached, .. } = counts.round;
                let pace = Pace::default();
                CollectorState::Sweep(Box::new(Sweep { marks, new_from, reached, pace }))
            }
            (Phase::Clearing, _) => CollectorState::Clear,
            _ => {
                counts.round = Round {
                    number: counts.round.number.wrapping_add(1),
                    phase: Phase::Marking,
                    process,
                    new_from: counts.next,
                    reached: None,
                };
                counts.suspects = 0;
                CollectorState::Mark(Box::default())
            }
        };
        counts.round.process = process;
        page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.is_adopted = !matches!(state, CollectorState::Mark(_));
        (self.round, self.written, self.begun) = (counts.round.number, now, now);
        self.other = None;
        Ok(state)
    }

    /// Whether a round is due: there is much garbage, reference rows name it, or a round is
    /// unfinished.
    fn is_round_due(&self) -> Result<bool> {
        let counts = self.page.rows.counts(&*self.page.read()?)?;
        let is_idle = counts.round.phase == Phase::Idle && counts.references == References::Off;
        Ok(!is_idle || self.has_much(&counts))
    }

    /// Whether this process may run the round: no round runs, it is a round of this process, the
    /// process that runs it has ended, or its row has not changed for [`STALLED_AFTER`]
    /// milliseconds.
    pub(super) fn can_take_over(&mut self, tx: &dyn KvRead, counts: &Counts) -> Result<bool> {
        let (process, now) = (counts.round.process, self.page.process.now());
        if counts.round.phase == Phase::Idle || !self.page.process.lives(tx, &process)? {
            return Ok(true);
        }
        // An unfinished round of this process was given up after an error.
        if process == self.page.process.id() {
            return Ok(true);
        }
        let since = match &self.other {
            // If the clock was set back, the waiting time begins again.
            Some((seen, since)) if seen.round == counts.round => now.min(*since),
            _ => now,
        };
        self.other = Some((*counts, since));
        Ok(now >= since.saturating_add(STALLED_AFTER))
    }

    fn busy(&self) -> LedgerError {
        let page = self.page.rows.number;
        let what = format!(
            "another process is collecting the garbage of page {page}; if it has stopped, this process can take over \
             after {} s",
            STALLED_AFTER / 1_000
        );
        LedgerError::Busy { what }
    }

    /// The counts if this process still runs the round; `None` if no process runs one: a fetch has
    /// ended it, or another process has continued and ended it.
    ///
    /// # Errors
    /// [`LedgerError::Busy`] if another process runs a round.
    fn own(&self, tx: &dyn KvRead) -> Result<Option<Counts>> {
        let counts = self.page.rows.counts(tx)?;
        let Round { number, phase, process, .. } = counts.round;
        if phase == Phase::Idle {
            return Ok(None);
        }
        match number == self.round && process == self.page.process.id() {
            true => Ok(Some(counts)),
            false => Err(self.busy()),
        }
    }

    /// A transaction of this round, and its counts. `None` if the round was ended meanwhile: then
    /// no transaction is open, so that this thread can begin another one.
    fn write_own(&self) -> Result<Option<(Box<dyn KvTransaction + Send>, Counts)>> {
        let tx = self.write()?;
        Ok(self.own(&tx)?.map(|counts| (tx, counts)))
    }

    /// Begins another round after this one was ended elsewhere, even if little garbage is counted:
    /// the count was set to 0 when the round began.
    fn begin_anew(&mut self) -> Result<CollectorState> {
        self.pieces = CollectPieces::Always;
        self.streams()
    }

    fn is_heartbeat_due(&self) -> bool {
        have_passed(HEARTBEAT, self.written, self.page.process.now())
    }

    fn mark(&mut self, mark: &mut Mark) -> Result<Option<CollectorState>> {
        if !mark.step(&self.page)? {
            if self.is_heartbeat_due() && !self.write_progress(mark.progress)? {
                return self.begin_anew().map(Some);
            }
            return Ok(None);
        }
        let marks = std::mem::take(&mut mark.marks);
        let mut bytes = Vec::with_capacity(marks.serialized_size());
        // Writing to a `Vec` cannot fail.
        let _ = marks.serialize_into(&mut bytes);
        Ok(Some(CollectorState::WriteMarks(marks, bytes, 0)))
    }

    /// Returns `false` if the round was ended meanwhile, by another process or by a fetch.
    fn write_progress(&mut self, reached: Option<Digest>) -> Result<bool> {
        let Some((mut tx, mut counts)) = self.write_own()? else { return Ok(false) };
        counts.round.reached = reached;
        self.page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.written = self.page.process.now();
        Ok(true)
    }

    fn write_marks(
        &mut self,
        marks: &mut RoaringTreemap,
        bytes: &[u8],
        part: &mut u32,
    ) -> Result<Option<CollectorState>> {
        let Some((mut tx, mut counts)) = self.write_own()? else {
            return self.begin_anew().map(Some);
        };
        let next = self.page.rows.put_marks(&mut tx, self.round, bytes, (*part, MARKS))?;
        if next.is_none() {
            (counts.round.phase, counts.round.reached) = (Phase::Sweeping, None);
        }
        self.page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.written = self.page.process.now();
        if let Some(next) = next {
            *part = next;
            return Ok(None);
        }
        let (marks, new_from) = (std::mem::take(marks), counts.round.new_from);
        let sweep = Sweep { marks, new_from, reached: None, pace: Pace::default() };
        Ok(Some(CollectorState::Sweep(Box::new(sweep))))
    }

    fn sweep(&mut self, sweep: &mut Sweep) -> Result<Option<CollectorState>> {
        let mut garbage = sweep.find(&self.page)?;
        if garbage.is_empty() && !garbage.is_last && !self.is_heartbeat_due() {
            sweep.advance(&garbage);
            return Ok(None);
        }
        let page = Arc::clone(&self.page);
        let Some((mut tx, mut counts)) = self.write_own()? else {
            return self.begin_anew().map(Some);
        };
        let begin = Instant::now();
        let removed = sweep.remove(&page, &mut tx, &mut garbage, &mut counts)?;
        counts.round.reached = garbage.reached;
        if garbage.is_last {
            counts.round.phase = Phase::Clearing;
        }
        page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        #[allow(clippy::cast_possible_truncation, reason = "a slice removes at most 1,024")]
        let changed = removed as usize;
        sweep.pace.note(changed, begin.elapsed());
        sweep.advance(&garbage);
        self.collected.pieces += removed;
        self.written = page.process.now();
        Ok(garbage.is_last.then_some(CollectorState::Clear))
    }

    fn clear(&mut self) -> Result<Option<CollectorState>> {
        let Some((mut tx, mut counts)) = self.write_own()? else {
            return self.begin_anew().map(Some);
        };
        let is_all = self.page.rows.remove_marks(&mut tx, MARKS)?;
        if is_all {
            counts.round.phase = Phase::Idle;
            counts.round.process = Default::default();
            counts.round.reached = None;
        }
        self.page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.written = self.page.process.now();
        if is_all {
            // The round has read all nodes, so the damage that stopped an earlier one is gone.
            self.failed = None;
        }
        Ok(match is_all {
            false => None,
            // The adopted round has spared pieces that became garbage after it began, and those
            // that streams kept: another round follows.
            true if self.is_adopted => Some(self.streams()?),
            true => Some(CollectorState::Idle),
        })
    }

    /// Ends a round that cannot read the rows that it needs. The pieces removed so far were
    /// garbage.
    fn give_up(&mut self) -> Result<()> {
        let Some((mut tx, mut counts)) = self.write_own()? else { return Ok(()) };
        counts.end_round();
        self.page.rows.put_counts(&mut tx, &counts)?;
        Ok(tx.commit()?)
    }
}

#[cfg(test)]
mod tests;
