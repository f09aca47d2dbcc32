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
pub(crate) trait Onlooker: Any + Send + Sync {
    /// The branch.
    fn branch(&self) -> &str;

    /// Whether it is still needed. Called under the lock of the poller, so it must not wait.
    fn is_needed(&self) -> bool;

    /// Receives the present heads, perhaps the same as before. Called without a lock and outside of
    /// any transaction of the host.
    fn look(&self, heads: &BranchHeads);

    /// The heads could not be read. An observer that returns errors to a caller reads the heads
    /// itself, and gets the error. Called like `look`.
    fn look_failed(&self);
}

/// One thread for all observers of a page. It ends when no observer is left.
pub(crate) struct Lookout {
    host: Arc<dyn KvDatabase>,
    rows: Rows,
    state: Mutex<State>,
    news: Condvar,
}

struct State {
    onlookers: Vec<Arc<dyn Onlooker>>,
    running: bool,
    /// The thread was woken, for example by a commit of this process.
    called: bool,
    /// An observer must be notified even if the host has not changed.
    added: bool,
    interval: Duration,
}

impl fmt::Debug for Lookout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookout").field("onlookers", &self.lock().onlookers.len()).finish()
    }
}

impl Lookout {
    pub(crate) fn new(host: Arc<dyn KvDatabase>, rows: Rows) -> Self {
        let (onlookers, interval) = (Vec::new(), INTERVAL);
        let state =
            Mutex::new(State { onlookers, running: false, called: false, added: false, interval });
        Lookout { host, rows, state, news: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_interval(&self, interval: Duration) {
        self.lock().interval = interval;
        self.call();
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
    /// If the system gives no thread.
    pub(crate) fn add(
        self: &Arc<Self>,
        onlooker: Arc<dyn Onlooker>,
        instead: impl Fn(&dyn Onlooker) -> bool,
    ) -> Result<()> {
        let mut state = self.lock();
        state.onlookers.retain(|other| !instead(&**other));
        state.onlookers.push(onlooker);
        state.added = true;
        if state.running {
            return Ok(());
        }
        let lookout = Arc::clone(self);
        let thread = thread::Builder::new().name("permazen-ledger-lookout".to_owned());
        match thread.spawn(move || lookout.run()) {
            Ok(_) => state.running = true,
            Err(error) => {
                state.onlookers.pop();
                return Err(LedgerError::Thread(error.to_string()));
            }
        }
        Ok(())
    }

    /// Wakes the thread, because a branch has changed or an observer is not needed any more.
    pub(crate) fn call(&self) {
        let mut state = self.lock();
        if state.running {
            state.called = true;
            self.news.notify_all();
        }
    }

    /// Wakes the thread, and lets it notify all observers even if the host has not changed.
    pub(crate) fn call_anew(&self) {
        self.lock().added = true;
        self.call();
    }

    fn run(&self) {
        let mut seen = None;
        while let Some((onlookers, added)) = self.wait() {
            // After a new observer has read the heads, this thread may have read newer ones, and
            // have notified only the others. So it notifies all once more.
            let known = if added { None } else { seen };
            // A panic of the host must not end the thread, or no observer would be notified any
            // more.
            let looked = catch_unwind(AssertUnwindSafe(|| self.look(&onlookers, known)));
            seen = match looked {
                Ok(Ok(version)) => version,
                Ok(Err(_)) | Err(_) => {
                    for onlooker in &onlookers {
                        // Nor must a panic in code of the program that the observer calls.
                        let _ = catch_unwind(AssertUnwindSafe(|| onlooker.look_failed()));
                    }
                    None
                }
            };
        }
    }

    /// Waits for the next poll. `None` once no observer is needed.
    fn wait(&self) -> Option<(Vec<Arc<dyn Onlooker>>, bool)> {
        let mut state = self.lock();
        if !state.called {
            let interval = state.interval;
            let waited = self.news.wait_timeout_while(state, interval, |state| !state.called);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.called = false;
        state.onlookers.retain(|onlooker| onlooker.is_needed());
        if state.onlookers.is_empty() {
            state.running = false;
            return None;
        }
        let added = std::mem::take(&mut state.added);
        Some((state.onlookers.clone(), added))
    }

    /// Notifies the observers, unless the version of the host is the one that was `seen`. Heads
    /// that could not be read are read again by the next poll.
    fn look(&self, onlookers: &[Arc<dyn Onlooker>], seen: Option<u64>) -> Result<Option<u64>> {
        let tx = self.host.begin(&TxOptions::reading())?;
        let version = tx.version();
        if version.is_some() && version == seen {
            return Ok(version);
        }
        // A damaged row of one branch must not silence the observers of others.
        let heads = |onlooker: &Arc<dyn Onlooker>| self.heads_in(&tx, onlooker.branch()).ok();
        let found: Vec<_> = onlookers.iter().map(heads).collect();
        drop(tx);
        for (onlooker, heads) in onlookers.iter().zip(&found) {
            match heads {
                Some(heads) => onlooker.look(heads),
                None => onlooker.look_failed(),
            }
        }
        Ok(version.filter(|_| found.iter().all(Option::is_some)))
    }
}
