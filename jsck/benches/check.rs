//! A whole check of a healthy database beside a plain scan of the same store, in one run.
//!
//! `cargo bench -p permazen-jsck` prints both and their ratio, with all threads and with one,
//! medians of interleaved rounds. `PERMAZEN_BENCH_OBJECTS` sets the number of objects (100000).
#![allow(missing_docs, clippy::panic, clippy::unwrap_used, clippy::print_stdout)]

mod people;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions};
use permazen_jsck::{Options, check, check_database};

const ROUNDS: usize = 7;

fn main() {
    let objects = std::env::var("PERMAZEN_BENCH_OBJECTS").ok().and_then(|n| n.parse().ok());
    let objects: u32 = objects.unwrap_or(100_000);
    let dir = tempfile::tempdir().unwrap();
    let store = people::fill(dir.path(), objects);
    let kv = store.begin(&TxOptions::reading()).unwrap();
    let pairs = scan(&*kv);

    let (mut scans, mut checks, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    let options = Options::default();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        assert_eq!(scan(&*kv), pairs);
        scans.push(start.elapsed());
        let start = Instant::now();
        let report = check_database(&store, &options, &mut |f| panic!("{f}"), &mut |_| {}).unwrap();
        checks.push(start.elapsed());
        assert!(report.is_clean());
        let start = Instant::now();
        let report = check(&*kv, &options, &mut |f| panic!("{f}")).unwrap();
        alone.push(start.elapsed());
        assert!(report.is_clean());
    }
    let (scan, check, alone) = (median(scans), median(checks), median(alone));
    let rate = |time: Duration| f64::from(u32::try_from(pairs).unwrap()) / time.as_secs_f64();
    println!("{objects} objects, {pairs} pairs, LMDB, medians of {ROUNDS} rounds");
    println!("plain scan   {:>9.1} ms   {:>12.0} pairs/s", millis(scan), rate(scan));
    println!("check        {:>9.1} ms   {:>12.0} pairs/s", millis(check), rate(check));
    println!("one thread   {:>9.1} ms   {:>12.0} pairs/s", millis(alone), rate(alone));
    let ratio = |time: Duration| time.as_secs_f64() / scan.as_secs_f64();
    println!("ratio        {:>9.2}      one thread {:.2}", ratio(check), ratio(alone));
}

/// The fastest way to read all of a store in one thread.
fn scan(kv: &dyn KvRead) -> u64 {
    let mut pairs = 0;
    kv.visit(KeySpan::FULL, Direction::Forward, &mut |key, value| {
        black_box((key, value));
        pairs += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    pairs
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
