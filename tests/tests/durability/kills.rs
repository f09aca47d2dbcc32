//! A process that changes objects is killed at random instants. All that it acknowledged must
//! exist. The commit that it was making must exist completely or not at all. The database must be
//! healthy.
//!
//! `PERMAZEN_KILLS` sets how often this is tried with each store (default 25).

use std::path::Path;
use std::time::Duration;

use permazen::kv::memory::MemoryStore;
use permazen::object::Database;

use crate::model::Model;
use crate::processes::{Role, Store, inspect, looking};
use crate::random::{Random, seed, setting};
use crate::workload::{Workload, config};

/// How many rounds use the same database.
const ROUNDS: u64 = 25;

/// The known facts about a database, from the output of its writers and from the objects that were
/// found in it.
pub(crate) struct Known {
    pub(crate) workload: Workload,
    pub(crate) model: Model,
}

impl Known {
    pub(crate) fn new(seed: u64, partition: u8, large: bool) -> Known {
        Known { workload: Workload { seed, partition, large }, model: Model::default() }
    }

    /// The role of a process that continues the workload.
    pub(crate) fn role(&self, name: &'static str, store: Store, path: &Path) -> Role {
        Role { name, store, path: path.to_owned(), workload: self.workload }
    }

    /// Checks the database after its writer has acknowledged `acknowledged` commits.
    fn check(&mut self, store: Store, path: &Path, acknowledged: u64, when: &str) {
        let found = inspect(store.create(path).unwrap(), self.workload, when);
        self.compare(found, acknowledged, when);
    }

    /// Checks the objects that were found after the writer has acknowledged `acknowledged` commits.
    pub(crate) fn compare(&mut self, found: Model, acknowledged: u64, when: &str) {
        let acknowledged = acknowledged.max(self.model.last);
        assert!(
            found.last == acknowledged || found.last == acknowledged + 1,
            "{when}: {acknowledged} was acknowledged, {} is there",
            found.last
        );
        while self.model.last < found.last {
            self.model.perform(self.workload, self.model.last + 1);
        }
        assert_eq!(found, self.model, "{when}: commit {} is not whole", found.last);
    }
}

fn kills(store: Store) {
    let seed = seed(&format!("kills, {store:?}"));
    let rounds = setting("PERMAZEN_KILLS").unwrap_or(25);
    let mut random = Random::new(seed, 0);
    let (mut commits, mut objects, mut unborn) = (0, 0, 0);
    let (mut directory, mut known) = (tempfile::tempdir().unwrap(), Known::new(seed, 0, false));
    for round in 0..rounds {
        let first = round % ROUNDS == 0;
        if first {
            directory = tempfile::tempdir().unwrap();
            known = Known::new(seed.wrapping_add(round), 0, false);
        }
        let path = directory.path().join("store");
        let when = format!("{store:?}, PERMAZEN_SEED={seed}, round {round}");
        let before = known.model.last;
        let mut process = known.role("commit", store, &path).start();
        // Sometimes the kill comes while the database is being opened or created.
        let early = first || random.below(10) == 0;
        if !early {
            process.wait_for("committed");
        }
        let pause = random.below(if early { 16_000 } else { 25_000 });
        let ended = process.kill(Duration::from_micros(pause));
        known.check(store, &path, ended.last("committed "), &when);
        commits += known.model.last - before;
        objects = objects.max(known.model.objects());
        unborn += u64::from(known.model.last == 0);
    }
    assert_eq!(known.model, Model::after(known.workload, known.model.last), "worked out anew");
    // On a busy machine a process is killed soon after its first commit, or before it.
    assert!(commits > rounds / 2 && objects > 5, "{commits} commits, {objects} objects");
    println!(
        "{store:?}: {rounds} kills after {commits} commits, {unborn} of them before the first; at \
         most {objects} objects"
    );
}

#[test]
fn kills_on_lmdb() {
    kills(Store::Lmdb);
}

#[test]
fn kills_on_sqlite() {
    kills(Store::Sqlite);
}

#[test]
fn kills_on_a_page() {
    kills(Store::Page);
}

/// One of two writers is killed, and the other one continues.
fn two_writers(store: Store) {
    let seed = seed(&format!("two writers, {store:?}"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random::new(seed, 0);
    let mut known = [Known::new(seed, 1, false), Known::new(seed, 2, false)];
    let rounds = setting("PERMAZEN_KILLS").map_or(4, |kills| kills.div_ceil(20));
    for round in 0..rounds {
        let when = format!("{store:?}, PERMAZEN_SEED={seed}, round {round}");
        let mut writers = known.each_ref().map(|known| known.role("commit", store, &path).start());
        writers.iter_mut().for_each(|writer| writer.wait_for("committed"));
        let [one, two] = writers;
        let first_dies = random.below(2) == 0;
        let (victim, mut survivor) = if first_dies { (one, two) } else { (two, one) };
        let victim = victim.kill(Duration::from_micros(random.below(20_000)));
        // Locks that the killed process held do not delay the other one.
        (0..3).for_each(|_| survivor.wait_for("committed"));
        let survivor = survivor.stop();
        assert!(survivor.status.success(), "{when}: {:?}", survivor.status);
        let ends = if first_dies { [victim, survivor] } else { [survivor, victim] };
        for (known, ended) in known.iter_mut().zip(ends) {
            known.check(store, &path, ended.last("committed "), &when);
        }
    }
    let counts = known.map(|known| known.model.last);
    assert!(counts.iter().all(|count| *count >= rounds), "{counts:?}");
}

#[test]
fn kills_of_one_of_two_writers_on_lmdb() {
    two_writers(Store::Lmdb);
}

#[test]
fn kills_of_one_of_two_writers_on_sqlite() {
    two_writers(Store::Sqlite);
}

/// How much the file must grow before a process is killed.
const GROWTH: u64 = 300 << 10;

/// Commits are large, and each makes the file grow.
fn growth(store: Store) {
    let seed = seed(&format!("growth, {store:?}"));
    let mut random = Random::new(seed, 0);
    let mut grown = 0;
    for round in 0..setting("PERMAZEN_KILLS").map_or(3, |kills| kills.div_ceil(20)) {
        let when = format!("growth, {store:?}, PERMAZEN_SEED={seed}, round {round}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let mut known = Known::new(seed.wrapping_add(round), 0, true);
        for _ in 0..3 {
            let before = size(&path);
            let mut process = known.role("commit", store, &path).start();
            // On a busy machine the pause before the kill is over after the first commit.
            for _ in 0..100 {
                process.wait_for("committed");
                if size(&path) > before + GROWTH {
                    break;
                }
            }
            let ended = process.kill(Duration::from_micros(random.below(60_000)));
            // The check copies the log of SQLite into the file, and removes it.
            grown = grown.max(size(&path));
            known.check(store, &path, ended.last("committed "), &when);
        }
        grown = grown.max(size(&path));
    }
    assert!(grown > 3 * GROWTH, "the largest file has {grown} bytes");
}

/// The size of the file, with the log that SQLite has not copied into it yet.
fn size(path: &Path) -> u64 {
    let file = if path.is_dir() { path.join("data.mdb") } else { path.to_owned() };
    let log = path.with_file_name("store-wal");
    [file, log].iter().map(|file| std::fs::metadata(file).map_or(0, |file| file.len())).sum()
}

#[test]
fn kills_while_the_file_grows_on_lmdb() {
    growth(Store::Lmdb);
}

#[test]
fn kills_while_the_file_grows_on_sqlite() {
    growth(Store::Sqlite);
}

#[test]
fn kills_while_the_file_grows_on_a_page() {
    growth(Store::Page);
}

/// The operations have effects, and the same ones on the objects as on the model.
#[test]
fn the_model_is_right() {
    let workload = Workload { seed: 7, partition: 3, large: false };
    let db = Database::new(std::sync::Arc::new(MemoryStore::new()));
    let mut model = Model::default();
    let (mut done, mut impossible) = (0, 0);
    for number in 1..=400 {
        let version = workload.version(number);
        let tx = db.begin(&config(version)).unwrap();
        let mut naive = model.clone();
        for step in workload.steps(number) {
            let possible = naive.apply(&step, version);
            assert_eq!(workload.apply(&tx, &step).unwrap(), possible, "{number}: {step:?}");
            *(if possible { &mut done } else { &mut impossible }) += 1;
        }
        tx.rollback().unwrap();
        let tx = db.begin(&config(version)).unwrap();
        workload.perform(&tx, number).unwrap();
        tx.commit().unwrap();
        model.perform(workload, number);
        let tx = db.begin(&looking()).unwrap();
        assert_eq!(Model::read(&tx, workload).unwrap(), model, "commit {number}");
    }
    assert!(done > 1500 && impossible > 300, "{done} done, {impossible} impossible");
    assert_eq!(Model::after(workload, 400), model);
}
