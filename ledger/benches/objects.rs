//! An object database on a page beside the same one in bare LMDB, in one run.
//!
//! `cargo bench -p permazen-ledger --bench objects` prints a table of medians.
//! `PERMAZEN_BENCH_OBJECTS` sets the number of objects (100000).
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use permazen::{Obj, Permazen, PermazenObject, Ref};
use permazen_kv::KvDatabase;
use permazen_kv::lmdb::LmdbStore;
use permazen_ledger::{MAIN, PageId, Repository};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

#[derive(PermazenObject, Debug, Clone, Default)]
struct Person {
    #[permazen(indexed)]
    age: i32,
    email: String,
    #[permazen(indexed)]
    name: String,
    score: i64,
    #[permazen(element(indexed))]
    tags: Vec<String>,
}

fn open(path: &std::path::Path) -> LmdbStore {
    LmdbStore::builder().create(true).map_size(16 << 30).open(path).unwrap()
}

fn database(store: impl KvDatabase + 'static) -> Permazen {
    Permazen::builder(store).model::<Person>().build().unwrap()
}

fn people(count: usize, random: &mut StdRng) -> Vec<Person> {
    let names = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Fred"];
    let people = (0..count).map(|_| {
        let name = format!("{} {}", names.choose(random).unwrap(), random.random::<u32>());
        let tags = (0..random.random_range(0..3)).map(|tag| format!("tag {tag}")).collect();
        let email = format!("{name}@example.org");
        Person { age: random.random_range(0..90), email, name, score: random.random(), tags }
    });
    people.collect()
}

fn create(db: &Permazen, people: &[Person]) -> (Vec<Ref<Person>>, Duration) {
    let begin = Instant::now();
    let made = db.write(|tx| {
        let made = people.iter().map(|person| tx.create(person.clone()).map(|it| it.to_ref()));
        made.collect()
    });
    (made.unwrap(), begin.elapsed())
}

/// Runs something on both sides, which take turns in being first, and gives the times of each.
fn both(rounds: usize, mut run: impl FnMut(usize, usize) -> Duration) -> [Vec<Duration>; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for side in [round % 2, 1 - round % 2] {
            times[side].push(run(round, side));
        }
    }
    times
}

fn row(what: &str, times: [Vec<Duration>; 2]) {
    let [page, bare] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e6
    });
    println!("| {what} | {page:.1} | {bare:.1} | {:.2} |", page / bare);
}

/// How long it takes to change something in `count` objects in one commit.
fn change(db: &Permazen, refs: &[&Ref<Person>], set: impl Fn(Obj<'_, Person>)) -> Duration {
    let begin = Instant::now();
    db.write(|tx| refs.iter().try_for_each(|it| tx.get(**it).map(&set))).unwrap();
    begin.elapsed()
}

fn main() {
    let count = std::env::var("PERMAZEN_BENCH_OBJECTS").ok().and_then(|count| count.parse().ok());
    let count = count.unwrap_or(100_000);
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let repository =
        Repository::builder(open(folders[0].path())).exclusive().open_or_create().unwrap();
    let page = repository.create_page("bench", PageId::ROOT).unwrap();
    let dbs = [database(page.database(MAIN).unwrap()), database(open(folders[1].path()))];
    let mut random = StdRng::seed_from_u64(1);
    let all = people(count, &mut random);
    println!("{count} objects; microseconds, medians\n");
    println!("| what | page | bare LMDB | ratio |\n|---|---|---|---|");
    let mut refs = [Vec::new(), Vec::new()];
    let times = both(1, |_, side| {
        let (made, time) = create(&dbs[side], &all);
        refs[side] = made;
        time
    });
    row("all objects created in one commit", times);
    let some: Vec<_> = (0..11).map(|_| people(1_000, &mut random)).collect();
    row(
        "1,000 objects created in one commit",
        both(11, |round, side| create(&dbs[side], &some[round]).1),
    );
    let one: Vec<_> = (0..31).map(|_| people(1, &mut random)).collect();
    row(
        "one object created in a commit",
        both(31, |round, side| create(&dbs[side], &one[round]).1),
    );
    let samples: Vec<Vec<usize>> = (0..11)
        .map(|_| {
            let places: Vec<usize> = (0..count).collect();
            places.sample(&mut random, 20_000.min(count)).copied().collect()
        })
        .collect();
    let chosen = |round: usize, side: usize, count: usize| -> Vec<&Ref<Person>> {
        samples[round].iter().take(count).map(|at| &refs[side][*at]).collect()
    };
    for count in [100, 1_000] {
        row(
            &format!("an unindexed field of {count} objects, in one commit"),
            both(11, |round, side| {
                change(&dbs[side], &chosen(round, side, count), |person| {
                    person.set_score(round as i64).unwrap();
                })
            }),
        );
        row(
            &format!("an indexed field of {count} objects, in one commit"),
            both(11, |round, side| {
                change(&dbs[side], &chosen(round, side, count), |person| {
                    person.set_age(100 + round as i32).unwrap();
                })
            }),
        );
    }
    let load = |db: &Permazen, refs: &[&Ref<Person>]| {
        let loaded = db.read(|tx| {
            let begin = Instant::now();
            for it in refs {
                assert!(!tx.get(**it)?.load()?.name.is_empty());
            }
            Ok(begin.elapsed())
        });
        loaded.unwrap()
    };
    row(
        "20,000 objects loaded, warm",
        both(7, |round, side| load(&dbs[side], &chosen(round, side, 20_000))),
    );
    let [page_db, bare] = dbs;
    drop((page_db, page, repository));
    row(
        "20,000 objects loaded, cold",
        both(5, |round, side| match side {
            // Opened anew: none of its nodes is in the cache.
            0 => {
                let repository = Repository::open(open(folders[0].path())).unwrap();
                let page = repository.page("bench", PageId::ROOT).unwrap();
                load(&database(page.database(MAIN).unwrap()), &chosen(round, side, 20_000))
            }
            _ => load(&bare, &chosen(round, side, 20_000)),
        }),
    );
}
