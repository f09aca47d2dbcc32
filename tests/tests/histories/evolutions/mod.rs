//! Random evolutions: programs of several versions, two at a time, work on the same objects. A
//! naive model says after each operation what every object must contain, and what must be refused.
//! So a value can only disappear if a model says that it may. The seed of a history decides
//! everything in it. One database in five is a page of a ledger, and the checker checks each of its
//! commits.
//!
//! | variable | what it says | without it |
//! |---|---|---|
//! | `PERMAZEN_HISTORIES` | how many histories | 80 |
//! | `PERMAZEN_STEPS` | operations in each | 60 |
//! | `PERMAZEN_SEED` | the seed of the first one; the others follow | 1 |

mod indexes;
mod naive;
mod rules;
mod steps;
mod values;
#[macro_use]
mod versions;
mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use naive::unknown;
use permazen::kv::lmdb::{Durability, LmdbStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{Direction, KeySpan, KvDatabase, TxOptions};
use permazen::{Error, ObjId, ObjIdGenerator, Permazen};
use permazen_ledger::Page;
use permazen_tests::on_page;
use programs::programs;
use rules::{Known, Rules};
use values::{Random, dynamic};
use versions::{Program, new_place};

/// A base that a program has kept.
struct Kept {
    id: ObjId,
    /// The object as it was, as the version of the program saw it that loaded it.
    known: Known,
    bytes: Vec<u8>,
}

struct World {
    programs: Arc<Vec<Program>>,
    open: BTreeMap<usize, Permazen>,
    store: Arc<dyn KvDatabase>,
    /// Whether transactions that write may overlap.
    is_concurrent: bool,
    objects: BTreeMap<ObjId, Known>,
    /// The objects in the order in which they were created.
    created: Vec<ObjId>,
    places: BTreeSet<ObjId>,
    /// The types of all objects that there were.
    types: BTreeMap<String, &'static str>,
    bases: Vec<Kept>,
    random: Random,
    log: Vec<String>,
}

/// Says which history failed.
struct Failing<'a>(u64, &'a str);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "seed {} on {}: PERMAZEN_SEED={} PERMAZEN_HISTORIES=1",
                self.0, self.1, self.0
            );
        }
    }
}

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Schemas of programs that run anywhere in the process stay recorded in all databases, so
/// histories at the same time would not be independent.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn nothing_is_lost_in_random_evolutions() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let first = variable("PERMAZEN_SEED", 1);
    let steps = variable("PERMAZEN_STEPS", 60);
    let dir = tempfile::tempdir().unwrap();
    let histories = variable("PERMAZEN_HISTORIES", 80);
    let mut old_commits = 0;
    for seed in first..first + histories {
        old_commits += history(seed, steps, dir.path()).1;
    }
    println!("{histories} histories, {old_commits} old commits of pages were checked");
    assert!(old_commits > histories || histories < 10, "{old_commits} old commits of pages");
}

#[test]
fn a_seed_gives_the_same_history_each_time() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // One on each store.
    for seed in [1, 5, 7, 10] {
        let [one, other] = [(), ()].map(|()| {
            let dir = tempfile::tempdir().unwrap();
            let (world, _) = history(seed, 60, dir.path());
            let tx = world.store.begin(&TxOptions::reading()).unwrap();
            let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
            let pairs = scan.map(|pair| format!("{:?}", pair.unwrap()));
            (world.log, pairs.collect::<Vec<_>>())
        });
        for (one, other) in [(one.0, other.0), (one.1, other.1)] {
            assert_eq!(one.len(), other.len(), "seed {seed}");
            one.iter().zip(&other).for_each(|(one, other)| assert_eq!(one, other, "seed {seed}"));
        }
    }
}

/// Runs one history, on a store in that folder if the store needs one. Also says how many old
/// commits the checker has seen, which it does on a page.
fn history(seed: u64, steps: u64, dir: &Path) -> (World, u64) {
    let mut page: Option<Page> = None;
    // Transactions that write overlap on the optimistic store.
    let (store, name): (Arc<dyn KvDatabase>, _) = match seed % 10 {
        0 => {
            let path = dir.join(seed.to_string());
            std::fs::create_dir(&path).unwrap();
            let builder = LmdbStore::builder().create(true);
            let builder = builder.durability(Durability::MayLoseEverything);
            (Arc::new(builder.open(&path).unwrap()), "LMDB")
        }
        1..=4 => (Arc::new(OptimisticDatabase::new(MemoryStore::new())), "the optimistic store"),
        5..=6 => {
            let page = page.insert(on_page::new_page().unwrap());
            (on_page::main_branch(page).unwrap(), "a page")
        }
        _ => (Arc::new(MemoryStore::new()), "the memory store"),
    };
    let _failing = Failing(seed, name);
    let mut world = World::new(store, seed);
    for _ in 0..steps {
        world.step();
    }
    world.check_all();
    let checked = page.map(|page| on_page::check_commits(&page, 1).unwrap());
    (world, checked.map_or(0, |checked| checked.old))
}

impl World {
    fn new(store: Arc<dyn KvDatabase>, seed: u64) -> World {
        let mut world = World {
            is_concurrent: (1..=4).contains(&(seed % 10)),
            programs: Arc::new(programs()),
            open: BTreeMap::new(),
            store,
            objects: BTreeMap::new(),
            created: Vec::new(),
            places: BTreeSet::new(),
            types: BTreeMap::new(),
            bases: Vec::new(),
            random: Random::new(seed),
            log: Vec::new(),
        };
        world.random.long_texts = seed.is_multiple_of(10);
        for _ in 0..2 {
            world.open_another();
        }
        let db = world.open.values().next().unwrap();
        world.places = db.write(|tx| Ok([new_place(tx)?, new_place(tx)?].into())).unwrap();
        world.refresh();
        // There is no item yet to which the first one could refer, so it is made again until it
        // refers to none.
        let place = *world.places.iter().next().unwrap();
        world.random.objects.push((place, "Item"));
        let version = *world.open.keys().next().unwrap();
        while !world.create_in(version, "Item") {}
        world
    }

    /// Lets the random values refer to the objects that exist.
    fn refresh(&mut self) {
        let places = self.places.iter().map(|id| (*id, "Place"));
        let others = self.created.iter().map(|id| (*id, self.objects[id].of_type));
        self.random.objects = places.chain(others).collect();
        let types = self.random.objects.iter().map(|(id, of_type)| (id.to_string(), *of_type));
        self.types.extend(types);
    }

    fn open_another(&mut self) {
        let version = self.random.below(self.programs.len());
        if self.open.len() > 1 && !self.open.contains_key(&version) {
            let keys: Vec<usize> = self.open.keys().copied().collect();
            self.open.remove(&self.random.pick(&keys));
        }
        let program = &self.programs[version];
        self.log.push(format!("open {}", program.name));
        let db = (program.open)(self.store.clone());
        db.database().set_id_generator(ObjIdGenerator::from_seed(self.random.next()));
        self.open.insert(version, db);
    }

    fn create_in(&mut self, version: usize, of_type: &'static str) -> bool {
        let Some(model) = self.programs[version].model(of_type) else { return false };
        let random = &mut self.random;
        let created = self.open[&version].write(|tx| (model.create)(tx, random));
        let (id, contents) = match created {
            Ok(created) => created,
            Err(Error::Object(permazen::object::Error::KeyTooLong { .. }))
                if self.random.long_texts =>
            {
                return false;
            }
            Err(error) => {
                assert!(self.objects.is_empty(), "{error:?}\n{:#?}", self.log);
                return false;
            }
        };
        self.log.push(format!("create {id} in {} {contents:?}", self.programs[version].name));
        self.objects.insert(id, Known { version, contents, of_type });
        self.created.push(id);
        self.refresh();
        true
    }

    fn rules(&self) -> Rules {
        Rules {
            programs: Arc::clone(&self.programs),
            types: self.types.clone(),
            is_limited: self.random.long_texts,
        }
    }

    /// Compares an object with what it must contain after an operation of a program.
    fn after(&mut self, version: usize, id: ObjId, after: Known) {
        self.objects.insert(id, after);
        self.check(version, id);
    }

    /// Whether an object is what it would be after something else.
    fn is_stored(&self, version: usize, id: ObjId, known: &Known) -> bool {
        let db = &self.open[&version];
        let (schema, fields) =
            db.read(|tx| Ok((tx.any(id).schema_id()?, tx.any(id).fields()?))).unwrap();
        let own = self.open.get(&known.version).map(|own| own.schema().schema_id());
        let of = &self.programs[known.version].model(known.of_type).unwrap().version;
        own.is_none_or(|own| own == schema)
            && fields.len() == of.fields.len()
            && of.fields.iter().all(|field| {
                let stored = fields.iter().find(|(name, _)| name == field.name);
                stored.is_some_and(|(_, stored)| {
                    dynamic(stored, &field.shape) == known.contents[field.means]
                })
            })
    }

    fn check(&mut self, version: usize, id: ObjId) {
        let known = self.objects.get_mut(&id).unwrap();
        let db = &self.open[&version];
        let (schema, fields) =
            db.read(|tx| Ok((tx.any(id).schema_id()?, tx.any(id).fields()?))).unwrap();
        if let Some(own) = self.open.get(&known.version) {
            let own = own.schema().schema_id();
            assert_eq!(schema, own, "the schema of {id}\n{:#?}\n{known:?}", self.log);
        }
        let of = &self.programs[known.version].model(known.of_type).unwrap().version;
        assert_eq!(fields.len(), of.fields.len(), "{:#?}\n{known:?}", self.log);
        for field in &of.fields {
            let stored = fields.iter().find(|(name, _)| name == field.name);
            let Some((_, stored)) = stored else {
                panic!("{id} has no {}\n{:#?}\n{known:?}", field.name, self.log)
            };
            let stored = dynamic(stored, &field.shape);
            let content = known.contents.get_mut(field.means).unwrap();
            if *content == unknown() {
                *content = stored.clone();
            }
            assert_eq!(stored, *content, "{id}.{}\n{:#?}", field.name, self.log);
        }
    }

    fn check_all(&mut self) {
        let version = *self.open.keys().next().unwrap();
        for id in self.objects.keys().copied().collect::<Vec<_>>() {
            self.check(version, id);
        }
        let program = &self.programs[version];
        let (count, untyped) = self.open[&version]
            .read(|tx| {
                let untyped: BTreeSet<ObjId> = tx
                    .untyped()?
                    .iter()
                    .map(|object| Ok(object?.id()))
                    .collect::<Result<_, Error>>()?;
                Ok((tx.everything()?.count()?, untyped))
            })
            .unwrap();
        assert_eq!(count, self.objects.len() + self.places.len(), "{:#?}", self.log);
        let foreign =
            self.objects.iter().filter(|(_, known)| program.model(known.of_type).is_none());
        assert_eq!(untyped, foreign.map(|(id, _)| *id).collect(), "{:#?}", self.log);
        let mut found = Vec::new();
        let options = permazen_jsck::Options::default();
        let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
        permazen_jsck::check_database(&*self.store, &options, &mut sink, &mut |_| {}).unwrap();
        assert!(found.is_empty(), "{found:?}\n{:#?}", self.log);
    }
}
