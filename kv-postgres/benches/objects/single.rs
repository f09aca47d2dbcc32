//! Single transactions.

use std::collections::HashMap;
use std::time::Duration;

use permazen::Ref;
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{Postgres, Proxy};

use crate::by_hand::{ByHand, Content, Id, Rows};
use crate::{Person, filled, id, median, open, person, timed};

const PEOPLE: u32 = 20_000;
const HALF: usize = PEOPLE as usize / 2;

/// The work that is compared.
struct World<'w> {
    proxy: &'w Proxy,
    people: &'w [Ref<Person>],
    content: &'w Content,
    /// How many people were used up by transactions that change their rows.
    used: usize,
    /// The prefix of the entries of each person in the index of ages.
    ages: &'w HashMap<Id, Vec<u8>>,
}

impl World<'_> {
    /// A person that was not changed yet, for a transaction that changes it.
    fn fresh(&mut self) -> Ref<Person> {
        self.used += 1;
        self.people[self.used * 7_919 % HALF]
    }

    /// A person that no transaction changes.
    fn kept(&self, number: usize) -> Ref<Person> {
        self.people[HALF + number * 7_919 % HALF]
    }

    /// A line of the table.
    fn line<T>(
        &mut self,
        what: &str,
        rounds: usize,
        mut prepare: impl FnMut(&mut Self, usize) -> T,
        mut ours: impl FnMut(&T),
        mut by_hand: impl FnMut(&T),
    ) {
        let (mut times, mut requests) = ([Vec::new(), Vec::new()], [0, 0]);
        for round in 0..rounds {
            let given = [prepare(self, 2 * round), prepare(self, 2 * round + 1)];
            for turn in 0..2 {
                let side = (turn + round) % 2;
                self.proxy.take_requests();
                times[side].push(match side {
                    0 => timed(|| ours(&given[0])),
                    _ => timed(|| by_hand(&given[1])),
                });
                requests[side] = self.proxy.take_requests();
            }
        }
        let [ours, by_hand] = times.map(|times| median(times).as_secs_f64() * 1e3);
        println!(
            "| {what} | {ours:.2} ms | {by_hand:.2} ms | {:.2} | {} | {} |",
            ours / by_hand,
            requests[0],
            requests[1]
        );
    }
}

pub(crate) fn table(server: &Postgres) {
    let url = server.new_table();
    let people = filled(&url, PEOPLE);
    let ids: Vec<Id> = people.iter().map(|one| id(*one)).collect();
    let store = PostgresStore::open(&url).unwrap();
    let content = Content::of(&store, &ids);
    let ages = ages(&content);
    server.sql("VACUUM ANALYZE");
    let proxy = Proxy::new(server.port());
    let through = proxy.url(&url, server.port());
    let mut world =
        World { proxy: &proxy, people: &people, content: &content, used: 0, ages: &ages };
    for delay in [0, 1] {
        proxy.set_delay(Duration::from_micros(500 * delay));
        println!("A proxy adds {delay} ms to each round trip.\n");
        println!("| transaction | objects | by hand | ratio | round trips | by hand |");
        println!("|---|---|---|---|---|---|");
        compare(&mut world, &through);
        println!();
    }
}

/// The prefix that 100 people share.
pub(crate) fn ages(content: &Content) -> HashMap<Id, Vec<u8>> {
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    let prefix =
        |id: &Id, key: &'_ [u8]| (key.ends_with(id) && key.len() > 8).then_some(key.len() - 8);
    for (id, rows) in &content.objects {
        for (key, _) in rows {
            if let Some(len) = prefix(id, key) {
                *counts.entry(&key[..len]).or_default() += 1;
            }
        }
    }
    let age = |id: &Id, rows: &Rows| {
        let mut prefixes = rows.iter().filter_map(|(key, _)| Some(&key[..prefix(id, key)?]));
        prefixes.find(|prefix| counts[prefix] == 100).unwrap().to_vec()
    };
    content.objects.iter().map(|(id, rows)| (*id, age(id, rows))).collect()
}

pub(crate) fn new_id(like: &Id) -> Id {
    let mut id: Id = rand::random();
    id[0] = like[0];
    id
}

fn compare(world: &mut World<'_>, url: &str) {
    let db = open(url);
    let mut by_hand = ByHand::open(url);
    let content = world.content;
    world.line(
        "load by ID",
        300,
        |world, n| world.kept(n),
        |one| drop(db.read(|tx| tx.get(*one)?.load()).unwrap()),
        |one| assert!(by_hand.load(&id(*one)).unwrap() > 4),
    );
    world.line(
        "the same, all of it sent at once by hand",
        100,
        |world, n| world.kept(n),
        |one| drop(db.read(|tx| tx.get(*one)?.load()).unwrap()),
        |one| assert!(by_hand.load_at_once(&id(*one)).unwrap() > 4),
    );
    let model = id(world.kept(5));
    world.line(
        "create one",
        200,
        |_, n| (n, content.like(&model, &new_id(&model))),
        |(n, _)| db.write(|tx| tx.create(person(3_000_000 + *n as u32)).map(drop)).unwrap(),
        |(_, rows)| by_hand.create(rows).unwrap(),
    );
    by_hand.has_tokens = true;
    world.line(
        "the same, with a token by hand",
        200,
        |_, n| (n, content.like(&model, &new_id(&model))),
        |(n, _)| db.write(|tx| tx.create(person(4_000_000 + *n as u32)).map(drop)).unwrap(),
        |(_, rows)| by_hand.create(rows).unwrap(),
    );
    by_hand.has_tokens = false;
    for (what, has_tokens) in [("create 1,000", false), ("the same, with a token by hand", true)] {
        by_hand.has_tokens = has_tokens;
        world.line(
            what,
            15,
            |world, n| {
                // The same names and ages as the objects have.
                let models = (0..1_000).map(|at| id(world.people[(1_000 * n + at) % HALF]));
                let rows = models.flat_map(|model| content.like(&model, &new_id(&model)));
                let mut rows: Rows = rows.collect();
                rows.sort_unstable();
                (1_000 * n as u32 % 10_000, rows)
            },
            |(first, _)| {
                db.write(|tx| {
                    (*first..first + 1_000).try_for_each(|n| tx.create(person(n)).map(drop))
                })
                .unwrap();
            },
            |(_, rows)| by_hand.create(rows).unwrap(),
        );
    }
    by_hand.has_tokens = false;
    world.line(
        "update an indexed field",
        200,
        |world, n| {
            let one = world.fresh();
            let (own, like) = (id(one), id(world.kept(n)));
            let old = [&world.ages[&own][..], &own].concat();
            let entry = [&world.ages[&like][..], &own].concat();
            let is_age = |key: &[u8], value: &[u8]| {
                key == entry || (key.starts_with(&own) && (1..=5).contains(&value.len()))
            };
            let mut rows = content.like(&like, &own);
            rows.retain(|(key, value)| {
                is_age(key, value) && !content.objects[&own].contains(&(key.clone(), value.clone()))
            });
            (one, n, old, rows)
        },
        |(one, n, ..)| db.write(|tx| tx.get(*one)?.set_age(500 + *n as u32)).unwrap(),
        |(one, _, old, rows)| by_hand.change(&id(*one), &[&old[..]], rows).unwrap(),
    );
    world.line(
        "100 objects by index",
        60,
        |world, n| {
            let number = HALF + n * 100 % HALF;
            (number as u32 / 100, world.ages[&id(world.people[number])].clone())
        },
        |(age, _)| {
            db.read(|tx| {
                tx.index(Person::AGE)?.get(*age)?.iter().try_for_each(|one| one?.load().map(drop))
            })
            .unwrap();
        },
        |(_, prefix)| assert!(by_hand.by_index(prefix).unwrap() >= 100),
    );
    world.line(
        "delete",
        200,
        |world, _| world.fresh(),
        |one| assert!(db.write(|tx| tx.get(*one)?.delete()).unwrap()),
        |one| {
            let rows = &content.objects[&id(*one)];
            let keys: Vec<&[u8]> = rows.iter().map(|(key, _)| &key[..]).collect();
            by_hand.change(&id(*one), &keys, &Rows::new()).unwrap();
        },
    );
}
