//! Long-lived edits, which are merged if the values that they have read are still the same.

use std::fmt;

use crate::contract::pass_on::pass_on;
use crate::contract::with_causes::WithCauses;
use crate::overlay::MutableView;
use crate::{
    Conflict, KeyRanges, KvDatabase, KvError, KvRead, KvWrite, Pending, Result, SharedRead,
    TxOptions, Writes,
};

/// A private copy of a database, which can be read and changed for any length of time and then
/// merged. If everything that was read in the branch is still the same in the database, the merge
/// makes the changes there.
///
/// A branch holds no transaction open, and outlives the transaction it was made from. The merge
/// compares values: a value that was changed and changed back does not matter. A branch is for
/// edits that take a user minutes, where a transaction would be in the way of others.
///
/// The branch holds its snapshot until it is dropped. On LMDB, space that is freed in that time
/// cannot be used again, so the file may grow.
///
/// ```
/// use permazen_kv::{Branch, KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
///
/// let db = MemoryStore::new();
/// let mut branch = Branch::open(&db)?;
/// assert!(branch.get(b"name")?.is_none());
/// branch.put(b"name", b"Ada")?;
/// branch.merge(&db)?;
/// assert!(db.begin(&TxOptions::reading())?.get(b"name")?.is_some());
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Debug)]
pub struct Branch {
    view: MutableView<SharedRead>,
}

impl Branch {
    /// A branch of the present content of `db`.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the transactions of `db` offer no snapshots.
    pub fn open(db: &(impl KvDatabase + ?Sized)) -> Result<Self> {
        let tx = db.begin(&TxOptions::reading())?;
        let snapshot = tx.snapshot()?;
        tx.commit()?;
        Ok(Branch::of(snapshot))
    }

    /// A branch of `snapshot`.
    pub fn of(snapshot: SharedRead) -> Self {
        Branch { view: MutableView::new(snapshot) }
    }

    /// The reads so far.
    pub fn reads(&self) -> KeyRanges {
        self.view.reads()
    }

    /// The changes made so far.
    pub fn writes(&self) -> &Writes {
        self.view.writes()
    }

    /// The changes made so far, with the snapshot that the branch was made from.
    pub fn pending(&self) -> Pending<'_> {
        self.view.pending()
    }

    /// The content of the branch, for reads that the merge must not check.
    pub fn untracked(&self) -> impl KvRead + '_ {
        self.view.weak()
    }

    /// The first difference, in the ranges that were read, between the base of this branch and
    /// `current`. Costs a scan of both over everything that was read.
    ///
    /// # Errors
    /// The errors of reading the snapshot of the branch or `current`.
    pub fn conflict_with(&self, current: &dyn KvRead) -> Result<Option<Conflict>> {
        self.view.base().first_difference(current, &self.view.reads())
    }

    /// Makes the changes in `db`, in one transaction, if the values that were read are still the
    /// same there.
    ///
    /// # Errors
    /// [`KvError::Conflict`] if they are not the same, and the errors of a transaction. The
    /// database is then unchanged (except if the outcome is unknown), and [`MergeError::branch`] is
    /// the unchanged branch.
    pub fn merge(self, db: &(impl KvDatabase + ?Sized)) -> std::result::Result<(), MergeError> {
        match self.try_merge(db) {
            Ok(()) => Ok(()),
            Err(error) => Err(MergeError { branch: Box::new(self), error }),
        }
    }

    fn try_merge(&self, db: &(impl KvDatabase + ?Sized)) -> Result<()> {
        let read_only = self.writes().is_empty();
        let mut tx =
            db.begin(&if read_only { TxOptions::reading() } else { TxOptions::writing() })?;
        if let Some(conflict) = self.conflict_with(&tx)? {
            return Err(conflict.into());
        }
        tx.apply(self.writes())?;
        tx.commit()
    }
}

impl KvRead for Branch {
    pass_on!(self => self.view; READS, LIMITS);
}

impl KvWrite for Branch {
    pass_on!(self => self.view; WRITES);
}

/// A merge that failed, with the branch. The branch is still usable: read it, merge it again, or
/// make its changes again on another branch.
///
/// ```
/// use permazen_kv::{Branch, KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
///
/// let db = MemoryStore::new();
/// let mut branch = Branch::open(&db)?;
/// branch.get(b"key")?;
/// branch.put(b"mine", b"")?;
/// let mut tx = db.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"")?;
/// tx.commit()?;
/// let failed = branch.merge(&db).unwrap_err();
/// assert!(failed.error.is_retryable());
/// assert_eq!(failed.branch.writes().puts.len(), 1);
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Debug)]
pub struct MergeError {
    /// The branch as it was.
    pub branch: Box<Branch>,
    /// Why it could not be merged.
    pub error: KvError,
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "branch cannot be merged: {}", WithCauses(&self.error))
    }
}

impl std::error::Error for MergeError {}

impl From<MergeError> for KvError {
    fn from(failed: MergeError) -> KvError {
        failed.error
    }
}
