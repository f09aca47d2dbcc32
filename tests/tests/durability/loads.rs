//! Processes that load objects into a new database and are killed while they do. They leave an
//! empty database, a complete one, or a store that says that it is only loaded in part.
//!
//! A tenth of `PERMAZEN_KILLS` is how often this is tried (default five times). With
//! `PERMAZEN_ALL`, there are more objects.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use permazen::kv::KvDatabase;
use permazen::object;
use permazen::schema::SchemaError;
use permazen::{Error, Permazen, PermazenObject, Ref, Result};

use crate::processes::{Role, Store, check, say};
use crate::random::{Random, seed, setting};
use crate::workload::Workload;

/// How many objects are loaded.
fn objects() -> usize {
    if std::env::var_os("PERMAZEN_ALL").is_some() { 4000 } else { 2000 }
}

#[derive(PermazenObject)]
struct Town {
    #[permazen(indexed)]
    name: String,
    people: i64,
    twin: Option<Ref<Town>>,
}

fn open(kv: Arc<dyn KvDatabase>) -> Result<Permazen> {
    Permazen::builder_shared(kv).model::<Town>().build()
}

/// Loads, and says when it begins to write and when it has ended.
fn load(db: &Permazen) {
    // With so little memory, it writes a transaction for each 256 KiB of pairs. The names are so
    // long that there are several transactions, also of index entries alone.
    let mut loader = db.loader().unwrap().memory(0);
    let mut twin = None;
    for number in 0..objects() {
        let town = Town { name: format!("town {number:0300}"), people: number as i64, twin };
        twin = Some(loader.add(town).unwrap());
    }
    say("finishing");
    assert_eq!(loader.finish().unwrap().objects, objects() as u64);
    say("loaded");
}

pub(crate) fn child(path: &Path, store: Store) {
    load(&open(store.create(path).unwrap()).unwrap());
}

fn load_and_kill(store: Store) {
    let seed = seed(&format!("loads, {store:?}"));
    let mut random = Random::new(seed, 0);
    // The first one is not killed, to see how long it takes.
    let mut longest = Duration::from_secs(60);
    let (mut empty, mut unfinished, mut complete) = (0, 0, 0);
    for round in 0..=setting("PERMAZEN_KILLS").map_or(5, |kills| kills.div_ceil(10)) {
        let when = format!("loads, {store:?}, PERMAZEN_SEED={seed}, round {round}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let workload = Workload { seed, partition: 0, large: false };
        let mut process = Role { name: "load", store, path: path.clone(), workload }.start();
        process.wait_for("finishing");
        let ended = if round == 0 {
            let begun = std::time::Instant::now();
            process.wait_for("loaded");
            longest = begun.elapsed() * 5 / 4;
            process.ended()
        } else {
            process.kill(longest.mul_f64(random.below(1000) as f64 / 1000.0))
        };
        let is_loaded = ended.said.iter().any(|line| line.contains("loaded"));
        let kv = || store.create(&path).unwrap();
        match open(kv()) {
            Ok(db) => {
                let count = db.read(|tx| tx.all::<Town>()?.count()).unwrap();
                assert!(count == objects() || count == 0 && !is_loaded, "{when}: {count} objects");
                if count == 0 {
                    empty += 1;
                    load(&db);
                } else {
                    complete += 1;
                }
                drop(db);
                check(kv(), &when);
            }
            Err(Error::Object(object::Error::Schema(SchemaError::LoadUnfinished))) => {
                assert!(!is_loaded, "{when}");
                unfinished += 1;
            }
            Err(other) => panic!("{when}: {other}"),
        }
    }
    println!("{store:?}: {empty} empty, {unfinished} unfinished, {complete} complete");
}

#[test]
fn a_killed_load_in_lmdb() {
    load_and_kill(Store::Lmdb);
}

#[test]
fn a_killed_load_in_sqlite() {
    load_and_kill(Store::Sqlite);
}
