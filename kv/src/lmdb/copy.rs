//! Copies of environments, which get their name when they are whole.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::error::{cannot_open, io_failed};
use crate::Result;
use crate::store_parts::file_id::FileId;

const EXISTS: &str =
    "there is an environment already; remove it first, or copy to another directory";

/// A copy that is being written, `data.mdb.part`. Dropped, it goes.
pub(super) struct Part<'t> {
    target: &'t Path,
    path: PathBuf,
    /// Locked, so that there is one copy at a time.
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
                // It can be an environment that is open and has kept this name too.
                if target.join("data.mdb").exists() {
                    return Err(cannot_open(target, EXISTS));
                }
                return Err(cannot_open(target, "another copy is just being written to it"));
            }
            // Until it was locked another copy could give it its name and another one begin.
            let is_at =
                FileId::at(&path).map_err(failed)? == Some(FileId::of(&file).map_err(failed)?);
            if !is_at {
                continue;
            }
            if !new {
                // One that was left behind is of no use. It may be a copy that got its name and kept
                // this one too, so it must not be written to.
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

    /// Gives the copy its name, once all of it is on disk. What has the name already stays.
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
            // A file system without links; there is no better way to leave alone what is there.
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
        // After an error that is the one to report; else the next copy removes it.
        let _ = fs::remove_file(&self.path);
    }
}
