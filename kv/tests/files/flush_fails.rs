//! Commits whose flush fails, alone and in groups: each transaction of the commit gets an error.
//! Either its writes are not there, or the error says that the outcome is unknown.
//!
//! A small C library is compiled here. It stands between the program and the C library, and makes
//! flushes fail.
#![cfg(all(target_os = "linux", feature = "lmdb"))]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use permazen_kv::{KvDatabase, KvDatabaseExt as _, KvError, KvRead, Result};

use crate::support::{RUNS, open_or_create, play, reading, role};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

const WRITERS: u8 = 6;
const WRITES: u64 = 60;

/// Compiles the library. `None` if there is no compiler.
fn library(directory: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/fail.c");
    let library = directory.join("fail.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl");
    let Ok(status) = compiler.stderr(Stdio::inherit()).status() else {
        println!("skipped: there is no C compiler");
        return None;
    };
    assert!(status.success(), "the library does not compile");
    Some(library)
}

fn number(kv: &dyn KvRead, writer: u8, part: u8) -> Result<u64> {
    let value = kv.get(&[writer, part])?;
    Ok(value.map_or(0, |value| u64::from_be_bytes(value[..].try_into().unwrap())))
}

/// Counts up by one in two places. Returns the new number.
fn count(store: &dyn KvDatabase, writer: u8) -> Result<u64> {
    store.write(|tx| {
        let next = number(tx, writer, 0)? + 1;
        for part in [0, 1] {
            tx.put(&[writer, part], &next.to_be_bytes())?;
        }
        Ok(next)
    })
}

/// The process whose flushes fail.
#[test]
fn child() {
    let Some((kind, path)) = role() else { return };
    let store = open_or_create(&kind, &path);
    let failing = PathBuf::from(std::env::var_os("FAIL_WHILE").unwrap());
    File::create(&failing).unwrap();
    let failed = AtomicU64::new(0);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, failed) = (&store, &failed);
            scope.spawn(move || {
                let (mut last, mut perhaps) = (0, 0);
                for _ in 0..WRITES {
                    match count(&**store, writer) {
                        Ok(number) => {
                            assert_eq!(number, last + 1);
                            (last, perhaps) = (number, number);
                        }
                        Err(error) => {
                            failed.fetch_add(1, Ordering::Relaxed);
                            let unknown = matches!(error, KvError::OutcomeUnknown(_));
                            let known = matches!(error, KvError::Full { .. });
                            assert!(unknown || known, "{error}");
                            let there = number(&*reading(&**store), writer, 0).unwrap();
                            assert!(there == last || unknown && there == last + 1, "{error}");
                            (last, perhaps) = (there, last + u64::from(unknown));
                        }
                    }
                }
                println!("writer {writer} {last}, {perhaps}.");
            });
        }
    });
    println!("failed {}.", failed.into_inner());
}

/// Returns how many writes failed, and how many flushes.
fn flushes_fail(kind: &str) -> (u64, u64) {
    let directory = tempfile::tempdir().unwrap();
    let Some(library) = library(directory.path()) else { return (2, 1) };
    let [store, failing] = ["store", "failing"].map(|name| directory.path().join(name));
    let mut command = Command::new(std::env::current_exe().unwrap());
    play(&mut command, CHILD, kind, &store);
    let ran = command.env("FAIL_WHILE", &failing).env("LD_PRELOAD", &library).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains(RUNS), "{text}");
    assert!(ran.status.success(), "{text}{}", String::from_utf8_lossy(&ran.stderr));
    let told = |what: &str| -> Vec<u64> {
        let rest = text.split(what).nth(1).unwrap_or_else(|| panic!("no {what:?}: {text}"));
        let numbers = rest.split('.').next().unwrap().split(", ");
        numbers.map(|number| number.parse().unwrap()).collect()
    };
    let store = open_or_create(kind, &store);
    let tx = reading(&*store);
    for writer in 0..WRITERS {
        let parts = [0, 1].map(|part| number(&*tx, writer, part).unwrap());
        assert_eq!(parts[0], parts[1]);
        assert!(told(&format!("writer {writer} ")).contains(&parts[0]), "{parts:?}: {text}");
    }
    let flushes = fs::read(&failing).unwrap().len() as u64;
    assert!(flushes > 0);
    (told("failed ")[0], flushes)
}

/// LMDB cannot tell a flush that failed from a full disk. So the transactions of a group run again
/// alone, and some flushes succeed.
#[test]
fn lmdb_stays_as_it_was() {
    let (failed, _) = flushes_fail("lmdb");
    assert!(failed > 0);
}

/// All of a group get the error.
#[test]
#[cfg(feature = "sqlite")]
fn sqlite_does_not_know() {
    let (failed, flushes) = flushes_fail("sqlite");
    assert!(failed > flushes, "no two transactions shared a flush that failed");
}
