//! Kinds in kinds, and what the enum of a kind does as a handle.

use permazen::kv::memory::MemoryStore;
use permazen::model::{Copy, Many, One, Path};
use permazen::{
    Any, Error, Obj, Permazen, PermazenFields, PermazenKind, PermazenObject, Ref, Result,
};

#[derive(PermazenObject, Debug, Default)]
struct Person {
    name: String,
}

#[derive(PermazenFields, Debug, Default)]
struct Owned {
    #[permazen(cascade(forward = ["all"]))]
    owner: Option<Ref<Person>>,
}

#[derive(PermazenObject, Debug, Default)]
struct Snake {
    #[permazen(flatten)]
    owned: Owned,
}

#[derive(PermazenObject, Debug, Default)]
struct Turtle {
    #[permazen(flatten)]
    owned: Owned,
}

#[derive(PermazenObject, Debug, Default)]
#[permazen(validate = Dog::check)]
struct Dog {
    #[permazen(flatten)]
    owned: Owned,
    bad: bool,
}

impl Dog {
    fn check(&self) -> Result<(), String> {
        if self.bad { Err("bad dog".to_owned()) } else { Ok(()) }
    }
}

#[derive(PermazenKind)]
#[permazen(fields = Owned)]
enum Reptile<'t> {
    Snake(Obj<'t, Snake>),
    Turtle(Obj<'t, Turtle>),
}

type ADog<'t> = Obj<'t, Dog>;

/// The type of one member is an alias.
#[derive(PermazenKind)]
#[permazen(fields = Owned)]
enum Pet<'t> {
    Dog(ADog<'t>),
    Reptile(Reptile<'t>),
}

#[derive(PermazenKind)]
enum Borrower<'t> {
    Person(Obj<'t, Person>),
    Pet(Pet<'t>),
}

#[derive(PermazenObject, Debug)]
struct Loan {
    borrower: Ref<BorrowerKind>,
    witnesses: Vec<Ref<PetKind>>,
}

fn open() -> Permazen {
    let builder = Permazen::builder(MemoryStore::new());
    builder.kind::<BorrowerKind>().model::<Loan>().build().unwrap()
}

/// The only object after a step.
fn only<'t>(found: &permazen::model::Objs<'t, Loan>) -> Result<Obj<'t, Loan>> {
    assert_eq!(found.count()?, 1);
    found.first()?.ok_or_else(|| Error::other("nothing"))
}

#[test]
fn a_reference_becomes_one_to_a_larger_kind() {
    let db = open();
    db.write(|tx| {
        let snake = tx.create(Snake::default())?;
        let reptile: Ref<ReptileKind> = snake.to_ref().within();
        let pet = reptile.within::<PetKind>();
        let borrower: Ref<BorrowerKind> = pet.within();
        let (same, any): (Ref<PetKind>, Ref<Any>) = (pet.within(), pet.within());
        assert_eq!((same, any), (pet, snake.to_ref().any()));
        let loan = tx.create(Loan { borrower, witnesses: vec![pet] })?;
        assert_eq!(loan.borrower()?, Borrower::Pet(Pet::Reptile(Reptile::Snake(snake))));
        // A member that is named by a type alias is a member like others.
        let dog = tx.create(Dog::default())?;
        loan.witnesses()?.push(dog)?;
        assert_eq!(loan.witnesses()?.get(1)?, Some(dog.to_ref().within()));
        // From the handle on an object to a kind of kinds.
        assert_eq!(tx.get::<BorrowerKind>(snake.id())?, loan.borrower()?);
        Ok(())
    })
    .unwrap();
}

#[test]
fn paths_lead_through_kinds_in_kinds() {
    let db = open();
    db.write(|tx| {
        let ann = tx.create(Person { name: "Ann".into() })?;
        let owned = || Owned { owner: Some(ann.to_ref()) };
        let snake = tx.create(Snake { owned: owned() })?;
        let dog = tx.create(Dog { owned: owned(), bad: false })?;
        let pets = [snake.to_ref().within::<ReptileKind>().within(), dog.to_ref().within()];
        let borrower = Borrower::from(Pet::from(dog)).to_ref();
        let loan = tx.create(Loan { borrower, witnesses: pets.into() })?;

        // On from a kind to its members, and back.
        let owner: Path<Loan, Person, One> =
            Path::of::<Loan>().to(Loan::BORROWER).to(PetKind::OWNED.owner);
        assert_eq!(loan.follow(&owner)?, Some(ann));
        let reptiles: Path<Loan, Person, Many> =
            Path::of::<Loan>().to(Loan::WITNESSES).to(ReptileKind::OWNED.owner);
        assert_eq!(loan.follow(&reptiles)?.to_vec()?, [ann]);
        snake.set_owner(None::<Ref<Person>>)?;
        assert_eq!(loan.follow(&reptiles)?.count()?, 0);
        // From the members to a field of the larger kind, and to fields that refer to it.
        let of_snake = Path::of::<ReptileKind>().to(PetKind::OWNED.owner);
        assert_eq!(Reptile::from(snake).follow(&of_snake)?, None);
        let loans = Path::of::<PetKind>().from(Loan::BORROWER);
        assert_eq!(only(&Pet::from(dog).follow(&loans)?)?, loan);
        let witnessed = Path::of::<ReptileKind>().from(Loan::WITNESSES);
        assert_eq!(only(&Reptile::from(snake).follow(&witnessed)?)?, loan);
        // Sets of a kind take part in paths of a larger one.
        assert_eq!(only(&tx.all::<PetKind>()?.follow(&loans)?)?, loan);
        Ok(())
    })
    .unwrap();
}

#[test]
fn the_enum_has_the_methods_of_handles() {
    let db = open();
    db.write(|tx| {
        let ann = tx.create(Person { name: "Ann".into() })?;
        let dog = tx.create(Dog { owned: Owned { owner: Some(ann.to_ref()) }, bad: false })?;
        let pet = Pet::from(dog);
        let borrower = Borrower::from(pet).to_ref();
        let loan = tx.create(Loan { borrower, witnesses: vec![pet.to_ref()] })?;
        assert_eq!(only(&pet.referrers(Loan::WITNESSES)?)?, loan);
        assert_eq!(only(&pet.referrers(Loan::BORROWER)?)?, loan);
        let owner = Path::of::<PetKind>().to(PetKind::OWNED.owner);
        assert_eq!(pet.follow(&owner)?, Some(ann));
        let mut all = pet.cascade("all").ids()?;
        all.sort();
        let mut wanted = vec![dog.id(), ann.id()];
        wanted.sort();
        assert_eq!(all, wanted);
        assert_eq!(pet.schema_id()?, dog.schema_id()?);

        let other = tx.detached()?;
        let copy: Pet<'_> = pet.copy_to(&other, Copy::new().cascade("all"))?;
        assert_eq!((copy.id(), copy.owner()?.unwrap().name()?), (pet.id(), "Ann".into()));
        assert!(matches!(copy, Pet::Dog(_)));
        Ok(())
    })
    .unwrap();

    // A copy goes where its model is.
    let people = Permazen::builder(MemoryStore::new()).model::<Person>().build().unwrap();
    db.read(|tx| {
        let pet = tx.all::<PetKind>()?.first()?.unwrap();
        let refused = people.write(|dest| pet.copy_to(dest, Copy::new()).map(|copy| copy.id()));
        assert!(refused.is_err(), "{refused:?}");
        people.read(|dest| {
            assert_eq!(dest.untyped()?.count()?, 0);
            Ok(())
        })
    })
    .unwrap();

    let invalid = db.write(|tx| {
        let pet = tx.all::<PetKind>()?.first()?.unwrap();
        pet.revalidate()?;
        tx.validate()?;
        let Pet::Dog(dog) = pet else { return Err(Error::other("no dog")) };
        dog.set_bad(true)?;
        Ok(())
    });
    assert!(matches!(&invalid, Err(Error::Invalid(_))), "{invalid:?}");
}
