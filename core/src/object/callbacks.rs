//! Callbacks around the end of a transaction (docs/src/transactions.md#before-and-after-the-end).

use std::sync::Arc;

use super::{Result, Transaction};

/// Methods that are called when a transaction ends. By default they do nothing.
///
/// Callbacks run in the order in which they were added. Adding the same `Arc` again has no effect.
///
/// ```
/// use permazen::object::{Callback, Error, Result, Transaction};
///
/// /// Refuses to commit if there are no people.
/// struct NeverEmpty;
///
/// impl Callback for NeverEmpty {
///     fn before_commit(&self, tx: &Transaction, _read_only: bool) -> Result<()> {
///         if tx.objects("Person")?.is_empty()? { Err(Error::listener("nobody is left")) } else { Ok(()) }
///     }
/// }
///
/// # fn example(tx: &Transaction) -> Result<()> {
/// tx.add_callback(std::sync::Arc::new(NeverEmpty))
/// # }
/// ```
pub trait Callback: Send + Sync {
    /// Called before the commit. The transaction is fully usable, but more callbacks cannot be
    /// added. The second argument says whether the commit will discard what was written; with
    /// [`set_read_only`](Transaction::set_read_only), each callback can still decide that. An error
    /// rolls the transaction back, and `commit` returns it.
    fn before_commit(&self, _tx: &Transaction, _read_only: bool) -> Result<()> {
        Ok(())
    }

    /// Called before the commit or the rollback. An error is logged and ignored. The transaction is
    /// usable only if it ends without an attempt to commit: by `rollback`, by being dropped, or
    /// because `set_rollback_only` was called before `commit`.
    fn before_completion(&self, _tx: &Transaction) -> Result<()> {
        Ok(())
    }

    /// Called after a successful commit. If it fails, the callbacks after it are not called, and
    /// `commit` returns the error although the data is committed.
    fn after_commit(&self) -> Result<()> {
        Ok(())
    }

    /// Called after the end. `committed` says whether the transaction was committed; it is false
    /// too if the operation in which the callback was added was undone. An error is logged and
    /// ignored.
    fn after_completion(&self, _committed: bool) -> Result<()> {
        Ok(())
    }
}

/// The callbacks of a transaction, in order.
#[derive(Default)]
pub(super) struct Callbacks {
    added: Vec<Arc<dyn Callback>>,
    /// Those that were added in an operation that was undone.
    undone: Vec<Arc<dyn Callback>>,
}

impl Callbacks {
    /// Adds a callback, if it is not there.
    pub(super) fn add(&mut self, callback: Arc<dyn Callback>) {
        if !self.added.iter().any(|other| Arc::ptr_eq(other, &callback)) {
            // If an operation that was undone has added it before, it now gets the answer of the
            // real end only.
            self.undone.retain(|other| !Arc::ptr_eq(other, &callback));
            self.added.push(callback);
        }
    }

    /// How many callbacks there are, without those that were undone.
    pub(super) fn len(&self) -> usize {
        self.added.len()
    }

    /// The callbacks that are there at this time, without those that were undone.
    pub(super) fn present(&self) -> Vec<Arc<dyn Callback>> {
        self.added.clone()
    }

    /// Undoes the addition of all callbacks after the first `len`. Only their `after_completion` is
    /// called.
    pub(super) fn undo_after(&mut self, len: usize) {
        if len < self.added.len() {
            self.undone.extend(self.added.drain(len..));
        }
    }

    /// Tells all of the end.
    pub(super) fn after_completion(self, committed: bool) {
        // The answer for those that were undone is the same, however the transaction ends.
        after_completion(&self.added, committed);
        after_completion(&self.undone, false);
    }
}

pub(super) fn before_commit(callbacks: &[Arc<dyn Callback>], tx: &Transaction) -> Result<()> {
    // The first refusal ends the commit, so the callbacks after it are not asked. Each may make the
    // transaction read-only.
    callbacks.iter().try_for_each(|callback| callback.before_commit(tx, tx.is_read_only()?))
}

pub(super) fn before_completion(callbacks: &[Arc<dyn Callback>], tx: &Transaction) {
    for callback in callbacks {
        // The end cannot be stopped any more, so an error must not keep other callbacks from their
        // call.
        if let Err(error) = callback.before_completion(tx) {
            tracing::warn!(%error, "a callback failed before the end of a transaction");
        }
    }
}

pub(super) fn after_commit(callbacks: &[Arc<dyn Callback>]) -> Result<()> {
    callbacks.iter().try_for_each(|callback| callback.after_commit())
}

fn after_completion(callbacks: &[Arc<dyn Callback>], committed: bool) {
    for callback in callbacks {
        if let Err(error) = callback.after_completion(committed) {
            tracing::warn!(%error, committed, "a callback failed after the end of a transaction");
        }
    }
}
