//! Moving all objects to another schema on LMDB, and the same pairs written by hand with heed, in
//! batches of the same size, on equal environments. And queries while another schema is recorded
//! that lacks the index, and without such a schema.
//!
//! `cargo bench --bench evolution` prints tables of ratios from interleaved rounds. Moves start
//! from fresh copies. The side that runs first after copying is slower, whichever it is, so the
//! sides take turns. `PERMAZEN_BENCH_OBJECTS` sets the number of objects (100000).
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::print_stdout)]

mod by_hand;
#[allow(dead_code, reason = "it has the case that leaves no trace, and these do")]
mod compare;

use std::path::{Path, PathBuf};
use std::time::Duration;

use by_hand::ByHand;
use compare::timed;
use heed::{EnvFlags, FlagSetMode};
use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::{Counter, Model, Permazen};
use rand::SeedableRng;
use rand::rngs::StdRng;

const ROUNDS: usize = 12;
const BATCH: usize = 1000;
const QUERIES: usize = 10_000;

mod before {
    use super::*;

    #[derive(permazen::PermazenObject)]
    #[permazen(storage_id = 10)]
    pub(super) struct Person {
        #[permazen(indexed, storage_id = 11)]
        pub(super) age: i32,
        #[permazen(storage_id = 12)]
        pub(super) email: String,
        #[permazen(storage_id = 13)]
        pub(super) name: String,
        #[permazen(storage_id = 14)]
        pub(super) score: i64,
        #[permazen(storage_id = 15)]
        pub(super) visits: Counter,
    }
}

/// The age has another type, and the name has an index.
mod changed {
    use super::*;

    #[derive(permazen::PermazenObject)]
    #[permazen(storage_id = 10)]
    pub(super) struct Person {
        #[permazen(indexed, storage_id = 16)]
        age: i64,
        #[permazen(storage_id = 12)]
        email: String,
        #[permazen(indexed, storage_id = 13)]
        name: String,
        #[permazen(storage_id = 14)]
        score: i64,
        #[permazen(storage_id = 15)]
        visits: Counter,
    }
}

/// The name has an index.
mod indexed {
    use super::*;

    #[derive(permazen::PermazenObject)]
    #[permazen(storage_id = 10)]
    pub(super) struct Person {
        #[permazen(indexed, storage_id = 11)]
        age: i32,
        #[permazen(storage_id = 12)]
        email: String,
        #[permazen(indexed, storage_id = 13)]
        name: String,
        #[permazen(storage_id = 14)]
        score: i64,
        #[permazen(storage_id = 15)]
        visits: Counter,
    }
}

fn open(path: &Path) -> LmdbStore {
    let builder = LmdbStore::builder().create(true).map_size(8 << 30);
    builder.durability(Durability::MayLoseEverything).open(path).unwrap()
}

#[derive(permazen::PermazenObject)]
struct Note {
    text: String,
}

/// Objects of the old schema.
fn create(path: &Path, objects: usize) -> LmdbStore {
    let store = open(path);
    let db = Permazen::builder(store.clone()).model::<before::Person>().build().unwrap();
    let mut random = StdRng::seed_from_u64(1);
    db.write(|tx| {
        for _ in 0..objects {
            let by_hand::Person { age, email, name, score, visits } =
                by_hand::Person::random(&mut random);
            tx.create(before::Person { age, email, name, score, visits: Counter(visits) })?;
        }
        Ok(())
    })
    .unwrap();
    store
}

/// A round: the time of each side, on copies that are compared after the first round.
fn round<M: Model>(from: &Path, objects: usize, indexes: bool, at: usize) -> [Duration; 2] {
    let dir = tempfile::tempdir().unwrap();
    let copy = |name: &str| -> PathBuf {
        let path = dir.path().join(name);
        open(from).copy_to(&path).unwrap();
        path
    };
    let (ours, hand) = (copy("ours"), copy("by-hand"));
    let times = if at.is_multiple_of(2) {
        let time = run::<M>(&ours, objects, indexes);
        [time, run_by_hand(&hand, indexes)]
    } else {
        let by_hand = run_by_hand(&hand, indexes);
        [run::<M>(&ours, objects, indexes), by_hand]
    };
    if at == 0 {
        let [ours, hand] = [ours, hand].map(|path| ByHand::open(&path).content());
        assert!(ours == hand, "they wrote other pairs");
    }
    times
}

fn run<M: Model>(path: &Path, objects: usize, indexes: bool) -> Duration {
    let db = Permazen::builder(open(path)).model::<M>().build().unwrap();
    timed(|| {
        let run = if indexes { db.build_indexes() } else { db.upgrade_all() };
        assert_eq!(run.batch(BATCH).run().unwrap().moved, objects as u64);
    })
}

fn run_by_hand(path: &Path, indexes: bool) -> Duration {
    let by_hand = ByHand::open(path);
    // Neither side waits for the disk.
    // SAFETY: no other thread uses the environment, and nothing needs to survive a crash.
    unsafe { by_hand.env.set_flags(EnvFlags::NO_SYNC, FlagSetMode::Enable).unwrap() };
    timed(|| {
        loop {
            let mut txn = by_hand.env.write_txn().unwrap();
            let ids = by_hand.objects_in(&txn, 1, BATCH);
            if ids.is_empty() {
                break;
            }
            ids.into_iter().for_each(|id| by_hand.move_object(&mut txn, id, !indexes));
            txn.commit().unwrap();
        }
    })
}

fn case<M: Model>(name: &str, indexes: bool, objects: usize) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("before");
    Permazen::builder(create(&path, objects)).model::<M>().build().unwrap();
    let rounds = (0..ROUNDS).map(|at| round::<M>(&path, objects, indexes, at));
    print(name, &rounds.collect::<Vec<_>>(), objects);
}

/// A row of a table: the medians of both sides for each object or query, and their ratio.
fn print(name: &str, times: &[[Duration; 2]], count: usize) {
    let median = |side: usize| {
        let mut times: Vec<Duration> = times.iter().map(|times| times[side]).collect();
        times.sort();
        times[times.len() / 2].as_nanos() as f64 / count as f64
    };
    let (first, second) = (median(0), median(1));
    println!("{name:32} {first:>9.1} ns {second:>9.1} ns {:>8.2}", first / second);
}

/// Queries, `each` in one transaction: with another schema, of whose type there are no objects, and
/// with one schema.
fn queries(name: &str, each: usize, objects: usize) {
    let dir = tempfile::tempdir().unwrap();
    let stores = ["two", "one"].map(|name| create(&dir.path().join(name), objects));
    let newer = Permazen::builder(stores[0].clone()).model::<changed::Person>().model::<Note>();
    let note = || Note { text: "The newer schema is in use.".into() };
    newer.build().unwrap().write(|tx| tx.create(note()).map(drop)).unwrap();
    let sides =
        stores.map(|store| Permazen::builder(store).model::<before::Person>().build().unwrap());
    let round = |_| {
        sides.each_ref().map(|db| {
            timed(|| {
                for first in (0..QUERIES).step_by(each) {
                    let count = db.read(|tx| {
                        (first..first + each).try_fold(0, |count, query| {
                            // No person is that old.
                            let found =
                                tx.index(before::Person::AGE)?.get(100_000 + query as i32)?;
                            Ok(count + found.count()?)
                        })
                    });
                    assert_eq!(count.unwrap(), 0);
                }
            })
        })
    };
    print(name, &(0..ROUNDS).map(round).collect::<Vec<_>>(), QUERIES);
}

fn main() {
    let objects = compare::objects();
    println!("{objects} objects; medians of {ROUNDS} interleaved rounds, time per object");
    println!("{:32} {:>12} {:>12} {:>8}", "", "evolution", "by hand", "ratio");
    case::<changed::Person>("upgrade_all", false, objects);
    case::<indexed::Person>("build_indexes", true, objects);
    println!("{:32} {:>12} {:>12} {:>8}", "", "two schemas", "one", "ratio");
    queries("one query a transaction", 1, objects);
    queries("100 queries a transaction", 100, objects);
}
