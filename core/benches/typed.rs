//! Typed objects on LMDB, and the same work done by hand with heed, and by names and dynamic values
//! with the object layer, in one run, on equal environments.
//!
//! `cargo bench --bench typed` prints the usual report, and then a table of ratios from interleaved
//! rounds. `PERMAZEN_BENCH_OBJECTS` sets the number of objects (100000). `-- small` runs only the
//! transactions that do very little, and the comparison of one thread with two.
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::print_stdout)]

mod by_hand;
mod compare;

use std::hint::black_box;
use std::ops::Bound;
use std::sync::Arc;

use by_hand::{ByHand, SAMPLE};
use compare::{Case, timed};
use heed::{RoTxn, RwTxn};
use permazen::encoding::{FieldType, Value};
use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::object::{FieldValue, Migrate, ObjectBuilder, Transaction};
use permazen::{Counter, Obj, ObjId, Permazen, PermazenObject, Ref, Tx};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

#[derive(PermazenObject, Clone, Debug, Default)]
#[permazen(storage_id = 10)]
struct Person {
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

impl From<by_hand::Person> for Person {
    fn from(person: by_hand::Person) -> Person {
        let by_hand::Person { age, email, name, score, visits } = person;
        Person { age, email, name, score, visits: Counter(visits) }
    }
}

struct World {
    db: Permazen,
    by_hand: ByHand,
    ids: Vec<Ref<Person>>,
    _dir: tempfile::TempDir,
}

impl World {
    fn new(objects: usize) -> World {
        let dir = tempfile::tempdir().unwrap();
        let (ours, by_hand) = (dir.path().join("ours"), dir.path().join("by-hand"));
        let store = LmdbStore::builder()
            .create(true)
            .map_size(8 << 30)
            .durability(Durability::MayLoseEverything)
            .open(&ours)
            .unwrap();
        let db = Permazen::builder(store.clone()).model::<Person>().build().unwrap();
        let mut random = StdRng::seed_from_u64(1);
        let mut ids = db
            .write(|tx| {
                let mut person = || Person::from(by_hand::Person::random(&mut random));
                let create = |_| Ok(tx.create(person())?.to_ref());
                (0..objects).map(create).collect::<permazen::Result<Vec<_>>>()
            })
            .unwrap();
        // The file as it is: a copy that the store makes has its pages full.
        std::fs::create_dir(&by_hand).unwrap();
        std::fs::copy(ours.join("data.mdb"), by_hand.join("data.mdb")).unwrap();
        ids.shuffle(&mut random);
        let by_hand = ByHand::open(&by_hand);
        World { db, by_hand, ids, _dir: dir }
    }
}

// ---------------------------------------------------------------------- measuring

/// Changes are rolled back, so every round starts from the same state.
fn writing<'w>(
    world: &'w World,
    name: &'static str,
    ours: impl Fn(&Tx) + 'w,
    by_hand: impl Fn(&mut RwTxn<'_>) + 'w,
    dynamic: impl Fn(&Transaction) + 'w,
) -> Case<'w> {
    let ours = move || {
        let tx = world.db.begin().unwrap();
        let time = timed(|| ours(&tx));
        tx.rollback().unwrap();
        time
    };
    let by_hand = move || {
        let mut txn = world.by_hand.env.write_txn().unwrap();
        let time = timed(|| by_hand(&mut txn));
        txn.abort();
        time
    };
    let dynamic = move || {
        let tx = world.db.begin().unwrap();
        let time = timed(|| dynamic(tx.core()));
        tx.rollback().unwrap();
        time
    };
    Case { dynamic: Some(Box::new(dynamic)), ..Case::new(name, SAMPLE, ours, by_hand) }
}

/// The second of two equal runs in one transaction counts, so that objects are known.
fn reading<'w>(
    world: &'w World,
    name: &'static str,
    items: usize,
    ours: impl Fn(&Tx) + 'w,
    by_hand: impl Fn(&RoTxn<'_>) + 'w,
    dynamic: impl Fn(&Transaction) + 'w,
) -> Case<'w> {
    let ours = move || {
        let tx = world.db.begin_read().unwrap();
        ours(&tx);
        timed(|| ours(&tx))
    };
    let by_hand = move || {
        let txn = world.by_hand.env.read_txn().unwrap();
        by_hand(&txn);
        timed(|| by_hand(&txn))
    };
    let dynamic = move || {
        let tx = world.db.begin_read().unwrap();
        dynamic(tx.core());
        timed(|| dynamic(tx.core()))
    };
    Case { dynamic: Some(Box::new(dynamic)), ..Case::new(name, items, ours, by_hand) }
}

/// Creates a person by the names of its fields.
fn create_dynamic(tx: &Transaction, person: by_hand::Person) -> ObjId {
    let by_hand::Person { age, email, name, score, visits } = person;
    let schema = tx.schema();
    let mut object = ObjectBuilder::new(Arc::clone(schema.object_type("Person").unwrap()));
    let simple = [
        ("age", age.to_value()),
        ("email", Value::from(email.as_str())),
        ("name", Value::from(name.as_str())),
        ("score", score.to_value()),
    ];
    for (field, value) in simple {
        object.set(field, &FieldValue::Simple(value)).unwrap();
    }
    object.set("visits", &FieldValue::Counter(visits)).unwrap();
    tx.create_with(None, &object.finish()).unwrap().unwrap()
}

fn cases(world: &World) -> Vec<Case<'_>> {
    let mut random = StdRng::seed_from_u64(2);
    let by_hand: Vec<_> = (0..SAMPLE).map(|_| by_hand::Person::random(&mut random)).collect();
    let dynamic = by_hand.clone();
    let people: Vec<Person> = by_hand.iter().cloned().map(Person::from).collect();
    let new_ids: Vec<_> = (0..SAMPLE).map(|_| by_hand::new_id(&mut random)).collect();
    let ids = &world.ids[..SAMPLE.min(world.ids.len())];
    let known = &ids[..ids.len().min(500)];
    let (low, high) = by_hand::ages(world.ids.len());
    let count = move |tx: &Tx, visit: fn(Obj<'_, Person>)| {
        let index = tx.index(Person::AGE).unwrap().range(low..high).unwrap();
        let mut hits = 0;
        for person in index.objects() {
            visit(black_box(person.unwrap()));
            hits += 1;
        }
        hits
    };
    let count_dynamic = move |tx: &Transaction, visit: fn(&Transaction, ObjId)| {
        let (low, high) = (i32::to_value(&low), i32::to_value(&high));
        let index = tx.index_by_name("Person", "age").unwrap();
        let index = index.with_bounds(0, Bound::Included(&low), Bound::Excluded(&high)).unwrap();
        let mut hits = 0;
        for id in index.ids() {
            visit(tx, black_box(id.unwrap()));
            hits += 1;
        }
        hits
    };
    let hits = count(&world.db.begin_read().unwrap(), |_| ());
    vec![
        writing(
            world,
            "create, 5 fields and 2 indexes",
            move |tx| {
                people.iter().for_each(|person| {
                    black_box(tx.create(person.clone()).unwrap());
                })
            },
            move |txn| {
                for (id, person) in new_ids.iter().zip(&by_hand) {
                    world.by_hand.create(txn, *id, &black_box(person.clone()));
                }
            },
            move |tx| {
                for person in &dynamic {
                    black_box(create_dynamic(tx, black_box(person.clone())));
                }
            },
        ),
        reading(
            world,
            "load whole object",
            ids.len(),
            move |tx| {
                ids.iter().for_each(|id| drop(black_box(tx.get(*id).unwrap().load().unwrap())))
            },
            move |txn| {
                for id in ids {
                    drop(black_box(world.by_hand.load(txn, id.id())));
                }
            },
            move |tx| {
                for id in ids {
                    let data = tx.load(id.id(), Migrate::No).unwrap();
                    for field in ["age", "email", "name", "score", "visits"] {
                        drop(black_box(data.decode(field).unwrap()));
                    }
                }
            },
        ),
        reading(
            world,
            "read one field of known object",
            known.len(),
            move |tx| {
                for id in known {
                    black_box(tx.get(*id).unwrap().age().unwrap());
                }
            },
            move |txn| {
                for id in known {
                    black_box(world.by_hand.age(txn, id.id()));
                }
            },
            move |tx| {
                for id in known {
                    black_box(tx.get(id.id(), "age", Migrate::No).unwrap());
                }
            },
        ),
        writing(
            world,
            "update indexed field",
            move |tx| {
                for (id, age) in ids.iter().zip(200_000..) {
                    tx.get(*id).unwrap().set_age(age).unwrap();
                }
            },
            move |txn| {
                for (id, age) in ids.iter().zip(200_000..) {
                    world.by_hand.set_age(txn, id.id(), age);
                }
            },
            move |tx| {
                for (id, age) in ids.iter().zip(200_000..) {
                    tx.set(id.id(), "age", &i32::to_value(&age), Migrate::No).unwrap();
                }
            },
        ),
        // The typed layer gives handles, the other two only IDs.
        reading(
            world,
            "index range, handles or IDs",
            hits,
            move |tx| assert_eq!(count(tx, |_| ()), hits),
            move |txn| assert_eq!(world.by_hand.visit_by_age(txn, (low, high), |_| ()), hits),
            move |tx| assert_eq!(count_dynamic(tx, |_, _| ()), hits),
        ),
        reading(
            world,
            "index range, a field of each",
            hits,
            move |tx| {
                let read = |person: Obj<'_, Person>| {
                    black_box(person.age().unwrap());
                };
                assert_eq!(count(tx, read), hits);
            },
            move |txn| {
                let read = |id| {
                    black_box(world.by_hand.age(txn, id));
                };
                assert_eq!(world.by_hand.visit_by_age(txn, (low, high), read), hits);
            },
            move |tx| {
                let read = |tx: &Transaction, id| {
                    black_box(tx.get(id, "age", Migrate::No).unwrap());
                };
                assert_eq!(count_dynamic(tx, read), hits);
            },
        ),
    ]
}

/// Transactions that do very little, so that their beginning and their end count. They are not
/// flushed.
fn small(world: &World) -> [Case<'_>; 3] {
    let ids = &world.ids[..world.ids.len().min(200)];
    let scores = std::cell::Cell::new(0i64);
    let next = move || {
        scores.set(scores.get() + 1);
        scores.get()
    };
    let (ours, theirs) = (next.clone(), next);
    let commit = Case::new(
        "set one field and commit",
        ids.len(),
        move || {
            let score = ours();
            timed(|| {
                for id in ids {
                    world.db.write(|tx| tx.get(*id)?.set_score(score)).unwrap();
                }
            })
        },
        move || {
            let score = theirs();
            timed(|| {
                for id in ids {
                    let mut txn = world.by_hand.env.write_txn().unwrap();
                    world.by_hand.set_score(&mut txn, id.id(), score);
                    txn.commit().unwrap();
                }
            })
        },
    );
    let begin = Case::new(
        "begin to read and end",
        ids.len(),
        move || timed(|| ids.iter().for_each(|_| drop(world.db.begin_read().unwrap()))),
        move || timed(|| ids.iter().for_each(|_| drop(world.by_hand.env.read_txn().unwrap()))),
    );
    let read = Case::new(
        "begin, read one field, end",
        ids.len(),
        move || {
            timed(|| {
                for id in ids {
                    black_box(world.db.read(|tx| tx.get(*id)?.age()).unwrap());
                }
            })
        },
        move || {
            timed(|| {
                for id in ids {
                    let txn = world.by_hand.env.read_txn().unwrap();
                    black_box(world.by_hand.age(&txn, id.id()));
                }
            })
        },
    );
    [commit, begin, read]
}

/// How many times as much two threads read as one in the same time.
fn threads(world: &World) {
    let read = |ids: &[Ref<Person>]| {
        for _ in 0..3 {
            let tx = world.db.begin_read().unwrap();
            ids.iter().for_each(|id| drop(black_box(tx.get(*id).unwrap().load().unwrap())));
        }
    };
    let on_threads = |threads: usize| {
        timed(|| {
            std::thread::scope(|scope| {
                for part in world.ids.chunks(world.ids.len() / 2).take(threads) {
                    scope.spawn(|| read(part));
                }
            });
        })
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..11 {
        one.push(on_threads(1).as_secs_f64());
        two.push(on_threads(2).as_secs_f64());
    }
    let best = |times: Vec<f64>| times.into_iter().fold(f64::MAX, f64::min);
    println!("two threads load {:.2} times as many objects as one", 2.0 * best(one) / best(two));
}

fn main() {
    let world = World::new(compare::objects());
    if !std::env::args().any(|arg| arg == "small") {
        compare::run("typed", &cases(&world));
    }
    compare::run("typed", &small(&world));
    threads(&world);
}
