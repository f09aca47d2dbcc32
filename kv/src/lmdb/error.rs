//! Converts errors of LMDB to errors of this crate.

use std::io;
use std::path::Path;

use heed::MdbError;

use crate::KvError;

/// The `what` of operations that write nothing.
pub(super) const READING: &str = "cannot read";

/// Whether the device, the quota or the file-size limit has no room left.
pub(super) fn is_no_space(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// LMDB reports a write that was cut short with this error. A full device shows in this way first.
fn is_cut_short(error: &io::Error) -> bool {
    cfg!(unix) && error.raw_os_error() == Some(5)
}

/// The error of a failed operation on the environment at `path`.
pub(super) fn failed(path: &Path, what: &'static str, error: heed::Error) -> KvError {
    let full = |reason: String| KvError::Full { path: path.into(), reason: reason.into() };
    let damaged = |reason: &str| KvError::Damaged { path: path.into(), reason: reason.into() };
    match error {
        heed::Error::Io(error) if is_no_space(&error) => full(format!("{what}: {error}")),
        heed::Error::Io(error) if is_cut_short(&error) && what != READING => full(format!(
            "{what}, as not everything could be written: the disk is full, a limit to the size of \
             files was met, or the disk fails"
        )),
        heed::Error::Mdb(MdbError::TxnFull) => {
            full("the transaction changes too many pages; use several smaller ones".to_owned())
        }
        heed::Error::Mdb(MdbError::Corrupted) => damaged("a page contradicts itself"),
        heed::Error::Mdb(MdbError::PageNotFound) => damaged("a page it refers to is missing"),
        heed::Error::Mdb(MdbError::Invalid) => damaged("data.mdb is no LMDB data file"),
        heed::Error::Mdb(MdbError::BadTxn) => {
            KvError::Stale("an earlier operation has failed in it".to_owned())
        }
        heed::Error::Mdb(MdbError::BadValSize) => {
            KvError::InvalidArgument("the value is too long for LMDB".to_owned())
        }
        heed::Error::Mdb(MdbError::Panic) => KvError::Open {
            path: path.into(),
            reason: "writing has failed and left it unusable; close it in this process and open \
                     it again"
                .into(),
        },
        other => KvError::Store {
            context: format!("{}: {what}", path.display()).into(),
            source: Box::new(other),
        },
    }
}

/// An error that says why the environment at `path` cannot be opened.
pub(super) fn cannot_open(path: &Path, reason: impl Into<Box<str>>) -> KvError {
    KvError::Open { path: path.into(), reason: reason.into() }
}

/// An error of the file system while opening the environment at `path`.
pub(super) fn io_failed(path: &Path, what: &str, error: io::Error) -> KvError {
    cannot_open(path, format!("{what}: {error}"))
}

/// The error for a page that is not as LMDB writes it.
#[cold]
pub(super) fn damaged(path: &Path, reason: &str) -> KvError {
    KvError::Damaged { path: path.into(), reason: format!("data.mdb: {reason}").into() }
}
