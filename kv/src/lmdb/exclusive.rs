//! The lock that a process holds while no other process may have the environment open.
//!
//! LMDB's own protocol is this: each process that has an environment open holds a shared lock on
//! the first byte of `lock.mdb`. A process that opens the environment tries to get an exclusive
//! lock first. If it gets one, no other process has the environment open; it then writes a new
//! table of readers and the number of the last commit into `lock.mdb`, and makes its lock a shared
//! one. Otherwise it waits for a shared lock, and uses `lock.mdb` as it is. The locks belong to the
//! process: closing any of its files `lock.mdb` gives them up, and they do not exclude the process
//! itself.
//!
//! A process that has the environment open can make its shared lock an exclusive one for a moment.
//! Until it makes the lock a shared one again, no other process has the environment open, and
//! processes that open it wait.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::error::{cannot_open, io_failed};
use crate::Result;
use crate::store_parts::file_identity::FileId;

/// How long `lock.mdb` must at least be, so that LMDB finds the beginning of its table in it.
const LEAST: u64 = 1 << 13;

/// An exclusive lock on an environment. Dropping it gives up all locks of this process on
/// `lock.mdb`.
pub(super) struct ExclusiveLock {
    file: File,
}

impl ExclusiveLock {
    /// Takes the lock of the environment in `directory`; `None` if another process has the
    /// environment open. This process must not have it open.
    pub(super) fn take(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join("lock.mdb");
        let failed = |error| io_failed(directory, "cannot lock lock.mdb", error);
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed)?;
        match lock_first_byte(file.as_raw_fd(), libc::F_SETLK, libc::F_WRLCK) {
            Ok(_) => {}
            // Systems differ in which of these they report.
            Err(error) if is_held(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        if FileId::at(&path).map_err(failed)? != Some(FileId::of(&file).map_err(failed)?) {
            return Err(cannot_open(directory, "its lock.mdb was just replaced; try again"));
        }
        Ok(Some(ExclusiveLock { file }))
    }

    /// Makes a process that waits for its shared lock find that `lock.mdb` is not valid, if this
    /// process ends before LMDB has written it anew. It would take the number of the last commit
    /// from it, which is not that of another `data.mdb`.
    pub(super) fn invalidate(&self) -> io::Result<()> {
        if self.file.metadata()?.len() < LEAST {
            self.file.set_len(LEAST)?;
        }
        // The magic number by which LMDB knows the file.
        self.file.write_all_at(&[0; 4], 0)
    }
}

/// Whether another process has the exclusive lock of the environment in `directory`. This process
/// must not have it open.
pub(super) fn is_locked(directory: &Path) -> io::Result<bool> {
    let file = match File::open(directory.join("lock.mdb")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    let found = lock_first_byte(file.as_raw_fd(), libc::F_GETLK, libc::F_RDLCK)?;
    #[allow(clippy::cast_possible_truncation, reason = "a small number, of the system's own type")]
    let none = libc::F_UNLCK as i16;
    Ok(i32::from(found.l_type) != i32::from(none))
}

fn is_held(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES))
}

/// The file `lock.mdb` that LMDB has open in this process, found when it is first needed.
#[cfg(target_os = "linux")]
#[derive(Default)]
pub(super) struct LockFile(std::sync::OnceLock<Option<RawFd>>);

#[cfg(target_os = "linux")]
impl LockFile {
    /// Makes the shared lock of this process an exclusive one; `None` if another process has the
    /// environment open, or might have it. `file` is `lock.mdb`. LMDB keeps it open for as long as
    /// the result exists. Only one thread at a time may do this.
    pub(super) fn keep_alone(&self, file: FileId) -> Option<KeptAlone> {
        let file = (*self.0.get_or_init(|| find_descriptor(file)))?;
        let locked = lock_first_byte(file, libc::F_SETLK, libc::F_WRLCK);
        locked.is_ok().then_some(KeptAlone { file })
    }
}

/// The descriptor of `file`. LMDB does not tell that of its own. A second one would not do, because
/// closing it gives up the locks of LMDB. `None` if other code of this process has opened the file
/// too: its descriptor may become that of another file.
#[cfg(target_os = "linux")]
fn find_descriptor(file: FileId) -> Option<RawFd> {
    let mut found = None;
    for entry in std::fs::read_dir("/proc/self/fd").ok()? {
        let entry = entry.ok()?;
        // A descriptor that was closed meanwhile is not there any more.
        if FileId::at(&entry.path()).ok().flatten() != Some(file) {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(entry.file_name().to_str()?.parse().ok()?);
    }
    found
}

/// While this exists, no other process opens the environment.
#[cfg(target_os = "linux")]
pub(super) struct KeptAlone {
    file: RawFd,
}

#[cfg(target_os = "linux")]
impl Drop for KeptAlone {
    fn drop(&mut self) {
        // A lock that only becomes weaker conflicts with no other lock, so this does not fail. If
        // it did, other processes could not open the environment before this process writes again
        // or closes it.
        let _ = lock_first_byte(self.file, libc::F_SETLK, libc::F_RDLCK);
    }
}

/// Asks for a lock on the first byte, or (`F_GETLK`) which lock conflicts with it.
fn lock_first_byte(file: RawFd, command: i32, kind: impl Into<i32>) -> io::Result<libc::flock> {
    // SAFETY: All zeros are a valid `flock`, and the call only uses this structure. If the
    // descriptor is not open, it fails.
    #[allow(unsafe_code)]
    #[allow(clippy::cast_possible_truncation, reason = "small numbers, of the system's own types")]
    let (done, lock) = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = kind.into() as _;
        lock.l_whence = libc::SEEK_SET as _;
        lock.l_start = 0;
        lock.l_len = 1;
        (libc::fcntl(file, command, &raw mut lock), lock)
    };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(lock) }
}
