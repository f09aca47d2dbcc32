//! Permissions of new files and directories that their makers can narrow before others see them.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The permissions that the umask of this process leaves of `wanted`. A process learns that only
/// from a new file: this makes one at `probe`, and removes it. The caller makes sure that no other
/// thread or process makes a file there at the same time. A file that was left over there is
/// removed first.
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
