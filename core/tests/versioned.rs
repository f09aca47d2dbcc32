//! Values that know what was loaded: storing them writes what was changed.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::model::{Base, Versioned};
use permazen::{Counter, Error, Permazen, PermazenObject, Ref, object};

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Person {
    #[permazen(indexed)]
    name: String,
    age: i32,
    visits: Counter,
    tags: BTreeSet<String>,
    steps: Vec<i32>,
    labels: BTreeMap<String, i32>,
    boss: Option<Ref<Person>>,
}

/// A later version, with a field more, one less, and one of another type.
mod later {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    #[permazen(removed("boss"))]
    pub(super) struct Person {
        #[permazen(indexed)]
        pub(super) name: String,
        pub(super) age: i64,
        pub(super) visits: Counter,
        pub(super) tags: BTreeSet<String>,
        pub(super) steps: Vec<i32>,
        pub(super) labels: BTreeMap<String, i32>,
        pub(super) email: Option<String>,
    }
}

/// A version with a field more.
mod wider {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    pub(super) struct Person {
        pub(super) name: String,
        pub(super) visits: Counter,
        pub(super) email: Option<String>,
    }
}

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Other {
    what: i32,
}

fn ann() -> Person {
    Person {
        name: "Ann".into(),
        age: 30,
        visits: Counter::from(10),
        tags: ["a", "b"].map(String::from).into(),
        steps: vec![1, 2, 3],
        labels: [("x".into(), 1), ("y".into(), 2)].into(),
        boss: None,
    }
}

fn open(store: &Arc<dyn KvDatabase>) -> Permazen {
    let builder = Permazen::builder_shared(Arc::clone(store));
    builder.model::<Person>().model::<Other>().build().unwrap()
}

fn memory() -> Arc<dyn KvDatabase> {
    Arc::new(MemoryStore::new())
}

fn create(db: &Permazen) -> Ref<Person> {
    db.write(|tx| Ok(tx.create(ann())?.to_ref())).unwrap()
}

fn load(db: &Permazen, person: Ref<Person>) -> Versioned<Person> {
    db.read(|tx| tx.get(person)?.load_versioned()).unwrap()
}

fn changed_fields(error: Error) -> Vec<String> {
    match error {
        Error::ChangedSince(changed) => changed.fields.into_iter().map(|f| f.field).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_what_was_changed_is_written() {
    let db = open(&memory());
    let person = create(&db);
    let mut mine = load(&db, person);
    mine.name = "Anna".into();
    mine.visits.0 += 5;
    mine.tags.insert("mine".into());
    mine.tags.remove("a");
    mine.labels.insert("mine".into(), 7);
    mine.labels.remove("x");
    db.write(|tx| {
        let person = tx.get(person)?;
        person.set_age(31)?;
        person.visits().add(2)?;
        person.tags()?.add("theirs")?;
        person.tags()?.remove("a")?;
        person.labels()?.insert("y", 3)?;
        person.steps()?.push(4)
    })
    .unwrap();
    let stored = db.write(|tx| mine.store(tx)).unwrap();
    let expected = Person {
        name: "Anna".into(),
        age: 31,
        visits: Counter::from(17),
        tags: ["b", "mine", "theirs"].map(String::from).into(),
        steps: vec![1, 2, 3, 4],
        labels: [("mine".into(), 7), ("y".into(), 3)].into(),
        boss: None,
    };
    assert_eq!(*stored, expected);
    assert_eq!(*load(&db, person), expected);
    let found = db.read(|tx| tx.index(Person::NAME)?.get("Anna")?.count()).unwrap();
    assert_eq!(found, 1);
    // The returned value has the base for the next change.
    assert_eq!(stored.base(), load(&db, person).base());
}

#[test]
fn what_both_changed_is_a_conflict_that_names_it() {
    let db = open(&memory());
    let person = create(&db);
    let mut mine = load(&db, person);
    mine.name = "Anna".into();
    mine.age = 32;
    mine.steps.push(9);
    mine.visits.0 += 1;
    mine.labels.insert("x".into(), 5);
    mine.labels.remove("y");
    mine.tags.insert("mine".into());
    db.write(|tx| {
        let person = tx.get(person)?;
        person.set_name("Annie")?;
        // The same value is no conflict.
        person.set_age(32)?;
        person.steps()?.push(8)?;
        person.labels()?.insert("x", 6)?;
        person.labels()?.insert("y", 6)?;
        Ok(())
    })
    .unwrap();
    let before = load(&db, person);
    let error = db.write(|tx| mine.store(tx)).unwrap_err();
    assert!(!error.is_retryable());
    let text = error.to_string();
    for part in [
        r#"field name was "Ann", is now "Annie", and was to become "Anna""#,
        r#"labels["x"] was "1", is now "6", and was to become "5""#,
        r#"labels["y"] was "2", is now "6", and was to become absent"#,
        &person.id().to_string(),
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(changed_fields(error), ["name", "steps", r#"labels["x"]"#, r#"labels["y"]"#]);
    // Nothing was written, also where nothing conflicts.
    assert_eq!(*load(&db, person), *before);
}

#[test]
fn a_value_without_changes_writes_nothing() {
    let counting = permazen::kv::counting::CountingStore::new(MemoryStore::new());
    let counter = counting.counter();
    let db = Permazen::builder(counting).model::<Person>().build().unwrap();
    let person = create(&db);
    let mine = load(&db, person);
    db.write(|tx| tx.get(person)?.set_age(99)).unwrap();
    counter.take();
    let stored = db.write(|tx| mine.store(tx)).unwrap();
    let counts = counter.take();
    assert_eq!((counts.puts, counts.removes), (0, 0));
    assert_eq!(stored.age, 99);
}

#[test]
fn deleted_objects_and_wrong_types_are_errors() {
    let db = open(&memory());
    let person = create(&db);
    let mut mine = load(&db, person);
    mine.age = 1;
    let base = Base::from_bytes(&mine.base().to_bytes()).unwrap();
    let wrong = Versioned::new(Other { what: 1 }, base);
    let error = db.write(|tx| wrong.store(tx)).unwrap_err();
    assert!(matches!(error, Error::WrongType { .. }), "{error:?}");
    db.write(|tx| tx.get(person)?.delete()).unwrap();
    let error = db.write(|tx| mine.store(tx)).unwrap_err();
    assert!(matches!(error, Error::Object(object::Error::DeletedObject { .. })), "{error:?}");
    assert!(error.to_string().contains("storing a value that was loaded earlier"), "{error}");
}

/// A reference to an object that does not exist is refused, and nothing is written.
#[test]
fn a_refused_value_changes_nothing() {
    let db = open(&memory());
    let (person, other) = (create(&db), create(&db));
    let mut mine = load(&db, person);
    mine.boss = Some(other);
    mine.visits.0 += 3;
    db.write(|tx| tx.get(other)?.delete()).unwrap();
    let tx = db.begin().unwrap();
    mine.store(&tx).unwrap_err();
    tx.commit().unwrap();
    assert_eq!(*load(&db, person), ann());
}

#[test]
fn a_base_can_be_kept_as_bytes() {
    let db = open(&memory());
    let person = create(&db);
    let bytes = load(&db, person).base().to_bytes();
    let base = Base::from_bytes(&bytes).unwrap();
    assert_eq!((base.id(), base.to_bytes()), (person.id(), bytes.clone()));
    assert_eq!(base.schema_id(), db.schema().schema_id());
    let mut kept = db.read(|tx| Versioned::<Person>::from_base(tx, base.clone())).unwrap();
    assert_eq!(*kept, ann());
    kept.age = 77;
    db.write(|tx| kept.store(tx)).unwrap();
    let fresh = Versioned::new(Person { age: 78, ..ann() }, base);
    assert_eq!(changed_fields(db.write(|tx| fresh.store(tx)).unwrap_err()), ["age"]);
}

#[cfg(feature = "serde")]
#[test]
fn a_base_can_be_serialized() {
    let db = open(&memory());
    let base = load(&db, create(&db)).base().clone();
    let json = serde_json::to_string(&base).unwrap();
    assert_eq!(serde_json::from_str::<Base>(&json).unwrap(), base);
    for damaged in [&json.replace('1', "2"), "\"0\"", "\"é\"", "\"+1\"", "\"\"", "17"] {
        assert!(serde_json::from_str::<Base>(damaged).is_err(), "{damaged}");
    }
}

/// Damaged bytes are an error: every single change of a byte or length is noticed.
#[test]
fn damaged_bytes_are_no_base() {
    let db = open(&memory());
    let bytes = load(&db, create(&db)).base().to_bytes();
    let damaged = |bytes: &[u8]| match Base::from_bytes(bytes) {
        Err(Error::DamagedBase { reason }) => reason,
        other => panic!("{other:?}"),
    };
    for at in 0..bytes.len() {
        damaged(&bytes[..at]);
        for flip in [1, 0x80, 0xff] {
            let mut other = bytes.clone();
            other[at] ^= flip;
            damaged(&other);
        }
    }
    damaged(&[&bytes[..], &[0]].concat());
    assert!(damaged(&[9; 40]).contains("form 9"));
    assert!(damaged(&[]).contains("no bytes"));
}

/// The object moves to another schema meanwhile, or another version of the program has the base.
#[test]
fn objects_and_bases_of_other_schemas_can_be_stored() {
    let store = memory();
    let db = open(&store);
    let person = create(&db);
    let mut mine = load(&db, person);
    let bytes = mine.base().to_bytes();
    let newer = Permazen::builder_shared(Arc::clone(&store)).model::<later::Person>().build();
    let newer = newer.unwrap();
    let later: Ref<later::Person> = Ref::new(person.id());
    // Where the object is, in the older schema.
    let mut theirs = newer.write(|tx| tx.get(later)?.load_versioned()).unwrap();
    theirs.email = Some("ann@example.org".into());
    theirs.visits.0 += 1;
    newer.write(|tx| theirs.store(tx)).unwrap();
    assert_eq!(newer.read(|tx| tx.get(later)?.schema_id()).unwrap(), newer.schema().schema_id());
    // The older program can still change what it knows.
    mine.tags.insert("mine".into());
    mine.visits.0 += 1;
    let error = db.write(|tx| mine.store(tx)).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
    // The base of the older program in the newer one: one field had another definition.
    let base = Base::from_bytes(&bytes).unwrap();
    let error = newer.read(|tx| Versioned::<later::Person>::from_base(tx, base.clone()));
    assert!(matches!(error, Err(Error::DamagedBase { .. })), "{error:?}");
    let present = newer.read(|tx| tx.get(later)?.load()).unwrap();
    let mut value = Versioned::new(later::Person { visits: 20.into(), ..present.clone() }, base);
    value.name = "Anna".into();
    let stored = newer.write(|tx| value.store(tx)).unwrap();
    assert_eq!((&*stored.name, stored.visits.0, stored.age), ("Anna", 21, 30));
    value.age = 31;
    value.name = "Anna".into();
    assert_eq!(changed_fields(newer.write(|tx| value.store(tx)).unwrap_err()), ["age"]);
}

/// What the object's own schema knows is stored where the object is.
#[test]
fn an_object_moves_only_if_it_must() {
    let store = memory();
    let db = open(&store);
    let person = create(&db);
    let builder = Permazen::builder_shared(Arc::clone(&store)).model::<wider::Person>();
    let newer = builder.build().unwrap();
    let wider: Ref<wider::Person> = Ref::new(person.id());
    let mut mine = newer.read(|tx| tx.get(wider)?.load_versioned()).unwrap();
    mine.name = "Anna".into();
    mine.visits.0 += 1;
    newer.write(|tx| mine.store(tx)).unwrap();
    let expected = Person { name: "Anna".into(), visits: 11.into(), ..ann() };
    assert_eq!(*load(&db, person), expected);
    assert_eq!(db.read(|tx| tx.get(person)?.schema_id()).unwrap(), db.schema().schema_id());
}

/// Threads add to a counter while others store whole values. Nothing that is added is lost, and
/// the base is not used up by retries.
#[test]
fn threads_store_and_count_at_the_same_time() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::builder().create(true).open(dir.path()).unwrap();
    let stores: [Arc<dyn KvDatabase>; 3] =
        [memory(), Arc::new(lmdb), Arc::new(OptimisticDatabase::new(MemoryStore::new()))];
    for store in stores {
        let db = open(&store);
        let person = create(&db);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let db = &db;
                scope.spawn(move || {
                    for round in 0..20 {
                        if thread < 2 {
                            db.write(|tx| tx.get(person)?.visits().add(1)).unwrap();
                            continue;
                        }
                        let mut mine = load(db, person);
                        mine.visits.0 += 10;
                        mine.tags.insert(format!("{thread} {round}"));
                        db.write(|tx| mine.store(tx)).unwrap();
                    }
                });
            }
        });
        let after = load(&db, person);
        assert_eq!(after.visits.0, 10 + 2 * 20 + 2 * 20 * 10);
        assert_eq!(after.tags.len(), 2 + 2 * 20);
    }
}
