//! Six processes create the same database at the same instant and then use it. They write; one
//! makes the file grow, one makes compacting copies, one opens the database again for each commit.
//! Some are killed, from the first instant on.
//!
//! A twentieth of `PERMAZEN_KILLS` is how often this is tried (default four times).

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use permazen::kv::KvDatabase;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::object::Database;
use permazen::{Permazen, PermazenObject};

use crate::kills::Known;
use crate::model::Model;
use crate::processes::{
    Process, Role, Store, check, commit_until, looking, read, say, stop_flag, wait_for_go,
};
use crate::random::{Random, seed, setting};
use crate::workload::Workload;

const PROCESSES: u8 = 6;
/// The processes with large commits, with copies, and with a newly opened database for each commit.
const GROWING: u8 = 1;
const COPYING: u8 = 2;
const OPENING: u8 = 3;

fn rounds() -> u64 {
    setting("PERMAZEN_KILLS").map_or(4, |kills| kills.div_ceil(20))
}

/// Creates the database when it gets the order, and writes to it.
pub(crate) fn child(path: &Path, store: Store, workload: Workload) {
    wait_for_go();
    let stopped = stop_flag();
    let enough = || stopped.load(Ordering::Relaxed);
    if store == Store::Lmdb && workload.partition == COPYING {
        let lmdb = LmdbStore::open_or_create(path).unwrap();
        std::thread::scope(|scope| {
            let db = Database::new(Arc::new(lmdb.clone()));
            scope.spawn(move || commit_until(&db, workload, &enough));
            for number in 1.. {
                lmdb.copy_to(copy(path, number)).unwrap();
                say(&format!("copied {number}"));
                if enough() {
                    break;
                }
            }
        });
    } else if workload.partition == OPENING {
        while !enough() {
            let committed = Cell::new(false);
            let db = Database::new(store.create(path).unwrap());
            commit_until(&db, workload, &|| enough() || committed.replace(true));
        }
    } else {
        commit_until(&Database::new(store.create(path).unwrap()), workload, &enough);
    }
}

/// One of the copies that are made of a store.
fn copy(store: &Path, number: u64) -> PathBuf {
    store.with_file_name(format!("copy-{number}"))
}

/// Checks that each copy is complete. Its state must be one that the store has had, not later than
/// the known state of the store, and not earlier than that of the copy before. Returns the number
/// of copies.
fn check_copies(path: &Path, copied: u64, known: &[Known], when: &str) -> u64 {
    let mut before = vec![0; known.len()];
    for number in 1.. {
        let copy = copy(path, number);
        let when = format!("{when}, copy {number}");
        if !copy.join("data.mdb").exists() {
            assert!(number > copied, "{when}: it was reported, but is not there");
            return number - 1;
        }
        assert!(number <= copied + 1, "{when}: it was made before another one was reported");
        let open = || Arc::new(LmdbStore::open(&copy).unwrap());
        check(open(), &when);
        for (known, before) in known.iter().zip(&mut before) {
            let held = read(open(), known.workload);
            let workload = known.workload.partition;
            let most = known.model.last;
            assert!((*before..=most).contains(&held.last), "{when}, workload {workload}");
            assert_eq!(
                held,
                Model::after(known.workload, held.last),
                "{when}, workload {workload}"
            );
            *before = held.last;
        }
    }
    unreachable!("numbers do not end")
}

/// Processes that begin at the same time.
fn start(roles: &[Role]) -> Vec<Process> {
    let mut processes: Vec<_> = roles.iter().map(Role::start).collect();
    processes.iter_mut().for_each(|process| process.wait_for("ready"));
    processes.iter_mut().for_each(Process::go);
    processes
}

fn create_and_kill(store: Store) {
    let seed = seed(&format!("creating, {store:?}"));
    let mut random = Random::new(seed, 0);
    let (mut copies, mut openings) = (0, 0);
    for round in 0..rounds() {
        let when = format!("creating, {store:?}, PERMAZEN_SEED={seed}, round {round}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let known =
            |partition| Known::new(seed.wrapping_add(round), partition, partition == GROWING);
        let mut known: Vec<_> = (1..=PROCESSES).map(known).collect();
        let roles: Vec<_> = known.iter().map(|known| known.role("create", store, &path)).collect();
        let processes = start(&roles);
        let survivor = random.below(PROCESSES.into()) as usize;
        let mut survivors = Vec::new();
        let mut ended = Vec::new();
        for (number, mut process) in processes.into_iter().enumerate() {
            if number == survivor || random.below(2) == 0 {
                survivors.push((number, process));
            } else {
                if random.below(3) == 0 {
                    process.wait_for("committed");
                }
                ended.push((number, process.kill(Duration::from_micros(random.below(12_000)))));
            }
        }
        for (_, process) in &mut survivors {
            (0..2).for_each(|_| process.wait_for("committed"));
        }
        for (number, process) in survivors {
            let survivor = process.stop();
            assert!(survivor.status.success(), "{when}, process {number}: {:?}", survivor.status);
            ended.push((number, survivor));
        }
        check(store.create(&path).unwrap(), &when);
        let mut copied = 0;
        for (number, ended) in ended {
            let known = &mut known[number];
            let found = read(store.create(&path).unwrap(), known.workload);
            known.compare(found, ended.last("committed "), &format!("{when}, process {number}"));
            copied = copied.max(ended.last("copied "));
        }
        copies += check_copies(&path, copied, &known, &when);
        openings += known[usize::from(OPENING) - 1].model.last;
    }
    // A few rounds can all end too early for one of these processes.
    assert!(rounds() < 20 || openings > 0 && (copies > 0 || store == Store::Sqlite));
    println!("{store:?}: {} rounds, {copies} copies, opened for {openings} commits", rounds());
}

#[test]
fn kills_of_some_of_six_creators_on_lmdb() {
    create_and_kill(Store::Lmdb);
}

#[test]
fn kills_of_some_of_six_creators_on_sqlite() {
    create_and_kill(Store::Sqlite);
}

#[derive(PermazenObject, Default)]
struct Visitor {
    #[permazen(indexed)]
    name: String,
    number: i64,
}

const VISITS: usize = 5;

fn builder(kv: Arc<dyn KvDatabase>) -> Permazen {
    Permazen::builder_shared(kv).model::<Visitor>().build().unwrap()
}

/// Creates a database with its models when it gets the order, and some objects.
pub(crate) fn build(path: &Path, store: Store, optimistic: bool) {
    wait_for_go();
    let kv = store.create(path).unwrap();
    let kv = if optimistic { Arc::new(OptimisticDatabase::new(kv)) } else { kv };
    let db = builder(kv);
    for number in 0..VISITS as i64 {
        let name = format!("{}", std::process::id());
        db.write(|tx| tx.create(Visitor { name: name.clone(), number }).map(drop)).unwrap();
    }
    say("built");
}

fn build_at_once(store: Store) {
    for round in 0..rounds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let name = if round % 2 == 0 { "build-optimistic" } else { "build" };
        let when = format!("{name}, {store:?}, round {round}");
        let workload = Workload { seed: 0, partition: 0, large: false };
        let role = Role { name, store, path: path.clone(), workload };
        for process in start(&vec![role; PROCESSES.into()]) {
            let ended = process.ended();
            assert!(ended.status.success(), "{when}: {:?}", ended.said);
        }
        let kv = store.create(&path).unwrap();
        check(Arc::clone(&kv), &when);
        let db = builder(kv);
        let visits = db.read(|tx| tx.all::<Visitor>()?.count()).unwrap();
        assert_eq!(visits, usize::from(PROCESSES) * VISITS, "{when}");
        let tx = db.database().begin(&looking()).unwrap();
        assert_eq!(tx.bundle().schemas().len(), 1, "{when}");
    }
}

#[test]
fn six_processes_build_the_same_models_on_lmdb() {
    build_at_once(Store::Lmdb);
}

#[test]
fn six_processes_build_the_same_models_on_sqlite() {
    build_at_once(Store::Sqlite);
}
