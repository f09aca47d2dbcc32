//! Requests to the source of a page: limits the pieces of a request and the requests that run at
//! once, and never requests a piece twice at the same time.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::PageId;
use crate::rows::pieces::MAX_PIECE;
use crate::source::PieceSource;

/// The most pieces of a request.
const PIECES: usize = 32;

/// The longest time limit, a year, for limits that overflow the clock.
const LONG: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The most requests of a page that run at once.
const REQUESTS: usize = 5;

/// The source of a page, with its time limit.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) source: Arc<dyn PieceSource>,
    pub(super) page: PageId,
    /// The number of the page.
    pub(super) number: u64,
    /// How long an answer may take.
    pub(super) limit: Duration,
    /// Tells this source apart from those that were set before and after.
    changes: u64,
}

/// The requests to the source of a page.
#[derive(Default)]
pub(super) struct Requests {
    state: Mutex<RequestsState>,
    changed: Condvar,
}

#[derive(Default)]
struct RequestsState {
    source: Option<Source>,
    /// How often the source was set. Fetches do not wait for requests to a former source.
    changes: u64,
    /// How many requests run, including those that have timed out.
    running: usize,
    /// The pieces that a thread is fetching.
    claimed: HashMap<Digest, Arc<Claim>>,
}

/// A piece that a thread is fetching.
#[derive(Default)]
struct Claim {
    failed: OnceLock<Failure>,
}

/// Why a piece did not arrive. All threads that wait for it get this error.
#[derive(Debug, Clone)]
struct Failure {
    /// The number of the page.
    page: u64,
    /// The name of the source.
    name: String,
    why: Why,
}

#[derive(Debug, Clone)]
enum Why {
    Network(String),
    NotAtSource(Kind, Digest),
    /// A piece that does not match: the expectation, and a description of the bytes that were sent.
    Wrong(Kind, Digest, &'static str, String),
}

impl From<Failure> for LedgerError {
    fn from(Failure { page, name, why }: Failure) -> Self {
        match why {
            Why::Network(reason) => LedgerError::Network { page, name, reason },
            Why::NotAtSource(kind, digest) => LedgerError::NotAtSource { page, name, kind, digest },
            Why::Wrong(kind, digest, expected, sent) => {
                let found = format!("{sent}, from source {name}");
                let error = LedgerError::integrity(kind, &digest, expected, found);
                error.needed(|by| (by.page, by.received) = (page, true))
            }
        }
    }
}

/// The answer of a source to a request.
type Answer = std::result::Result<Vec<Option<Vec<u8>>>, String>;

/// The pieces that a request is for.
type Group<'g> = &'g [(Kind, Digest)];

/// The running requests by number, each with its deadline.
type Asked<'g> = BTreeMap<usize, (Group<'g>, Instant)>;

/// Pieces that have arrived and match their digests.
pub(super) type Arrived = Vec<(Kind, Digest, Vec<u8>)>;

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("running", &self.lock().running).finish_non_exhaustive()
    }
}

/// A slot for a running request. It is taken until the source returns, or another source is set.
struct Slot {
    requests: Arc<Requests>,
    changes: u64,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.requests.lock();
        if state.changes == self.changes {
            state.running -= 1;
        }
        drop(state);
        self.requests.changed.notify_all();
    }
}

/// Pieces that no other thread fetches until this is dropped.
pub(super) struct Claimed<'r> {
    requests: &'r Arc<Requests>,
    changes: u64,
    pieces: Vec<(Kind, Digest)>,
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        let mut state = self.requests.lock();
        if state.changes == self.changes {
            for (_, digest) in &self.pieces {
                state.claimed.remove(digest);
            }
        }
        drop(state);
        self.requests.changed.notify_all();
    }
}

impl Requests {
    fn lock(&self) -> MutexGuard<'_, RequestsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_source(&self, source: Option<Source>) {
        let mut state = self.lock();
        let changes = state.changes + 1;
        let source = source.map(|source| Source { changes, ..source });
        let former = std::mem::replace(
            &mut *state,
            RequestsState { source, changes, ..RequestsState::default() },
        );
        drop(state);
        self.changed.notify_all();
        // Dropped without the lock, because it runs code of the program.
        drop(former);
    }

    pub(super) fn source(&self) -> Option<Source> {
        self.lock().source.clone()
    }

    /// Claims those of these pieces that no other thread is fetching. A fetch from a former source
    /// claims all of them, and does not keep other threads from fetching them too.
    pub(super) fn claim(
        self: &Arc<Self>,
        wanted: &[(Kind, Digest)],
        source: &Source,
    ) -> Claimed<'_> {
        let mut state = self.lock();
        let changes = source.changes;
        if state.changes != changes {
            return Claimed { requests: self, changes, pieces: wanted.to_vec() };
        }
        let is_free = |(_, digest): &&(Kind, Digest)| !state.claimed.contains_key(digest);
        let pieces: Vec<_> = wanted.iter().filter(is_free).copied().collect();
        state.claimed.extend(pieces.iter().map(|(_, digest)| (*digest, Arc::default())));
        Claimed { requests: self, changes, pieces }
    }

    /// Waits until no other thread is fetching one of these pieces. It ends, because each answer
    /// has a deadline.
    ///
    /// # Errors
    /// If one of them did not arrive.
    pub(super) fn wait(&self, wanted: &[(Kind, Digest)]) -> Result<()> {
        let mut state = self.lock();
        for (_, digest) in wanted {
            let Some(claim) = state.claimed.get(digest).map(Arc::clone) else { continue };
            while state.claimed.get(digest).is_some_and(|now| Arc::ptr_eq(now, &claim)) {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if let Some(failed) = claim.failed.get() {
                return Err(failed.clone().into());
            }
        }
        Ok(())
    }

    /// Takes a slot for a request. `None` if no slot is free, unless `waits`.
    fn slot(self: &Arc<Self>, source: &Source, waits: bool) -> Result<Option<Slot>> {
        let until = source.until();
        let mut state = self.lock();
        let changes = source.changes;
        // Requests to a former source need no slot.
        while state.changes == changes && state.running >= REQUESTS {
            if !waits {
                return Ok(None);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(source.timed_out().into());
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.changes == changes {
            state.running += 1;
        }
        Ok(Some(Slot { requests: Arc::clone(self), changes }))
    }
}

impl Source {
    pub(super) fn new(
        source: Arc<dyn PieceSource>,
        (page, number): (PageId, u64),
        limit: Duration,
    ) -> Self {
        Source { source, page, number, limit, changes: 0 }
    }

    /// The deadline of a request that begins now. A limit that overflows the clock becomes
    /// [`LONG`].
    fn until(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.limit).unwrap_or_else(|| now + LONG)
    }

    /// Its name, for messages.
    pub(super) fn name(&self) -> String {
        // Code of the program can panic.
        let name = catch_unwind(AssertUnwindSafe(|| self.source.name()));
        name.unwrap_or_else(|_| "(PieceSource::name panicked)".to_owned())
    }

    fn failed(&self, why: Why) -> Failure {
        Failure { page: self.number, name: self.name(), why }
    }

    fn timed_out(&self) -> Failure {
        self.failed(Why::Network(format!("no answer within {:?}", self.limit)))
    }
}

impl Claimed<'_> {
    pub(super) fn pieces(&self) -> &[(Kind, Digest)] {
        &self.pieces
    }

    /// Releases the pieces that are not wanted.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&Digest) -> bool) {
        let (kept, others) =
            self.pieces.drain(..).partition(|(_, digest): &(Kind, Digest)| is_wanted(digest));
        self.pieces = kept;
        drop(Claimed { requests: self.requests, changes: self.changes, pieces: others });
    }

    /// Requests the pieces from the source, and calls `arrived` with those of each answer that
    /// match their digests.
    ///
    /// # Errors
    /// The first error, after all good pieces were passed to `arrived`.
    pub(super) fn get(
        &self,
        source: &Source,
        mut arrived: impl FnMut(Arrived) -> Result<()>,
    ) -> Result<()> {
        let (sender, answers) = mpsc::channel();
        let mut groups = self.pieces.chunks(PIECES).enumerate().peekable();
        let mut asked = Asked::new();
        let mut failed: Option<LedgerError> = None;
        loop {
            while failed.is_none() && groups.peek().is_some() {
                match self.requests.slot(source, asked.is_empty()) {
                    Ok(None) => break,
                    Err(error) => failed = Some(error),
                    Ok(Some(slot)) => {
                        let Some((number, group)) = groups.next() else { break };
                        let until = source.until();
                        match ask(source, slot, (number, group), until, &sender) {
                            Ok(()) => drop(asked.insert(number, (group, until))),
                            Err(error) => failed = Some(error),
                        }
                    }
                }
            }
            if asked.is_empty() {
                return failed.map_or(Ok(()), Err);
            }
            let error = match self.next(&answers, &mut asked, source) {
                Ok((group, answer)) => {
                    let (good, error) = self.sorted(source, group, answer);
                    if good.is_empty() { error } else { arrived(good).err().or(error) }
                }
                Err(failure) => Some(failure.into()),
            };
            failed = failed.or(error);
        }
    }

    /// The next answer in time, and the pieces it is for.
    fn next<'g>(
        &self,
        answers: &Receiver<(usize, Answer)>,
        asked: &mut Asked<'g>,
        source: &Source,
    ) -> std::result::Result<(Group<'g>, Answer), Failure> {
        loop {
            let first = asked.values().map(|(_, until)| *until).min();
            let left = first.map(|until| until.saturating_duration_since(Instant::now()));
            match answers.recv_timeout(left.unwrap_or_default()) {
                Ok((number, answer)) => {
                    if let Some((group, _)) = asked.remove(&number) {
                        return Ok((group, answer));
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let failure = source.timed_out();
                    asked.retain(|_, (group, until)| {
                        let is_late = Some(*until) <= first;
                        if is_late {
                            group.iter().for_each(|(_, digest)| self.fail(digest, &failure));
                        }
                        !is_late
                    });
                    return Err(failure);
                }
            }
        }
    }

    /// The good pieces of an answer, and the first error in it.
    fn sorted(
        &self,
        source: &Source,
        group: Group<'_>,
        answer: Answer,
    ) -> (Arrived, Option<LedgerError>) {
        let pieces = match answer {
            Ok(pieces) if pieces.len() == group.len() => pieces,
            other => {
                let reason = match other {
                    Ok(pieces) => {
                        format!(
                            "{} pieces in answer to a request for {}",
                            pieces.len(),
                            group.len()
                        )
                    }
                    Err(reason) => reason,
                };
                let failure = source.failed(Why::Network(reason));
                group.iter().for_each(|(_, digest)| self.fail(digest, &failure));
                return (Vec::new(), Some(failure.into()));
            }
        };
        let (mut good, mut first) = (Vec::new(), None);
        for ((kind, digest), bytes) in group.iter().zip(pieces) {
            let why = match bytes {
                None => Why::NotAtSource(*kind, *digest),
                Some(bytes) if bytes.len() > MAX_PIECE => {
                    let sent = format!("{} bytes", bytes.len());
                    Why::Wrong(*kind, *digest, "at most 81,920 bytes", sent)
                }
                Some(bytes) => match kind.digest(&bytes) {
                    found if found == *digest => {
                        good.push((*kind, *digest, bytes));
                        continue;
                    }
                    found => {
                        let sent = format!("bytes with digest {found}");
                        Why::Wrong(*kind, *digest, "bytes with this digest", sent)
                    }
                },
            };
            let failure = source.failed(why);
            self.fail(digest, &failure);
            first.get_or_insert_with(|| failure.into());
        }
        (good, first)
    }

    /// Fails the threads that wait for a piece.
    fn fail(&self, digest: &Digest, failure: &Failure) {
        let state = self.requests.lock();
        if let Some(claim) = state.claimed.get(digest).filter(|_| state.changes == self.changes) {
            // Only the first failure is kept.
            let _ = claim.failed.set(failure.clone());
        }
    }
}

/// Runs a request on a thread of its own, because the source may never return.
fn ask(
    source: &Source,
    slot: Slot,
    (number, group): (usize, Group<'_>),
    until: Instant,
    sender: &Sender<(usize, Answer)>,
) -> Result<()> {
    let (source, group, sender) = (source.clone(), group.to_vec(), sender.clone());
    let run = move || {
        let asked = || source.source.fetch(source.page, &group, until);
        let answer = match catch_unwind(AssertUnwindSafe(asked)) {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => Err("the source panicked".to_owned()),
        };
        drop(slot);
        // The receiver is gone if the request has timed out.
        let _ = sender.send((number, answer));
    };
    let thread = thread::Builder::new().name("permazen-ledger-fetch".to_owned()).spawn(run);
    thread.map(drop).map_err(|error| LedgerError::Thread(error.to_string()))
}
