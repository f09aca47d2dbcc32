//! The same pairs in two LMDB environments.

use std::path::{Path, PathBuf};

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{Direction, Durability, KeySpan, TxOptions};
use permazen::{Permazen, Ref};

use crate::by_hand::Id;
use crate::data;
use crate::model::{Bag, Note, Part, Person, Target};
use crate::pairs::heed::Environment;

pub struct World {
    pub db: Permazen,
    pub by_hand: Environment,
    pub people: Vec<data::Person>,
    pub ids: Vec<Ref<Person>>,
    pub bags: Vec<Ref<Bag>>,
}

/// How many bags there are.
pub const BAGS: usize = 10_000;

pub fn models(store: LmdbStore) -> Permazen {
    let builder = Permazen::builder(store).model::<Person>().model::<Bag>();
    builder.model::<Target>().model::<Note>().model::<Part>().build().unwrap()
}

impl World {
    /// Fills a store. Both sides work on copies of it, so neither has pages that lie better.
    pub fn new(dir: &Path, objects: usize) -> World {
        let path = |name: &str| dir.join(name);
        std::fs::create_dir_all(dir).unwrap();
        let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
        let store = builder.open(path("made")).unwrap();
        let db = models(store.clone());
        let people = data::people(objects, 1);
        let mut ids = Vec::new();
        for people in people.chunks(50_000) {
            let create = |tx: &permazen::Tx| {
                people.iter().map(|person| Ok(tx.create(Person::from(person))?.to_ref())).collect()
            };
            ids.extend(db.write::<Vec<_>>(create).unwrap());
        }
        let bag = |n: usize| {
            let numbers = || (0..10).map(|i| (n * 10 + i) as i32);
            let map = numbers().map(|i| (i, i)).collect();
            Bag { list: numbers().collect(), members: numbers().collect(), map }
        };
        let bags = BAGS.min(objects);
        let bags = db.write(|tx| (0..bags).map(|n| Ok(tx.create(bag(n))?.to_ref())).collect());
        drop((db, store));
        copy_files(&path("made"), &[path("ours"), path("by-hand")]);
        let db = models(builder.open(path("ours")).unwrap());
        let by_hand = Environment::open(&path("by-hand"), false);
        World { db, by_hand, people, ids, bags: bags.unwrap() }
    }

    /// Objects as our side and as code by hand name them.
    pub fn named(&self, numbers: &[usize]) -> (Vec<Ref<Person>>, Vec<Id>) {
        let ids: Vec<_> = numbers.iter().map(|n| self.ids[*n]).collect();
        let bytes = ids.iter().map(|id| id.id().to_bytes()).collect();
        (ids, bytes)
    }
}

/// Copies an environment that no program has open, as it is: a copy that the store makes has its
/// pages full.
pub fn copy_files(from: &Path, to: &[PathBuf]) {
    for to in to {
        std::fs::create_dir(to).unwrap();
        std::fs::copy(from.join("data.mdb"), to.join("data.mdb")).unwrap();
    }
}

/// All pairs of a database.
pub fn pairs(db: &Permazen) -> Vec<(Vec<u8>, Vec<u8>)> {
    let kv = db.database().kv().begin(&TxOptions::reading()).unwrap();
    let scan = kv.scan(KeySpan::new(&[], None), Direction::Forward).unwrap();
    scan.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}
