//! A loaded database is what creating the objects one after the other gives.

use std::path::Path;
use std::sync::Arc;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KeySpan, KvDatabase};
use permazen::model::LoadProgress;
use permazen::{Error, ObjId, Permazen, Ref};
use proptest::prelude::*;

use crate::creating::models::{Pairs, Person, Pet, Plan, database, on, pairs, plan};

/// The objects with all their references, which can be to each other.
struct World {
    people: Vec<(Ref<Person>, Person)>,
    pets: Vec<(Ref<Pet>, Pet)>,
}

impl World {
    /// Draws the IDs from a loader.
    fn new(plans: &[Plan]) -> World {
        let mut loader = database().1.loader().unwrap();
        let is_person = |plan: &&Plan| matches!(plan, Plan::Person { .. });
        let people = plans.iter().filter(is_person).count();
        let people: Vec<Ref<Person>> = (0..people).map(|_| loader.id().unwrap()).collect();
        let pets: Vec<Ref<Pet>> =
            (people.len()..plans.len()).map(|_| loader.id().unwrap()).collect();
        let mut made = plans.iter().filter_map(|plan| plan.person(&people, &pets));
        let of_people = people.iter().map(|id| (*id, made.next().unwrap())).collect();
        let mut made = plans.iter().filter_map(|plan| plan.pet(&people));
        let of_pets = pets.iter().map(|id| (*id, made.next().unwrap())).collect();
        World { people: of_people, pets: of_pets }
    }

    /// Each of them gets its references when all are there.
    fn create(&self, db: &Permazen) {
        db.write(|tx| {
            for (id, person) in &self.people {
                let visits = person.visits;
                tx.create_with_id(*id, Person { visits, ..Person::default() })?.unwrap();
            }
            self.pets.iter().try_for_each(|(id, _)| {
                tx.create_with_id(*id, Pet::default())?.unwrap();
                Ok::<_, Error>(())
            })?;
            self.people.iter().try_for_each(|(id, person)| tx.get(*id)?.store(person))?;
            self.pets.iter().try_for_each(|(id, pet)| tx.get(*id)?.store(pet))
        })
        .unwrap();
    }

    /// In an order of the IDs or against it, within this number of bytes of memory.
    fn load(&self, db: &Permazen, memory: usize, backwards: bool) -> LoadProgress {
        let mut told = LoadProgress::default();
        let mut loader = db.loader().unwrap().memory(memory).progress(|so_far| {
            assert!(so_far.objects >= told.objects && so_far.written >= told.written);
            assert!(so_far.written <= so_far.sorted && so_far.sorted <= so_far.pairs);
            told = so_far;
        });
        let (mut people, mut pets) = (self.people.iter().collect::<Vec<_>>(), self.pets.iter());
        if backwards {
            people.reverse();
        }
        for (id, person) in people {
            loader.add_with_id(*id, person).unwrap();
            if let Some((id, pet)) = pets.next() {
                loader.add_with_id(*id, pet).unwrap();
            }
        }
        pets.for_each(|(id, pet)| loader.add_with_id(*id, pet).unwrap());
        let loaded = loader.finish().unwrap();
        assert_eq!(loaded.written, loaded.pairs);
        assert_eq!(loaded.objects, (self.people.len() + self.pets.len()) as u64);
        assert_eq!(told, loaded);
        loaded
    }
}

fn check(store: &dyn KvDatabase) {
    let options = permazen_jsck::Options::default();
    let mut found = Vec::new();
    let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
    permazen_jsck::check_database(store, &options, &mut sink, &mut |_| {}).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn gives_the_same_bytes_as_creating_one_after_the_other(
        plans in proptest::collection::vec(plan(), 0..60),
        memory in prop_oneof![Just(0), Just(600), Just(4000), Just(1 << 20)],
        backwards in any::<bool>(),
    ) {
        let world = World::new(&plans);
        let ((one, created), (other, loaded)) = (database(), database());
        world.create(&created);
        let empty = pairs(&*other).len();
        let end = world.load(&loaded, memory, backwards);
        prop_assert_eq!(pairs(&*one), pairs(&*other));
        prop_assert_eq!(pairs(&*other).len() - empty, end.pairs as usize);
        check(&*other);
    }
}

fn many(count: usize) -> World {
    let plans: Vec<_> = (0..count)
        .map(|n| {
            let name = format!("{} {}", n * 7919 % count, "x".repeat(n % 40));
            let person = Person { name, age: (n % 90) as i32, ..Person::default() };
            let tags = (0..n % 3).map(|tag| format!("tag{tag}")).collect();
            let person = Person { code: Some(n as i64), tags, scores: vec![1, 2], ..person };
            match n % 4 {
                0 => Plan::Pet { name: Some(n.to_string()), owner: Some(n / 2) },
                _ => Plan::Person { person, friend: Some(n + 1), pets: vec![n], lost: vec![] },
            }
        })
        .collect();
    World::new(&plans)
}

fn in_store(store: Arc<dyn KvDatabase>, world: &World, expected: &Pairs) {
    let loaded = world.load(&on(store.clone()), 50_000, true);
    assert!(loaded.pairs > 14_000);
    assert!(pairs(&*store) == *expected);
    check(&*store);
}

#[test]
fn many_objects_go_through_many_runs_into_each_store() {
    let world = many(2000);
    let (store, db) = database();
    world.create(&db);
    let expected = pairs(&*store);
    in_store(database().0, &world, &expected);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file.sqlite");
    let sqlite = permazen::kv::sqlite::SqliteStore::open_or_create(file).unwrap();
    in_store(Arc::new(sqlite), &world, &expected);
    let lmdb = Arc::new(LmdbStore::open_or_create(directory.path()).unwrap());
    in_store(lmdb.clone(), &world, &expected);
    let space = lmdb.space(&[KeySpan::FULL]).unwrap()[0];
    assert!(space.fill() > 0.9, "pages are full: {}", space.fill());
}

#[test]
fn a_loader_makes_ids_that_ascend_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let (_, db) = database();
    let mut loader = db.loader().unwrap().memory(0).directory(directory.path());
    let ids: Vec<ObjId> = (0..500).map(|_| loader.add(Pet::default()).unwrap().id()).collect();
    assert!(ids.is_sorted());
    assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "it has no name");
    loader.finish().unwrap();
    let found = db.read(|tx| {
        tx.all::<Pet>()?.iter().map(|pet| Ok(pet?.id())).collect::<permazen::Result<Vec<_>>>()
    });
    assert_eq!(found.unwrap(), ids);
    let transaction = db.write(|tx| Ok(tx.create(Pet::default())?.id())).unwrap();
    assert!(!ids.contains(&transaction));
}

#[test]
fn a_directory_that_is_missing_is_named_in_the_error() {
    let (store, db) = database();
    let before = pairs(&*store);
    let mut loader = db.loader().unwrap().memory(0).directory(Path::new("/no/such/directory"));
    loader.add(Pet::default()).unwrap();
    let error = loader.add(Pet::default()).unwrap_err();
    let error = format!("{error:?}");
    assert!(error.contains("temporary files") && error.contains("/no/such/directory"), "{error}");
    drop(loader);
    assert_eq!(pairs(&*store), before);
}

#[test]
fn nothing_loaded_leaves_the_database_as_it_is() {
    let (store, db) = database();
    let before = pairs(&*store);
    assert_eq!(db.loader().unwrap().finish().unwrap(), LoadProgress::default());
    assert_eq!(pairs(&*store), before);
    let mut loader = db.loader().unwrap();
    loader.add(Pet::default()).unwrap();
    drop(loader);
    assert_eq!(pairs(&*store), before);
}
