//! Running transactions until they succeed.

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::Duration;

use crate::group::{KeptNote, forget_lost, has_read_lost};
use crate::store_parts::counts::{forget_failure, latest_failure, target};
use crate::store_parts::write_lock::{
    KeptWait, forget_wait_in_vain, has_waited_in_vain, ignore_wait_in_vain,
};
use crate::{KvDatabase, KvError, KvTransaction, Result, TxOptions};

/// How often, and after which pauses, to run a transaction again if it failed for a reason that may
/// pass.
///
/// ```
/// use permazen_kv::{KvError, Retry};
///
/// let result = Retry::default().run(
///     Ok,
///     |failed| if failed < 3 { Err(KvError::Retry("busy".to_owned())) } else { Ok(failed) },
///     KvError::is_retryable,
/// );
/// assert_eq!(result?, 3);
/// # Ok::<(), KvError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often it is run again; 0 means never.
    pub times: u32,
    /// The longest first pause. Each further pause can be twice as long.
    pub first_pause: Duration,
    /// No pause is longer than this.
    pub longest_pause: Duration,
}

impl Default for Retry {
    /// Up to 30 times, after pauses that grow from 0.2 to 100 milliseconds: two seconds in all.
    fn default() -> Self {
        Retry {
            times: 30,
            first_pause: Duration::from_micros(200),
            longest_pause: Duration::from_millis(100),
        }
    }
}

impl Retry {
    /// Runs `attempt` on the result of `begin`, until it succeeds, fails with an error that is not
    /// `retryable`, or has failed too often. If `begin` fails, nothing is run again. If, within
    /// `attempt`, another transaction waited in vain for the right to write, or any transaction
    /// waited in vain for a connection to a server, `attempt` is not run again either, because that
    /// transaction has used up its time to wait. An error of a transaction that was to be committed
    /// in a group ([`TxOptions::in_group`]) does not count if the earlier writes of the group were
    /// not committed: `attempt` is run again.
    ///
    /// `begin` gets the number of times that `attempt` has failed. It passes this number on to the
    /// store ([`TxOptions::failed`]), so that a transaction that others overtake again and again
    /// gets its turn.
    ///
    /// # Errors
    /// The error of `begin`, or the last error of `attempt`.
    pub fn run<B, T, E>(
        &self,
        mut begin: impl FnMut(u32) -> std::result::Result<B, E>,
        mut attempt: impl FnMut(B) -> std::result::Result<T, E>,
        retryable: impl Fn(&E) -> bool,
    ) -> std::result::Result<T, E> {
        // This may run within an attempt of another transaction.
        let _outer = (KeptNote::new(), KeptWait::new());
        let mut failed = 0;
        loop {
            let begun = begin(failed)?;
            forget_wait_in_vain();
            forget_lost();
            forget_failure();
            let done = attempt(begun);
            let Err(error) = &done else { return done };
            let is_lost = has_read_lost();
            if !(retryable(error) || is_lost) || has_waited_in_vain() {
                return done;
            }
            let reason = if is_lost { "group" } else { latest_failure() };
            failed += 1;
            if failed > self.times {
                if self.times > 0 {
                    tracing::warn!(
                        target: target::RETRY,
                        failed,
                        reason,
                        "a transaction has failed too often"
                    );
                }
                return done;
            }
            let pause = self.pause(failed);
            // It is only told.
            let pause_us = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
            tracing::debug!(
                target: target::RETRY,
                failed,
                reason,
                pause_us,
                "a transaction runs again"
            );
            thread::sleep(pause);
        }
    }

    /// The pause after `failed` failures: a random part, at least half, of the pause that is due.
    /// So transactions that conflicted once do not start again at the same moment.
    fn pause(&self, failed: u32) -> Duration {
        let doubled = 2u32.saturating_pow(failed.saturating_sub(1));
        let due = self.first_pause.saturating_mul(doubled).min(self.longest_pause);
        let random = RandomState::new().hash_one(failed) >> 32;
        due.mul_f64(0.5 + 0.5 * random as f64 / f64::from(u32::MAX))
    }
}

/// To be called before an attempt of [`Retry::run`] commits its own transaction. It has come so far
/// in spite of what this thread has waited for in vain, so that does not matter any more: if the
/// commit fails for a reason that may pass, the attempt is run again.
pub fn attempt_commits() {
    ignore_wait_in_vain();
    forget_lost();
}

/// Whole transactions as one call.
pub trait KvDatabaseExt: KvDatabase {
    /// Runs `action` in a transaction and commits it. As long as this fails with a retryable error
    /// ([`KvError::is_retryable`]), runs it again in a new transaction, with the pauses of
    /// [`Retry::default`]. A transaction that others overtake again and again gets its turn, see
    /// [`TxOptions::failed`].
    ///
    /// `action` must have no effects elsewhere, because it may run more than once.
    ///
    /// In stores where writers take turns, another transaction that writes to the same store on the
    /// same thread within `action` is refused with [`KvError::WithinWrite`].
    ///
    /// # Errors
    /// The last error of `action` or of the commit. Nothing has been changed then, except after
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

    /// Runs `action` like [`write`](Self::write), but in a read-only transaction.
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
    Retry::default().run(
        |failed| db.begin(&options.after_failures(failed).ending_here().in_group()),
        |mut tx| {
            let value = action(&mut *tx)?;
            attempt_commits();
            tx.commit()?;
            Ok(value)
        },
        KvError::is_retryable,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let retry = Retry {
            times: 9,
            first_pause: Duration::from_millis(1),
            longest_pause: Duration::from_millis(5),
        };
        for (failed, due) in [(1, 1), (2, 2), (3, 4), (4, 5), (40, 5), (u32::MAX, 5)] {
            let due = Duration::from_millis(due);
            let pause = retry.pause(failed);
            assert!(pause >= due / 2 && pause <= due, "{failed}: {pause:?}");
        }
    }

    #[test]
    fn attempts_are_counted_and_beginning_is_not_tried_again() {
        let retry = Retry { times: 3, first_pause: Duration::ZERO, longest_pause: Duration::ZERO };
        let mut attempts = 0;
        let mut fail = |_: u32| -> std::result::Result<(), bool> {
            attempts += 1;
            Err(true)
        };
        assert_eq!(retry.run(Ok, &mut fail, |again| *again), Err(true));
        assert_eq!(retry.run(Ok, &mut fail, |_| false), Err(true));
        assert_eq!(retry.run(|_| Err(true), &mut fail, |again| *again), Err(true));
        assert_eq!(attempts, 5);
    }

    #[test]
    fn a_wait_in_vain_within_a_transaction_is_not_repeated() {
        let db = crate::memory::MemoryStore::new();
        let options = TxOptions::writing().with_wait(Duration::from_millis(1));
        let other = crate::memory::MemoryStore::new();
        let attempts_with = |after: &dyn Fn()| {
            let held = other.begin(&options).unwrap();
            let mut attempts = 0;
            let nested = db.write(|_| {
                attempts += 1;
                let waited = other.begin(&options).map(drop);
                after();
                waited
            });
            drop(held);
            assert!(matches!(nested, Err(KvError::Retry(_))), "{nested:?}");
            attempts
        };
        assert_eq!(attempts_with(&|| {}), 1);
        // Neither another transaction within the attempt nor a store that is opened there hides it.
        let third = crate::memory::MemoryStore::new();
        assert_eq!(attempts_with(&|| third.write(|tx| tx.put(b"key", b"")).unwrap()), 1);
        // Nor does a transaction within that commits in spite of it.
        let held = other.begin(&options).unwrap();
        let mut attempts = 0;
        let nested = db.write(|_| {
            attempts += 1;
            third.write(|tx| {
                tx.put(b"key", b"")?;
                Ok(other.begin(&options).map(drop))
            })?
        });
        drop(held);
        assert!(
            matches!(nested, Err(KvError::Retry(_))) && attempts == 1,
            "{nested:?}, {attempts}"
        );
        let by_hand = |db: &dyn KvDatabase| {
            let mut tx = db.begin(&TxOptions::writing()).unwrap();
            tx.put(b"key", b"").unwrap();
            tx.commit().unwrap();
        };
        let fourth = crate::optimistic::OptimisticDatabase::new(crate::memory::MemoryStore::new());
        assert_eq!(attempts_with(&|| by_hand(&fourth)), 1);
        #[cfg(feature = "testsuite")]
        {
            use crate::remote::{RemoteDatabase, SimulatedServer};
            let remote = RemoteDatabase::new(SimulatedServer::new());
            assert_eq!(attempts_with(&|| by_hand(&remote)), 1);
        }
        #[cfg(feature = "lmdb")]
        assert_eq!(
            attempts_with(&|| {
                let directory = tempfile::tempdir().unwrap();
                drop(crate::lmdb::LmdbStore::open_or_create(directory.path()).unwrap());
            }),
            1
        );
        // An error for another reason is tried again, whatever the thread waited for before.
        let optimistic =
            crate::optimistic::OptimisticDatabase::new(crate::memory::MemoryStore::new());
        let mut attempts = 0;
        let conflict = optimistic.write(|tx| {
            attempts += 1;
            let held = db.begin(&options)?;
            assert!(db.begin(&options).is_err());
            drop(held);
            if attempts == 1 {
                tx.get(b"key")?;
                tx.put(b"other", b"")?;
                let mut first = optimistic.begin(&TxOptions::writing())?;
                first.put(b"key", b"")?;
                first.commit()?;
            }
            Ok(attempts)
        });
        assert_eq!(conflict.unwrap(), 2);
        let mut attempts = 0;
        let done = db.write(|_| {
            attempts += 1;
            if attempts < 3 { Err(KvError::Retry("busy".to_owned())) } else { Ok(attempts) }
        });
        assert_eq!(done.unwrap(), 3);
    }
}
