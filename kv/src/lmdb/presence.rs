//! Whether any process has `data.mdb` open.

use std::fs::{File, TryLockError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::store_parts::lock::lock;

/// How often to look again while others are in the middle of a change, and the pause between.
pub(super) const LOOKS: u32 = 100;
pub(super) const PAUSE: Duration = Duration::from_millis(5);

/// Shows other processes that this one has `data.mdb` open, by a shared lock on the file. LMDB
/// itself does not lock that file.
#[derive(Default)]
pub(super) struct Presence {
    shown: Mutex<bool>,
    /// Whether a thread of this process waits for processes that do not show themselves.
    settling: AtomicBool,
}

impl Presence {
    /// Shows the presence of this process as long as the file is open. Does nothing if files cannot
    /// be locked, or if another program keeps the file locked. Then other processes may wait for
    /// the right to write although they need not.
    pub(super) fn show(&self, file: &File) {
        let mut shown = lock(&self.shown);
        for _ in 0..LOOKS {
            match file.try_lock_shared() {
                Ok(()) => *shown = true,
                // Another process is just checking whether it is alone.
                Err(TryLockError::WouldBlock) if !*shown => {
                    thread::sleep(PAUSE);
                    continue;
                }
                Err(_) => {}
            }
            break;
        }
    }

    /// Notes that a thread waits for processes that do not show themselves. False if one waits
    /// already.
    pub(super) fn begin_settling(&self) -> bool {
        !self.settling.swap(true, Ordering::AcqRel)
    }

    pub(super) fn end_settling(&self) {
        self.settling.store(false, Ordering::Release);
    }

    /// Whether such a thread waits, even if its result is no longer wanted.
    pub(super) fn is_settling(&self) -> bool {
        self.settling.load(Ordering::Acquire)
    }

    /// Whether no process shows itself, not even this one.
    pub(super) fn nobody(&self, file: &File) -> bool {
        let shown = lock(&self.shown);
        !*shown && file.try_lock().is_ok() && file.unlock().is_ok()
    }
}
