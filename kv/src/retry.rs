//! Running transactions until they succeed.

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::Duration;

use crate::{KvDatabase, KvTransaction, Result, TxOptions};

/// How often a transaction is run before its last failure is returned.
const ATTEMPTS: u32 = 30;
/// The longest pause before the second attempt; it doubles with each further one.
const PAUSE: Duration = Duration::from_micros(200);
/// The longest pause at all.
const LONGEST: Duration = Duration::from_millis(100);

/// Whole transactions as one call.
pub trait KvDatabaseExt: KvDatabase {
    /// Runs `action` in a transaction and commits it; as long as that fails in a retryable way
    /// ([`KvError::is_retryable`](crate::KvError::is_retryable)), begins anew after a random
    /// pause that grows, thirty times at most.
    ///
    /// `action` must not have effects elsewhere, since it may run more than once.
    ///
    /// # Errors
    /// What `action` or the commit last failed with; nothing has been changed then, except after
    /// [`OutcomeUnknown`](crate::KvError::OutcomeUnknown).
    ///
    /// ```
    /// use permazen_kv::{KvDatabaseExt, KvRead, KvWrite};
    /// use permazen_kv::{memory::MemoryStore, optimistic::OptimisticDatabase};
    ///
    /// let db = OptimisticDatabase::new(MemoryStore::new());
    /// let created = db.write(|tx| {
    ///     let absent = tx.get(b"key")?.is_none();
    ///     tx.put(b"key", b"value")?;
    ///     Ok(absent)
    /// })?;
    /// assert!(created);
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn write<T>(&self, action: impl FnMut(&mut dyn KvTransaction) -> Result<T>) -> Result<T> {
        run(self, &TxOptions::writing(), action)
    }

    /// Runs `action` in a read-only transaction, otherwise as [`write`](Self::write).
    fn read<T>(&self, mut action: impl FnMut(&dyn KvTransaction) -> Result<T>) -> Result<T> {
        run(self, &TxOptions::reading(), |tx| action(tx))
    }
}

impl<D: KvDatabase + ?Sized> KvDatabaseExt for D {}

fn run<T>(
    db: &(impl KvDatabase + ?Sized),
    options: &TxOptions,
    mut action: impl FnMut(&mut dyn KvTransaction) -> Result<T>,
) -> Result<T> {
    let mut attempt = 1;
    loop {
        // Beginning is not tried again: it has waited for its turn already.
        let mut tx = db.begin(options)?;
        let result = action(&mut *tx).and_then(|value| tx.commit().map(|()| value));
        match result {
            Err(error) if error.is_retryable() && attempt < ATTEMPTS => {
                thread::sleep(pause(attempt));
                attempt += 1;
            }
            result => return result,
        }
    }
}

/// A random pause, so that those who met once do not meet again.
fn pause(attempt: u32) -> Duration {
    let longest = PAUSE.saturating_mul(1 << attempt.min(16)).min(LONGEST);
    let random = RandomState::new().hash_one(attempt);
    longest.mul_f64(random as f64 / u64::MAX as f64)
}
