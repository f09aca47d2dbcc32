//! Which file is at a path, asked for without asking when it was changed.
//!
//! Before and after each commit, the store checks that the files are still the ones that it has
//! opened. Since Linux 6.13, a process that asks for the time of the last change makes the next
//! write to that file store a new time, and so the next flush of it write more, which costs a tenth
//! of a small durable commit. The standard library asks for all metadata of a file.

use std::io;
use std::path::Path;

use crate::store_parts::file_identity::FileId;

/// The file at `path`; `None` if there is none.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn file_at(path: &Path) -> io::Result<Option<FileId>> {
    use std::ffi::CString;
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt as _;

    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return FileId::at(path) };
    let mut found = MaybeUninit::<libc::statx>::zeroed();
    #[allow(unsafe_code)]
    // SAFETY: `name` ends with a zero, and `found` has room for the result of the call.
    let answer = unsafe {
        // By its number, because older C libraries lack the function.
        let (start, flags) = (libc::AT_FDCWD, 0 as libc::c_int);
        libc::syscall(
            libc::SYS_statx,
            start,
            name.as_ptr(),
            flags,
            libc::STATX_INO,
            found.as_mut_ptr(),
        )
    };
    if answer != 0 {
        // There is no file, or it cannot be examined, or the kernel is older than this call.
        return FileId::at(path);
    }
    #[allow(unsafe_code)]
    // SAFETY: Zeros are a valid value of each member.
    let found = unsafe { found.assume_init() };
    if found.stx_mask & libc::STATX_INO == 0 {
        return FileId::at(path);
    }
    let device = libc::makedev(found.stx_dev_major, found.stx_dev_minor);
    Ok(Some(FileId::of_numbers(device, found.stx_ino)))
}

/// The file at `path`; `None` if there is none.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn file_at(path: &Path) -> io::Result<Option<FileId>> {
    FileId::at(path)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_file_that_others_see() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a file");
        assert!(file_at(&path).unwrap().is_none());
        std::fs::write(&path, b"x").unwrap();
        assert_eq!(file_at(&path).unwrap(), FileId::at(&path).unwrap());
        let link = dir.path().join("a link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(file_at(&link).unwrap(), FileId::at(&path).unwrap());
        assert_ne!(file_at(dir.path()).unwrap(), FileId::at(&path).unwrap());
        assert!(file_at(&path.join("below a file")).is_err());
        assert!(file_at(Path::new("zero\0byte")).is_err());
        assert!(file_at(Path::new("/proc/self/exe")).unwrap().is_some());
    }
}
