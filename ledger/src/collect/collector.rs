//! Collects the garbage of a page, one slice after the other.

use std::sync::Arc;
use std::time::Duration;

use permazen_kv::{KvRead, KvTransaction, TxOptions};
use roaring::RoaringTreemap;

use super::mark::Mark;
use super::references::{Build, clear};
use super::retire::{Retire, Retired, remove_dead_pins};
use super::streams::Leftovers;
use super::suspects::Suspects;
use super::sweep::Sweep;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::process::open_page::OpenPage;
use crate::rows::counts::{Counts, Phase, Round};
use crate::rows::references::References;

/// A collector whose row has not changed for so many milliseconds is relieved.
const RELIEVED: u64 = 60_000;

/// While nothing is removed, the row of a collector changes after so many milliseconds.
const SIGN_OF_LIFE: u64 = 10_000;

/// How many rows with marks a slice writes or removes.
const MARKS: usize = 16;

/// How often the commits are read again because something else is kept since.
const CHANGES: usize = 10;

/// What a collection has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Collected {
    /// Commits.
    pub commits: u64,
    /// Nodes, chunks and index pieces.
    pub pieces: u64,
}

/// Collects the garbage of one page in this process.
#[derive(Debug)]
pub(crate) struct Collector {
    page: Arc<OpenPage>,
    state: State,
    round: u64,
    collected: Collected,
    /// When the row was written last.
    written: u64,
    /// The round of another process, and when it was seen first.
    other: Option<(Counts, u64)>,
    /// Why this process begins no further round by itself.
    failed: Option<String>,
    /// The round was begun by another process, so another one follows.
    is_adopted: bool,
    has_waiting: bool,
    /// How each transaction that writes begins.
    options: TxOptions,
}

#[derive(Debug)]
enum State {
    Idle,
    /// Reference rows that were turned off are removed.
    ClearReferences,
    /// What was there before gets its reference rows.
    Build(Build),
    /// Commits are removed. The number says how often the rest was computed.
    Retire(Box<Retire>, usize),
    /// The commits are done. What streams have left is removed.
    Streams(Leftovers),
    /// A round is to begin, or, with reference rows, what they say is to be removed.
    Begin,
    /// What nothing leads to is removed, as the reference rows say.
    Suspects(Suspects),
    Mark(Box<Mark>),
    /// Marks are written: the bytes, the next part.
    Keep(RoaringTreemap, Vec<u8>, u32),
    Sweep(Box<Sweep>),
    Clear,
}

impl Collector {
    pub(crate) fn new(page: Arc<OpenPage>) -> Self {
        Collector {
            page,
            state: State::Idle,
            round: 0,
            collected: Collected::default(),
            written: 0,
            other: None,
            failed: None,
            is_adopted: false,
            has_waiting: false,
            options: TxOptions::writing(),
        }
    }

    /// Sets how long a slice waits for the right to write.
    pub(crate) fn set_wait(&mut self, wait: Duration) {
        self.options = TxOptions::writing().with_wait(wait);
    }

    /// Whether commits that are not kept have to wait before they can be removed.
    pub(crate) fn has_waiting(&self) -> bool {
        self.has_waiting
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Why the last round has ended before its time.
    pub(crate) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// What was removed since this was asked last.
    pub(crate) fn take_collected(&mut self) -> Collected {
        std::mem::take(&mut self.collected)
    }

    /// Begins to remove commits, and then pieces.
    pub(crate) fn start(&mut self) -> Result<()> {
        if self.is_idle() {
            remove_dead_pins(&self.page, &self.options)?;
            let host = self.page.read()?;
            self.state = match self.page.rows.counts(&host)?.references {
                References::Building => State::Build(Build::default()),
                References::Off if self.page.rows.has_reference_rows(&host)? => {
                    State::ClearReferences
                }
                References::Off | References::Kept => {
                    drop(host);
                    self.commits()?
                }
            };
        }
        Ok(())
    }

    /// Reads all commits, to remove those that are not kept.
    fn commits(&mut self) -> Result<State> {
        let retire = Retire::new(&self.page)?;
        self.has_waiting = retire.has_waiting;
        Ok(State::Retire(Box::new(retire), 0))
    }

    /// Does one slice. `false` once nothing is under way.
    pub(crate) fn step(&mut self) -> Result<bool> {
        match self.slice() {
            Ok(()) => Ok(!self.is_idle()),
            Err(error) => {
                let state = std::mem::replace(&mut self.state, State::Idle);
                if let State::Mark(_) = state
                    && error.is_damage()
                {
                    self.failed = Some(error.to_string());
                    self.give_up()?;
                }
                Err(error)
            }
        }
    }

    fn slice(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => {}
            State::ClearReferences => {
                let is_more = clear(&self.page, &self.options)?;
                self.state = if is_more { State::ClearReferences } else { self.commits()? };
            }
            State::Build(mut build) => {
                let step = build.step(&self.page, &self.options);
                let is_more = self.note_damage(step)?;
                self.state = if is_more { State::Build(build) } else { self.commits()? };
            }
            State::Suspects(mut suspects) => {
                let step = suspects.step(&self.page, &self.options);
                let is_more = self.note_damage(step)?;
                self.collected.pieces += suspects.take_removed();
                if is_more {
                    self.state = State::Suspects(suspects);
                }
            }
            State::Retire(retire, times) => self.retire(retire, times)?,
            State::Streams(mut left) => {
                let is_more = left.step(&self.page, &self.options)?;
                self.state = if is_more { State::Streams(left) } else { State::Begin };
            }
            State::Begin => self.begin()?,
            State::Mark(mut mark) => {
                // An error must find that this was the mark.
                let is_all = mark.step(&self.page);
                self.state = State::Mark(mark);
                self.marked(is_all?)?;
            }
            State::Keep(marks, bytes, part) => self.keep(marks, bytes, part)?,
            State::Sweep(sweep) => self.sweep(sweep)?,
            State::Clear => self.clear()?,
        }
        Ok(())
    }

    /// After damage, this process does not try again by itself.
    fn note_damage(&mut self, step: Result<bool>) -> Result<bool> {
        step.inspect_err(|error| {
            if error.is_damage() {
                self.failed = Some(error.to_string());
            }
        })
    }

    fn retire(&mut self, mut retire: Box<Retire>, times: usize) -> Result<()> {
        self.state = match retire.step(&self.page, &self.options)? {
            Retired::More(removed) => {
                self.collected.commits += removed;
                State::Retire(retire, times)
            }
            Retired::Changed if times < CHANGES => {
                State::Retire(Box::new(Retire::new(&self.page)?), times + 1)
            }
            // Others keep something else again and again. The next collection removes the rest.
            Retired::All | Retired::Changed => {
                let left = Leftovers::new(&self.page, &self.options, true)?;
                left.map_or(State::Begin, State::Streams)
            }
        };
        Ok(())
    }

    fn write(&self) -> Result<Box<dyn KvTransaction + Send + '_>> {
        let tx = self.page.host.begin(&self.options)?;
        self.page.rows.check_there(&tx)?;
        Ok(tx)
    }

    /// Begins a round, or continues that of a process that does not.
    fn begin(&mut self) -> Result<()> {
        let (page, now) = (Arc::clone(&self.page), self.page.process.now());
        let mut tx = page.host.begin(&self.options)?;
        page.rows.check_there(&tx)?;
        let process = page.process.sign(&mut tx)?;
        let mut counts = page.rows.counts(&tx)?;
        match counts.references {
            References::Off => {}
            // The next collection builds them.
            References::Building => return Ok(()),
            References::Kept => {
                self.state = State::Suspects(Suspects::default());
                return Ok(());
            }
        }
        if !self.can_take_over(&tx, &counts)? {
            return Err(self.busy());
        }
        let marks = match counts.round.phase {
            Phase::Sweeping => {
                let bytes = page.rows.marks(&tx, counts.round.number)?;
                RoaringTreemap::deserialize_from(&*bytes).ok()
            }
            _ => None,
        };
        let state = match (counts.round.phase, marks) {
            (Phase::Sweeping, Some(marks)) => {
                let Round { kept, reached, .. } = counts.round;
                State::Sweep(Box::new(Sweep { marks, kept, reached }))
            }
            (Phase::Clearing, _) => State::Clear,
            _ => {
                counts.round = Round {
                    number: counts.round.number.wrapping_add(1),
                    phase: Phase::Marking,
                    process,
                    kept: counts.next,
                    reached: None,
                };
                counts.suspects = 0;
                State::Mark(Box::default())
            }
        };
        counts.round.process = process;
        page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.is_adopted = !matches!(state, State::Mark(_));
        (self.round, self.written, self.state, self.other) =
            (counts.round.number, now, state, None);
        Ok(())
    }

    /// Whether nobody else collects, or whoever did has ended, or has not changed the row for so long
    /// that it must be relieved.
    pub(super) fn can_take_over(&mut self, tx: &dyn KvRead, counts: &Counts) -> Result<bool> {
        let (process, now) = (counts.round.process, self.page.process.now());
        if counts.round.phase == Phase::Idle || !self.page.process.lives(tx, &process)? {
            return Ok(true);
        }
        // What this process has begun it has given up.
        if process == self.page.process.id() {
            return Ok(true);
        }
        let since = match &self.other {
            Some((seen, since)) if seen.round == counts.round => *since,
            _ => now,
        };
        self.other = Some((*counts, since));
        Ok(now >= since.saturating_add(RELIEVED))
    }

    fn busy(&self) -> LedgerError {
        let page = self.page.rows.page;
        LedgerError::Busy { what: format!("another process collects the garbage of page {page}") }
    }

    /// The counts, if this process still collects.
    fn own(&self, tx: &dyn KvRead) -> Result<Counts> {
        let counts = self.page.rows.counts(tx)?;
        if counts.round.number != self.round || counts.round.process != self.page.process.id() {
            let what =
                format!("another process collects the garbage of page {}", self.page.rows.page);
            return Err(LedgerError::Busy { what });
        }
        Ok(counts)
    }

    fn is_silent(&self) -> bool {
        self.page.process.now() >= self.written.saturating_add(SIGN_OF_LIFE)
    }

    fn marked(&mut self, is_all: bool) -> Result<()> {
        if !is_all && self.is_silent() {
            let State::Mark(mark) = &self.state else { return Ok(()) };
            let reached = mark.reached.map(|id| id.0);
            self.write_place(reached)?;
        }
        if is_all && let State::Mark(mark) = std::mem::replace(&mut self.state, State::Idle) {
            let mut bytes = Vec::with_capacity(mark.marks.serialized_size());
            // A list of bytes takes everything.
            let _ = mark.marks.serialize_into(&mut bytes);
            self.state = State::Keep(mark.marks, bytes, 0);
        }
        Ok(())
    }

    fn write_place(&mut self, reached: Option<Digest>) -> Result<()> {
        let mut tx = self.write()?;
        let mut counts = self.own(&tx)?;
        counts.round.reached = reached;
        self.page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.written = self.page.process.now();
        Ok(())
    }

    fn keep(&mut self, marks: RoaringTreemap, bytes: Vec<u8>, part: u32) -> Result<()> {
        let mut tx = self.write()?;
        let mut counts = self.own(&tx)?;
        let next = self.page.rows.put_marks(&mut tx, self.round, &bytes, (part, MARKS))?;
        let state = match next {
            Some(next) => State::Keep(marks, bytes, next),
            None => {
                counts.round.phase = Phase::Sweeping;
                counts.round.reached = None;
                let kept = counts.round.kept;
                State::Sweep(Box::new(Sweep { marks, kept, reached: None }))
            }
        };
        self.page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        (self.state, self.written) = (state, self.page.process.now());
        Ok(())
    }

    fn sweep(&mut self, mut sweep: Box<Sweep>) -> Result<()> {
        let mut garbage = sweep.find(&self.page)?;
        if garbage.is_empty() && !garbage.is_last && !self.is_silent() {
            sweep.advance(&garbage);
            self.state = State::Sweep(sweep);
            return Ok(());
        }
        let page = Arc::clone(&self.page);
        let mut tx = self.write()?;
        let mut counts = self.own(&tx)?;
        let removed = sweep.remove(&page, &mut tx, &mut garbage, &mut counts)?;
        sweep.advance(&garbage);
        counts.round.reached = sweep.reached;
        let state = if garbage.is_last {
            counts.round.phase = Phase::Clearing;
            State::Clear
        } else {
            State::Sweep(sweep)
        };
        page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.collected.pieces += removed;
        (self.state, self.written) = (state, page.process.now());
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        let mut tx = self.write()?;
        let mut counts = self.own(&tx)?;
        let is_all = self.page.rows.remove_marks(&mut tx, MARKS)?;
        if is_all {
            counts.round.phase = Phase::Idle;
            counts.round.process = Default::default();
            counts.round.reached = None;
        }
        self.page.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        self.written = self.page.process.now();
        self.state = match is_all {
            false => State::Clear,
            // What has become garbage since another process began its round is still there.
            true if self.is_adopted => State::Begin,
            true => State::Idle,
        };
        Ok(())
    }

    /// Ends a round that cannot know what commits lead to. Nothing was removed.
    fn give_up(&mut self) -> Result<()> {
        let mut tx = self.write()?;
        let mut counts = self.own(&tx)?;
        counts.round.phase = Phase::Idle;
        counts.round.process = Default::default();
        counts.round.reached = None;
        // The next round has to look for garbage as this one had.
        counts.suspects = counts.suspects.max(1);
        self.page.rows.put_counts(&mut tx, &counts)?;
        Ok(tx.commit()?)
    }
}
