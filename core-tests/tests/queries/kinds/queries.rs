//! Queries of fields that several models share.

use permazen::{Counter, Error, ObjId, Permazen, kv::memory::MemoryStore};

use crate::kinds::models::*;

/// A dog Rex 1, a cat Tom 2, a snake Kaa 3, a cat Rex 4, and a rock Rex.
fn filled() -> (Permazen, [ObjId; 4]) {
    let db = db();
    let named = |name: &str, rank| Named { name: name.into(), rank, views: Counter(0) };
    let ids = db
        .write(|tx| {
            let rex = tx.create(Dog { named: named("Rex", 1), ..Dog::default() })?;
            let tom = tx.create(Cat { named: named("Tom", 2), ..Cat::default() })?;
            let entry =
                Entry { named: named("Kaa", 3), tags: vec!["x".into()], ..Entry::default() };
            let kaa = tx.create(Snake { entry, length: 1.0 })?;
            let other = tx.create(Cat { named: named("Rex", 4), ..Cat::default() })?;
            tx.create(Rock { name: "Rex".into() })?;
            Ok([rex.id(), tom.id(), kaa.id(), other.id()])
        })
        .unwrap();
    (db, ids)
}

#[test]
fn in_one_model() {
    let (db, [rex, tom, _, other]) = filled();
    db.read(|tx| {
        let dogs = tx.index(Dog::NAMED.name)?;
        assert_eq!(dogs.get("Rex")?.to_vec()?, [tx.get::<Dog>(rex)?]);
        let cats = tx.index(Cat::NAMED.name)?;
        let found: Vec<_> = cats.iter().collect::<Result<_, _>>()?;
        let (other, tom) = (tx.get::<Cat>(other)?, tx.get::<Cat>(tom)?);
        assert_eq!(found, [("Rex".to_owned(), other), ("Tom".to_owned(), tom)]);
        let ranked = tx.index(Cat::NAMED.by_name_rank)?.prefix("Rex")?.range(2..)?;
        assert_eq!(ranked.objects().collect::<Result<Vec<_>, _>>()?, [other]);
        assert_eq!(tx.index(Cat::BY_LIVES)?.count()?, 2);
        assert_eq!(tx.index(Snake::ENTRY.tags)?.get("x")?.count()?, 1);
        assert_eq!(tx.index(Snake::ENTRY.named.name)?.get("Kaa")?.count()?, 1);
        assert_eq!(
            tx.index(Snake::ENTRY.named.by_name_rank)?.get(("Kaa".to_owned(), 3))?.count()?,
            1
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn in_all_models_that_have_the_mixin() {
    let (db, [rex, tom, kaa, other]) = filled();
    db.read(|tx| {
        let ids = |objects: Vec<permazen::AnyObj<'_>>| -> Vec<_> {
            objects.iter().map(permazen::AnyObj::id).collect()
        };
        let mut same = [rex, other];
        same.sort();
        assert_eq!(ids(tx.index(Named::NAME)?.get("Rex")?.to_vec()?), same);
        let all = tx.index(Named::NAME)?.objects().collect::<Result<Vec<_>, _>>()?;
        assert_eq!(ids(all), [&[kaa], &same[..], &[tom]].concat());
        let ranked = tx.index(Named::BY_NAME_RANK)?.prefix("Rex")?;
        assert_eq!(ids(ranked.objects().collect::<Result<_, _>>()?), [rex, other]);
        // Only models with the outer mix-in.
        assert_eq!(tx.index(Entry::NAMED.name)?.count()?, 1);
        assert_eq!(tx.index(Entry::TAGS)?.count()?, 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn in_the_models_of_a_kind() {
    let (db, [rex, tom, kaa, other]) = filled();
    db.read(|tx| {
        let pets = tx.index(PetKind::NAMED.name)?;
        let names: Vec<_> = pets
            .iter()
            .map(|entry| entry.map(|(name, pet)| (name, pet.id())))
            .collect::<Result<_, _>>()?;
        let mut expected: Vec<_> = [("Kaa", kaa), ("Rex", rex), ("Rex", other), ("Tom", tom)]
            .map(|(name, id)| (name.to_owned(), id))
            .into();
        expected.sort();
        assert_eq!(names, expected);
        assert!(
            pets.get("Rex")?.to_vec()?.iter().all(|pet| matches!(pet, Pet::Dog(_) | Pet::Cat(_)))
        );
        assert_eq!(pets.values().collect::<Result<Vec<_>, _>>()?, ["Kaa", "Rex", "Tom"]);
        assert!(matches!(pets.first()?, Some((_, Pet::Reptile(Reptile::Snake(_))))));
        assert_eq!(tx.index(ReptileKind::NAMED.name)?.count()?, 1);
        let ranked = tx.index(PetKind::NAMED.by_name_rank)?.prefix("Rex")?;
        let ranks: Vec<_> = ranked
            .iter()
            .map(|entry| entry.map(|((_, rank), _)| rank))
            .collect::<Result<_, _>>()?;
        assert_eq!(ranks, [1, 4]);
        // The rock's field of that name has no index, and shares none.
        assert_eq!(pets.of_all_types()?.get("Rex")?.count()?, 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn of_models_that_are_not_registered() {
    let db = Permazen::builder(MemoryStore::new()).model::<Dog>().model::<Rock>().build().unwrap();
    db.write(|tx| {
        let dog = tx.create(Dog { named: named("Rex"), ..Dog::default() })?;
        let missing = |error: Error, name: &str| {
            assert!(
                matches!(error, Error::NotRegistered { type_name } if type_name == name),
                "{error}"
            );
        };
        missing(tx.all::<PetKind>().unwrap_err(), "Cat");
        missing(tx.index(PetKind::NAMED.name).unwrap_err(), "Cat");
        // An ID is of one model only.
        assert_eq!(tx.get::<PetKind>(dog.id())?, Pet::Dog(dog));
        assert!(tx.get::<PetKind>(ObjId::min(permazen::StorageId::new(99).unwrap())).is_err());
        // A mix-in is that of the registered models.
        assert_eq!(tx.index(Named::NAME)?.count()?, 1);
        assert!(matches!(tx.index(Entry::TAGS), Err(Error::NotRegistered { .. })));
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_a_query_of_a_mixin_finds_has_the_accessors_of_the_mixin() {
    db().write(|tx| {
        tx.create(Dog { named: named("Rex"), ..Dog::default() })?;
        tx.create(Snake { entry: Entry { named: named("Rex"), ..Entry::default() }, length: 1.0 })?;
        let rock = tx.create(Rock { name: "Rex".into() })?;
        let mut names = Vec::new();
        for object in tx.index(Named::NAME)?.get("Rex")?.iter() {
            let object = object?.with::<Named>().unwrap();
            object.set_name(format!("{} {}", object.name()?, object.rank()?))?;
            names.push(object.name()?);
        }
        assert_eq!(names, ["Rex 1", "Rex 1"]);
        assert!(rock.any().with::<Named>().is_none());
        assert!(rock.any().with::<Entry>().is_none());
        Ok(())
    })
    .unwrap();
}
