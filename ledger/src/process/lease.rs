//! The lease of a process: a row that says until when other processes must take it for alive.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};

use super::clock::{Clock, millis};
use super::streams::Streams;
use crate::commit::time::CommitTime;
use crate::error::Result;
use crate::ids::ProcessId;
use crate::random::random;
use crate::rows::process as rows;

/// How long a lease lasts.
const LEASE: Duration = Duration::from_secs(60 * 60);

/// The age at which a lease is renewed.
const RENEWAL: Duration = Duration::from_secs(10 * 60);

/// A lease that ends later than this was written under a wrong clock.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// How long a lease must be seen as ended before its process counts as dead. The clock may have
/// jumped, or all processes may have slept: then they renew their leases within this time.
const CONFIRMED_AFTER: Duration = Duration::from_secs(60);

/// A clock that is set back by no more than this still gives later times to later commits.
const SET_BACK: Duration = Duration::from_secs(24 * 60 * 60);

/// A change that is ahead of the clock because of its parent moves changes of other branches ahead
/// by at most this.
const PULL: Duration = Duration::from_secs(5 * 60);

/// How long maintenance waits for the write lock of the host. The thread that drops the last handle
/// waits for it too.
pub(crate) const WAIT: Duration = Duration::from_secs(1);

/// This process, as others see it.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) clock: Arc<dyn Clock>,
    /// The caller vouches that no other process has the repository open.
    pub(crate) is_exclusive: bool,
    /// The device in its commits; zeros for no device.
    pub(crate) device: [u8; 16],
    pub(crate) streams: Streams,
    /// The time of the last commit of this process.
    last_time: AtomicU64,
    made_by: permazen_kv::__internal::Process,
    state: Mutex<LeaseState>,
}

#[derive(Debug)]
struct LeaseState {
    id: ProcessId,
    /// The milliseconds at which the lease was written last. `None` if there is no lease.
    leased: Option<u64>,
    /// When a lease was first seen as ended, or as ending too late.
    doubtful: HashMap<ProcessId, u64>,
}

#[allow(clippy::cast_possible_truncation, reason = "the durations above, of hours")]
fn len(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

impl Process {
    pub(crate) fn new(clock: Arc<dyn Clock>, is_exclusive: bool, device: [u8; 16]) -> Result<Self> {
        let state = LeaseState { id: ProcessId(random()?), leased: None, doubtful: HashMap::new() };
        let streams = Streams::default();
        let last_time = AtomicU64::new(0);
        let (made_by, state) = (permazen_kv::__internal::Process::this(), Mutex::new(state));
        Ok(Process { clock, is_exclusive, device, streams, last_time, made_by, state })
    }

    /// The same process with a lease of its own, for another database.
    pub(crate) fn again(&self) -> Result<Self> {
        Self::new(Arc::clone(&self.clock), self.is_exclusive, self.device)
    }

    fn lock(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process is a child that was forked from the one that made this. In a child,
    /// threads of the parent do not exist, and locks that they held stay locked.
    pub(crate) fn is_forked(&self) -> bool {
        !self.made_by.is_this()
    }

    /// The milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        millis(self.clock.now())
    }

    /// The time of the next change, after its parent: later than the time of each change before,
    /// also if both are made within a millisecond or the clock was set back. Otherwise chance would
    /// decide which of two changes on two branches is the later one. `None` if the parent has the
    /// last time.
    ///
    /// A parent that is ahead of the clock, because it was made elsewhere, moves the changes of
    /// other branches and pages at most [`PULL`] ahead.
    pub(crate) fn time_after(&self, parent: CommitTime) -> Option<CommitTime> {
        let now = CommitTime::at(self.clock.now());
        let next = |last: u64| {
            let last = CommitTime::from_bits(last);
            // The clock went back by more than this, so it was wrong before, and its times do not
            // count.
            let clock = match last.as_millis() > now.as_millis().saturating_add(len(SET_BACK)) {
                true => now,
                false => now.max(last.next()),
            };
            (clock, CommitTime::after(parent, clock))
        };
        let update = |last| {
            let (clock, time) = next(last);
            Some(clock.max(time.unwrap_or(clock).min(now.later(len(PULL)))).to_bits())
        };
        let last = self.last_time.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        // `update` always returns a value.
        next(last.unwrap_or_default()).1
    }

    /// The ID of the process, for a transaction that writes a row with it. Writes the lease if
    /// there is none. If another process has taken the lease, because it was not renewed, this
    /// process gets a new ID.
    pub(crate) fn ensure_lease(&self, tx: &mut dyn KvWrite) -> Result<ProcessId> {
        let now = self.now();
        let mut state = self.lock();
        if rows::lease(tx, &state.id)?.is_some() {
            return Ok(state.id);
        }
        if state.leased.is_some() {
            state.id = ProcessId(random()?);
        }
        rows::put_lease(tx, &state.id, now.saturating_add(len(LEASE)))?;
        // If the transaction fails, the lease is missing, and the next `ensure_lease` writes one,
        // under a new ID.
        state.leased = Some(now);
        Ok(state.id)
    }

    /// Whether the process has its lease.
    pub(crate) fn has_lease(&self, tx: &dyn KvRead) -> Result<bool> {
        Ok(rows::lease(tx, &self.id())?.is_some())
    }

    pub(crate) fn id(&self) -> ProcessId {
        self.lock().id
    }

    /// Renews the lease, if there is one and it is due.
    pub(crate) fn renew(&self, host: &dyn KvDatabase) -> Result<()> {
        let now = self.now();
        let id = match *self.lock() {
            // After a clock was set back, the lease ends too late for others to believe, so it is
            // renewed at once.
            LeaseState { id, leased: Some(leased), .. }
                if now >= leased.saturating_add(len(RENEWAL)) || now < leased =>
            {
                id
            }
            _ => return Ok(()),
        };
        let mut tx = host.begin(&TxOptions::writing().with_wait(WAIT))?;
        // If another process has removed the row, the pins are gone. The next `ensure_lease` takes
        // a new ID.
        if rows::lease(&tx, &id)?.is_some() {
            rows::put_lease(&mut tx, &id, now.saturating_add(len(LEASE)))?;
            tx.commit()?;
        }
        let mut state = self.lock();
        if state.id == id {
            state.leased = Some(now);
        }
        Ok(())
    }

    /// Returns the lease, so that other processes need not wait for its end.
    pub(crate) fn return_lease(&self, host: &dyn KvDatabase) -> Result<()> {
        let id = match *self.lock() {
            LeaseState { id, leased: Some(_), .. } => id,
            _ => return Ok(()),
        };
        let mut tx = host.begin(&TxOptions::writing().with_wait(WAIT))?;
        rows::remove_lease(&mut tx, &id)?;
        Ok(tx.commit()?)
    }

    /// The same in a transaction that writes more.
    pub(crate) fn return_lease_in(&self, tx: &mut dyn KvWrite) -> Result<()> {
        rows::remove_lease(tx, &self.id())
    }

    /// Whether another process must be taken for alive.
    pub(crate) fn lives(&self, tx: &dyn KvRead, process: &ProcessId) -> Result<bool> {
        if *process == self.id() {
            return Ok(true);
        }
        Ok(match rows::lease(tx, process)? {
            Some(end) => !self.has_ended(process, end),
            None => false,
        })
    }

    fn has_ended(&self, process: &ProcessId, end: u64) -> bool {
        let now = self.now();
        if self.is_exclusive {
            return true;
        }
        let patience = match end {
            _ if end <= now => CONFIRMED_AFTER,
            _ if end > now.saturating_add(len(LONGEST)) => LEASE,
            _ => {
                self.lock().doubtful.remove(process);
                return false;
            }
        };
        let mut state = self.lock();
        let seen = state.doubtful.entry(*process).or_insert(now);
        // If the clock was set back, the waiting time begins again.
        *seen = now.min(*seen);
        now >= seen.saturating_add(len(patience))
    }

    /// Removes the leases that have ended. Returns `true` if some seem to have ended but do not
    /// count as ended yet.
    pub(crate) fn remove_ended_leases(&self, host: &dyn KvDatabase) -> Result<bool> {
        let own = self.id();
        let mut ended = rows::leases(&host.begin(&TxOptions::reading())?)?;
        ended.retain(|(process, _)| *process != own);
        let there: HashSet<_> = ended.iter().map(|(process, _)| *process).collect();
        self.lock().doubtful.retain(|process, _| there.contains(process));
        ended.retain(|(process, end)| self.has_ended(process, *end));
        if ended.is_empty() {
            return Ok(!self.lock().doubtful.is_empty());
        }
        let mut tx = host.begin(&TxOptions::writing().with_wait(WAIT))?;
        for (process, _) in &ended {
            // The lease may have been renewed meanwhile.
            let end = rows::lease(&tx, process)?;
            if end.is_some_and(|end| self.has_ended(process, end)) {
                rows::remove_lease(&mut tx, process)?;
            }
        }
        tx.commit()?;
        let mut state = self.lock();
        for (process, _) in &ended {
            state.doubtful.remove(process);
        }
        Ok(!state.doubtful.is_empty())
    }
}
