//! Typed objects on LMDB beside the same work done by hand with heed, in one run, on equal environments.
//!
//! `cargo bench --bench typed` prints the usual report and then a table of ratios from interleaved rounds.
//! `PERMAZEN_BENCH_OBJECTS` sets the number of objects (100000).
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::print_stdout)]

mod compare;

use std::hint::black_box;
use std::ops::Bound;

use compare::{Case, timed};
use heed::types::Bytes;
use heed::{CommitOrAbort, Env, EnvOpenOptions, RoTxn, RwTxn};
use permazen::encoding::{Reader, long, string};
use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::{Counter, Permazen, PermazenObject, Ref, Tx};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

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

impl Person {
    fn random(random: &mut StdRng) -> Person {
        let number: u32 = random.random();
        Person {
            age: random.random_range(1..100_000),
            email: format!("user{number}@example.org"),
            name: format!("Person {number}"),
            score: i64::from(number) * 1000,
            visits: Counter(3),
        }
    }
}

/// Objects one measurement works on.
const SAMPLE: usize = 1000;
/// Keys in the file begin with a zero byte.
const ZERO: u8 = 0;

struct World {
    db: Permazen,
    env: Env,
    pairs: heed::Database<'static, Bytes, Bytes>,
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
                let create = |_| Ok(tx.create(Person::random(&mut random))?.to_ref());
                (0..objects).map(create).collect::<permazen::Result<Vec<_>>>()
            })
            .unwrap();
        store.copy_to(&by_hand).unwrap();
        ids.shuffle(&mut random);
        // SAFETY: nobody else uses this file.
        let env =
            unsafe { EnvOpenOptions::new().map_size(8 << 30).max_dbs(1).open(&by_hand).unwrap() };
        let txn = env.read_txn().unwrap();
        let opened = env.open_databases_and_commit(txn, |opener, txn| {
            let pairs = opener.open_database::<Bytes, Bytes>(txn, Some("permazen"))?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(pairs))
        });
        let pairs = opened.unwrap().commit().flatten().unwrap();
        World { db, env, pairs, ids, _dir: dir }
    }
}

// ---------------------------------------------------------------------- by hand

fn bounds<'k>(min: &'k [u8], max: &'k [u8]) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (Bound::Included(min), Bound::Excluded(max))
}

fn object_key(id: [u8; 8], field: &[u8]) -> Vec<u8> {
    [&[ZERO], &id[..], field].concat()
}

fn index_key(field: u8, value: &[u8], id: [u8; 8]) -> Vec<u8> {
    [&[ZERO, field], value, &id[..]].concat()
}

fn long_bytes(value: i64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(9);
    long::write(value, &mut bytes);
    bytes
}

fn text_bytes(value: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len() + 1);
    string::write(value, &mut bytes);
    bytes
}

fn create_by_hand(world: &World, txn: &mut RwTxn<'_>, id: [u8; 8], person: &Person) {
    let pairs = &world.pairs;
    assert!(pairs.get(txn, &object_key(id, &[])).unwrap().is_none());
    let (age, name) = (long_bytes(i64::from(person.age)), text_bytes(&person.name));
    pairs.put(txn, &object_key(id, &[]), &[1]).unwrap();
    pairs.put(txn, &object_key(id, &[11]), &age).unwrap();
    pairs.put(txn, &object_key(id, &[12]), &text_bytes(&person.email)).unwrap();
    pairs.put(txn, &object_key(id, &[13]), &name).unwrap();
    pairs.put(txn, &object_key(id, &[14]), &long_bytes(person.score)).unwrap();
    pairs.put(txn, &object_key(id, &[15]), &person.visits.get().to_be_bytes()).unwrap();
    pairs.put(txn, &[&[ZERO, 0, 0x80, 1], &id[..]].concat(), &[]).unwrap();
    pairs.put(txn, &index_key(11, &age, id), &[]).unwrap();
    pairs.put(txn, &index_key(13, &name, id), &[]).unwrap();
}

fn load_by_hand(world: &World, txn: &RoTxn<'_>, id: [u8; 8]) -> Person {
    let mut person = Person::default();
    let min = object_key(id, &[]);
    let max = (u64::from_be_bytes(id) + 1).to_be_bytes();
    for pair in world.pairs.range(txn, &bounds(&min, &object_key(max, &[]))).unwrap() {
        let (key, value) = pair.unwrap();
        match key.get(9) {
            Some(11) => person.age = long::decode(value).unwrap() as i32,
            Some(12) => person.email = string::read(&mut Reader::new(value)).unwrap(),
            Some(13) => person.name = string::read(&mut Reader::new(value)).unwrap(),
            Some(14) => person.score = long::decode(value).unwrap(),
            Some(15) => person.visits = Counter(i64::from_be_bytes(value.try_into().unwrap())),
            _ => {}
        }
    }
    person
}

fn update_by_hand(world: &World, txn: &mut RwTxn<'_>, id: [u8; 8], age: i32) {
    let key = object_key(id, &[11]);
    let old = world.pairs.get(txn, &key).unwrap().unwrap().to_vec();
    let new = long_bytes(i64::from(age));
    world.pairs.put(txn, &key, &new).unwrap();
    world.pairs.delete(txn, &index_key(11, &old, id)).unwrap();
    world.pairs.put(txn, &index_key(11, &new, id), &[]).unwrap();
}

// ---------------------------------------------------------------------- measuring

/// What is written is rolled back, so every round starts from the same state.
fn writing<'w>(
    world: &'w World,
    name: &'static str,
    ours: impl Fn(&Tx) + 'w,
    by_hand: impl Fn(&mut RwTxn<'_>) + 'w,
) -> Case<'w> {
    let ours = move || {
        let tx = world.db.begin().unwrap();
        let time = timed(|| ours(&tx));
        tx.rollback().unwrap();
        time
    };
    let by_hand = move || {
        let mut txn = world.env.write_txn().unwrap();
        let time = timed(|| by_hand(&mut txn));
        txn.abort();
        time
    };
    Case::new(name, SAMPLE, ours, by_hand)
}

/// The second of two equal runs in one transaction counts, so that objects are known.
fn reading<'w>(
    world: &'w World,
    name: &'static str,
    items: usize,
    ours: impl Fn(&Tx) + 'w,
    by_hand: impl Fn(&RoTxn<'_>) + 'w,
) -> Case<'w> {
    let ours = move || {
        let tx = world.db.begin_read().unwrap();
        ours(&tx);
        timed(|| ours(&tx))
    };
    let by_hand = move || {
        let txn = world.env.read_txn().unwrap();
        by_hand(&txn);
        timed(|| by_hand(&txn))
    };
    Case::new(name, items, ours, by_hand)
}

fn cases(world: &World) -> Vec<Case<'_>> {
    let mut random = StdRng::seed_from_u64(2);
    let people: Vec<Person> = (0..SAMPLE).map(|_| Person::random(&mut random)).collect();
    let new_ids: Vec<[u8; 8]> = (0..SAMPLE)
        .map(|_| {
            let mut id: [u8; 8] = random.random();
            id[0] = 10;
            id
        })
        .collect();
    let people_too = people.clone();
    let ids = &world.ids[..SAMPLE.min(world.ids.len())];
    let known = &ids[..ids.len().min(500)];
    let (low, high) = (20_000, 20_000 + 100_000 * SAMPLE as i32 / world.ids.len() as i32);
    let count = move |tx: &Tx| {
        let index = tx.index(Person::AGE).unwrap().range(low..high).unwrap();
        let mut hits = 0;
        for person in index.objects() {
            black_box(person.unwrap().id());
            hits += 1;
        }
        hits
    };
    let hits = count(&world.db.begin_read().unwrap());
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
                for (id, person) in new_ids.iter().zip(&people_too) {
                    create_by_hand(world, txn, *id, &black_box(person.clone()));
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
                    drop(black_box(load_by_hand(world, txn, id.id().to_bytes())));
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
                    let key = object_key(id.id().to_bytes(), &[11]);
                    black_box(long::decode(world.pairs.get(txn, &key).unwrap().unwrap()).unwrap());
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
                    update_by_hand(world, txn, id.id().to_bytes(), age);
                }
            },
        ),
        reading(
            world,
            "index range, objects",
            hits,
            move |tx| assert_eq!(count(tx), hits),
            move |txn| {
                let bound = |age: i32| [&[ZERO, 11], &long_bytes(i64::from(age))[..]].concat();
                let (min, max) = (bound(low), bound(high));
                let range = world.pairs.range(txn, &bounds(&min, &max)).unwrap();
                let id = |key: &[u8]| <[u8; 8]>::try_from(&key[key.len() - 8..]).unwrap();
                assert_eq!(
                    range.map(|pair| id(pair.unwrap().0)).fold(0, |n, id| {
                        black_box(id);
                        n + 1
                    }),
                    hits
                );
            },
        ),
    ]
}

fn main() {
    let world = World::new(compare::objects());
    compare::run("typed", &cases(&world));
}
