//! Where lines are kept between sessions.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The file for lines that were typed, in the user's folder for the state of programs; `None` if
/// there is no such folder.
pub(super) fn file() -> Option<PathBuf> {
    let folder = |name: &str| {
        let folder = std::env::var_os(name).map(PathBuf::from);
        // A relative path would mean another file in each folder.
        folder.filter(|folder| folder.is_absolute())
    };
    let state = match cfg!(windows) {
        true => folder("LOCALAPPDATA"),
        false => folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state"))),
    };
    Some(state?.join("permazen").join("history"))
}

/// Whether lines were kept before.
///
/// # Errors
/// Also if what is there is anything but a file of this user.
pub(super) fn is_there(file: &Path) -> io::Result<bool> {
    match open(file, false) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes sure that there is a file that only this user can read.
///
/// # Errors
/// Also if what is there is anything but a file of this user. Then nothing of it is changed.
pub(super) fn make(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let opened = open(file, true)?;
    #[cfg(unix)]
    opened.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    drop(opened);
    Ok(())
}

/// Opens the file itself, not the target of a link, and does not wait for the other end of a pipe.
#[cfg(unix)]
fn open(file: &Path, create: bool) -> io::Result<File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

    use rustix::fs::OFlags;

    let other = || io::Error::other("it is no file that belongs to you alone");
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = File::options();
    options.read(true).append(create).create(create).mode(0o600);
    options.custom_flags(flags.bits().cast_signed());
    let opened = options.open(file).map_err(|error| match fs::symlink_metadata(file) {
        Ok(found) if !found.is_file() => other(),
        _ => error,
    })?;
    let found = opened.metadata()?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw() && found.nlink() == 1;
    if found.is_file() && is_own { Ok(opened) } else { Err(other()) }
}

#[cfg(not(unix))]
fn open(file: &Path, create: bool) -> io::Result<File> {
    let other = || io::Error::other("it is no file");
    let opened = File::options().read(true).append(create).create(create).open(file)?;
    let is_file = fs::symlink_metadata(file)?.is_file();
    if is_file { Ok(opened) } else { Err(other()) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_an_own_file_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::metadata(path(name)).unwrap().mode() & 0o777;
        // A file that is not there is made, and one that is there made private.
        assert!(!is_there(&path("new/history")).unwrap());
        make(&path("new/history")).unwrap();
        assert!(is_there(&path("new/history")).unwrap());
        assert_eq!((mode("new"), mode("new/history")), (0o700, 0o600));
        fs::write(path("other"), "x").unwrap();
        fs::set_permissions(path("other"), PermissionsExt::from_mode(0o644)).unwrap();
        // Links that lead elsewhere stay as they are.
        symlink(path("other"), path("link")).unwrap();
        symlink(path("missing"), path("dangling")).unwrap();
        symlink("/dev/null", path("null")).unwrap();
        fs::hard_link(path("other"), path("hard")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(path("fifo")).status().unwrap();
        assert!(fifo.success());
        for name in ["link", "dangling", "null", "hard", "folder", "fifo"] {
            for refused in [is_there(&path(name)).map(drop), make(&path(name))] {
                let error = refused.expect_err(name).to_string();
                assert_eq!(error, "it is no file that belongs to you alone", "{name}");
            }
        }
        assert_eq!((mode("other"), mode("null")), (0o644, mode("/dev/null")));
        assert!(!path("missing").exists());
        assert_eq!(fs::read(path("other")).unwrap(), b"x");
        // Once it belongs to this user only.
        fs::remove_file(path("hard")).unwrap();
        make(&path("other")).unwrap();
        assert_eq!(mode("other"), 0o600);
    }
}
