//! Paths through kinds and along the fields of mix-ins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use permazen::kv::memory::MemoryStore;
use permazen::model::{Many, One, Path, along};
use permazen::object::{IdFilter, PathStep};
use permazen::{Any, Obj, Permazen, PermazenFields, PermazenKind, PermazenObject, Ref, Tx};

use super::type_id;

#[derive(PermazenObject, Default, Debug)]
struct Person {
    name: String,
    /// Not only pets.
    likes: BTreeSet<Ref<Any>>,
}

#[derive(PermazenFields, Debug, Default)]
struct Owned {
    owner: Option<Ref<Person>>,
    sitters: Vec<Ref<Person>>,
    notes: BTreeMap<Ref<Person>, String>,
}

#[derive(PermazenObject, Default, Debug)]
struct Dog {
    #[permazen(flatten)]
    owned: Owned,
    chases: Option<Ref<Cat>>,
}

#[derive(PermazenObject, Default, Debug)]
struct Cat {
    /// So that the fields of the mix-in have other positions than in a dog.
    lives: i32,
    #[permazen(flatten)]
    owned: Owned,
}

/// Has the fields, but is no pet.
#[derive(PermazenObject, Default, Debug)]
struct Car {
    #[permazen(flatten)]
    owned: Owned,
}

#[derive(PermazenObject, Default, Debug)]
struct Snake {
    #[permazen(flatten)]
    owned: Owned,
}

#[derive(PermazenKind)]
#[permazen(fields = Owned)]
enum Pet<'t> {
    Dog(Obj<'t, Dog>),
    Cat(Obj<'t, Cat>),
}

#[derive(PermazenKind)]
#[permazen(fields = Owned)]
enum Animal<'t> {
    Pet(Pet<'t>),
    Snake(Obj<'t, Snake>),
}

#[derive(PermazenObject)]
struct Walk {
    pet: Ref<PetKind>,
    with: BTreeSet<Ref<AnimalKind>>,
}

struct World<'t> {
    ann: Obj<'t, Person>,
    bob: Obj<'t, Person>,
    dog: Obj<'t, Dog>,
    cat: Obj<'t, Cat>,
    stray: Obj<'t, Cat>,
    car: Obj<'t, Car>,
    snake: Obj<'t, Snake>,
    walk: Obj<'t, Walk>,
    catwalk: Obj<'t, Walk>,
}

/// Ann owns the dog and the car, Bob the cat and the snake.
fn world(check: impl for<'t> FnOnce(&'t Tx, World<'t>) -> permazen::Result<()>) {
    let builder = Permazen::builder(MemoryStore::new()).kind::<AnimalKind>().model::<Person>();
    let db = builder.model::<Car>().model::<Walk>().build().unwrap();
    let tx = db.begin().unwrap();
    let run = || {
        let person = |name: &str| Person { name: name.into(), ..Person::default() };
        let (ann, bob) = (tx.create(person("Ann"))?, tx.create(person("Bob"))?);
        let of = |owner: Obj<'_, Person>| Owned {
            owner: Some(owner.to_ref()),
            sitters: vec![bob.to_ref()],
            notes: [(ann.to_ref(), "hers".to_owned())].into(),
        };
        let cat = tx.create(Cat { lives: 9, owned: of(bob) })?;
        let dog = tx.create(Dog { owned: of(ann), chases: Some(cat.to_ref()) })?;
        let stray = tx.create(Cat::default())?;
        let car = tx.create(Car { owned: of(ann) })?;
        let snake = tx.create(Snake { owned: of(bob) })?;
        let with = [snake.id(), cat.id()].map(Ref::new).into();
        let walk = tx.create(Walk { pet: dog.into(), with })?;
        let catwalk = tx.create(Walk { pet: cat.into(), with: BTreeSet::new() })?;
        for liked in [dog.id(), car.id(), bob.id(), stray.id()] {
            ann.likes()?.add(Ref::new(liked))?;
        }
        check(&tx, World { ann, bob, dog, cat, stray, car, snake, walk, catwalk })
    };
    run().unwrap();
}

/// The IDs of a set.
macro_rules! ids {
    ($objects:expr) => {
        $objects.iter().map(|it| it.map(|it| it.id())).collect::<Result<BTreeSet<_>, _>>()?
    };
}

#[test]
fn a_path_continues_from_a_kind_along_a_shared_field() {
    world(|tx, w| {
        let owner: Path<Walk, Person, One> =
            Path::of::<Walk>().to(Walk::PET).to(PetKind::OWNED.owner);
        assert_eq!(w.walk.follow(&owner)?, Some(w.ann));
        assert_eq!(w.catwalk.follow(&owner)?, Some(w.bob));
        // And the same way back.
        assert_eq!(owner.invert(tx, [w.bob])?.to_vec()?, [w.catwalk]);

        let sitters: Path<Walk, Person, Many> =
            Path::of::<Walk>().to(Walk::PET).to(PetKind::OWNED.sitters);
        assert_eq!(w.walk.follow(&sitters)?.to_vec()?, [w.bob]);
        let noted = Path::of::<Walk>().to(Walk::PET).to(PetKind::OWNED.notes.key());
        assert_eq!(w.walk.follow(&noted)?.to_vec()?, [w.ann]);
        Ok(())
    });
}

#[test]
fn a_path_begins_at_a_kind() {
    world(|tx, w| {
        let owner: Path<PetKind, Person, One> = Path::of::<PetKind>().to(PetKind::OWNED.owner);
        assert_eq!(ids!(tx.all::<PetKind>()?.follow(&owner)?), [w.ann.id(), w.bob.id()].into());
        // From an object of a member, too.
        assert_eq!(w.dog.follow(&owner)?, Some(w.ann));
        assert_eq!(w.stray.follow(&owner)?, None);
        assert_eq!(Pet::Cat(w.cat).any().follow(&owner)?, Some(w.bob));
        // Objects of other types are left out at the beginning, though they have the field.
        assert_eq!(w.car.any().follow(&owner)?, None);

        let walks: Path<PetKind, Walk, Many> = Path::of::<PetKind>().from(Walk::PET);
        assert_eq!(walks.count(tx, [Pet::Dog(w.dog), Pet::Cat(w.cat)])?, 2);
        Ok(())
    });
}

#[test]
fn a_path_leads_back_to_a_kind() {
    world(|tx, w| {
        let pets: Path<Person, PetKind, Many> = Path::of::<Person>().from(PetKind::OWNED.owner);
        // Not to the car and the snake, which have the same field and share its index.
        assert_eq!(ids!(w.ann.follow(&pets)?), [w.dog.id()].into());
        assert_eq!(ids!(w.bob.follow(&pets)?), [w.cat.id()].into());
        assert!(matches!(w.bob.follow(&pets)?.first()?, Some(Pet::Cat(cat)) if cat == w.cat));

        let walks: Path<Person, Walk, Many> = pets.from(Walk::PET);
        assert_eq!(w.ann.follow(&walks)?.to_vec()?, [w.walk]);
        let sat = Path::of::<Person>().from(PetKind::OWNED.sitters);
        assert_eq!(ids!(w.bob.follow(&sat)?), [w.dog.id(), w.cat.id()].into());
        let noted = Path::of::<Person>().from(PetKind::OWNED.notes.key());
        assert_eq!(ids!(w.ann.follow(&noted)?), [w.dog.id(), w.cat.id()].into());
        assert_eq!(ids!(w.ann.referrers(PetKind::OWNED.owner)?), [w.dog.id()].into());
        assert_eq!(sat.count(tx, [w.ann])?, 0);
        Ok(())
    });
}

#[test]
fn a_step_takes_the_field_of_one_member_and_leaves_out_the_others() {
    world(|_, w| {
        let chased: Path<Walk, Cat, One> = Path::of::<Walk>().to(Walk::PET).to(Dog::CHASES);
        assert_eq!(w.walk.follow(&chased)?, Some(w.cat));
        assert_eq!(w.catwalk.follow(&chased)?, None);
        let owners = Path::of::<Walk>().to(Walk::PET).to(Cat::OWNED.owner);
        assert_eq!(w.walk.follow(&owners)?, None);
        assert_eq!(w.catwalk.follow(&owners)?, Some(w.bob));
        let walks = Path::of::<Cat>().from(Dog::CHASES).from(Walk::PET);
        assert_eq!(w.cat.follow(&walks)?.to_vec()?, [w.walk]);
        Ok(())
    });
}

#[test]
fn any_object_is_followed_along_a_shared_field() {
    world(|_, w| {
        let liked = Path::of::<Person>().to(Person::LIKES);
        // Bob has no owner; the stray cat has none either.
        let owners: Path<Person, Person, Many> = liked.to(PetKind::OWNED.owner);
        assert_eq!(w.ann.follow(&owners)?.to_vec()?, [w.ann]);
        // The field of a mix-in is that of all models that have it.
        let owners = liked.to(Owned::OWNER);
        assert_eq!(w.ann.follow(&owners)?.to_vec()?, [w.ann]);
        let owned: Path<Person, Any, Many> = Path::of::<Person>().from(Owned::OWNER);
        assert_eq!(ids!(w.ann.follow(&owned)?), [w.dog.id(), w.car.id()].into());
        assert_eq!(ids!(w.bob.follow(&owned)?), [w.cat.id(), w.snake.id()].into());
        // The people that like the pets of a person: a reference to any object refers to a kind,
        // too.
        let fans = Path::of::<Person>().from(PetKind::OWNED.owner).from(Person::LIKES);
        assert_eq!(w.ann.follow(&fans)?.to_vec()?, [w.ann]);
        assert_eq!(w.bob.follow(&fans)?.count()?, 0);
        Ok(())
    });
}

#[test]
fn a_kind_with_a_kind_among_its_members_is_a_kind_like_others() {
    world(|_, w| {
        let owners: Path<Walk, Person, Many> =
            Path::of::<Walk>().to(Walk::WITH).to(AnimalKind::OWNED.owner);
        assert_eq!(w.walk.follow(&owners)?.to_vec()?, [w.bob]);
        // The constant of the mix-in continues from every kind whose members have it.
        let owners = Path::of::<Walk>().to(Walk::PET).to(Owned::OWNER);
        assert_eq!(w.walk.follow(&owners)?, Some(w.ann));
        Ok(())
    });
}

#[test]
fn the_object_layer_sees_one_step_along_the_shared_field() {
    world(|tx, w| {
        let types = |all: &[permazen::StorageId]| Some(IdFilter::of_types(all.iter().copied()));
        let pets = types(&[type_id::<Dog>(tx), type_id::<Cat>(tx)]);
        let owner = tx.schema().object_type("Car").unwrap().field("owner").unwrap().storage_id;
        let pet = tx.schema().object_type("Walk").unwrap().field("pet").unwrap().storage_id;
        let path = Path::of::<Walk>().to(Walk::PET).to(PetKind::OWNED.owner);
        let steps = vec![PathStep::Forward(pet), PathStep::Forward(owner)];
        let filters =
            vec![types(&[type_id::<Walk>(tx)]), pets.clone(), types(&[type_id::<Person>(tx)])];
        assert_eq!(path.resolve(tx)?, (steps, filters));

        // An observer along the path gets the walks that the pet of the person took.
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        tx.observe(along(&path, Person::NAME), move |walk, _| {
            log.lock().unwrap().push(walk.id());
            Ok(())
        })?;
        w.ann.set_name("Anna")?;
        assert_eq!(*told.lock().unwrap(), [w.walk.id()]);
        Ok(())
    });
}
