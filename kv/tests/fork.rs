//! A store that is open when its process is forked: the child gets an error that says so, and does
//! the parent no harm.
#![cfg(all(unix, feature = "lmdb", feature = "sqlite"))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::remote::{RemoteDatabase, SimulatedServer};
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{
    AtomicKvStore, KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, Result, SharedRead,
    TxOptions, Writes,
};

use support::in_a_child::holds_in_a_child;
use support::{dump, open_or_create, put, reading, role, spawn};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

/// Runs `body` in a child that is forked here, and waits for it. Called in a process without other
/// threads of this test.
fn in_a_child(body: impl FnOnce()) {
    let ends = || {
        body();
        true
    };
    assert!(holds_in_a_child(20, ends), "the child has failed, or it hangs");
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
        let (mut child, out) = spawn(CHILD, &format!("{role} {kind}"), &dir.path().join("store"));
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
    // A transaction that is open at the fork has a connection too.
    let mut reader = store.begin(&TxOptions::reading()).unwrap();
    assert_eq!(reader.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    let mut writer = Some(store.begin(&TxOptions::writing()).unwrap());
    writer.as_mut().unwrap().put(b"mine", b"").unwrap();
    let snapshot = reader.snapshot().unwrap();
    in_a_child(|| {
        names_it(reader.get(b"other").map(drop), "a store on a server");
        names_it(reader.watch(b"key").map(drop), "a store on a server");
        names_it(snapshot.get(b"other").map(drop), "a store on a server");
        names_it(store.statistics().map(drop), "a store on a server");
        let mut writer = writer.take().unwrap();
        names_it(writer.put(b"theirs", b""), "a store on a server");
        names_it(writer.commit(), "a store on a server");
    });
    writer.unwrap().commit().unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 2);
}

fn names_it<T>(result: Result<T>, name: &str) {
    is_refused(result, Path::new(name));
}

/// The right to write is that of the parent, and is never given back in the child. The rest is a
/// copy.
#[test]
fn a_child_does_not_wait_for_a_transaction_in_memory_that_is_that_of_its_parent() {
    let store = MemoryStore::new();
    put(&store, b"key", b"value");
    for options in [TxOptions::writing(), TxOptions::writing().ending_here()] {
        let mut holder = Some(store.begin(&options).unwrap());
        in_a_child(|| {
            names_it(store.begin(&TxOptions::writing()).map(drop), "a store in memory");
            names_it(store.write(|tx| tx.put(b"theirs", b"")), "a store in memory");
            assert_eq!(dump(&*reading(&store)).len(), 1);
            drop(holder.take());
            let mine = store.begin(&TxOptions::writing()).unwrap();
            // It waits for one of its own.
            let soon = TxOptions::writing().with_wait(Duration::ZERO);
            assert!(matches!(store.begin(&soon).map(drop), Err(KvError::Retry(_))));
            drop(mine);
            put(&store, b"theirs", b"");
            assert_eq!(dump(&*reading(&store)).len(), 2);
        });
        drop(holder);
    }
    assert_eq!(dump(&*reading(&store)).len(), 1);
}

#[test]
fn a_child_does_not_wait_for_turns_of_its_parent() {
    let db = OptimisticDatabase::new(MemoryStore::new());
    let other = || {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"theirs", b"").unwrap();
        tx
    };
    let mut open = Some(other());
    let mut turn = Some(db.begin(&TxOptions::writing().after_failures(5)).unwrap());
    // The thread that forks has no turn.
    std::thread::scope(|scope| {
        let turn = turn.as_mut().unwrap();
        scope.spawn(|| turn.put(b"mine", b"").unwrap()).join().unwrap();
    });
    in_a_child(|| {
        names_it(open.take().unwrap().commit(), "an optimistic database");
        names_it(other().commit(), "an optimistic database");
        drop(turn.take());
        other().commit().unwrap();
        assert_eq!(dump(&*reading(&db)).len(), 1);
    });
    turn.unwrap().commit().unwrap();
    assert_eq!(dump(&*reading(&db)).len(), 1);
}

/// A store whose changes wait until a test lets them continue.
struct Slow {
    store: MemoryStore,
    begun: Sender<()>,
    goes_on: Mutex<Receiver<()>>,
}

impl AtomicKvStore for Slow {
    fn snapshot(&self) -> Result<SharedRead> {
        Ok(Arc::new(self.store.snapshot()))
    }

    fn apply(&self, writes: &Writes, _: bool) -> Result<()> {
        if writes.puts.contains_key(&b"slow"[..]) {
            self.begun.send(()).unwrap();
            self.goes_on.lock().unwrap().recv().unwrap();
        }
        self.store.write(|tx| tx.apply(writes))
    }
}

#[test]
fn a_child_does_not_wait_for_a_commit_of_its_parent() {
    let ((begun, is_begun), (go_on, goes_on)) = (channel(), channel());
    let store = Slow { store: MemoryStore::new(), begun, goes_on: Mutex::new(goes_on) };
    let db = OptimisticDatabase::new(store);
    std::thread::scope(|scope| {
        // If this thread fails, the other one does too.
        let go_on = go_on;
        let commit = scope.spawn(|| put(&db, b"slow", b""));
        is_begun.recv().unwrap();
        in_a_child(|| {
            let theirs = db.write(|tx| tx.put(b"theirs", b""));
            names_it(theirs, "an optimistic database");
            names_it(
                db.begin(&TxOptions::writing().after_failures(5)).map(drop),
                "an optimistic database",
            );
            db.stop();
        });
        go_on.send(()).unwrap();
        commit.join().unwrap();
    });
    // Nothing runs, so a child commits to its copy.
    in_a_child(|| {
        (0..3).for_each(|n| put(&db, &[n], b""));
        assert_eq!(dump(&*reading(&db)).len(), 4);
    });
    assert_eq!(dump(&*reading(&db)).len(), 1);
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

fn a_turn_is_taken(store: impl KvDatabase + 'static, path: &Path) {
    let path = &path.canonicalize().unwrap();
    let db = OptimisticDatabase::new(store);
    put(&db, b"key", b"value");
    let other = || {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"theirs", b"").unwrap();
        tx
    };
    let mut open = Some(other());
    // After this many failures it has its turn, and the commits of others wait.
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
        let begin = |options| mine.as_ref().unwrap().begin(options).unwrap();
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
                // A transaction that another thread of the parent had in use cannot be given up
                // here.
                if kind == "lmdb" && options.ends_here {
                    assert_eq!(dump(&*reading(&*open_anew(kind, path).unwrap())).len(), seen);
                } else {
                    is_refused(open_anew(kind, path).map(drop), path);
                }
            });
        }
        let store = mine.as_ref().unwrap();
        // The state that is read stays as it is although others commit, and no other transaction
        // writes meanwhile.
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
