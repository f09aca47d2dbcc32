//! Calls a function with each notification.

use std::cell::Cell;
use std::fmt;
use std::thread;
use std::time::Duration;

use super::{Closing, Notification, Watcher};
use crate::error::{LedgerError, Result};

/// How long one wait for a notification takes at most.
const WAIT: Duration = Duration::from_secs(60);

/// How long it waits after an error.
const PAUSE: Duration = Duration::from_secs(1);

thread_local! {
    /// Whether this thread calls a function with a notification.
    static CALLS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a function that handles a notification.
pub(crate) fn is_told() -> bool {
    CALLS.get()
}

/// Calls a function with each notification of a watcher, until it is dropped.
#[must_use = "dropping it ends the calls"]
pub struct Subscription {
    closing: Closing,
    thread: thread::JoinHandle<()>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("ended", &self.is_ended()).finish_non_exhaustive()
    }
}

impl Subscription {
    /// Whether the calls have ended: because the branch was removed, or the function has panicked.
    pub fn is_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // Not joined: a running call may be the one that drops this.
        self.closing.close();
    }
}

impl Watcher {
    /// Calls `told` with each notification, and with the errors of [`next`](Watcher::next), of
    /// which there is at most one in a second, on a thread of its own: one call at a time, without
    /// any lock and outside of any transaction of the host. So a call may read and write the page,
    /// and a slow one does not delay others.
    ///
    /// Dropping the subscription ends it; a call that is running is finished.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{MAIN, PageId, Repository};
    ///
    /// let page = Repository::open_or_create(MemoryStore::new())?.create_page("phones", PageId::ROOT)?;
    /// let (sender, receiver) = mpsc::channel();
    /// let subscription = page.watch(MAIN, b"")?.subscribe(move |told| drop(sender.send(told)))?;
    ///
    /// let db = page.database(MAIN)?;
    /// let mut tx = db.begin(&TxOptions::writing())?;
    /// tx.put(b"Ann", b"555-0101")?;
    /// tx.commit()?;
    /// assert_eq!(receiver.recv().unwrap()?.updates[0].key, b"Ann");
    /// drop(subscription);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn subscribe(
        mut self,
        mut told: impl FnMut(Result<Notification>) + Send + 'static,
    ) -> Result<Subscription> {
        let closing = self.closing();
        let call = move || {
            CALLS.set(true);
            while !self.is_closed() {
                match self.next(WAIT) {
                    Ok(None) => {}
                    Ok(Some(notification)) => told(Ok(notification)),
                    Err(error) => {
                        let gone = matches!(error, LedgerError::BranchGone { .. });
                        told(Err(error));
                        if gone {
                            return;
                        }
                        self.signal.pause(PAUSE);
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("permazen-ledger-watcher".to_owned());
        match thread.spawn(call) {
            Ok(thread) => Ok(Subscription { closing, thread }),
            Err(error) => Err(LedgerError::Thread(error.to_string())),
        }
    }
}
