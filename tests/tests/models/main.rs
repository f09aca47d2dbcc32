//! Random histories of models with rules and hooks. A naive model says after each operation what
//! the database must contain, whether the operation is refused, and what breaks rules when a
//! transaction commits. In half of the histories, operations of the store fail: nothing is half
//! done then, and no rule is broken by what commits. The seed of a history decides everything in it,
//! except which of two concurrent transactions is the first.
//!
//! `java` has typed models and Permazen for Java on one database. It is skipped without Java, unless
//! `PERMAZEN_JAVA` is 1 (see the test `java`).
//!
//! | variable | what it says | without it |
//! |---|---|---|
//! | `PERMAZEN_HISTORIES` | how many histories | 200 |
//! | `PERMAZEN_SEED` | the seed of the first one; the others follow | 1 |
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, clippy::indexing_slicing)]
#![allow(unreachable_pub, clippy::print_stdout)]

mod concurrent;
#[path = "../java/driver.rs"]
mod driver;
mod family;
mod faults;
mod java;
mod naive;
mod steps;
mod transaction;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use family::{Review, User};
use naive::World;
use permazen::kv::KvDatabase;
use permazen::kv::fault::{FaultStore, Faults};
use permazen::kv::lmdb::{Durability, LmdbStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::sqlite::SqliteStore;
use permazen::model::Committed;
use permazen::{ObjId, Permazen, Validation};
use steps::Random;

/// How often things have happened. A run in which something never happens proves little.
pub(crate) type Counts = BTreeMap<&'static str, usize>;

pub(crate) fn count(counts: &mut Counts, what: &'static str) {
    *counts.entry(what).or_default() += 1;
}

/// What an observer of commits is told.
pub(crate) type Told = Arc<Mutex<Vec<(ObjId, Committed)>>>;

pub(crate) struct History {
    pub(crate) db: Permazen,
    store: Arc<dyn KvDatabase>,
    validation: Validation,
    pub(crate) told: Told,
    /// What is committed.
    pub(crate) world: World,
    pub(crate) random: Random,
    pub(crate) counts: Counts,
}

/// Says which history failed.
struct Failing(u64);

impl Drop for Failing {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("PERMAZEN_SEED={} PERMAZEN_HISTORIES=1 repeats it", self.0);
        }
    }
}

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// The store of a history, and what makes its operations fail, if there is something.
fn store(seed: u64, dir: &Path) -> (Arc<dyn KvDatabase>, Option<Faults>) {
    let faulty = |store: FaultStore<_>| {
        let faults = store.faults();
        (Arc::new(store) as Arc<dyn KvDatabase>, Some(faults))
    };
    match seed % 20 {
        0 => {
            let path = dir.join(seed.to_string());
            std::fs::create_dir(&path).unwrap();
            let builder = LmdbStore::builder().create(true);
            let builder = builder.durability(Durability::MayLoseEverything);
            (Arc::new(builder.open(&path).unwrap()), None)
        }
        10 => (Arc::new(SqliteStore::open_or_create(dir.join(seed.to_string())).unwrap()), None),
        1..=5 => faulty(FaultStore::new(Arc::new(MemoryStore::new()) as Arc<dyn KvDatabase>)),
        6..=9 => faulty(FaultStore::new(Arc::new(OptimisticDatabase::new(MemoryStore::new())))),
        11..=15 => (Arc::new(MemoryStore::new()), None),
        _ => (Arc::new(OptimisticDatabase::new(MemoryStore::new())), None),
    }
}

fn open(store: &Arc<dyn KvDatabase>, validation: Validation, told: &Told) -> Permazen {
    let db = family::open(Permazen::builder_shared(Arc::clone(store)), validation);
    let [users, reviews] = [told.clone(), told.clone()];
    db.observe_committed::<User>(move |it, what| users.lock().unwrap().push((it.id(), what)))
        .unwrap();
    db.observe_committed::<Review>(move |it, what| reviews.lock().unwrap().push((it.id(), what)))
        .unwrap();
    db
}

impl History {
    fn run(seed: u64, dir: &Path) -> Counts {
        let _failing = Failing(seed);
        let mut random = Random::new(seed);
        let early = random.one_in(5);
        let validation = if early { Validation::Early } else { Validation::AtCommit };
        let (store, faults) = store(seed, dir);
        let told = Told::default();
        let db = open(&store, validation, &told);
        let (world, counts) = Default::default();
        let mut history = History { db, store, validation, told, world, random, counts };
        for _ in 0..8 {
            match &faults {
                None if history.random.one_in(4) => history.concurrent(),
                Some(faults) if history.random.one_in(2) => history.faulty(faults),
                _ => history.transaction(),
            }
            history.check();
            if history.random.one_in(4) {
                history.reopen();
            }
        }
        history.check_format();
        history.counts
    }

    /// What is committed is what the naive model says, and breaks no rule.
    pub(crate) fn check(&mut self) {
        let stored = self.db.read(World::read).unwrap();
        assert_eq!(stored, self.world);
        assert_eq!(self.world.breaches(), []);
        let report = self.db.check_rules().unwrap();
        assert!(report.is_clean(), "{report:?}");
    }

    fn check_format(&self) {
        let mut found = Vec::new();
        let options = permazen_jsck::Options::default();
        let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
        permazen_jsck::check_database(&*self.store, &options, &mut sink, &mut |_| {}).unwrap();
        assert!(found.is_empty(), "{found:?}");
    }

    fn reopen(&mut self) {
        self.db = open(&self.store, self.validation, &self.told);
        self.check_format();
    }
}

#[test]
fn no_rule_is_broken_and_nothing_is_half_done() {
    let first = variable("PERMAZEN_SEED", 1);
    let histories = variable("PERMAZEN_HISTORIES", 200);
    let dir = tempfile::tempdir().unwrap();
    let mut counts = Counts::new();
    for seed in first..first + histories {
        for (what, times) in History::run(seed, dir.path()) {
            *counts.entry(what).or_default() += times;
        }
    }
    println!("{histories} histories: {counts:#?}");
    if histories >= 200 {
        for what in [
            "committed",
            "commit refused",
            "repaired",
            "refused: hook",
            "refused: reference",
            "refused: referenced",
            "refused: missing",
            "refused at once",
            "atomic, undone",
            "operation failed and was done again",
            "transaction died",
            "undo failed",
            "commit of unknown outcome",
            "both committed",
            "one of two committed",
        ] {
            assert!(counts.contains_key(what), "{what} never happened: {counts:#?}");
        }
    }
}
