//! The process that has made something. After `fork`, a child has a copy of all memory of its
//! parent, but not its threads and its locks. A lock that a thread of the parent held is never
//! given back in the child.

use crate::{KvError, Result};

/// The process that has made this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// The process that calls this.
    pub fn this() -> Self {
        Process(number::of_this_process())
    }

    /// Whether it is the process that calls this. A child that was forked from it is another one.
    ///
    /// Costs one read of memory where the stores on disk are, else a call of the system.
    #[inline]
    pub fn is_this(self) -> bool {
        number::now() == self.0
    }

    /// Fails in a child that was forked from it. `store` names the store that it has open.
    ///
    /// # Errors
    /// [`KvError::Forked`].
    #[inline]
    pub fn check<S: Into<Box<str>>>(self, store: impl FnOnce() -> S) -> Result<()> {
        if self.is_this() { Ok(()) } else { Err(KvError::Forked { store: store().into() }) }
    }
}

/// How many forks lead to this process: the fork that made it, the fork that made its parent, and
/// so on.
#[cfg(all(unix, any(feature = "lmdb", feature = "sqlite")))]
mod number {
    use std::sync::Once;
    use std::sync::atomic::{AtomicU32, Ordering};

    static FORKS: AtomicU32 = AtomicU32::new(0);

    #[inline]
    pub(super) fn now() -> u32 {
        FORKS.load(Ordering::Relaxed)
    }

    /// From here on, forks of this process are counted, except forks that bypass the C library.
    pub(super) fn of_this_process() -> u32 {
        static COUNTS: Once = Once::new();

        extern "C" fn in_the_child() {
            FORKS.fetch_add(1, Ordering::Relaxed);
        }

        COUNTS.call_once(|| {
            // SAFETY: The function is called in the child after a fork, where only few things are
            // allowed. It adds to a number, which is one of them. If there is no memory to note it,
            // forks are not noticed.
            #[allow(unsafe_code)]
            unsafe {
                libc::pthread_atfork(None, None, Some(in_the_child));
            }
        });
        now()
    }
}

#[cfg(not(all(unix, any(feature = "lmdb", feature = "sqlite"))))]
mod number {
    pub(super) fn now() -> u32 {
        std::process::id()
    }

    pub(super) fn of_this_process() -> u32 {
        now()
    }
}
