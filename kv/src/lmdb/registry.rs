//! The environments that are open in this process. Each is open once, and shared by all that open
//! it.
//!
//! LMDB must not open a file twice in a process: closing one of them gives up the locks of both.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::env::{PAUSE, SharedEnv};
use super::error::{cannot_open, io_failed};
use super::forked::is_in_use;
use super::opening::{Opening, open_env};
use super::options::Options;
use super::replaced_files::Files;
use crate::store_parts::lock::lock;
use crate::{KvError, Result};

/// How long to wait for an environment that is just being closed.
const CLOSING: Duration = Duration::from_secs(10);
/// How long to try again if the files of an environment change while it is opened.
const CHANGING: Duration = Duration::from_secs(1);
/// How long to try again at least if another process keeps others from opening an environment. It
/// does that for a moment when it begins to write.
const PASSING: Duration = Duration::from_millis(100);

/// The open environments of this process, by directory. While this lock is held, a thread must not
/// wait for others, except for LMDB while that opens an environment. (The crate `heed` opens only
/// one at a time in a process.)
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<SharedEnv>>>> = LazyLock::new(Mutex::default);

/// Opens the environment in `directory`, or shares it if this process has it open. Creates its
/// files if they are `missing`.
pub(super) fn open(options: &Options, directory: &Path, missing: bool) -> Result<Arc<SharedEnv>> {
    let directory = directory
        .canonicalize()
        .map_err(|error| io_failed(directory, "cannot find the directory", error))?;
    let start = Instant::now();
    // Since when the files change.
    let mut changing = None;
    let shared = loop {
        match open_or_join(options, &directory, missing)? {
            Joined::Open(shared) => break shared,
            // Its last user in this process is just closing it.
            Joined::Not(Opening::StillOpen) if is_in_use(&directory) => {
                return Err(KvError::forked(&directory));
            }
            Joined::Not(Opening::StillOpen) => {}
            Joined::Not(Opening::Locked) if start.elapsed() < options.wait.max(PASSING) => {
                changing = None;
                thread::sleep(PAUSE);
                continue;
            }
            Joined::Not(Opening::Locked) => return Err(being_changed(&directory)),
            Joined::Not(Opening::Replaced(_) | Opening::NotValid(_))
                if changing.get_or_insert_with(Instant::now).elapsed() < CHANGING =>
            {
                thread::sleep(PAUSE);
                continue;
            }
            Joined::Not(Opening::Replaced(error) | Opening::NotValid(error)) => return Err(error),
            Joined::Not(Opening::Open(_)) => continue,
        }
        let left = CLOSING.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(cannot_open(
                &directory,
                "already open in this process by other means; close it there first",
            ));
        }
        match heed::env_closing_event(&directory) {
            Some(closing) => drop(closing.wait_timeout(left)),
            // It was just closed. On Windows, `heed` knows directories by another form of their
            // paths.
            None => thread::sleep(PAUSE),
        }
    };
    if let Some(map_size) = options.map_size {
        shared.env.grow(map_size)?;
    }
    shared.prepare(options)?;
    Ok(shared)
}

/// Why an environment cannot be opened while its file is replaced by a compact one.
fn being_changed(directory: &Path) -> KvError {
    KvError::Retry(format!(
        "{}: it is just being made compact; open it again when that is done",
        directory.display()
    ))
}

/// The result of an attempt to open or join an environment.
enum Joined {
    Open(Arc<SharedEnv>),
    Not(Opening),
}

fn open_or_join(options: &Options, directory: &Path, missing: bool) -> Result<Joined> {
    let mut open = lock(&OPEN);
    open.retain(|_, shared| shared.strong_count() > 0);
    let found = Files::in_directory(directory)?;
    if lock(&RESERVED).iter().any(|reserved| reserved.is(directory, &found)) {
        return Err(being_changed(directory));
    }
    if let Some(shared) = find(&open, directory)? {
        shared.suits(options)?;
        return Ok(Joined::Open(shared));
    }
    match open_env(options, directory, missing)? {
        Opening::Open(env) => {
            let shared = Arc::new(SharedEnv::new(options, *env)?);
            open.insert(directory.to_owned(), Arc::downgrade(&shared));
            Ok(Joined::Open(shared))
        }
        not => Ok(Joined::Not(not)),
    }
}

/// Environments that this process must not open now.
static RESERVED: Mutex<Vec<Reservation>> = Mutex::new(Vec::new());

struct Reservation {
    directory: PathBuf,
    files: Files,
}

impl Reservation {
    fn is(&self, directory: &Path, files: &Files) -> bool {
        self.directory == directory
            || self.files.have_same_data(files)
            || self.files.have_same_lock(files)
    }
}

/// While this exists, this process cannot open the environment. On Unix, it is made while the
/// environment is made compact in its place.
#[cfg_attr(not(unix), allow(dead_code))]
pub(super) struct Reserved(PathBuf);

/// Keeps this process from opening the environment in `directory`, which is a canonical path. Fails
/// if this process has it open.
#[cfg(unix)]
pub(super) fn reserve(directory: &Path) -> Result<Reserved> {
    let start = Instant::now();
    loop {
        let open = lock(&OPEN);
        let files = Files::in_directory(directory)?;
        let mut reserved = lock(&RESERVED);
        if reserved.iter().any(|reserved| reserved.is(directory, &files)) {
            return Err(being_changed(directory));
        }
        let is_open = find(&open, directory)?.is_some();
        // The last user may just be closing it.
        let closing = heed::env_closing_event(directory);
        if !is_open && closing.is_none() {
            reserved.push(Reservation { directory: directory.to_owned(), files });
            return Ok(Reserved(directory.to_owned()));
        }
        if is_open || start.elapsed() >= CHANGING {
            return Err(cannot_open(
                directory,
                "it is open in this process, so it cannot be made compact in its place; close every \
                 store, transaction and snapshot of it first, or copy it to another directory, which \
                 packs it too",
            ));
        }
        drop((open, reserved));
        if let Some(closing) = closing {
            closing.wait_timeout(PAUSE);
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        lock(&RESERVED).retain(|reserved| reserved.directory != self.0);
    }
}

/// The open environment in `directory`, if there is one. It is found by its path, or by its files,
/// because several paths may lead to them.
fn find(
    open: &HashMap<PathBuf, Weak<SharedEnv>>,
    directory: &Path,
) -> Result<Option<Arc<SharedEnv>>> {
    if let Some(shared) = open.get(directory).and_then(Weak::upgrade) {
        shared.check_process()?;
        shared.check_files()?;
        return Ok(Some(shared));
    }
    let found = Files::in_directory(directory)?;
    for shared in open.values().filter_map(Weak::upgrade) {
        let files = shared.env.files();
        if !files.have_same_data(&found) {
            continue;
        }
        shared.check_process()?;
        if files.have_same_lock(&found) {
            shared.check_files()?;
            return Ok(Some(shared));
        }
        return Err(cannot_open(
            directory,
            format!(
                "its data.mdb is the same file as the data.mdb of {}, which is open in this process with \
                 another lock.mdb, so both would write at the same time; open that directory instead",
                shared.path().display()
            ),
        ));
    }
    Ok(None)
}
