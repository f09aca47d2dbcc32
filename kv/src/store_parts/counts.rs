//! Counts the operations on a store, and sends events to `tracing`.
//!
//! No event contains keys or values. The text of an error can name a key, so the event has a word
//! for the kind of the error instead.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use super::lock::lock;
use super::traced::Traced;
use crate::{Counters, KvError, KvTransaction, Result, TxOptions};

/// The targets of the events. The guide lists them, with the fields.
pub(crate) mod target {
    pub(crate) const TRANSACTION: &str = "permazen::transaction";
    pub(crate) const COMMIT: &str = "permazen::commit";
    pub(crate) const RETRY: &str = "permazen::retry";
    pub(crate) const REQUEST: &str = "permazen::request";
    pub(crate) const FAILOVER: &str = "permazen::failover";
}

/// The running counts of a store.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// The name of the store.
    store: Box<str>,
    begun: AtomicU64,
    commits: AtomicU64,
    conflicts: AtomicU64,
    retries: AtomicU64,
    unknown_outcomes: AtomicU64,
    waits: Waits,
}

/// How often, and how long, transactions have waited for others.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    waits: AtomicU64,
    in_vain: AtomicU64,
    nanoseconds: AtomicU64,
}

/// A wait that lasts as long as this exists.
#[derive(Debug)]
pub(crate) struct Waiting<'w> {
    waits: &'w Waits,
    since: Instant,
    pub(crate) in_vain: bool,
}

thread_local! {
    /// The kind of the error by which the latest transaction of this thread has failed.
    static FAILED_BY: Cell<&'static str> = const { Cell::new(UNKNOWN) };
}

const UNKNOWN: &str = "other";

/// Notes that this thread begins another attempt.
pub(crate) fn forget_failure() {
    FAILED_BY.set(UNKNOWN);
}

/// The kind of the error by which a transaction has failed in the latest attempt of this thread.
pub(crate) fn latest_failure() -> &'static str {
    FAILED_BY.get()
}

impl Counts {
    /// The counts of a store with this name.
    pub(crate) fn of(store: impl Into<Box<str>>) -> Self {
        Counts { store: store.into(), ..Counts::default() }
    }

    pub(crate) fn store(&self) -> &str {
        &self.store
    }

    pub(crate) fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Begins a transaction.
    #[inline]
    pub(crate) fn begin(
        &self,
        options: &TxOptions,
        begin: impl FnOnce() -> Result<Box<dyn KvTransaction + Send>>,
    ) -> Result<Box<dyn KvTransaction + Send>> {
        if tracing::span_enabled!(target: target::TRANSACTION, tracing::Level::DEBUG) {
            return self.begin_traced(options, begin);
        }
        let begun = begin()?;
        self.note_begun(options);
        Ok(begun)
    }

    #[cold]
    fn begin_traced(
        &self,
        options: &TxOptions,
        begin: impl FnOnce() -> Result<Box<dyn KvTransaction + Send>>,
    ) -> Result<Box<dyn KvTransaction + Send>> {
        let span = tracing::debug_span!(
            target: target::TRANSACTION,
            "transaction",
            store = &*self.store,
            mode = if options.read_only { "read" } else { "write" },
            failed = options.failed,
        );
        let begun = span.in_scope(begin)?;
        self.note_begun(options);
        Ok(Box::new(Traced::new(begun, span)))
    }

    #[inline]
    fn note_begun(&self, options: &TxOptions) {
        self.begun.fetch_add(1, Relaxed);
        if options.failed > 0 && !options.is_first {
            self.retries.fetch_add(1, Relaxed);
        }
    }

    /// Notes the outcome of the commit of a transaction that has written something.
    #[inline]
    pub(crate) fn committed(&self, done: Result<()>) -> Result<()> {
        match &done {
            Ok(()) => {
                self.commits.fetch_add(1, Relaxed);
                tracing::debug!(
                    target: target::COMMIT,
                    store = &*self.store,
                    outcome = "committed",
                    "a commit"
                );
            }
            Err(error) => {
                self.note_failure(error);
                self.tell_failed_commit(error);
            }
        }
        done
    }

    /// Notes the error by which a transaction has failed. To be called once for each transaction.
    #[cold]
    pub(crate) fn note_failure(&self, error: &KvError) {
        if error.is_outcome_unknown() {
            self.unknown_outcomes.fetch_add(1, Relaxed);
        }
        if matches!(error, KvError::Conflict(_)) {
            self.conflicts.fetch_add(1, Relaxed);
        }
        FAILED_BY.set(error.kind());
    }

    /// Tells of a commit that has failed, without counting it.
    #[cold]
    pub(crate) fn tell_failed_commit(&self, error: &KvError) {
        let (store, kind) = (&*self.store, error.kind());
        match error {
            KvError::OutcomeUnknown(_) => tracing::warn!(
                target: target::COMMIT, store, outcome = "unknown", error = kind, "a commit"
            ),
            KvError::Conflict(_) => tracing::debug!(
                target: target::COMMIT, store, outcome = "conflict", error = kind, "a commit"
            ),
            // The transaction runs again, or its caller gets the error.
            error if error.is_retryable() => tracing::debug!(
                target: target::COMMIT, store, outcome = "failed", error = kind, "a commit"
            ),
            _ => tracing::warn!(
                target: target::COMMIT, store, outcome = "failed", error = kind, "a commit"
            ),
        }
    }

    /// Waits for `mutex`, and counts that if it takes waiting.
    pub(crate) fn lock<'m, T: ?Sized>(&self, mutex: &'m Mutex<T>) -> MutexGuard<'m, T> {
        match mutex.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let _waiting = self.waits.since(Instant::now());
                lock(mutex)
            }
        }
    }

    /// The counters of a store in which transactions that write take turns, so that there are no
    /// conflicts.
    pub(crate) fn of_turns(&self) -> Counters {
        Counters { conflicts: None, ..self.counters() }
    }

    /// The counters.
    pub(crate) fn counters(&self) -> Counters {
        let of = |count: &AtomicU64| Some(count.load(Relaxed));
        let own = Counters {
            begun: of(&self.begun),
            commits: of(&self.commits),
            conflicts: of(&self.conflicts),
            retries: of(&self.retries),
            unknown_outcomes: of(&self.unknown_outcomes),
            ..Counters::default()
        };
        own.or(self.waits.counters())
    }
}

impl Waits {
    /// Counts a wait that began then and ends when the result is dropped.
    pub(crate) fn since(&self, since: Instant) -> Waiting<'_> {
        Waiting { waits: self, since, in_vain: false }
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters {
            waits: Some(self.waits.load(Relaxed)),
            waits_in_vain: Some(self.in_vain.load(Relaxed)),
            waited: Some(Duration::from_nanos(self.nanoseconds.load(Relaxed))),
            ..Counters::default()
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // All waits together come to less than 584 years.
        let nanoseconds = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waits.waits.fetch_add(1, Relaxed);
        self.waits.nanoseconds.fetch_add(nanoseconds, Relaxed);
        self.waits.in_vain.fetch_add(u64::from(self.in_vain), Relaxed);
    }
}
