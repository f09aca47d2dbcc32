//! A page on LMDB beside the same pairs in bare LMDB, in one run.
//!
//! `cargo bench -p permazen-ledger --bench pages` prints a table of medians. `PERMAZEN_BENCH_PAIRS`
//! sets the number of pairs (1000000). `PERMAZEN_BENCH_DATABASE` is the folder of an LMDB database
//! whose pairs are taken instead. With `PERMAZEN_BENCH_DROP_CACHES`, root on Linux sees what a
//! collection reads from a disk of which nothing is in memory.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{LastWriterWins, MAIN, Page, PageId, Repository, Retention};
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

/// The pairs of any LMDB database.
fn pairs_of(path: &std::path::Path) -> Vec<Pair> {
    let store = LmdbStore::builder().open(path).unwrap();
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let scan = tx.scan(ALL, Direction::Forward).unwrap();
    let pairs = scan.map(|pair| pair.map(|(key, value)| (key.into_owned(), value.into_owned())));
    pairs.collect::<Result<_, _>>().unwrap()
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

/// Which keys a commit changes.
#[derive(Clone, Copy)]
enum Keys {
    Random,
    Spread,
    SideBySide,
}

/// Both sides, each in a new folder: the pairs in one commit, three times.
fn bulk_loads(pairs: &[Pair]) {
    let (mut page_times, mut bare_times) = (Vec::new(), Vec::new());
    for round in 0..3 {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let repository =
            Repository::builder(open(dirs[0].path())).exclusive().open_or_create().unwrap();
        let page = repository.create_page("bench", PageId::ROOT).unwrap();
        let (ours, bare) = (page.database(MAIN).unwrap(), open(dirs[1].path()));
        if round % 2 == 0 {
            bare_times.push(commit(&bare, pairs));
        }
        page_times.push(commit(&ours, pairs));
        if round % 2 == 1 {
            bare_times.push(commit(&bare, pairs));
        }
    }
    row("bulk load", page_times, bare_times);
}

fn main() {
    let count = std::env::var("PERMAZEN_BENCH_PAIRS").ok().and_then(|count| count.parse().ok());
    let pairs = match std::env::var_os("PERMAZEN_BENCH_DATABASE") {
        Some(path) => pairs_of(path.as_ref()),
        None => pairs(count.unwrap_or(1_000_000)),
    };
    println!("{} pairs; microseconds, medians\n", pairs.len());
    println!("| what | page | bare LMDB | ratio |\n|---|---|---|---|");
    bulk_loads(&pairs);
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let repository =
        Repository::builder(open(dirs[0].path())).exclusive().open_or_create().unwrap();
    let page = repository.create_page("bench", PageId::ROOT).unwrap();
    let (ours, bare) = (page.database(MAIN).unwrap(), open(dirs[1].path()));
    commit(&ours, &pairs);
    commit(&bare, &pairs);
    let size = |at: usize| std::fs::metadata(dirs[at].path().join("data.mdb")).unwrap().len();
    println!(
        "| bytes of the file | {} | {} | {:.2} |",
        size(0),
        size(1),
        size(0) as f64 / size(1) as f64
    );

    let mut random = StdRng::seed_from_u64(2);
    let mut changes = |count: usize, keys: Keys| -> Vec<Pair> {
        let start = random.random_range(0..pairs.len() - count);
        let every = pairs.len() / count;
        let mut some: Vec<Pair> = match keys {
            Keys::SideBySide => pairs[start..start + count].to_vec(),
            Keys::Random => pairs.sample(&mut random, count).cloned().collect(),
            Keys::Spread => pairs[start % every..].iter().step_by(every).cloned().collect(),
        };
        some.iter_mut().for_each(|(_, value)| *value = vec![random.random(); 12]);
        some
    };
    for (count, keys, rounds) in [
        (1, Keys::Random, 51),
        (10, Keys::Random, 31),
        (1_000, Keys::Random, 11),
        (10_000, Keys::Random, 7),
        (100, Keys::Spread, 21),
        (300, Keys::Spread, 11),
        (1_000, Keys::Spread, 11),
        (1_000, Keys::SideBySide, 11),
    ] {
        let (mut page_times, mut bare_times) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let changes = changes(count, keys);
            // Both sides take turns in being first.
            if round % 2 == 0 {
                page_times.push(commit(&ours, &changes));
                bare_times.push(commit(&bare, &changes));
            } else {
                bare_times.push(commit(&bare, &changes));
                page_times.push(commit(&ours, &changes));
            }
        }
        let how = match keys {
            Keys::Random => "at random",
            Keys::Spread => "spread evenly",
            Keys::SideBySide => "side by side",
        };
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
        commit(&page.database(&branch).unwrap(), &changes(1_000, Keys::Random));
        commit(&ours, &changes(1_000, Keys::Random));
        let from = page.head(&branch).unwrap();
        let begin = Instant::now();
        page.merge(MAIN, &from, &mut LastWriterWins).unwrap();
        begin.elapsed()
    });
    println!("| merge of 1,000 and 1,000 changes | {:.1} | | |", median(merges.collect()));
    collect(&page);
    reference_rows(&page, || changes(1_000, Keys::Random));

    drop((ours, page, repository));
    let (mut page_reads, mut bare_reads) = (Vec::new(), Vec::new());
    let (mut page_scans, mut bare_scans) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        page_reads.push(reads(&cold_page(dirs[0].path()), &keys));
        bare_reads.push(reads(&bare, &keys));
        page_scans.push(scan(&cold_page(dirs[0].path())));
        bare_scans.push(scan(&bare));
    }
    row("20,000 point reads, cold", page_reads, bare_reads);
    row("scan of all, cold", page_scans, bare_scans);
}

/// The page opened anew: none of its nodes is in the cache.
fn cold_page(path: &std::path::Path) -> impl KvDatabase {
    let repository = Repository::open(open(path)).unwrap();
    repository.page("bench", PageId::ROOT).unwrap().database(MAIN).unwrap()
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
    // The first one reads the commits, without the right to write, so others do not wait for it.
    let first = slices.remove(0);
    slices.sort();
    let share = |of_1000: usize| {
        slices[(slices.len() * of_1000 / 1_000).min(slices.len() - 1)].as_secs_f64() * 1e6
    };
    println!(
        "| collection of {} of {} pieces and {} commits | {:.1} | | |",
        before.pieces - after.pieces,
        before.pieces,
        before.commits - after.commits,
        all.as_secs_f64() * 1e6
    );
    println!("| bytes it has read from the disk | {read} | | |");
    println!("| its first slice, which reads the commits | {:.1} | | |", first.as_secs_f64() * 1e6);
    println!(
        "| each other slice of {}: median; p99; p999; longest | {:.1}; {:.1}; {:.1}; {:.1} | | |",
        slices.len(),
        share(500),
        share(990),
        share(999),
        share(1_000)
    );
}
