//! Scratch copies of recorded databases. Opening a database writes lock files beside it, so a
//! recorded database is never opened itself.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::files::{self, FileError};

/// A copy of a recorded database that vanishes when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _dir: TempDir,
}

impl Scratch {
    /// Copies the LMDB environment `lmdb/` of the recorded database in `dir`.
    pub fn lmdb(dir: &Path) -> Result<Scratch, FileError> {
        Scratch::write(&files::bytes(&dir.join("lmdb"), "data.mdb")?, "lmdb/data.mdb", "lmdb")
    }

    /// Copies the SQLite file `sqlite.db` of the recorded database in `dir`.
    pub fn sqlite(dir: &Path) -> Result<Scratch, FileError> {
        Scratch::write(&files::bytes(dir, "sqlite.db")?, "sqlite.db", "sqlite.db")
    }

    /// The environment directory or database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(content: &[u8], file: &str, opened: &str) -> Result<Scratch, FileError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| FileError::Read(path, error)
        };
        let dir = tempfile::tempdir().map_err(failed(Path::new("a temporary directory")))?;
        let target = dir.path().join(file);
        let parent = target.parent().unwrap_or(dir.path());
        fs::create_dir_all(parent).map_err(failed(parent))?;
        fs::write(&target, content).map_err(failed(&target))?;
        Ok(Scratch { path: dir.path().join(opened), _dir: dir })
    }
}
