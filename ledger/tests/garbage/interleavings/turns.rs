//! One process at a time: whose turn it is, and one list of turns after the other.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvTransaction, TxOptions};

/// The other process, and the one that collects.
pub(crate) const OTHER: usize = 0;
pub(crate) const COLLECTOR: usize = 1;

/// The turns of two processes.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether turns are taken. Before and after that, both processes run at once.
    is_on: bool,
    running: Option<usize>,
    /// For each process, whether it waits to begin a transaction; if so, whether that only reads.
    waiting: [Option<bool>; 2],
    ended: [bool; 2],
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on, turns are taken.
    pub(crate) fn begin(&self) {
        self.lock().is_on = true;
    }

    /// Waits until it is the turn of a process.
    fn take(&self, process: usize, reads: bool) {
        let mut state = self.lock();
        if !state.is_on {
            return;
        }
        state.waiting[process] = Some(reads);
        state.running = None;
        self.changed.notify_all();
        let waited = self.changed.wait_while(state, |state| state.running != Some(process));
        waited.unwrap_or_else(PoisonError::into_inner).waiting[process] = None;
    }

    fn end(&self, process: usize) {
        let mut state = self.lock();
        (state.ended[process], state.running) = (true, None);
        self.changed.notify_all();
    }

    /// The processes that wait, once neither runs. `None` if all have ended.
    fn waiting(&self) -> Option<[Option<bool>; 2]> {
        let all_wait = |state: &State| {
            let idle = |process: usize| state.ended[process] || state.waiting[process].is_some();
            state.running.is_none() && idle(OTHER) && idle(COLLECTOR)
        };
        let waited = self.changed.wait_while(self.lock(), |state| !all_wait(state));
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_on = state.ended != [true; 2];
        state.is_on.then_some(state.waiting)
    }

    fn give(&self, process: usize) {
        self.lock().running = Some(process);
        self.changed.notify_all();
    }
}

/// The host as a process has it.
pub(crate) struct InTurn {
    pub(crate) host: MemoryStore,
    pub(crate) turns: Arc<Turns>,
    pub(crate) process: usize,
}

impl KvDatabase for InTurn {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        // A process with a transaction for writing keeps the turn, because the other one could not
        // have one.
        let is_free = self.host.begin(&TxOptions::writing().with_wait(Duration::ZERO)).is_ok();
        if is_free {
            self.turns.take(self.process, options.read_only);
        }
        self.host.begin(options)
    }
}

/// Where both waited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// The process that was chosen, and whether the other one is yet to be tried.
    pub(crate) process: usize,
    is_left: bool,
    /// How many turns each had before, and whether the transaction that each waits for only reads.
    before: [usize; 2],
    waiting: [Option<bool>; 2],
}

/// How a run came out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Given {
    New,
    /// Another list differs from this one only by the order of reads.
    Same,
    /// A slice has ended early because it took too long, so this was no longer that list.
    Other,
}

/// One list of turns after the other.
#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) turns: Vec<Turn>,
    /// How often a process may be interrupted. `None` if all lists are tried.
    pub(crate) most: Option<usize>,
    /// How often this list was another one.
    pub(crate) others: usize,
}

impl Lists {
    /// Moves to the next list. `false` after the last one.
    pub(crate) fn next(&mut self) -> bool {
        while let Some(turn) = self.turns.pop() {
            if turn.is_left {
                self.turns.push(Turn { process: 1 - turn.process, is_left: false, ..turn });
                return true;
            }
        }
        false
    }

    /// Gives one turn after the other.
    pub(crate) fn give_all(&mut self, turns: &Turns) -> Given {
        let (mut at, mut interruptions, mut before) = (0, 0, [0; 2]);
        let (fixed, mut given) = (self.turns.len(), Given::New);
        // The process that had the turn before, and whether its transaction only read.
        let mut last: Option<(usize, bool)> = None;
        while let Some(waiting) = turns.waiting() {
            let reads = |process: usize| waiting[process] == Some(true);
            // The other process waited before the collector has read, so its read comes before
            // that.
            let is_same = self.most.is_none() && last == Some((COLLECTOR, true)) && reads(OTHER);
            let goes_on = last.map_or(OTHER, |(process, _)| process);
            let process = match waiting {
                [Some(_), None] => OTHER,
                [None, Some(_)] => COLLECTOR,
                _ if is_same => COLLECTOR,
                _ if given == Given::Other => goes_on,
                _ => {
                    if at == self.turns.len() {
                        let is_left = self.most.is_none_or(|most| interruptions < most);
                        self.turns.push(Turn { process: goes_on, is_left, before, waiting });
                    }
                    let turn = self.turns[at];
                    if (turn.before, turn.waiting) == (before, waiting) {
                        at += 1;
                        turn.process
                    } else {
                        given = Given::Other;
                        goes_on
                    }
                }
            };
            if is_same && process == OTHER && given == Given::New {
                given = Given::Same;
            }
            let is_interruption = |last: usize| last != process && waiting[last].is_some();
            interruptions += usize::from(last.is_some_and(|(last, _)| is_interruption(last)));
            before[process] += 1;
            last = Some((process, reads(process)));
            turns.give(process);
        }
        if given == Given::Other || at < fixed {
            self.others += 1;
            // It was first found when a slice took too long, and is not found again.
            if self.others == 5 {
                self.others = 0;
                self.turns.truncate(at);
            } else {
                self.turns.truncate(fixed);
            }
            return Given::Other;
        }
        self.others = 0;
        given
    }
}

/// Says that a thread has ended, also if it has failed.
pub(crate) struct End<'t>(pub(crate) &'t Turns, pub(crate) usize);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}
