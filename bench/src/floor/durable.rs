//! Small commits, on databases that flush and on ones that do not, and transactions that do
//! nothing.

use std::hint::black_box;
use std::path::Path;

use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::{Permazen, Ref, Tx};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::{Case, Line, Round, measure, world};
use crate::by_hand::{Id, people};
use crate::data::{self, new_id};
use crate::measure::{Cost, timed};
use crate::model::Person;
use crate::pairs::heed::Environment;
use crate::settings::Settings;

/// Committed people stay in the stores, so both sides grow by the same people.
struct Side {
    db: Permazen,
    by_hand: Environment,
    /// The people that were there first.
    ids: Vec<Ref<Person>>,
}

impl Side {
    fn new(dir: &Path, durable: bool, objects: usize) -> Side {
        std::fs::create_dir_all(dir).unwrap();
        let durability = if durable { Durability::Full } else { Durability::MayLoseEverything };
        let builder = LmdbStore::builder().create(true).durability(durability);
        let store = builder.open(dir.join("made")).unwrap();
        let db = world::models(store.clone());
        let people = data::people(objects, 7);
        let create = |tx: &Tx| {
            people.iter().map(|person| Ok(tx.create(Person::from(person))?.to_ref())).collect()
        };
        let ids: Vec<_> = db.write(create).unwrap();
        drop((db, store));
        world::copy_files(&dir.join("made"), &[dir.join("ours"), dir.join("by-hand")]);
        let db = world::models(builder.open(dir.join("ours")).unwrap());
        Side { db, by_hand: Environment::open(&dir.join("by-hand"), durable), ids }
    }

    /// Gives people another score, which is not indexed, in a commit for each.
    fn set_field(&self, name: &'static str, goal: f64) -> Case<'_> {
        let by_hand = |round: &Round| {
            let of = |n: &usize| -> Id { self.ids[*n].id().to_bytes() };
            let ids: Vec<Id> = round.sample.iter().map(of).collect();
            timed(ids.len(), || {
                for (at, id) in ids.into_iter().enumerate() {
                    let mut txn = self.by_hand.write();
                    people::set_score(&mut txn, id, i64::from(round.fresh(at)));
                    txn.commit();
                }
            })
        };
        let ours = |round: &Round| {
            let ids: Vec<_> = round.sample.iter().map(|n| self.ids[*n]).collect();
            timed(ids.len(), || {
                for (at, id) in ids.into_iter().enumerate() {
                    let score = i64::from(round.fresh(at));
                    self.db.write(|tx| tx.get(id)?.set_score(score)).unwrap();
                }
            })
        };
        Case::new(name, goal, by_hand, ours)
    }

    /// Transactions that read nothing.
    fn begin(&self, name: &'static str, count: usize) -> Case<'_> {
        let by_hand = move |_: &Round| {
            timed(count, || (0..count).for_each(|_| drop(black_box(self.by_hand.read()))))
        };
        let ours = move |_: &Round| {
            timed(count, || {
                (0..count).for_each(|_| drop(black_box(self.db.begin_read().unwrap())));
            })
        };
        Case::new(name, None, by_hand, ours)
    }

    /// Creates `commits` times `each` people. No other case has the same `seed`.
    fn case(
        &self,
        (name, goal): (&'static str, f64),
        seed: u64,
        commits: usize,
        each: usize,
    ) -> Case<'_> {
        let ours = move |round: &Round| {
            let people = ours(commits * each, seed + round.number as u64);
            timed(people.len(), || {
                for people in people.chunks(each) {
                    let create =
                        |tx: &Tx| people.iter().try_for_each(|person| tx.create(person).map(drop));
                    self.db.write(create).unwrap();
                }
            })
        };
        Case::new(name, goal, self.by_hand(seed, commits, each), ours)
    }

    /// Creates people in a commit for each: by hand one after the other, ours in this many threads
    /// at the same time.
    fn threads(
        &self,
        (name, goal): (&'static str, f64),
        seed: u64,
        commits: usize,
        threads: usize,
    ) -> Case<'_> {
        let ours = move |round: &Round| {
            let people = ours(commits, seed + round.number as u64);
            let create = |people: &[Person]| {
                for person in people {
                    self.db.write(|tx| tx.create(person).map(drop)).unwrap();
                }
            };
            timed(people.len(), || {
                std::thread::scope(|scope| {
                    for people in people.chunks(commits.div_ceil(threads)) {
                        scope.spawn(move || create(people));
                    }
                });
            })
        };
        Case::new(name, goal, self.by_hand(seed, commits, 1), ours)
    }

    fn by_hand(&self, seed: u64, commits: usize, each: usize) -> impl Fn(&Round) -> Cost + '_ {
        move |round| {
            let seed = seed + round.number as u64;
            let people = data::people(commits * each, seed);
            let mut random = StdRng::seed_from_u64(seed);
            timed(people.len(), || {
                for people in people.chunks(each) {
                    let mut txn = self.by_hand.write();
                    for person in people {
                        people::create(&mut txn, new_id(&mut random), person);
                    }
                    txn.commit();
                }
            })
        }
    }

    /// The IDs differ, so people are compared by their fields.
    fn check(&self) {
        let tx = self.db.begin_read().unwrap();
        let all = tx.all::<Person>().unwrap();
        let ours = all.iter().map(|person| person.unwrap().load().unwrap().into());
        let mut ours: Vec<data::Person> = ours.collect();
        let txn = self.by_hand.read();
        let mut by_hand = Vec::new();
        people::visit_by_age(&txn, (0, i32::MAX), |_, id| by_hand.push(people::load(&txn, id)));
        drop(txn);
        ours.sort();
        by_hand.sort();
        assert!(ours == by_hand, "both sides hold the same people");
        let pairs = self.by_hand.content().len();
        assert_eq!(world::pairs(&self.db).len(), pairs);
    }
}

fn ours(count: usize, seed: u64) -> Vec<Person> {
    data::people(count, seed).iter().map(Person::from).collect()
}

pub fn lines(dir: &Path, settings: &Settings) -> Vec<Line> {
    let objects = settings.objects;
    let flushed = Side::new(&dir.join("flushed"), true, objects);
    let lazy = Side::new(&dir.join("unflushed"), false, objects);
    let (each, commits) = (settings.batch, settings.commits);
    let cases = [
        flushed.case(("create, 1,000 a durable commit", 1.05), 1_000, 2, each),
        flushed.case(("create, eight a durable commit", 1.1), 5_000, commits / 8, 8),
        flushed.case(("create, one a durable commit", 1.1), 2_000, commits, 1),
        flushed.threads(("create in 2 threads, one a durable commit", 1.1), 3_000, commits, 2),
        flushed.threads(("create in 8 threads, one a durable commit", 0.25), 4_000, commits, 8),
        lazy.case(("create, one an unflushed commit", 2.0), 1_000, commits, 1),
        lazy.set_field("set one field, one an unflushed commit", 2.0),
        lazy.begin("begin and end a transaction that reads", settings.sample),
    ];
    let lines = measure(&cases, objects, settings.rounds.min(15), commits);
    drop(cases);
    flushed.check();
    lazy.check();
    lines
}
