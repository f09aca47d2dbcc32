//! [`AtomicKvStore`]: the operations that the optimistic engine needs of a store, namely snapshots,
//! and making a set of changes as a whole.

use std::time::Duration;

use crate::contract::TURN_AFTER;
use crate::contract::store_id::StoreId;
use crate::{
    Counters, KvDatabase, KvError, KvRead, KvTransaction, Result, SharedRead, Statistics,
    TxOptions, Watches, Writes,
};

/// Decides whether changes may be made to a content that others have changed. Gets that content and
/// the number of its version.
type ContentCheck<'c> = dyn Fn(&dyn KvRead, u64) -> Result<()> + 'c;

/// A store that gives out fixed states of its content and makes sets of changes atomically.
/// [`OptimisticDatabase`](crate::optimistic::OptimisticDatabase) builds transactions on it.
///
/// Every [`KvDatabase`] whose transactions offer snapshots is such a store.
pub trait AtomicKvStore: Send + Sync {
    /// The present content. Later changes do not affect the returned view.
    fn snapshot(&self) -> Result<SharedRead>;

    /// Makes all changes of `writes`, in the order removes, puts, adjusts, or none of them. Others
    /// never see only a part of them. If `sync` is true, they are durable when this returns.
    ///
    /// # Errors
    /// Nothing was changed, except after [`OutcomeUnknown`](crate::KvError::OutcomeUnknown).
    fn apply(&self, writes: &Writes, sync: bool) -> Result<()>;

    /// The number of the present version of the content; `None` if the store does not count
    /// versions. The content of one number is always the same. Each call of
    /// [`apply_to`](Self::apply_to) that changes something adds one. Changes by others add one or
    /// more.
    fn version(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The present content, with the number of its version.
    fn versioned_snapshot(&self) -> Result<(SharedRead, Option<u64>)> {
        Ok((self.snapshot()?, None))
    }

    /// Does the same as [`apply`](Self::apply), and returns the version that results. If the store
    /// counts versions and its content is not that of version `expected`, makes the changes only if
    /// `check` agrees; while `check` runs, others cannot change the content. Waits for at most
    /// `wait` for others that change it.
    ///
    /// # Errors
    /// The errors of [`apply`](Self::apply) and of `check`.
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

    /// A transaction on the present content. Until it ends, it keeps all others, also in other
    /// processes, from changing the content. It is for changes that others must not overtake. Waits
    /// for at most `wait` until the content is free.
    ///
    /// `None` if the store cannot do this.
    ///
    /// # Errors
    /// Retryable if others were changing the content for all of `wait`.
    fn hold(&self, wait: Duration) -> Result<Option<Box<dyn KvTransaction + Send>>> {
        let _ = wait;
        Ok(None)
    }

    /// Called when the database over this store has its first watch. From here on, a store that
    /// others can change reports their writes to `watches`, until there are no watches any more. By
    /// default nothing is reported: then watches learn of the writes of others with the next commit
    /// of this database.
    ///
    /// # Errors
    /// If the store cannot find out the writes of others.
    fn watched(&self, watches: &Watches) -> Result<()> {
        let _ = watches;
        Ok(())
    }

    /// Whether the content survives the process.
    fn persistent(&self) -> bool {
        false
    }

    /// Checks the structure of the store; see [`KvDatabase::verify`].
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the store has no such check.
    fn verify_store(&self) -> Result<Vec<String>> {
        Err(KvError::Unsupported("checking the structure of the store"))
    }

    /// Figures about the present state of the store.
    fn store_statistics(&self) -> Result<Statistics> {
        Err(KvError::Unsupported("statistics"))
    }

    /// The counters of the store; see [`KvDatabase::counters`].
    fn store_counters(&self) -> Counters {
        Counters::default()
    }

    /// The identity of the store; see [`KvDatabase::identity`].
    #[doc(hidden)]
    fn store_identity(&self) -> Option<StoreId> {
        None
    }
}

/// Each call is a transaction. The changes are always as durable as a commit of the database.
impl<D: KvDatabase + ?Sized> AtomicKvStore for D {
    fn snapshot(&self) -> Result<SharedRead> {
        self.begin(&TxOptions::reading())?.snapshot()
    }

    fn apply(&self, writes: &Writes, _sync: bool) -> Result<()> {
        let mut tx = self.begin(&TxOptions::writing().ending_here())?;
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
        let options = TxOptions::writing().with_wait(wait).ending_here();
        apply_in(self.begin(&options)?, expected, writes, check)
    }

    fn hold(&self, wait: Duration) -> Result<Option<Box<dyn KvTransaction + Send>>> {
        // Some stores take the right to write only with the first write. For a transaction that has
        // failed this often, all stores take it at once.
        let mut options = TxOptions::writing().with_wait(wait).with_failed(TURN_AFTER + 1);
        options.is_first = true;
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

    fn store_counters(&self) -> Counters {
        self.counters()
    }

    fn store_identity(&self) -> Option<StoreId> {
        self.identity()
    }
}

/// Does the same as [`AtomicKvStore::apply_to`], in a transaction that keeps others from changing
/// the content.
pub(crate) fn apply_in(
    mut tx: Box<dyn KvTransaction + Send>,
    expected: Option<u64>,
    writes: &Writes,
    check: &ContentCheck<'_>,
) -> Result<Option<u64>> {
    let found = tx.version();
    if let Some(found) = found {
        if expected != Some(found) {
            check(&tx, found)?;
        }
        // A commit that finds nothing to change makes no new version.
        if !changes_something(&tx, writes)? {
            return Ok(Some(found));
        }
    }
    tx.apply(writes)?;
    tx.commit()?;
    Ok(found.map(|found| found + 1))
}

/// Whether `writes` change anything in `content`. A put always counts.
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
