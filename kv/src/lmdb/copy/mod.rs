//! Copies of environments, and new environments with the pairs of another store.

#[cfg(unix)]
mod compact;
mod packed;

use std::fs::{self, File};
use std::io;
#[cfg(unix)]
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use heed::{CompactionOption, Env, MdbError, WithoutTls};

#[cfg(unix)]
pub(super) use self::compact::compact;
use super::directory::{make_directory, sync_name};
use super::env::SharedEnv;
use super::error::failed;
use super::key::StoredKey;
use super::read::LmdbView;
use super::reserve::MOST;
use crate::contract::DEFAULT_WAIT;
use crate::copy::{Copied, Readers, Watch, each_pair};
use crate::store_parts::new_file::NewFile;
use crate::{KvRead, Result};

const EXISTS: &str =
    "there is an environment already; remove it first, or copy to another directory";

/// How often a copy is begun again whose directory is gone.
const TRIES: usize = 100;

/// Lets `write` write a new environment into a file, which then becomes the `data.mdb` of the
/// directory `target`, and can be read by `readers`. Without success, nothing remains.
fn create(
    target: &Path,
    readers: Readers,
    write: impl FnOnce(&mut NewFile<'_>) -> Result<Copied>,
) -> Result<Copied> {
    let is_new = !target.exists();
    let begin = || {
        make_directory(target, Some(readers))?;
        if is_new {
            sync_name(target)?;
        }
        NewFile::create(target, target.join("data.mdb"), EXISTS, readers)
    };
    let made = || -> Result<Copied> {
        let (mut tries, mut may_repeat) = (0..TRIES, true);
        let mut file = loop {
            match begin() {
                // Another copy that has failed may have removed the directory, which was empty yet.
                Err(_) if !target.exists() && tries.next().is_some() => {}
                // A third one may have made it again since. What still stands is found again.
                Err(_) if std::mem::take(&mut may_repeat) => {}
                begun => break begun?,
            }
        };
        let copied = write(&mut file)?;
        file.publish()?;
        Ok(copied)
    };
    made().inspect_err(|_| {
        if is_new {
            // Fails if others have put something there.
            let _ = fs::remove_dir(target);
        }
    })
}

/// Makes a copy of an environment. If `checks`, each page is checked as a whole before it is used.
pub(super) fn copy_env(
    shared: &Arc<SharedEnv>,
    target: &Path,
    watch: &mut Watch<'_>,
    checks: bool,
) -> Result<Copied> {
    shared.check_files()?;
    shared.check_commit_numbers(DEFAULT_WAIT)?;
    create(target, Readers::of(shared.path()), |file| {
        let _using = shared.env.using_map()?;
        let view = LmdbView::open(shared, checks)?;
        let (pairs, pages, page_size) = view.sizes()?;
        // The first two pages are the meta pages.
        watch.begin(Some((pages + 2) * page_size))?;
        let map_size = shared.env.heed().info().map_size;
        // Other databases in the environment can have flags that only LMDB's own copy keeps.
        if shared.env.heed().unnamed_database_stat().entries == 1 && shared.pairs()?.is_some() {
            let (to, what) = ((&file.file, file.part()), (shared.name(), pairs));
            let packed =
                packed::copy(to, what, map_size, target, watch, |put| view.each_stored(put))?;
            if packed.is_some() {
                return Ok(watch.end());
            }
            watch.begin(Some((pages + 2) * page_size))?;
        }
        let with_reader: WithReader<'_> = &|copy| shared.with_reader(copy);
        let copied = copy_through_pipe(shared.env.heed(), with_reader, &mut &file.file, watch);
        copied.map_err(|error| match error {
            CopyError::Kv(error) => error,
            CopyError::Heed(heed::Error::Mdb(MdbError::ReadersFull)) => shared.readers_full(),
            CopyError::Heed(error) => failed(target, "cannot copy into it", error),
        })?;
        Ok(watch.end())
    })
}

/// Runs a copy, which needs a reader slot.
pub(super) type WithReader<'r> =
    &'r (dyn Fn(&mut dyn FnMut() -> heed::Result<()>) -> heed::Result<()> + Sync);

pub(super) enum CopyError {
    Kv(crate::KvError),
    Heed(heed::Error),
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> Self {
        CopyError::Heed(heed::Error::Io(error))
    }
}

/// How many bytes are moved at a time.
#[cfg(unix)]
const CHUNK: usize = 1 << 16;

/// LMDB writes the copy in one go. So that it can be watched and stopped, it writes to a pipe, from
/// which the file gets it.
#[cfg(unix)]
pub(super) fn copy_through_pipe(
    env: &Env<WithoutTls>,
    with_reader: WithReader<'_>,
    file: &mut &File,
    watch: &mut Watch<'_>,
) -> std::result::Result<(), CopyError> {
    use std::os::fd::OwnedFd;
    use std::sync::Mutex;

    use crate::store_parts::lock::lock;

    let (mut from, to) = io::pipe()?;
    let mut to = File::from(OwnedFd::from(to));
    let same = Mutex::new(Some(to.try_clone()?));
    std::thread::scope(|scope| {
        let same = &same;
        let writing = scope.spawn(move || {
            let written = with_reader(&mut || env.copy_to_file(&mut to, CompactionOption::Enabled));
            // The reader of the pipe now finds its end.
            drop(lock(same).take());
            written
        });
        let mut chunk = vec![0; CHUNK];
        let mut moved = || loop {
            let count = from.read(&mut chunk)?;
            if count == 0 {
                return Ok(());
            }
            file.write_all(chunk.get(..count).unwrap_or_default())?;
            watch.copied(0, count as u64).map_err(CopyError::Kv)?;
        };
        let moved: std::result::Result<(), CopyError> = moved();
        if moved.is_err() {
            // LMDB stops when it cannot write. Closing the pipe would not do: that raises a signal.
            // Without this, it would wait for room in the pipe.
            if let Some(to) = &*lock(same) {
                do_not_wait(to);
            }
            // If it waits already, it continues now, and then finds the pipe full.
            let _ = from.read(&mut chunk);
        }
        let written =
            writing.join().map_err(|_| io::Error::other("the writing thread has ended"))?;
        moved?;
        written.map_err(CopyError::Heed)
    })
}

/// Makes writing to a pipe fail if the pipe is full.
#[cfg(unix)]
fn do_not_wait(pipe: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: The descriptor is open, and setting this flag touches no memory.
    #[allow(unsafe_code)]
    unsafe {
        let flags = libc::fcntl(pipe.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK);
    }
}

#[cfg(not(unix))]
fn copy_through_pipe(
    env: &Env<WithoutTls>,
    with_reader: WithReader<'_>,
    file: &mut &File,
    watch: &mut Watch<'_>,
) -> std::result::Result<(), CopyError> {
    let mut to = file.try_clone()?;
    with_reader(&mut || env.copy_to_file(&mut to, CompactionOption::Enabled))
        .map_err(CopyError::Heed)?;
    let bytes = file.metadata()?.len();
    watch.copied(0, bytes).map_err(CopyError::Kv)
}

/// Makes an environment with the pairs of another store.
pub(super) fn create_from(
    name: &str,
    target: &Path,
    from: &dyn KvRead,
    watch: &mut Watch<'_>,
) -> Result<Copied> {
    create(target, watch.readers_of_pairs(), |file| {
        packed::write(file.part(), name, MOST, target, |put| {
            each_pair(from, watch, |key, value| {
                put(StoredKey::room().of_pair(key, value.len())?, value)
            })
        })
    })
}
