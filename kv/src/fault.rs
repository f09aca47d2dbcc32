//! A wrapper that makes operations fail, for tests of what happens then.

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{
    Blob, Capabilities, Direction, KeySpan, KvDatabase, KvError, KvRead, KvTransaction, KvWrite,
    Pair, Result, Scan, SharedRead, Statistics, TxOptions, Watch,
};

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
    /// Which operation is the first to fail, and whether all after it fail too.
    fail: Option<(u64, bool)>,
    error: Option<MakeError>,
    hits: u64,
}

impl Faults {
    /// Makes the `n`-th operation from now on fail, counted from one, with what `error` makes.
    pub fn fail_nth(&self, n: u64, error: impl Fn() -> KvError + Send + 'static) {
        self.set(Some((n, false)), Some(Box::new(error)));
    }

    /// Makes the `n`-th operation from now on and all later ones fail.
    pub fn fail_from(&self, n: u64, error: impl Fn() -> KvError + Send + 'static) {
        self.set(Some((n, true)), Some(Box::new(error)));
    }

    /// Lets all operations succeed from now on, and begins to count anew.
    pub fn stop(&self) {
        self.set(None, None);
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
        *self.plan() = Plan { done: 0, fail, error, hits: 0 };
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an operation; the error it is to fail with, if it is.
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
/// put, remove, adjust, snapshot and commit. A transaction that met such a failure is dead: later
/// operations on it are stale and nothing of it is committed, unless the error is the caller's
/// fault ([`KvError::is_caller_error`]). A commit that fails with [`KvError::OutcomeUnknown`]
/// takes effect; one that fails otherwise does not.
#[derive(Debug, Clone)]
pub struct FaultStore<D> {
    inner: D,
    faults: Faults,
}

impl<D> FaultStore<D> {
    /// Passes everything on to `inner` until told otherwise.
    pub fn new(inner: D) -> Self {
        FaultStore { inner, faults: Faults::default() }
    }

    /// What decides which operations fail.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// The store below, where nothing is made to fail.
    pub fn inner(&self) -> &D {
        &self.inner
    }
}

impl<D: KvDatabase> KvDatabase for FaultStore<D> {
    fn begin<'db>(&'db self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send + 'db>> {
        if let Some(error) = self.faults.next() {
            return Err(error);
        }
        let inner = self.inner.begin(options)?;
        Ok(Box::new(Faulty { inner, faults: self.faults.clone(), dead: Cell::new(false) }))
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn statistics(&self) -> Result<Statistics> {
        self.inner.statistics()
    }
}

/// A transaction whose operations can be made to fail.
struct Faulty<'db> {
    inner: Box<dyn KvTransaction + Send + 'db>,
    faults: Faults,
    dead: Cell<bool>,
}

impl Faulty<'_> {
    /// Fails if the operation that is about to be made is to fail.
    fn check(&self) -> Result<()> {
        if self.dead.get() {
            return Err(KvError::Stale("an earlier operation has failed in it".to_owned()));
        }
        match self.faults.next() {
            Some(error) => {
                self.dead.set(!error.is_caller_error());
                Err(error)
            }
            None => Ok(()),
        }
    }
}

impl KvRead for Faulty<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.check()?;
        self.inner.get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.check()?;
        let mut scan = Some(self.inner.scan(span, direction)?);
        Ok(Box::new(std::iter::from_fn(move || {
            let running = scan.as_mut()?;
            let step = self.check().map_or_else(|error| Some(Err(error)), |()| running.next());
            if !matches!(step, Some(Ok(_))) {
                scan = None;
            }
            step
        })))
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.check()?;
        self.inner.at_least(min, max)
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.check()?;
        self.inner.at_most(min, max)
    }

    fn max_key_len(&self) -> usize {
        self.inner.max_key_len()
    }

    fn encode_counter(&self, count: i64) -> [u8; 8] {
        self.inner.encode_counter(count)
    }

    fn decode_counter(&self, value: &[u8]) -> Result<i64> {
        self.inner.decode_counter(value)
    }
}

impl KvWrite for Faulty<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check()?;
        self.inner.put(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.check()?;
        self.inner.remove(key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.check()?;
        self.inner.remove_span(span)
    }

    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        self.check()?;
        self.inner.adjust_counter(key, by)
    }
}

impl KvTransaction for Faulty<'_> {
    fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.inner.set_read_only()
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.inner.set_timeout(timeout)
    }

    fn version(&self) -> Option<u64> {
        self.inner.version()
    }

    fn snapshot(&self) -> Result<SharedRead> {
        self.check()?;
        self.inner.snapshot()
    }

    fn watch(&mut self, key: &[u8]) -> Result<Watch> {
        self.inner.watch(key)
    }

    fn untracked(&self) -> Option<&dyn KvRead> {
        self.inner.untracked()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        match self.check() {
            Ok(()) => self.inner.commit(),
            Err(error) if error.is_outcome_unknown() => {
                self.inner.commit()?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    fn rollback(self: Box<Self>) {
        self.inner.rollback();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;

    /// A transfer between two counters; both or neither must change.
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
        assert!(tx.get(b"a").unwrap_err().is_stale());
        assert!(tx.commit().unwrap_err().is_stale());
        assert!(store.inner().snapshot().get(b"a").unwrap().is_none());
    }
}
