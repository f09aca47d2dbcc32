//! The identity of a file: whether two paths or open files are the same file.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

#[cfg(any(feature = "lmdb", feature = "sqlite"))]
use crate::KvError;

/// The identity of a file, independent of its name. Two files that are open or have a name at the
/// same time have different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl FileId {
    /// Whether files can be told apart. Where they cannot, a file that is open cannot be replaced.
    #[cfg(any(feature = "lmdb", feature = "sqlite"))]
    pub(crate) const TELLS: bool = cfg!(unix);

    /// The identity of the file that `metadata` describes.
    #[cfg(unix)]
    pub(crate) fn new(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        FileId { device: metadata.dev(), inode: metadata.ino() }
    }

    #[cfg(not(unix))]
    pub(crate) fn new(_: &Metadata) -> Self {
        FileId {}
    }

    /// The identity of a file of which only these two numbers were asked for.
    #[cfg(all(feature = "lmdb", target_os = "linux", target_env = "gnu"))]
    pub(crate) fn of_numbers(device: u64, inode: u64) -> Self {
        FileId { device, inode }
    }

    /// The identity of an open file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| FileId::new(&metadata))
    }

    /// The identity of the file at `path`; `None` if there is no file.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(FileId::new(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The error of a commit that was followed by `error`: the file it went to was replaced or removed.
#[cfg(any(feature = "lmdb", feature = "sqlite"))]
pub(crate) fn perhaps_unseen(error: &KvError) -> KvError {
    KvError::OutcomeUnknown(format!(
        "it was committed, but perhaps to a file that others do not see: {error}"
    ))
}
