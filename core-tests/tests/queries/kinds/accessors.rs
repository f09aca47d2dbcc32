//! Fields of mix-ins in models, and objects as those of kinds.

use std::collections::HashSet;

use permazen::{Counter, Error, Ref};

use crate::kinds::models::*;

#[test]
fn fields_of_a_mixin_are_those_of_the_model() {
    db().write(|tx| {
        let dog = tx.create(Dog { good: true, named: named("Rex"), chip: Some(7) })?;
        assert_eq!(
            (dog.name()?, dog.rank()?, dog.good()?, dog.chip()?),
            ("Rex".into(), 1, true, Some(7))
        );
        dog.set_name("Max")?;
        dog.set_rank(3)?;
        dog.set_chip(8)?;
        dog.views().add(4)?;
        let expected = Named { name: "Max".into(), rank: 3, views: Counter(4) };
        assert_eq!(dog.load()?, Dog { good: true, named: expected.clone(), chip: Some(8) });
        dog.store(&Dog { good: false, named: named("Ben"), chip: None })?;
        // Storing leaves counters alone.
        let expected = Named { name: "Ben".into(), rank: 1, views: Counter(4) };
        assert_eq!(dog.load()?, Dog { good: false, named: expected, chip: None });
        assert_eq!(dog.any().get("name")?.get::<String>().unwrap(), "Ben");
        Ok(())
    })
    .unwrap();
}

#[test]
fn mixins_of_mixins_are_flattened_too() {
    db().write(|tx| {
        let entry = Entry {
            tags: vec!["a".into(), "b".into()],
            dated: Dated { created_at: 9 },
            named: named("Kaa"),
        };
        let snake = tx.create(Snake { entry: entry.clone(), length: 2.5 })?;
        assert_eq!(snake.load()?, Snake { entry, length: 2.5 });
        assert_eq!((snake.name()?, snake.created_at()?, snake.length()?), ("Kaa".into(), 9, 2.5));
        assert_eq!(snake.load()?.entry.tags, ["a", "b"]);
        snake.set_created_at(10)?;
        snake.tags()?.push("c")?;
        assert_eq!((snake.created_at()?, snake.tags()?.len()?), (10, 3));
        // By constants.
        assert_eq!(snake.get(Snake::ENTRY.named.name)?, "Kaa");
        snake.set(Snake::ENTRY.dated.created_at, 11)?;
        assert_eq!((snake.created_at()?, snake.get(Snake::LENGTH)?), (11, 2.5));
        snake.list_of(Snake::ENTRY.tags)?.push("d")?;
        assert_eq!(snake.tags()?.len()?, 4);
        Ok(())
    })
    .unwrap();
}

#[test]
fn defaults_of_a_mixin_are_those_of_its_fields() {
    let db = db();
    let tx = db.begin().unwrap();
    assert_eq!(tx.create_default::<Dog>().unwrap().rank().unwrap(), 5);
    assert_eq!(tx.create_default::<Cat>().unwrap().rank().unwrap(), 5);
    let snake = tx.create_default::<Snake>().unwrap();
    assert_eq!((snake.rank().unwrap(), snake.length().unwrap()), (5, 0.0));
    tx.rollback().unwrap();
}

#[test]
fn an_object_is_one_of_its_kind() {
    db().write(|tx| {
        let dog = tx.create(Dog { named: named("Rex"), ..Dog::default() })?;
        let cat = tx.create(Cat { named: named("Tom"), ..Cat::default() })?;
        let snake = tx.create(Snake::default())?;
        tx.create(Rock::default())?;
        let pets = tx.all::<PetKind>()?.to_vec()?;
        assert_eq!(pets.len(), 3);
        let ids: HashSet<_> = pets.iter().map(|pet| pet.id()).collect();
        assert_eq!(ids, HashSet::from([dog.id(), cat.id(), snake.id()]));
        for pet in pets {
            match pet {
                Pet::Dog(found) => assert_eq!(found, dog),
                Pet::Cat(found) => assert_eq!(found, cat),
                Pet::Reptile(Reptile::Snake(found)) => assert_eq!(found, snake),
            }
        }
        assert_eq!(tx.all::<Things>()?.count()?, 2);
        let pet = Pet::from(dog);
        assert_eq!(pet.name()?, "Rex");
        pet.set_name("Max")?;
        pet.views().add(2)?;
        assert_eq!((dog.name()?, dog.views().get()?), ("Max".into(), 2));
        let pet: Pet<'_> = cat.into();
        pet.set_rank(9)?;
        assert_eq!((cat.rank()?, cat.lives()?), (9, 0));
        let pet = Pet::from(Reptile::from(snake));
        pet.set_name("Kaa")?;
        assert_eq!((snake.name()?, snake.tags()?.len()?), ("Kaa".into(), 0));
        assert_eq!(
            (pet.any().downcast::<Snake>(), pet.any().downcast::<Dog>()),
            (Some(snake), None)
        );
        assert_eq!(pet.any(), snake.any());
        assert_eq!(format!("{pet:?}"), format!("{snake:?}"));
        assert!(pet.exists()? && pet.delete()? && !pet.exists()? && !pet.delete()?);
        Ok(())
    })
    .unwrap();
}

#[test]
fn references_to_a_kind() {
    db().write(|tx| {
        let dog = tx.create(Dog { named: named("Rex"), ..Dog::default() })?;
        let cat = tx.create(Cat::default())?;
        let snake = tx.create(Snake::default())?;
        let rock = tx.create(Rock::default())?;
        let walk =
            tx.create(Walk { pet: dog.into(), found: None, met: vec![cat.to_ref().within()] })?;
        assert_eq!(walk.pet()?, Pet::Dog(dog));
        walk.set_pet(cat)?;
        walk.set_found(rock)?;
        walk.set_pet(Pet::Reptile(Reptile::Snake(snake)))?;
        walk.met()?.push(Pet::Dog(dog))?;
        walk.met()?.push(cat)?;
        assert_eq!(walk.pet()?.id(), snake.id());
        assert!(matches!(walk.found()?, Some(Thing::Rock(found)) if found == rock));
        let loaded = walk.load()?;
        let reference: Ref<PetKind> = Pet::Reptile(snake.into()).into();
        assert_eq!(loaded.pet, reference);
        assert_eq!(loaded.met, [cat.into(), dog.into(), Ref::from(cat)]);
        assert_eq!(tx.get(loaded.pet)?, Pet::from(Reptile::from(snake)));
        assert_eq!(tx.get::<PetKind>(dog.id())?, Pet::from(dog));
        // Of another type.
        let wrong = tx.get::<PetKind>(rock.id()).unwrap_err();
        assert!(matches!(wrong, Error::WrongType { expected: "Pet", .. }), "{wrong}");
        // Indexes of references take members.
        let walks = |found| tx.index(Walk::PET)?.get(found)?.count();
        assert_eq!((walks(Pet::from(dog))?, walks(Reptile::from(snake).into())?), (0, 1));
        assert_eq!(tx.index(Walk::MET)?.get(dog)?.count()?, 1);
        assert!(snake.delete().is_err());
        rock.delete()?;
        assert!(walk.found()?.is_none());
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_reference_to_a_kind_is_set_from_an_option_of_its_handle() {
    db().write(|tx| {
        let dog = tx.create(Dog { good: true, named: named("Rex"), chip: None })?;
        let walk = tx.create(Walk { pet: dog.into(), found: Some(dog.into()), met: vec![] })?;
        let found: Option<Thing<'_>> = walk.found()?;
        walk.set_found(&None::<Thing<'_>>)?;
        assert!(walk.found()?.is_none());
        walk.set_found(&found)?;
        assert_eq!(walk.found()?.map(|thing| thing.id()), Some(dog.id()));
        // A member of the kind, as a handle of its own.
        walk.set_found(&Some(dog))?;
        assert_eq!(walk.found()?.map(|thing| thing.id()), Some(dog.id()));
        Ok(())
    })
    .unwrap();
}
