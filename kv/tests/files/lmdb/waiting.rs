//! Waiting for the right to write to an LMDB environment when a process that waited too was killed.
#![cfg(all(feature = "lmdb", target_os = "linux"))]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use permazen_kv::lmdb::LmdbStore;

use crate::support::{put, role, spawn, wait_for, writing};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    let store = LmdbStore::open(&path).unwrap();
    if role == "hold" {
        let tx = writing(&store);
        println!("ready");
        std::io::stdin().read_exact(&mut [0]).unwrap();
        drop(tx);
        let _ = std::io::stdin().read(&mut [0]);
    } else {
        put(&store, b"waited", b"");
        println!("committed");
    }
}

/// The thread of a process that holds the lock of LMDB.
fn writer_thread(process: u32) -> u32 {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let mut tasks = tasks.map(|task| task.unwrap());
    let is_writer =
        |task: &fs::DirEntry| fs::read(task.path().join("comm")).unwrap() == b"permazen-lmdb\n";
    tasks.find(is_writer).unwrap().file_name().to_str().unwrap().parse().unwrap()
}

/// The place in `lock.mdb` that says that `holder` has the lock and that a thread waits.
fn contended(lock: &Path, holder: u32) -> Option<u64> {
    const WAITERS: u32 = 1 << 31;
    let bytes = fs::read(lock).unwrap();
    let words = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap()));
    words.zip(0..).find(|(word, _)| *word == holder | WAITERS).map(|(_, number)| number * 4)
}

/// The state after a process was woken and then killed before it took the lock, which a third
/// process took in between. The third one does not know that others wait.
#[test]
fn a_waiting_thread_is_served_though_the_lock_has_forgotten_it() {
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("lock.mdb");
    drop(LmdbStore::open_or_create(directory.path()).unwrap());
    let (mut holder, mut out) = spawn(CHILD, "hold", directory.path());
    wait_for(&mut out, "ready");
    let (mut waiter, mut waiting) = spawn(CHILD, "wait", directory.path());
    let thread = writer_thread(holder.id());
    let at = loop {
        match contended(&lock, thread) {
            Some(at) => break at,
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    let file = fs::OpenOptions::new().write(true).open(&lock).unwrap();
    file.write_all_at(&thread.to_ne_bytes(), at).unwrap();
    holder.stdin.as_mut().unwrap().write_all(b"!").unwrap();
    wait_for(&mut waiting, "committed");
    assert!(waiter.wait().unwrap().success());
    holder.kill().unwrap();
    holder.wait().unwrap();
}
