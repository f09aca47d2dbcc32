//! Polls the heads of branches of a page, and notifies observers.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use permazen_kv::{KvDatabase, KvRead, TxOptions};

use crate::error::{LedgerError, Result};
use crate::rows::page::{Head, Rows};

/// The polling interval, unless set.
const INTERVAL: Duration = Duration::from_millis(100);

/// The heads of a branch, the oldest first, and how often it was reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchHeads {
    pub(crate) heads: Vec<Head>,
    pub(crate) resets: u64,
}

/// Is notified of the heads of a branch.
pub(crate) trait HeadObserver: Any + Send + Sync {
    /// The branch.
    fn branch(&self) -> &str;

    /// Whether it is still needed. Called under the lock of the poller, so it must not wait.
    fn is_needed(&self) -> bool;

    /// Receives the present heads, perhaps the same as before. Called without a lock and outside of
    /// any transaction of the host.
    fn heads_read(&self, heads: &BranchHeads);

    /// The heads could not be read. An observer that returns errors to a caller reads the heads
    /// itself, and gets the error. Called like [`heads_read`](HeadObserver::heads_read).
    fn heads_unreadable(&self);
}

/// One thread for all observers of a page. It ends when no observer is left.
pub(crate) struct HeadPoller {
    host: Arc<dyn KvDatabase>,
    rows: Rows,
    state: Mutex<HeadPollerState>,
    wakeup: Condvar,
}

struct HeadPollerState {
    observers: Vec<Arc<dyn HeadObserver>>,
    running: bool,
    /// The thread was woken, for example by a commit of this process.
    woken: bool,
    /// An observer must be notified even if the host has not changed.
    notify_all: bool,
    interval: Duration,
}

impl fmt::Debug for HeadPoller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeadPoller").field("observers", &self.lock().observers.len()).finish()
    }
}

impl HeadPoller {
    pub(crate) fn new(host: Arc<dyn KvDatabase>, rows: Rows) -> Self {
        let (observers, interval) = (Vec::new(), INTERVAL);
        let state = Mutex::new(HeadPollerState {
            observers,
            running: false,
            woken: false,
            notify_all: false,
            interval,
        });
        HeadPoller { host, rows, state, wakeup: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, HeadPollerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_interval(&self, interval: Duration) {
        self.lock().interval = interval;
        self.wake();
    }

    /// The heads of a branch.
    pub(crate) fn heads(&self, branch: &str) -> Result<BranchHeads> {
        self.heads_in(&self.host.begin(&TxOptions::reading())?, branch)
    }

    fn heads_in(&self, tx: &dyn KvRead, branch: &str) -> Result<BranchHeads> {
        let heads = self.rows.heads(tx, branch)?;
        Ok(BranchHeads { heads, resets: self.rows.resets(tx, branch)? })
    }

    /// Adds an observer, which has read the heads itself before. Observers for which `instead`
    /// returns `true` are replaced.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn add(
        self: &Arc<Self>,
        observer: Arc<dyn HeadObserver>,
        instead: impl Fn(&dyn HeadObserver) -> bool,
    ) -> Result<()> {
        let mut state = self.lock();
        state.observers.retain(|other| !instead(&**other));
        state.observers.push(observer);
        state.notify_all = true;
        if state.running {
            return Ok(());
        }
        let head_poller = Arc::clone(self);
        let thread = thread::Builder::new().name("permazen-ledger-heads".to_owned());
        match thread.spawn(move || head_poller.run()) {
            Ok(_) => state.running = true,
            Err(error) => {
                state.observers.pop();
                return Err(LedgerError::Thread(error.to_string()));
            }
        }
        Ok(())
    }

    /// Wakes the thread, because a branch has changed or an observer is not needed any more.
    pub(crate) fn wake(&self) {
        let mut state = self.lock();
        if state.running {
            state.woken = true;
            self.wakeup.notify_all();
        }
    }

    /// Wakes the thread, and lets it notify all observers even if the host has not changed.
    pub(crate) fn renotify(&self) {
        self.lock().notify_all = true;
        self.wake();
    }

    fn run(&self) {
        let mut seen = None;
        while let Some((observers, notify_all)) = self.wait() {
            // After a new observer has read the heads, this thread may have read newer ones, and
            // have notified only the others. So it notifies all once more.
            let unchanged_since = if notify_all { None } else { seen };
            // A panic of the host must not end the thread, or no observer would be notified any
            // more.
            let polled = catch_unwind(AssertUnwindSafe(|| self.poll(&observers, unchanged_since)));
            seen = match polled {
                Ok(Ok(version)) => version,
                Ok(Err(_)) | Err(_) => {
                    for observer in &observers {
                        // Nor must a panic in code of the program that the observer calls.
                        let _ = catch_unwind(AssertUnwindSafe(|| observer.heads_unreadable()));
                    }
                    None
                }
            };
        }
    }

    /// Waits for the next poll. `None` once no observer is needed.
    fn wait(&self) -> Option<(Vec<Arc<dyn HeadObserver>>, bool)> {
        let mut state = self.lock();
        if !state.woken {
            let interval = state.interval;
            let waited = self.wakeup.wait_timeout_while(state, interval, |state| !state.woken);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.woken = false;
        state.observers.retain(|observer| observer.is_needed());
        if state.observers.is_empty() {
            state.running = false;
            return None;
        }
        let notify_all = std::mem::take(&mut state.notify_all);
        Some((state.observers.clone(), notify_all))
    }

    /// Notifies the observers, unless the version of the host is the one that was `seen`. Heads
    /// that could not be read are read again by the next poll.
    fn poll(&self, observers: &[Arc<dyn HeadObserver>], seen: Option<u64>) -> Result<Option<u64>> {
        let tx = self.host.begin(&TxOptions::reading())?;
        let version = tx.version();
        if version.is_some() && version == seen {
            return Ok(version);
        }
        // A damaged row of one branch must not silence the observers of others.
        let heads = |observer: &Arc<dyn HeadObserver>| self.heads_in(&tx, observer.branch()).ok();
        let found: Vec<_> = observers.iter().map(heads).collect();
        drop(tx);
        for (observer, heads) in observers.iter().zip(&found) {
            match heads {
                Some(heads) => observer.heads_read(heads),
                None => observer.heads_unreadable(),
            }
        }
        Ok(version.filter(|_| found.iter().all(Option::is_some)))
    }
}
