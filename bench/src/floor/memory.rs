//! The memory store, and the same pairs in a `BTreeMap`.

use std::cell::RefCell;
use std::hint::black_box;

use permazen::kv::memory::MemoryStore;
use permazen::{Permazen, Ref, Tx};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::world::pairs;
use super::{Case, Round};
use crate::by_hand::{Id, people};
use crate::data::{self, new_id};
use crate::measure::{Cost, timed, walk};
use crate::model::Person;
use crate::pairs::map::Map;

pub struct World {
    db: Permazen,
    map: RefCell<Map>,
    people: Vec<data::Person>,
    ids: Vec<Ref<Person>>,
}

impl World {
    pub fn new(objects: usize) -> World {
        let db = Permazen::builder(MemoryStore::new()).model::<Person>().build().unwrap();
        let people = data::people(objects, 1);
        let create = |tx: &Tx| {
            people.iter().map(|person| Ok(tx.create(Person::from(person))?.to_ref())).collect()
        };
        let ids = db.write::<Vec<_>>(create).unwrap();
        let map = RefCell::new(Map(pairs(&db).into_iter().collect()));
        World { db, map, people, ids }
    }

    fn named(&self, round: &Round) -> (Vec<Ref<Person>>, Vec<Id>) {
        let ids: Vec<_> = round.sample.iter().map(|n| self.ids[*n]).collect();
        let bytes = ids.iter().map(|id| id.id().to_bytes()).collect();
        (ids, bytes)
    }
}

const GOAL: f64 = 1.5;

fn reading<'w>(
    world: &'w World,
    name: &'static str,
    by_hand: fn(&Map, Id),
    ours: fn(&Tx, Ref<Person>),
) -> Case<'w> {
    Case::new(
        name,
        GOAL,
        move |round| {
            let (_, ids) = world.named(round);
            let map = world.map.borrow();
            timed(ids.len(), || ids.iter().for_each(|id| by_hand(&map, *id)))
        },
        move |round| {
            let (ids, _) = world.named(round);
            let tx = world.db.begin_read().unwrap();
            timed(ids.len(), || ids.iter().for_each(|id| ours(&tx, *id)))
        },
    )
}

/// Our changes are rolled back. `by_hand` undoes its own after it has taken the time.
fn writing<'w>(
    world: &'w World,
    name: &'static str,
    by_hand: impl Fn(&mut Map, &Round, &[Id]) -> Cost + 'w,
    ours: impl Fn(&Tx, &Round, &[Ref<Person>]) -> Cost + 'w,
) -> Case<'w> {
    Case::new(
        name,
        GOAL,
        move |round| by_hand(&mut world.map.borrow_mut(), round, &world.named(round).1),
        move |round| {
            let tx = world.db.begin().unwrap();
            let cost = ours(&tx, round, &world.named(round).0);
            tx.rollback().unwrap();
            cost
        },
    )
}

fn new_people(round: &Round) -> Vec<data::Person> {
    data::people(round.sample.len(), 1000 + round.number as u64)
}

pub fn cases(world: &World) -> Vec<Case<'_>> {
    let mut cases = vec![
        writing(
            world,
            "create",
            |map, round, _| {
                let people = new_people(round);
                let mut random = StdRng::seed_from_u64(round.number as u64);
                let ids: Vec<Id> = people.iter().map(|_| new_id(&mut random)).collect();
                let cost = timed(people.len(), || {
                    for (id, person) in ids.iter().zip(&people) {
                        people::create(map, *id, person);
                    }
                });
                ids.iter().for_each(|id| people::delete(map, *id));
                cost
            },
            |tx, round, _| {
                let people: Vec<Person> = new_people(round).iter().map(Person::from).collect();
                timed(people.len(), || {
                    for person in &people {
                        black_box(tx.create(person).unwrap());
                    }
                })
            },
        ),
        reading(
            world,
            "load the whole object",
            |map, id| drop(black_box(people::load(map, id))),
            |tx, id| drop(black_box(tx.get(id).unwrap().load().unwrap())),
        ),
        reading(
            world,
            "read one field",
            |map, id| {
                black_box(people::score(map, id));
            },
            |tx, id| {
                black_box(tx.get(id).unwrap().score().unwrap());
            },
        ),
        writing(
            world,
            "update an indexed field",
            |map, round, ids| {
                let before: Vec<i32> = ids.iter().map(|id| people::load(map, *id).age).collect();
                let cost = timed(ids.len(), || {
                    for (at, id) in ids.iter().enumerate() {
                        people::set_age(map, *id, round.fresh(at));
                    }
                });
                ids.iter().zip(before).for_each(|(id, age)| people::set_age(map, *id, age));
                cost
            },
            |tx, round, ids| {
                timed(ids.len(), || {
                    for (at, id) in ids.iter().enumerate() {
                        tx.get(*id).unwrap().set_age(round.fresh(at)).unwrap();
                    }
                })
            },
        ),
        writing(
            world,
            "delete",
            |map, _, ids| {
                let before: Vec<_> = ids.iter().map(|id| people::load(map, *id)).collect();
                let cost = timed(ids.len(), || ids.iter().for_each(|id| people::delete(map, *id)));
                ids.iter().zip(&before).for_each(|(id, person)| people::create(map, *id, person));
                cost
            },
            |tx, _, ids| {
                timed(ids.len(), || {
                    ids.iter().for_each(|id| assert!(tx.get(*id).unwrap().delete().unwrap()));
                })
            },
        ),
    ];
    cases.extend(indexes(world));
    cases
}

fn indexes(world: &World) -> Vec<Case<'_>> {
    let names = |round: &Round| -> Vec<String> {
        round.sample.iter().map(|n| world.people[*n].name.clone()).collect()
    };
    let range = data::ages(world.people.len(), 5000);
    let hits = world.people.iter().filter(|p| (range.0..range.1).contains(&p.age)).count();
    vec![
        Case::new(
            "index equality",
            GOAL,
            move |round| {
                let (names, map) = (names(round), world.map.borrow());
                timed(names.len(), || {
                    for name in &names {
                        black_box(people::find_by_name(&*map, name).unwrap());
                    }
                })
            },
            move |round| {
                let names = names(round);
                let tx = world.db.begin_read().unwrap();
                timed(names.len(), || {
                    for name in &names {
                        black_box(tx.find(Person::NAME, name).unwrap().unwrap());
                    }
                })
            },
        ),
        Case::new(
            "index entries: values and handles",
            GOAL,
            move |_| {
                let map = world.map.borrow();
                let mut seen = 0;
                let cost = timed(hits, || {
                    people::visit_by_age(&*map, range, |age, id| {
                        black_box((people::decode_age(age), id));
                        seen += 1;
                    });
                });
                assert_eq!(seen, hits);
                cost
            },
            move |_| {
                let tx = world.db.begin_read().unwrap();
                timed(hits, || {
                    let index = tx.index(Person::AGE).unwrap().range(range.0..range.1).unwrap();
                    assert_eq!(walk(index.iter()), hits);
                })
            },
        ),
    ]
}

/// # Panics
/// If any pair differs.
pub fn check(world: World) {
    let mut map = world.map.into_inner();
    let new = data::people(100, u64::MAX);
    let create = |tx: &Tx| {
        let new = new.iter().map(|person| Ok(tx.create(Person::from(person))?.id().to_bytes()));
        let new = new.collect::<permazen::Result<Vec<_>>>()?;
        tx.get(world.ids[0])?.delete()?;
        tx.get(world.ids[1])?.set_age(7)?;
        Ok(new)
    };
    for (id, person) in world.db.write(create).unwrap().iter().zip(&new) {
        people::create(&mut map, *id, person);
    }
    people::delete(&mut map, world.ids[0].id().to_bytes());
    people::set_age(&mut map, world.ids[1].id().to_bytes(), 7);
    let by_hand: Vec<_> = map.0.into_iter().collect();
    assert!(pairs(&world.db) == by_hand, "both sides hold the same pairs");
}
