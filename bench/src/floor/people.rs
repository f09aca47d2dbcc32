//! Fields, indexes, creation and deletion.

use std::hint::black_box;

use permazen::model::{ByValue, Columns, Index};
use permazen::{Ref, Tx};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::world::World;
use super::{Case, Round};
use crate::by_hand::{Id, people};
use crate::data::{self, new_id};
use crate::measure::{Cost, timed, walk};
use crate::model::Person;
use crate::pairs::heed::{Reading, Writing};

/// Objects that a transaction knows: so few that none is forgotten.
const KNOWN: usize = 500;

/// Our side and code by hand in a new transaction that reads.
fn reading<'w>(
    world: &'w World,
    name: &'static str,
    goal: impl Into<Option<f64>>,
    by_hand: impl Fn(&Reading<'_>, &[Id]) + 'w,
    ours: impl Fn(&Tx, &[Ref<Person>]) + 'w,
) -> Case<'w> {
    Case::new(
        name,
        goal,
        move |round| {
            let (_, ids) = world.named(&round.sample);
            let txn = world.by_hand.read();
            timed(ids.len(), || by_hand(&txn, &ids))
        },
        move |round| {
            let (ids, _) = world.named(&round.sample);
            let tx = world.db.begin_read().unwrap();
            timed(ids.len(), || ours(&tx, &ids))
        },
    )
}

/// The second of two equal runs in one transaction counts.
fn known<'w>(
    world: &'w World,
    name: &'static str,
    by_hand: impl Fn(&Reading<'_>, &[Id]) + 'w,
    ours: impl Fn(&Tx, &[Ref<Person>]) + 'w,
) -> Case<'w> {
    let some = |round: &Round| round.sample[..KNOWN.min(round.sample.len())].to_vec();
    Case::new(
        name,
        None,
        move |round| {
            let (_, ids) = world.named(&some(round));
            let txn = world.by_hand.read();
            by_hand(&txn, &ids);
            timed(ids.len(), || by_hand(&txn, &ids))
        },
        move |round| {
            let (ids, _) = world.named(&some(round));
            let tx = world.db.begin_read().unwrap();
            ours(&tx, &ids);
            timed(ids.len(), || ours(&tx, &ids))
        },
    )
}

/// Changes are rolled back.
fn writing<'w>(
    world: &'w World,
    name: &'static str,
    goal: f64,
    by_hand: impl Fn(&mut Writing<'_>, &Round, &[Id]) + 'w,
    ours: impl Fn(&Tx, &Round, &[Ref<Person>]) + 'w,
) -> Case<'w> {
    Case::new(
        name,
        goal,
        move |round| {
            let (_, ids) = world.named(&round.sample);
            let mut txn = world.by_hand.write();
            let cost = timed(ids.len(), || by_hand(&mut txn, round, &ids));
            txn.abort();
            cost
        },
        move |round| {
            let (ids, _) = world.named(&round.sample);
            let tx = world.db.begin().unwrap();
            let cost = timed(ids.len(), || ours(&tx, round, &ids));
            tx.rollback().unwrap();
            cost
        },
    )
}

pub fn cases(world: &World) -> Vec<Case<'_>> {
    let mut cases = objects(world);
    cases.extend(indexes(world));
    cases
}

fn objects(world: &World) -> Vec<Case<'_>> {
    let load = |tx: &Tx, ids: &[Ref<Person>]| {
        ids.iter().for_each(|id| drop(black_box(tx.get(*id).unwrap().load().unwrap())));
    };
    let load_by_hand = |txn: &Reading<'_>, ids: &[Id]| {
        ids.iter().for_each(|id| drop(black_box(people::load(txn, *id))));
    };
    let score = |tx: &Tx, ids: &[Ref<Person>]| {
        ids.iter().for_each(|id| {
            black_box(tx.get(*id).unwrap().score().unwrap());
        });
    };
    let score_by_hand = |txn: &Reading<'_>, ids: &[Id]| {
        ids.iter().for_each(|id| {
            black_box(people::score(txn, *id));
        });
    };
    vec![
        create(world, "create, one transaction", 1.15, |tx, people| {
            people.iter().for_each(|person| {
                black_box(tx.create(person).unwrap());
            });
        }),
        create(world, "create_many, one transaction", 1.0, |tx, people| {
            black_box(tx.create_many(people).unwrap());
        }),
        reading(world, "load the whole object", 1.2, load_by_hand, load),
        known(world, "load, object known", load_by_hand, load),
        reading(world, "read one field", 1.25, score_by_hand, score),
        known(world, "read one field, object known", score_by_hand, score),
        writing(
            world,
            "update an indexed field",
            1.15,
            |txn, round, ids| {
                for (at, id) in ids.iter().enumerate() {
                    people::set_age(txn, *id, round.fresh(at));
                }
            },
            |tx, round, ids| {
                for (at, id) in ids.iter().enumerate() {
                    tx.get(*id).unwrap().set_age(round.fresh(at)).unwrap();
                }
            },
        ),
        writing(
            world,
            "delete",
            1.0,
            |txn, _, ids| ids.iter().for_each(|id| people::delete(txn, *id)),
            |tx, _, ids| {
                ids.iter().for_each(|id| assert!(tx.get(*id).unwrap().delete().unwrap()));
            },
        ),
    ]
}

/// Both sides create the same people, with IDs that each of them draws.
fn create<'w>(
    world: &'w World,
    name: &'static str,
    goal: f64,
    ours: impl Fn(&Tx, &[Person]) + 'w,
) -> Case<'w> {
    let new = |round: &Round| data::people(round.sample.len(), 1000 + round.number as u64);
    Case::new(
        name,
        goal,
        move |round| {
            let people = new(round);
            let mut random = StdRng::seed_from_u64(round.number as u64);
            let mut txn = world.by_hand.write();
            let cost = timed(people.len(), || {
                for person in &people {
                    people::create(&mut txn, new_id(&mut random), person);
                }
            });
            txn.abort();
            cost
        },
        move |round| {
            let people: Vec<Person> = new(round).iter().map(Person::from).collect();
            let tx = world.db.begin().unwrap();
            let cost = timed(people.len(), || ours(&tx, &people));
            tx.rollback().unwrap();
            cost
        },
    )
}

fn indexes(world: &World) -> Vec<Case<'_>> {
    let names = |world: &World, round: &Round| -> (Vec<String>, Vec<Id>) {
        let name = |n: &usize| world.people[*n].name.clone();
        let names = round.sample.iter().map(name).collect();
        (names, world.named(&round.sample).1)
    };
    // Code by hand is given the names as well.
    let equality = move |name: &'static str, goal: f64, ours: fn(&Tx, &[String])| {
        Case::new(
            name,
            goal,
            move |round| {
                let (names, _) = names(world, round);
                let txn = world.by_hand.read();
                timed(names.len(), || {
                    for name in &names {
                        black_box(people::find_by_name(&txn, name).unwrap());
                    }
                })
            },
            move |round| {
                let (names, _) = names(world, round);
                let tx = world.db.begin_read().unwrap();
                timed(names.len(), || ours(&tx, &names))
            },
        )
    };
    vec![
        equality("index equality, view kept", 1.2, |tx, names| {
            let index = tx.index(Person::NAME).unwrap();
            for name in names {
                black_box(index.get(name).unwrap().first().unwrap().unwrap());
            }
        }),
        equality("index equality, view made anew", 1.35, |tx, names| {
            for name in names {
                black_box(tx.find(Person::NAME, name).unwrap().unwrap());
            }
        }),
        by_age(world, "index on numbers: ids", 1.1, see_id, ids),
        by_name(world, "index on strings: ids", 1.1, see_id, ids),
        by_age(world, "index on numbers: typed handles", 1.3, see_id, handles),
        by_name(world, "index on strings: typed handles", 1.3, see_id, handles),
        by_age(
            world,
            "index on numbers: values and handles",
            1.6,
            |age, id| {
                black_box((people::decode_age(age), id));
            },
            values,
        ),
        by_name(
            world,
            "index on strings: values and handles",
            2.2,
            |name, id| drop(black_box((people::decode_name(name), id))),
            values,
        ),
        Case::new(
            "count all objects of a type",
            None,
            |_| {
                let txn = world.by_hand.read();
                timed(world.ids.len(), || assert_eq!(people::count(&txn), world.ids.len()))
            },
            |_| {
                let tx = world.db.begin_read().unwrap();
                timed(world.ids.len(), || {
                    assert_eq!(tx.all::<Person>().unwrap().count().unwrap(), world.ids.len());
                })
            },
        ),
    ]
}

fn see_id(_: &[u8], id: Id) {
    black_box(id);
}

fn ids<C: Columns>(index: Index<'_, Person, C>) -> usize {
    walk(index.as_view().ids())
}

fn handles<C: Columns>(index: Index<'_, Person, C>) -> usize {
    walk(index.objects())
}

fn values<C: Columns>(index: Index<'_, Person, C>) -> usize {
    walk(index.iter())
}

/// Entries that a scan of an index shows.
const ENTRIES: usize = 5000;

fn by_age<'w>(
    world: &'w World,
    name: &'static str,
    goal: f64,
    visit: fn(&[u8], Id),
    ours: fn(Index<'_, Person, ByValue<i32>>) -> usize,
) -> Case<'w> {
    let range = data::ages(world.people.len(), ENTRIES);
    let hits = world.people.iter().filter(|p| (range.0..range.1).contains(&p.age)).count();
    scan(
        world,
        name,
        goal,
        hits,
        move |txn, seen| {
            people::visit_by_age(txn, range, |age, id| {
                visit(age, id);
                *seen += 1;
            })
        },
        move |tx| ours(tx.index(Person::AGE).unwrap().range(range.0..range.1).unwrap()),
    )
}

fn by_name<'w>(
    world: &'w World,
    name: &'static str,
    goal: f64,
    visit: fn(&[u8], Id),
    ours: fn(Index<'_, Person, ByValue<String>>) -> usize,
) -> Case<'w> {
    let mut names: Vec<&str> = world.people.iter().map(|person| person.name.as_str()).collect();
    names.sort_unstable();
    let at = names.len() / 3;
    let range = (names[at], names[(at + ENTRIES).min(names.len() - 1)]);
    let hits = names.iter().filter(|name| (range.0..range.1).contains(*name)).count();
    scan(
        world,
        name,
        goal,
        hits,
        move |txn, seen| {
            people::visit_by_name(txn, range, |name, id| {
                visit(name, id);
                *seen += 1;
            })
        },
        move |tx| ours(tx.index(Person::NAME).unwrap().range(range.0..range.1).unwrap()),
    )
}

fn scan<'w>(
    world: &'w World,
    name: &'static str,
    goal: f64,
    hits: usize,
    by_hand: impl Fn(&Reading<'_>, &mut usize) + 'w,
    ours: impl Fn(&Tx) -> usize + 'w,
) -> Case<'w> {
    Case::new(
        name,
        goal,
        move |_| -> Cost {
            let txn = world.by_hand.read();
            let mut seen = 0;
            let cost = timed(hits, || by_hand(&txn, &mut seen));
            assert_eq!(seen, hits);
            cost
        },
        move |_| {
            let tx = world.db.begin_read().unwrap();
            timed(hits, || assert_eq!(ours(&tx), hits))
        },
    )
}
