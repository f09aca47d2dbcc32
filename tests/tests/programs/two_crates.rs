//! Models, mix-ins and kinds of a library, used by the models of a program.

use permazen::kv::memory::MemoryStore;
use permazen::model::Path;
use permazen::{Error, Obj, Permazen, PermazenKind, PermazenObject, Ref};
use permazen_tests::address_book::{
    self, Company, CompanyNote, Contact, ContactKind, Named, Note, Person, PersonNote,
};

#[derive(PermazenObject, Debug, Clone, PartialEq)]
struct Invoice {
    to: Ref<ContactKind>,
    #[permazen(inverse_delete = "delete")]
    by: Ref<Person>,
    total: i64,
}

/// A kind of the program with aliases of the library.
#[derive(PermazenKind)]
enum AnyNote<'t> {
    Person(Obj<'t, PersonNote>),
    Company(Obj<'t, Note<Company>>),
}

/// A model of the program with the mix-in of the library.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Ship {
    #[permazen(flatten)]
    named: Named,
    crew: Vec<Ref<Person>>,
}

/// A kind of the program with the kind of the library.
#[derive(PermazenKind)]
#[permazen(fields = Named)]
enum Owner<'t> {
    Contact(Contact<'t>),
    Ship(Obj<'t, Ship>),
}

fn named(name: &str) -> Named {
    Named { name: name.to_owned() }
}

#[test]
fn a_program_uses_the_models_of_a_library() {
    let builder = Permazen::builder(MemoryStore::new()).models(address_book::models());
    let db = builder.model::<Invoice>().kind::<OwnerKind>().build().unwrap();
    db.write(|tx| {
        let acme = tx.create(Company { named: named("Acme") })?;
        let ann = tx.create(Person { named: named("Ann"), employer: Some(acme.to_ref()) })?;
        let ship = tx.create(Ship { named: named("Ada"), crew: vec![ann.to_ref()] })?;
        let invoice = tx.create(Invoice { to: acme.into(), by: ann.to_ref(), total: 3 })?;
        assert!(matches!(invoice.to()?, Contact::Company(it) if it == acme));
        assert_eq!(invoice.to()?.name()?, "Acme");
        assert_eq!(ann.referrers(Ship::CREW)?.first()?, Some(ship));
        // The index of the mix-in has the objects of both crates.
        assert_eq!(tx.index(Named::NAME)?.iter().count(), 3);
        assert_eq!(tx.all::<OwnerKind>()?.count()?, 3);
        assert_eq!(tx.all::<ContactKind>()?.count()?, 2);
        assert_eq!(tx.index(Ship::NAMED.name)?.get("Ann")?.count()?, 0);
        let owner = Owner::from(ship);
        owner.set_name("Grace")?;
        assert_eq!(tx.index(OwnerKind::NAMED.name)?.get("Grace")?.count()?, 1);
        // The kind of the library is a member of the one of the program.
        let reference: Ref<OwnerKind> = invoice.to()?.to_ref().within();
        assert_eq!(tx.get(reference)?, Owner::from(Contact::from(acme)));
        let invoices = Path::of::<OwnerKind>().from(Invoice::TO);
        assert_eq!(Owner::from(Contact::from(acme)).follow(&invoices)?.first()?, Some(invoice));
        ship.crew()?.clear()?;
        ann.delete()?;
        assert!(!invoice.exists()?);
        Ok(())
    })
    .unwrap();
    // The rules of the mix-in of the library hold for the model of the program.
    let refused = db.write(|tx| {
        tx.create(Ship { named: named("Acme"), crew: Vec::new() })?;
        Ok(())
    });
    assert!(matches!(&refused, Err(Error::Invalid(_))), "{refused:?}");
}

#[test]
fn a_program_uses_the_aliases_of_a_library() {
    let builder = Permazen::builder(MemoryStore::new()).models(address_book::models());
    let db = builder.kind::<AnyNoteKind>().build().unwrap();
    db.write(|tx| {
        let acme = tx.create(Company { named: named("Acme") })?;
        let note = tx.create(Note { about: acme.to_ref(), text: "pays late".into() })?;
        assert_eq!(note.about()?.name()?, "Acme");
        assert_eq!(tx.index(CompanyNote::TEXT)?.get("pays late")?.first()?, Some(note));
        assert_eq!(tx.all::<AnyNoteKind>()?.first()?, Some(AnyNote::Company(note)));
        assert_eq!(tx.all::<PersonNote>()?.count()?, 0);
        Ok(())
    })
    .unwrap();
}

#[test]
fn the_library_works_alone_on_the_database_of_the_program() {
    let store = MemoryStore::new();
    let builder = Permazen::builder(store.clone()).models(address_book::models());
    let program = builder.model::<Invoice>().kind::<OwnerKind>().build().unwrap();
    let library = Permazen::builder(store).models(address_book::models()).build().unwrap();
    let ann = library
        .write(|tx| Ok(tx.create(Person { named: named("Ann"), employer: None })?.to_ref()))
        .unwrap();
    program
        .write(|tx| {
            tx.create(Ship { named: named("Ada"), crew: vec![ann] })?;
            tx.create(Invoice { to: ann.within(), by: ann, total: 3 })?;
            Ok(())
        })
        .unwrap();
    library
        .read(|tx| {
            assert_eq!(tx.all::<Person>()?.count()?, 1);
            assert_eq!(tx.untyped()?.count()?, 2);
            Ok(())
        })
        .unwrap();
}
