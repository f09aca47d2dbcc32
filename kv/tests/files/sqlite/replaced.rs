//! An SQLite file that is replaced or removed while it is open.
#![cfg(all(feature = "sqlite", unix))]

use std::fs;
use std::io::{Write, stdin};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use permazen_kv::copy::Watch;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{KvDatabase, KvError, TxOptions};
use tempfile::TempDir;

use crate::support::{
    Restore, count_pairs, dump, message, put, reading, role, seen_by_another_process, spawn,
    wait_for, writing,
};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

/// The work of a second process. The other tests start it.
#[test]
#[allow(clippy::print_stdout)]
fn child() {
    if let Some((_, path)) = role().filter(|(role, _)| role == "write") {
        let store = SqliteStore::open(path).unwrap();
        put(&store, b"x", b"");
        put(&store, b"y", b"");
        println!("has written");
        stdin().read_line(&mut String::new()).unwrap();
        return;
    }
    count_pairs(|path| Box::new(SqliteStore::open(path).unwrap()));
}

/// A directory with a file that has three pairs, and a backup with one pair.
fn with_backup() -> (TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (path, backup) = (dir.path().join("db"), dir.path().join("backup"));
    put(&SqliteStore::open_or_create(&backup).unwrap(), b"a", b"");
    fs::copy(&backup, &path).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"b", b"");
    put(&store, b"c", b"");
    (dir, path, backup)
}

/// Removes a database and its log.
fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
    for log in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{log}", path.display()));
    }
}

/// The ways in which a backup takes the place of a database.
fn restores() -> [Restore; 3] {
    [
        ("replaced", |path, backup| {
            remove(path);
            fs::copy(backup, path).unwrap();
        }),
        ("replaced", |path, backup| {
            remove(path);
            fs::rename(backup, path).unwrap();
        }),
        ("removed", |path, _| remove(path)),
    ]
}

#[test]
fn nothing_is_written_to_a_file_that_was_replaced() {
    for late in [false, true] {
        for (what, restore) in restores() {
            let (_dir, path, backup) = with_backup();
            let store = SqliteStore::builder().late_lock(late).open(&path).unwrap();
            let held = reading(&store);
            assert_eq!(dump(&*held).len(), 3);
            restore(&path, &backup);
            for _ in 0..2 {
                let text = message(store.begin(&TxOptions::writing()), &path);
                assert!(text.contains(what) && text.contains("open it again"), "{text}");
            }
            // No transaction gets a connection to the new file while others have one to the old
            // file.
            let readers: Vec<_> = (0..4).map(|_| store.begin(&TxOptions::reading())).collect();
            for reader in readers {
                match reader {
                    Ok(reader) => assert_eq!(dump(&*reader).len(), 3),
                    Err(error) => assert!(message(Err::<(), _>(error), &path).contains(what)),
                }
            }
            assert_eq!(dump(&*held).len(), 3);
            drop(held);
            drop(store);
            if what == "replaced" {
                let store = SqliteStore::open(&path).unwrap();
                put(&store, b"z", b"");
                assert_eq!(seen_by_another_process(CHILD, &path), 2);
            }
        }
    }
}

#[test]
fn a_commit_to_a_file_that_was_replaced_meanwhile_is_not_acknowledged() {
    for late in [false, true] {
        for (what, restore) in restores() {
            let (_dir, path, backup) = with_backup();
            let store = SqliteStore::builder().late_lock(late).open(&path).unwrap();
            let mut tx = writing(&store);
            tx.put(b"z", b"").unwrap();
            restore(&path, &backup);
            let error = tx.commit().unwrap_err();
            assert!(matches!(error, KvError::Open { .. }), "{error:?}");
            assert!(message(Err::<(), _>(error), &path).contains(what));
        }
    }
}

#[test]
fn nothing_is_written_through_a_link_that_leads_elsewhere_now() {
    let (dir, path, backup) = with_backup();
    let link = dir.path().join("current");
    symlink(&path, &link).unwrap();
    let store = SqliteStore::open(&link).unwrap();
    put(&store, b"d", b"");
    fs::remove_file(&link).unwrap();
    symlink(&backup, &link).unwrap();
    let written = store
        .begin(&TxOptions::writing())
        .and_then(|mut tx| tx.put(b"e", b"").and_then(|()| tx.commit()));
    assert!(matches!(written, Err(KvError::Open { .. })), "{written:?}");
    assert!(message(written, &link).contains("replaced"));
    assert_eq!(seen_by_another_process(CHILD, &link), 1);
}

/// A log of the file that was there before is not used for the new file.
#[test]
fn a_backup_that_takes_the_place_of_an_open_file_is_not_opened_with_its_log() {
    let (dir, path, backup) = with_backup();
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"d", b"");
    fs::rename(&backup, &path).unwrap();
    for name in [&path, &link] {
        for create in [false, true] {
            let text = message(SqliteStore::builder().create(create).open(name), name);
            assert!(text.contains("replaced") && text.contains("close every store"), "{text}");
        }
    }
    // SQLite leaves the log where it is.
    drop(store);
    assert!(log(&path).metadata().unwrap().len() > 0);
    for _ in 0..2 {
        let text = message(SqliteStore::open(&path), &path);
        assert!(text.contains("-wal") && text.contains("log of another file"), "{text}");
    }
    for log in ["-wal", "-shm"] {
        fs::remove_file(format!("{}{log}", path.display())).unwrap();
    }
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 1);
    put(&store, b"z", b"");
    // Now the log belongs to the file, also for a second store, and for one that comes after a copy
    // of both.
    assert_eq!(dump(&*reading(&SqliteStore::open(&link).unwrap())).len(), 2);
    let copy = dir.path().join("copy");
    fs::copy(&path, &copy).unwrap();
    fs::copy(log(&path), log(&copy)).unwrap();
    assert_eq!(dump(&*reading(&SqliteStore::open(&copy).unwrap())).len(), 2);
    assert_eq!(seen_by_another_process(CHILD, &path), 2);
}

/// A file that was removed is not created again as long as it is open.
#[test]
fn a_file_that_was_removed_while_it_is_open_is_not_created_anew() {
    let (_dir, path, _backup) = with_backup();
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"d", b"");
    fs::remove_file(&path).unwrap();
    let text = message(SqliteStore::open_or_create(&path), &path);
    assert!(text.contains("removed") && text.contains("close every store"), "{text}");
    drop(store);
    let store = SqliteStore::open_or_create(&path).unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 0);
}

/// Commits of another process to the new file may be only in the log beside it.
#[test]
fn the_log_of_another_process_is_not_taken_for_that_of_the_old_file() {
    for is_killed in [false, true] {
        let (_dir, path, backup) = with_backup();
        let store = SqliteStore::open(&path).unwrap();
        put(&store, b"d", b"");
        let held = reading(&store);
        remove(&path);
        fs::rename(&backup, &path).unwrap();
        let (mut child, mut out) = spawn(CHILD, "write", &path);
        wait_for(&mut out, "has written");
        assert!(log(&path).metadata().unwrap().len() > 0);
        if is_killed {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // Beside the store that has the old file, and after it is closed.
        let beside = SqliteStore::open(&path).unwrap();
        assert_eq!(dump(&*reading(&beside)).len(), 3);
        put(&beside, b"z", b"");
        assert_eq!(dump(&*held).len(), 4);
        assert_eq!(
            message(store.begin(&TxOptions::writing()), &path).matches("replaced").count(),
            1
        );
        drop(held);
        drop(store);
        let after = SqliteStore::open(&path).unwrap();
        drop(beside);
        assert_eq!(dump(&*reading(&after)).len(), 4);
        put(&after, b"zz", b"");
        if !is_killed {
            child.stdin.take().unwrap().write_all(b"end\n").unwrap();
            assert!(child.wait().unwrap().success());
        }
        drop(after);
        assert_eq!(seen_by_another_process(CHILD, &path), 5);
        assert_eq!(dump(&*reading(&SqliteStore::open(&path).unwrap())).len(), 5);
    }
}

/// The same, if no store looks before the old file is closed.
#[test]
fn the_log_of_another_process_is_not_left_by_the_old_file() {
    let (_dir, path, backup) = with_backup();
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"d", b"");
    remove(&path);
    fs::rename(&backup, &path).unwrap();
    let (mut child, mut out) = spawn(CHILD, "write", &path);
    wait_for(&mut out, "has written");
    drop(store);
    assert_eq!(dump(&*reading(&SqliteStore::open(&path).unwrap())).len(), 3);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(dump(&*reading(&SqliteStore::open(&path).unwrap())).len(), 3);
}

/// The index says which parts of the log count.
#[test]
fn a_backup_is_not_opened_with_the_index_of_the_file_that_is_open() {
    let (_dir, path, backup) = with_backup();
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"d", b"");
    fs::remove_file(&path).unwrap();
    fs::remove_file(log(&path)).unwrap();
    fs::rename(&backup, &path).unwrap();
    let text = message(SqliteStore::open(&path), &path);
    assert!(text.contains("replaced") && text.contains("-shm"), "{text}");
    assert_eq!(dump(&*reading(&store)).len(), 4);
    drop(store);
    assert_eq!(dump(&*reading(&SqliteStore::open(&path).unwrap())).len(), 1);
}

/// The log stays where it is if only the file is removed, also for a store that only reads.
#[test]
fn a_backup_is_not_opened_with_the_log_of_a_file_that_was_removed_before_it_was_closed() {
    for read_only in [false, true] {
        let (dir, path, backup) = with_backup();
        let copy = dir.path().join("copy");
        let store = SqliteStore::open(&path).unwrap();
        put(&store, b"d", b"");
        let reader = SqliteStore::builder().read_only(read_only).open(&path).unwrap();
        fs::rename(&path, &copy).unwrap();
        drop(store);
        drop(reader);
        fs::copy(&backup, &path).unwrap();
        for _ in 0..2 {
            let text = message(SqliteStore::open(&path), &path);
            assert!(text.contains("-wal") && text.contains("log of another file"), "{text}");
        }
        // With its own file the log is good.
        fs::rename(&copy, &path).unwrap();
        assert_eq!(dump(&*reading(&SqliteStore::open(&path).unwrap())).len(), 4);
    }
}

/// The number of a file that is removed is given to another file.
#[test]
fn a_backup_that_has_the_number_of_the_old_file_is_told_from_it() {
    let (dir, path, backup) = with_backup();
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"d", b"");
    let number = path.metadata().unwrap().ino();
    let other = dir.path().join("other");
    fs::copy(&backup, &other).unwrap();
    fs::rename(&other, &path).unwrap();
    drop(store);
    fs::remove_file(&path).unwrap();
    // Others may have taken the number. Then this is an ordinary backup.
    for other in 0..64 {
        fs::copy(&backup, &path).unwrap();
        if path.metadata().unwrap().ino() == number {
            break;
        }
        fs::rename(&path, dir.path().join(other.to_string())).unwrap();
    }
    if !path.exists() {
        fs::copy(&backup, &path).unwrap();
    }
    let text = message(SqliteStore::open(&path), &path);
    assert!(text.contains("log of another file"), "{text}");
}

/// The file is the same, but its log is beside the other name.
#[test]
fn a_file_that_is_open_is_not_opened_by_another_name() {
    let names: [fn(&Path, &Path); 2] = [
        |path, name| fs::hard_link(path, name).unwrap(),
        |path, name| fs::rename(path, name).unwrap(),
    ];
    for (renamed, give) in names.into_iter().enumerate() {
        let (dir, path, _backup) = with_backup();
        let name = dir.path().join("name");
        let store = SqliteStore::open(&path).unwrap();
        put(&store, b"d", b"");
        give(&path, &name);
        for read_only in [false, true] {
            let opened = SqliteStore::builder().read_only(read_only).open(&name);
            let text = message(opened, &name);
            assert!(text.contains("open in this process as") && text.contains("/db"), "{text}");
        }
        if renamed == 1 {
            fs::rename(&name, &path).unwrap();
        }
        put(&store, b"e", b"");
        assert_eq!(dump(&*reading(&SqliteStore::open(&path).unwrap())).len(), 5);
        drop(store);
        if renamed == 0 {
            assert_eq!(dump(&*reading(&SqliteStore::open(&name).unwrap())).len(), 5);
        }
    }
}

/// A copy that was killed at its end has two names: its own, and that of its part. The locks of
/// SQLite belong to the process, which loses them when it closes the file.
#[test]
fn a_copy_to_the_file_that_is_open_leaves_its_locks() {
    let (dir, path, _backup) = with_backup();
    let store = SqliteStore::open(&path).unwrap();
    put(&store, b"d", b"");
    fs::hard_link(&path, dir.path().join("db.part")).unwrap();
    let text = message(store.copy_to(&path, &mut Watch::new()), &path);
    assert!(text.contains("already"), "{text}");
    assert_eq!(seen_by_another_process(CHILD, &path), 4);
    assert!(log(&path).exists());
    put(&store, b"e", b"");
    assert_eq!(seen_by_another_process(CHILD, &path), 5);
}

/// Links lead to a file even where it is no longer.
#[test]
fn a_file_that_was_removed_while_it_is_open_is_not_created_anew_by_a_link() {
    let (dir, path, _backup) = with_backup();
    let (link, second) = (dir.path().join("link"), dir.path().join("second"));
    symlink("db", &link).unwrap();
    symlink(&link, &second).unwrap();
    let store = SqliteStore::open(&second).unwrap();
    put(&store, b"d", b"");
    fs::remove_file(&path).unwrap();
    for name in [&path, &link, &second] {
        let text = message(SqliteStore::open_or_create(name), name);
        assert!(text.contains("removed") && text.contains("close every store"), "{text}");
    }
    assert!(!path.exists());
    drop(store);
    put(&SqliteStore::open_or_create(&second).unwrap(), b"a", b"");
    assert_eq!(dump(&*reading(&SqliteStore::open(&path).unwrap())).len(), 1);
}

/// The file is the same, but others look for its log beside its new name.
#[test]
fn nothing_is_written_to_a_file_that_was_moved_together_with_its_link() {
    let (dir, path, _backup) = with_backup();
    let (link, moved) = (dir.path().join("current"), dir.path().join("moved"));
    symlink(&path, &link).unwrap();
    let store = SqliteStore::open(&link).unwrap();
    put(&store, b"d", b"");
    fs::rename(&path, &moved).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&moved, &link).unwrap();
    let text = message(store.begin(&TxOptions::writing()), &link);
    assert!(text.contains("replaced"), "{text}");
}

fn log(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}
