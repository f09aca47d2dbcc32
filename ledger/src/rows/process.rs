//! The rows of processes: their leases in the repository, their pins in a page.

use permazen_kv::{KvRead, KvWrite};

use super::page::Rows;
use super::repository::{NO_PAGE, each};
use super::sealed;
use crate::digest::Digest;
use crate::error::Result;
use crate::ids::CommitId;

pub(super) const LEASE: u8 = 0x07;
pub(super) const PIN: u8 = 0x31;

/// A process that has the repository open: random bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProcessId(pub(crate) [u8; 16]);

/// A commit that a process protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PinRow {
    pub(crate) process: ProcessId,
    pub(crate) number: u64,
    pub(crate) commit: CommitId,
}

fn lease_key(process: &ProcessId) -> Vec<u8> {
    [&[LEASE][..], &process.0].concat()
}

/// The milliseconds at which the lease of a process ends. `None` if it has none.
pub(crate) fn lease(host: &dyn KvRead, process: &ProcessId) -> Result<Option<u64>> {
    let key = lease_key(process);
    let Some(row) = host.get(&key)? else { return Ok(None) };
    let value = sealed::open(NO_PAGE, &key, &row)?;
    match value.try_into().map(u64::from_be_bytes) {
        Ok(end) => Ok(Some(end)),
        Err(_) => Err(sealed::damaged(NO_PAGE, &key, "it is no time")),
    }
}

pub(crate) fn put_lease(host: &mut dyn KvWrite, process: &ProcessId, end: u64) -> Result<()> {
    let key = lease_key(process);
    let row = sealed::seal(NO_PAGE, &key, end.to_be_bytes().to_vec());
    Ok(host.put(&key, &row)?)
}

pub(crate) fn remove_lease(host: &mut dyn KvWrite, process: &ProcessId) -> Result<()> {
    Ok(host.remove(&lease_key(process))?)
}

/// The processes with a lease, and when it ends.
pub(crate) fn leases(host: &dyn KvRead) -> Result<Vec<(ProcessId, u64)>> {
    let mut processes = Vec::new();
    each(host, &[LEASE], "it is no lease", |process, end| {
        let end = u64::from_be_bytes(end.try_into().ok()?);
        processes.push((ProcessId(process.try_into().ok()?), end));
        Some(())
    })?;
    Ok(processes)
}

/// The value of the row of a pin: what follows is a commit.
pub(super) const PIN_OF_COMMIT: u8 = 0;

impl Rows {
    fn pin_key(process: &ProcessId, number: u64) -> Vec<u8> {
        [&[PIN][..], &process.0, &number.to_be_bytes()].concat()
    }

    pub(crate) fn put_pin(&self, host: &mut dyn KvWrite, pin: &PinRow) -> Result<()> {
        let value = [&[PIN_OF_COMMIT][..], &pin.commit.0.0].concat();
        self.put(host, &Self::pin_key(&pin.process, pin.number), value)
    }

    pub(crate) fn remove_pin(
        &self,
        host: &mut dyn KvWrite,
        process: &ProcessId,
        number: u64,
    ) -> Result<()> {
        self.remove(host, &Self::pin_key(process, number))
    }

    /// The pins of all processes.
    pub(crate) fn pins(&self, host: &dyn KvRead) -> Result<Vec<PinRow>> {
        let mut pins = Vec::new();
        self.visit(host, &[PIN], |key, value| {
            match pin(key, value) {
                Some(pin) => pins.push(pin),
                None => return Err(self.damaged(&[&[PIN][..], key].concat(), "it is no pin")),
            }
            Ok(())
        })?;
        Ok(pins)
    }
}

/// The pin with this key, without its first byte, and value.
pub(super) fn pin(key: &[u8], value: &[u8]) -> Option<PinRow> {
    let (process, number) = key.split_first_chunk()?;
    let number = u64::from_be_bytes(number.try_into().ok()?);
    let commit = Digest::from_slice(value.strip_prefix(&[PIN_OF_COMMIT])?)?;
    Some(PinRow { process: ProcessId(*process), number, commit: CommitId(commit) })
}
