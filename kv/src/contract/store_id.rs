//! The identity of an open store.

use std::sync::atomic::{AtomicU64, Ordering};

/// Tells the stores that this process has open apart. What is written to one is never seen in one
/// that is open at the same time with another identity. Two with the same one may share their
/// content, or parts of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoreId(u64);

impl StoreId {
    /// An identity that no store of this process has had before.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        StoreId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
