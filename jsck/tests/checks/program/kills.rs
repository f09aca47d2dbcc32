//! `jsck --repair` is killed at random instants. The database is as before or as after the repair,
//! the undo file was complete before the first change, and a second repair ends clean.
//!
//! `PERMAZEN_KILLS` sets how often (default 8). `PERMAZEN_SEED` repeats the pauses.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KvDatabase, TxOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{self, Pairs, fill};

/// How many index entries of objects that do not exist a repair removes.
const ENTRIES: usize = 1000;

fn open(path: &Path) -> Box<dyn KvDatabase> {
    if path.extension().is_some() {
        Box::new(SqliteStore::open_or_create(path).unwrap())
    } else {
        Box::new(LmdbStore::open_or_create(path).unwrap())
    }
}

/// The small reference database, with many index entries of objects that do not exist.
fn damage(path: &Path) -> Pairs {
    let store = open(path);
    fill(&*store, |kv| {
        for number in 0..ENTRIES as u32 {
            // The index Person.name with the name `A…`.
            let object = [&[0x10, 0, 0, 1][..], &number.to_be_bytes()].concat();
            kv.put(&[&[0x11, b'A', 0][..], &object].concat(), b"").unwrap();
        }
    });
    pairs(&*store)
}

/// Copies a database that no program has open.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir(to).unwrap();
        std::fs::copy(from.join("data.mdb"), to.join("data.mdb")).unwrap();
    } else {
        std::fs::copy(from, to).unwrap();
        let log = |path: &Path| path.with_extension("db-wal");
        if log(from).exists() {
            std::fs::copy(log(from), log(to)).unwrap();
        }
    }
}

fn pairs(store: &dyn KvDatabase) -> Pairs {
    support::pairs(&*store.begin(&TxOptions::reading()).unwrap())
}

fn jsck(path: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jsck"));
    command.arg(path).args(options).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn code(path: &Path, options: &[&str]) -> Option<i32> {
    jsck(path, options).status().unwrap().code()
}

fn kills(name: &str) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let kills: u64 = number("PERMAZEN_KILLS").unwrap_or(8);
    let seed = number("PERMAZEN_SEED").unwrap_or(std::process::id().into());
    println!("{name}: PERMAZEN_SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join(name);
    let damaged = scratch.path().join(format!("damaged-{name}"));
    let before = damage(&damaged);
    copy(&damaged, &path);
    assert!(pairs(&*open(&path)) == before, "the copy differs");
    let begun = Instant::now();
    assert_eq!(code(&path, &["--repair", "--yes"]), Some(1));
    // The speed of a machine with other work varies.
    let mut takes = begun.elapsed();
    let after = pairs(&*open(&path));
    assert!(after.len() + ENTRIES == before.len());
    let (mut untouched, mut repaired) = (0, 0);
    // Few kills may miss one of the two.
    let is_enough = |kill: u64, both: bool| kill >= kills && (both || kill >= 10 * kills);
    let mut kill = 0;
    while !is_enough(kill, untouched > 0 && repaired > 0) {
        let when = format!("{name}, PERMAZEN_SEED={seed}, kill {kill}");
        let scratch = tempfile::tempdir().unwrap();
        let (path, undo) = (scratch.path().join(name), scratch.path().join("undo"));
        copy(&damaged, &path);
        let undo_text = undo.to_str().unwrap();
        let mut process =
            jsck(&path, &["--repair", "--yes", "--undo-file", undo_text]).spawn().unwrap();
        // The end of the repair, where it writes, matters most.
        let late = rng.random_ratio(2, 3);
        let pause = rng.random_range(if late { 0.6..1.1 } else { 0.0..1.0 });
        std::thread::sleep(takes.mul_f64(pause));
        process.kill().unwrap();
        process.wait().unwrap();
        let found = pairs(&*open(&path));
        if found == before {
            untouched += 1;
            takes = takes.mul_f64(if late { 1.1 } else { 1.0 });
        } else {
            assert!(found == after, "{when}: neither as before nor as after");
            repaired += 1;
            takes = takes.mul_f64(0.95);
            assert_eq!(code(&path, &["--apply-undo", undo_text]), Some(0), "{when}");
            assert!(pairs(&*open(&path)) == before, "{when}: undone");
        }
        // An undo file that an earlier run left is not overwritten.
        assert_eq!(code(&path, &["--repair", "--yes"]), Some(1), "{when}");
        assert_eq!(code(&path, &[]), Some(0), "{when}");
        assert!(pairs(&*open(&path)) == after, "{when}: repaired again");
        kill += 1;
    }
    println!("{name}: {kill} kills, {untouched} as before, {repaired} as after; takes {takes:?}");
    assert!(untouched > 0 && repaired > 0, "{untouched} as before, {repaired} as after");
}

#[test]
fn kills_during_repair_on_lmdb() {
    kills("store");
}

#[test]
fn kills_during_repair_on_sqlite() {
    kills("store.db");
}
