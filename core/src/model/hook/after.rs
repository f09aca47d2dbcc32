//! Closures that are called after the end of a transaction.

use std::sync::{Arc, Mutex, PoisonError};

use crate::model::error::Result;
use crate::model::tx::Tx;
use crate::object::{self, Callback};

/// A closure that is called after the end of a transaction, and whether that was a commit.
struct After<F>(Mutex<Option<F>>);

impl<F: FnOnce(bool) + Send> Callback for After<F> {
    fn after_completion(&self, committed: bool) -> object::Result<()> {
        // It is taken first, so that it is not called with the lock held.
        let after = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(after) = after {
            after(committed);
        }
        Ok(())
    }
}

/// Calls after the end of a transaction.
impl Tx {
    /// Calls `after` after this transaction was committed, in the thread that has committed it. If
    /// it is rolled back or its commit fails, or if the operation that calls this is undone,
    /// `after` is dropped. [`Permazen::write`](crate::Permazen::write) may run its closure again,
    /// in another transaction; so put an action that must happen once, such as sending a message,
    /// into `after`.
    ///
    /// # Errors
    /// If the end of the transaction has begun. While hooks check the rules, it has not.
    pub fn on_commit(&self, after: impl FnOnce() + Send + 'static) -> Result<()> {
        self.on_complete(|committed| {
            if committed {
                after();
            }
        })
    }

    /// Calls `after` after the end of this transaction, and says whether it was committed. If the
    /// operation that calls this is undone, `after` gets `false`, because the changes of the
    /// operation were not committed. A panic in the transaction or in a hook is an end too.
    ///
    /// # Errors
    /// If the end of the transaction has begun. While hooks check the rules, it has not.
    pub fn on_complete(&self, after: impl FnOnce(bool) + Send + 'static) -> Result<()> {
        Ok(self.core.add_callback(Arc::new(After(Mutex::new(Some(after)))))?)
    }
}
