//! `create_many` does what `create` does for one object after the other.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use permazen::__internal::object::{CreateListener, FieldListener};
use permazen::encoding::Value;
use permazen::object::{self, FieldValue, Migrate, ObjectBuilder, Watch};
use permazen::{Error, ObjIdGenerator, Ref, Tx, Validation};
use proptest::prelude::*;

use crate::creating::models::{Pairs, Person, Pet, Plan, database, pairs, plan};

/// Makes the objects group by group, with `make`, and returns all pairs.
fn made(
    groups: &[Vec<Plan>],
    people: impl Fn(&Tx, &[Person]) -> permazen::Result<Vec<Ref<Person>>>,
    pets: impl Fn(&Tx, &[Pet]) -> permazen::Result<Vec<Ref<Pet>>>,
) -> Pairs {
    let (store, db) = database();
    db.database().set_id_generator(ObjIdGenerator::from_seed(7));
    db.write(|tx| {
        let (mut all_people, mut all_pets) = (Vec::new(), Vec::new());
        for group in groups {
            let these: Vec<_> =
                group.iter().filter_map(|plan| plan.person(&all_people, &all_pets)).collect();
            all_people.extend(people(tx, &these)?);
            let these: Vec<_> = group.iter().filter_map(|plan| plan.pet(&all_people)).collect();
            all_pets.extend(pets(tx, &these)?);
        }
        Ok(())
    })
    .unwrap();
    pairs(&*store)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn gives_the_same_bytes_as_one_after_the_other(
        groups in proptest::collection::vec(proptest::collection::vec(plan(), 0..12), 1..5),
    ) {
        let at_once = made(
            &groups,
            |tx, people| Ok(tx.create_many(people)?.into_iter().map(Ref::from).collect()),
            |tx, pets| Ok(tx.create_many(pets)?.into_iter().map(Ref::from).collect()),
        );
        let singly = made(
            &groups,
            |tx, people| people.iter().map(|person| Ok(tx.create(person)?.into())).collect(),
            |tx, pets| pets.iter().map(|pet| Ok(tx.create(pet)?.into())).collect(),
        );
        prop_assert_eq!(at_once, singly);
    }
}

/// More than one batch.
fn many(count: usize) -> impl Iterator<Item = Pet> + Clone {
    (0..count).map(|n| Pet { name: Some(format!("{n} {}", "x".repeat(100))), owner: None })
}

#[test]
fn several_batches_are_in_order() {
    let ((one, at_once), (other, singly)) = (database(), database());
    for db in [&at_once, &singly] {
        db.database().set_id_generator(ObjIdGenerator::from_seed(1));
    }
    let count = 20_000;
    at_once
        .write(|tx| {
            let created = tx.create_many(many(count))?;
            assert_eq!(created.len(), count);
            assert_eq!(created[count - 1].load()?, many(count).last().unwrap());
            Ok(())
        })
        .unwrap();
    singly.write(|tx| many(count).try_for_each(|pet| tx.create(pet).map(drop))).unwrap();
    assert_eq!(pairs(&*one), pairs(&*other));
}

#[test]
fn ids_that_are_taken_are_drawn_again() {
    let (_, db) = database();
    let first = |count: usize| {
        db.database().set_id_generator(ObjIdGenerator::from_seed(1));
        db.write(|tx| Ok(tx.create_many(many(count))?.iter().map(|it| it.id()).collect::<Vec<_>>()))
            .unwrap()
    };
    let before = first(3);
    let after = first(5);
    let all: BTreeSet<_> = before.iter().chain(&after).collect();
    assert_eq!(all.len(), 8);
    db.read(|tx| {
        let loaded: Vec<_> = after
            .iter()
            .map(|id| tx.get::<Pet>(Ref::new(*id))?.load())
            .collect::<Result<_, _>>()?;
        assert_eq!(loaded, many(5).collect::<Vec<_>>());
        assert_eq!(tx.all::<Pet>()?.count()?, 8);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_failure_leaves_nothing_of_the_call() {
    let (store, db) = database();
    let tx = db.begin().unwrap();
    let gone = tx.create(Person::default()).unwrap();
    let missing = Ref::from(gone);
    gone.delete().unwrap();
    tx.commit().unwrap();
    let before = pairs(&*store);
    let tx = db.begin().unwrap();
    let pets = [None, Some(missing), None].map(|owner| Pet { name: None, owner });
    let error = tx.create_many(&pets).unwrap_err();
    assert!(matches!(error, Error::Object(object::Error::DeletedObject { .. })));
    assert!(error.to_string().contains("owner"), "{error}");
    tx.commit().unwrap();
    assert_eq!(pairs(&*store), before);
}

#[test]
fn rules_are_checked_as_usual() {
    let (_, db) = database();
    let twice = || [1, 2, 1].map(|code| Person { code: Some(code), ..Person::default() });
    let error = db.write(|tx| tx.create_many(twice()).map(drop)).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    db.write(|tx| {
        tx.set_validation(Validation::Early)?;
        assert!(matches!(tx.create_many(twice()), Err(Error::Invalid(_))));
        assert!(tx.all::<Person>()?.is_empty()?);
        Ok(())
    })
    .unwrap();
}

/// The events that listeners get, in order, and the error if the object with this name is refused.
fn told(
    refused: Option<&'static str>,
    create: impl Fn(&Tx, &[Pet]) -> permazen::Result<()>,
) -> (Vec<String>, Option<String>, Pairs) {
    let (store, db) = database();
    db.database().set_id_generator(ObjIdGenerator::from_seed(3));
    let told = Arc::new(Mutex::new(Vec::new()));
    let tx = db.begin().unwrap();
    let object_type = tx.schema().object_type("Pet").unwrap().clone();
    let log = told.clone();
    let created: CreateListener = Arc::new(move |_, id| {
        log.lock().unwrap().push(format!("created {id}"));
        Ok(())
    });
    tx.core().on_create(object_type.storage_id, created).unwrap();
    let log = told.clone();
    let changed: FieldListener = Arc::new(move |tx, change, _| {
        let name = tx.get(change.id(), "name", Migrate::No)?;
        log.lock().unwrap().push(format!("{:?}, now {name:?}", change.decode()?));
        match name {
            Value::String(name) if Some(&*name) == refused => Err(object::Error::listener("no")),
            _ => Ok(()),
        }
    });
    let name = object_type.field("name").unwrap().storage_id;
    tx.core().on_change(name, Watch::itself(), changed).unwrap();
    let pets = ["a", "b", "c"].map(|name| Pet { name: Some(name.to_owned()), owner: None });
    let error = create(&tx, &pets).err().map(|error| error.to_string());
    tx.commit().unwrap();
    let told = told.lock().unwrap().clone();
    (told, error, pairs(&*store))
}

#[test]
fn listeners_are_told_as_if_objects_were_created_one_after_the_other() {
    let at_once = |tx: &Tx, pets: &[Pet]| tx.create_many(pets).map(drop);
    let singly = |tx: &Tx, pets: &[Pet]| pets.iter().try_for_each(|pet| tx.create(pet).map(drop));
    assert_eq!(told(None, at_once), told(None, singly));
    assert_eq!(told(None, at_once).0.len(), 6);

    let (of_all, refused, left) = told(Some("b"), at_once);
    let (of_each, refused_singly, _) = told(Some("b"), singly);
    assert_eq!((of_all, &refused), (of_each, &refused_singly));
    assert_eq!(refused.unwrap(), "a listener failed: no");
    let (store, _db) = database();
    assert_eq!(left, pairs(&*store), "nothing is left");
}

#[test]
fn objects_of_several_types_are_created_by_name() {
    let (_, db) = database();
    let tx = db.begin().unwrap();
    let builder = |name: &str| ObjectBuilder::new(tx.schema().object_type(name).unwrap().clone());
    let mut pet = builder("Pet");
    pet.set("name", &FieldValue::Simple("Rex".into())).unwrap();
    let ids = tx.core().create_many(&[pet.finish(), builder("Person").finish()]).unwrap();
    assert_eq!(tx.get::<Pet>(Ref::new(ids[0])).unwrap().name().unwrap().as_deref(), Some("Rex"));
    assert!(tx.get::<Person>(Ref::new(ids[1])).unwrap().exists().unwrap());
    assert!(tx.core().create_many(&[]).unwrap().is_empty());
}
