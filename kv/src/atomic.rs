//! Stores that take changes whole.

use crate::{KvDatabase, KvError, Result, SharedRead, Statistics, TxOptions, Writes};

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

    /// Whether the content survives the process.
    fn persistent(&self) -> bool {
        false
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

    fn persistent(&self) -> bool {
        self.capabilities().persistent
    }

    fn store_statistics(&self) -> Result<Statistics> {
        self.statistics()
    }
}
