//! How much memory large transactions and collections take, and how long the slices of a collection
//! are.
//!
//! `cargo bench -p permazen-ledger --bench memory` prints tables. `PERMAZEN_BENCH_PAIRS` sets how
//! many pairs a transaction puts (200000), `PERMAZEN_BENCH_PIECES` how many values a page on LMDB
//! has, each of which is a piece (200000). The memory is what is allocated beyond what was before;
//! what LMDB maps is not counted.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/memory/counting.rs"]
mod counted;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{Direction, Durability, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{MAIN, Page, PageId, Repository, Retention};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use roaring::RoaringTreemap;

/// The result of `body`, and how many MiB more were in use meanwhile than before.
fn memory_of<T>(body: impl FnOnce() -> T) -> (T, f64) {
    let (result, bytes) = counted::memory_of(body);
    (result, bytes as f64 / f64::from(1 << 20))
}

fn number(variable: &str) -> u64 {
    std::env::var(variable).map_or(200_000, |number| number.parse().unwrap())
}

fn new_page(dir: &Path) -> (LmdbStore, Page) {
    let host = LmdbStore::builder()
        .create(true)
        .map_size(64 << 30)
        .durability(Durability::MayLoseEverything)
        .open(dir)
        .unwrap();
    let builder =
        Repository::builder(host.clone()).exclusive().manual_maintenance().cache_bytes(1 << 20);
    (host, builder.open_or_create().unwrap().create_page("bench", PageId::ROOT).unwrap())
}

fn main() {
    bulk_load(number("PERMAZEN_BENCH_PAIRS"));
    let (dir, pieces) = (tempfile::tempdir().unwrap(), number("PERMAZEN_BENCH_PIECES"));
    let (host, page) = new_page(dir.path());
    fill(&page, pieces);
    println!(
        "| collection | pieces before | removed | memory, MiB | slices: median; 999 of 1,000; longest, ms |"
    );
    println!("|---|---|---|---|---|");
    collect(&host, &page, "after a commit for each 10,000 values");
    thin_out(&page, pieces);
    collect(&host, &page, "of one value in four");
    collect(&host, &page, "of nothing");
    marks(pieces);
}

/// Pairs of 16 and 16 bytes in one transaction, and in several ones that become one commit.
fn bulk_load(pairs: u64) {
    println!("| {pairs} pairs | memory, MiB | bytes a pair | s |");
    println!("|---|---|---|---|");
    let row = |what: &str, load: &dyn Fn(&Page)| {
        let dir = tempfile::tempdir().unwrap();
        let (_host, page) = new_page(dir.path());
        let begin = Instant::now();
        let ((), memory) = memory_of(|| load(&page));
        let time = begin.elapsed().as_secs_f64();
        let each = memory * f64::from(1 << 20) / pairs as f64;
        println!("| {what} | {memory:.0} | {each:.0} | {time:.1} |");
    };
    let put = |page: &Page, from: u64, to: u64| {
        let db = page.database(MAIN).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        for number in from..to {
            tx.put(&[number.to_be_bytes(); 2].concat(), &[number as u8; 16]).unwrap();
        }
        tx.commit().unwrap();
    };
    row("one transaction", &|page| put(page, 0, pairs));
    row("a commit for each 100,000, then squash", &|page| {
        let base = page.head(MAIN).unwrap();
        (0..pairs).step_by(100_000).for_each(|from| put(page, from, pairs.min(from + 100_000)));
        page.squash(MAIN, &base, Some("loaded")).unwrap();
    });
    println!();
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A value that is a piece of its own, and takes little room in the host.
fn value(number: u64) -> [u8; 520] {
    let mut value = [0; 520];
    value[..8].copy_from_slice(&number.to_le_bytes());
    value
}

fn in_commits(page: &Page, count: u64, mut change: impl FnMut(&mut dyn KvWrite, u64)) {
    let db = page.database(MAIN).unwrap();
    for from in (0..count).step_by(10_000) {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        (from..count.min(from + 10_000)).for_each(|number| change(&mut *tx, number));
        tx.commit().unwrap();
    }
}

fn fill(page: &Page, count: u64) {
    in_commits(page, count, |tx, number| tx.put(&key(number), &value(number)).unwrap());
}

fn thin_out(page: &Page, count: u64) {
    in_commits(page, count, |tx, number| {
        if number.is_multiple_of(4) {
            tx.remove(&key(number)).unwrap();
        }
    });
}

/// How many pieces the first page has.
fn pieces(host: &LmdbStore) -> u64 {
    let (min, max) = ([0x10, 1, 0x23], [0x10, 1, 0x24]);
    let (tx, mut count) = (host.begin(&TxOptions::reading()).unwrap(), 0);
    tx.visit(KeySpan::new(&min, Some(&max)), Direction::Forward, &mut |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    count
}

fn collect(host: &LmdbStore, page: &Page, what: &str) {
    page.set_retention(Retention::Heads).unwrap();
    let before = pieces(host);
    let mut slices: Vec<Duration> = Vec::with_capacity(1 << 20);
    let ((), memory) = memory_of(|| {
        loop {
            let begin = Instant::now();
            let is_more = page.collect_slice().unwrap();
            slices.push(begin.elapsed());
            if !is_more {
                break;
            }
        }
    });
    let removed = before - pieces(host);
    slices.sort();
    let ms = |of: usize| slices[of.min(slices.len() - 1)].as_secs_f64() * 1e3;
    let (median, late, last) =
        (ms(slices.len() / 2), ms(slices.len() * 999 / 1_000), ms(slices.len()));
    println!("| {what} | {before} | {removed} | {memory:.1} | {median:.1}; {late:.1}; {last:.1} |");
}

/// The memory of marks if one number in 1, 2, 10, … is marked.
fn marks(pieces: u64) {
    println!(
        "\n| one number in | marks, MiB | while they are made into bytes, MiB |\n|---|---|---|"
    );
    for one_in in [1, 2, 10, 100, 1_000, 4_000, 10_000] {
        let mut random = StdRng::seed_from_u64(1);
        let (mut marks, found) = memory_of(|| {
            let mut marks = RoaringTreemap::new();
            while marks.len() < pieces {
                match one_in {
                    1 => _ = marks.insert_range(0..pieces),
                    _ => _ = marks.insert(random.random_range(0..pieces * one_in)),
                }
            }
            marks
        });
        let ((), more) = memory_of(|| {
            marks.optimize();
            let mut bytes = Vec::with_capacity(marks.serialized_size());
            marks.serialize_into(&mut bytes).unwrap();
        });
        println!("| {one_in} | {found:.1} | {:.1} |", found + more);
    }
}
