//! Stores that take changes whole.

use crate::{KvDatabase, KvError, KvRead, Result, SharedRead, Statistics, TxOptions, Writes};

/// Decides whether changes may be made to a content that others have changed; is told its version.
pub type ContentCheck<'c> = dyn Fn(&dyn KvRead, u64) -> Result<()> + 'c;

/// A store that gives out fixed states of its content and makes sets of changes atomically; what
/// [`OptimisticDatabase`](crate::optimistic::OptimisticDatabase) builds transactions on. (kv §8.3)
///
/// Every [`KvDatabase`] whose transactions offer snapshots is one.
pub trait AtomicKvStore: Send + Sync {
    /// The content as it stands, unaffected by later changes.
    fn snapshot(&self) -> Result<SharedRead>;

    /// Makes all changes of `writes`, in the order removes, puts, adjusts, or none; nobody sees a
    /// part of them. If `sync`, they are durable when this returns.
    ///
    /// # Errors
    /// Nothing was changed, except after
    /// [`OutcomeUnknown`](crate::KvError::OutcomeUnknown).
    fn apply(&self, writes: &Writes, sync: bool) -> Result<()>;

    /// The number of the present version of the content, if the store counts versions: the content of
    /// a number is always the same, and each call of [`apply_to`](Self::apply_to) that changes something
    /// adds one. What others change adds one or more.
    fn version(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The content as it stands, with the number of its version.
    fn versioned_snapshot(&self) -> Result<(SharedRead, Option<u64>)> {
        Ok((self.snapshot()?, None))
    }

    /// As [`apply`](Self::apply), and returns the version it leads to. If the store counts versions
    /// and the content is not that of version `expected`, the changes are made only if `check` agrees,
    /// while nobody else can change the content.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), and that of `check`.
    fn apply_to(
        &self,
        expected: Option<u64>,
        writes: &Writes,
        sync: bool,
        check: &ContentCheck<'_>,
    ) -> Result<Option<u64>> {
        let _ = (expected, check);
        self.apply(writes, sync).map(|()| None)
    }

    /// Whether the content survives the process.
    fn persistent(&self) -> bool {
        false
    }

    /// Checks the structure of the store; see [`KvDatabase::verify`].
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the store has no way to look.
    fn verify_store(&self) -> Result<Vec<String>> {
        Err(KvError::Unsupported("checking the structure of the store"))
    }

    /// Figures about the store as it stands.
    fn store_statistics(&self) -> Result<Statistics> {
        Err(KvError::Unsupported("statistics"))
    }
}

/// Each call is a transaction. The changes are always as durable as the database's commits.
impl<D: KvDatabase + ?Sized> AtomicKvStore for D {
    fn snapshot(&self) -> Result<SharedRead> {
        self.begin(&TxOptions::reading())?.snapshot()
    }

    fn apply(&self, writes: &Writes, _sync: bool) -> Result<()> {
        let mut tx = self.begin(&TxOptions::writing())?;
        tx.apply(writes)?;
        tx.commit()
    }

    fn version(&self) -> Result<Option<u64>> {
        Ok(self.begin(&TxOptions::reading())?.version())
    }

    fn versioned_snapshot(&self) -> Result<(SharedRead, Option<u64>)> {
        let tx = self.begin(&TxOptions::reading())?;
        Ok((tx.snapshot()?, tx.version()))
    }

    fn apply_to(
        &self,
        expected: Option<u64>,
        writes: &Writes,
        _sync: bool,
        check: &ContentCheck<'_>,
    ) -> Result<Option<u64>> {
        let mut tx = self.begin(&TxOptions::writing())?;
        let found = tx.version();
        if let Some(found) = found {
            if expected != Some(found) {
                check(&tx, found)?;
            }
            // A commit that finds nothing to change leads to no new version.
            if !changes_something(&tx, writes)? {
                return Ok(Some(found));
            }
        }
        tx.apply(writes)?;
        tx.commit()?;
        Ok(found.map(|found| found + 1))
    }

    fn persistent(&self) -> bool {
        self.capabilities().persistent
    }

    fn verify_store(&self) -> Result<Vec<String>> {
        self.verify()
    }

    fn store_statistics(&self) -> Result<Statistics> {
        self.statistics()
    }
}

/// Whether `writes` put or remove anything.
fn changes_something(content: &dyn KvRead, writes: &Writes) -> Result<bool> {
    if !writes.puts.is_empty() {
        return Ok(true);
    }
    for span in writes.removes.iter() {
        if content.at_least(span.min, span.max)?.is_some() {
            return Ok(true);
        }
    }
    for key in writes.adjusts.keys() {
        if content.get(key)?.is_some_and(|value| content.decode_counter(&value).is_ok()) {
            return Ok(true);
        }
    }
    Ok(false)
}
