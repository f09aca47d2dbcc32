//! Opens an environment with LMDB.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::Path;

use heed::{EnvFlags, EnvOpenOptions, MdbError};

use super::directory::{sync_name, sync_names};
use super::env::OpenEnv;
use super::error::{cannot_open, io_failed, is_no_space};
use super::map::has_room;
use super::options::Options;
use super::replaced_files::Files;
use super::reserve::{BUDGET, first_size, halved};
use crate::{Durability, KvError, Result};

/// The result of an attempt to open an environment.
pub(super) enum Opening {
    Open(Box<OpenEnv>),
    /// LMDB has it open in this process, perhaps only for a moment.
    StillOpen,
    /// Another process is just opening it, or making it compact.
    #[cfg_attr(not(unix), allow(dead_code))]
    Locked,
    /// Its files were replaced while it was opened.
    Replaced(KvError),
    /// The process that was making it compact has been killed, so `lock.mdb` is not valid until a
    /// process opens it alone.
    NotValid(KvError),
}

/// Opens the environment in `directory`. This crate must not have it open in this process.
pub(super) fn open_env(options: &Options, directory: &Path, missing: bool) -> Result<Opening> {
    if heed::env_closing_event(directory).is_some() {
        return Ok(Opening::StillOpen);
    }
    if missing {
        create_files(directory)?;
    } else {
        // If it cannot be created, LMDB says so, or does without it on a read-only file system.
        let _ = create_lock(directory);
    }
    let file = || std::fs::metadata(directory.join("data.mdb")).map_or(0, |file| file.len());
    // Without the names on disk, a power failure could take away all that is committed here. The
    // process that has made the directory and the files may have been killed before it came here.
    // LMDB writes to the file only after this, unless the first process that opens it keeps no
    // commits.
    if file() == 0 && options.keeps_commits() && !options.read_only {
        sync_names(directory, directory)?;
        sync_name(directory)?;
    }
    // LMDB would wait without a limit.
    #[cfg(unix)]
    if super::exclusive::is_locked(directory).unwrap_or(false) {
        return Ok(Opening::Locked);
    }
    let before = Files::in_directory(directory)?;
    let asked = options.map_size.or(options.first_map_size);
    let asked = asked.unwrap_or_else(|| fitting(first_size(file())));
    let mut map_size = asked;
    // On Windows, a map for reading only has the length of the file at that time, and bytes that
    // others add to the file lie outside. So a file is mapped as for writing if the system allows
    // that. Nothing is written all the same.
    let mut as_for_writing = cfg!(windows) || !options.read_only;
    loop {
        let mut heed = EnvOpenOptions::new().read_txn_without_tls();
        heed.map_size(map_size).max_dbs(1).max_readers(options.max_readers);
        let mut flags = EnvFlags::empty();
        if !as_for_writing {
            flags |= EnvFlags::READ_ONLY;
        }
        match options.durability {
            Durability::Full => {}
            Durability::MayLoseLastCommits => flags |= EnvFlags::NO_META_SYNC,
            Durability::MayLoseEverything => flags |= EnvFlags::NO_SYNC,
        }
        // SAFETY: None of the flags used makes the map writable or gives up locking. Opening maps
        // the file, which must not be changed by others than LMDB; that is the documented
        // condition for using an environment at all. The file was checked to be whole.
        #[allow(unsafe_code)]
        let opened = unsafe {
            heed.flags(flags);
            heed.open(directory)
        };
        let error = match opened {
            Ok(env) => {
                return Ok(
                    match OpenEnv::new(env, directory, &before, asked, options.map_size.is_none()) {
                        Ok(env) => Opening::Open(Box::new(env)),
                        Err(error) => Opening::Replaced(error),
                    },
                );
            }
            Err(error) => error,
        };
        match error {
            // The address space is limited: try less.
            heed::Error::Io(error) if is_too_much(&error) && map_size > SMALLEST => {
                map_size = halved(map_size);
            }
            heed::Error::Io(error)
                if matches!(
                    error.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
                ) && options.read_only
                    && as_for_writing =>
            {
                as_for_writing = false;
            }
            heed::Error::EnvAlreadyOpened => return Ok(Opening::StillOpen),
            heed::Error::Mdb(MdbError::Invalid) => {
                return Ok(Opening::NotValid(open_failed(options, directory, error)));
            }
            error => return Err(open_failed(options, directory, error)),
        }
    }
}

/// The size of the smallest map that is tried: the default of LMDB.
const SMALLEST: usize = 2 << 20;

/// If the addresses of this process are limited, each map takes at most one of this many shares of
/// those that are free: after 256 maps, a third of the addresses is left for threads and memory.
const SHARES_OF_FEW: usize = 256;

/// `size`; or less, if free addresses are few, so that the map takes a small share of them. The map
/// grows when it is half full.
fn fitting(mut size: usize) -> usize {
    while size > SMALLEST && !has_room(0, size.saturating_mul(SHARES_OF_FEW).min(BUDGET)) {
        size = halved(size);
    }
    size
}

/// Whether the system has refused a map because of its size.
pub(super) fn is_too_much(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::OutOfMemory | ErrorKind::InvalidInput)
}

fn open_failed(options: &Options, directory: &Path, error: heed::Error) -> KvError {
    let reason = match &error {
        // The format of `data.mdb` was checked before, so this error is about the lock file.
        heed::Error::Mdb(MdbError::VersionMismatch) => {
            let reason = "in use by a program whose LMDB has another lock format, such as Permazen for \
                          Java; close it there first";
            return KvError::InUse { path: directory.into(), reason: reason.into() };
        }
        heed::Error::Mdb(MdbError::Invalid) => "no LMDB environment",
        heed::Error::Io(error) if is_no_space(error) => {
            let reason = format!("no room for lock.mdb, which opening needs: {error}");
            return KvError::Full { path: directory.into(), reason: reason.into() };
        }
        heed::Error::Io(error) => match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if options.read_only => {
                "cannot take part in locking: lock.mdb cannot be written; copy the directory to a \
                 place where it can"
            }
            ErrorKind::PermissionDenied if !can_lock(directory) => {
                "permission denied, also for lock.mdb, which reading needs too; change the \
                 permissions, or copy it to a directory where it can be written"
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "not writable; open it read-only, or change its permissions"
            }
            ErrorKind::OutOfMemory => {
                "not enough address space to map it; close other environments of this process, or \
                 allow it more address space"
            }
            _ => "cannot open the LMDB environment",
        },
        heed::Error::EnvAlreadyOpened
        | heed::Error::Mdb(_)
        | heed::Error::Encoding(_)
        | heed::Error::Decoding(_) => "cannot open the LMDB environment",
    };
    let shows_error = matches!(reason, "cannot open the LMDB environment");
    let reason = if shows_error { format!("{reason}: {error}") } else { reason.to_owned() };
    cannot_open(directory, reason)
}

/// Creates the files of an environment that are not there. LMDB itself would make them readable for
/// their owner only.
///
/// This process must not have the environment open, because closing `lock.mdb` gives up its locks.
fn create_files(directory: &Path) -> Result<()> {
    // First `lock.mdb`: another process that finds `data.mdb` opens the environment at once, and
    // LMDB would then create its own `lock.mdb`.
    create_file(directory, "lock.mdb")?;
    create_file(directory, "data.mdb")
}

/// Whether this process can take part in locking.
fn can_lock(directory: &Path) -> bool {
    OpenOptions::new().read(true).write(true).open(directory.join("lock.mdb")).is_ok()
}

/// Creates `lock.mdb` unless there is one, for all users of the `data.mdb` that is there, because a
/// user that only reads must write to `lock.mdb` too. The owner can write to it in any case. LMDB
/// itself would make it for one user only.
pub(super) fn create_lock(directory: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = match options.open(directory.join("lock.mdb")) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let data = std::fs::metadata(directory.join("data.mdb"))?;
        let own = made.metadata()?;
        // Its group can be any group of the user that makes it. Only the superuser can give a file
        // away.
        if own.gid() != data.gid() {
            let _ = fchown(&made, None, Some(data.gid()));
        }
        if own.uid() != data.uid() {
            let _ = fchown(&made, Some(data.uid()), None);
        }
        let mode = data.permissions().mode() & 0o666 | 0o600;
        made.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    drop(made);
    Ok(())
}

/// Creates an empty file unless there is one.
fn create_file(directory: &Path, name: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o664);
    match options.open(directory.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(io_failed(directory, &format!("cannot create {name}"), error))
        }
        _ => Ok(()),
    }
}
