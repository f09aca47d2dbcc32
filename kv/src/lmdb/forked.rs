//! Whether a process is the one that has opened an environment. After `fork`, the child is not.
//!
//! The child has a copy of all memory, but not of the threads and of the locks. Its reads would not be
//! protected from those who write, and its writes would wait for a thread that it does not have. So each
//! use of an environment asks whether the process was forked since it was opened. In the child, nothing of
//! it is used, and what would give something back that belongs to the parent is forgotten instead.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
#[cfg(unix)]
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::store_parts::lock::lock;
use crate::{KvError, Result};

/// How often this process and those before it were forked, each from the one before.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// What threads of a parent of this process had in use when it was forked, so that this process cannot close it.
static IN_USE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Notes that the environment in `directory` stays open in this process.
pub(super) fn note_in_use(directory: &Path) {
    lock(&IN_USE).push(directory.to_owned());
}

/// Whether the environment in `directory` stays open in this process.
pub(super) fn is_in_use(directory: &Path) -> bool {
    lock(&IN_USE).iter().any(|it| it == directory)
}

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process(u32);

impl Process {
    /// This process.
    pub(super) fn this() -> Self {
        #[cfg(unix)]
        notice_forks();
        Process(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it is this process. Costs one read of memory.
    #[inline]
    pub(super) fn is_this(self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.0
    }

    /// Fails if it is not this process. `path` is what it has open.
    #[inline]
    pub(super) fn check(self, path: &Path) -> Result<()> {
        if self.is_this() { Ok(()) } else { Err(KvError::forked(path)) }
    }
}

/// From here on, forks of this process are counted. Those that bypass the C library are not.
#[cfg(unix)]
fn notice_forks() {
    static NOTICED: Once = Once::new();

    extern "C" fn in_the_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }

    NOTICED.call_once(|| {
        // SAFETY: The function is called in the child after a fork, where only few things are allowed. It adds
        // to a number, which is one of them. If there is no memory to note it, forks are not noticed.
        #[allow(unsafe_code)]
        unsafe {
            libc::pthread_atfork(None, None, Some(in_the_child));
        }
    });
}
