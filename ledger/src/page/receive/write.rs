//! Writes a received commit.

use std::time::Duration;

use permazen_kv::{KvWrite, TxOptions};

use super::{Incoming, KnownParent, Receiver};
use crate::commit::encoding::Commit;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::retries::Retries;
use crate::rows::retention::Pruned;
use crate::rows::statuses::{Remote, StatusWriter};

/// How long a commit waits for the write lock of the host.
const WAIT: Duration = Duration::from_secs(30);

impl Receiver {
    /// Calls a function that writes one transaction, with the time that it may wait for the write
    /// lock of the host. Repeats it after a conflict.
    pub(super) fn retrying<T>(&self, mut write: impl FnMut(Duration) -> Result<T>) -> Result<T> {
        let mut retries = Retries::new(WAIT);
        loop {
            match write(retries.left()) {
                Err(LedgerError::Host(error))
                    if error.is_retryable() && retries.pause(&*self.page.open.host)? => {}
                result => return result,
            }
        }
    }

    /// Clears the grace time of a stored commit. Returns `false` if it was removed.
    pub(super) fn clear_grace_time(&self, id: &CommitId, wait: Duration) -> Result<bool> {
        let rows = &self.page.open.rows;
        let mut tx = self.page.begin(&TxOptions::writing().with_wait(wait))?;
        rows.check_exists(&tx)?;
        if !rows.has_commit(&tx, id)? {
            return Ok(false);
        }
        rows.keep(&mut tx, id)?;
        tx.commit()?;
        Ok(true)
    }

    /// Writes a commit. Returns `false` if a pruned parent was recorded or received meanwhile with
    /// another generation or time: the commit must be checked again.
    pub(super) fn write(
        &self,
        (id, commit): (&CommitId, &Commit),
        parents: &[KnownParent],
        Incoming { draft, needs_remote }: &Incoming,
        wait: Duration,
    ) -> Result<bool> {
        let rows = &self.page.open.rows;
        let mut tx = self.page.begin(&TxOptions::writing().with_wait(wait))?;
        rows.check_exists(&tx)?;
        if rows.has_commit(&tx, id)? {
            return Ok(true);
        }
        if *needs_remote && rows.remote(&tx)? != Remote::Attached {
            let what = format!(
                "page {} was detached from its remote meanwhile, so it needs lazy values too: call `wanted` again",
                rows.number
            );
            return Err(LedgerError::InvalidArgument(what));
        }
        // If a parent is not synced, the commit is not either. While the page is being attached, a
        // parent without a row may be unsynced.
        let mut from_remote = self.from_remote && rows.remote(&tx)? == Remote::Attached;
        for (parent, known) in commit.parents().iter().zip(parents) {
            let here = rows.commit(&tx, parent)?;
            match (known, here) {
                (KnownParent::First, _) | (KnownParent::Here { .. }, Some(_)) => {}
                (KnownParent::Here { .. }, None) => return Err(self.page.expired(parent)),
                (KnownParent::Pruned(claimed), here) => {
                    let known = match here {
                        Some(Commit { generation, time, .. }) => Some(Pruned { generation, time }),
                        None => rows.pruned(&tx, parent)?,
                    };
                    match known {
                        None => rows.put_pruned(&mut tx, parent, *claimed)?,
                        Some(known) if known == *claimed => {}
                        Some(_) => return Ok(false),
                    }
                }
            }
            from_remote &= rows.unsynced(&tx, parent)?.is_none();
        }
        let statuses = match from_remote {
            true => StatusWriter::from_remote(),
            false => StatusWriter::begin(rows, &tx)?,
        };
        self.join_keep_set(&mut tx, (id, commit))?;
        self.page.put_content(&mut tx, (id, commit), draft, statuses)?;
        self.page.finish_commit(tx, id)?;
        self.page.note_commit(draft, id);
        Ok(true)
    }

    /// Raises the version of the keep set, because the commit can be an older one that was pruned
    /// before.
    fn join_keep_set(
        &self,
        tx: &mut dyn KvWrite,
        (id, commit): (&CommitId, &Commit),
    ) -> Result<()> {
        let rows = &self.page.open.rows;
        rows.raise_keep_version(tx)?;
        if let Some(recorded) = rows.pruned(tx, id)? {
            self.check_recorded(id, commit, recorded)?;
            rows.remove_pruned(tx, id)?;
        }
        Ok(())
    }
}
