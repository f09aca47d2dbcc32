//! Whether `data.mdb` and `lock.mdb` belong together, by the number of the last commit in each.
//!
//! Both files contain the number of the last commit. While any process has the environment open,
//! LMDB uses the number in `lock.mdb`, and reads the meta page where that commit would be. If
//! another `data.mdb` has taken the place of the first, that page may be the one before its last
//! commit. A process that continues to write from there loses the last commit.
//!
//! A commit writes its number first to `data.mdb`, then to `lock.mdb`. If the process is killed in
//! between, the number in `lock.mdb` stays lower by one, until a process takes the right to write.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use heed::{CompactionOption, RwTxn};

use super::env::{OpenEnv, PAUSE, SharedEnv};
use super::error::{cannot_open, io_failed};
use crate::store_parts::file_identity::FileId;
use crate::store_parts::write_lock::note_wait_in_vain;
use crate::{KvError, Result};

/// How often to look again at numbers that do not fit.
const LOOKS: u32 = 100;
/// The shortest wait for the right to write, which takes a moment even if it is free.
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// A device that accepts and discards everything that is written to it.
const NOWHERE: &str = "/dev/null";

impl SharedEnv {
    /// Fails if `data.mdb` does not belong to the `lock.mdb` that others have open. If they seem
    /// not to, first looks again for half a second, then waits for another process that has the
    /// right to write: for at most `wait`, but at least for [`LEAST_WAIT`].
    pub(super) fn check_commit_numbers(self: &Arc<Self>, wait: Duration) -> Result<()> {
        let mut looks = 0;
        loop {
            let Numbers { before, lock, after } = self.numbers()?;
            // The numbers fit. Another process may have committed between the two reads of
            // `data.mdb`.
            if before <= lock && lock <= after {
                break;
            }
            looks += 1;
            if looks < LOOKS {
                thread::sleep(PAUSE);
                continue;
            }
            // A commit may be running, or may have been cut short by the end of its process.
            let committing = before == lock + 1 && lock <= after;
            if !committing {
                return Err(self.env.apart(after, lock));
            }
            // Without file numbers, a replaced file cannot be told from a running commit: accept
            // it.
            if !FileId::TELLS {
                break;
            }
            if !self.settle(wait)? {
                note_wait_in_vain();
                return Err(self.env.perhaps_apart(after, lock));
            }
            // By now, a commit that was running would have written its number to `lock.mdb`.
            if self.numbers()?.lock == lock {
                return Err(self.env.apart(after, lock));
            }
            looks = 0;
        }
        Ok(())
    }

    /// Takes the right to write for a moment. After that, the running commit has ended, and LMDB
    /// has corrected the number of a commit that was cut short. Returns false if others keep the
    /// right for as long as `wait`.
    fn settle(self: &Arc<Self>, wait: Duration) -> Result<bool> {
        let (start, wait) = (Instant::now(), wait.max(LEAST_WAIT));
        // One thread at a time: it cannot be stopped, and it takes a reader slot.
        while !self.env.begin_settling() {
            if start.elapsed() >= wait {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
        let (done, ended) = sync_channel(1);
        let thread = thread::Builder::new().name("permazen-lmdb".to_owned()).spawn({
            // A thread that opens the environment while this waits must share it.
            let shared = Arc::clone(self);
            move || {
                let settled = shared.pass_right_to_write();
                shared.env.end_settling();
                // The waiting thread holds the environment open, and must be the one that closes
                // it.
                drop(shared);
                let _ = done.send(settled);
            }
        });
        if let Err(error) = thread {
            self.env.end_settling();
            return Err(io_failed(self.path(), "cannot start a thread", error));
        }
        match ended.recv_timeout(wait.saturating_sub(start.elapsed())) {
            Ok(settled) => settled.map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Takes the right to write and gives it back, even if the environment is open for reading
    /// only.
    fn pass_right_to_write(&self) -> Result<()> {
        let nowhere = File::options().write(true).open(NOWHERE);
        let mut nowhere =
            nowhere.map_err(|error| io_failed(self.path(), "cannot open /dev/null", error))?;
        let _using = self.env.using_map()?;
        let env = self.env.heed();
        // LMDB has no call for this alone. A copy of all pages takes the right while it copies the
        // first two.
        let copied =
            self.with_reader(|| env.copy_to_file(&mut nowhere, CompactionOption::Disabled));
        copied.map_err(|error| self.read_failed(error))
    }

    fn numbers(&self) -> Result<Numbers> {
        let _using = self.env.using_map()?;
        let before = self.env.last_commit();
        let read = self.with_reader(|| self.env.heed().read_txn().map(|txn| txn.id()));
        let lock = read.map_err(|error| self.read_failed(error))?;
        Ok(Numbers { before, lock, after: self.env.last_commit() })
    }
}

/// The number of the last commit: in `lock.mdb`, and in `data.mdb` before and after that was read.
struct Numbers {
    before: usize,
    lock: usize,
    after: usize,
}

impl OpenEnv {
    /// The number of the last commit in `data.mdb`. The map must be in use.
    fn last_commit(&self) -> usize {
        // The numbers are compared in the order in which they were read.
        fence(Ordering::Acquire);
        let number = self.heed().info().last_txn_id;
        fence(Ordering::Acquire);
        number
    }

    /// Fails if a read transaction of this `version` may see an older one. Costs two reads of
    /// memory.
    pub(super) fn check_reading(&self, version: usize) -> Result<()> {
        let data = self.last_commit();
        if version <= data { Ok(()) } else { Err(self.apart(data, version)) }
    }

    /// Fails if `txn` did not begin with the last commit of `data.mdb`. Costs two reads of memory.
    pub(super) fn check_writing(&self, txn: &RwTxn<'_>) -> Result<()> {
        // No other process can commit now. A process that took the lock of one that died has
        // corrected the number.
        fence(Ordering::Acquire);
        let data = self.info_of_writer().last_txn_id;
        fence(Ordering::Acquire);
        let lock = txn.id().saturating_sub(1);
        if data == lock { Ok(()) } else { Err(self.apart(data, lock)) }
    }

    fn apart(&self, data: usize, lock: usize) -> KvError {
        cannot_open(
            self.path(),
            format!(
                "data.mdb and lock.mdb do not belong together: {}, so data.mdb was replaced or \
                 overwritten, perhaps by a backup, while it was open; close it in every process, then \
                 open it again",
                in_words(data, lock)
            ),
        )
    }

    /// The error if it is not known whether the two files belong together.
    fn perhaps_apart(&self, data: usize, lock: usize) -> KvError {
        KvError::Retry(format!(
            "{}: {}, and another process has kept the right to write: either that is a program without \
             this crate in the middle of a commit, or data.mdb was replaced or overwritten while it was \
             open; open it again later, and if that does not help close it in every process first",
            self.path().display(),
            in_words(data, lock)
        ))
    }
}

fn in_words(data: usize, lock: usize) -> String {
    format!("the last commit in data.mdb has the number {data}, that in lock.mdb {lock}")
}
