//! A process that writes is killed at random moments. Every commit that it acknowledged must be
//! there, and nothing of a commit that it had not begun. The commit that it was making is there as
//! a whole or not at all.
//!
//! `PERMAZEN_KILLS` sets how often this happens with LMDB; with SQLite it happens a quarter as
//! often. 160 times unless set.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use permazen_kv::{KeySpan, KvDatabaseExt as _, KvRead, KvTransaction, KvWrite, Result, TxOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{dump, open_or_create, role, spawn};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The key that holds the number of the last commit.
const LAST: &[u8] = b"last";

/// The changes of the transaction `number`: puts of small and large values, and removes.
fn puts(number: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut puts = vec![(LAST.to_vec(), number.to_be_bytes().to_vec())];
    for i in 0..number % 13 {
        let key = number.wrapping_mul(31).wrapping_add(i * i * 7) % 300;
        let size = if i == 5 { 9000 } else { 20 + key as usize };
        puts.push((key.to_be_bytes().to_vec(), vec![number as u8; size]));
    }
    puts
}

fn removes(number: u32) -> Option<(Vec<u8>, Vec<u8>)> {
    let min = number.wrapping_mul(17) % 300;
    number
        .is_multiple_of(5)
        .then(|| (min.to_be_bytes().to_vec(), (min + 20).to_be_bytes().to_vec()))
}

fn change(tx: &mut dyn KvTransaction, number: u32) -> Result<()> {
    if let Some((min, max)) = removes(number) {
        tx.remove_span(KeySpan::new(&min, Some(&max)))?;
    }
    puts(number).iter().try_for_each(|(key, value)| tx.put(key, value))
}

fn change_model(model: &mut Map, number: u32) {
    if let Some((min, max)) = removes(number) {
        model.retain(|key, _| *key < min || *key >= max);
    }
    model.extend(puts(number));
}

fn last(source: &dyn KvRead) -> u32 {
    let value = source.get(LAST).unwrap();
    value.map_or(0, |value| u32::from_be_bytes(value[..].try_into().unwrap()))
}

/// The process that is killed. It makes one numbered transaction after the other.
#[test]
fn child() {
    let Some((store, path)) = role() else { return };
    let store = open_or_create(&store, &path);
    let mut number = last(&*store.begin(&TxOptions::reading()).unwrap());
    let mut out = std::io::stdout().lock();
    loop {
        number += 1;
        // In turns, transactions that can move between threads, and transactions of closures.
        if number.is_multiple_of(2) {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            change(&mut *tx, number).unwrap();
            tx.commit().unwrap();
        } else {
            store.write(|tx| change(tx, number)).unwrap();
        }
        writeln!(out, "committed {number}").unwrap();
        out.flush().unwrap();
    }
}

/// How many stores are tested at the same time; most of the time they wait.
const WORKERS: u32 = 4;

fn kills(store: &str, share: u32) {
    let kills: u32 =
        std::env::var("PERMAZEN_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(160);
    let commits: u64 = std::thread::scope(|scope| {
        let each = (kills / share).div_ceil(WORKERS);
        let seeds = (0..WORKERS).map(|worker| u64::from(std::process::id() * WORKERS + worker));
        let running: Vec<_> =
            seeds.map(|seed| scope.spawn(move || kill_often(store, each, seed))).collect();
        running.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    println!("{store}: {} kills after {commits} commits", kills / share);
}

/// Returns how many commits there were.
fn kill_often(store: &str, kills: u32, seed: u64) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    drop(open_or_create(store, &path));
    let (mut model, mut reached) = (Map::new(), 0);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut commits = 0u64;
    for kill in 0..kills {
        // Every other time another process has the store open all the time.
        let witness = (kill % 2 == 0).then(|| open_or_create(store, &path));
        let (mut process, mut out) = spawn(CHILD, store, &path);
        let mut said = String::new();
        while !said.contains("committed") {
            said.clear();
            assert!(out.read_line(&mut said).unwrap() > 0, "the child ended by itself");
        }
        std::thread::sleep(Duration::from_micros(rng.random_range(0..25_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        let mut acknowledged = number(&said).unwrap();
        for line in out.lines() {
            // The last line may be cut short.
            acknowledged = number(&line.unwrap()).unwrap_or(acknowledged).max(acknowledged);
        }
        let store = witness.unwrap_or_else(|| open_or_create(store, &path));
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let found = last(&*tx);
        assert!(
            found == acknowledged || found == acknowledged + 1,
            "kill {kill}: {acknowledged} was acknowledged, {found} is there"
        );
        (reached + 1..=found).for_each(|number| change_model(&mut model, number));
        commits += u64::from(found - reached);
        reached = found;
        assert!(
            dump(&*tx).into_iter().eq(model.clone()),
            "kill {kill}: commit {found} is not whole"
        );
        // The lock of the killed process does not block others.
        let wait = TxOptions::writing().with_wait(Duration::from_secs(20));
        let mut tx = store.begin(&wait).unwrap();
        tx.put(LAST, b"never committed").unwrap();
        tx.rollback();
    }
    commits
}

/// The number of an acknowledged commit; `None` if the line is cut short.
fn number(line: &str) -> Option<u32> {
    line.trim_end().rsplit_once("committed ").and_then(|(_, number)| number.parse().ok())
}

#[test]
#[cfg(feature = "lmdb")]
fn t085_lmdb_keeps_what_was_committed() {
    kills("lmdb", 1);
}

#[test]
#[cfg(feature = "sqlite")]
fn t085_sqlite_keeps_what_was_committed() {
    kills("sqlite", 4);
}
