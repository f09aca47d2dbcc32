//! Permissions of new files and directories that their makers can narrow before others see them.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// What the umask of this process leaves of permissions. Only a new file tells: it is made at `probe`, where no
/// other may make one at the same time, and removed. One that was left there goes first.
pub(crate) fn left_by_umask(wanted: u32, probe: &Path) -> io::Result<u32> {
    match fs::remove_file(probe) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(wanted).open(probe)?;
    let left = file.metadata()?.mode() & 0o777;
    fs::remove_file(probe)?;
    Ok(left)
}
