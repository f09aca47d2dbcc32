//! Objects on LMDB beside the same work done by hand with heed, in one run, on equal environments.
//!
//! `cargo bench --bench objects` prints the usual report and then a table of ratios from interleaved
//! rounds. `PERMAZEN_BENCH_OBJECTS` sets the number of objects (100000).
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::print_stdout)]

mod compare;

use std::hint::black_box;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use compare::{Case, timed};
use heed::types::Bytes;
use heed::{CommitOrAbort, Env, EnvOpenOptions, RoTxn, RwTxn};
use permazen::encoding::{Reader, Value, long, string};
use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::object::{Database, Migrate, ObjectBuilder, Transaction, TransactionConfig};
use permazen::schema::{ResolvedType, SchemaModel};
use permazen::{ObjId, StorageId};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

const SCHEMA: &str = r#"<Schema><ObjectType name="Person" storageId="10">
  <SimpleField name="age" encoding="urn:fdc:permazen.io:2020:int" storageId="11" indexed="true"/>
  <SimpleField name="email" encoding="urn:fdc:permazen.io:2020:String" storageId="12"/>
  <SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String" storageId="13" indexed="true"/>
  <SimpleField name="score" encoding="urn:fdc:permazen.io:2020:long" storageId="14"/>
  <CounterField name="visits" storageId="15"/>
</ObjectType></Schema>"#;

/// Objects one measurement works on.
const SAMPLE: usize = 1000;
/// Keys in the file begin with a zero byte.
const ZERO: u8 = 0;

#[derive(Clone)]
struct Person {
    age: i32,
    email: String,
    name: String,
    score: i64,
    visits: i64,
}

impl Person {
    fn random(random: &mut StdRng) -> Person {
        let number: u32 = random.random();
        Person {
            age: random.random_range(1..100_000),
            email: format!("user{number}@example.org"),
            name: format!("Person {number}"),
            score: i64::from(number) * 1000,
            visits: 3,
        }
    }
}

struct World {
    db: Database,
    config: TransactionConfig,
    object_type: Arc<ResolvedType>,
    env: Env,
    pairs: heed::Database<'static, Bytes, Bytes>,
    ids: Vec<ObjId>,
    _dir: tempfile::TempDir,
}

impl World {
    fn new(objects: usize) -> World {
        let dir = tempfile::tempdir().unwrap();
        let [made, ours, by_hand] = ["made", "ours", "by-hand"].map(|name| dir.path().join(name));
        let open = |path: &Path| {
            let mut builder = LmdbStore::builder();
            builder = builder.create(true).map_size(8 << 30);
            builder.durability(Durability::MayLoseEverything).open(path).unwrap()
        };
        let store = open(&made);
        let model = SchemaModel::from_xml(SCHEMA.as_bytes()).unwrap();
        let config = TransactionConfig::new(model).unwrap();
        let db = Database::new(Arc::new(store.clone()));
        let mut random = StdRng::seed_from_u64(1);
        let tx = db.begin(&config).unwrap();
        let object_type = tx.schema().object_type("Person").unwrap().clone();
        let mut ids = Vec::with_capacity(objects);
        for _ in 0..objects {
            ids.push(create(&tx, None, &object_type, &Person::random(&mut random)));
        }
        tx.commit().unwrap();
        // Both sides work on copies, whose pages lie in the same order.
        store.copy_to(&ours).unwrap();
        store.copy_to(&by_hand).unwrap();
        drop(db);
        drop(store);
        std::fs::remove_dir_all(&made).unwrap();
        let db = Database::new(Arc::new(open(&ours)));
        let tx = db.begin(&config).unwrap();
        let object_type = tx.schema().object_type("Person").unwrap().clone();
        drop(tx);
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
        World { db, config, object_type, env, pairs, ids, _dir: dir }
    }

    fn sample(&self) -> &[ObjId] {
        &self.ids[..SAMPLE.min(self.ids.len())]
    }
}

fn create(
    tx: &Transaction<'_>,
    id: Option<ObjId>,
    object_type: &Arc<ResolvedType>,
    person: &Person,
) -> ObjId {
    let mut object = ObjectBuilder::new(object_type.clone());
    let [age, email, name, score, visits] = &object_type.fields[..] else { unreachable!() };
    let write = |value: i64| {
        move |out: &mut Vec<u8>| {
            long::write(value, out);
            Ok(())
        }
    };
    let text = |value: &str| {
        let value = value.to_owned();
        move |out: &mut Vec<u8>| {
            string::write(&value, out);
            Ok(())
        }
    };
    object.write_simple(age, write(i64::from(person.age))).unwrap();
    object.write_simple(email, text(&person.email)).unwrap();
    object.write_simple(name, text(&person.name)).unwrap();
    object.write_simple(score, write(person.score)).unwrap();
    object.write_counter(visits, person.visits);
    tx.create_with(id, &object.finish()).unwrap().unwrap()
}

// ---------------------------------------------------------------------- by hand

fn bounds<'k>(min: &'k [u8], max: &'k [u8]) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (Bound::Included(min), Bound::Excluded(max))
}

fn object_key(id: ObjId, field: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(16);
    key.push(ZERO);
    key.extend_from_slice(id.as_bytes());
    key.extend_from_slice(field);
    key
}

fn index_key(field: u8, value: &[u8], id: ObjId) -> Vec<u8> {
    let mut key = Vec::with_capacity(value.len() + 10);
    key.extend_from_slice(&[ZERO, field]);
    key.extend_from_slice(value);
    key.extend_from_slice(id.as_bytes());
    key
}

fn schema_index_key(id: ObjId) -> Vec<u8> {
    let mut key = vec![ZERO, 0, 0x80, 1];
    key.extend_from_slice(id.as_bytes());
    key
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

fn create_by_hand(world: &World, txn: &mut RwTxn<'_>, id: ObjId, person: &Person) {
    let pairs = &world.pairs;
    assert!(pairs.get(txn, &object_key(id, &[])).unwrap().is_none());
    let (age, name) = (long_bytes(i64::from(person.age)), text_bytes(&person.name));
    pairs.put(txn, &object_key(id, &[]), &[1]).unwrap();
    pairs.put(txn, &object_key(id, &[11]), &age).unwrap();
    pairs.put(txn, &object_key(id, &[12]), &text_bytes(&person.email)).unwrap();
    pairs.put(txn, &object_key(id, &[13]), &name).unwrap();
    pairs.put(txn, &object_key(id, &[14]), &long_bytes(person.score)).unwrap();
    pairs.put(txn, &object_key(id, &[15]), &person.visits.to_be_bytes()).unwrap();
    pairs.put(txn, &schema_index_key(id), &[]).unwrap();
    pairs.put(txn, &index_key(11, &age, id), &[]).unwrap();
    pairs.put(txn, &index_key(13, &name, id), &[]).unwrap();
}

fn after(id: ObjId) -> Vec<u8> {
    let mut end = object_key(id, &[]);
    while end.last() == Some(&0xff) {
        end.pop();
    }
    *end.last_mut().unwrap() += 1;
    end
}

fn load_by_hand(world: &World, txn: &RoTxn<'_>, id: ObjId) -> Person {
    let mut person =
        Person { age: 0, email: String::new(), name: String::new(), score: 0, visits: 0 };
    let (min, max) = (object_key(id, &[]), after(id));
    for pair in world.pairs.range(txn, &bounds(&min, &max)).unwrap() {
        let (key, value) = pair.unwrap();
        match key.get(9) {
            Some(11) => person.age = long::decode(value).unwrap() as i32,
            Some(12) => person.email = string::read(&mut Reader::new(value)).unwrap(),
            Some(13) => person.name = string::read(&mut Reader::new(value)).unwrap(),
            Some(14) => person.score = long::decode(value).unwrap(),
            Some(15) => person.visits = i64::from_be_bytes(value.try_into().unwrap()),
            _ => {}
        }
    }
    person
}

fn load(tx: &Transaction<'_>, id: ObjId) -> Person {
    let mut person =
        Person { age: 0, email: String::new(), name: String::new(), score: 0, visits: 0 };
    tx.visit(id, Migrate::Yes, |_, pair| {
        if let Some((field, _, value)) = pair {
            match field.storage_id.get() {
                11 => person.age = long::decode(value).unwrap() as i32,
                12 => person.email = string::read(&mut Reader::new(value)).unwrap(),
                13 => person.name = string::read(&mut Reader::new(value)).unwrap(),
                14 => person.score = long::decode(value).unwrap(),
                15 => person.visits = i64::from_be_bytes(value.try_into().unwrap()),
                _ => {}
            }
        }
        Ok(())
    })
    .unwrap();
    person
}

fn update_by_hand(world: &World, txn: &mut RwTxn<'_>, id: ObjId, age: i32) {
    let key = object_key(id, &[11]);
    let old = world.pairs.get(txn, &key).unwrap().unwrap().to_vec();
    let new = long_bytes(i64::from(age));
    if old != new {
        world.pairs.put(txn, &key, &new).unwrap();
        world.pairs.delete(txn, &index_key(11, &old, id)).unwrap();
        world.pairs.put(txn, &index_key(11, &new, id), &[]).unwrap();
    }
}

fn delete_by_hand(world: &World, txn: &mut RwTxn<'_>, id: ObjId) {
    let (min, max) = (object_key(id, &[]), after(id));
    let mut entries = Vec::new();
    for pair in world.pairs.range(txn, &bounds(&min, &max)).unwrap() {
        let (key, value) = pair.unwrap();
        if let Some(field @ (11 | 13)) = key.get(9) {
            entries.push(index_key(*field, value, id));
        }
    }
    world.pairs.delete_range(txn, &bounds(&min, &max)).unwrap();
    for entry in entries {
        world.pairs.delete(txn, &entry).unwrap();
    }
    world.pairs.delete(txn, &schema_index_key(id)).unwrap();
}

// ---------------------------------------------------------------------- measuring

/// What is written is rolled back, so every round starts from the same state.
fn writing_case<'w>(
    world: &'w World,
    name: &'static str,
    ours: impl Fn(&Transaction<'_>) + 'w,
    by_hand: impl Fn(&mut RwTxn<'_>) + 'w,
) -> Case<'w> {
    Case::new(
        name,
        SAMPLE,
        move || {
            let tx = world.db.begin(&world.config).unwrap();
            let time = timed(|| ours(&tx));
            tx.rollback().unwrap();
            time
        },
        move || {
            let mut txn = world.env.write_txn().unwrap();
            let time = timed(|| by_hand(&mut txn));
            txn.abort();
            time
        },
    )
}

fn reading_case<'w>(
    world: &'w World,
    name: &'static str,
    items: usize,
    ours: impl Fn(&Transaction<'_>) + 'w,
    by_hand: impl Fn(&RoTxn<'_>) + 'w,
) -> Case<'w> {
    let config = world.config.clone().read_only();
    Case::new(
        name,
        items,
        move || {
            let tx = world.db.begin(&config).unwrap();
            ours(&tx);
            timed(|| ours(&tx))
        },
        move || {
            let txn = world.env.read_txn().unwrap();
            by_hand(&txn);
            timed(|| by_hand(&txn))
        },
    )
}

fn cases(world: &World) -> Vec<Case<'_>> {
    let mut random = StdRng::seed_from_u64(2);
    let people: Arc<[Person]> = (0..SAMPLE).map(|_| Person::random(&mut random)).collect();
    let mut new_id = || {
        let mut bytes: [u8; 8] = random.random();
        bytes[0] = 10;
        ObjId::from_bytes(bytes).unwrap()
    };
    let new_ids: Arc<[ObjId]> = (0..SAMPLE).map(|_| new_id()).collect();
    let ids = world.sample();
    let known = &ids[..ids.len().min(500)];
    let age = world.object_type.field("age").unwrap();
    let (people_too, new_ids_too) = (people.clone(), new_ids.clone());
    let index = StorageId::new(11).unwrap();
    let (low, high) = (20_000, 20_000 + 100_000 * SAMPLE as i32 / world.ids.len() as i32);
    let in_range = world.db.begin(&world.config.clone().read_only()).unwrap();
    let count_ids = move |tx: &Transaction<'_>| -> usize {
        let view = tx
            .index(index)
            .unwrap()
            .with_bounds(0, Bound::Included(&Value::Int(low)), Bound::Excluded(&Value::Int(high)))
            .unwrap();
        let mut count = 0;
        for id in view.ids() {
            black_box(id.unwrap());
            count += 1;
        }
        count
    };
    let hits = count_ids(&in_range);
    drop(in_range);
    vec![
        writing_case(
            world,
            "create, 5 fields and 2 indexes",
            move |tx| {
                for (id, person) in new_ids.iter().zip(people.iter()) {
                    create(tx, Some(*id), &world.object_type, person);
                }
            },
            move |txn| {
                for (id, person) in new_ids_too.iter().zip(people_too.iter()) {
                    create_by_hand(world, txn, *id, person);
                }
            },
        ),
        reading_case(
            world,
            "load whole object",
            SAMPLE,
            move |tx| ids.iter().for_each(|id| drop(black_box(load(tx, *id)))),
            move |txn| ids.iter().for_each(|id| drop(black_box(load_by_hand(world, txn, *id)))),
        ),
        reading_case(
            world,
            "read one field of known object",
            known.len(),
            move |tx| {
                for id in known {
                    let value = tx
                        .read_encoded(*id, age, Migrate::Yes, |bytes| long::decode(bytes).unwrap());
                    black_box(value.unwrap());
                }
            },
            move |txn| {
                for id in known {
                    let value = world.pairs.get(txn, &object_key(*id, &[11])).unwrap().unwrap();
                    black_box(long::decode(value).unwrap());
                }
            },
        ),
        writing_case(
            world,
            "update indexed field",
            move |tx| {
                for (id, new) in ids.iter().zip(0..) {
                    let mut bytes = Vec::with_capacity(9);
                    long::write(200_000 + new, &mut bytes);
                    tx.write_encoded(*id, age, &bytes, Migrate::Yes).unwrap();
                }
            },
            move |txn| {
                for (id, new) in ids.iter().zip(0..) {
                    update_by_hand(world, txn, *id, 200_000 + new);
                }
            },
        ),
        reading_case(
            world,
            "index range, ids",
            hits,
            move |tx| {
                black_box(count_ids(tx));
            },
            move |txn| {
                let bound = |age: i32| {
                    let mut key = vec![ZERO, 11];
                    key.extend(long_bytes(i64::from(age)));
                    key
                };
                let (min, max) = (bound(low), bound(high));
                let mut count = 0;
                for pair in world.pairs.range(txn, &bounds(&min, &max)).unwrap() {
                    let (key, _) = pair.unwrap();
                    let (_, id) = key.split_last_chunk::<8>().unwrap();
                    black_box(ObjId::from_bytes(*id).unwrap());
                    count += 1;
                }
                assert_eq!(count, hits);
            },
        ),
        writing_case(
            world,
            "delete",
            move |tx| ids.iter().for_each(|id| assert!(tx.delete(*id).unwrap())),
            move |txn| ids.iter().for_each(|id| delete_by_hand(world, txn, *id)),
        ),
    ]
}

fn main() {
    let world = World::new(compare::objects());
    compare::run("objects", &cases(&world));
}
