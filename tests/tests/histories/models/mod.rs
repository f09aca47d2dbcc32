//! Random histories of models with rules and hooks. A naive model says after each operation what
//! the database must contain, whether the operation is refused, and what breaks rules when a
//! transaction commits. In half of the histories, operations of the store fail: nothing is half
//! done then, and no rule is broken by what commits. In half of them, programs of two versions of
//! the models work on the same database. Some databases are pages of a ledger; all their commits
//! are checked. Observers must get exactly the changes. The seed of a history decides everything in
//! it, except which of two concurrent transactions is the first.
//!
//! `java` has typed models and Permazen for Java on one database. It is skipped without Java,
//! unless `PERMAZEN_JAVA` is 1 (see the test `java`).
//!
//! | variable | what it says | without it |
//! |---|---|---|
//! | `PERMAZEN_HISTORIES` | how many histories | 40 |
//! | `PERMAZEN_SEED` | the seed of the first one; the others follow | 1 |

mod concurrent;
#[path = "../../java/driver.rs"]
mod driver;
mod family;
mod faults;
#[allow(clippy::useless_conversion, reason = "numbers have other types in the second version")]
mod first;
mod heard;
mod java;
mod later;
mod naive;
mod second;
mod steps;
mod transaction;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use heard::HeardLog;
use naive::{Breach, World};
use permazen::kv::KvDatabase;
use permazen::kv::fault::{FaultStore, Faults};
use permazen::kv::lmdb::{Durability, LmdbStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::sqlite::SqliteStore;
use permazen::model::{Committed, Rule};
use permazen::{ObjId, Permazen, Result, Tx, Validation};
use permazen_ledger::Page;
use permazen_tests::on_page;
use steps::{New, Op, Random};
use transaction::{first_path, is_about_null};

/// How often things have happened. A run in which something never happens proves little.
pub(crate) type Counts = BTreeMap<&'static str, usize>;

pub(crate) fn count(counts: &mut Counts, what: &'static str) {
    *counts.entry(what).or_default() += 1;
}

/// The events that an observer of commits gets.
pub(crate) type Told = Arc<Mutex<Vec<(ObjId, Committed)>>>;

/// A running program.
pub(crate) struct Program {
    /// 1 or 2.
    pub(crate) version: u8,
    pub(crate) db: Permazen,
    /// Does an operation with the models of this version.
    pub(crate) run: fn(&Tx, &Op) -> Result<New>,
    pub(crate) heard: HeardLog,
}

pub(crate) struct History {
    pub(crate) programs: Vec<Program>,
    /// Whether there are programs of both versions.
    pub(crate) has_versions: bool,
    store: Arc<dyn KvDatabase>,
    pub(crate) validation: Validation,
    pub(crate) told: Told,
    pub(crate) heard: HeardLog,
    /// The committed content.
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

/// The store of a history.
struct Store {
    kv: Arc<dyn KvDatabase>,
    /// The switch that makes its operations fail, if it has one.
    faults: Option<Faults>,
    /// The page of a ledger, if it is one.
    page: Option<Page>,
}

fn store(seed: u64, dir: &Path) -> Store {
    let sound = |kv| Store { kv, faults: None, page: None };
    let faulty = |store: FaultStore<_>| {
        let faults = Some(store.faults());
        Store { kv: Arc::new(store), faults, page: None }
    };
    let page = || {
        let page = on_page::new_page().unwrap();
        (on_page::main_branch(&page).unwrap(), Some(page))
    };
    match seed % 20 {
        0 => {
            let path = dir.join(seed.to_string());
            std::fs::create_dir(&path).unwrap();
            let builder = LmdbStore::builder().create(true);
            let builder = builder.durability(Durability::MayLoseEverything);
            sound(Arc::new(builder.open(&path).unwrap()))
        }
        10 => sound(Arc::new(SqliteStore::open_or_create(dir.join(seed.to_string())).unwrap())),
        5 => {
            let (kv, page) = page();
            Store { page, ..faulty(FaultStore::new(kv)) }
        }
        1..=4 => faulty(FaultStore::new(Arc::new(MemoryStore::new()) as Arc<dyn KvDatabase>)),
        6..=9 => faulty(FaultStore::new(Arc::new(OptimisticDatabase::new(MemoryStore::new())))),
        11..=14 => sound(Arc::new(MemoryStore::new())),
        15..=17 => {
            let (kv, page) = page();
            Store { kv, faults: None, page }
        }
        _ => sound(Arc::new(OptimisticDatabase::new(MemoryStore::new()))),
    }
}

impl History {
    fn run(seed: u64, dir: &Path) -> Counts {
        let _failing = Failing(seed);
        let mut random = Random::new(seed);
        let validation = match random.below(10) {
            0 | 1 => Validation::Early,
            2 => Validation::Off,
            _ => Validation::AtCommit,
        };
        let Store { kv: store, faults, page } = store(seed, dir);
        let mut history = History {
            programs: Vec::new(),
            has_versions: random.one_in(2),
            store,
            validation,
            told: Told::default(),
            heard: HeardLog::default(),
            world: World::default(),
            random,
            counts: Counts::new(),
        };
        history.open();
        for _ in 0..8 {
            let is_alone = !history.has_versions && validation != Validation::Off;
            match &faults {
                None if is_alone && history.random.one_in(4) => history.concurrent(),
                Some(faults) if history.random.one_in(2) => history.faulty(faults),
                _ => history.transaction(),
            }
            history.check();
            if history.has_versions && history.random.one_in(5) {
                history.upgrade();
            }
            if history.random.one_in(4) {
                history.open();
                history.check_format();
            }
        }
        history.check_format();
        if let Some(page) = page {
            let checked = on_page::check_commits(&page, 1).unwrap();
            *history.counts.entry("commits of a page").or_default() += checked.all as usize;
        }
        history.counts
    }

    /// Opens one program, or one of each version.
    fn open(&mut self) {
        let versions: &[u8] = match self.random.below(4) {
            _ if !self.has_versions => &[1],
            0 => &[1],
            1 => &[2],
            _ => &[1, 2],
        };
        self.programs.clear();
        for version in versions {
            let builder = Permazen::builder_shared(Arc::clone(&self.store));
            let open = if *version == 1 { first::open } else { second::open };
            let db = open(builder, self.validation, &self.told, &self.heard);
            let run = if *version == 1 { first::run } else { second::run };
            let heard = self.heard.clone();
            self.programs.push(Program { version: *version, db, run, heard });
        }
    }

    pub(crate) fn some_program(&self, random: &mut Random) -> &Program {
        &self.programs[random.below(self.programs.len())]
    }

    pub(crate) fn stored(&self) -> World {
        self.programs[0].db.read(World::read).unwrap()
    }

    /// Lets a program move all objects. That is no change, so no listener is called.
    fn upgrade(&mut self) {
        self.heard.clear();
        let mut random = self.random.clone();
        let program = self.some_program(&mut random);
        program.db.upgrade_all().run().unwrap();
        let stored = self.stored();
        let mut after = self.world.clone();
        after.sync(&stored);
        assert_eq!(stored, after);
        self.heard.check(&after, &after, program.version, false);
        assert!(self.told.lock().unwrap().is_empty());
        self.world = after;
        self.random = random;
        count(&mut self.counts, "upgraded");
        self.check();
    }

    /// The committed content is that of the naive model, and the rules that it breaks are found.
    pub(crate) fn check(&mut self) {
        assert_eq!(self.stored(), self.world);
        for program in &self.programs {
            self.check_rules(program);
        }
    }

    fn check_rules(&self, program: &Program) {
        let report = program.db.check_rules().unwrap();
        assert_eq!(report.more, 0);
        let mut expected = self.world.breaches(program.version);
        if self.validation != Validation::Off {
            assert_eq!(expected, []);
            assert!(report.is_clean(), "{report:?}");
            return;
        }
        // Of several objects, the first one is listed.
        let is_first = |it: &Breach| it.others.iter().all(|other| it.object < *other);
        expected.retain(is_first);
        let has_nulls = self.world.has_nulls();
        let (checked, unchecked): (Vec<_>, Vec<_>) =
            report.violations.iter().partition(|it| it.cause.is_none());
        for it in unchecked {
            assert!(has_nulls && it.cause.as_deref().is_some_and(is_about_null), "{it}");
        }
        let mut found: Vec<_> = checked
            .into_iter()
            .map(|it| Breach {
                object: it.object,
                path: first_path(&it.path),
                rule: it.rule,
                others: it.others.clone(),
            })
            .collect();
        if has_nulls {
            // Functions that need such a value cannot check the object.
            expected.retain(|it| it.rule != Rule::Valid);
            found.retain(|it| it.rule != Rule::Valid);
        }
        let key = |it: &Breach| (it.object, it.path.clone(), it.rule as u8);
        expected.sort_by_key(key);
        found.sort_by_key(key);
        assert_eq!(found, expected);
    }

    fn check_format(&self) {
        let mut found = Vec::new();
        let options = permazen_jsck::Options::default();
        let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
        permazen_jsck::check_database(&*self.store, &options, &mut sink, &mut |_| {}).unwrap();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn no_rule_is_broken_and_nothing_is_half_done() {
    let first = variable("PERMAZEN_SEED", 1);
    let histories = variable("PERMAZEN_HISTORIES", 40);
    let dir = tempfile::tempdir().unwrap();
    let mut counts = Counts::new();
    for seed in first..first + histories {
        for (what, times) in History::run(seed, dir.path()) {
            *counts.entry(what).or_default() += times;
        }
    }
    println!("{histories} histories: {counts:#?}");
    if histories >= 40 {
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
            "upgraded",
            "index was partial",
            "commits of a page",
        ] {
            assert!(counts.contains_key(what), "{what} never happened: {counts:#?}");
        }
    }
}
