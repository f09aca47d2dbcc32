//! Values that remember the loaded content: storing them writes the changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::kv::counting::CountingStore;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::model::{Base, Versioned};
use permazen::{Counter, Error, Obj, OldValues, Permazen, PermazenObject, Ref, Result, Tx, object};

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

/// A version with few fields, and one with a field of another type.
mod narrow {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    pub(super) struct Person {
        pub(super) name: String,
        pub(super) visits: Counter,
    }
}

mod retyped {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    #[permazen(removed("email"))]
    pub(super) struct Person {
        pub(super) name: String,
        pub(super) visits: i64,
    }
}

/// A version without an owner, and one with an owner that has a default.
mod unowned {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    pub(super) struct House {
        pub(super) name: String,
        pub(super) visits: Counter,
    }
}

mod owned {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    pub(super) struct House {
        pub(super) name: String,
        pub(super) visits: Counter,
        #[permazen(default = "nobody".to_owned())]
        pub(super) owner: String,
    }
}

/// A version with an own conversion.
mod own {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    #[permazen(removed("tags", "steps", "labels", "boss"))]
    pub(super) struct Person {
        pub(super) name: String,
        #[permazen(upgrade_with = years)]
        pub(super) age: String,
        pub(super) visits: Counter,
        pub(super) email: Option<String>,
    }

    fn years(old: &OldValues<'_>) -> Result<String> {
        Ok(format!("{} years", old.take::<i32>("age")?))
    }
}

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Other {
    what: i32,
}

/// A version whose fields the later one renames, removes and adds to.
mod before {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    pub(super) struct Member {
        pub(super) name: String,
        pub(super) phone: Option<String>,
        pub(super) level: i32,
        pub(super) tags: BTreeSet<String>,
        pub(super) steps: Vec<i32>,
        pub(super) labels: BTreeMap<String, i32>,
        pub(super) note: String,
    }
}

mod after {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    pub(super) struct Member {
        pub(super) name: String,
        #[permazen(was = "phone")]
        pub(super) tel: Option<String>,
        #[permazen(was = "level")]
        pub(super) rank: i32,
        #[permazen(was = "tags")]
        pub(super) marks: BTreeSet<String>,
        #[permazen(was = "steps")]
        pub(super) path: Vec<i32>,
        #[permazen(was = "labels")]
        pub(super) scores: BTreeMap<String, i32>,
        pub(super) note: String,
        pub(super) email: Option<String>,
        #[permazen(default = 7)]
        pub(super) size: i32,
    }
}

/// The later version of a program that no longer needs some fields.
mod without {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
    #[permazen(removed("phone", "level", "tags", "steps", "labels"))]
    pub(super) struct Member {
        pub(super) name: String,
        pub(super) note: String,
    }
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
        r#"labels["x"] was 1, is now 6, and was to become 5"#,
        r#"labels["y"] was 2, is now 6, and was to become absent"#,
        &person.id().to_string(),
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(changed_fields(error), ["name", "steps", r#"labels["x"]"#, r#"labels["y"]"#]);
    let steps = "field steps was [1, 2, 3], is now [1, 2, 3, … 4 in all]";
    assert!(text.contains(steps), "{text}");
    // Nothing was written, also where nothing conflicts.
    assert_eq!(*load(&db, person), *before);
}

#[test]
fn a_value_without_changes_writes_nothing() {
    let counting = CountingStore::new(MemoryStore::new());
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
    // The older program can still change what it knows, where the object is. A field that it cannot
    // read there stays as it was loaded.
    mine.tags.insert("mine".into());
    mine.visits.0 += 1;
    let stored = db.write(|tx| mine.store(tx)).unwrap();
    assert_eq!((stored.visits.0, stored.age, stored.tags.len()), (12, 30, 3));
    assert_eq!(newer.read(|tx| tx.get(later)?.schema_id()).unwrap(), newer.schema().schema_id());
    let present = newer.read(|tx| tx.get(later)?.load()).unwrap();
    assert_eq!((present.visits.0, present.tags.len()), (12, 3));
    assert_eq!(present.email.as_deref(), Some("ann@example.org"));
    // A field of another definition needs a move, which would lose what the older program lacks.
    mine.age = 31;
    let error = db.write(|tx| mine.store(tx)).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
    assert_eq!(newer.read(|tx| tx.get(later)?.load()).unwrap(), present);
    // The base of the older program in the newer one.
    let base = Base::from_bytes(&bytes).unwrap();
    let from_base = |tx: &Tx| Versioned::<later::Person>::from_base(tx, base.clone());
    let mut value = newer.read(from_base).unwrap();
    assert_eq!((value.age, value.visits.0, &value.email), (30, 10, &None));
    value.name = "Anna".into();
    value.age = 32;
    value.visits.0 += 1;
    let stored = newer.write(|tx| value.store(tx)).unwrap();
    assert_eq!((&*stored.name, stored.visits.0, stored.age), ("Anna", 13, 32));
    assert_eq!(stored.email, present.email);
    value.email = Some("anna@example.org".into());
    value.age = 33;
    let error = newer.write(|tx| value.store(tx)).unwrap_err();
    assert_eq!(changed_fields(error), ["age", "email"]);
}

/// The schema of a base was removed: a field that was only added since then is known nevertheless.
#[test]
fn a_base_of_a_removed_schema_lacks_only_what_was_added() {
    let store = memory();
    let db = Permazen::builder_shared(Arc::clone(&store)).model::<narrow::Person>().build();
    let db = db.unwrap();
    let ann = narrow::Person { name: "Ann".into(), visits: 10.into() };
    let person = db.write(|tx| Ok(tx.create(ann.clone())?.id())).unwrap();
    let base = db.read(|tx| tx.get::<narrow::Person>(person)?.load_versioned()).unwrap();
    let base = base.base().clone();
    drop(db);
    let upgraded = |builder: permazen::model::Builder| {
        let db = builder.build().unwrap();
        db.upgrade_all().run().unwrap();
        drop(db);
    };
    upgraded(Permazen::builder_shared(Arc::clone(&store)).model::<wider::Person>());
    let newer = Permazen::builder_shared(Arc::clone(&store)).model::<wider::Person>();
    let newer = newer.build().unwrap();
    newer.write(|tx| tx.create_default::<wider::Person>()?.set_name("Bob")).unwrap();
    assert!(newer.evolution_report().unwrap().versions.is_empty());
    let from_base = |tx: &Tx| Versioned::<wider::Person>::from_base(tx, base.clone());
    let mut value = newer.read(from_base).unwrap();
    assert_eq!((&*value.name, &value.email), ("Ann", &None));
    value.email = Some("ann@example.org".into());
    newer.write(|tx| value.store(tx)).unwrap();
    let text = newer.write(|tx| {
        tx.get::<wider::Person>(person)?.set_email("other")?;
        Ok(value.store(tx).unwrap_err().to_string())
    });
    let text = text.unwrap();
    assert!(text.contains(r#"field email was null, is now "other""#), "{text}");
    // With a field of another definition it is not known what it was.
    upgraded(Permazen::builder_shared(Arc::clone(&store)).model::<retyped::Person>());
    let last = Permazen::builder_shared(Arc::clone(&store)).model::<retyped::Person>();
    let last = last.build().unwrap();
    last.write(|tx| tx.create_default::<retyped::Person>()?.set_name("Bob")).unwrap();
    let from_base = |tx: &Tx| Versioned::<retyped::Person>::from_base(tx, base.clone());
    let error = last.read(from_base).unwrap_err();
    assert!(matches!(error, Error::DamagedBase { .. }), "{error:?}");
    assert!(error.to_string().contains("Person.visits"), "{error}");
}

/// An added field has the default of the model, whether the schema of the base is recorded or not.
#[test]
fn a_base_has_the_defaults_of_what_was_added() {
    let store = memory();
    let db = Permazen::builder_shared(Arc::clone(&store)).model::<unowned::House>().build();
    let db = db.unwrap();
    let house = unowned::House { name: "Ann".into(), visits: 10.into() };
    let person = db.write(|tx| Ok(tx.create(house.clone())?.id())).unwrap();
    let base = db.read(|tx| tx.get::<unowned::House>(person)?.load_versioned()).unwrap();
    let base = base.base().clone();
    drop(db);
    let open = || Permazen::builder_shared(Arc::clone(&store)).model::<owned::House>();
    let newer = open().build().unwrap();
    let stored = |newer: &Permazen, name: &str| {
        let from_base = |tx: &Tx| Versioned::<owned::House>::from_base(tx, base.clone());
        let mut value = newer.read(from_base).unwrap();
        assert_eq!(value.owner, "nobody");
        value.name = name.into();
        newer.write(|tx| value.store(tx)).unwrap().into_value()
    };
    assert_eq!(stored(&newer, "Anna").owner, "nobody");
    newer
        .write(|tx| {
            let ann = tx.get::<owned::House>(person)?;
            ann.set_name("Ann")?;
            ann.set_owner("Bob")
        })
        .unwrap();
    newer.upgrade_all().run().unwrap();
    drop(newer);
    // A schema is removed when another one is recorded.
    let other = Permazen::builder_shared(Arc::clone(&store)).model::<Other>().build().unwrap();
    other.write(|tx| tx.create_default::<Other>().map(drop)).unwrap();
    let newer = open().build().unwrap();
    let versions = newer.evolution_report().unwrap().versions;
    assert!(versions.iter().all(|version| version.schema != base.schema_id()), "{versions:?}");
    assert_eq!(stored(&newer, "Anna").owner, "Bob");
}

/// A value without changes moves nothing, also where a field is defined differently.
#[test]
fn a_value_without_changes_moves_nothing() {
    let counting = CountingStore::new(MemoryStore::new());
    let counter = counting.counter();
    let store: Arc<dyn KvDatabase> = Arc::new(counting);
    let db = open(&store);
    let person = create(&db);
    let newer = Permazen::builder_shared(Arc::clone(&store)).model::<later::Person>();
    let newer = newer.build().unwrap();
    let later: Ref<later::Person> = Ref::new(person.id());
    let mine = newer.read(|tx| tx.get(later)?.load_versioned()).unwrap();
    db.write(|tx| tx.get(person)?.set_age(99)).unwrap();
    counter.take();
    let stored = newer.write(|tx| mine.store(tx)).unwrap();
    let counts = counter.take();
    assert_eq!((counts.puts, counts.removes), (0, 0));
    assert_eq!((stored.age, &stored.email), (99, &None));
    assert_eq!(db.read(|tx| tx.get(person)?.schema_id()).unwrap(), db.schema().schema_id());
}

/// A refused change changes nothing, and so moves nothing.
#[test]
fn a_conflict_moves_nothing() {
    let store = memory();
    let db = open(&store);
    let person = create(&db);
    let newer = Permazen::builder_shared(Arc::clone(&store)).model::<later::Person>();
    let newer = newer.build().unwrap();
    let later: Ref<later::Person> = Ref::new(person.id());
    let mut mine = newer.read(|tx| tx.get(later)?.load_versioned()).unwrap();
    mine.age = 31;
    mine.email = Some("ann@example.org".into());
    db.write(|tx| tx.get(person)?.set_age(99)).unwrap();
    let tx = newer.begin().unwrap();
    assert_eq!(changed_fields(mine.store(&tx).unwrap_err()), ["age"]);
    tx.commit().unwrap();
    let kept = db.read(|tx| {
        let person = tx.get(person)?;
        assert_eq!(person.schema_id()?, db.schema().schema_id());
        person.load()
    });
    assert_eq!(kept.unwrap(), Person { age: 99, ..ann() });
    mine.age = 30;
    let stored = newer.write(|tx| mine.store(tx)).unwrap();
    assert_eq!((stored.age, stored.email.as_deref()), (99, Some("ann@example.org")));
}

/// A field with an own conversion is not read for the sake of others.
#[test]
fn own_conversions_run_only_if_their_fields_are_needed() {
    let store = memory();
    let db = open(&store);
    let person = create(&db);
    let newer = Permazen::builder_shared(Arc::clone(&store)).model::<own::Person>();
    let newer = newer.build().unwrap();
    let own: Ref<own::Person> = Ref::new(person.id());
    let mut mine = newer.read(|tx| tx.get(own)?.load_versioned()).unwrap();
    assert_eq!(mine.age, "30 years");
    mine.name = "Anna".into();
    db.write(|tx| tx.get(person)?.set_age(31)).unwrap();
    let stored = newer.write(|tx| mine.store(tx)).unwrap();
    assert_eq!((&*stored.name, &*stored.age), ("Anna", "30 years"));
    assert_eq!(*load(&db, person), Person { name: "Anna".into(), age: 31, ..ann() });
    mine.age = "40 years".into();
    let error = newer.write(|tx| mine.store(tx)).unwrap_err();
    assert!(error.to_string().contains(r#"is now "31 years""#), "{error}");
    assert_eq!(load(&db, person).age, 31);
    // With a move, unchanged fields have their present content.
    let mut mine = stored;
    mine.email = Some("ann@example.org".into());
    let stored = newer.write(|tx| mine.store(tx)).unwrap();
    assert_eq!((&*stored.age, stored.email.as_deref()), ("31 years", Some("ann@example.org")));
    assert_eq!(newer.read(|tx| tx.get(own)?.age()).unwrap(), "31 years");
}

/// A field that the object's own schema knows is stored where the object is.
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
fn member() -> before::Member {
    before::Member {
        name: "a".into(),
        phone: Some("1".into()),
        level: 2,
        tags: ["x".to_owned(), "y".to_owned()].into(),
        steps: vec![1, 2],
        labels: [("k".to_owned(), 1), ("l".to_owned(), 2)].into(),
        note: "n".into(),
    }
}

fn open_as<M: permazen::Model>(store: &Arc<dyn KvDatabase>) -> Permazen {
    Permazen::builder_shared(store.clone()).model::<M>().build().unwrap()
}

#[test]
fn a_change_of_a_field_that_a_newer_program_has_renamed_is_refused() {
    let changes: [fn(&mut before::Member); 9] = [
        |form| form.phone = None,
        |form| form.level = 0,
        |form| form.tags.clear(),
        |form| assert!(form.tags.remove("x")),
        |form| assert!(form.tags.insert("z".into())),
        |form| form.steps.clear(),
        |form| form.labels.clear(),
        |form| assert!(form.labels.remove("k").is_some()),
        |form| assert!(form.labels.insert("m".into(), 3).is_none()),
    ];
    for change in changes {
        let store = memory();
        let old = open_as::<before::Member>(&store);
        let member = old.write(|tx| Ok(tx.create(member())?.to_ref())).unwrap();
        let mut form = old.read(|tx| tx.get(member)?.load_versioned()).unwrap();
        let new = open_as::<after::Member>(&store);
        assert_eq!(new.upgrade_all().run().unwrap().moved, 1);
        let renamed = Ref::<after::Member>::new(member.id());
        let kept = new.read(|tx| tx.get(renamed)?.load()).unwrap();
        assert_eq!((kept.rank, kept.marks.len(), kept.scores.len()), (2, 2, 2));

        change(&mut form);
        // The name is not stored either.
        form.name = "b".into();
        match old.write(|tx| form.store(tx)) {
            Err(Error::Refused(refusal)) => assert_eq!(refusal.id, member.id()),
            other => panic!("{other:?}"),
        }
        assert_eq!(new.read(|tx| tx.get(renamed)?.load()).unwrap(), kept);
        // In the same transaction, the refused change leaves no trace.
        old.write(|tx| {
            assert!(form.store(tx).is_err());
            Ok(())
        })
        .unwrap();
        assert_eq!(new.read(|tx| tx.get(renamed)?.load()).unwrap(), kept);
    }
}

#[test]
fn fields_that_a_newer_program_has_not_renamed_are_stored_where_the_object_is() {
    let store = memory();
    let old = open_as::<before::Member>(&store);
    let member = old.write(|tx| Ok(tx.create(member())?.to_ref())).unwrap();
    let mut form = old.read(|tx| tx.get(member)?.load_versioned()).unwrap();
    let new = open_as::<after::Member>(&store);
    new.upgrade_all().run().unwrap();
    form.name = "b".into();
    let stored = old.write(|tx| form.store(tx)).unwrap();
    // The form had the phone, the object does not have it for this program.
    assert_eq!((&*stored.name, &stored.phone), ("b", &None));
    let renamed = Ref::<after::Member>::new(member.id());
    let kept = new.read(|tx| tx.get(renamed)?.load()).unwrap();
    assert_eq!((&*kept.name, kept.tel.as_deref(), kept.rank), ("b", Some("1"), 2));
}

#[test]
fn a_change_of_a_field_that_is_gone_moves_the_object() {
    let store = memory();
    let old = open_as::<before::Member>(&store);
    let member = old.write(|tx| Ok(tx.create(member())?.to_ref())).unwrap();
    let mut form = old.read(|tx| tx.get(member)?.load_versioned()).unwrap();
    let home = old.read(|tx| tx.get(member)?.schema_id()).unwrap();
    let new = open_as::<without::Member>(&store);
    new.upgrade_all().run().unwrap();
    let schema = || old.read(|tx| tx.get(member)?.schema_id()).unwrap();
    assert_ne!(schema(), home);
    form.phone = None;
    form.tags.clear();
    form.name = "b".into();
    let stored = old.write(|tx| form.store(tx)).unwrap();
    assert_eq!(schema(), home);
    let expected =
        before::Member { name: "b".into(), note: "n".into(), ..before::Member::default() };
    assert_eq!(*stored, expected);
    assert_eq!(old.read(|tx| tx.get(member)?.load()).unwrap(), expected);
}

#[test]
fn a_field_that_only_the_program_knows_is_no_change_while_it_has_its_default() {
    let store = memory();
    let old = open_as::<before::Member>(&store);
    let member = old.write(|tx| Ok(tx.create(member())?.to_ref())).unwrap();
    let new = open_as::<after::Member>(&store);
    let member = Ref::<after::Member>::new(member.id());
    let home = new.read(|tx| tx.get(member)?.schema_id()).unwrap();
    let without = open_as::<without::Member>(&store);
    let few = Ref::<without::Member>::new(member.id());
    let form = without.read(|tx| tx.get(few)?.load_versioned()).unwrap();
    // The program that adds the fields takes over the base of one that lacks them.
    let base = form.base().clone();
    let mut form: Versioned<after::Member> =
        new.read(|tx| Versioned::from_base(tx, base.clone())).unwrap();
    assert_eq!((&form.email, form.size), (&None, 7));
    form.name = "b".into();
    form.size = 7;
    form.email = None;
    new.write(|tx| form.store(tx)).unwrap();
    assert_eq!(new.read(|tx| tx.get(member)?.schema_id()).unwrap(), home);
    // A change to another value is one.
    let mut form = new.read(|tx| tx.get(member)?.load_versioned()).unwrap();
    form.size = 0;
    new.write(|tx| form.store(tx)).unwrap();
    assert_ne!(new.read(|tx| tx.get(member)?.schema_id()).unwrap(), home);
}

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

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
#[permazen(hooks)]
struct Folding {
    email: String,
    tags: BTreeSet<String>,
    steps: Vec<i32>,
    visits: Counter,
    changes: i32,
}

#[permazen::hooks]
impl Folding {
    #[on_change(fields(email))]
    fn fold(this: Obj<'_, Self>) -> Result<()> {
        this.set_changes(this.changes()? + 1)?;
        match &*this.email()? {
            "gone" => this.delete().map(drop),
            email => this.set_email(email.to_lowercase()),
        }
    }

    #[on_change(fields(tags, steps))]
    fn trim(this: Obj<'_, Self>) -> Result<()> {
        this.tags()?.remove("bad")?;
        let steps = this.steps()?;
        steps.remove_range(steps.len()?.min(2), steps.len()?)
    }
}

#[test]
fn a_stored_value_has_what_hooks_have_written() {
    let db = Permazen::builder(MemoryStore::new()).model::<Folding>().build().unwrap();
    let id = db.write(|tx| Ok(tx.create(Folding::default())?.to_ref())).unwrap();
    let mut form = db.read(|tx| tx.get(id)?.load_versioned()).unwrap();
    form.email = "BOB".into();
    form.tags = ["bad".to_owned(), "good".to_owned()].into();
    form.steps = vec![1, 2, 3];
    form.visits.0 += 3;
    let mut form = db.write(|tx| form.store(tx)).unwrap();
    assert_eq!(*form, db.read(|tx| tx.get(id)?.load()).unwrap());
    assert_eq!((&*form.email, &form.steps[..], form.tags.len()), ("bob", &[1, 2][..], 1));
    // No other transaction has changed the object, so there is no conflict.
    form.email = "Carl".into();
    form.steps.push(5);
    let form = db.write(|tx| form.store(tx)).unwrap();
    assert_eq!(*form, db.read(|tx| tx.get(id)?.load()).unwrap());
    assert_eq!((&*form.email, form.visits.0), ("carl", 3));
    // A hook may delete the object. The value is then as it was stored.
    let mut form = form;
    form.email = "gone".into();
    let form = db.write(|tx| form.store(tx)).unwrap();
    assert_eq!(&*form.email, "gone");
    assert!(!db.read(|tx| tx.get(id)?.exists()).unwrap());
}
