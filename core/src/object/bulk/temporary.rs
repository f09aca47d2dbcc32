//! A file that loses its name as soon as it is made, and is gone when it is closed.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use rand::TryRng;
use rand::rngs::SysRng;

/// Makes an empty file in a directory, to write and to read. A program that is killed between
/// making it and taking its name away leaves an empty file. (On Windows, it has its name until it
/// is closed.)
pub(super) fn file(directory: &Path) -> io::Result<File> {
    loop {
        let number = SysRng.try_next_u64().map_err(io::Error::other)?;
        let path = directory.join(format!(".permazen-load-{number:016x}"));
        let mut options = OpenOptions::new();
        // The file is made anew, so that a link another user put there is not followed.
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // FILE_FLAG_DELETE_ON_CLOSE
        #[cfg(windows)]
        std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, 0x0400_0000);
        match options.open(&path) {
            // A file of this name exists, so another number is drawn.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => {
                let file = opened.map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", directory.display()))
                })?;
                // Without its name the file is gone when the process ends, however it ends.
                #[cfg(not(windows))]
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
        }
    }
}

/// Reads bytes at a place. Reads fewer only at the end of the file.
pub(super) fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<usize> {
    let mut count = 0;
    while !bytes.is_empty() {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(file, bytes, at);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, at);
        match read {
            Ok(0) => break,
            Ok(read) => {
                bytes = bytes.get_mut(read..).unwrap_or_default();
                at += read as u64;
                count += read;
            }
            // A signal can interrupt a read, which is no error.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
