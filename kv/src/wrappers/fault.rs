//! A wrapper that makes operations fail, for tests of what happens then.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::contract::pass_on::pass_on;
use crate::store_parts::earlier_failure::EarlierFailure;
use crate::store_parts::lock::lock;
use crate::wrappers::observed::{Observed, Observer, Operation};
use crate::{KvDatabase, KvError, KvTransaction, Result, Scan, TxOptions};

type MakeError = Box<dyn Fn() -> KvError + Send>;

/// Decides which operations of a [`FaultStore`] fail. Clones share their plan.
#[derive(Clone, Default)]
pub struct Faults {
    plan: Arc<Mutex<Plan>>,
}

#[derive(Default)]
struct Plan {
    /// Operations since the last change of plan.
    done: u64,
    /// The first operation that fails, and whether all later ones fail too.
    fail: Option<(u64, bool)>,
    error: Option<MakeError>,
    hits: u64,
    /// Whether a commit with an unknown outcome is rolled back.
    loses_commits: bool,
}

impl Faults {
    /// Makes the `n`-th operation from now on fail with the error that `error` returns. The next
    /// operation is number one.
    pub fn fail_nth(&self, n: u64, error: impl Fn() -> KvError + Send + 'static) {
        self.set(Some((n, false)), Some(Box::new(error)));
    }

    /// Makes the `n`-th operation from now on and all later ones fail with the errors that `error`
    /// returns.
    pub fn fail_from(&self, n: u64, error: impl Fn() -> KvError + Send + 'static) {
        self.set(Some((n, true)), Some(Box::new(error)));
    }

    /// Lets all operations succeed from now on, and sets the counts to zero.
    pub fn stop(&self) {
        self.set(None, None);
    }

    /// Whether a commit that fails with [`KvError::OutcomeUnknown`] has no effect. Unless this is
    /// set, it takes effect. The other methods do not change this setting.
    pub fn lose_commits(&self, lose: bool) {
        self.plan().loses_commits = lose;
    }

    /// How many operations there were since the plan was last changed.
    pub fn operations(&self) -> u64 {
        self.plan().done
    }

    /// How many operations were made to fail since the plan was last changed.
    pub fn hits(&self) -> u64 {
        self.plan().hits
    }

    fn set(&self, fail: Option<(u64, bool)>, error: Option<MakeError>) {
        let mut plan = self.plan();
        *plan = Plan { done: 0, fail, error, hits: 0, loses_commits: plan.loses_commits };
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        lock(&self.plan)
    }

    /// Counts an operation. Returns the error if the operation must fail.
    fn next(&self) -> Option<KvError> {
        let mut plan = self.plan();
        plan.done += 1;
        let (first, for_good) = plan.fail?;
        if plan.done != first && !(for_good && plan.done > first) {
            return None;
        }
        plan.hits += 1;
        plan.error.as_ref().map(|error| error())
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan();
        f.debug_struct("Faults").field("done", &plan.done).field("fail", &plan.fail).finish()
    }
}

/// A store whose operations can be made to fail.
///
/// Everything that can fail counts as an operation: begin, get, each scan and each of its steps,
/// put, remove, adjust, snapshot and commit; also reads of snapshots and of
/// [`KvTransaction::untracked`].
///
/// After such a failure the transaction is dead: later operations on it fail with
/// [`KvError::Stale`], or with [`KvError::Retry`] if the failure was retryable, and nothing of it
/// is committed. It stays alive if the error is a mistake of the caller
/// ([`KvError::is_caller_error`]). A failed read of a snapshot has no effect on other operations. A
/// commit that fails with [`KvError::OutcomeUnknown`] takes effect unless [`Faults::lose_commits`]
/// says otherwise; a commit that fails with another error does not.
///
/// ```
/// use permazen_kv::{KvDatabase, KvError, KvRead, TxOptions};
/// use permazen_kv::{fault::FaultStore, memory::MemoryStore};
///
/// let db = FaultStore::new(MemoryStore::new());
/// // The second operation from now on.
/// db.faults().fail_nth(2, || KvError::Retry("the test wants it".to_owned()));
/// let tx = db.begin(&TxOptions::reading())?;
/// assert!(tx.get(b"key").is_err_and(|error| error.is_retryable()));
/// // The transaction has ended, and running it again may help.
/// assert!(tx.get(b"key").is_err_and(|error| error.is_retryable()));
/// assert_eq!(db.faults().hits(), 1);
/// # Ok::<(), KvError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FaultStore<D> {
    inner: D,
    faults: Faults,
}

impl<D> FaultStore<D> {
    /// Passes everything on to `inner` until [`faults`](Self::faults) says otherwise.
    pub fn new(inner: D) -> Self {
        FaultStore { inner, faults: Faults::default() }
    }

    /// The object that decides which operations fail.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// The wrapped store. Operations on it directly do not fail.
    pub fn inner(&self) -> &D {
        &self.inner
    }
}

impl<D: KvDatabase> KvDatabase for FaultStore<D> {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        if let Some(error) = self.faults.next() {
            return Err(error);
        }
        let inner = self.inner.begin(options)?;
        let gate = Gate { faults: self.faults.clone(), dead: Some(Arc::default()) };
        Ok(Box::new(Observed::new(inner, gate)))
    }

    pass_on!(self => self.inner; STORE);
}

/// Decides whether operations on a transaction or a snapshot fail.
struct Gate {
    faults: Faults,
    /// The failure by which the transaction has ended. `None` for a snapshot, which is not ended by
    /// one.
    dead: Option<Arc<OnceLock<EarlierFailure>>>,
}

impl Clone for Gate {
    /// The gate of a snapshot.
    fn clone(&self) -> Self {
        Gate { faults: self.faults.clone(), dead: None }
    }
}

impl Gate {
    /// Fails if the next operation must fail.
    fn check(&self) -> Result<()> {
        if let Some(failure) = self.dead.as_ref().and_then(|dead| dead.get()) {
            return Err(failure.error());
        }
        match self.faults.next() {
            Some(error) => {
                if let Some(dead) = self.dead.as_ref().filter(|_| !error.is_caller_error()) {
                    dead.get_or_init(|| EarlierFailure::of(&error));
                }
                Err(error)
            }
            None => Ok(()),
        }
    }
}

impl Observer for Gate {
    fn before(&self, _: Operation) -> Result<()> {
        self.check()
    }

    fn steps<'a>(&'a self, scan: Scan<'a>) -> Scan<'a> {
        let mut scan = Some(scan);
        Box::new(std::iter::from_fn(move || {
            let running = scan.as_mut()?;
            let step = self.check().map_or_else(|error| Some(Err(error)), |()| running.next());
            if !matches!(step, Some(Ok(_))) {
                scan = None;
            }
            step
        }))
    }

    fn commit(&self, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        match self.check() {
            // Here the outcome is that the commit was made.
            Err(error) if error.is_outcome_unknown() && !self.faults.plan().loses_commits => {
                commit()?;
                Err(error)
            }
            Err(error) => Err(error),
            Ok(()) => commit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use crate::optimistic::OptimisticDatabase;
    use crate::{Direction, KeySpan, KvRead, KvWrite};

    /// Transfers between two counters. Both must change, or neither.
    fn transfer(store: &dyn KvDatabase) -> Result<()> {
        let mut tx = store.begin(&TxOptions::writing())?;
        let from = tx.get(b"from")?.map_or(Ok(0), |value| tx.decode_counter(&value))?;
        tx.put(b"from", &(from - 1).to_be_bytes())?;
        tx.adjust_counter(b"to", 1)?;
        for pair in tx.scan(KeySpan::FULL, Direction::Forward)? {
            pair?;
        }
        tx.commit()
    }

    fn state(store: &MemoryStore) -> (i64, i64) {
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let read = |key: &[u8]| tx.decode_counter(&tx.get(key).unwrap().unwrap()).unwrap();
        (read(b"from"), read(b"to"))
    }

    #[test]
    fn wherever_it_fails_the_state_is_the_old_or_the_new_one() {
        let store = FaultStore::new(MemoryStore::new());
        let faults = store.faults();
        let mut tx = store.inner().begin(&TxOptions::writing()).unwrap();
        tx.put(b"from", &100i64.to_be_bytes()).unwrap();
        tx.put(b"to", &0i64.to_be_bytes()).unwrap();
        tx.commit().unwrap();
        transfer(&store).unwrap();
        let operations = faults.operations();
        assert_eq!(operations, 9);
        assert_eq!(state(store.inner()), (99, 1));
        for n in 1..=operations {
            faults.fail_nth(n, || KvError::Retry("injected".to_owned()));
            assert!(transfer(&store).unwrap_err().is_retryable());
            assert_eq!(faults.hits(), 1);
            assert_eq!(state(store.inner()), (99, 1));
        }
        faults.fail_nth(operations, || KvError::OutcomeUnknown("injected".to_owned()));
        assert!(transfer(&store).unwrap_err().is_outcome_unknown());
        assert_eq!(state(store.inner()), (98, 2));
        faults.fail_from(3, || KvError::Timeout("injected".to_owned()));
        assert!(transfer(&store).unwrap_err().is_stale());
        assert!(transfer(&store).unwrap_err().is_stale());
        faults.stop();
        transfer(&store).unwrap();
        assert_eq!(state(store.inner()), (97, 3));
    }

    #[test]
    fn a_dead_transaction_stays_dead_and_a_callers_mistake_does_not_kill() {
        let store = FaultStore::new(MemoryStore::new());
        let faults = store.faults();
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        faults.fail_nth(1, || KvError::InvalidArgument("injected".to_owned()));
        assert!(tx.put(b"a", b"").is_err());
        tx.put(b"a", b"").unwrap();
        faults.fail_nth(1, || KvError::Retry("injected".to_owned()));
        assert!(tx.get(b"a").unwrap_err().is_retryable());
        assert!(tx.get(b"a").unwrap_err().to_string().contains("earlier operation"));
        assert!(tx.commit().unwrap_err().is_retryable());
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        faults.fail_nth(1, || KvError::Stopped("injected"));
        assert!(tx.put(b"a", b"").is_err());
        assert!(tx.get(b"a").unwrap_err().is_stale());
        assert!(tx.commit().unwrap_err().is_stale());
        assert!(store.inner().snapshot().get(b"a").unwrap().is_none());
    }

    #[test]
    fn snapshots_and_untracked_reads_fail_too() {
        let store = FaultStore::new(OptimisticDatabase::new(MemoryStore::new()));
        let faults = store.faults();
        let tx = store.begin(&TxOptions::writing()).unwrap();
        let snapshot = tx.snapshot().unwrap();
        faults.fail_nth(1, || KvError::Retry("injected".to_owned()));
        assert!(snapshot.get(b"a").unwrap_err().is_retryable());
        assert!(snapshot.get(b"a").is_ok() && tx.get(b"a").is_ok());
        faults.fail_nth(2, || KvError::Retry("injected".to_owned()));
        let untracked = tx.untracked().unwrap();
        let mut steps = untracked.scan(KeySpan::FULL, Direction::Forward).unwrap();
        assert!(steps.next().unwrap().unwrap_err().is_retryable());
        assert!(tx.get(b"a").unwrap_err().is_retryable());
    }
}
