//! A data file of LMDB with flipped bytes, or cut short. It is refused, or all values that are read
//! are right except for the damaged pair. The program never panics, and never dies of a signal.
//!
//! `PERMAZEN_FLIPS` sets how many flips are tried (default 160). `PERMAZEN_UNVERIFIED=1` opens
//! files without checking anything, and counts how processes end. This shows what the
//! checks are good for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use permazen::kv::lmdb::{Durability, LmdbStore};
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions};
use permazen::object::{Database, Migrate};

use crate::processes::{Process, Role, Store, looking, say};
use crate::random::{Random, seed, setting};
use crate::workload::{Workload, config};

const PAGE: usize = 4096;

/// Makes a database with overflow pages, free pages and trees of several levels.
fn victim(path: &Path) -> Vec<u8> {
    let workload = Workload { seed: 11, partition: 0, large: false };
    let store = LmdbStore::open_or_create(path).unwrap();
    let db = Database::new(Arc::new(store.clone()));
    for number in 1..=60 {
        let tx = db.begin(&config(workload.version(number))).unwrap();
        workload.perform(&tx, number).unwrap();
        tx.commit().unwrap();
    }
    for partition in 1..=40 {
        let workload = Workload { partition, ..workload };
        let tx = db.begin(&config(1)).unwrap();
        (1..=4).for_each(|number| workload.perform(&tx, number).unwrap());
        tx.commit().unwrap();
    }
    assert!(store.verify().unwrap().is_empty());
    drop((db, store));
    std::fs::read(path.join("data.mdb")).unwrap()
}

/// Changes the file with one flip.
fn flip(bytes: &mut [u8], seed: u64, number: u64) -> usize {
    let mut random = Random::new(seed, number);
    let page = random.below((bytes.len() / PAGE) as u64) as usize * PAGE;
    // Damage does most harm in the heads of pages and the positions of their entries.
    let within = match random.below(3) {
        0 => random.below(16),
        1 => random.below(200),
        _ => random.below(PAGE as u64),
    };
    let at = page + within as usize;
    bytes[at] ^= match random.below(2) {
        0 => 1 << random.below(8),
        _ => 1 + random.below(255) as u8,
    };
    at
}

/// Whether a byte is part of the number of a commit, in a meta page. With another number there, the
/// file is as it was before the last commit.
fn is_commit_number(at: usize) -> bool {
    at / PAGE < 2 && (144..152).contains(&(at % PAGE))
}

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn pairs(kv: &dyn KvRead) -> permazen::kv::Result<Pairs> {
    let mut found = Pairs::new();
    for pair in kv.scan(KeySpan::FULL, Direction::Forward)? {
        let (key, value) = pair?;
        found.insert(key.into_owned(), value.into_owned());
    }
    Ok(found)
}

/// The checks of a damaged file before it is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checks {
    /// Only what opening always checks.
    Nothing,
    /// The structure of the whole file, when it is opened.
    All,
    /// Each page that is read, and the whole file before it is written.
    AsUsed,
}

/// How reading a damaged file ended.
fn read(path: &Path, checks: Checks, whole: &Pairs) -> &'static str {
    // Nothing of this has to reach the disk.
    let builder = LmdbStore::builder().durability(Durability::MayLoseEverything);
    let builder = builder.verify(checks == Checks::All).checks(checks == Checks::AsUsed);
    let store = match builder.open(path) {
        Ok(store) => store,
        Err(error) => {
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
            return "refused";
        }
    };
    let Ok(found) = pairs(&*store.begin(&TxOptions::reading()).unwrap()) else { return "error" };
    let missing = whole.iter().filter(|(key, value)| found.get(*key) != Some(*value)).count();
    let added = found.keys().filter(|key| !whole.contains_key(*key)).count();
    // All pairs except the damaged one exist, and nothing else.
    let right = missing <= 1 && added <= missing;
    let objects = read_objects(&store);
    let findings = check(&store);
    write(&store);
    match (right, missing, objects && findings == 0) {
        (false, ..) => "wrong",
        (true, 0, true) => "unharmed",
        (true, 0, false) => "wrong",
        (true, _, true) => "another value",
        (true, _, false) => "another value, found by the checker",
    }
}

/// Reads every object; false if that fails.
fn read_objects(store: &LmdbStore) -> bool {
    let db = Database::new(Arc::new(store.clone()));
    let read = || -> permazen::object::Result<()> {
        let tx = db.begin(&looking())?;
        for id in tx.all_objects()?.iter() {
            tx.load(id?, Migrate::No)?;
        }
        for index in ["name", "main", "byAgeName"] {
            for entry in tx.index_by_name("Person", index)?.entries() {
                entry?;
            }
        }
        Ok(())
    };
    read().is_ok()
}

fn check(store: &LmdbStore) -> u64 {
    let kv = store.begin(&TxOptions::reading()).unwrap();
    let checked = permazen_jsck::check(&*kv, &Default::default(), &mut |_| {});
    checked
        .map_or(1, |report| if report.complete { report.findings } else { report.findings.max(1) })
}

/// Writes at various places, which uses the lists of free pages.
fn write(store: &LmdbStore) {
    for round in 0..3u8 {
        let Ok(mut kv) = store.begin(&TxOptions::writing()) else { return };
        let written = (0..40u8).try_for_each(|at| {
            kv.put(&[0xf0, at], &vec![round; usize::from(at) * 97])?;
            kv.remove(&[at, round])
        });
        if written.and_then(|()| kv.commit()).is_err() {
            return;
        }
    }
}

/// The process that opens damaged files. The seed of the workload is the number of its first flip.
pub(crate) fn child(path: &Path, workload: Workload, checks: Checks) {
    let whole = std::fs::read(path.join("data.mdb")).unwrap();
    let original = {
        let store = LmdbStore::builder().read_only(true).open(path).unwrap();
        pairs(&*store.begin(&TxOptions::reading()).unwrap()).unwrap()
    };
    let seed = workload.seed >> 32;
    for number in (workload.seed & 0xffff_ffff).. {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let mut bytes = whole.clone();
        let at = flip(&mut bytes, seed, number);
        std::fs::write(dir.path().join("data.mdb"), &bytes).unwrap();
        say(&format!("trying {number} at byte {at}"));
        let outcome = match read(dir.path(), checks, &original) {
            "wrong" if is_commit_number(at) => "the commit before",
            outcome => outcome,
        };
        say(&format!("outcome {outcome}"));
    }
}

/// Runs flips in processes, and counts how they end.
fn flips(role: &'static str, count: u64) -> BTreeMap<String, u64> {
    let seed = seed(role) & 0xffff_ffff;
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("store");
    victim(&path);
    let mut outcomes = BTreeMap::new();
    let mut next = 0;
    while next < count {
        let workload = Workload { seed: seed << 32 | next, partition: 0, large: false };
        let role = Role { name: role, store: Store::Lmdb, path: path.clone(), workload };
        next += run(role.start(), count - next, &mut outcomes);
    }
    outcomes
}

/// Listens to a process until it ends or has tried enough flips. Returns how many it has tried.
fn run(mut process: Process, most: u64, outcomes: &mut BTreeMap<String, u64>) -> u64 {
    let mut tried = 0;
    let mut trying = String::new();
    while tried < most {
        match process.next_line() {
            Some(line) if line.contains("trying ") => trying = line,
            Some(line) => {
                if let Some((_, outcome)) = line.split_once("outcome ") {
                    if outcome.trim() == "wrong" {
                        println!("wrong: {trying}");
                    }
                    *outcomes.entry(outcome.trim().to_owned()).or_default() += 1;
                    tried += 1;
                }
            }
            None => {
                let status = process.ended().status;
                println!("{}: {status}", trying.trim());
                *outcomes.entry(format!("ended with {status}")).or_default() += 1;
                return tried + 1;
            }
        }
    }
    process.kill(std::time::Duration::ZERO);
    tried
}

const HARMLESS: [&str; 4] =
    ["unharmed", "another value", "another value, found by the checker", "the commit before"];

#[test]
fn flipped_bytes_are_refused_or_do_no_harm_elsewhere() {
    let count = setting("PERMAZEN_FLIPS").unwrap_or(160);
    let unverified = setting("PERMAZEN_UNVERIFIED").is_some();
    let outcomes = flips(if unverified { "read" } else { "read-verified" }, count);
    println!("{outcomes:#?}");
    if !unverified {
        let is_expected = |outcome: &str| outcome == "refused" || HARMLESS.contains(&outcome);
        assert!(outcomes.keys().all(|outcome| is_expected(outcome)), "{outcomes:#?}");
        assert!(outcomes["refused"] > count / 16, "{outcomes:#?}");
    }
}

/// Nothing is checked before it is read. So a process reads the pages that are not damaged.
#[test]
fn checks_as_pages_are_used_find_the_same() {
    let count = setting("PERMAZEN_FLIPS").unwrap_or(160);
    let outcomes = flips("read-checked", count);
    println!("{outcomes:#?}");
    let is_expected =
        |outcome: &str| ["refused", "error"].contains(&outcome) || HARMLESS.contains(&outcome);
    assert!(outcomes.keys().all(|outcome| is_expected(outcome)), "{outcomes:#?}");
    assert!(outcomes["error"] > count / 60, "{outcomes:#?}");
}

#[test]
fn a_file_that_was_cut_short_is_refused_or_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let bytes = victim(&path);
    let whole = {
        let store = LmdbStore::open(&path).unwrap();
        pairs(&*store.begin(&TxOptions::reading()).unwrap()).unwrap()
    };
    let mut random = Random::new(5, 0);
    let mut refused = 0;
    for number in 0..300 {
        let keep = match number {
            0..100 => number as usize * bytes.len() / 100 / PAGE * PAGE,
            _ => random.below(bytes.len() as u64) as usize,
        };
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("data.mdb"), &bytes[..keep]).unwrap();
        match LmdbStore::open(dir.path()) {
            Ok(store) => {
                assert_eq!(store.verify().unwrap(), [""; 0], "{keep} bytes");
                assert_eq!(pairs(&*store.begin(&TxOptions::reading()).unwrap()).unwrap(), whole);
                assert!(read_objects(&store) && check(&store) == 0, "{keep} bytes");
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 200, "{refused}");
}
