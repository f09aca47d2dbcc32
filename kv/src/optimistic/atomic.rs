//! Stores that take changes whole.

use std::time::Duration;

use crate::contract::TURN_AFTER;
use crate::{
    KvDatabase, KvError, KvRead, KvTransaction, Result, SharedRead, Statistics, TxOptions, Writes,
};

/// Decides whether changes may be made to a content that others have changed; is told its version.
type ContentCheck<'c> = dyn Fn(&dyn KvRead, u64) -> Result<()> + 'c;

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
    /// while nobody else can change the content. Waits for others who change it for at most `wait`.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), and that of `check`.
    fn apply_to(
        &self,
        expected: Option<u64>,
        writes: &Writes,
        sync: bool,
        wait: Duration,
        check: &ContentCheck<'_>,
    ) -> Result<Option<u64>> {
        let _ = (expected, wait, check);
        self.apply(writes, sync).map(|()| None)
    }

    /// A transaction on the content as it stands that keeps all others, also in other processes, from
    /// changing it until it ends, for changes that must not be overtaken. Waits for it for at most `wait`.
    ///
    /// None where the store has nothing like that.
    ///
    /// # Errors
    /// Retryable if others were changing the content for all that time.
    fn hold(&self, wait: Duration) -> Result<Option<Box<dyn KvTransaction + Send + '_>>> {
        let _ = wait;
        Ok(None)
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
        wait: Duration,
        check: &ContentCheck<'_>,
    ) -> Result<Option<u64>> {
        apply_in(self.begin(&TxOptions::writing().with_wait(wait))?, expected, writes, check)
    }

    fn hold(&self, wait: Duration) -> Result<Option<Box<dyn KvTransaction + Send + '_>>> {
        // Where the right to write is usually taken late, this one takes it at once.
        let options = TxOptions::writing().with_wait(wait).with_failed(TURN_AFTER + 1);
        self.begin(&options).map(Some)
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

/// What [`AtomicKvStore::apply_to`] does, in a transaction that keeps others from changing the content.
pub(crate) fn apply_in(
    mut tx: Box<dyn KvTransaction + Send + '_>,
    expected: Option<u64>,
    writes: &Writes,
    check: &ContentCheck<'_>,
) -> Result<Option<u64>> {
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
