//! Random evolutions: programs of several versions, two at a time, work on the same objects. A naive
//! model says after each operation what every object must contain, and what must be refused. So a
//! value can only disappear if a model says that it may. The seed of a history decides everything
//! in it.
//!
//! | variable | what it says | without it |
//! |---|---|---|
//! | `PERMAZEN_HISTORIES` | how many histories | 200 |
//! | `PERMAZEN_STEPS` | operations in each | 60 |
//! | `PERMAZEN_SEED` | the seed of the first one; the others follow | 1 |
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, clippy::indexing_slicing)]
#![allow(unreachable_pub, clippy::unreachable)]

mod naive;
mod values;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use naive::{Content, Contents, Given, Kind, Source, allows, moved, source, unknown};
use permazen::kv::lmdb::{Durability, LmdbStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{Direction, KeySpan, KvDatabase, TxOptions};
use permazen::{Error, ObjId, ObjIdGenerator, Permazen, Tx};
use values::{Random, dynamic};
use versions::{Effect, Program, new_place, programs};

/// An object as the naive model knows it.
#[derive(Debug, Clone)]
struct Known {
    /// The version in whose schema it is.
    version: usize,
    contents: Contents,
}

/// What an operation must return.
#[derive(Debug)]
enum Expected {
    Done,
    Content(Content),
    Contents(Contents),
    /// These fields would be lost.
    Refused(BTreeSet<String>),
    /// A required value is null.
    Missing,
    /// A reference to an object of a type that the model does not allow.
    WrongType,
}

struct World {
    programs: Vec<Program>,
    open: BTreeMap<usize, Permazen>,
    store: Arc<dyn KvDatabase>,
    /// Whether transactions that write may overlap.
    is_concurrent: bool,
    objects: BTreeMap<ObjId, Known>,
    /// The objects in the order in which they were created.
    created: Vec<ObjId>,
    places: BTreeSet<ObjId>,
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

/// Schemas of programs that run anywhere in the process stay recorded in all databases, so histories
/// at the same time would not be independent.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn nothing_is_lost_in_random_evolutions() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let first = variable("PERMAZEN_SEED", 1);
    let steps = variable("PERMAZEN_STEPS", 60);
    let dir = tempfile::tempdir().unwrap();
    for seed in first..first + variable("PERMAZEN_HISTORIES", 200) {
        history(seed, steps, dir.path());
    }
}

#[test]
fn a_seed_gives_the_same_history_each_time() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // One on each store.
    for seed in [1, 5, 10] {
        let [one, other] = [(), ()].map(|()| {
            let dir = tempfile::tempdir().unwrap();
            let world = history(seed, 60, dir.path());
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

/// Runs one history, on a store in that folder if the store needs one.
fn history(seed: u64, steps: u64, dir: &Path) -> World {
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
        _ => (Arc::new(MemoryStore::new()), "the memory store"),
    };
    let _failing = Failing(seed, name);
    let mut world = World::new(store, seed);
    for _ in 0..steps {
        world.step();
    }
    world.check_all();
    world
}

impl World {
    fn new(store: Arc<dyn KvDatabase>, seed: u64) -> World {
        let is_concurrent = (1..=4).contains(&(seed % 10));
        let mut world = World {
            is_concurrent,
            programs: programs(),
            open: BTreeMap::new(),
            store,
            objects: BTreeMap::new(),
            created: Vec::new(),
            places: BTreeSet::new(),
            random: Random::new(seed),
            log: Vec::new(),
        };
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
        while !world.create_in(version) {}
        world
    }

    /// Lets the random values refer to the objects that exist.
    fn refresh(&mut self) {
        let places = self.places.iter().map(|id| (*id, "Place"));
        self.random.objects = places.chain(self.created.iter().map(|id| (*id, "Item"))).collect();
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

    fn create_in(&mut self, version: usize) -> bool {
        let (program, random) = (&self.programs[version], &mut self.random);
        let created = self.open[&version].write(|tx| (program.create)(tx, random));
        let Ok((id, contents)) = created else {
            assert!(self.objects.is_empty(), "{created:?}\n{:#?}", self.log);
            return false;
        };
        self.log.push(format!("create {id} in {} {contents:?}", program.name));
        self.objects.insert(id, Known { version, contents });
        self.created.push(id);
        self.refresh();
        true
    }

    fn step(&mut self) {
        let versions: Vec<usize> = self.open.keys().copied().collect();
        let version = self.random.pick(&versions);
        let ids = self.created.clone();
        let id = self.random.pick(&ids);
        match self.random.below(20) {
            0 => self.open_another(),
            1 if self.objects.len() < 8 => {
                self.create_in(version);
            }
            2 => self.delete(version, id),
            3 => self.upgrade_all(version),
            4 | 5 => self.migrate(version, id),
            6..=8 => self.load(version, id),
            9..=11 => self.store(version, id),
            12..=14 => self.get(version, id),
            15 => self.query(version),
            16 if self.is_concurrent => {
                let versions = [version, self.random.pick(&versions)];
                let ids = [id, self.random.pick(&ids)];
                self.change_together(versions, ids);
            }
            _ => self.change(version, id),
        }
        if self.random.one_in(20) {
            self.check_all();
        }
    }

    fn type_of(&self) -> impl Fn(&str) -> &'static str + use<> {
        let places: BTreeSet<String> = self.places.iter().map(ObjId::to_string).collect();
        move |id| if places.contains(id) { "Place" } else { "Item" }
    }

    /// What the object is after it has moved to a version.
    fn moved(
        &self,
        version: usize,
        id: ObjId,
        given: Given<'_>,
    ) -> Result<Known, BTreeSet<String>> {
        let old = &self.objects[&id];
        if old.version == version {
            return Ok(old.clone());
        }
        let (to, from) = (&self.programs[version].version, &self.programs[old.version].version);
        let contents = moved(to, from, &old.contents, given, &self.type_of())?;
        Ok(Known { version, contents })
    }

    /// What a program reads in a field of an object that is in its own version.
    fn read(&self, version: usize, means: &str, content: &Content) -> Expected {
        let field = self.programs[version].version.field(means).unwrap();
        let types = self.type_of();
        if field.is_required && content[0].0.is_none() {
            return Expected::Missing;
        }
        if field.shape.kind == Kind::One && !allows(field.shape.of, &content[0].0, &types) {
            return Expected::WrongType;
        }
        Expected::Content(content.clone())
    }

    /// Whether the object can be seen whole where it is.
    fn seen(&self, version: usize, id: ObjId) -> Option<Contents> {
        let (program, old) = (&self.programs[version].version, &self.objects[&id]);
        let from = &self.programs[old.version].version;
        let mut seen = Contents::new();
        for field in &program.fields {
            let content = match source(program, field, from) {
                Source::Same(before) => old.contents[before.means].clone(),
                Source::Missing => field.initial(),
                Source::Differs(_) => return None,
            };
            seen.insert(field.means, content);
        }
        Some(seen)
    }

    fn get(&mut self, version: usize, id: ObjId) {
        let means = self.random_field(version);
        let program = &self.programs[version];
        let field = program.version.field(means).unwrap();
        let known = &self.objects[&id];
        let from = &self.programs[known.version].version;
        let (expected, after) = match source(&program.version, field, from) {
            Source::Same(before) => {
                (self.read(version, means, &known.contents[before.means]), known.clone())
            }
            Source::Missing => (self.read(version, means, &field.initial()), known.clone()),
            Source::Differs(_) => match self.moved(version, id, Given::Nothing) {
                Ok(new) => (self.read(version, means, &new.contents[means]), new),
                Err(lost) => (Expected::Refused(lost), known.clone()),
            },
        };
        let only_reads = self.random.one_in(2);
        let what = format!("get {means} of {id} in {} (only reads: {only_reads})", program.name);
        let get = |tx: &Tx| Ok((program.get)(tx, id, means));
        let db = &self.open[&version];
        let got = if only_reads { db.read(get) } else { db.write(get) }.unwrap();
        self.judge(what, expected, got.map(Expected::Content));
        if !only_reads {
            self.after(version, id, after);
        }
    }

    fn load(&mut self, version: usize, id: ObjId) {
        let program = &self.programs[version];
        let known = &self.objects[&id];
        let (expected, after) = match self.seen(version, id) {
            Some(seen) => (Expected::Contents(seen), known.clone()),
            None => match self.moved(version, id, Given::Nothing) {
                Ok(new) => (Expected::Contents(new.contents.clone()), new),
                Err(lost) => (Expected::Refused(lost), known.clone()),
            },
        };
        let expected = match expected {
            Expected::Contents(contents) => {
                let is_missing = |field: &&naive::Spec| {
                    field.is_required && contents[field.means][0].0.is_none()
                };
                match program.version.fields.iter().find(is_missing) {
                    Some(_) => Expected::Missing,
                    None => Expected::Contents(contents),
                }
            }
            expected => expected,
        };
        let only_reads = self.random.one_in(2);
        let what = format!("load {id} in {} (only reads: {only_reads})", program.name);
        let load = |tx: &Tx| Ok((program.load)(tx, id));
        let db = &self.open[&version];
        let loaded = if only_reads { db.read(load) } else { db.write(load) }.unwrap();
        self.judge(what, expected, loaded.map(Expected::Contents));
        if !only_reads {
            self.after(version, id, after);
        }
    }

    fn migrate(&mut self, version: usize, id: ObjId) {
        let program = &self.programs[version];
        let (expected, after) = match self.moved(version, id, Given::Nothing) {
            Ok(new) => (Expected::Done, new),
            Err(lost) => (Expected::Refused(lost), self.objects[&id].clone()),
        };
        let migrated = self.open[&version].write(|tx| Ok((program.migrate)(tx, id))).unwrap();
        let what = format!("migrate {id} to {}", program.name);
        self.judge(what, expected, migrated.map(|_| Expected::Done));
        self.after(version, id, after);
    }

    fn upgrade_all(&mut self, version: usize) {
        let moved: Vec<(ObjId, Result<Known, _>)> =
            self.objects.keys().map(|id| (*id, self.moved(version, *id, Given::Nothing))).collect();
        self.log.push(format!("upgrade all to {}", self.programs[version].name));
        let report = self.open[&version].upgrade_all().run().unwrap();
        let refused: BTreeSet<ObjId> = report.refusals.iter().map(|refused| refused.id).collect();
        let expected =
            moved.iter().filter(|(_, moved)| moved.is_err()).map(|(id, _)| *id).collect();
        assert_eq!(refused, expected, "{:#?}", self.log);
        for (id, moved) in moved {
            if let Ok(new) = moved {
                self.after(version, id, new);
            }
        }
        self.check_all();
    }

    /// An index is complete, or says how many objects it lacks. These are found if they are loaded.
    fn query(&mut self, version: usize) {
        let program = &self.programs[version];
        if program.version.indexed.is_empty() {
            return;
        }
        let means = self.random.pick(program.version.indexed);
        let field = program.version.field(means).unwrap();
        let (mut entries, mut lacking, mut stays) = (BTreeSet::new(), 0, false);
        for (id, known) in &self.objects {
            let from = &self.programs[known.version].version;
            match source(&program.version, field, from) {
                Source::Same(before) if from.indexed.contains(&before.means) => {
                    entries.insert((known.contents[before.means][0].0.clone(), *id));
                }
                _ => {
                    lacking += 1;
                    match self.moved(version, *id, Given::Nothing) {
                        Ok(new) => drop(entries.insert((new.contents[means][0].0.clone(), *id))),
                        Err(_) => stays = true,
                    }
                }
            }
        }
        let query = |scan: bool| {
            let found = self.open[&version].read(|tx| (program.query)(tx, means, scan));
            found.map(|found| found.into_iter().collect::<BTreeSet<_>>())
        };
        let (found, scanned) = (query(false), query(true));
        let what = format!("{:#?}\nthe index of {means} in {}", self.log, program.name);
        // The struct has no null.
        let has_null = field.is_required && entries.iter().any(|(value, _)| value.is_none());
        match &found {
            Ok(found) => assert!(lacking == 0 && *found == entries, "{what}: {found:?}"),
            Err(Error::PartialIndex { missing, .. }) => assert_eq!(*missing, lacking, "{what}"),
            Err(error) => assert!(lacking == 0 && has_null, "{what}: {error:?}"),
        }
        match &scanned {
            Ok(found) => assert!(!stays && *found == entries, "{what}: {found:?} {entries:?}"),
            Err(Error::Refused(_)) => assert!(stays, "{what}: {scanned:?}"),
            Err(error) => assert!(has_null, "{what}: {error:?}"),
        }
    }

    fn delete(&mut self, version: usize, id: ObjId) {
        let text = Some(id.to_string());
        let refers =
            |known: &Known| known.contents.values().flatten().any(|(cell, _)| *cell == text);
        if self.objects.len() < 3 || self.objects.values().any(refers) {
            return;
        }
        self.log.push(format!("delete {id} in {}", self.programs[version].name));
        let program = &self.programs[version];
        assert!(self.open[&version].write(|tx| (program.delete)(tx, id)).unwrap());
        self.objects.remove(&id);
        self.created.retain(|created| *created != id);
        self.refresh();
    }

    fn change(&mut self, version: usize, id: ObjId) {
        let means = self.random_field(version);
        let (program, random) = (&self.programs[version], &mut self.random);
        let (effect, changed) =
            self.open[&version].write(|tx| Ok((program.change)(tx, id, means, random))).unwrap();
        let what = format!("{effect:?} {means} of {id} in {}", program.name);
        let (expected, after) = self.changed(version, id, means, &effect);
        self.judge(what, expected, changed.map(|()| Expected::Done));
        self.after(version, id, after);
    }

    fn random_field(&mut self, version: usize) -> &'static str {
        let fields = &self.programs[version].version.fields;
        let fields: Vec<&str> = fields.iter().map(|field| field.means).collect();
        self.random.pick(&fields)
    }

    /// What a change must return, and what the object is then.
    fn changed(
        &self,
        version: usize,
        id: ObjId,
        means: &str,
        effect: &Effect,
    ) -> (Expected, Known) {
        let program = &self.programs[version];
        let field = program.version.field(means).unwrap();
        let known = &self.objects[&id];
        let from = &self.programs[known.version].version;
        let types = self.type_of();
        // Where the object is, if its own schema allows it.
        let in_place = match source(&program.version, field, from) {
            Source::Same(before) => {
                let cell = match effect {
                    Effect::Set(content) => &content[0].0,
                    Effect::Append(cell) | Effect::Insert(cell, _) => cell,
                    Effect::Add(_) | Effect::Clear => &None,
                };
                allows(before.shape.of, cell, &types).then_some(before.means)
            }
            // A collection that its schema lacks is empty.
            Source::Missing if matches!(effect, Effect::Clear) => {
                return (Expected::Done, known.clone());
            }
            _ => None,
        };
        let given = match (field.shape.kind, effect) {
            (Kind::One, _) | (Kind::Counter, Effect::Set(_)) => Given::Field(means),
            _ => Given::Nothing,
        };
        let (mut after, at) = match in_place {
            Some(at) => (known.clone(), at),
            None => match self.moved(version, id, given) {
                Ok(new) => (new, field.means),
                Err(lost) => return (Expected::Refused(lost), known.clone()),
            },
        };
        let content = after.contents.get_mut(at).unwrap();
        apply(effect, content);
        field.shape.sort(content);
        (Expected::Done, after)
    }

    /// Two programs change objects in transactions that overlap. Either both succeed, as if one had
    /// run after the other, or the second one must be run again.
    fn change_together(&mut self, versions: [usize; 2], ids: [ObjId; 2]) {
        let transactions = versions.map(|version| self.open[&version].begin().unwrap());
        let mut changes = Vec::new();
        for (n, tx) in transactions.iter().enumerate() {
            let means = self.random_field(versions[n]);
            let (program, random) = (&self.programs[versions[n]], &mut self.random);
            let (effect, changed) = (program.change)(tx, ids[n], means, random);
            let what = format!(
                "{effect:?} {means} of {} in {}, at the same time as another",
                ids[n], program.name
            );
            let (expected, _) = self.changed(versions[n], ids[n], means, &effect);
            let done = changed.is_ok();
            self.judge(what, expected, changed.map(|()| Expected::Done));
            changes.push((means, effect, done));
        }
        for (n, tx) in transactions.into_iter().enumerate() {
            let (means, effect, done) = &changes[n];
            match tx.commit() {
                Ok(()) if *done => {
                    let (expected, after) = self.changed(versions[n], ids[n], means, effect);
                    assert!(matches!(expected, Expected::Done), "{:#?}", self.log);
                    self.after(versions[n], ids[n], after);
                }
                Ok(()) => {}
                Err(error) => {
                    assert!(n == 1 && error.is_retryable(), "{error}\n{:#?}", self.log);
                    self.log.push("the second one must be run again".to_owned());
                }
            }
        }
        for id in ids {
            self.check(versions[0], id);
        }
    }

    fn store(&mut self, version: usize, id: ObjId) {
        let program = &self.programs[version];
        let db = &self.open[&version];
        let random = &mut self.random;
        let (new, stored) = db.write(|tx| Ok((program.store)(db, tx, id, random))).unwrap();
        let what = format!("store {new:?} in {id} in {}", program.name);
        let known = &self.objects[&id];
        let from = &self.programs[known.version].version;
        let types = self.type_of();
        let is_counter = |means: &str| {
            program.version.field(means).is_some_and(|field| field.shape.kind == Kind::Counter)
        };
        // Where the object is, if only fields change that its schema has.
        let placed = self.seen(version, id).and_then(|seen| {
            let mut contents = known.contents.clone();
            for field in program.version.fields.iter().filter(|field| !is_counter(field.means)) {
                let content = &new[field.means];
                match source(&program.version, field, from) {
                    Source::Same(before) => {
                        let mut cells = content.iter().map(|(cell, _)| cell);
                        if !cells.all(|cell| allows(before.shape.of, cell, &types)) {
                            return None;
                        }
                        contents.insert(before.means, content.clone());
                    }
                    _ if seen[field.means] != *content => return None,
                    _ => {}
                }
            }
            Some(contents)
        });
        let (expected, after) = match placed {
            Some(contents) => (Expected::Done, Known { version: known.version, contents }),
            None => {
                // Counters keep their numbers, so they must be converted.
                match self.moved(version, id, Given::AllButCounters) {
                    Err(lost) => (Expected::Refused(lost), known.clone()),
                    Ok(mut moved) => {
                        for (means, content) in &new {
                            if !is_counter(means) {
                                moved.contents.insert(means, content.clone());
                            }
                        }
                        (Expected::Done, moved)
                    }
                }
            }
        };
        self.judge(what, expected, stored.map(|()| Expected::Done));
        self.after(version, id, after);
    }

    /// Compares what an operation has returned with what it must return.
    fn judge(&mut self, what: String, expected: Expected, got: permazen::Result<Expected>) {
        self.log.push(match &got {
            Ok(_) => what,
            Err(error) => format!("{what}: {error}"),
        });
        let is_right = match (&expected, &got) {
            (Expected::Done, Ok(Expected::Done)) => true,
            (Expected::Content(one), Ok(Expected::Content(other))) => {
                *one == unknown() || one == other
            }
            (Expected::Contents(one), Ok(Expected::Contents(other))) => {
                one.iter().all(|(means, one)| *one == unknown() || other[means] == *one)
            }
            (Expected::Missing, Err(Error::Missing { .. }))
            | (Expected::WrongType, Err(Error::WrongType { .. })) => true,
            (Expected::Refused(lost), Err(Error::Refused(refusal))) => {
                let fields = refusal.losses.iter().map(|loss| loss.field.clone());
                fields.collect::<BTreeSet<_>>() == *lost
            }
            _ => false,
        };
        assert!(is_right, "{:#?}\nexpected {expected:?}\ngot {got:?}", self.log);
    }

    /// Compares an object with what it must contain after an operation of a program.
    fn after(&mut self, version: usize, id: ObjId, after: Known) {
        self.objects.insert(id, after);
        self.check(version, id);
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
        let of = &self.programs[known.version];
        assert_eq!(fields.len(), of.version.fields.len(), "{:#?}\n{known:?}", self.log);
        for field in &of.version.fields {
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
        let count = self.open[&version].read(|tx| tx.everything()?.count()).unwrap();
        assert_eq!(count, self.objects.len() + self.places.len(), "{:#?}", self.log);
        let mut found = Vec::new();
        let options = permazen_jsck::Options::default();
        let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
        permazen_jsck::check_database(&*self.store, &options, &mut sink, &mut |_| {}).unwrap();
        assert!(found.is_empty(), "{found:?}\n{:#?}", self.log);
    }
}

fn apply(effect: &Effect, content: &mut Content) {
    match effect {
        Effect::Set(new) => *content = new.clone(),
        Effect::Add(by) => {
            let count: i64 = content[0].0.as_ref().unwrap().parse().unwrap();
            content[0].0 = Some(count.wrapping_add(*by).to_string());
        }
        Effect::Append(cell) => content.push((cell.clone(), None)),
        Effect::Insert(key, value) => {
            content.retain(|(old, _)| old != key);
            content.push((key.clone(), value.clone()));
        }
        Effect::Clear => content.clear(),
    }
}
