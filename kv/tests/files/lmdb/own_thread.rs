//! Write transactions of LMDB that end on the thread that begins them.
#![cfg(all(feature = "lmdb", target_os = "linux"))]

use std::io::Read as _;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{fs, thread};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt as _, KvError, KvRead as _, KvWrite, TxOptions,
};
use tempfile::TempDir;

use crate::support::{dump, put, reading, role, spawn, wait_for};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

fn store() -> (TempDir, LmdbStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(directory.path()).unwrap();
    (directory, store)
}

fn here() -> TxOptions {
    TxOptions::writing().ending_here()
}

fn short_wait() -> TxOptions {
    here().with_wait(Duration::from_millis(10))
}

#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    let wait = || {
        let _ = std::io::stdin().read(&mut [0]);
    };
    match role.as_str() {
        "hold" => {
            let _store = LmdbStore::open(&path).unwrap();
            println!("ready");
            wait();
        }
        "closure" => {
            let store = LmdbStore::open(&path).unwrap();
            let written = store.write(|tx| {
                tx.put(b"child", b"uncommitted")?;
                let thread = fs::read_link("/proc/thread-self").unwrap();
                println!("thread {}", thread.file_name().unwrap().to_str().unwrap());
                wait();
                Ok(())
            });
            written.unwrap();
        }
        "moving" => {
            let store = LmdbStore::open(&path).unwrap();
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            tx.put(b"child", b"uncommitted").unwrap();
            println!("ready");
            wait();
        }
        "loop" => {
            let store = LmdbStore::open(&path).unwrap();
            for i in 0u32.. {
                store.write(|tx| tx.put(b"count", &i.to_be_bytes())).unwrap();
                if i == 0 {
                    println!("ready");
                }
            }
        }
        other => panic!("role {other}"),
    }
}

/// Whether the lock of LMDB belongs to `thread`. This process must not have the environment open.
fn has_lock(path: &Path, thread: &str) -> bool {
    const WAITERS: u32 = 1 << 31;
    let thread: u32 = thread.parse().unwrap();
    let bytes = fs::read(path.join("lock.mdb")).unwrap();
    // After the locks, the file has the threads of readers.
    let words = bytes[..256].chunks_exact(4);
    words
        .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
        .any(|word| word & !WAITERS == thread)
}

#[test]
fn a_closure_takes_the_lock_on_its_own_thread_if_its_process_is_alone() {
    let (directory, store) = store();
    drop(store);
    let path = directory.path();
    let (alone, mut out) = spawn(CHILD, "closure", path);
    let thread = wait_for(&mut out, "thread ");
    assert!(has_lock(path, &thread));
    kill(alone);
    let (other, mut ready) = spawn(CHILD, "hold", path);
    wait_for(&mut ready, "ready");
    let (beside, mut out) = spawn(CHILD, "closure", path);
    let thread = wait_for(&mut out, "thread ");
    assert!(!has_lock(path, &thread));
    kill(beside);
    kill(other);
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// No other process gets the right to write, which `other` has, until `other` is killed.
fn kill_the_holder_of_the_right_to_write(store: &LmdbStore, other: Child) {
    let error = store.begin(&short_wait()).err().unwrap();
    assert!(error.is_retryable() && error.to_string().contains("another process"), "{error}");
    kill(other);
}

#[test]
fn a_process_that_is_killed_within_a_closure_blocks_no_other_and_leaves_nothing() {
    let (directory, store) = store();
    drop(store);
    let (child, mut out) = spawn(CHILD, "closure", directory.path());
    wait_for(&mut out, "thread ");
    // The environment can be opened and read meanwhile.
    let store = LmdbStore::open(directory.path()).unwrap();
    assert!(dump(&*reading(&store)).is_empty());
    kill_the_holder_of_the_right_to_write(&store, child);
    store.write(|tx| tx.put(b"mine", b"")).unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 1);
}

#[test]
fn a_process_that_comes_later_is_waited_for_with_a_limit() {
    let (directory, store) = store();
    store.write(|tx| tx.put(b"alone", b"")).unwrap();
    let (child, mut out) = spawn(CHILD, "moving", directory.path());
    wait_for(&mut out, "ready");
    kill_the_holder_of_the_right_to_write(&store, child);
    store.write(|tx| tx.put(b"alone again", b"")).unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 2);
}

#[test]
fn an_environment_can_be_opened_while_another_process_writes_without_pause() {
    let (directory, store) = store();
    drop(store);
    let (child, mut out) = spawn(CHILD, "loop", directory.path());
    wait_for(&mut out, "ready");
    for _ in 0..50 {
        let store = LmdbStore::open(directory.path()).unwrap();
        assert_eq!(dump(&*reading(&store)).len(), 1);
    }
    kill(child);
}

#[test]
fn a_panic_within_a_closure_leaves_nothing() {
    let (_directory, store) = store();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        store.write(|tx| {
            tx.put(b"key", b"")?;
            panic!("on purpose");
            #[allow(unreachable_code)]
            Ok(())
        })
    }));
    assert!(panicked.is_err());
    store.write(|tx| tx.put(b"after", b"")).unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 1);
}

#[test]
fn a_second_transaction_within_a_closure_is_refused() {
    let (_directory, store) = store();
    for options in [short_wait(), TxOptions::writing().with_wait(Duration::from_millis(10))] {
        let nested = store.write(|_| store.begin(&options).map(drop));
        assert!(matches!(nested, Err(KvError::WithinWrite { .. })), "{nested:?}");
    }
    // Transactions of both kinds follow each other.
    for i in 0..20u8 {
        store.write(|tx| tx.put(&[i, 0], b"")).unwrap();
        put(&store, &[i, 1], b"");
        drop(store.begin(&here()).unwrap());
        drop(store.begin(&TxOptions::writing()).unwrap());
    }
    assert_eq!(dump(&*reading(&store)).len(), 40);
}

#[test]
fn other_threads_may_use_a_transaction_that_ends_here() {
    let (_directory, store) = store();
    let mut tx = store.begin(&here()).unwrap();
    thread::scope(|scope| scope.spawn(|| tx.put(b"key", b"value")).join().unwrap()).unwrap();
    tx.commit().unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 1);
}

#[test]
fn what_ends_on_another_thread_is_rolled_back_by_the_first_one() {
    let (_directory, store) = store();
    let mut tx = store.begin(&here()).unwrap();
    tx.put(b"key", b"").unwrap();
    thread::scope(|scope| {
        let commit = scope.spawn(|| tx.commit());
        let committed = commit.join().unwrap();
        assert!(matches!(committed, Err(KvError::IllegalState(_))), "{committed:?}");
        let refused = scope.spawn(|| store.begin(&short_wait()).err().unwrap());
        assert!(refused.join().unwrap().is_retryable());
    });
    // This thread can give the right to write back.
    store.write(|tx| tx.put(b"after", b"")).unwrap();
    assert_eq!(dump(&*reading(&store)), [(b"after".to_vec(), Vec::new())]);
}

#[test]
fn a_thread_that_ends_gives_back_the_right_to_write() {
    let (_directory, store) = store();
    let (give, given) = channel();
    let (tell, told) = channel::<()>();
    thread::scope(|scope| {
        let store = &store;
        let first = scope.spawn(move || {
            give.send(store.begin(&here()).unwrap()).unwrap();
            told.recv().unwrap();
        });
        drop(given.recv().unwrap());
        assert!(store.begin(&short_wait()).err().unwrap().is_retryable());
        tell.send(()).unwrap();
        first.join().unwrap();
        // A scoped thread may be joined shortly before its memory is given up.
        store.begin(&here()).unwrap().put(b"key", b"").unwrap();
    });
}

#[test]
fn an_iterator_is_of_no_use_after_the_thread_that_was_to_end_its_transaction() {
    let (_directory, store) = store();
    for key in [b"a", b"b", b"c"] {
        put(&store, key, b"");
    }
    let begin_elsewhere = || {
        let (elsewhere, (give, given), (tell, told)) = (store.clone(), channel(), channel());
        let thread = thread::spawn(move || {
            give.send(elsewhere.begin(&here()).unwrap()).unwrap();
            told.recv().unwrap();
        });
        let end = move || {
            tell.send(()).unwrap();
            thread.join().unwrap();
        };
        (given.recv().unwrap(), end)
    };
    for span in [KeySpan::FULL, KeySpan::new(b"a", Some(b"z"))] {
        for direction in [Direction::Forward, Direction::Reverse] {
            let (tx, end) = begin_elsewhere();
            let mut scan = tx.scan(span, direction).unwrap();
            assert!(scan.next().unwrap().is_ok());
            end();
            let failed = scan.next().unwrap();
            assert!(matches!(failed, Err(KvError::Stale(_))), "{failed:?}");
            assert!(scan.next().is_none());
            drop(scan);
            drop(tx);

            let (tx, end) = begin_elsewhere();
            let (mut end, mut seen) = (Some(end), 0);
            let failed = tx.visit(span, direction, &mut |_, _| {
                seen += 1;
                end.take().unwrap()();
                ControlFlow::Continue(())
            });
            assert!(matches!(failed, Err(KvError::Stale(_))), "{failed:?}");
            assert_eq!(seen, 1);
        }
    }
    store.write(|tx| tx.put(b"after", b"")).unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 4);
}

#[test]
fn a_transaction_is_of_no_use_after_the_thread_that_was_to_end_it() {
    let (_directory, store) = store();
    let elsewhere = store.clone();
    let first = thread::spawn(move || elsewhere.begin(&here()).unwrap());
    let mut tx = first.join().unwrap();
    let read = tx.get(b"key").map(drop);
    assert!(matches!(read, Err(KvError::Stale(_))), "{read:?}");
    let written = tx.put(b"key", b"");
    assert!(matches!(written, Err(KvError::Stale(_))), "{written:?}");
    drop(tx);
    store.write(|tx| tx.put(b"after", b"")).unwrap();
    assert_eq!(dump(&*reading(&store)), [(b"after".to_vec(), Vec::new())]);
}
