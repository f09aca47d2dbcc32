//! Changes of recorded schemas that get no version of the store of their own.
//!
//! Transactions that are committed together lead to one version. Only the first one of them has a
//! version when it begins, and it does not know the writes of the others, perhaps of another
//! `Database` over the same store.

use std::sync::atomic::{AtomicU64, Ordering};

static UNNUMBERED: AtomicU64 = AtomicU64::new(0);

/// How often a transaction of this process that has no version has begun to change schemas, in any
/// database.
pub(crate) fn unnumbered() -> u64 {
    UNNUMBERED.load(Ordering::Acquire)
}

/// Notes that a transaction changes schemas whose commit may lead to the same version as that of
/// another one. The schemas that the other one knows are not those of that version.
pub(crate) fn changes_unnumbered() {
    UNNUMBERED.fetch_add(1, Ordering::AcqRel);
}
