//! The rows of processes: their leases in the repository, their pins and streams in a page.

use permazen_kv::{KvRead, KvWrite};

use super::page::Rows;
use super::repository::{NO_PAGE, each};
use super::sealed;
use crate::digest::Digest;
use crate::error::Result;
use crate::ids::{CommitId, ProcessId};

pub(super) const LEASE: u8 = 0x07;
pub(super) const HOLD: u8 = 0x31;

/// A commit that a process has pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PinRow {
    pub(crate) process: ProcessId,
    pub(crate) number: u64,
    pub(crate) commit: CommitId,
    pub(crate) reason: PinReason,
}

/// Why a process has pinned a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PinReason {
    /// It is being read.
    Read,
    /// A head of a branch is about to be made on it, so the commits that merging that head needs
    /// are kept too.
    Base,
}

fn lease_key(process: &ProcessId) -> Vec<u8> {
    [&[LEASE][..], &process.0].concat()
}

/// The milliseconds at which the lease of a process ends. `None` if it has no lease.
pub(crate) fn lease(tx: &dyn KvRead, process: &ProcessId) -> Result<Option<u64>> {
    let key = lease_key(process);
    let Some(row) = tx.get(&key)? else { return Ok(None) };
    let value = sealed::open(NO_PAGE, &key, &row)?;
    match value.try_into().map(u64::from_be_bytes) {
        Ok(end) => Ok(Some(end)),
        Err(_) => Err(sealed::damaged(NO_PAGE, &key, "it is no time")),
    }
}

pub(crate) fn put_lease(tx: &mut dyn KvWrite, process: &ProcessId, end: u64) -> Result<()> {
    let key = lease_key(process);
    let row = sealed::seal(NO_PAGE, &key, end.to_be_bytes().to_vec());
    Ok(tx.put(&key, &row)?)
}

pub(crate) fn remove_lease(tx: &mut dyn KvWrite, process: &ProcessId) -> Result<()> {
    Ok(tx.remove(&lease_key(process))?)
}

/// The processes with a lease, and when it ends.
pub(crate) fn leases(tx: &dyn KvRead) -> Result<Vec<(ProcessId, u64)>> {
    let mut processes = Vec::new();
    each(tx, &[LEASE], "it is no lease", |process, end| {
        let end = u64::from_be_bytes(end.try_into().ok()?);
        processes.push((ProcessId(process.try_into().ok()?), end));
        Some(())
    })?;
    Ok(processes)
}

/// A value that a process writes in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StreamId {
    pub(crate) process: ProcessId,
    pub(crate) number: u64,
}

/// The state of such a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    /// No commit has it.
    Open,
    /// This commit has it since this round of the collector; 0 if no round ran.
    Attached { commit: CommitId, round: u64 },
}

/// A pin or stream of a process in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    Pin(PinRow),
    Stream(StreamId, StreamState),
}

/// The first byte of the value of a row. After `PIN` and `BASE` comes a commit, after `ATTACHED` a
/// commit and a round.
const PIN: u8 = 0;
const OPEN: u8 = 1;
const ATTACHED: u8 = 2;
const BASE: u8 = 3;

impl Hold {
    pub(super) fn value(&self) -> Vec<u8> {
        match self {
            Hold::Pin(pin) => {
                let kind = if pin.reason == PinReason::Base { BASE } else { PIN };
                [&[kind][..], &pin.commit.0.0].concat()
            }
            Hold::Stream(_, StreamState::Open) => vec![OPEN],
            Hold::Stream(_, StreamState::Attached { commit, round }) => {
                [&[ATTACHED][..], &commit.0.0, &round.to_be_bytes()].concat()
            }
        }
    }
}

/// Decodes the row with this key, without its first byte, and value.
pub(super) fn hold(key: &[u8], value: &[u8]) -> Option<Hold> {
    let (process, number) = key.split_first_chunk()?;
    let (process, number) = (ProcessId(*process), u64::from_be_bytes(number.try_into().ok()?));
    let (kind, rest) = value.split_first()?;
    let commit = |bytes| Digest::from_slice(bytes).map(CommitId);
    Some(match (*kind, rest) {
        (PIN | BASE, rest) => {
            let reason = if *kind == BASE { PinReason::Base } else { PinReason::Read };
            Hold::Pin(PinRow { process, number, commit: commit(rest)?, reason })
        }
        (OPEN, []) => Hold::Stream(StreamId { process, number }, StreamState::Open),
        (ATTACHED, rest) => {
            let (id, round) = rest.split_last_chunk()?;
            let round = u64::from_be_bytes(*round);
            let state = StreamState::Attached { commit: commit(id)?, round };
            Hold::Stream(StreamId { process, number }, state)
        }
        _ => return None,
    })
}

impl Rows {
    fn pin_key(process: &ProcessId, number: u64) -> Vec<u8> {
        [&[HOLD][..], &process.0, &number.to_be_bytes()].concat()
    }

    pub(crate) fn put_pin(&self, tx: &mut dyn KvWrite, pin: &PinRow) -> Result<()> {
        self.put(tx, &Self::pin_key(&pin.process, pin.number), Hold::Pin(*pin).value())
    }

    pub(crate) fn remove_pin(
        &self,
        tx: &mut dyn KvWrite,
        process: &ProcessId,
        number: u64,
    ) -> Result<()> {
        self.remove(tx, &Self::pin_key(process, number))
    }

    /// The pins of all processes.
    pub(crate) fn pins(&self, tx: &dyn KvRead) -> Result<Vec<PinRow>> {
        let mut pins = Vec::new();
        self.visit_holds(tx, |hold| {
            if let Hold::Pin(pin) = hold {
                pins.push(pin);
            }
        })?;
        Ok(pins)
    }

    /// Calls `each` with the pins and streams of all processes.
    pub(super) fn visit_holds(&self, tx: &dyn KvRead, mut each: impl FnMut(Hold)) -> Result<()> {
        self.visit(tx, &[HOLD], |key, value| match hold(key, value) {
            Some(hold) => {
                each(hold);
                Ok(())
            }
            None => Err(self.damaged(&[&[HOLD][..], key].concat(), "it is no pin and no stream")),
        })
    }
}
