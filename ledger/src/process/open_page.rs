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
use crate::rows::process::{PinReason, PinRow};

/// A page that a process has open: one for all of its handles.
pub(crate) struct OpenPage {
    pub(crate) host: Arc<dyn KvDatabase>,
    pub(crate) rows: Rows,
    pub(crate) process: Arc<Process>,
    /// Whether the lease is one for this page alone.
    has_own_lease: bool,
    pub(crate) pins: Arc<Pins>,
    /// Held while rows of pins are written, so that no pin gets two.
    writing: Mutex<()>,
    holders: Mutex<Vec<Weak<dyn PinHolder>>>,
    /// Raised when a stream is given up whose pieces may have rows; 0 if there are no such rows.
    pub(crate) leftovers: AtomicU64,
}

impl fmt::Debug for OpenPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenPage").field("number", &self.rows.number).finish_non_exhaustive()
    }
}

/// A holder of pins that may never need them again, such as a watcher that is not asked.
pub(crate) trait PinHolder: Send + Sync {
    /// Drops pins that were not used in the last minutes. The time is in milliseconds.
    fn release(&self, now: u64);
}

/// The process that has a page open, by where its lease lies.
pub(crate) enum OpenedBy {
    /// The process with its lease in the repository.
    Repository(Arc<Process>),
    /// The process with a lease in the database of the page.
    Own(Arc<Process>),
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        // If this fails, other processes wait for the end of the lease.
        if self.has_own_lease {
            let _ = self.process.return_lease(&*self.host);
        }
    }
}

impl OpenPage {
    pub(crate) fn new(host: Arc<dyn KvDatabase>, rows: Rows, opened_by: OpenedBy) -> Self {
        let (process, has_own_lease) = match opened_by {
            OpenedBy::Repository(process) => (process, false),
            OpenedBy::Own(process) => (process, true),
        };
        // A killed process may have left rows, so the first pass looks for them.
        let leftovers = AtomicU64::new(1);
        let (pins, writing, holders) = (Arc::default(), Mutex::default(), Mutex::default());
        OpenPage { host, rows, process, has_own_lease, pins, writing, holders, leftovers }
    }

    /// Renews the lease, if the page has its own.
    pub(crate) fn renew(&self) -> Result<()> {
        match self.has_own_lease {
            true => self.process.renew(&*self.host),
            false => Ok(()),
        }
    }

    pub(crate) fn read(&self) -> Result<Box<dyn KvTransaction + Send>> {
        Ok(self.host.begin(&TxOptions::reading())?)
    }

    /// Runs `find` in a transaction, and pins the commit that it returns. The commit exists, or is
    /// about to be written under the pin.
    pub(crate) fn pinned<T>(
        self: &Arc<Self>,
        find: impl FnMut(&dyn KvTransaction) -> Result<(CommitId, T)>,
    ) -> Result<(Pin, T)> {
        self.pinned_for(PinReason::Read, find)
    }

    /// The same with another reason for the pin.
    pub(crate) fn pinned_for<T>(
        self: &Arc<Self>,
        reason: PinReason,
        mut find: impl FnMut(&dyn KvTransaction) -> Result<(CommitId, T)>,
    ) -> Result<(Pin, T)> {
        loop {
            let removals = self.pins.removals();
            let (commit, found) = find(&*self.read()?)?;
            if let Some(pin) = self.pins.pin((commit, reason), removals, self.process.now()) {
                return Ok((pin, found));
            }
        }
    }

    /// Adds a holder that is asked in each maintenance to drop unused pins.
    pub(crate) fn add_holder(&self, holder: Weak<dyn PinHolder>) {
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

    /// Writes the rows of pins that are held for long, so that other processes keep their commits,
    /// and removes those of dropped pins.
    ///
    /// # Errors
    /// If the page is gone, or its host fails.
    pub(crate) fn write_pins(&self) -> Result<()> {
        let _writing = lock_before(&*self.host, &self.writing)?;
        self.release_unasked();
        let (is_protected, is_due) = {
            let tx = self.read()?;
            // If another process has taken the lease, the rows of all pins must be written again.
            let is_protected = !self.pins.have_rows() || self.process.has_lease(&tx)?;
            (is_protected, !self.due_pins(&tx, &self.process.id())?.is_empty())
        };
        let left = self.pins.take_dropped_rows();
        if is_protected && !is_due && left.is_empty() {
            return Ok(());
        }
        let result = self.write_pin_rows(&left);
        if result.is_err() {
            self.pins.not_removed(left);
        }
        result
    }

    /// The pins whose rows are due. A pin of a commit that does not exist gets no row: the commit
    /// was removed, and its reader gets an error; or it is being received, and not written yet.
    fn due_pins(&self, tx: &dyn KvRead, process: &ProcessId) -> Result<Vec<PinRow>> {
        let mut due = Vec::new();
        for pin in self.pins.due(process, self.process.now(), || self.process.streams.number()) {
            if self.rows.has_commit(tx, &pin.commit)? {
                due.push(pin);
            }
        }
        Ok(due)
    }

    fn write_pin_rows(&self, left: &[PinRow]) -> Result<()> {
        let rows = &self.rows;
        let mut tx = self.host.begin(&TxOptions::writing().with_wait(WAIT))?;
        rows.check_exists(&tx)?;
        for row in left {
            rows.remove_pin(&mut tx, &row.process, row.number)?;
        }
        // The process may have a new ID. Then all of its pins are due.
        let process = self.process.ensure_lease(&mut tx)?;
        let written = self.due_pins(&tx, &process)?;
        for row in &written {
            rows.put_pin(&mut tx, row)?;
            // Clears the grace time: it begins anew when the commit is not kept any more.
            rows.remove_expiring(&mut tx, &row.commit)?;
        }
        if !written.is_empty() {
            rows.raise_keep_version(&mut tx)?;
        }
        tx.commit()?;
        self.pins.wrote(&written);
        Ok(())
    }

    /// Explains an error about a missing piece to a reader of these commits: the page or a commit
    /// may be gone.
    pub(crate) fn explained(&self, error: LedgerError, commits: &[CommitId]) -> LedgerError {
        let error = error.needed(|by| {
            by.page = self.rows.number;
            by.commits = commits.to_vec();
        });
        if !matches!(error, LedgerError::Missing { .. }) {
            return error;
        }
        let ask = || {
            let tx = self.read()?;
            self.rows.check_exists(&tx)?;
            for commit in commits {
                if !self.rows.has_commit(&tx, commit)? {
                    let (page, commit) = (self.rows.number, *commit);
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
