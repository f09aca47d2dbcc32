//! Limits of a statement.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Limits of a statement that runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// If this becomes true, the statement stops soon: after at most a few hundred pairs.
    pub stop: Option<Arc<AtomicBool>>,
    /// How many bytes of memory a sort may use. Records beyond that go to temporary files.
    pub sort_memory: usize,
    /// The folder for temporary files; the system's if it is `None`. The files are for this user
    /// only, and have no name.
    pub temporary: Option<PathBuf>,
}

impl Default for Limits {
    /// 64 MiB for sorting, the system's folder for temporary files, no way to stop.
    fn default() -> Self {
        Limits { stop: None, sort_memory: 64 << 20, temporary: None }
    }
}

impl Limits {
    /// Whether the statement is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}
