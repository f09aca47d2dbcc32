//! The operations that are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hint::black_box;
use std::path::Path;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Durability, KvDatabase, TxOptions};
use permazen::{Counter, Obj, ObjIdGenerator, Permazen, PermazenObject, Ref, Tx};
use permazen_jsck::Options;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::by_hand::{self, ByHand};
use crate::count::operation;

/// How many objects there are, so that the trees of the stores have some levels.
const OBJECTS: usize = 5000;
/// How often an operation is repeated.
const TIMES: usize = 500;

/// The fields of [`by_hand::Person`], which has the same pairs.
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
        let by_hand::Person { age, email, name, score, visits } = by_hand::Person::random(random);
        Person { age, email, name, score, visits: Counter(visits) }
    }
}

#[derive(PermazenObject, Clone, Debug, Default)]
#[permazen(storage_id = 20)]
struct Club {
    #[permazen(inverse_delete = "nullify", storage_id = 21)]
    owner: Option<Ref<Person>>,
    #[permazen(storage_id = 22, element(indexed, storage_id = 23))]
    dates: Vec<i32>,
    #[permazen(storage_id = 24, element(indexed, storage_id = 25))]
    rooms: BTreeSet<i32>,
    #[permazen(storage_id = 26, key(indexed, storage_id = 27), value(storage_id = 28))]
    prices: BTreeMap<i32, i32>,
}

#[derive(PermazenObject, Clone, Debug, Default)]
#[permazen(storage_id = 30)]
struct Note {
    #[permazen(inverse_delete = "delete", storage_id = 31)]
    author: Option<Ref<Person>>,
}

/// Does everything on each store.
pub(crate) fn run() {
    Work::new("memory", MemoryStore::new()).run();
    let dir = tempfile::tempdir().unwrap();
    let path = |name| dir.path().join(name);
    let store = LmdbStore::builder()
        .create(true)
        .map_size(1 << 30)
        .durability(Durability::MayLoseEverything)
        .open(path("ours"))
        .unwrap();
    let work = Work::new("lmdb", store.clone());
    // The file as it is: a copy that the store makes has its pages full.
    fs::create_dir(path("by-hand")).unwrap();
    fs::copy(path("ours/data.mdb"), path("by-hand/data.mdb")).unwrap();
    work.run();
    work.by_hand(&path("by-hand"));
}

/// The values that were read are used, so that the compiler cannot leave the read out.
fn use_it<T>(read: &permazen::Result<T>) {
    black_box(read.as_ref().unwrap());
}

struct Work {
    store: &'static str,
    db: Permazen,
    /// All people that exist, in random order.
    people: Vec<(Ref<Person>, Person)>,
    /// People that do not exist yet.
    new_people: Vec<Person>,
    /// The person to whom all clubs refer.
    owner: Ref<Person>,
    clubs: Vec<Ref<Club>>,
    /// The author of all notes.
    author: Ref<Person>,
}

impl Work {
    /// A database that has the same content each time.
    fn new(store: &'static str, kv: impl KvDatabase + 'static) -> Work {
        let db = Permazen::builder(kv).model::<Person>().model::<Club>().model::<Note>();
        let db = db.build().unwrap();
        db.database().set_id_generator(ObjIdGenerator::from_seed(1));
        let mut random = StdRng::seed_from_u64(1);
        let mut make =
            |number| (0..number).map(|_| Person::random(&mut random)).collect::<Vec<_>>();
        let (people, new_people) = (make(OBJECTS), make(TIMES));
        let create = |tx: &Tx| {
            let create = |person: &Person| Ok((tx.create(person)?.to_ref(), person.clone()));
            let people = people.iter().map(create).collect::<permazen::Result<Vec<_>>>()?;
            let owner = people[0].0;
            let club = Club { owner: Some(owner), dates: vec![1, 2, 3], ..Club::default() };
            let create = |_| Ok(tx.create(&club)?.to_ref());
            let clubs = (0..TIMES).map(create).collect::<permazen::Result<Vec<_>>>()?;
            let author = people[1].0;
            for _ in 0..TIMES {
                tx.create(&Note { author: Some(author) })?;
            }
            Ok((people, owner, clubs, author))
        };
        let (mut people, owner, clubs, author) = db.write(create).unwrap();
        people.shuffle(&mut random);
        Work { store, db, people, new_people, owner, clubs, author }
    }

    /// Those that are used one by one.
    fn some(&self) -> &[(Ref<Person>, Person)] {
        &self.people[..TIMES]
    }

    fn operation(&self, name: &str, times: usize, body: impl FnMut()) {
        operation(&format!("{}: {name}", self.store), times, body);
    }

    /// An operation on people that reads. Each is done twice in a transaction, and counted apart:
    /// first with objects that the transaction does not know.
    fn read(&self, name: &str, read: impl Fn(Obj<'_, Person>, &Person)) {
        let tx = self.db.begin_read().unwrap();
        // The schemas are known then.
        tx.get(self.people[TIMES].0).unwrap().load().unwrap();
        for known in ["", ", known object"] {
            self.operation(&format!("{name}{known}"), TIMES, || {
                for (id, person) in self.some() {
                    read(tx.get(*id).unwrap(), person);
                }
            });
        }
    }

    /// An operation that is done for each of some things in a transaction that is rolled back.
    fn write<T>(&self, name: &str, things: &[T], write: impl Fn(&Tx, &T, usize)) {
        let tx = self.db.begin().unwrap();
        self.operation(name, things.len(), || {
            for (number, thing) in things.iter().enumerate() {
                write(&tx, thing, number);
            }
        });
        tx.rollback().unwrap();
    }

    /// Something that is done once to many things.
    fn scan(&self, name: &str, things: usize, scan: impl Fn(&Tx) -> usize) {
        let tx = self.db.begin_read().unwrap();
        self.operation(name, things, || assert_eq!(scan(&tx), things));
    }

    fn run(&self) {
        self.reads();
        self.indexes();
        self.writes();
        self.collections();
        self.transactions();
    }

    fn reads(&self) {
        self.read("load an object", |person, _| {
            black_box(person.load().unwrap());
        });
        self.read("read an int", |person, as_created| {
            assert_eq!(person.age().unwrap(), as_created.age);
        });
        self.read("read a string", |person, _| {
            black_box(person.email().unwrap());
        });
        self.read("ask whether an object exists", |person, _| assert!(person.exists().unwrap()));
        self.scan("iterate over all objects", OBJECTS, |tx| {
            tx.all::<Person>().unwrap().iter().inspect(use_it).count()
        });
        self.scan("count all objects", OBJECTS, |tx| tx.all::<Person>().unwrap().count().unwrap());
    }

    fn indexes(&self) {
        let tx = self.db.begin_read().unwrap();
        let first = |found: permazen::model::Objs<'_, Person>| {
            black_box(found.iter().next().unwrap().unwrap());
        };
        let index = tx.index(Person::NAME).unwrap();
        self.operation("index equality, view kept", TIMES, || {
            self.some().iter().for_each(|(_, person)| first(index.get(&person.name).unwrap()));
        });
        self.operation("index equality, view made each time", TIMES, || {
            for (_, person) in self.some() {
                first(tx.index(Person::NAME).unwrap().get(&person.name).unwrap());
            }
        });
        self.operation("index equality, view kept: first", TIMES, || {
            for (_, person) in self.some() {
                black_box(index.get(&person.name).unwrap().first().unwrap().unwrap());
            }
        });
        self.operation("index equality: find", TIMES, || {
            for (_, person) in self.some() {
                black_box(tx.find(Person::NAME, &person.name).unwrap().unwrap());
            }
        });
        let ages = |tx: &Tx, each: &dyn Fn(Obj<'_, Person>)| {
            let index = tx.index(Person::AGE).unwrap();
            let mut ages = 0;
            for person in index.objects() {
                each(person.unwrap());
                ages += 1;
            }
            ages
        };
        self.scan("index of ints: handles", OBJECTS, |tx| {
            ages(tx, &|person| {
                black_box(person);
            })
        });
        self.scan("index of ints: values and handles", OBJECTS, |tx| {
            tx.index(Person::AGE).unwrap().iter().inspect(use_it).count()
        });
        self.scan("index of strings: handles", OBJECTS, |tx| {
            let index = tx.index(Person::NAME).unwrap();
            index.objects().inspect(use_it).count()
        });
        self.scan("index of strings: values and handles", OBJECTS, |tx| {
            tx.index(Person::NAME).unwrap().iter().inspect(use_it).count()
        });
        self.scan("index of strings: IDs, without types", OBJECTS, |tx| {
            let index = tx.index_by_name("Person", "name").unwrap();
            index.ids().inspect(|id| assert!(id.is_ok())).count()
        });
        self.scan("index of strings: count", OBJECTS, |tx| {
            tx.index(Person::NAME).unwrap().count().unwrap()
        });
        self.scan("index of ints: a field of each", OBJECTS, |tx| {
            ages(tx, &|person| {
                black_box(person.score().unwrap());
            })
        });
        self.scan("referrers of an object", TIMES, |tx| {
            let owner = tx.get(self.owner).unwrap();
            owner.referrers(Club::OWNER).unwrap().iter().inspect(use_it).count()
        });
    }

    fn writes(&self) {
        self.write("create an object", &self.new_people, |tx, person, _| {
            black_box(tx.create(person).unwrap());
        });
        self.write("set an int", self.some(), |tx, (id, _), number| {
            tx.get(*id).unwrap().set_score(number as i64).unwrap();
        });
        self.write("set an indexed int", self.some(), |tx, (id, _), number| {
            tx.get(*id).unwrap().set_age(200_000 + number as i32).unwrap();
        });
        self.write("set an indexed string", self.some(), |tx, (id, person), _| {
            tx.get(*id).unwrap().set_name(&person.email).unwrap();
        });
        self.write(
            "set an indexed int to the value that it has",
            self.some(),
            |tx, (id, person), _| {
                tx.get(*id).unwrap().set_age(person.age).unwrap();
            },
        );
        self.write("add to a counter", self.some(), |tx, (id, _), _| {
            tx.get(*id).unwrap().visits().add(1).unwrap();
        });
        self.write("store an object", self.some(), |tx, (id, person), number| {
            let person = Person { age: number as i32, ..person.clone() };
            tx.get(*id).unwrap().store(&person).unwrap();
        });
        self.write("delete an object", self.some(), |tx, (id, _), _| {
            assert!(tx.get(*id).unwrap().delete().unwrap());
        });
        let tx = self.db.begin().unwrap();
        self.operation("create an object together with others", TIMES, || {
            black_box(tx.create_many(&self.new_people).unwrap());
        });
        tx.rollback().unwrap();
        let tx = self.db.begin().unwrap();
        let author = tx.get(self.author).unwrap();
        self.operation("delete a referrer of a deleted object", TIMES, || {
            assert!(author.delete().unwrap());
        });
        tx.rollback().unwrap();
        let tx = self.db.begin().unwrap();
        let owner = tx.get(self.owner).unwrap();
        self.operation("nullify a reference to a deleted object", TIMES, || {
            assert!(owner.delete().unwrap());
        });
        tx.rollback().unwrap();
    }

    fn collections(&self) {
        self.write("push to a list", &self.clubs, |tx, id, number| {
            tx.get(*id).unwrap().dates().unwrap().push(number as i32).unwrap();
        });
        self.write("insert at the front of a list", &self.clubs, |tx, id, number| {
            tx.get(*id).unwrap().dates().unwrap().insert(0, number as i32).unwrap();
        });
        self.write("add to a set", &self.clubs, |tx, id, number| {
            assert!(tx.get(*id).unwrap().rooms().unwrap().add(number as i32).unwrap());
        });
        self.write("insert into a map", &self.clubs, |tx, id, number| {
            tx.get(*id).unwrap().prices().unwrap().insert(number as i32, 1).unwrap();
        });
        let tx = self.db.begin_read().unwrap();
        self.operation("iterate over a list of three", TIMES, || {
            for id in &self.clubs {
                assert_eq!(tx.get(*id).unwrap().dates().unwrap().iter().count(), 3);
            }
        });
        self.operation("ask whether a set has an element", TIMES, || {
            for id in &self.clubs {
                assert!(!tx.get(*id).unwrap().rooms().unwrap().contains(1).unwrap());
            }
        });
        self.operation("follow a reference", TIMES, || {
            for id in &self.clubs {
                black_box(tx.get(*id).unwrap().owner().unwrap().unwrap());
            }
        });
    }

    fn transactions(&self) {
        self.operation("begin and end a read transaction", TIMES, || {
            (0..TIMES).for_each(|_| drop(self.db.begin_read().unwrap()));
        });
        // On LMDB, threads wait for each other here, and how they do depends on the clock.
        if self.store == "memory" {
            self.operation("write a field in its own transaction", TIMES, || {
                for (id, _) in self.some() {
                    self.db.write(|tx| tx.get(*id)?.set_score(1)).unwrap();
                }
            });
        }
        let kv = self.db.database().kv().begin(&TxOptions::reading()).unwrap();
        let check = || permazen_jsck::check(&*kv, &Options::default(), &mut |_| ()).unwrap();
        let pairs = check().pairs;
        self.operation("check a pair", pairs as usize, || assert_eq!(check().findings, 0));
    }

    /// Some of it by hand with LMDB.
    fn by_hand(&self, path: &Path) {
        let by_hand = ByHand::open(path);
        let txn = by_hand.env.read_txn().unwrap();
        operation("by hand: load an object", TIMES, || {
            for (id, _) in self.some() {
                drop(black_box(by_hand.load(&txn, id.id())));
            }
        });
        operation("by hand: read an int", TIMES, || {
            for (id, _) in self.some() {
                black_box(by_hand.age(&txn, id.id()));
            }
        });
        operation("by hand: index equality", TIMES, || {
            for (id, person) in self.some() {
                assert_eq!(by_hand.first_by_name(&txn, &person.name), Some(id.id()));
            }
        });
        operation("by hand: index of ints: IDs", OBJECTS, || {
            assert_eq!(by_hand.visit_by_age(&txn, (0, i32::MAX), |_| ()), OBJECTS);
        });
        drop(txn);
        let mut txn = by_hand.env.write_txn().unwrap();
        operation("by hand: set an indexed int", TIMES, || {
            for (number, (id, _)) in self.some().iter().enumerate() {
                by_hand.set_age(&mut txn, id.id(), 200_000 + number as i32);
            }
        });
        txn.abort();
    }
}
