//! Copies of environments. A copy gets its name when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::error::{cannot_open, io_failed};
use crate::Result;
use crate::store_parts::file_identity::FileId;

const EXISTS: &str =
    "there is an environment already; remove it first, or copy to another directory";

/// A copy that is being written, `data.mdb.part`. Dropping this removes it.
pub(super) struct Part<'t> {
    target: &'t Path,
    path: PathBuf,
    /// Locked, so that only one copy is written at a time.
    pub(super) file: File,
}

impl<'t> Part<'t> {
    /// Begins a copy in the directory `target`, where there must be no `data.mdb`.
    pub(super) fn create(target: &'t Path) -> Result<Self> {
        let path = target.join("data.mdb.part");
        let failed = |error| io_failed(target, "cannot create data.mdb.part", error);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            let (file, new) = match options.clone().create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    match options.open(&path) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        file => (file.map_err(failed)?, false),
                    }
                }
                file => (file.map_err(failed)?, true),
            };
            if file.try_lock().is_err() {
                // The file may also be an environment that is open and has kept this name as well.
                if target.join("data.mdb").exists() {
                    return Err(cannot_open(target, EXISTS));
                }
                return Err(cannot_open(target, "another copy is just being written to it"));
            }
            // Before the lock was taken, that copy may have been finished, and another one may have
            // begun.
            let is_at =
                FileId::at(&path).map_err(failed)? == Some(FileId::of(&file).map_err(failed)?);
            if !is_at {
                continue;
            }
            if !new {
                // A part that was left over is of no use. It may also be a finished copy that has
                // kept this name as well, so it must not be written to.
                fs::remove_file(&path).map_err(failed)?;
                continue;
            }
            let part = Part { target, path, file };
            if target.join("data.mdb").exists() {
                return Err(cannot_open(target, EXISTS));
            }
            return Ok(part);
        }
    }

    /// Gives the copy its name after all of it is on disk. If a file has the name already, that
    /// stays.
    pub(super) fn publish(self) -> Result<()> {
        let failed = |error| io_failed(self.target, "cannot name the copy data.mdb", error);
        self.file
            .sync_all()
            .map_err(|error| io_failed(self.target, "cannot sync data.mdb.part", error))?;
        let path = self.target.join("data.mdb");
        match fs::hard_link(&self.path, &path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(cannot_open(self.target, EXISTS));
            }
            // A file system without links. Renaming is the best way that remains: it replaces a
            // file that is created at this very moment.
            Err(_) if fs::symlink_metadata(&path).is_err() => {
                fs::rename(&self.path, &path).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        let target = self.target;
        drop(self);
        #[cfg(unix)]
        File::open(target)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| io_failed(target, "cannot sync the directory", error))?;
        Ok(())
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        // After an error, that error matters more. The next copy removes the file.
        let _ = fs::remove_file(&self.path);
    }
}
