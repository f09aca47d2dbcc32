//! The files that remain after a SQLite database was opened for reading only.
#![cfg(feature = "sqlite")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use permazen_kv::KvDatabase;
use permazen_kv::sqlite::SqliteStore;
use tempfile::TempDir;

use crate::support::{dump, message, put, reading, role, spawn, wait_for};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

/// The place of the journal mode in the header of a database: 2 is WAL.
const MODE: std::ops::Range<usize> = 18..20;

#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    let store = match role.as_str() {
        "read" => {
            let store = read_only(&path);
            assert_eq!(dump(&*reading(&store)).len(), 1);
            store
        }
        "write" => {
            let store = SqliteStore::open(&path).unwrap();
            put(&store, b"child", b"");
            store
        }
        other => panic!("role {other}"),
    };
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]);
    drop(store);
}

fn read_only(path: &Path) -> SqliteStore {
    SqliteStore::builder().read_only(true).open(path).unwrap()
}

/// A database with a pair, which no process has open. Its directory contains one file.
fn closed() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    put(&SqliteStore::open_or_create(&path).unwrap(), b"key", b"value");
    assert_eq!(names(dir.path()), ["db"]);
    (dir, path)
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

fn names(dir: &Path) -> Vec<String> {
    files(dir).into_keys().collect()
}

#[test]
fn a_look_leaves_nothing_that_was_not_there() {
    for mode in [1, 2] {
        let (dir, path) = closed();
        let mut bytes = fs::read(&path).unwrap();
        bytes[MODE].fill(mode);
        fs::write(&path, &bytes).unwrap();
        let link = dir.path().join("link");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let before = files(dir.path());
        for path in [&path, &link].into_iter().filter(|path| path.exists()) {
            let store = read_only(path);
            let views: Vec<_> = (0..3).map(|_| reading(&store)).collect();
            assert!(views.iter().all(|view| dump(&**view).len() == 1));
            store.verify().unwrap();
            drop(views);
            drop(store);
            assert_eq!(files(dir.path()), before, "journal mode {mode}");
        }
        // A store that cannot be opened.
        let wrong = SqliteStore::builder().read_only(true).table_name("other").open(&path);
        assert!(message(wrong, &path).contains("without a table"));
        assert_eq!(files(dir.path()), before, "journal mode {mode}");
    }
}

/// The log of a writer that was killed contains commits that the database does not have.
#[test]
fn what_was_there_stays() {
    let (dir, path) = closed();
    let writer = SqliteStore::open(&path).unwrap();
    put(&writer, b"in the log", b"");
    let killed = tempfile::tempdir().unwrap();
    for (name, content) in files(dir.path()) {
        fs::write(killed.path().join(name), content).unwrap();
    }
    drop(writer);
    let before = files(killed.path());
    assert_eq!(before.len(), 3);
    for _ in 0..2 {
        assert_eq!(dump(&*reading(&read_only(&killed.path().join("db")))).len(), 2);
        let after = files(killed.path());
        assert_eq!(after.len(), 3);
        // SQLite may rewrite the index of the log.
        assert!(["db", "db-wal"].iter().all(|name| after[*name] == before[*name]));
    }
    // Only a store that writes moves the content of the log to the database.
    drop(SqliteStore::open(killed.path().join("db")).unwrap());
    assert_eq!(names(killed.path()), ["db"]);
}

#[test]
fn a_writer_of_another_process_is_left_alone() {
    let (dir, path) = closed();
    // It comes first and stays, or comes while the other store reads.
    for comes_first in [true, false] {
        let start = || {
            let (child, mut out) = spawn(CHILD, "write", &path);
            wait_for(&mut out, "ready");
            child
        };
        let before = comes_first.then(start);
        let store = read_only(&path);
        dump(&*reading(&store));
        let mut writer = before.unwrap_or_else(start);
        assert_eq!(dump(&*reading(&store)).len(), 2);
        let bytes = fs::read(&path).unwrap();
        drop(store);
        assert_eq!(names(dir.path()), ["db", "db-shm", "db-wal"], "first: {comes_first}");
        assert!(fs::read(&path).unwrap() == bytes, "the database was changed");
        // The writer is killed. A store that only reads must not remove its log.
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert_eq!(dump(&*reading(&read_only(&path))).len(), 2);
        assert_eq!(names(dir.path()), ["db", "db-shm", "db-wal"], "first: {comes_first}");
        let store = SqliteStore::open(&path).unwrap();
        let mut tx = crate::support::writing(&store);
        tx.remove(b"child").unwrap();
        tx.commit().unwrap();
        drop(store);
        assert_eq!(names(dir.path()), ["db"]);
    }
}

/// Another process that reads prevents SQLite from removing the files. The last store that may
/// write removes them.
#[test]
fn files_in_use_by_another_reader_stay() {
    let (dir, path) = closed();
    let before = fs::read(&path).unwrap();
    let store = read_only(&path);
    dump(&*reading(&store));
    let (mut reader, mut out) = spawn(CHILD, "read", &path);
    wait_for(&mut out, "ready");
    drop(store);
    assert_eq!(names(dir.path()), ["db", "db-shm", "db-wal"]);
    drop(reader.stdin.take());
    reader.wait().unwrap();
    // For that store they were there before.
    assert_eq!(names(dir.path()), ["db", "db-shm", "db-wal"]);
    assert!(fs::read(&path).unwrap() == before);
    put(&SqliteStore::open(&path).unwrap(), b"another", b"");
    assert_eq!(names(dir.path()), ["db"]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_before_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for read_only in [true, false] {
        for path in [pipe.as_path(), Path::new("/dev/zero")] {
            let opened = SqliteStore::builder().read_only(read_only).create(true).open(path);
            assert!(message(opened, path).contains("a named pipe, socket or device"));
        }
    }
}
