//! New files that get their names when they are complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::file_identity::FileId;
use crate::copy::Readers;
use crate::{KvError, Result};

/// A file that is being written, under its name with `.part` after it. Dropping this removes it.
///
/// Only one is written at a time. On Unix, a lock on the file sees to that. On Windows, such a lock
/// would keep LMDB and SQLite out, which open the file by its name. There, others cannot remove the
/// file as long as this has it open.
pub(crate) struct NewFile<'t> {
    /// The path in errors: the file, or the directory that stands for it.
    named: &'t Path,
    target: PathBuf,
    /// The message if there is a file of that name already.
    exists: &'static str,
    // The field that is declared first is dropped first: the file must be closed before it can be
    // removed.
    #[cfg(windows)]
    pub(crate) file: File,
    part: TemporaryName,
    // The lock ends when the name is gone.
    #[cfg(not(windows))]
    pub(crate) file: File,
}

/// The name of a file until it is complete. Dropping this removes the name.
struct TemporaryName(PathBuf);

impl Drop for TemporaryName {
    fn drop(&mut self) {
        // After an error, that error matters more. The next copy removes the file.
        let _ = fs::remove_file(&self.0);
    }
}

impl<'t> NewFile<'t> {
    /// Begins the file `target`, which must not exist. It can be read by `readers`.
    pub(crate) fn create(
        named: &'t Path,
        target: PathBuf,
        exists: &'static str,
        readers: Readers,
    ) -> Result<Self> {
        let mut part = OsString::from(&target);
        part.push(".part");
        let part = PathBuf::from(part);
        let name = part.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed = |error| cannot(named, &format!("cannot create {name}"), &error);
        let taken = || fs::symlink_metadata(&target).is_ok();
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            // FILE_SHARE_READ and FILE_SHARE_WRITE, but not FILE_SHARE_DELETE.
            #[cfg(windows)]
            std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 0x3);
            // The file may also be a complete one that is open and has kept this name as well.
            let in_use = || {
                let reason =
                    if taken() { exists } else { "another copy is just being written to it" };
                refused(named, reason)
            };
            let (file, new) = match options.clone().create_new(true).open(&part) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && cfg!(windows) => {
                    match fs::remove_file(&part) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            return Err(in_use());
                        }
                        _ => continue,
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    // The part may be a finished copy that SQLite has open by its own name. Closing
                    // it here would give up the locks that SQLite holds on it.
                    if taken() {
                        return Err(refused(named, exists));
                    }
                    match options.open(&part) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        file => (file.map_err(failed)?, false),
                    }
                }
                file => (file.map_err(failed)?, true),
            };
            if cfg!(not(windows)) && file.try_lock().is_err() {
                return Err(in_use());
            }
            // Before the lock was taken, that copy may have been finished, and another one may have
            // begun.
            let is_at =
                FileId::at(&part).map_err(failed)? == Some(FileId::of(&file).map_err(failed)?);
            if !is_at {
                continue;
            }
            if !new {
                // A part that was left over is of no use. It may also be a finished copy that has
                // kept this name as well, so it must not be written to.
                fs::remove_file(&part).map_err(failed)?;
                continue;
            }
            let part = TemporaryName(part.clone());
            let new = NewFile { named, target: target.clone(), part, exists, file };
            if taken() {
                return Err(refused(named, exists));
            }
            give_permissions(readers, &new).map_err(failed)?;
            return Ok(new);
        }
    }

    /// The name it has now.
    #[cfg(any(feature = "lmdb", feature = "sqlite"))]
    pub(crate) fn part(&self) -> &Path {
        &self.part.0
    }

    /// Gives the file its name after all of it is on disk. If a file has the name already, that
    /// stays.
    pub(crate) fn publish(self) -> Result<()> {
        let synced = self.file.sync_all();
        synced.map_err(|error| cannot(self.named, "cannot sync the copy", &error))?;
        let linked = fs::hard_link(&self.part.0, &self.target);
        // The last variable here is dropped first.
        let NewFile { named, target, exists, file, part } = self;
        #[cfg(windows)]
        drop(file);
        let failed = |error| cannot(named, "cannot give the copy its name", &error);
        match linked {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(refused(named, exists));
            }
            // A file system without links. Renaming is the best way that remains: it replaces a
            // file that is created at this very moment.
            Err(_) if fs::symlink_metadata(&target).is_err() => {
                fs::rename(&part.0, &target).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        drop(part);
        #[cfg(not(windows))]
        drop(file);
        if cfg!(unix) {
            let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(directory.unwrap_or(Path::new(".")))
                .and_then(|directory| directory.sync_all())
                .map_err(|error| cannot(named, "cannot sync the directory", &error))?;
        }
        Ok(())
    }
}

/// Gives the new file its permissions. Until then, only its owner can read it.
#[cfg(unix)]
fn give_permissions(readers: Readers, new: &NewFile<'_>) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::permissions::left_by_umask;

    // Its group is known only once the file exists.
    let wanted = readers.file_mode(new.file.metadata()?.gid());
    if wanted == 0o600 {
        return Ok(());
    }
    // The lock of this file keeps others from making the probe.
    let mut probe = OsString::from(&new.part.0);
    probe.push(".permissions");
    let left = left_by_umask(wanted, Path::new(&probe))?;
    new.file.set_permissions(fs::Permissions::from_mode(left))
}

/// The file gets the permissions of its folder.
#[cfg(not(unix))]
fn give_permissions(_: Readers, _: &NewFile<'_>) -> io::Result<()> {
    Ok(())
}

fn refused(path: &Path, reason: impl Into<Box<str>>) -> KvError {
    KvError::Open { path: path.into(), reason: reason.into() }
}

/// The error of the file system for a copy.
pub(crate) fn cannot(path: &Path, what: &str, error: &io::Error) -> KvError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            KvError::Full { path: path.into(), reason: format!("{what}: {error}").into() }
        }
        _ => refused(path, format!("{what}: {error}")),
    }
}

/// The message if there is a file already.
#[cfg(any(feature = "sqlite", feature = "xml"))]
pub(crate) const EXISTS: &str = "there is a file already; remove it first, or copy to another name";

/// Begins the file `target`, which must not exist. It can be read by `readers`.
#[cfg(any(feature = "sqlite", feature = "xml"))]
pub(crate) fn new_file(target: &Path, readers: Readers) -> Result<NewFile<'_>> {
    NewFile::create(target, target.to_owned(), EXISTS, readers)
}
