//! Whether `data.mdb` is the file that `lock.mdb` counts for.
//!
//! Both have the number of the last commit. As long as anybody has the environment open, LMDB goes
//! by that in `lock.mdb` and reads the meta page where that commit would be. If another `data.mdb` came
//! meanwhile, that page can be the one before its last commit, and who goes on writing from there
//! loses the last commit.
//!
//! A commit writes its number to `data.mdb` and then to `lock.mdb`, where it stays behind by one
//! if the process is killed in between, until the next transaction that writes begins.

use std::sync::atomic::{Ordering, fence};
use std::thread;

use heed::RwTxn;

use super::env::{OpenEnv, Shared};
use super::error::{cannot_open, failed};
use super::presence::{LOOKS, PAUSE};
use crate::store_parts::file_id::FileId;
use crate::{KvError, Result};

impl Shared {
    /// Fails if `data.mdb` does not belong to the `lock.mdb` that others have open.
    pub(super) fn check_joined(&self) -> Result<()> {
        let path = self.path();
        let file = self.env.heed().try_clone_inner_file();
        let file = file.map_err(|error| failed(path, "cannot look at data.mdb", error))?;
        let mut looks = 0;
        loop {
            let Numbers { before, lock, after } = self.numbers()?;
            if before <= lock && lock <= after {
                break;
            }
            looks += 1;
            // It may be a commit that is being made or was cut short; somebody else has the file open
            // then.
            let committing = before == lock + 1 && lock <= after;
            if looks >= LOOKS {
                if committing && !(FileId::TELLS && self.env.presence().nobody(&file)) {
                    break;
                }
                return Err(self.env.apart(after, lock));
            }
            thread::sleep(PAUSE);
        }
        if FileId::TELLS {
            self.env.presence().show(&file);
        }
        Ok(())
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
    /// The number of the last commit in `data.mdb`; the map must be in use.
    fn last_commit(&self) -> usize {
        // The numbers are compared in the order in which they were read.
        fence(Ordering::Acquire);
        let number = self.heed().info().last_txn_id;
        fence(Ordering::Acquire);
        number
    }

    /// Fails if a read transaction of this `version` may look at an older one. Costs two reads of memory.
    pub(super) fn check_reading(&self, version: usize) -> Result<()> {
        let data = self.last_commit();
        if version <= data { Ok(()) } else { Err(self.apart(data, version)) }
    }

    /// Fails if `txn` did not begin with the last commit of `data.mdb`. Costs two reads of memory.
    pub(super) fn check_writing(&self, txn: &RwTxn<'_>) -> Result<()> {
        // Nobody else can commit, and who took the lock of one who died has set the number right.
        let (data, lock) = (self.last_commit(), txn.id().saturating_sub(1));
        if data == lock { Ok(()) } else { Err(self.apart(data, lock)) }
    }

    fn apart(&self, data: usize, lock: usize) -> KvError {
        cannot_open(
            self.path(),
            format!(
                "data.mdb and lock.mdb do not belong together: the last commit in data.mdb has the \
                 number {data}, that in lock.mdb {lock}, so data.mdb was replaced or overwritten, perhaps by \
                 a backup, while it was open; close it in every process, then open it again"
            ),
        )
    }
}
