//! Whether anybody has `data.mdb` open.

use std::fs::{File, TryLockError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::store_parts::lock::lock;

/// How often to look again at what others have in work, and after which pause.
pub(super) const LOOKS: u32 = 100;
pub(super) const PAUSE: Duration = Duration::from_millis(5);

/// Shows the others that this process has `data.mdb` open, by a shared lock of the file. LMDB uses
/// no lock of that file.
#[derive(Default)]
pub(super) struct Presence {
    shown: Mutex<bool>,
    /// Whether a thread of this process waits for those who have not shown themselves.
    settling: AtomicBool,
}

impl Presence {
    /// Shows it as long as the file is open. Does without where files cannot be locked, and where another
    /// program keeps the file locked; others then wait for the right to write where they need not.
    pub(super) fn show(&self, file: &File) {
        let mut shown = lock(&self.shown);
        for _ in 0..LOOKS {
            match file.try_lock_shared() {
                Ok(()) => *shown = true,
                // Somebody is just looking whether it is alone.
                Err(TryLockError::WouldBlock) if !*shown => {
                    thread::sleep(PAUSE);
                    continue;
                }
                Err(_) => {}
            }
            break;
        }
    }

    /// Notes that a thread waits for those who have not shown themselves; false if one does already.
    pub(super) fn begin_settling(&self) -> bool {
        !self.settling.swap(true, Ordering::AcqRel)
    }

    pub(super) fn end_settling(&self) {
        self.settling.store(false, Ordering::Release);
    }

    /// Whether such a thread waits, be it that nobody waits for the thread any more.
    pub(super) fn is_settling(&self) -> bool {
        self.settling.load(Ordering::Acquire)
    }

    /// Whether nobody has shown itself, be it this process.
    pub(super) fn nobody(&self, file: &File) -> bool {
        let shown = lock(&self.shown);
        !*shown && file.try_lock().is_ok() && file.unlock().is_ok()
    }
}
