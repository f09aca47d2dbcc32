//! A store that is open when its process is forked: the child is refused in words, and does the parent no harm.
#![cfg(all(unix, feature = "lmdb", feature = "sqlite"))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{dump, open_or_create, put, reading, role, spawn};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::remote::{RemoteDatabase, SimulatedServer};
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, Result, TxOptions};

/// Runs `body` in a child that is forked here, and waits for it. Called in a process without other threads of
/// this test.
fn in_a_child(body: impl FnOnce()) {
    // SAFETY: The child runs `body`, which uses no lock that another thread can hold, and ends.
    #[allow(unsafe_code)]
    let child = unsafe { libc::fork() };
    if child == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
        // SAFETY: It ends this process, without what the parent has registered for its end.
        #[allow(unsafe_code)]
        unsafe {
            libc::_exit(i32::from(!done))
        }
    }
    let start = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: It waits for a child of this process, and writes to a number.
        #[allow(unsafe_code)]
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            assert_eq!(status, 0, "the child has failed");
            return;
        }
        if start.elapsed() > Duration::from_secs(20) {
            // SAFETY: It is a child of this process.
            #[allow(unsafe_code)]
            unsafe {
                libc::kill(child, libc::SIGKILL);
            }
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_refused<T>(result: Result<T>, path: &Path) {
    let Err(error) = result else { panic!("it is not refused") };
    assert!(matches!(error, KvError::Forked { .. }), "{error:?}");
    assert!(!error.is_retryable());
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()) && text.contains("was forked"), "{text}");
}

/// How a child opens the store anew.
fn open_anew(kind: &str, path: &Path) -> Result<Box<dyn KvDatabase>> {
    Ok(match kind {
        "lmdb" => Box::new(LmdbStore::open(path)?),
        _ => Box::new(SqliteStore::open(path)?),
    })
}

/// Each test runs in a process of its own, because a child has the memory of all threads.
fn alone(role: &str) {
    for kind in ["lmdb", "sqlite"] {
        let dir = tempfile::tempdir().unwrap();
        let (mut child, out) = spawn(&format!("{role} {kind}"), &dir.path().join("store"));
        let ended = child.wait().unwrap();
        let said = std::io::read_to_string(out).unwrap();
        assert!(ended.success(), "{kind}: {said}");
    }
}

#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    let (role, kind) = role.split_once(' ').unwrap();
    match role {
        "idle" => an_idle_store(kind, &path),
        "busy" => open_transactions(kind, &path),
        "optimistic" => an_optimistic_database(kind, &path),
        other => panic!("role {other}"),
    }
}

#[test]
fn a_child_is_refused_and_can_open_the_store_anew() {
    alone("idle");
}

#[test]
fn a_child_does_not_use_the_connections_of_its_parent() {
    let store = RemoteDatabase::new(SimulatedServer::new());
    put(&store, b"key", b"value");
    in_a_child(|| {
        for options in [TxOptions::reading(), TxOptions::writing()] {
            let begun = store.begin(&options).map(drop);
            assert!(matches!(begun, Err(KvError::Forked { .. })), "{begun:?}");
        }
    });
    assert_eq!(dump(&*reading(&store)).len(), 1);
}

#[test]
fn what_is_open_when_a_process_is_forked_stays_that_of_the_parent() {
    alone("busy");
}

#[test]
fn a_child_does_not_wait_for_transactions_above_a_store_that_are_those_of_the_parent() {
    alone("optimistic");
}

fn an_optimistic_database(kind: &str, path: &Path) {
    match kind {
        "lmdb" => a_turn_is_taken(LmdbStore::open_or_create(path).unwrap(), path),
        _ => a_turn_is_taken(SqliteStore::open_or_create(path).unwrap(), path),
    }
}

fn a_turn_is_taken(store: impl KvDatabase, path: &Path) {
    let path = &path.canonicalize().unwrap();
    let db = OptimisticDatabase::new(store);
    put(&db, b"key", b"value");
    let other = || {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"theirs", b"").unwrap();
        tx
    };
    let mut open = Some(other());
    // After so many failures it has its turn, and others wait with their commits.
    let turn = TxOptions::writing().after_failures(6);
    let mut holder = db.begin(&turn).unwrap();
    holder.put(b"mine", b"").unwrap();
    in_a_child(|| {
        is_refused(db.begin(&turn).map(drop), path);
        is_refused(db.begin(&TxOptions::writing()).map(drop), path);
        is_refused(open.take().unwrap().commit(), path);
    });
    holder.commit().unwrap();
    drop(open);
    assert_eq!(dump(&*reading(&db)).len(), 2);
}

fn an_idle_store(kind: &str, path: &Path) {
    let store = open_or_create(kind, path);
    put(&*store, b"key", b"value");
    let path = &path.canonicalize().unwrap();
    let mut mine = Some(store);
    in_a_child(|| {
        let store = mine.take().unwrap();
        is_refused(store.begin(&TxOptions::reading()).map(drop), path);
        is_refused(store.begin(&TxOptions::writing()).map(drop), path);
        is_refused(store.write(|tx| tx.put(b"theirs", b"")), path);
        is_refused(store.read(|tx| tx.get(b"key").map(drop)), path);
        is_refused(store.statistics().map(drop), path);
        is_refused(store.verify().map(drop), path);
        // Both would use the same files.
        is_refused(open_anew(kind, path).map(drop), path);
        drop(store);
        let anew = open_anew(kind, path).unwrap();
        assert_eq!(dump(&*reading(&*anew)).len(), 1);
        put(&*anew, b"theirs", b"");
        anew.write(|tx| tx.put(b"more", b"")).unwrap();
        // A child of the child.
        let mut mine = Some(anew);
        in_a_child(|| {
            is_refused(mine.take().unwrap().begin(&TxOptions::reading()).map(drop), path);
        });
        assert_eq!(dump(&*reading(&**mine.as_ref().unwrap())).len(), 3);
    });
    let store = mine.unwrap();
    assert_eq!(dump(&*reading(&*store)).len(), 3);
    store.write(|tx| tx.put(b"last", b"")).unwrap();
    assert_eq!(store.verify().unwrap(), [""; 0]);
    drop(store);
    assert_eq!(dump(&*reading(&*open_anew(kind, path).unwrap())).len(), 4);
}

fn open_transactions(kind: &str, path: &Path) {
    let mut mine = Some(open_or_create(kind, path));
    put(&**mine.as_ref().unwrap(), b"key", b"value");
    let path = &path.canonicalize().unwrap();
    for (seen, options) in [(1, TxOptions::writing()), (3, TxOptions::writing().ending_here())] {
        let begin = |options| mine.as_ref().unwrap().begin_owned(options).unwrap().unwrap();
        let mut writer = Some(begin(&options));
        writer.as_mut().unwrap().put(b"mine", b"").unwrap();
        let mut reader = Some(begin(&TxOptions::reading()));
        let mut snapshot = Some(reader.as_ref().unwrap().snapshot().unwrap());
        for commits in [true, false] {
            in_a_child(|| {
                // The right to write is that of the parent, so there is nothing to wait for.
                let store = mine.as_ref().unwrap();
                is_refused(store.begin(&TxOptions::writing()).map(drop), path);
                is_refused(store.write(|tx| tx.put(b"theirs", b"")), path);
                let mut writer = writer.take().unwrap();
                is_refused(writer.get(b"key").map(drop), path);
                is_refused(writer.put(b"theirs", b""), path);
                match commits {
                    true => is_refused(writer.commit(), path),
                    false => drop(writer),
                }
                is_refused(reader.as_ref().unwrap().get(b"key").map(drop), path);
                is_refused(snapshot.as_ref().unwrap().get(b"key").map(drop), path);
                drop((snapshot.take(), reader.take()));
                let store = mine.take().unwrap();
                is_refused(store.begin(&TxOptions::reading()).map(drop), path);
                drop(store);
                // What another thread of the parent had in use cannot be given up here.
                if kind == "lmdb" && options.ends_here {
                    assert_eq!(dump(&*reading(&*open_anew(kind, path).unwrap())).len(), seen);
                } else {
                    is_refused(open_anew(kind, path).map(drop), path);
                }
            });
        }
        let store = mine.as_ref().unwrap();
        // What is read stays as it is although others commit, and nobody else writes meanwhile.
        let mut writer = writer.unwrap();
        writer.put(b"also mine", &[7; 10_000]).unwrap();
        writer.commit().unwrap();
        for round in 0..20u8 {
            put(&**store, b"round", &[round; 5_000]);
        }
        assert_eq!([dump(&*snapshot.unwrap()).len(), dump(&*reader.unwrap()).len()], [seen; 2]);
        store.write(|tx| tx.remove(b"round")).unwrap();
        assert_eq!(dump(&*reading(&**store)).len(), 3);
        assert_eq!(store.verify().unwrap(), [""; 0]);
    }
}
