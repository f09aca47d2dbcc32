//! Objects on LMDB, and the same work done by hand with heed, in one run, on equal environments.
//!
//! `cargo bench --bench objects` prints the usual report, and then a table of ratios from
//! interleaved rounds. `PERMAZEN_BENCH_OBJECTS` sets the number of objects (100000).
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::print_stdout)]

mod by_hand;
mod compare;

use std::hint::black_box;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use by_hand::{ByHand, Person, SAMPLE};
use compare::{Case, timed};
use heed::{RoTxn, RwTxn};
use permazen::encoding::{Reader, Value, long, string};
use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::object::{Database, Migrate, ObjectBuilder, Transaction, TransactionConfig};
use permazen::schema::{ResolvedType, SchemaModel};
use permazen::{ObjId, StorageId};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

const SCHEMA: &str = r#"<Schema><ObjectType name="Person" storageId="10">
  <SimpleField name="age" encoding="urn:fdc:permazen.io:2020:int" storageId="11" indexed="true"/>
  <SimpleField name="email" encoding="urn:fdc:permazen.io:2020:String" storageId="12"/>
  <SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String" storageId="13" indexed="true"/>
  <SimpleField name="score" encoding="urn:fdc:permazen.io:2020:long" storageId="14"/>
  <CounterField name="visits" storageId="15"/>
</ObjectType></Schema>"#;

struct World {
    db: Database,
    config: TransactionConfig,
    object_type: Arc<ResolvedType>,
    by_hand: ByHand,
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
        // Both sides work on copies, so that their pages have the same order.
        drop(db);
        drop(store);
        for copy in [&ours, &by_hand] {
            std::fs::create_dir(copy).unwrap();
            std::fs::copy(made.join("data.mdb"), copy.join("data.mdb")).unwrap();
        }
        std::fs::remove_dir_all(&made).unwrap();
        let db = Database::new(Arc::new(open(&ours)));
        let tx = db.begin(&config).unwrap();
        let object_type = tx.schema().object_type("Person").unwrap().clone();
        drop(tx);
        ids.shuffle(&mut random);
        let by_hand = ByHand::open(&by_hand);
        World { db, config, object_type, by_hand, ids, _dir: dir }
    }

    fn sample(&self) -> &[ObjId] {
        &self.ids[..SAMPLE.min(self.ids.len())]
    }
}

fn create(
    tx: &Transaction,
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

fn load(tx: &Transaction, id: ObjId) -> Person {
    let mut person = Person::default();
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

// ---------------------------------------------------------------------- measuring

/// Changes are rolled back, so every round starts from the same state.
fn writing_case<'w>(
    world: &'w World,
    name: &'static str,
    ours: impl Fn(&Transaction) + 'w,
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
            let mut txn = world.by_hand.env.write_txn().unwrap();
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
    ours: impl Fn(&Transaction) + 'w,
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
            let txn = world.by_hand.env.read_txn().unwrap();
            by_hand(&txn);
            timed(|| by_hand(&txn))
        },
    )
}

fn cases(world: &World) -> Vec<Case<'_>> {
    let mut random = StdRng::seed_from_u64(2);
    let people: Arc<[Person]> = (0..SAMPLE).map(|_| Person::random(&mut random)).collect();
    let new_ids: Arc<[ObjId]> = (0..SAMPLE).map(|_| by_hand::new_id(&mut random)).collect();
    let ids = world.sample();
    let known = &ids[..ids.len().min(500)];
    let age = world.object_type.field("age").unwrap();
    let (people_too, new_ids_too) = (people.clone(), new_ids.clone());
    let index = StorageId::new(11).unwrap();
    let (low, high) = by_hand::ages(world.ids.len());
    let in_range = world.db.begin(&world.config.clone().read_only()).unwrap();
    let count_ids = move |tx: &Transaction| -> usize {
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
                    world.by_hand.create(txn, *id, person);
                }
            },
        ),
        reading_case(
            world,
            "load whole object",
            SAMPLE,
            move |tx| ids.iter().for_each(|id| drop(black_box(load(tx, *id)))),
            move |txn| ids.iter().for_each(|id| drop(black_box(world.by_hand.load(txn, *id)))),
        ),
        reading_case(
            world,
            "read one field of known object",
            known.len(),
            move |tx| {
                for id in known {
                    let value = tx
                        .encoded()
                        .get(*id, age, Migrate::Yes, |bytes| long::decode(bytes).unwrap());
                    black_box(value.unwrap());
                }
            },
            move |txn| {
                for id in known {
                    black_box(world.by_hand.age(txn, *id));
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
                    tx.encoded().set(*id, age, &bytes, Migrate::Yes).unwrap();
                }
            },
            move |txn| {
                for (id, new) in ids.iter().zip(0..) {
                    world.by_hand.set_age(txn, *id, 200_000 + new);
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
            move |txn| assert_eq!(world.by_hand.visit_by_age(txn, (low, high), |_| ()), hits),
        ),
        writing_case(
            world,
            "delete",
            move |tx| ids.iter().for_each(|id| assert!(tx.delete(*id).unwrap())),
            move |txn| ids.iter().for_each(|id| world.by_hand.delete(txn, *id)),
        ),
    ]
}

fn main() {
    let world = World::new(compare::objects());
    compare::run("objects", &cases(&world));
}
