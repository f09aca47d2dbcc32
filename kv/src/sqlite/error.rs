//! Converts errors of SQLite to errors of this crate.

use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi::{
    SQLITE_BUSY_SNAPSHOT, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE,
    SQLITE_READONLY_CANTINIT, SQLITE_READONLY_DIRECTORY, SQLITE_TOOBIG,
};

use crate::{Conflict, KvError};

/// Advice: SQLite must be able to create the log and the index of the log.
const NEEDS_FILES: &str = "SQLite has to be able to make two files beside it; where it cannot, copy \
     it to a directory that can be written";

/// The error of a failed operation on the database at `path`.
pub(super) fn failed(path: &Path, what: &'static str, error: rusqlite::Error) -> KvError {
    let damaged = |reason: String| KvError::Damaged { path: path.into(), reason: reason.into() };
    let full = |reason: String| KvError::Full { path: path.into(), reason: reason.into() };
    let in_the_way =
        || format!("{}: {what}: another transaction is in the way: {error}", path.display());
    match error.sqlite_error_code() {
        // The state that it has read is not the latest any more.
        Some(ErrorCode::DatabaseBusy) if extended_code(&error) == Some(SQLITE_BUSY_SNAPSHOT) => {
            Conflict::Reported(in_the_way().into()).into()
        }
        // SQLite reports the last one if many others start to use the log at the same time.
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed,
        ) => KvError::Retry(in_the_way()),
        Some(ErrorCode::DiskFull) => full(format!("{what}: {error}")),
        Some(ErrorCode::SystemIoFailure) if extended_code(&error) == Some(SQLITE_IOERR_WRITE) => {
            full(format!(
                "{what}, as not everything could be written: the disk is full, a limit to the \
                 size of files was met, or the disk fails"
            ))
        }
        Some(ErrorCode::SystemIoFailure)
            if matches!(
                extended_code(&error),
                Some(SQLITE_IOERR_SHMSIZE | SQLITE_IOERR_SHMOPEN)
            ) =>
        {
            full(format!(
                "{what}: SQLite needs room for {}-shm even to read: the disk is full, or a limit to \
                 the size of files was met",
                path.file_name().unwrap_or_default().display()
            ))
        }
        Some(ErrorCode::DatabaseCorrupt) => damaged(error.to_string()),
        Some(ErrorCode::NotADatabase) => cannot_open(path, "no SQLite database"),
        Some(ErrorCode::ReadOnly)
            if matches!(
                extended_code(&error),
                Some(SQLITE_READONLY_DIRECTORY | SQLITE_READONLY_CANTINIT)
            ) =>
        {
            cannot_open(path, format!("{what}: {error}; {NEEDS_FILES}"))
        }
        Some(ErrorCode::ReadOnly) => cannot_open(path, "not writable; open it read-only"),
        Some(ErrorCode::CannotOpen) => cannot_open(path, format!("{what}: {error}; {NEEDS_FILES}")),
        Some(ErrorCode::TooBig) => KvError::InvalidArgument(format!(
            "key or value is too long for SQLite (error {SQLITE_TOOBIG})"
        )),
        _ => match error {
            rusqlite::Error::InvalidColumnType(column, name, found) => damaged(format!(
                "column {column} ({name}) has a value of type {found} where a BLOB is expected"
            )),
            error => KvError::Store {
                context: format!("{}: {what}", path.display()).into(),
                source: Box::new(error),
            },
        },
    }
}

/// The error of a failed COMMIT. The outcome is unknown if the log may contain the commit: after a
/// flush that has failed, and if SQLite has flushed the log and then found no room for its index.
/// The next opening would find the commit.
pub(super) fn commit_failed(path: &Path, error: rusqlite::Error) -> KvError {
    let is_of_index =
        matches!(extended_code(&error), Some(SQLITE_IOERR_SHMSIZE | SQLITE_IOERR_SHMOPEN));
    match failed(path, "cannot commit", error) {
        error @ KvError::Store { .. } => KvError::OutcomeUnknown(error.to_string()),
        error if is_of_index => KvError::OutcomeUnknown(error.to_string()),
        error => error,
    }
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

/// An error that says why the database at `path` cannot be opened.
pub(super) fn cannot_open(path: &Path, reason: impl Into<Box<str>>) -> KvError {
    KvError::Open { path: path.into(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi::{Error, SQLITE_BUSY, SQLITE_FULL, SQLITE_IOERR_FSYNC};

    use super::*;

    #[test]
    fn a_commit_that_the_log_may_contain_is_not_called_rolled_back() {
        let of = |code| {
            commit_failed(Path::new("db"), rusqlite::Error::SqliteFailure(Error::new(code), None))
        };
        for code in [SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_FSYNC] {
            assert!(of(code).is_outcome_unknown(), "{code}: {}", of(code));
        }
        for code in [SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_BUSY] {
            assert!(!of(code).is_outcome_unknown(), "{code}: {}", of(code));
        }
    }
}
