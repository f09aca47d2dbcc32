//! A load that fails leaves the database as empty as it was, and one that was killed leaves none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use permazen::encoding::EncodingError;
use permazen::kv::fault::FaultStore;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, KvError};
use permazen::model::Rule;
use permazen::object::Error as Object;
use permazen::schema::SchemaError;
use permazen::{Error, Obj, Permazen, PermazenObject, Ref, Result, Validation};

use crate::creating::models::{Person, Pet, database, on, pairs};

fn with_code(code: i64) -> Person {
    Person { code: Some(code), ..Person::default() }
}

/// The rules that `error` says were broken, with what it says of the objects.
fn broken(error: Error) -> Vec<(Rule, String)> {
    let Error::Invalid(violations) = error else { panic!("{error}") };
    violations.into_iter().map(|it| (it.rule, it.to_string())).collect()
}

#[test]
fn unique_values_are_checked() {
    let (store, db) = database();
    let before = pairs(&*store);
    let mut loader = db.loader().unwrap();
    let ids: Vec<_> = [1, 2, 1].map(|code| loader.add(with_code(code)).unwrap().id()).to_vec();
    let broken = broken(loader.finish().unwrap_err());
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0].0, Rule::Unique);
    let message = &broken[0].1;
    assert!(message.contains("Person.code") && message.contains(&ids[2].to_string()), "{message}");
    assert_eq!(pairs(&*store), before);
    // Rules that commits do not check, a loader does not check either.
    let unchecked = Permazen::builder_shared(store.clone()).model::<Person>().model::<Pet>();
    let unchecked = unchecked.validation(Validation::Off).build().unwrap();
    let mut loader = unchecked.loader().unwrap();
    for code in [1, 2, 1] {
        loader.add(with_code(code)).unwrap();
    }
    loader.finish().unwrap();
    assert_eq!(db.check_rules().unwrap().violations.len(), 1);
}

#[derive(PermazenObject, Default)]
#[permazen(hooks, singleton)]
struct Settings {
    #[permazen(validate = positive)]
    size: i32,
}

fn positive(size: &i32) -> std::result::Result<(), String> {
    if *size >= 0 { Ok(()) } else { Err("it is negative".to_owned()) }
}

#[permazen::hooks]
impl Settings {
    #[on_validate]
    fn no_seven(this: Obj<'_, Self>) -> Result<()> {
        if this.size()? == 7 { Err(Error::other("it is seven")) } else { Ok(()) }
    }
}

mod before {
    #[derive(permazen::PermazenObject)]
    pub(super) struct Book {
        pub(super) pages: i64,
    }
}

mod now {
    #[derive(permazen::PermazenObject)]
    pub(super) struct Book {
        pub(super) pages: i32,
    }
}

/// An error about versions.
fn about_versions() -> Error {
    let store = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<before::Book>().build().unwrap();
    let book = db.write(|tx| Ok(tx.create(before::Book { pages: 1 << 40 })?.id())).unwrap();
    let db = Permazen::builder_shared(store).model::<now::Book>().build().unwrap();
    db.read(|tx| tx.get::<now::Book>(book)?.pages()).unwrap_err()
}

/// The number of the last reader. More of them are not checked together.
const LAST: i32 = 1_500;

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Reader {
    number: i32,
    #[permazen(indexed)]
    is_mended: bool,
}

#[permazen::hooks]
impl Reader {
    /// The first one cannot read until the last one has mended something.
    #[on_validate]
    fn reads(this: Obj<'_, Self>) -> Result<()> {
        match this.number()? {
            0 if this.tx().index(Reader::IS_MENDED)?.get(true)?.count()? == 0 => {
                Err(about_versions())
            }
            LAST if !this.is_mended()? => this.set_is_mended(true),
            _ => Ok(()),
        }
    }
}

#[test]
fn what_a_hook_could_not_use_may_be_mended_by_one_that_is_called_much_later() {
    for is_mended in [true, false] {
        let db = Permazen::builder(MemoryStore::new()).model::<Reader>().build().unwrap();
        let mut loader = db.loader().unwrap();
        let mut ids: Vec<Ref<Reader>> = (0..=LAST).map(|_| loader.id().unwrap()).collect();
        ids.sort_unstable_by_key(|id| id.id());
        for (number, id) in (0..=LAST).zip(ids) {
            if number < LAST || is_mended {
                loader.add_with_id(id, &Reader { number, is_mended: false }).unwrap();
            }
        }
        let loaded = loader.finish();
        match is_mended {
            true => assert_eq!(loaded.unwrap().objects, 1_501),
            false => assert!(loaded.unwrap_err().is_about_versions()),
        }
    }
}

#[test]
fn own_validation_and_singletons_are_checked() {
    let store = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<Settings>().build().unwrap();
    let before = pairs(&*store);
    let of_size = |size| Settings { size };

    let mut loader = db.loader().unwrap();
    let refused = broken(loader.add(of_size(-1)).unwrap_err());
    assert!(refused[0].1.contains("it is negative"), "{refused:?}");
    loader.add(of_size(7)).unwrap();
    let refused = broken(loader.finish().unwrap_err());
    assert!(refused[0].1.contains("it is seven"), "{refused:?}");

    let mut loader = db.loader().unwrap();
    loader.add(of_size(1)).unwrap();
    loader.add(of_size(2)).unwrap();
    assert_eq!(broken(loader.finish().unwrap_err())[0].0, Rule::Singleton);
    assert_eq!(pairs(&*store), before);

    let mut loader = db.loader().unwrap();
    loader.add(of_size(-5)).unwrap_err();
    loader.add(of_size(3)).unwrap();
    assert_eq!(loader.finish().unwrap().objects, 1);
    assert_eq!(db.read(|tx| tx.all::<Settings>()?.count()).unwrap(), 1);
}

#[test]
fn references_must_lead_to_objects() {
    for memory in [0, 1 << 20] {
        let (store, db) = database();
        let before = pairs(&*store);
        let mut loader = db.loader().unwrap().memory(memory);
        let (first, missing) = (loader.id::<Person>().unwrap(), loader.id::<Person>().unwrap());
        let lost = loader.id::<Pet>().unwrap();
        // To itself, and where it may dangle.
        let person = Person { friend: Some(first), lost: vec![lost], ..Person::default() };
        loader.add_with_id(first, person).unwrap();
        let pet = loader.add(Pet { owner: Some(missing), name: None }).unwrap();
        for _ in 0..100 {
            loader.add(Pet { owner: Some(first), name: None }).unwrap();
        }
        let error = loader.finish().unwrap_err();
        let text = error.to_string();
        let Error::Object(Object::DeletedObject { id, .. }) = error else { panic!("{text}") };
        assert_eq!(id, missing.id());
        assert!(text.contains("owner") && text.contains(&pet.id().to_string()), "{text}");
        assert_eq!(pairs(&*store), before);
    }
}

#[test]
fn references_to_objects_of_a_wrong_type_are_refused() {
    let (_, db) = database();
    let mut loader = db.loader().unwrap();
    let pet = loader.add(Pet::default()).unwrap();
    let wrong = Pet { owner: Some(Ref::new(pet.id())), name: None };
    let error = loader.add(&wrong).unwrap_err();
    let Error::Object(Object::InvalidValue { source, .. }) = &error else { panic!("{error}") };
    assert!(matches!(source, EncodingError::InvalidReference { .. }));
    let id = Ref::new(pet.id());
    assert!(loader.add_with_id(id, Person::default()).is_err(), "an id of another type");
    assert_eq!(loader.finish().unwrap().objects, 1);
    assert_eq!(db.read(|tx| tx.everything()?.count()).unwrap(), 1);
}

#[test]
fn an_id_can_be_used_once() {
    for memory in [0, 1 << 20] {
        let (store, db) = database();
        let before = pairs(&*store);
        let mut loader = db.loader().unwrap().memory(memory);
        let ids: Vec<_> = (0..50).map(|_| loader.add(Pet::default()).unwrap()).collect();
        loader.add_with_id(ids[20], Pet::default()).unwrap();
        let error = loader.finish().unwrap_err().to_string();
        assert!(error.contains("twice") && error.contains(&ids[20].id().to_string()), "{error}");
        assert_eq!(pairs(&*store), before);
    }
}

#[test]
fn only_an_empty_database_is_loaded() {
    let (store, db) = database();
    let mut loader = db.loader().unwrap();
    loader.add(Pet::default()).unwrap();
    db.write(|tx| tx.create(Pet::default()).map(drop)).unwrap();
    let before = pairs(&*store);
    let refused = loader.finish().unwrap_err().to_string();
    assert!(refused.contains("has objects"), "{refused}");
    let refused = db.loader().unwrap_err().to_string();
    assert!(refused.contains("has objects"), "{refused}");
    assert_eq!(pairs(&*store), before);
}

#[test]
fn a_key_that_is_too_long_is_refused_with_its_object() {
    let directory = tempfile::tempdir().unwrap();
    let db = on(Arc::new(LmdbStore::open_or_create(directory.path()).unwrap()));
    let mut loader = db.loader().unwrap();
    let long = Pet { name: Some("x".repeat(1000)), owner: None };
    let error = loader.add(&long).unwrap_err();
    let single = db.write(|tx| tx.create(&long).map(drop)).unwrap_err();
    assert!(matches!(error, Error::Object(Object::KeyTooLong { .. })));
    assert!(error.to_string().contains("the index entry of field name of Pet"), "{error}");
    assert_eq!(error.to_string().len(), single.to_string().len(), "the same but for the id");
    loader.add(Pet { name: Some("x".repeat(100)), owner: None }).unwrap();
    assert_eq!(loader.finish().unwrap().pairs, 5);
}

/// The database of a program that opens the store, or its error.
fn opened(store: &Arc<dyn KvDatabase>) -> Result<Permazen> {
    Permazen::builder_shared(store.clone()).model::<Person>().model::<Pet>().build()
}

fn assert_refused(store: &Arc<dyn KvDatabase>) {
    match opened(store) {
        Err(Error::Object(Object::Schema(SchemaError::LoadUnfinished))) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_database_is_refused_while_it_is_loaded_and_if_that_was_killed() {
    let directory = tempfile::tempdir().unwrap();
    let lmdb = || -> Arc<dyn KvDatabase> {
        Arc::new(LmdbStore::open_or_create(directory.path()).unwrap())
    };
    for store in [database().0, lmdb()] {
        let store = FaultStore::new(store);
        let faults = store.faults();
        let store: Arc<dyn KvDatabase> = Arc::new(store);
        let db = on(store.clone());
        let mut seen = 0;
        let mut loader = db.loader().unwrap().memory(0).progress(|so_far| {
            if so_far.written > 0 {
                assert_refused(&store);
                assert!(
                    db.write(|tx| tx.create(Pet::default()).map(drop)).is_err(),
                    "open already"
                );
                seen += 1;
                if so_far.written == so_far.pairs {
                    faults.fail_from(1, || KvError::InvalidArgument("it was killed".to_owned()));
                    panic!("as if it were killed");
                }
            }
        });
        for n in 0..20_000 {
            loader.add(Pet { name: Some(n.to_string()), owner: None }).unwrap();
        }
        assert!(catch_unwind(AssertUnwindSafe(|| loader.finish())).is_err());
        assert!(seen > 1, "several transactions");
        faults.stop();
        drop(db);
        assert_refused(&store);
    }
    assert_refused(&lmdb());
}

#[test]
fn whatever_fails_leaves_no_part_of_a_load() {
    let load = |db: &Permazen| {
        let mut loader = db.loader()?.memory(0);
        for n in 0..10 {
            loader.add(Pet { name: Some(format!("{n}")), owner: None })?;
            loader.add(with_code(n))?;
        }
        loader.finish()
    };
    let complete = FaultStore::new(MemoryStore::new());
    let faults = complete.faults();
    let complete: Arc<dyn KvDatabase> = Arc::new(complete);
    let db = on(complete.clone());
    faults.stop();
    load(&db).unwrap();
    let operations = faults.operations();
    let (mut restored, mut refused) = (0, 0);
    let is_full = std::env::var("PERMAZEN_FAULTS").is_ok_and(|faults| faults == "full");
    let distance: u64 = if is_full { 1 } else { 2 };
    // One operation fails, or nothing works any more from there on, as if the disk were gone. Both
    // begin at different operations, and both come to the last one.
    let failing = |kind: u64| {
        let some = (1 + kind % distance..operations).step_by(distance as usize);
        some.chain([operations]).map(move |n| (n, kind))
    };
    for (n, kind) in failing(0).chain(failing(1)) {
        let store = FaultStore::new(MemoryStore::new());
        let faults = store.faults();
        let store: Arc<dyn KvDatabase> = Arc::new(store);
        let db = on(store.clone());
        let before = pairs(&*store);
        let planned = || KvError::InvalidArgument("planned failure".to_owned());
        match kind {
            0 => faults.fail_nth(n, planned),
            _ => faults.fail_from(n, planned),
        }
        let result = load(&db);
        assert!(faults.hits() > 0, "{n} of {operations} operations");
        faults.stop();
        let error = result.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("planned failure"), "{text}");
        if pairs(&*store) == before {
            restored += 1;
            load(&db).unwrap();
            assert_eq!(pairs(&*store).len(), pairs(&*complete).len());
        } else {
            refused += 1;
            assert!(matches!(error, Error::LoadNotUndone { .. }), "{error:#?}");
            assert_refused(&store);
        }
    }
    assert!(restored > 80 / distance && refused > 80 / distance, "{restored} {refused}");
}
