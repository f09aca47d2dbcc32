//! The rows that say which pages are open in which processes, and when the others were closed.

use permazen_kv::{KvRead, KvWrite};

use super::page::Rows;
use super::repository::{CLOSED, NO_PAGE, each, get, of_page, put};
use super::{number, sealed};
use crate::error::Result;
use crate::ids::ProcessId;

pub(super) const OPENED: u8 = 0x08;
pub(super) const FIRST_OPENED: u8 = 0x2b;

fn key(page: u64, process: &ProcessId) -> Vec<u8> {
    [&of_page(OPENED, page)[..], &process.0].concat()
}

/// Writes that a page is open in a process.
pub(crate) fn put_opened(tx: &mut dyn KvWrite, page: u64, process: &ProcessId) -> Result<()> {
    remove_closed(tx, page)?;
    put(tx, &key(page, process), Vec::new())
}

/// Writes that a page is not open in a process any more. If it is open in no other, it was closed
/// at this time, in milliseconds.
pub(crate) fn close(tx: &mut dyn KvWrite, page: u64, process: &ProcessId, time: u64) -> Result<()> {
    remove_opened(tx, page, process)?;
    if opened_by(tx, page)?.is_empty() {
        put(tx, &of_page(CLOSED, page), time.to_be_bytes().to_vec())?;
    }
    Ok(())
}

/// Removes the row that a page is open in a process.
pub(crate) fn remove_opened(tx: &mut dyn KvWrite, page: u64, process: &ProcessId) -> Result<()> {
    Ok(tx.remove(&key(page, process))?)
}

/// The processes in which a page is open, as their rows say.
pub(crate) fn opened_by(tx: &dyn KvRead, page: u64) -> Result<Vec<ProcessId>> {
    let mut processes = Vec::new();
    each(tx, &of_page(OPENED, page), "it is no open page", |process, value| {
        processes.push(ProcessId(process.try_into().ok()?));
        value.is_empty().then_some(())
    })?;
    Ok(processes)
}

/// All pages that are open, each with a process that has it open.
pub(crate) fn opened(tx: &dyn KvRead) -> Result<Vec<(u64, ProcessId)>> {
    let mut pages = Vec::new();
    each(tx, &[OPENED], "it is no open page", |key, value| {
        let (page, process) = number::decode(key)?;
        pages.push((page, ProcessId(process.try_into().ok()?)));
        value.is_empty().then_some(())
    })?;
    Ok(pages)
}

/// When a page was closed last, in milliseconds since 1970. `None` if it is open, or was never
/// opened.
pub(crate) fn closed(tx: &dyn KvRead, page: u64) -> Result<Option<u64>> {
    let key = of_page(CLOSED, page);
    let Some(value) = get(tx, &key)? else { return Ok(None) };
    match value.try_into().map(u64::from_be_bytes) {
        Ok(time) => Ok(Some(time)),
        Err(_) => Err(sealed::damaged(NO_PAGE, &key, "it is no time")),
    }
}

/// Whether a page is open in a process, or was closed: whether it was ever opened.
pub(crate) fn has_rows(tx: &dyn KvRead, page: u64) -> Result<bool> {
    Ok(tx.get(&of_page(CLOSED, page))?.is_some() || !opened_by(tx, page)?.is_empty())
}

/// The pages with a time at which they were closed.
pub(crate) fn all_closed(tx: &dyn KvRead) -> Result<Vec<u64>> {
    let mut pages = Vec::new();
    each(tx, &[CLOSED], "it is no time", |key, _| {
        pages.push(number::decode(key)?.0);
        Some(())
    })?;
    Ok(pages)
}

/// Removes the closing time of a page.
pub(crate) fn remove_closed(tx: &mut dyn KvWrite, page: u64) -> Result<()> {
    Ok(tx.remove(&of_page(CLOSED, page))?)
}

impl Rows {
    /// Whether the page was ever opened.
    pub(crate) fn was_opened(&self, tx: &dyn KvRead) -> Result<bool> {
        Ok(tx.get(&self.stored(&[FIRST_OPENED]))?.is_some())
    }

    /// The fingerprint of the device on which the page was opened for the first time. `None` if it
    /// never was.
    pub(crate) fn device(&self, tx: &dyn KvRead) -> Result<Option<[u8; 16]>> {
        let Some(life) = self.get(tx, &[FIRST_OPENED])? else { return Ok(None) };
        match life.split_first_chunk() {
            Some((device, rest)) if rest.len() == 8 => Ok(Some(*device)),
            _ => Err(sealed::damaged(self.number, &[FIRST_OPENED], "it does not have 24 bytes")),
        }
    }

    /// Writes the device and its epoch when the page is opened for the first time.
    pub(crate) fn put_first_opened(&self, tx: &mut dyn KvWrite, device: [u8; 24]) -> Result<()> {
        if self.get(tx, &[FIRST_OPENED])?.is_none() {
            self.put(tx, &[FIRST_OPENED], device.to_vec())?;
        }
        Ok(())
    }
}
