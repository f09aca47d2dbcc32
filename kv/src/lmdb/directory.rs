//! Making the directory of an environment.

use std::fs;
use std::io;
use std::path::Path;

use super::error::{cannot_open, io_failed};
use crate::Result;
use crate::store_parts::directories::{is_missing, missing_above};

/// Makes the directory unless it is there. Those above it are not made: a path with a typing error would
/// become an empty database somewhere else.
pub(super) fn make_directory(directory: &Path) -> Result<()> {
    match fs::create_dir(directory) {
        // Another process may have made it just now.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        Err(error) => match missing_above(directory) {
            Some(missing) => Err(cannot_open(directory, is_missing(&missing))),
            None => Err(io_failed(directory, "cannot create the directory", error)),
        },
        Ok(()) => Ok(()),
    }
}
