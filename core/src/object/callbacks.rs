//! Callbacks around the end of a transaction (transactions §3.2).

use std::sync::Arc;

use super::{Result, Transaction};

/// What is told when a transaction ends. All methods do nothing unless overridden.
///
/// Callbacks run in the order they were added. Registering the same `Arc` again has no effect.
///
/// ```
/// use permazen::object::{Callback, Error, Result, Transaction};
///
/// /// Refuses to commit if there are no people.
/// struct NeverEmpty;
///
/// impl Callback for NeverEmpty {
///     fn before_commit(&self, tx: &Transaction<'_>, _read_only: bool) -> Result<()> {
///         if tx.objects("Person")?.is_empty()? { Err(Error::listener("nobody is left")) } else { Ok(()) }
///     }
/// }
///
/// # fn example(tx: &Transaction<'_>) -> Result<()> {
/// tx.add_callback(std::sync::Arc::new(NeverEmpty))
/// # }
/// ```
pub trait Callback: Send + Sync {
    /// Before the commit; the transaction is fully usable, but takes no further callbacks. An error
    /// rolls the transaction back and is what `commit` returns.
    fn before_commit(&self, _tx: &Transaction<'_>, _read_only: bool) -> Result<()> {
        Ok(())
    }

    /// Before the commit or rollback takes place, whichever it is. An error is logged and ignored.
    /// The transaction is usable only if it is being rolled back.
    fn before_completion(&self, _tx: &Transaction<'_>) -> Result<()> {
        Ok(())
    }

    /// After a successful commit. An error keeps the callbacks behind this one from being called and is
    /// what `commit` returns, though the data is committed.
    fn after_commit(&self) -> Result<()> {
        Ok(())
    }

    /// After the end, told whether the transaction was committed. An error is logged and ignored.
    fn after_completion(&self, _committed: bool) -> Result<()> {
        Ok(())
    }
}

/// The callbacks of a transaction, in order.
pub(crate) type Callbacks = Vec<Arc<dyn Callback>>;

pub(super) fn before_commit(
    callbacks: &Callbacks,
    tx: &Transaction<'_>,
    read_only: bool,
) -> Result<()> {
    callbacks.iter().try_for_each(|callback| callback.before_commit(tx, read_only))
}

pub(super) fn before_completion(callbacks: &Callbacks, tx: &Transaction<'_>) {
    for callback in callbacks {
        if let Err(error) = callback.before_completion(tx) {
            tracing::warn!(%error, "a callback failed before the end of a transaction");
        }
    }
}

pub(super) fn after_commit(callbacks: &Callbacks) -> Result<()> {
    callbacks.iter().try_for_each(|callback| callback.after_commit())
}

pub(super) fn after_completion(callbacks: &Callbacks, committed: bool) {
    for callback in callbacks {
        if let Err(error) = callback.after_completion(committed) {
            tracing::warn!(%error, committed, "a callback failed after the end of a transaction");
        }
    }
}
