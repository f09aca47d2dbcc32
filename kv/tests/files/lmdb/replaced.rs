//! An environment whose files are replaced, removed or reached by other names while it is open.
#![cfg(all(feature = "lmdb", unix))]

use std::fs;
use std::path::{Path, PathBuf};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{KvDatabase, KvDatabaseExt as _, KvError, KvWrite, TxOptions};
use tempfile::TempDir;

use crate::support::{
    Restore, count_pairs, dump, message, put, reading, seen_by_another_process, writing,
};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

/// The reads of a second process. The other tests start it.
#[test]
fn child() {
    count_pairs(|path| Box::new(LmdbStore::open(path).unwrap()));
}

/// A parent directory with a store that has three pairs, and a backup of it with one pair.
fn with_backup() -> (TempDir, PathBuf, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let (path, backup) = (parent.path().join("store"), parent.path().join("backup"));
    let store = LmdbStore::open_or_create(&path).unwrap();
    put(&store, b"a", b"");
    store.copy_to(&backup).unwrap();
    put(&store, b"b", b"");
    put(&store, b"c", b"");
    (parent, path, backup)
}

/// The ways in which a backup takes the place of a store.
fn restores() -> [Restore; 5] {
    [
        ("replaced", |path, backup| {
            fs::rename(path, path.with_extension("old")).unwrap();
            fs::rename(backup, path).unwrap();
        }),
        ("replaced", |path, backup| {
            fs::remove_dir_all(path).unwrap();
            fs::create_dir(path).unwrap();
            fs::copy(backup.join("data.mdb"), path.join("data.mdb")).unwrap();
        }),
        ("replaced", |path, backup| {
            fs::rename(backup.join("data.mdb"), path.join("data.mdb")).unwrap();
        }),
        ("replaced", |path, _| {
            // The steps of another process that makes the environment compact.
            let compact = path.with_extension("compact");
            LmdbStore::open(path).unwrap().copy_to(&compact).unwrap();
            fs::rename(compact.join("data.mdb"), path.join("data.mdb")).unwrap();
        }),
        ("removed", |path, _| fs::remove_file(path.join("data.mdb")).unwrap()),
    ]
}

#[test]
fn a_restored_backup_is_not_taken_for_what_is_open() {
    for (what, restore) in restores() {
        let (_parent, path, backup) = with_backup();
        let store = LmdbStore::open(&path).unwrap();
        let snapshot = reading(&store).snapshot().unwrap();
        drop(store);
        restore(&path, &backup);
        // Even with `create`, opening does not bring back the removed files, as long as the
        // environment is open.
        for create in [false, true] {
            let text = message(LmdbStore::builder().create(create).open(&path), &path);
            let missing = what == "removed" && !create;
            let expected = if missing { "no data.mdb" } else { what };
            assert!(text.contains(expected), "{text}");
            assert!(missing || text.contains("close every store"), "{text}");
        }
        // The snapshot can still be read.
        assert_eq!(dump(&*snapshot).len(), 3);
        drop(snapshot);
        if what == "replaced" {
            let store = LmdbStore::open(&path).unwrap();
            let before = dump(&*reading(&store)).len();
            put(&store, b"z", b"");
            assert_eq!(seen_by_another_process(CHILD, &path), before + 1);
        }
    }
}

#[test]
fn nothing_is_written_to_a_file_that_was_replaced() {
    for (what, restore) in restores() {
        let (_parent, path, backup) = with_backup();
        let store = LmdbStore::open(&path).unwrap();
        let begun = reading(&store);
        restore(&path, &backup);
        for _ in 0..2 {
            let text = message(store.begin(&TxOptions::writing()), &path);
            assert!(text.contains(what) && text.contains("close every store"), "{text}");
            message(store.verify(), &path);
            message(store.copy_to(path.with_extension("copy")), &path);
        }
        assert_eq!(dump(&*begun).len(), 3);
    }
}

#[test]
fn a_commit_to_a_file_that_was_replaced_meanwhile_is_not_acknowledged() {
    for (what, restore) in restores() {
        let (_parent, path, backup) = with_backup();
        let store = LmdbStore::open(&path).unwrap();
        let mut tx = writing(&store);
        tx.put(b"z", b"").unwrap();
        restore(&path, &backup);
        let error = tx.commit().unwrap_err();
        assert!(matches!(error, KvError::Open { .. }), "{error:?}");
        assert!(message(Err::<(), _>(error), &path).contains(what));
        // The commit did not reach the earlier file either.
        assert_eq!(dump(&*reading(&store)).len(), 3);
    }
}

#[test]
fn a_closure_on_a_file_that_was_replaced_is_not_acknowledged() {
    for (what, restore) in restores() {
        for early in [true, false] {
            let (_parent, path, backup) = with_backup();
            let store = LmdbStore::open(&path).unwrap();
            if early {
                restore(&path, &backup);
            }
            let written = store.write(|tx| {
                if !early {
                    restore(&path, &backup);
                }
                tx.put(b"z", b"")
            });
            let error = written.unwrap_err();
            assert!(matches!(error, KvError::Open { .. }), "{error:?}");
            assert!(message(Err::<(), _>(error), &path).contains(what));
            assert_eq!(dump(&*reading(&store)).len(), 3);
        }
    }
}

/// The text of an error about a lock file, and the action that causes it.
type Loss = (&'static str, fn(&Path));

#[test]
fn a_lock_file_that_is_gone_blocks_no_process() {
    let losses: [Loss; 2] = [
        ("removed", |lock| fs::remove_file(lock).unwrap()),
        ("replaced", |lock| {
            fs::remove_file(lock).unwrap();
            assert_eq!(seen_by_another_process(CHILD, lock.parent().unwrap()), 3);
            fs::write(lock, b"").unwrap();
        }),
    ];
    for (what, change) in losses {
        let (_parent, path, _backup) = with_backup();
        let store = LmdbStore::open(&path).unwrap();
        let tx = writing(&store);
        change(&path.join("lock.mdb"));
        let text = message(LmdbStore::open(&path), &path);
        assert!(text.contains(&format!("lock.mdb was {what}")), "{text}");
        let text = message(tx.commit(), &path);
        assert!(text.contains(&format!("lock.mdb was {what}")), "{text}");
        let text = message(store.begin(&TxOptions::writing()), &path);
        assert!(text.contains(&format!("lock.mdb was {what}")), "{text}");
        drop(store);
        put(&LmdbStore::open(&path).unwrap(), b"z", b"");
        assert_eq!(seen_by_another_process(CHILD, &path), 4);
    }
}

#[test]
fn links_lead_to_the_environment_that_is_open() {
    let (parent, path, _backup) = with_backup();
    let store = LmdbStore::open(&path).unwrap();
    let link = parent.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    // Another name for each of the files, as a mount has.
    let twin = parent.path().join("twin");
    fs::create_dir(&twin).unwrap();
    for name in ["data.mdb", "lock.mdb"] {
        fs::hard_link(path.join(name), twin.join(name)).unwrap();
    }
    for other in [&link, &twin] {
        let joined = LmdbStore::open(other).unwrap();
        assert_eq!(joined.path(), store.path());
        put(&joined, other.to_str().unwrap().as_bytes(), b"");
        drop(joined);
    }
    assert_eq!(dump(&*reading(&store)).len(), 5);
    // The store still has its locks.
    let tx = writing(&store);
    assert_eq!(seen_by_another_process(CHILD, &path), 5);
    drop(tx);
}

#[test]
fn one_data_file_is_not_written_under_two_lock_files() {
    let (parent, path, _backup) = with_backup();
    let store = LmdbStore::open(&path).unwrap();
    let half = parent.path().join("half");
    fs::create_dir(&half).unwrap();
    fs::hard_link(path.join("data.mdb"), half.join("data.mdb")).unwrap();
    let text = message(LmdbStore::open(&half), &half);
    assert!(text.contains(path.to_str().unwrap()), "{text}");
    assert!(text.contains("another lock.mdb"), "{text}");
    put(&store, b"z", b"");
    assert!(!half.join("lock.mdb").exists());
}
