//! Locks that a panic does not break.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for `mutex`. Change the guarded value in whole steps only: it must be valid even after a
/// panic in another thread that held it.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
