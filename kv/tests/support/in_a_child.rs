//! Children that are made with `fork`. A child has the memory of its parent, and none of its
//! threads.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Whether `work` returns true in a child that is made with `fork`, without a panic and within
/// `seconds` seconds.
pub(crate) fn holds_in_a_child(seconds: u32, work: impl FnOnce() -> bool) -> bool {
    // SAFETY: The child does its work, and ends. The alarm ends a child that waits for ever.
    #[allow(unsafe_code)]
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: It sets a clock of this process.
        #[allow(unsafe_code)]
        unsafe {
            libc::alarm(seconds);
        }
        let held = catch_unwind(AssertUnwindSafe(work)).unwrap_or(false);
        // SAFETY: It ends this process, without the functions that the parent has registered for
        // its end.
        #[allow(unsafe_code)]
        unsafe {
            libc::_exit(i32::from(!held))
        }
    }
    let mut status = 0;
    // SAFETY: It waits for a child of this process, and writes to a number.
    #[allow(unsafe_code)]
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    (ended, status) == (child, 0)
}
