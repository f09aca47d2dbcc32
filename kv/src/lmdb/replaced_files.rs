//! Notices when the files of an open environment were replaced or removed: whether its directory
//! still has them.
//!
//! An open file stays open when another file takes its place, for example when a backup is
//! restored. Commits to it are then lost to all others, and a lock in it excludes no other process.

use std::path::{Path, PathBuf};

use super::error::{cannot_open, io_failed};
use super::file_at::file_at;
use crate::Result;
use crate::store_parts::file_identity::{FileId, perhaps_unseen};

/// The files that a directory has at one time.
#[derive(Debug)]
pub(super) struct Files {
    data_path: PathBuf,
    lock_path: PathBuf,
    data: Option<FileId>,
    /// `None` on a read-only file system, where LMDB uses no lock file.
    lock: Option<FileId>,
}

const CLOSE: &str = "close every store, transaction and snapshot of it in this process and open it \
     again";

impl Files {
    /// The files that are in `directory` now.
    pub(super) fn in_directory(directory: &Path) -> Result<Self> {
        let (data_path, lock_path) = (directory.join("data.mdb"), directory.join("lock.mdb"));
        let id = |path: &Path| {
            file_at(path).map_err(|error| io_failed(directory, "cannot look at its files", error))
        };
        Ok(Files { data: id(&data_path)?, lock: id(&lock_path)?, data_path, lock_path })
    }

    /// The files that LMDB has opened in `directory`. `before` are the files that were there
    /// before, `data` is the data file that LMDB has open.
    pub(super) fn opened(directory: &Path, before: &Files, data: FileId) -> Result<Self> {
        let files = Files::in_directory(directory)?;
        let lock_stayed = before.lock.is_none() || files.have_same_lock(before);
        if files.data == Some(data) && lock_stayed {
            return Ok(files);
        }
        Err(cannot_open(directory, "its files were replaced while it was opened; open it again"))
    }

    /// The lock file; `None` if there is none.
    #[cfg(target_os = "linux")]
    pub(super) fn lock(&self) -> Option<FileId> {
        self.lock
    }

    pub(super) fn have_same_data(&self, other: &Files) -> bool {
        FileId::TELLS && self.data.is_some() && self.data == other.data
    }

    pub(super) fn have_same_lock(&self, other: &Files) -> bool {
        FileId::TELLS && self.lock == other.lock
    }

    /// Fails unless `directory`, where these files were opened, still has both.
    pub(super) fn check(&self, directory: &Path) -> Result<()> {
        self.check_data(directory)?;
        let Some(lock) = self.lock else { return Ok(()) };
        let Some(state) = state(directory, &self.lock_path, lock)? else { return Ok(()) };
        Err(cannot_open(
            directory,
            format!(
                "its lock.mdb was {state} while it is open in this process, which other processes \
                 therefore do not see; {CLOSE}, and leave lock.mdb alone while any process has it open"
            ),
        ))
    }

    fn check_data(&self, directory: &Path) -> Result<()> {
        let Some(data) = self.data else { return Ok(()) };
        let Some(state) = state(directory, &self.data_path, data)? else { return Ok(()) };
        Err(cannot_open(
            directory,
            format!(
                "its data.mdb was {state} while it is open in this process, which still has the \
                 file that was there before; {CLOSE}"
            ),
        ))
    }

    /// Fails if the last commit went to a file that `directory` no longer has.
    pub(super) fn check_committed(&self, directory: &Path) -> Result<()> {
        self.check_data(directory).map_err(|error| perhaps_unseen(&error))
    }
}

/// The change of the file that was at `path`; `None` if it is still there.
fn state(directory: &Path, path: &Path, opened: FileId) -> Result<Option<&'static str>> {
    match file_at(path) {
        Ok(Some(found)) if found == opened => Ok(None),
        Ok(Some(_)) => Ok(Some("replaced")),
        Ok(None) => Ok(Some("removed")),
        Err(error) => Err(io_failed(directory, "cannot look at its files", error)),
    }
}
