//! Making the directory of an environment, and bringing names to disk.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::error::{cannot_open, io_failed};
use crate::Result;
use crate::copy::Readers;
use crate::store_parts::directories::{is_missing, missing_above};

/// Makes the directory unless it is there, for `readers` if they are given. The directories above
/// it are not made: a path with a typing error would become an empty database somewhere else.
pub(super) fn make_directory(directory: &Path, readers: Option<Readers>) -> Result<()> {
    match make(directory, readers) {
        // Another process may have made it just now.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        Err(error) => match missing_above(directory) {
            Some(missing) => Err(cannot_open(directory, is_missing(&missing))),
            None => Err(io_failed(directory, "cannot create the directory", error)),
        },
        Ok(()) => Ok(()),
    }
}

/// Brings the name of a new directory to disk. Without it, a power failure could take away all that
/// was committed there.
pub(super) fn sync_name(directory: &Path) -> Result<()> {
    let above = directory.parent().filter(|above| !above.as_os_str().is_empty());
    sync_names(above.unwrap_or(Path::new(".")), directory)
}

/// Brings the names in `directory` to disk. `shown` is the path in errors.
pub(super) fn sync_names(directory: &Path, shown: &Path) -> Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // A process can make files in a directory that it may not read, and some file systems do
        // not sync directories.
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
            ) =>
        {
            Err(io_failed(shown, "cannot sync the directory", error))
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn make(directory: &Path, readers: Option<Readers>) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};

    use crate::store_parts::permissions::left_by_umask;

    let Some(readers) = readers else { return fs::create_dir(directory) };
    fs::DirBuilder::new().mode(0o700).create(directory)?;
    // Its group is known only once the directory exists.
    let private = fs::metadata(directory)?;
    let wanted = readers.directory_mode(private.gid());
    if wanted == 0o700 {
        return Ok(());
    }
    // It stays where it is: another copy may be begun in it.
    let left = left_by_umask(wanted, &directory.join("permissions.part"))?;
    fs::set_permissions(directory, fs::Permissions::from_mode((private.mode() & !0o777) | left))
}

/// It gets the permissions of the directory above.
#[cfg(not(unix))]
fn make(directory: &Path, _: Option<Readers>) -> io::Result<()> {
    fs::create_dir(directory)
}
