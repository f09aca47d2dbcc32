//! How much memory `jsck` takes for a large database, healthy, with an index removed, and to repair
//! it.
//!
//! `cargo bench -p permazen-jsck --bench memory` makes an LMDB environment of a million objects
//! (ten million pairs; `PERMAZEN_BENCH_OBJECTS` sets the number of objects) in a temporary
//! directory, runs the program on it and prints the peaks of what Linux says about the process.
//! `RssAnon` is the memory it takes for itself; `VmHWM` also counts pages of the file mapped into
//! it, which the system takes back whenever it needs memory.
#![allow(missing_docs, clippy::panic, clippy::unwrap_used, clippy::print_stdout)]

mod people;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use permazen::kv::{KeySpan, KvDatabase, KvWrite, TxOptions};

fn main() {
    let objects = std::env::var("PERMAZEN_BENCH_OBJECTS").ok().and_then(|n| n.parse().ok());
    let objects: u32 = objects.unwrap_or(1_000_000);
    let dir = tempfile::tempdir().unwrap();
    let store = people::fill(dir.path(), objects);
    let entries = store.statistics().unwrap().entries.unwrap();
    println!("{objects} objects, {entries} pairs, LMDB");
    measure("healthy", dir.path(), &[], 0);
    let mut kv = store.begin(&TxOptions::writing()).unwrap();
    kv.remove_span(KeySpan::new(&[0, 0x80], Some(&[0, 0x81]))).unwrap();
    kv.commit().unwrap();
    measure("object schema index removed", dir.path(), &[], 1);
    let undo = tempfile::tempdir().unwrap();
    let undo = format!("--undo-file={}", undo.path().join("undo").display());
    measure("the same, repaired", dir.path(), &["--repair", "--yes", &undo], 1);
    measure("healthy again", dir.path(), &[], 0);
}

fn measure(what: &str, path: &Path, options: &[&str], code: i32) {
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_jsck"));
    command.args(["--json", "--no-store-check"]).args(options).arg(path).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (mut own, mut all) = (0, 0);
    let ended = loop {
        if let Ok(text) = std::fs::read_to_string(&status) {
            own = own.max(kilobytes(&text, "RssAnon:"));
            all = all.max(kilobytes(&text, "VmHWM:"));
        }
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert_eq!(ended.code(), Some(code));
    let mb = |kilobytes: u64| kilobytes as f64 / 1024.0;
    println!(
        "{what:<28} RssAnon {:>6.1} MB   VmHWM {:>7.1} MB   {:.2} s",
        mb(own),
        mb(all),
        start.elapsed().as_secs_f64()
    );
}

fn kilobytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
