//! The undo file: what a repair replaced.
//!
//! It holds one set of writes for each pass of the repair, one after the other, in the serialized
//! form of the key/value layer; undoing applies them from the last to the first.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use permazen::kv::Writes;

use crate::Failure;
use crate::database::{Database, sync_directory};

/// An undo file being written. It is created with the first pass that changes something.
pub(crate) struct UndoFile {
    path: PathBuf,
    file: Option<File>,
}

impl UndoFile {
    pub(crate) fn new(path: PathBuf) -> UndoFile {
        UndoFile { path, file: None }
    }

    /// Where it is, if something was written.
    pub(crate) fn written(&self) -> Option<&Path> {
        self.file.as_ref().map(|_| self.path.as_path())
    }

    /// Adds the inverse of a pass, durably.
    pub(crate) fn add(&mut self, writes: &Writes) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file = OpenOptions::new().write(true).create_new(true).open(&self.path);
                none.insert(file.map_err(|e| named(&self.path, e))?)
            }
        };
        let bytes = writes.to_bytes().map_err(io::Error::other)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        sync_directory(&self.path)
    }

    /// Removes the file again: nothing was changed after all.
    pub(crate) fn discard(&mut self) -> io::Result<()> {
        if self.file.take().is_some() { std::fs::remove_file(&self.path) } else { Ok(()) }
    }
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Applies an undo file; gives the number of pairs put or removed.
pub(crate) fn apply(database: &Database, file: &Path) -> Result<usize, Failure> {
    let bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut rest = &bytes[..];
    let mut passes = Vec::new();
    while !rest.is_empty() {
        let writes = Writes::decode(&mut rest)
            .map_err(|e| format!("{} is no undo file: {e}", file.display()))?;
        passes.push(writes);
    }
    if passes.is_empty() {
        return Err(format!("{} is no undo file: it is empty", file.display()).into());
    }
    let mut kv = database.begin(true)?;
    for writes in passes.iter().rev() {
        kv.apply(writes)?;
    }
    database.commit(kv)?;
    Ok(passes.iter().map(Writes::len).sum())
}
