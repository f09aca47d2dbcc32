//! A page that a process has open.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use permazen_kv::{KvDatabase, KvRead, KvTransaction, TxOptions};

use super::lease::{Process, WAIT};
use super::pins::{Pin, Pins};
use crate::error::{LedgerError, Result};
use crate::host::lock_before;
use crate::ids::{CommitId, ProcessId};
use crate::rows::page::Rows;
use crate::rows::process::{Held, PinRow};

/// A page that a process has open: one for all of its handles.
pub(crate) struct OpenPage {
    pub(crate) host: Arc<dyn KvDatabase>,
    pub(crate) rows: Rows,
    pub(crate) process: Arc<Process>,
    /// Whether the lease is one for this page alone.
    has_own_lease: bool,
    pub(crate) pins: Arc<Pins>,
    /// Held by whoever writes rows of pins, so that no pin gets two.
    writing: Mutex<()>,
    holders: Mutex<Vec<Weak<dyn Holder>>>,
    /// Raised when there may be pieces of streams that are given up; 0 if there are none.
    pub(crate) leftovers: AtomicU64,
}

impl fmt::Debug for OpenPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenPage").field("number", &self.rows.page).finish_non_exhaustive()
    }
}

/// Somebody who keeps commits from being removed, and may never need them again.
pub(crate) trait Holder: Send + Sync {
    /// Gives up what nobody has asked for in the last minutes. The time is in milliseconds.
    fn release(&self, now: u64);
}

/// Who has a page open.
pub(crate) enum OpenedBy {
    /// The process with its lease in the repository.
    Repository(Arc<Process>),
    /// The process with a lease in the database of the page.
    Own(Arc<Process>),
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        // Without it, others wait for the end of the lease.
        if self.has_own_lease {
            let _ = self.process.leave(&*self.host);
        }
    }
}

impl OpenPage {
    pub(crate) fn new(host: Arc<dyn KvDatabase>, rows: Rows, opened_by: OpenedBy) -> Self {
        let (process, has_own_lease) = match opened_by {
            OpenedBy::Repository(process) => (process, false),
            OpenedBy::Own(process) => (process, true),
        };
        // Nobody knows what a process has left that was killed.
        let leftovers = AtomicU64::new(1);
        let (pins, writing, holders) = (Arc::default(), Mutex::default(), Mutex::default());
        OpenPage { host, rows, process, has_own_lease, pins, writing, holders, leftovers }
    }

    /// Renews the lease, if it is one for this page.
    pub(crate) fn renew(&self) -> Result<()> {
        match self.has_own_lease {
            true => self.process.renew(&*self.host),
            false => Ok(()),
        }
    }

    pub(crate) fn read(&self) -> Result<Box<dyn KvTransaction + Send + '_>> {
        Ok(self.host.begin(&TxOptions::reading())?)
    }

    /// What `find` finds in a transaction, and a pin of the commit that it names, which must be
    /// there.
    pub(crate) fn pinned<T>(
        self: &Arc<Self>,
        find: impl FnMut(&dyn KvTransaction) -> Result<(CommitId, T)>,
    ) -> Result<(Pin, T)> {
        self.held(Held::Read, find)
    }

    /// The same with this reason.
    pub(crate) fn held<T>(
        self: &Arc<Self>,
        held: Held,
        mut find: impl FnMut(&dyn KvTransaction) -> Result<(CommitId, T)>,
    ) -> Result<(Pin, T)> {
        loop {
            let removals = self.pins.removals();
            let (commit, found) = find(&*self.read()?)?;
            if let Some(pin) = self.pins.pin((commit, held), removals, self.process.now()) {
                return Ok((pin, found));
            }
        }
    }

    /// Asks somebody now and then to give up pins.
    pub(crate) fn add_holder(&self, holder: Weak<dyn Holder>) {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner).push(holder);
    }

    fn release_unasked(&self) {
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        holders.retain(|holder| holder.strong_count() > 0);
        let there: Vec<_> = holders.iter().filter_map(Weak::upgrade).collect();
        drop(holders);
        let now = self.process.now();
        there.iter().for_each(|holder| holder.release(now));
    }

    /// Protects what is read for long against other processes, and gives back what is not.
    ///
    /// # Errors
    /// If the page is gone, or its host fails.
    pub(crate) fn write_pins(&self) -> Result<()> {
        let _writing = lock_before(&*self.host, &self.writing)?;
        self.release_unasked();
        let (is_protected, is_due) = {
            let host = self.read()?;
            // If others have taken the lease, the rows of all pins are to be written again.
            let is_protected = !self.pins.have_rows() || self.process.is_signed(&host)?;
            (is_protected, !self.due_pins(&host, &self.process.id())?.is_empty())
        };
        let left = self.pins.take_left();
        if is_protected && !is_due && left.is_empty() {
            return Ok(());
        }
        let result = self.write_pin_rows(&left);
        if result.is_err() {
            self.pins.not_removed(left);
        }
        result
    }

    /// The pins that are to be written. One of a commit that is not there protects nothing: it was
    /// removed, and who reads it is told so; or it comes from elsewhere, and is about to be
    /// written.
    fn due_pins(&self, host: &dyn KvRead, process: &ProcessId) -> Result<Vec<PinRow>> {
        let mut due = Vec::new();
        for pin in self.pins.due(process, self.process.now(), || self.process.streams.number()) {
            if self.rows.has_commit(host, &pin.commit)? {
                due.push(pin);
            }
        }
        Ok(due)
    }

    fn write_pin_rows(&self, left: &[PinRow]) -> Result<()> {
        let rows = &self.rows;
        let mut tx = self.host.begin(&TxOptions::writing().with_wait(WAIT))?;
        rows.check_there(&tx)?;
        for row in left {
            rows.remove_pin(&mut tx, &row.process, row.number)?;
        }
        // The process can have another ID than before. Then all of its pins are due.
        let process = self.process.sign(&mut tx)?;
        let written = self.due_pins(&tx, &process)?;
        for row in &written {
            rows.put_pin(&mut tx, row)?;
            // When nothing keeps it any more, it waits anew.
            rows.remove_expiring(&mut tx, &row.commit)?;
        }
        if !written.is_empty() {
            rows.raise_keeps(&mut tx)?;
        }
        tx.commit()?;
        self.pins.wrote(&written);
        Ok(())
    }

    /// What an error about something that is not there means to who reads these commits.
    pub(crate) fn explained(&self, error: LedgerError, commits: &[CommitId]) -> LedgerError {
        let error = error.needed(|by| {
            by.page = self.rows.page;
            by.commits = commits.to_vec();
        });
        if !matches!(error, LedgerError::Missing { .. }) {
            return error;
        }
        let ask = || {
            let tx = self.read()?;
            self.rows.check_there(&tx)?;
            for commit in commits {
                if !self.rows.has_commit(&tx, commit)? {
                    let (page, commit) = (self.rows.page, *commit);
                    return Err(LedgerError::SnapshotExpired { page, commit });
                }
            }
            Ok(())
        };
        match ask() {
            Err(why) => why,
            Ok(()) => error,
        }
    }
}
