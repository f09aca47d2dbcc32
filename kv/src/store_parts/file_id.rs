//! Which file a name stands for.

use std::fs::Metadata;
#[cfg(feature = "lmdb")]
use std::{
    fs::{self, File},
    io,
    path::Path,
};

use crate::KvError;

/// A file, whatever its name: two that are open or have a name at the same time differ in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl FileId {
    /// Whether files can be told apart. Where they cannot, a file that is open cannot be replaced.
    pub(crate) const TELLS: bool = cfg!(unix);

    /// That of the file the metadata is about.
    #[cfg(unix)]
    pub(crate) fn new(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        FileId { device: metadata.dev(), inode: metadata.ino() }
    }

    #[cfg(not(unix))]
    pub(crate) fn new(_: &Metadata) -> Self {
        FileId {}
    }

    /// That of an open file.
    #[cfg(feature = "lmdb")]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| FileId::new(&metadata))
    }

    /// That of the file `path` leads to, if there is one.
    #[cfg(feature = "lmdb")]
    pub(crate) fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(FileId::new(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The error of a commit after which `error` has come to light: another file is where the one was that it
/// went to, or none.
pub(crate) fn perhaps_unseen(error: &KvError) -> KvError {
    KvError::OutcomeUnknown(format!(
        "it was committed, but perhaps to a file that others do not see: {error}"
    ))
}
