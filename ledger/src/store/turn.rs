//! Lets the transactions of a handle take turns.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use permazen_kv::__internal::{Process, check_can_begin};
use permazen_kv::{KvDatabase, KvError, Result, TxOptions};

/// How long a transaction waits for its turn, unless set in its options.
pub(super) const WAIT: Duration = Duration::from_secs(30);

/// The turn to write: one transaction has it at a time.
#[derive(Debug, Default)]
pub(super) struct Turn {
    holder: Mutex<Option<TurnHolder>>,
    over: Condvar,
}

/// The transaction that has the turn.
#[derive(Debug)]
struct TurnHolder {
    /// The thread on which the transaction ends, if its options say that it ends on its own thread.
    ends_on: Option<ThreadId>,
    /// Its process. In a child that was forked from it, the transaction never ends.
    process: Process,
}

impl TurnHolder {
    fn new(ends_on: Option<ThreadId>) -> Self {
        TurnHolder { ends_on, process: Process::this() }
    }
}

/// The turn, released when dropped. It can move to another thread.
#[derive(Debug)]
pub(super) struct Permit(Arc<Turn>);

impl Turn {
    /// Waits until no other transaction has the turn, for as long as `options` say. Transactions
    /// commit to `host`.
    ///
    /// # Errors
    /// [`KvError::WithinWrite`] at once if this thread would wait for itself, [`KvError::Forked`]
    /// at once if a thread of the parent process has the turn, otherwise retryable.
    pub(super) fn take(
        self: &Arc<Self>,
        options: &TxOptions,
        (host, branch): (&dyn KvDatabase, &str),
    ) -> Result<Permit> {
        let here = thread::current().id();
        let mut holder = self.holder();
        check_process(&holder, branch)?;
        if holder.as_ref().is_some_and(|holder| holder.ends_on == Some(here)) {
            return Err(KvError::WithinWrite { store: format!("branch {branch:?}").into() });
        }
        if holder.is_some() {
            // The other transaction may need the write lock of the host, which this thread may
            // hold.
            drop(holder);
            check_can_begin(host)?;
            holder = self.holder();
        }
        let wait = options.wait.unwrap_or(WAIT);
        let is_taken = |holder: &mut Option<TurnHolder>| holder.is_some();
        let waited = self.over.wait_timeout_while(holder, wait, is_taken);
        holder = waited.unwrap_or_else(PoisonError::into_inner).0;
        if holder.is_some() {
            return Err(KvError::Retry(format!(
                "waited {wait:?} for another transaction that writes through this handle of the branch; \
                 if that is one of this thread, use it, or open another handle"
            )));
        }
        *holder = Some(TurnHolder::new(options.ends_here.then_some(here)));
        drop(holder);
        Ok(Permit(Arc::clone(self)))
    }

    /// Takes the turn if it is free.
    ///
    /// # Errors
    /// [`KvError::Forked`] as [`take`](Self::take).
    pub(super) fn try_take(self: &Arc<Self>, branch: &str) -> Result<Option<Permit>> {
        let mut holder = self.holder();
        check_process(&holder, branch)?;
        if holder.is_some() {
            return Ok(None);
        }
        *holder = Some(TurnHolder::new(None));
        Ok(Some(Permit(Arc::clone(self))))
    }

    fn holder(&self) -> MutexGuard<'_, Option<TurnHolder>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transaction that was open when this process was forked never ends here.
fn check_process(holder: &Option<TurnHolder>, branch: &str) -> Result<()> {
    match holder {
        Some(holder) => holder.process.check(|| format!("branch {branch:?}")),
        None => Ok(()),
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.holder() = None;
        self.0.over.notify_one();
    }
}
