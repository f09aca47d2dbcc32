//! Finding out which kind of store is at a path, and opening files that need not be one.

use std::fs::{File, FileType};
use std::io::{self, Read};
use std::path::Path;

use permazen_kv::__internal::{OpenWithSqlite, unless_open_with_sqlite};

use super::error::OpenError;
use super::kind::StoreKind;

/// The file of an LMDB environment.
pub(super) const DATA: &str = "data.mdb";
/// The file with the locks of an LMDB environment.
const LOCKS: &str = "lock.mdb";

/// Opens a file for reading; refuses anything else, since opening a named pipe would wait for
/// a writer.
pub(super) fn open_file(path: &Path) -> Result<File, OpenError> {
    let failed = |error| OpenError::io(path, error);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        let found = description(metadata.file_type());
        return Err(OpenError::NotAFile { path: path.into(), found });
    }
    File::open(path).map_err(failed)
}

/// Opens something that a user has named and that need not be a database: a file, a pipe or a
/// device.
///
/// # Errors
/// Also if this process has the file open with SQLite: closing it would give up SQLite's locks.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    // Opening a named pipe waits for a writer. It is no database.
    if !path.metadata()?.is_file() {
        return File::open(path);
    }
    unless_open_with_sqlite(path, || File::open(path)).unwrap_or_else(|_| {
        Err(io::Error::other("this process has it open as an SQLite file, so it is not read"))
    })
}

/// The first bytes of a file: enough for those of each kind, with blanks before those of XML.
fn start_of(path: &Path) -> Result<Vec<u8>, OpenError> {
    let mut start = Vec::new();
    let read = open_file(path)?.take(64).read_to_end(&mut start);
    read.map_err(|error| OpenError::io(path, error))?;
    Ok(start)
}

/// Something that is not a file, in words.
fn description(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return "a named pipe";
        }
        if found.is_socket() {
            return "a socket";
        }
        if found.is_char_device() || found.is_block_device() {
            return "a device";
        }
    }
    if found.is_dir() { "a directory" } else { "something else" }
}

impl StoreKind {
    /// Finds out which kind of store is at `path`. Reads the first bytes of a file, unless its name
    /// is one of LMDB's or this process has it open with SQLite.
    ///
    /// # Errors
    /// [`OpenError::Io`] if there is nothing at `path`, [`OpenError::NotAFile`] for a named pipe or
    /// a device, [`OpenError::Unrecognized`] for another file.
    pub fn detect(path: impl AsRef<Path>) -> Result<StoreKind, OpenError> {
        let path = path.as_ref();
        let metadata = std::fs::metadata(path).map_err(|error| OpenError::io(path, error))?;
        if metadata.is_dir() || path.file_name().is_some_and(|name| name == DATA) {
            return Ok(StoreKind::Lmdb);
        }
        let unrecognized = || Err(OpenError::Unrecognized { path: path.into() });
        // Closing a file that LMDB or SQLite has open in this process would give up their locks.
        if path.file_name().is_some_and(|name| name == LOCKS) {
            return unrecognized();
        }
        let start = match unless_open_with_sqlite(path, || start_of(path)) {
            Ok(start) => start?,
            Err(OpenWithSqlite::Database) => return Ok(StoreKind::Sqlite),
            Err(OpenWithSqlite::Index) => return unrecognized(),
        };
        if start.starts_with(b"SQLite format 3\0") {
            return Ok(StoreKind::Sqlite);
        }
        if start.trim_ascii_start().starts_with(b"<") || start.starts_with(&[0xef, 0xbb, 0xbf]) {
            return Ok(StoreKind::Xml);
        }
        unrecognized()
    }
}
