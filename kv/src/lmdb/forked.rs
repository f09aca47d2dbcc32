//! Environments that a child of a fork cannot close. A child has a copy of all memory, but not of
//! the threads and of the locks. Its reads would not be protected from transactions that write, and
//! its writes would wait for a thread that it does not have. So each use of an environment checks
//! that this process has opened it. In the child, no part of it is used, and values whose drop
//! would release something of the parent are forgotten instead.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::store_parts::lock::lock;

/// The environments that threads of a parent of this process used when it was forked, so that this
/// process cannot close them.
static IN_USE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Notes that the environment in `directory` stays open in this process.
pub(super) fn note_in_use(directory: &Path) {
    lock(&IN_USE).push(directory.to_owned());
}

/// Whether the environment in `directory` stays open in this process.
pub(super) fn is_in_use(directory: &Path) -> bool {
    lock(&IN_USE).iter().any(|it| it == directory)
}
