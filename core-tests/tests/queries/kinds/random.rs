//! Random objects of several models, compared with a naive model.

use std::collections::BTreeMap;

use permazen::{AnyObj, Counter, ObjId, Ref, Result, Tx};
use proptest::prelude::*;

use crate::kinds::models::*;

/// An operation, on the objects that there are by their number.
#[derive(Debug, Clone)]
enum Step {
    Create {
        model: u8,
        name: u8,
        rank: i32,
    },
    /// Through the model, or through the kind.
    Name {
        at: usize,
        name: u8,
        by_kind: bool,
    },
    Rank {
        at: usize,
        rank: i32,
        by_kind: bool,
    },
    Count {
        at: usize,
        by: i64,
    },
    Store {
        at: usize,
        name: u8,
        rank: i32,
    },
    Walk {
        at: usize,
        met: Vec<usize>,
    },
    Delete {
        at: usize,
    },
}

/// An object as the naive model knows it.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    model: u8,
    name: String,
    rank: i32,
    views: i64,
}

type World = BTreeMap<ObjId, Known>;

fn step() -> impl Strategy<Value = Step> {
    let (at, name, rank) = (0..20_usize, 0..4_u8, 0..3_i32);
    prop_oneof![
        4 => (0..3_u8, name.clone(), rank.clone())
            .prop_map(|(model, name, rank)| Step::Create { model, name, rank }),
        2 => (at.clone(), name.clone(), any::<bool>())
            .prop_map(|(at, name, by_kind)| Step::Name { at, name, by_kind }),
        2 => (at.clone(), rank.clone(), any::<bool>())
            .prop_map(|(at, rank, by_kind)| Step::Rank { at, rank, by_kind }),
        1 => (at.clone(), -3..4_i64).prop_map(|(at, by)| Step::Count { at, by }),
        1 => (at.clone(), name, rank).prop_map(|(at, name, rank)| Step::Store { at, name, rank }),
        1 => (at.clone(), prop::collection::vec(at.clone(), 0..3))
            .prop_map(|(at, met)| Step::Walk { at, met }),
        1 => at.prop_map(|at| Step::Delete { at }),
    ]
}

fn text(name: u8) -> String {
    ["Ann", "Bo", "Rex", "Tom"][usize::from(name)].to_owned()
}

/// The object at a number, if there are any.
fn pick(world: &World, at: usize) -> Option<ObjId> {
    world.keys().nth(at % world.len().max(1)).copied()
}

fn perform(tx: &Tx, step: &Step, world: &mut World) -> Result<()> {
    match step {
        Step::Create { model, name, rank } => {
            let named = Named { name: text(*name), rank: *rank, views: Counter(1) };
            let pet: Pet<'_> = match model {
                0 => tx.create(Dog { named, ..Dog::default() })?.into(),
                1 => tx.create(Cat { named, ..Cat::default() })?.into(),
                _ => {
                    let entry = Entry { named, ..Entry::default() };
                    Reptile::from(tx.create(Snake { entry, length: 0.5 })?).into()
                }
            };
            let known = Known { model: *model, name: text(*name), rank: *rank, views: 1 };
            world.insert(pet.id(), known);
        }
        Step::Name { at, name, by_kind } => {
            let Some(id) = pick(world, *at) else { return Ok(()) };
            match tx.get::<PetKind>(id)? {
                pet if *by_kind => pet.set_name(text(*name))?,
                Pet::Dog(dog) => dog.set_name(text(*name))?,
                Pet::Cat(cat) => cat.set_name(text(*name))?,
                Pet::Reptile(Reptile::Snake(snake)) => snake.set_name(text(*name))?,
            }
            world.get_mut(&id).unwrap().name = text(*name);
        }
        Step::Rank { at, rank, by_kind } => {
            let Some(id) = pick(world, *at) else { return Ok(()) };
            match tx.get::<PetKind>(id)? {
                pet if *by_kind => pet.set_rank(*rank)?,
                Pet::Dog(dog) => dog.set(Dog::NAMED.rank, *rank)?,
                Pet::Cat(cat) => cat.set(Cat::NAMED.rank, *rank)?,
                Pet::Reptile(Reptile::Snake(snake)) => snake.set(Snake::ENTRY.named.rank, *rank)?,
            }
            world.get_mut(&id).unwrap().rank = *rank;
        }
        Step::Count { at, by } => {
            let Some(id) = pick(world, *at) else { return Ok(()) };
            tx.get::<PetKind>(id)?.views().add(*by)?;
            world.get_mut(&id).unwrap().views += by;
        }
        Step::Store { at, name, rank } => {
            let Some(id) = pick(world, *at) else { return Ok(()) };
            let new = |named: &mut Named| {
                named.name = text(*name);
                named.rank = *rank;
            };
            match tx.get::<PetKind>(id)? {
                Pet::Dog(dog) => {
                    let mut data = dog.load()?;
                    new(&mut data.named);
                    dog.store(&data)?;
                }
                Pet::Cat(cat) => {
                    let mut data = cat.load()?;
                    new(&mut data.named);
                    cat.store(&data)?;
                }
                Pet::Reptile(Reptile::Snake(snake)) => {
                    let mut data = snake.load()?;
                    new(&mut data.entry.named);
                    snake.store(&data)?;
                }
            }
            let known = world.get_mut(&id).unwrap();
            (known.name, known.rank) = (text(*name), *rank);
        }
        Step::Walk { at, met } => {
            let Some(id) = pick(world, *at) else { return Ok(()) };
            let met: Vec<Ref<PetKind>> =
                met.iter().filter_map(|at| pick(world, *at)).map(Ref::new).collect();
            let walk = tx.create(Walk { pet: id.into(), found: None, met: met.clone() })?;
            assert_eq!(walk.pet()?.id(), id);
            assert_eq!(walk.load()?.met, met);
            let walks = tx.index(Walk::PET)?.get(tx.get::<PetKind>(id)?)?;
            assert!(walks.contains(walk)?);
            walk.delete()?;
        }
        Step::Delete { at } => {
            let Some(id) = pick(world, *at) else { return Ok(()) };
            assert!(tx.get::<PetKind>(id)?.delete()?);
            world.remove(&id);
        }
    }
    Ok(())
}

/// Compares everything that can be asked with the naive model.
fn compare(tx: &Tx, world: &World) -> Result<()> {
    let ids = |pets: Vec<Pet<'_>>| -> Vec<ObjId> { pets.iter().map(Pet::id).collect() };
    assert!(ids(tx.all::<PetKind>()?.to_vec()?).into_iter().eq(world.keys().copied()));
    for pet in tx.all::<PetKind>()? {
        let pet = pet?;
        let known = &world[&pet.id()];
        let model = match pet {
            Pet::Dog(_) => 0,
            Pet::Cat(_) => 1,
            Pet::Reptile(_) => 2,
        };
        let (name, rank, views) = (pet.name()?, pet.rank()?, pet.views().get()?);
        assert_eq!(Known { model, name, rank, views }, *known);
    }
    let sorted = |models: &[u8], from: &str| -> Vec<(String, i32, ObjId)> {
        let wanted = world.iter().filter(|(_, known)| models.contains(&known.model));
        let wanted = wanted.filter(|(_, known)| known.name.as_str() >= from);
        let mut found: Vec<_> =
            wanted.map(|(id, known)| (known.name.clone(), known.rank, *id)).collect();
        found.sort();
        found
    };
    let by_name = |all: Vec<(String, i32, ObjId)>| -> Vec<(String, ObjId)> {
        let mut all: Vec<_> = all.into_iter().map(|(name, _, id)| (name, id)).collect();
        all.sort();
        all
    };
    for from in ["", "Bo", "Rex"] {
        let pets = tx.index(PetKind::NAMED.name)?.range(from..)?;
        let found = pets.iter().map(|entry| entry.map(|(name, pet)| (name, pet.id())));
        assert_eq!(found.collect::<Result<Vec<_>>>()?, by_name(sorted(&[0, 1, 2], from)));
        let any = tx.index(Named::NAME)?.range(from..)?;
        let found = any.objects().rev().map(|object| object.map(|object: AnyObj<'_>| object.id()));
        let mut expected: Vec<_> =
            by_name(sorted(&[0, 1, 2], from)).into_iter().map(|(_, id)| id).collect();
        expected.reverse();
        assert_eq!(found.collect::<Result<Vec<_>>>()?, expected);
        let cats = tx.index(Cat::NAMED.name)?.range(from..)?;
        let found = cats.iter().map(|entry| entry.map(|(name, cat)| (name, cat.id())));
        assert_eq!(found.collect::<Result<Vec<_>>>()?, by_name(sorted(&[1], from)));
    }
    let ranked = tx.index(PetKind::NAMED.by_name_rank)?;
    let found = ranked.iter().map(|entry| entry.map(|((name, rank), pet)| (name, rank, pet.id())));
    assert_eq!(found.collect::<Result<Vec<_>>>()?, sorted(&[0, 1, 2], ""));
    let reptiles = tx.index(ReptileKind::NAMED.by_name_rank)?.prefix("Rex")?;
    let expected = sorted(&[2], "").into_iter().filter(|(name, ..)| name == "Rex");
    assert_eq!(reptiles.count()?, expected.count());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn objects_of_a_kind_are_those_of_its_models(steps in prop::collection::vec(step(), 1..40)) {
        let db = db();
        let mut world = World::new();
        for some in steps.chunks(5) {
            db.write(|tx| {
                for step in some {
                    perform(tx, step, &mut world)?;
                }
                compare(tx, &world)
            }).unwrap();
        }
        db.read(|tx| compare(tx, &world)).unwrap();
    }
}
