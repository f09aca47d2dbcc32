//! Processes that create the same database at the same time.

use std::io::{Read as _, Write as _};

#[cfg(any(feature = "lmdb", feature = "sqlite"))]
use permazen_kv::KvError;

use crate::support::{dump, open_or_create, put, reading, role, spawn, wait_for};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

const PROCESSES: usize = 6;
const ROUNDS: usize = 8;

#[test]
fn child() {
    let Some((store, path)) = role() else { return };
    let wait = || std::io::stdin().read_exact(&mut [0]).unwrap();
    #[cfg(feature = "lmdb")]
    if store == "hold an empty environment" {
        std::fs::create_dir(&path).unwrap();
        #[allow(unsafe_code)]
        let env = unsafe { heed::EnvOpenOptions::new().open(&path) }.unwrap();
        let tx = env.write_txn().unwrap();
        println!("ready");
        wait();
        tx.abort();
        println!("let go");
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    println!("ready");
    wait();
    let store = open_or_create(&store, &path);
    put(&*store, &std::process::id().to_be_bytes(), b"");
}

fn create_at_once(store: &str) {
    for round in 0..ROUNDS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let mut processes = [(); PROCESSES].map(|()| spawn(CHILD, store, &path));
        for (_, out) in &mut processes {
            wait_for(out, "ready");
        }
        for (process, _) in &mut processes {
            process.stdin.as_mut().unwrap().write_all(b"!").unwrap();
        }
        for (mut process, _) in processes {
            assert!(process.wait().unwrap().success(), "{store}, round {round}");
        }
        assert_eq!(dump(&*reading(&*open_or_create(store, &path))).len(), PROCESSES);
    }
}

#[test]
#[cfg(feature = "lmdb")]
fn processes_that_create_an_lmdb_environment_at_once_share_it() {
    create_at_once("lmdb");
}

#[test]
#[cfg(feature = "sqlite")]
fn processes_that_create_an_sqlite_database_at_once_share_it() {
    create_at_once("sqlite");
}

#[test]
#[cfg(feature = "lmdb")]
fn a_process_that_keeps_an_lmdb_environment_from_being_created_is_waited_for_with_a_limit() {
    use permazen_kv::lmdb::LmdbStore;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let (mut process, mut out) = spawn(CHILD, "hold an empty environment", &path);
    wait_for(&mut out, "ready");
    let builder = LmdbStore::builder().create(true);
    let error = builder.clone().wait(std::time::Duration::from_millis(120)).open(&path);
    let error = error.err().unwrap();
    assert!(matches!(error, KvError::Retry(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()) && text.contains("\"permazen\""), "{text}");
    process.stdin.as_mut().unwrap().write_all(b"!").unwrap();
    wait_for(&mut out, "let go");
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
#[cfg(feature = "sqlite")]
fn a_process_that_keeps_an_sqlite_database_from_being_created_is_waited_for_with_a_limit() {
    use permazen_kv::sqlite::SqliteStore;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let builder = SqliteStore::builder().create(true);
    let error = builder.clone().wait(std::time::Duration::from_millis(120)).open(&path);
    let error = error.err().unwrap();
    assert!(matches!(error, KvError::Retry(_)), "{error:?}");
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| builder.open(&path));
        other.execute_batch("COMMIT").unwrap();
        put(&opening.join().unwrap().unwrap(), b"key", b"value");
    });
}

#[test]
#[cfg(feature = "sqlite")]
fn names_that_sqlite_takes_for_something_else_than_a_file_are_refused() {
    use permazen_kv::sqlite::SqliteStore;

    for name in ["", ":memory:", "file:a?mode=memory&cache=shared", "file:a?vfs=memdb", "file:a"] {
        for opened in [SqliteStore::open_or_create(name), SqliteStore::open(name)] {
            let error = opened.err().unwrap();
            assert!(matches!(error, KvError::Open { .. }), "{name:?}: {error:?}");
            assert!(error.to_string().contains("MemoryStore"), "{name:?}: {error}");
        }
    }
    // With a directory in front, these names are names of files.
    let directory = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:a", "file:a?mode=memory"] {
        let path = directory.path().join(name);
        put(&SqliteStore::open_or_create(&path).unwrap(), b"key", b"value");
        assert!(path.is_file());
        assert_eq!(dump(&*reading(&SqliteStore::open(&path).unwrap())).len(), 1);
    }
}
