//! An environment that other processes have open while its data file is replaced or overwritten.
#![cfg(all(feature = "lmdb", unix))]

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{KvDatabase, KvError, Result, TxOptions};
use tempfile::TempDir;

use crate::support::{dump, message, put, reading, role, spawn, wait_for, writing};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

/// Where in `lock.mdb` the number of the last commit is.
const LAST_COMMIT: u64 = 8;

/// The other processes.
#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    match role.as_str() {
        "hold a foreign env" => return hold_foreign_env(&path, false),
        "write in a foreign env" => return hold_foreign_env(&path, true),
        "open" => println!("opens"),
        _ => {}
    }
    let store = LmdbStore::open(&path).unwrap();
    match role.as_str() {
        "hold" | "open" => println!("ready"),
        "write" => {
            put(&store, b"written", b"");
            println!("ready");
        }
        "die committing" => {
            let _tx = writing(&store);
            stop_committing(&path);
        }
        other => panic!("role {other}"),
    }
    let _ = std::io::stdin().read(&mut [0]);
}

/// Stops in the middle of a commit: it is in data.mdb, and its number is about to be written to
/// lock.mdb. The caller has the right to write.
fn stop_committing(path: &Path) {
    let lock = fs::OpenOptions::new().read(true).write(true).open(path.join("lock.mdb"));
    let (lock, mut number) = (lock.unwrap(), [0; 8]);
    lock.read_exact_at(&mut number, LAST_COMMIT).unwrap();
    let before = u64::from_ne_bytes(number) - 1;
    lock.write_all_at(&before.to_ne_bytes(), LAST_COMMIT).unwrap();
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]);
}

/// A program without this crate, which does not show that it has the environment open.
fn hold_foreign_env(path: &Path, writes: bool) {
    // SAFETY: Its files are changed by LMDB only, but for a number that is set back as a commit
    // would.
    #[allow(unsafe_code)]
    let env = unsafe { heed::EnvOpenOptions::new().open(path) }.unwrap();
    if writes {
        let _tx = env.write_txn().unwrap();
        stop_committing(path);
    } else {
        println!("ready");
        let _ = std::io::stdin().read(&mut [0]);
    }
}

/// Another process that is ready with the action of this `role`.
fn playing(role: &str, path: &Path) -> Child {
    let (child, mut out) = spawn(CHILD, role, path);
    wait_for(&mut out, "ready");
    child
}

/// Another process that has the environment at `path` open.
fn held(path: &Path) -> Child {
    playing("hold", path)
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn count(store: &LmdbStore) -> usize {
    dump(&*reading(store)).len()
}

fn fill(path: &Path, pairs: u8) {
    let store = LmdbStore::open_or_create(path).unwrap();
    (0..pairs).for_each(|key| put(&store, &[key], b""));
}

/// Commits in a store before a backup takes its place. One creates the database, each pair is one.
const PAIRS: u8 = 4;

/// A parent directory with a store, and one that takes its place, with `more` or fewer commits.
fn with_backup(more: i8) -> (TempDir, PathBuf, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let (path, backup) = (parent.path().join("store"), parent.path().join("backup"));
    fill(&path, PAIRS);
    fill(&backup, PAIRS.checked_add_signed(more).unwrap());
    (parent, path, backup)
}

fn refused<T>(result: Result<T>, path: &Path) {
    let text = message(result, path);
    assert!(text.contains("data.mdb and lock.mdb do not belong together"), "{text}");
    assert!(text.contains("close it in every process"), "{text}");
}

#[test]
fn a_backup_is_not_joined_by_the_lock_file_of_the_old_file() {
    for more in -4..4_i8 {
        for read_only in [false, true] {
            let (_parent, path, backup) = with_backup(more);
            let pairs = usize::from(PAIRS.checked_add_signed(more).unwrap());
            let other = held(&path);
            fs::rename(backup.join("data.mdb"), path.join("data.mdb")).unwrap();
            let open = || LmdbStore::builder().read_only(read_only).open(&path);
            // With the same number of commits the numbers fit, so all of the backup is seen.
            if more == 0 {
                assert_eq!(count(&open().unwrap()), pairs);
            } else {
                refused(open(), &path);
            }
            end(other);
            assert_eq!(count(&open().unwrap()), pairs, "{more} more");
        }
    }
}

#[test]
fn a_compact_copy_is_not_joined_by_the_lock_file_of_the_old_file() {
    for pairs in [PAIRS, PAIRS + 1] {
        let parent = tempfile::tempdir().unwrap();
        let (path, copy) = (parent.path().join("store"), parent.path().join("copy"));
        fill(&path, pairs);
        LmdbStore::open(&path).unwrap().copy_to(&copy).unwrap();
        let other = held(&path);
        fs::rename(copy.join("data.mdb"), path.join("data.mdb")).unwrap();
        refused(LmdbStore::open(&path), &path);
        end(other);
        assert_eq!(count(&LmdbStore::open(&path).unwrap()), usize::from(pairs));
    }
}

#[test]
fn a_file_that_was_overwritten_is_not_joined() {
    for more in [-4, -3, -2, -1, 2, 3] {
        let (_parent, path, backup) = with_backup(more);
        let other = held(&path);
        fs::copy(backup.join("data.mdb"), path.join("data.mdb")).unwrap();
        refused(LmdbStore::open(&path), &path);
        end(other);
        let pairs = usize::from(PAIRS.checked_add_signed(more).unwrap());
        assert_eq!(count(&LmdbStore::open(&path).unwrap()), pairs);
    }
}

#[test]
fn nothing_is_written_to_a_file_that_was_overwritten() {
    for more in [-4, -3, -2, -1, 1, 2, 3] {
        let (_parent, path, backup) = with_backup(more);
        let store = LmdbStore::open(&path).unwrap();
        let tx = writing(&store);
        fs::copy(backup.join("data.mdb"), path.join("data.mdb")).unwrap();
        refused(tx.commit(), &path);
        refused(store.begin(&TxOptions::writing()), &path);
        if more < 0 {
            // The commit on which it would begin is not the last commit of the file.
            refused(store.begin(&TxOptions::reading()), &path);
        }
        if more != 1 {
            refused(LmdbStore::open(&path), &path);
            refused(store.copy_to(path.with_extension("copy")), &path);
        }
        drop(store);
        let pairs = usize::from(PAIRS.checked_add_signed(more).unwrap());
        assert_eq!(count(&LmdbStore::open(&path).unwrap()), pairs);
    }
}

/// Commits of others to the new file do not change reads from the old one.
#[test]
fn a_file_that_was_replaced_is_not_read_by_the_numbers_of_another() {
    let (_parent, path, backup) = with_backup(0);
    let store = LmdbStore::open(&path).unwrap();
    let begun = reading(&store);
    fs::rename(backup.join("data.mdb"), path.join("data.mdb")).unwrap();
    // The action of another process that commits to the new file.
    end(playing("write", &path));
    refused(store.begin(&TxOptions::reading()), &path);
    assert_eq!(dump(&*begun).len(), usize::from(PAIRS));
}

/// Others have the environment open, through this crate or without it.
#[test]
fn a_commit_that_was_cut_short_by_the_end_of_its_process_blocks_no_other() {
    for read_only in [false, true] {
        for holding in ["hold", "hold a foreign env"] {
            for dying in ["die committing", "write in a foreign env"] {
                let parent = tempfile::tempdir().unwrap();
                let path = parent.path().join("store");
                fill(&path, PAIRS);
                let other = playing(holding, &path);
                end(playing(dying, &path));
                let store = LmdbStore::builder().read_only(read_only).open(&path).unwrap();
                let seen = count(&store);
                assert_eq!(seen, usize::from(PAIRS), "also the commit that was cut short");
                if !read_only {
                    put(&store, b"another", b"");
                    assert_eq!(count(&store), usize::from(PAIRS) + 1);
                }
                end(other);
            }
        }
    }
}

#[test]
fn processes_that_open_while_a_commit_is_cut_short_block_no_other() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("store");
    fill(&path, PAIRS);
    let dying = playing("write in a foreign env", &path);
    let opening = [(); 2].map(|()| spawn(CHILD, "open", &path)).map(|(child, mut out)| {
        wait_for(&mut out, "opens");
        (child, out)
    });
    // Long enough for the two to open it. If it is too short, this shows nothing.
    thread::sleep(Duration::from_millis(200));
    end(dying);
    for (child, mut out) in opening {
        wait_for(&mut out, "ready");
        end(child);
    }
    assert_eq!(count(&LmdbStore::open(&path).unwrap()), usize::from(PAIRS));
}

/// A program without this crate that takes long for a commit is waited for with a limit.
#[test]
fn a_commit_that_takes_long_is_waited_for() {
    for read_only in [false, true] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("store");
        fill(&path, PAIRS);
        let committing = playing("write in a foreign env", &path);
        let builder = LmdbStore::builder().read_only(read_only);
        for _ in 0..3 {
            let error = builder.clone().wait(Duration::ZERO).open(&path).unwrap_err();
            assert!(matches!(error, KvError::Retry(_)), "{error:?}");
            let text = message::<()>(Err(error), &path);
            assert!(text.contains("in the middle of a commit"), "{text}");
            assert!(text.contains("data.mdb was replaced"), "{text}");
        }
        if read_only {
            // The attempt that gave up waiting keeps it open.
            let text = message(LmdbStore::open(&path), &path);
            assert!(text.contains("an opening that gave up waiting"), "{text}");
        }
        thread::scope(|scope| {
            let opened = scope.spawn(|| builder.open(&path).map(|store| count(&store)));
            // Long enough for it to wait. If it is too short, this shows nothing.
            thread::sleep(Duration::from_millis(700));
            end(committing);
            assert_eq!(opened.join().unwrap().unwrap(), usize::from(PAIRS));
        });
    }
}
