//! The environments that are open in this process. Each is open once, and shared by all that open
//! it.
//!
//! LMDB must not open a file twice in a process: closing one of them gives up the locks of both.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::time::{Duration, Instant};

use super::env::Shared;
use super::error::{cannot_open, io_failed};
use super::opening::{Opening, open_env};
use super::options::Options;
use super::replaced_files::Files;
use crate::Result;
use crate::store_parts::lock::lock;

/// How long to wait for an environment that is just being closed.
const CLOSING: Duration = Duration::from_secs(10);

/// The open environments of this process, by directory. While this lock is held, a thread must not
/// wait for others, except for LMDB while that opens an environment. (The crate `heed` opens only
/// one at a time in a process.)
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Shared>>>> = LazyLock::new(Mutex::default);

/// Opens the environment in `directory`, or joins those that have it open. Creates its files if
/// they are `missing`.
pub(super) fn open(options: &Options, directory: &Path, missing: bool) -> Result<Arc<Shared>> {
    let directory = directory
        .canonicalize()
        .map_err(|error| io_failed(directory, "cannot find the directory", error))?;
    let start = Instant::now();
    let shared = loop {
        if let Some(shared) = open_or_join(options, &directory, missing)? {
            break shared;
        }
        // Its last user in this process is just closing it.
        let left = CLOSING.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(cannot_open(
                &directory,
                "already open in this process by other means; close it there first",
            ));
        }
        if let Some(closing) = heed::env_closing_event(&directory) {
            closing.wait_timeout(left);
        }
    };
    if let Some(map_size) = options.map_size {
        shared.env.grow(map_size)?;
    }
    shared.prepare(options)?;
    Ok(shared)
}

/// `None` while LMDB still has the environment open for users that are gone.
fn open_or_join(options: &Options, directory: &Path, missing: bool) -> Result<Option<Arc<Shared>>> {
    let mut open = lock(&OPEN);
    open.retain(|_, shared| shared.strong_count() > 0);
    if let Some(shared) = find(&open, directory)? {
        shared.suits(options)?;
        return Ok(Some(shared));
    }
    match open_env(options, directory, missing)? {
        Opening::Open(env) => {
            let shared = Arc::new(Shared::new(options, *env)?);
            open.insert(directory.to_owned(), Arc::downgrade(&shared));
            Ok(Some(shared))
        }
        Opening::StillOpen => Ok(None),
    }
}

/// The open environment in `directory`, if there is one. It is found by its path, or by its files,
/// because several paths may lead to them.
fn find(open: &HashMap<PathBuf, Weak<Shared>>, directory: &Path) -> Result<Option<Arc<Shared>>> {
    if let Some(shared) = open.get(directory).and_then(Weak::upgrade) {
        shared.check_files()?;
        return Ok(Some(shared));
    }
    let found = Files::in_directory(directory)?;
    for shared in open.values().filter_map(Weak::upgrade) {
        let files = shared.env.files();
        if !files.have_same_data(&found) {
            continue;
        }
        if files.have_same_lock(&found) {
            shared.check_files()?;
            return Ok(Some(shared));
        }
        return Err(cannot_open(
            directory,
            format!(
                "its data.mdb is the file that is open in this process as that of {}, which has \
                 another lock.mdb, so the two would write at the same time; open it there",
                shared.path().display()
            ),
        ));
    }
    Ok(None)
}
