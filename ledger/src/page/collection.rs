//! Retention, and garbage collection.

use std::time::Duration;

use permazen_kv::TxOptions;

use super::Page;
use crate::collect::collector::Collected;
use crate::collect::keep_reasons::{KeepReason, keep_reasons};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::rows::parameters::Retention;

/// How long a slice waits for the write lock of the host.
pub(super) const WAIT: Duration = Duration::from_secs(30);

impl Page {
    /// Which commits the page keeps: all that are reachable from a branch or tag, unless set.
    ///
    /// # Errors
    /// If the page is gone, or the host fails.
    pub fn retention(&self) -> Result<Retention> {
        let (rows, tx) = (&self.shared.open.rows, self.shared.read()?);
        let parameters = rows.parameters(&tx)?;
        Ok(parameters.ok_or(LedgerError::PageGone { page: rows.number })?.retention)
    }

    /// Sets which commits the page keeps. The others are removed by the next
    /// [collection](Page::collect).
    ///
    /// # Errors
    /// For [`Retention::Last(0)`](Retention::Last) and a [`Retention::Age`] of 2⁶⁴ milliseconds or
    /// more, if the page is gone, or if the host fails.
    pub fn set_retention(&self, retention: Retention) -> Result<()> {
        if retention == Retention::Last(0) {
            let what = "a page keeps at least the last commit of each branch".to_owned();
            return Err(LedgerError::InvalidArgument(what));
        }
        let rows = &self.shared.open.rows;
        let mut tx = self.shared.begin(&TxOptions::writing())?;
        let parameters = rows.parameters(&tx)?;
        let mut parameters = parameters.ok_or(LedgerError::PageGone { page: rows.number })?;
        parameters.retention = retention;
        rows.put_parameters(&mut tx, &parameters)?;
        rows.raise_keep_version(&mut tx)?;
        Ok(tx.commit()?)
    }

    /// All reasons why the page keeps a commit. Empty if it is not kept, so that a
    /// [collection](Page::collect) removes it, and for the first commit, which always exists.
    ///
    /// With most rules, old commits stay because an old branch forked from the others there:
    /// merging it needs them. The reason names the branch.
    ///
    /// Gets all commits, and computes the commits that merges need once for each branch. Memory:
    /// about 64 bytes for each commit.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{KeepReason, MAIN, PageId, Repository, Retention};
    ///
    /// let repository = Repository::builder(MemoryStore::new()).exclusive().open_or_create()?;
    /// let page = repository.create_page("draft", PageId::ROOT)?;
    /// let db = page.database(MAIN)?;
    /// let mut commits = Vec::new();
    /// for word in ["one", "two", "three"] {
    ///     let mut tx = db.begin(&TxOptions::writing())?;
    ///     tx.put(b"word", word.as_bytes())?;
    ///     tx.commit()?;
    ///     commits.push(page.head(MAIN)?);
    /// }
    /// page.create_branch("old", &commits[0])?;
    /// page.set_retention(Retention::Last(1))?;
    /// let because = KeepReason::NeededToMergeBranch("old".to_owned());
    /// assert_eq!(page.keep_reasons(&commits[1])?, [because]);
    /// page.remove_branch("old")?;
    /// assert_eq!(page.keep_reasons(&commits[1])?, []);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// [`LedgerError::NoCommit`] if it is not here, if the page is gone, or if the host fails.
    pub fn keep_reasons(&self, commit: &CommitId) -> Result<Vec<KeepReason>> {
        keep_reasons(&self.shared.open, commit)
    }

    /// Removes the commits that are not [kept](Page::set_retention), and then all nodes and parts
    /// of values that are unreachable from commits. Returns how many.
    ///
    /// It need not be called: while a page is open, the maintenance thread does the same when more
    /// than a quarter of the page may be garbage. Readers and writers continue meanwhile: it works
    /// in slices, each of which holds the write lock of the host for a few milliseconds. A commit
    /// is removed two minutes after a collection has found that it is not kept, because a
    /// transaction of another process may have begun on it; at once in a repository with
    /// [exclusive](crate::RepositoryBuilder::exclusive) access. So the first call may only find the
    /// commits that a later one removes, in this process or another.
    ///
    /// Gets all commits, and loads each node once; of chunks it reads only the heads of their rows.
    /// Memory: about 64 bytes for each commit, and a few bits for each piece.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{MAIN, PageId, Repository, Retention};
    ///
    /// let repository = Repository::builder(MemoryStore::new()).exclusive().open_or_create()?;
    /// let page = repository.create_page("draft", PageId::ROOT)?;
    /// let db = page.database(MAIN)?;
    /// for word in ["one", "two", "three"] {
    ///     let mut tx = db.begin(&TxOptions::writing())?;
    ///     tx.put(b"word", word.as_bytes())?;
    ///     tx.commit()?;
    /// }
    /// page.set_retention(Retention::Last(1))?;
    /// let collected = page.collect()?;
    /// assert_eq!((collected.commits, collected.pieces), (2, 2));
    /// assert_eq!(page.log(page.head(MAIN)?)?.count(), 1);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// [`LedgerError::Busy`] if another process collects at the moment. If a piece is damaged, so
    /// that reachability is not known: then only commits that are not kept are removed. If the page
    /// is gone, or the host fails. Commits and pieces that were removed until then stay removed,
    /// and the next collection continues.
    pub fn collect(&self) -> Result<Collected> {
        self.shared.maintenance.collect(WAIT)
    }

    /// Does the next part of a [collection](Page::collect), which takes a few milliseconds. `false`
    /// after the last part.
    ///
    /// # Errors
    /// Those of [`collect`](Page::collect).
    pub fn collect_slice(&self) -> Result<bool> {
        self.shared.maintenance.collect_slice(WAIT)
    }
}
