//! Makes an environment compact in its place: its `data.mdb` is replaced by a packed copy.
//!
//! No other process may have it open. The lock of `exclusive.rs` ensures that; while this process
//! holds it, a process that opens the environment waits. The steps:
//!
//! 1. The lock is taken, and `lock.mdb` is made invalid. If this process is killed from now on, a
//!    process that waits is refused once by LMDB; the next one that opens the environment makes
//!    `lock.mdb` anew.
//! 2. The file is opened without LMDB's locks, since closing it with them would give up the lock.
//!    Its structure is checked, and it is copied into a file beside it.
//! 3. The structure of the copy is checked; the copy gets the owner and mode of the file, and is
//!    brought to disk.
//! 4. The copy gets the name `data.mdb`, and the directory is brought to disk. Before this, the old
//!    file is there, after it the new one.
//! 5. The environment is opened and closed as usual. That makes `lock.mdb` valid for the new file,
//!    and lets waiting processes in.
//!
//! A process that opens the environment for reading only opens `data.mdb` before it waits for the
//! lock. So it may have the old file, which it would then read for ever. The opening of this crate
//! notices that, and opens it again.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use heed::types::Bytes;
use heed::{CommitOrAbort, Env, EnvFlags, EnvOpenOptions, WithoutTls};

use super::{CopyError, copy_through_pipe, packed};
use crate::copy::{Compacted, Watch};
use crate::lmdb::error::{cannot_open, failed, io_failed};
use crate::lmdb::exclusive::ExclusiveLock;
use crate::lmdb::file::{self, DataFile};
use crate::lmdb::opening::create_lock;
use crate::lmdb::read::each_stored;
use crate::lmdb::registry;
use crate::store_parts::file_identity::FileId;
use crate::store_parts::new_file::cannot;
use crate::{KvError, Result};

const DATA: &str = "data.mdb";
/// The copy, until it takes the place of the file. One that is left over is removed by the next
/// call.
const PART: &str = "data.mdb.compact";

/// Replaces `data.mdb` of the environment in `directory` by a packed copy.
pub(in crate::lmdb) fn compact(
    name: &str,
    directory: &Path,
    watch: &mut Watch<'_>,
) -> Result<Compacted> {
    let directory = directory
        .canonicalize()
        .map_err(|error| io_failed(directory, "cannot find the directory", error))?;
    create_lock(&directory)
        .map_err(|error| io_failed(&directory, "cannot create lock.mdb", error))?;
    let _reserved = registry::reserve(&directory)?;
    let lock = ExclusiveLock::take(&directory)?.ok_or_else(|| {
        KvError::Retry(format!(
            "{}: another process has it open, so it cannot be made compact in its place; end that \
             process first, or copy it to another directory, which packs it too",
            directory.display()
        ))
    })?;
    lock.invalidate().map_err(|error| io_failed(&directory, "cannot write lock.mdb", error))?;
    let compacted = replace(name, &directory, watch);
    revive(&directory);
    drop(lock);
    compacted
}

/// Makes `lock.mdb` valid. If that fails, the next process that opens the environment does it.
fn revive(directory: &Path) {
    // SAFETY: Only LMDB changes the files, and this process does not have them open.
    #[allow(unsafe_code)]
    let opened = unsafe { EnvOpenOptions::new().read_txn_without_tls().open(directory) };
    if let Ok(env) = opened {
        env.prepare_for_closing().wait();
    }
}

fn replace(name: &str, directory: &Path, watch: &mut Watch<'_>) -> Result<Compacted> {
    let looked = |error| io_failed(directory, "cannot look at data.mdb", error);
    let path = directory.join(DATA);
    let found = fs::symlink_metadata(&path).map_err(looked)?;
    if !found.is_file() || found.nlink() > 1 {
        return Err(cannot_open(
            directory,
            "its data.mdb is a link or has another name too, which would keep the old file; make a \
             compact copy in another directory instead",
        ));
    }
    if !matches!(file::check(directory, name)?, DataFile::Sound) {
        return Err(cannot_open(directory, "no LMDB environment: data.mdb is empty"));
    }
    // Damage must not be copied, and could end the process.
    sound(directory, file::verify(directory, name)?)?;
    let part = CopyInProgress::create(directory, &found)?;
    copy(directory, name, &part, watch)?;
    part.give_owner_and_mode(directory, &found)?;
    part.file.sync_all().map_err(|error| cannot(directory, "cannot sync the copy", &error))?;
    sound(directory, file::verify_file(&part.path, directory, name)?)?;
    let after = part.file.metadata().map_err(looked)?.len();
    if FileId::at(&path).map_err(looked)? != Some(FileId::new(&found)) {
        return Err(cannot_open(directory, "its data.mdb was replaced meanwhile; try again"));
    }
    let named = |error| cannot(directory, "cannot give the copy its name", &error);
    fs::rename(&part.path, &path).map_err(named)?;
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| cannot(directory, "cannot sync the directory", &error))?;
    watch.end();
    Ok(Compacted { before: found.len(), after })
}

/// Fails if there are problems.
fn sound(directory: &Path, problems: Vec<String>) -> Result<()> {
    match problems.into_iter().next() {
        None => Ok(()),
        Some(problem) => Err(KvError::Damaged { path: directory.into(), reason: problem.into() }),
    }
}

/// Copies the file, packed. The size of the map, which is stored in it, stays the same.
fn copy(directory: &Path, name: &str, part: &CopyInProgress, watch: &mut Watch<'_>) -> Result<()> {
    let failed = |error| failed(directory, "cannot copy it", error);
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.max_dbs(1);
    // SAFETY: The lock of `exclusive.rs` keeps others from changing the file.
    #[allow(unsafe_code)]
    let env: Env<WithoutTls> = unsafe {
        options.flags(EnvFlags::NO_LOCK | EnvFlags::READ_ONLY);
        options.open(directory)
    }
    .map_err(failed)?;
    watch.begin(None)?;
    let copied = match copy_pairs(&env, directory, name, part, watch) {
        Ok(false) => watch.begin(None).and_then(|()| {
            copy_through_pipe(&env, &|copy| copy(), &mut &part.file, watch).map_err(|error| {
                match error {
                    CopyError::Kv(error) => error,
                    CopyError::Heed(error) => failed(error),
                }
            })
        }),
        copied => copied.map(drop),
    };
    env.prepare_for_closing().wait();
    copied
}

/// Copies the pairs, if there is nothing else in the environment. Otherwise, or if there is no room
/// for them in this way, returns `false`.
fn copy_pairs(
    env: &Env<WithoutTls>,
    directory: &Path,
    name: &str,
    part: &CopyInProgress,
    watch: &mut Watch<'_>,
) -> Result<bool> {
    let failed = |error| failed(directory, "cannot copy it", error);
    // Other databases can have flags that only LMDB's own copy keeps.
    if env.unnamed_database_stat().entries != 1 {
        return Ok(false);
    }
    let opened = env.open_databases_and_commit(env.read_txn().map_err(failed)?, |opener, txn| {
        opener.open_database::<Bytes, Bytes>(txn, Some(name)).map(CommitOrAbort::<_, ()>::Commit)
    });
    let Some(pairs) = opened.map_err(failed)?.commit().flatten() else { return Ok(false) };
    let txn = env.read_txn().map_err(failed)?;
    let to = (&part.file, &*part.path);
    let count = pairs.stat(&txn).map_err(failed)?.entries as u64;
    let what = (name, count);
    let copied = packed::copy(to, what, env.info().map_size, directory, watch, |put| {
        each_stored(pairs, &txn, directory, put)
    })?;
    Ok(copied.is_some())
}

/// The copy that is being made. Dropping this removes it.
struct CopyInProgress {
    path: PathBuf,
    file: File,
}

impl CopyInProgress {
    fn create(directory: &Path, original: &fs::Metadata) -> Result<CopyInProgress> {
        let failed = |error| cannot(directory, &format!("cannot create {PART}"), &error);
        let path = directory.join(PART);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        // Only users that may read the original may read the copy.
        let mode = original.permissions().mode() & 0o600;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(mode | 0o600);
        let file = options.open(&path).map_err(failed)?;
        Ok(CopyInProgress { path, file })
    }

    fn give_owner_and_mode(&self, directory: &Path, original: &fs::Metadata) -> Result<()> {
        let failed = |error| {
            cannot(directory, "cannot give the copy the owner and mode of data.mdb", &error)
        };
        let own = self.file.metadata().map_err(failed)?;
        if (own.uid(), own.gid()) != (original.uid(), original.gid()) {
            fchown(&self.file, Some(original.uid()), Some(original.gid())).map_err(failed)?;
        }
        self.file.set_permissions(original.permissions()).map_err(failed)
    }
}

impl Drop for CopyInProgress {
    fn drop(&mut self) {
        // If it was renamed, there is nothing to remove.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use heed::MdbError;

    use super::*;
    use crate::lmdb::LmdbStore;
    use crate::{KvDatabase, TxOptions};

    const ROLE: &str = "PERMAZEN_COMPACT_ROLE";

    /// The work of other processes with the environment that is their working directory.
    #[test]
    fn child() {
        let Ok(role) = std::env::var(ROLE) else { return };
        let directory = Path::new(".").canonicalize().unwrap();
        if role == "ends" {
            let lock = ExclusiveLock::take(&directory).unwrap().unwrap();
            lock.invalidate().unwrap();
            println!("locked");
            // The other one opens; it has half a second to come to the lock.
            std::io::stdin().read_line(&mut String::new()).unwrap();
            std::thread::sleep(Duration::from_millis(500));
            replace("permazen", &directory, &mut Watch::new()).unwrap();
            std::process::exit(0);
        }
        println!("opening");
        // SAFETY: Only LMDB changes the files.
        #[allow(unsafe_code)]
        let opened = unsafe { EnvOpenOptions::new().open(&directory) };
        match opened {
            Err(heed::Error::Mdb(MdbError::Invalid)) => println!("refused"),
            // Another process has come first and has made the lock file anew.
            Ok(env) => {
                let opened = env.try_clone_inner_file().unwrap().metadata().unwrap().ino();
                let is_new = opened == fs::metadata(directory.join(DATA)).unwrap().ino();
                println!("{}", if is_new { "has the new file" } else { "has the old file" });
            }
            Err(error) => println!("unexpected: {error:?}"),
        }
    }

    fn spawn(role: &str, directory: &Path, first: &str) -> (Child, BufReader<impl Read + use<>>) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "lmdb::copy::compact::tests::child", "--nocapture"])
            .env(ROLE, role)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(first) {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "{role} has ended");
        }
        (child, out)
    }

    /// Waits until the process waits for a lock of a file. Without Linux's list of locks, it gets
    /// half a second.
    fn wait_until_blocked(process: u32) {
        let process = process.to_string();
        let is_blocked =
            |line: &str| line.contains("->") && line.split(' ').any(|word| word == process);
        let begun = Instant::now();
        while let Ok(locks) = fs::read_to_string("/proc/locks") {
            if locks.lines().any(is_blocked) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not wait");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(500));
    }

    /// The process ends when the new file is there and `lock.mdb` is still about the old one.
    #[test]
    fn a_process_that_waits_for_one_that_ends_is_not_misled() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("db");
        let store = LmdbStore::open_or_create(&path).unwrap();
        for number in 0..10_u8 {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            tx.put(&[number], &[number; 1000]).unwrap();
            tx.commit().unwrap();
        }
        drop(store);
        let before = fs::metadata(path.join(DATA)).unwrap().ino();
        let (mut ends, _out) = spawn("ends", &path, "locked");
        let (mut waits, mut out) = spawn("waits", &path, "opening");
        wait_until_blocked(waits.id());
        writeln!(ends.stdin.as_mut().unwrap(), "on").unwrap();
        let store = LmdbStore::open(&path).unwrap();
        assert!(ends.wait().unwrap().success());
        let mut said = String::new();
        out.read_to_string(&mut said).unwrap();
        assert!(waits.wait().unwrap().success());
        assert!(said.contains("refused") || said.contains("has the new file"), "{said}");
        assert_ne!(fs::metadata(path.join(DATA)).unwrap().ino(), before);
        let tx = store.begin(&TxOptions::reading()).unwrap();
        for number in 0..10_u8 {
            assert_eq!(tx.get(&[number]).unwrap().as_deref(), Some(&[number; 1000][..]));
        }
    }
}
