//! Small commits, on databases that flush and on ones that do not.

use std::path::Path;

use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::{Permazen, Tx};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::{Case, Line, Round, measure, world};
use crate::by_hand::people;
use crate::data::{self, new_id};
use crate::measure::timed;
use crate::model::Person;
use crate::pairs::heed::Environment;
use crate::settings::Settings;

/// What is committed stays, so both sides grow by the same people.
struct Side {
    db: Permazen,
    by_hand: Environment,
}

impl Side {
    fn new(dir: &Path, durable: bool) -> Side {
        std::fs::create_dir_all(dir).unwrap();
        let durability = if durable { Durability::Full } else { Durability::MayLoseEverything };
        let builder = LmdbStore::builder().create(true).durability(durability);
        let store = builder.open(dir.join("made")).unwrap();
        let db = world::models(store.clone());
        db.write(|tx| {
            for person in data::people(10_000, 7) {
                tx.create(Person::from(&person))?;
            }
            Ok(())
        })
        .unwrap();
        drop((db, store));
        world::copy_files(&dir.join("made"), &[dir.join("ours"), dir.join("by-hand")]);
        let db = world::models(builder.open(dir.join("ours")).unwrap());
        Side { db, by_hand: Environment::open(&dir.join("by-hand"), durable) }
    }

    /// Creates `commits` times `each` people.
    fn case(&self, name: &'static str, goal: f64, commits: usize, each: usize) -> Case<'_> {
        let new =
            move |round: &Round| data::people(commits * each, (each * 1000 + round.number) as u64);
        Case::new(
            name,
            goal,
            move |round| {
                let people = new(round);
                let mut random = StdRng::seed_from_u64((each * 1000 + round.number) as u64);
                timed(people.len(), || {
                    for people in people.chunks(each) {
                        let mut txn = self.by_hand.write();
                        for person in people {
                            people::create(&mut txn, new_id(&mut random), person);
                        }
                        txn.commit();
                    }
                })
            },
            move |round| {
                let people: Vec<Person> = new(round).iter().map(Person::from).collect();
                timed(people.len(), || {
                    for people in people.chunks(each) {
                        let create = |tx: &Tx| {
                            people.iter().try_for_each(|person| tx.create(person).map(drop))
                        };
                        self.db.write(create).unwrap();
                    }
                })
            },
        )
    }

    /// The IDs differ, so people are compared by what they are.
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

pub fn lines(dir: &Path, settings: &Settings) -> Vec<Line> {
    let (flushed, lazy) =
        (Side::new(&dir.join("flushed"), true), Side::new(&dir.join("unflushed"), false));
    let (each, commits) = (settings.batch, settings.commits);
    let cases = [
        flushed.case("create, 1,000 a durable commit", 1.05, 2, each),
        flushed.case("create, one a durable commit", 1.1, commits, 1),
        lazy.case("create, one an unflushed commit", 2.0, commits, 1),
    ];
    let lines = measure(&cases, 10_000, settings.rounds.min(15), 1);
    drop(cases);
    flushed.check();
    lazy.check();
    lines
}
