//! Upper transactions: transactions of another layer that hold the right to write to the store
//! below them.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use super::lock::lock;
use crate::KvError;

/// A transaction that, through another transaction, holds the right to write to the store below it.
/// Its user does not know of that other transaction. It can move from thread to thread.
#[derive(Debug)]
pub(crate) struct UpperTransaction {
    /// The thread that has used it last.
    thread: Mutex<ThreadId>,
    /// Whether that thread was refused another transaction on the store.
    refused: AtomicBool,
}

thread_local! {
    /// For which transaction this thread is taking the right to write.
    static ABOVE: RefCell<Option<Arc<UpperTransaction>>> = const { RefCell::new(None) };

    /// Whether this thread was refused a transaction since it looked last.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

impl UpperTransaction {
    /// A new upper transaction for this thread; or, if this thread is taking the right to write for
    /// an upper transaction already, that one.
    pub(crate) fn new() -> Arc<Self> {
        let new = || {
            let thread = Mutex::new(thread::current().id());
            Arc::new(UpperTransaction { thread, refused: AtomicBool::new(false) })
        };
        UpperTransaction::of_this_thread().unwrap_or_else(new)
    }

    /// The transaction for which this thread is taking the right to write.
    pub(super) fn of_this_thread() -> Option<Arc<Self>> {
        ABOVE.with_borrow(Clone::clone)
    }

    /// Runs `take`, which takes the right to write for this transaction.
    pub(crate) fn hold<T>(self: &Arc<Self>, take: impl FnOnce() -> T) -> T {
        let before = ABOVE.replace(Some(Arc::clone(self)));
        let taken = take();
        ABOVE.set(before);
        taken
    }

    /// Notes which thread uses the transaction.
    pub(crate) fn is_used_by(&self, thread: ThreadId) {
        *lock(&self.thread) = thread;
    }

    /// Whether this thread has used the transaction last.
    pub(crate) fn is_here(&self) -> bool {
        let used_by = *lock(&self.thread);
        used_by == thread::current().id()
    }

    /// The error for another transaction on this thread, which would wait for itself.
    pub(crate) fn refuse(&self) -> KvError {
        self.refused.store(true, Ordering::Relaxed);
        REFUSED.set(true);
        KvError::Retry(
            "this thread is in the middle of a transaction that has failed often and therefore holds the \
             store's right to write; write through that one, or run it again: its next attempt leaves that \
             right to others"
                .to_owned(),
        )
    }

    /// Runs `begin`, and returns also whether it was refused a transaction.
    pub(super) fn noticing_refusal<T>(begin: impl FnOnce() -> T) -> (T, bool) {
        REFUSED.set(false);
        let begun = begin();
        // It stays set: this may be within the `begin` of another store, whose caller looks too.
        (begun, REFUSED.get())
    }

    pub(crate) fn has_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }
}
