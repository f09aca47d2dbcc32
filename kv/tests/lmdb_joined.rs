//! An environment that other processes have open while its data file is replaced or overwritten.
#![cfg(all(feature = "lmdb", unix))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod common;

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;

use common::{dump, message, put, reading, role, spawn, wait_for, writing};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{KvDatabase, Result, TxOptions};
use tempfile::TempDir;

/// Where in `lock.mdb` the number of the last commit is.
const LAST_COMMIT: u64 = 8;

/// The other processes.
#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    let store = LmdbStore::open(&path).unwrap();
    match role.as_str() {
        "hold" => println!("ready"),
        "write" => {
            put(&store, b"written", b"");
            println!("ready");
        }
        "die committing" => {
            let _tx = writing(&store);
            // The commit is in data.mdb, and its number is about to be written here.
            let lock = fs::OpenOptions::new().read(true).write(true).open(path.join("lock.mdb"));
            let (lock, mut number) = (lock.unwrap(), [0; 8]);
            lock.read_exact_at(&mut number, LAST_COMMIT).unwrap();
            let before = u64::from_ne_bytes(number) - 1;
            lock.write_all_at(&before.to_ne_bytes(), LAST_COMMIT).unwrap();
            println!("ready");
            let _ = std::io::stdin().read(&mut [0]);
        }
        other => panic!("role {other}"),
    }
    let _ = std::io::stdin().read(&mut [0]);
}

/// Another process that has the environment at `path` open.
fn held(path: &Path) -> Child {
    let (child, mut out) = spawn("hold", path);
    wait_for(&mut out, "ready");
    child
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

/// Commits in a store before a backup takes its place: one creates the database, each pair is one.
const PAIRS: u8 = 4;

/// A parent directory, in it a store, and one that takes its place, with so many commits more or fewer.
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
            // With as many commits the numbers fit, and so all of the backup is seen.
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
            // What it would begin with is not the last commit of the file.
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

/// What others commit to the file that took its place does not change what is read of the old one.
#[test]
fn a_file_that_was_replaced_is_not_read_by_the_numbers_of_another() {
    let (_parent, path, backup) = with_backup(0);
    let store = LmdbStore::open(&path).unwrap();
    let begun = reading(&store);
    fs::rename(backup.join("data.mdb"), path.join("data.mdb")).unwrap();
    // What another process does that commits to the new file.
    let (child, mut out) = spawn("write", &path);
    wait_for(&mut out, "ready");
    end(child);
    refused(store.begin(&TxOptions::reading()), &path);
    assert_eq!(dump(&*begun).len(), usize::from(PAIRS));
}

#[test]
fn a_commit_that_was_cut_short_by_the_end_of_its_process_keeps_nobody_out() {
    for read_only in [false, true] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("store");
        fill(&path, PAIRS);
        let other = held(&path);
        let (child, mut out) = spawn("die committing", &path);
        wait_for(&mut out, "ready");
        end(child);
        let store = LmdbStore::builder().read_only(read_only).open(&path).unwrap();
        assert_eq!(count(&store), usize::from(PAIRS) - 1);
        if !read_only {
            put(&store, b"another", b"");
            assert_eq!(count(&store), usize::from(PAIRS) + 1);
        }
        end(other);
    }
}
