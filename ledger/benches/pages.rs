//! A page on LMDB beside the same pairs in bare LMDB, in one run.
//!
//! `cargo bench -p permazen-ledger --bench pages` prints a table of medians.
//! `PERMAZEN_BENCH_PAIRS` sets the number of pairs (1000000). With `PERMAZEN_BENCH_DROP_CACHES`, root on
//! Linux sees what a collection reads from a disk of which nothing is in memory.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{LastOneWins, MAIN, Page, PageId, Repository, Retention};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

type Pair = (Vec<u8>, Vec<u8>);

const ALL: KeySpan<'static> = KeySpan { min: b"", max: None };

/// Pairs as those of an object database: keys of 10 to 30 bytes in a few groups, short values.
fn pairs(count: usize) -> Vec<Pair> {
    let mut random = StdRng::seed_from_u64(1);
    let mut pairs: Vec<Pair> = (0..count)
        .map(|_| {
            let mut key = vec![random.random_range(10..14)];
            key.extend_from_slice(&random.random::<u64>().to_be_bytes());
            key.resize(key.len() + random.random_range(1..20), 7);
            (key, vec![random.random(); random.random_range(0..24)])
        })
        .collect();
    pairs.sort();
    pairs.dedup_by(|a, b| a.0 == b.0);
    pairs
}

fn open(path: &std::path::Path) -> LmdbStore {
    LmdbStore::builder().create(true).map_size(16 << 30).open(path).unwrap()
}

fn commit(db: &dyn KvDatabase, changes: &[Pair]) -> Duration {
    let begin = Instant::now();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    for (key, value) in changes {
        tx.put(key, value).unwrap();
    }
    tx.commit().unwrap();
    begin.elapsed()
}

fn reads(db: &dyn KvDatabase, keys: &[&Pair]) -> Duration {
    let tx = db.begin(&TxOptions::reading()).unwrap();
    let begin = Instant::now();
    for (key, _) in keys {
        assert!(tx.get(key).unwrap().is_some());
    }
    begin.elapsed()
}

fn scan(db: &dyn KvDatabase) -> Duration {
    let tx = db.begin(&TxOptions::reading()).unwrap();
    let begin = Instant::now();
    let mut count = 0_u64;
    tx.visit(ALL, Direction::Forward, &mut |_, _| {
        count += 1;
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert!(count > 0);
    begin.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn row(what: &str, page: Vec<Duration>, bare: Vec<Duration>) {
    let (page, bare) = (median(page), median(bare));
    println!("| {what} | {page:.1} | {bare:.1} | {:.2} |", page / bare);
}

fn main() {
    let count = std::env::var("PERMAZEN_BENCH_PAIRS").ok().and_then(|count| count.parse().ok());
    let pairs = pairs(count.unwrap_or(1_000_000));
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let repository = Repository::builder(open(dirs[0].path())).alone().create().unwrap();
    let page = repository.create_page("bench", PageId::ROOT).unwrap();
    let (ours, bare) = (page.database(MAIN).unwrap(), open(dirs[1].path()));
    println!("{} pairs; microseconds, medians\n", pairs.len());
    println!("| what | page | bare LMDB | ratio |\n|---|---|---|---|");
    row("bulk load", vec![commit(&ours, &pairs)], vec![commit(&bare, &pairs)]);
    let size = |at: usize| std::fs::metadata(dirs[at].path().join("data.mdb")).unwrap().len();
    println!(
        "| bytes of the file | {} | {} | {:.2} |",
        size(0),
        size(1),
        size(0) as f64 / size(1) as f64
    );

    let mut random = StdRng::seed_from_u64(2);
    let mut changes = |count: usize, near: bool| -> Vec<Pair> {
        let start = random.random_range(0..pairs.len() - count);
        let mut some: Vec<Pair> = match near {
            true => pairs[start..start + count].to_vec(),
            false => pairs.sample(&mut random, count).cloned().collect(),
        };
        some.iter_mut().for_each(|(_, value)| *value = vec![random.random(); 12]);
        some
    };
    for (count, near, rounds) in
        [(1, false, 51), (10, false, 31), (1_000, false, 11), (10_000, false, 5), (1_000, true, 11)]
    {
        let (mut page_times, mut bare_times) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let changes = changes(count, near);
            // Both sides take turns in being first.
            if round % 2 == 0 {
                page_times.push(commit(&ours, &changes));
                bare_times.push(commit(&bare, &changes));
            } else {
                bare_times.push(commit(&bare, &changes));
                page_times.push(commit(&ours, &changes));
            }
        }
        let how = if near { "side by side" } else { "at random" };
        row(&format!("commit of {count} changes {how}"), page_times, bare_times);
    }

    let mut other = StdRng::seed_from_u64(3);
    let keys: Vec<&Pair> = pairs.sample(&mut other, 20_000).collect();
    let (mut page_times, mut bare_times) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        page_times.push(reads(&ours, &keys));
        bare_times.push(reads(&bare, &keys));
    }
    row("20,000 point reads, warm", page_times, bare_times);
    let (mut page_times, mut bare_times) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        page_times.push(scan(&ours));
        bare_times.push(scan(&bare));
    }
    row("scan of all, warm", page_times, bare_times);

    let head = page.head(MAIN).unwrap();
    let old = page.log(head).unwrap().nth(30).unwrap().unwrap().0;
    let time = |run: &mut dyn FnMut()| {
        let times = (0..101).map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed()
        });
        median(times.collect())
    };
    println!(
        "| snapshot at an old commit | {:.1} | | |",
        time(&mut || drop(page.snapshot(&old).unwrap()))
    );
    let begin = Instant::now();
    let found = page.diff(&old, &head, ALL, Direction::Forward).unwrap().count();
    println!("| diff of {found} differences | {:.1} | | |", begin.elapsed().as_secs_f64() * 1e6);
    println!(
        "| the same, warm | {:.1} | | |",
        time(&mut || {
            page.diff(&old, &head, ALL, Direction::Forward).unwrap().for_each(drop);
        })
    );
    let mut number = 0;
    println!(
        "| new branch | {:.1} | | |",
        time(&mut || {
            number += 1;
            page.create_branch(&number.to_string(), &head).unwrap();
        })
    );
    let merges = (0..11).map(|number| {
        let branch = format!("merged {number}");
        page.create_branch(&branch, &page.head(MAIN).unwrap()).unwrap();
        commit(&page.database(&branch).unwrap(), &changes(1_000, false));
        commit(&ours, &changes(1_000, false));
        let from = page.head(&branch).unwrap();
        let begin = Instant::now();
        page.merge(MAIN, &from, &mut LastOneWins).unwrap();
        begin.elapsed()
    });
    println!("| merge of 1,000 and 1,000 changes | {:.1} | | |", median(merges.collect()));
    collect(&page);
    reference_rows(&page, || changes(1_000, false));

    drop((ours, page, repository));
    let cold = Repository::open(open(dirs[0].path())).unwrap();
    let ours = cold.page("bench", PageId::ROOT).unwrap().database(MAIN).unwrap();
    row("20,000 point reads, cold", vec![reads(&ours, &keys)], vec![reads(&bare, &keys)]);
}

/// Bytes that this process has made the system read from a disk.
fn read_from_disk() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The same with reference rows, after 20 commits of 1,000 changes at random.
fn reference_rows(page: &Page, mut changes: impl FnMut() -> Vec<Pair>) {
    page.set_retention(Retention::All).unwrap();
    let begin = Instant::now();
    page.set_reference_rows(true).unwrap();
    println!("| reference rows: turning on | {:.1} | | |", begin.elapsed().as_secs_f64() * 1e6);
    let db = page.database(MAIN).unwrap();
    let times = (0..20).map(|_| commit(&db, &changes()));
    println!(
        "| reference rows: commit of 1000 changes at random | {:.1} | | |",
        median(times.collect())
    );
    collect(page);
}

/// Leaves the last commit of the branch, and collects the rest in slices.
fn collect(page: &Page) {
    for (branch, _) in page.branches().unwrap() {
        if branch != MAIN {
            page.remove_branch(&branch).unwrap();
        }
    }
    page.set_retention(Retention::Heads).unwrap();
    let before = page.verify().unwrap();
    if std::env::var_os("PERMAZEN_BENCH_DROP_CACHES").is_some() {
        std::fs::write("/proc/sys/vm/drop_caches", "3").unwrap();
    }
    let read_before = read_from_disk();
    let begin = Instant::now();
    let mut slices = Vec::new();
    loop {
        let begin = Instant::now();
        let more = page.collect_slice().unwrap();
        slices.push(begin.elapsed());
        if !more {
            break;
        }
    }
    let (all, read) = (begin.elapsed(), read_from_disk() - read_before);
    let after = page.verify().unwrap();
    slices.sort();
    println!(
        "| collection of {} of {} pieces and {} commits | {:.1} | | |",
        before.pieces - after.pieces,
        before.pieces,
        before.commits - after.commits,
        all.as_secs_f64() * 1e6
    );
    println!("| bytes it has read from the disk | {read} | | |");
    println!(
        "| a slice of it: median; 99 of 100; longest | {:.1}; {:.1}; {:.1} | | |",
        slices[slices.len() / 2].as_secs_f64() * 1e6,
        slices[slices.len() * 99 / 100].as_secs_f64() * 1e6,
        slices[slices.len() - 1].as_secs_f64() * 1e6
    );
}
