//! The typed layer through its public interface, over the memory store.

use std::collections::{BTreeMap, BTreeSet};

use permazen::kv::memory::MemoryStore;
use permazen::model::{DeleteAction, ModelErrors};
use permazen::schema::{Field, ObjectType, SchemaModel, Simple};
use permazen::{Any, Counter, Error, Permazen, PermazenEnum, PermazenObject, Ref, Result};

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Low,
    VeryHigh,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
#[permazen(composite(name = "nameAge", fields(name, age)))]
struct Person {
    #[permazen(indexed)]
    name: Option<String>,
    age: i32,
    #[permazen(inverse_delete = "nullify")]
    friend: Option<Ref<Person>>,
    #[permazen(indexed)]
    level: Option<Level>,
    hits: Counter,
    #[permazen(element(indexed))]
    tags: Vec<String>,
    pals: BTreeSet<Ref<Person>>,
    #[permazen(key(indexed), value(indexed))]
    scores: BTreeMap<String, Option<i32>>,
    #[permazen(skip)]
    scratch: u32,
    anything: Option<Ref<Any>>,
    codes: Option<Box<[i32]>>,
    levels: Option<Box<[Option<Level>]>>,
    nick_name: String,
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
#[permazen(name = "Hound")]
struct Dog {
    #[permazen(indexed, unique, exclude(nulls, "Rex"))]
    name: Option<String>,
    #[permazen(rename = "who", inverse_delete = "delete", cascade(forward = ["tree"]))]
    owner: Option<Ref<Person>>,
}

#[test]
fn schemas_of_others_may_have_encodings_a_program_does_not_know() {
    use permazen::object::{Database, TransactionConfig};
    use permazen::schema::UnknownEncodings;

    let store = std::sync::Arc::new(MemoryStore::new());
    let money = Simple::of("urn:example:money".parse().unwrap());
    let other =
        SchemaModel::new().object_type(ObjectType::new("Invoice").field(Field::new("sum", money)));
    let config = TransactionConfig::new(other).unwrap();
    let db = Database::new(store.clone()).unknown_encodings(UnknownEncodings::Carry);
    let tx = db.begin(&config).unwrap();
    let invoice = tx.create("Invoice").unwrap();
    tx.commit().unwrap();

    let open = |unknown| {
        let builder = Permazen::builder_shared(store.clone()).model::<Person>().model::<Dog>();
        builder.unknown_encodings(unknown).build()
    };
    let refused = open(UnknownEncodings::Refuse).unwrap_err().to_string();
    assert!(refused.contains("urn:example:money"), "{refused}");
    let db = open(UnknownEncodings::Carry).unwrap();
    db.write(|tx| tx.create(person("Ann", 30)).map(|_| ())).unwrap();
    let found = db.read(|tx| Ok(tx.core().exists(invoice)?)).unwrap();
    assert!(found);
}

fn open() -> Result<Permazen> {
    Permazen::builder(MemoryStore::new()).model::<Person>().model::<Dog>().build()
}

fn encoding(alias: &str) -> permazen::encoding::EncodingId {
    permazen::encoding::EncodingId::from_alias(alias).unwrap()
}

fn person(name: &str, age: i32) -> Person {
    Person { name: Some(name.into()), age, nick_name: name.to_lowercase(), ..Person::default() }
}

#[test]
fn a_struct_gives_the_schema_it_says() {
    let string = || Simple::of(encoding("String"));
    let levels = ["LOW", "VERY_HIGH"];
    let people = || Simple::reference().to(["Person"]);
    let expected = SchemaModel::new()
        .object_type(
            ObjectType::new("Person")
                .field(Field::new("name", string().indexed()))
                .field(Field::new("age", Simple::of(encoding("int"))))
                .field(Field::new("friend", people().on_delete(DeleteAction::Nullify)))
                .field(Field::new("level", Simple::enumeration(levels).indexed()))
                .field(Field::counter("hits"))
                .field(Field::list("tags", string().indexed()))
                .field(Field::set("pals", people()))
                .field(Field::map(
                    "scores",
                    string().indexed(),
                    Simple::of(encoding("Integer")).indexed(),
                ))
                .field(Field::new("anything", Simple::reference()))
                .field(Field::new("codes", Simple::of(encoding("int[]"))))
                .field(Field::new("levels", Simple::enum_array(1, levels)))
                .field(Field::new("nickName", string()))
                .index("nameAge", ["name", "age"]),
        )
        .object_type(
            ObjectType::new("Hound")
                .field(Field::new("name", string().indexed()))
                .field(Field::new("who", people().on_delete(DeleteAction::Delete))),
        );
    assert_eq!(*open().unwrap().schema(), expected);
}

#[test]
fn what_is_created_is_loaded() -> Result<()> {
    let db = open()?;
    let (id, whole) = db.write(|tx| {
        let bob = tx.create(person("Bob", 40))?;
        let whole = Person {
            friend: Some(bob.to_ref()),
            level: Some(Level::VeryHigh),
            hits: Counter(7),
            tags: vec!["x".into(), "y".into()],
            pals: [bob.to_ref()].into(),
            scores: [("k".into(), Some(5)), ("n".into(), None)].into(),
            scratch: 9,
            anything: Some(Ref::new(bob.id())),
            codes: Some([1, -2, 3].into()),
            levels: Some([Some(Level::Low), None].into()),
            ..person("Ann", 30)
        };
        let ann = tx.create(whole.clone())?;
        assert_eq!(ann.load()?, Person { scratch: 0, ..whole.clone() });
        Ok((ann.id(), whole))
    })?;
    db.read(|tx| {
        let ann = tx.get::<Person>(id)?;
        assert_eq!(ann.load()?, Person { scratch: 0, ..whole.clone() });
        assert_eq!(ann.name()?.as_deref(), Some("Ann"));
        assert_eq!(ann.get(Person::AGE)?, 30);
        assert_eq!(ann.friend()?.map(|bob| bob.age()).transpose()?, Some(40));
        assert_eq!(ann.level()?, Some(Level::VeryHigh));
        assert_eq!(ann.hits().get()?, 7);
        assert_eq!(ann.tags()?.load::<Vec<_>>()?, ["x", "y"]);
        assert_eq!(ann.anything()?.and_then(|any| any.downcast::<Person>()), ann.friend()?);
        assert_eq!(ann.any().type_name()?, "Person");
        Ok(())
    })
}

#[test]
fn a_new_object_has_defaults_unless_null_is_none() -> Result<()> {
    open()?.write(|tx| {
        let object = tx.create_default::<Person>()?;
        assert_eq!((object.name()?, object.age()?, object.hits().get()?), (None, 0, 0));
        assert!(object.tags()?.is_empty()?);
        let error = object.nick_name().unwrap_err().to_string();
        assert!(error.starts_with("Person.nickName of object "), "{error}");
        for part in ["no value", "make it an `Option`"] {
            assert!(error.contains(part), "{part} in: {error}");
        }
        let schema = object.schema_id()?;
        match object.load() {
            Err(Error::Missing { field, id, schema: of, .. }) => {
                assert_eq!((&*field, id, of), ("Person.nickName", object.id(), schema));
            }
            other => panic!("{other:?}"),
        }
        object.set_nick_name("a")?;
        assert_eq!(object.load()?, Person { nick_name: "a".into(), ..Person::default() });
        Ok(())
    })
}

#[test]
fn setters_take_what_is_plainly_meant() -> Result<()> {
    open()?.write(|tx| {
        let ann = tx.create(person("Ann", 30))?;
        ann.set_name("Anna")?;
        ann.set_name(String::from("Anna"))?;
        let anna = String::from("Anna");
        ann.set_name(&anna)?;
        ann.set_name(Some("Anna".to_owned()))?;
        assert_eq!(ann.name()?.as_deref(), Some("Anna"));
        ann.set_name(None)?;
        assert_eq!(ann.name()?, None);
        ann.set_friend(ann)?;
        ann.set_friend(ann.to_ref())?;
        ann.set_friend(Some(ann.to_ref()))?;
        assert_eq!(ann.friend()?, Some(ann));
        ann.set_anything(ann)?;
        ann.set(Person::AGE, 31)?;
        ann.set_level(Level::Low)?;
        assert_eq!(ann.get(Person::LEVEL)?, Some(Level::Low));
        Ok(())
    })
}

#[test]
fn store_changes_what_differs() -> Result<()> {
    open()?.write(|tx| {
        let bob = tx.create(person("Bob", 1))?;
        let ann = tx.create(Person {
            tags: vec!["a".into(), "b".into(), "c".into()],
            pals: [bob.to_ref()].into(),
            scores: [("k".into(), Some(1)), ("l".into(), Some(2))].into(),
            hits: Counter(7),
            ..person("Ann", 30)
        })?;
        for tags in [vec!["a", "z"], vec![], vec!["q", "r", "s", "t"]] {
            let changed = Person {
                tags: tags.into_iter().map(String::from).collect(),
                pals: [ann.to_ref()].into(),
                scores: [("l".into(), None), ("m".into(), Some(3))].into(),
                hits: Counter(-4),
                ..person("Anna", 31)
            };
            ann.store(&changed)?;
            // Others may have added to the counter since `changed` was made, so it keeps its
            // number.
            assert_eq!(ann.load()?, Person { hits: Counter(7), ..changed });
        }
        let found = tx.index(Person::TAGS)?.get("q")?.to_vec()?;
        assert_eq!(found, [ann]);
        assert!(tx.index(Person::TAGS)?.get("a")?.is_empty()?);
        Ok(())
    })
}

#[test]
fn collections_are_live_and_may_change_while_iterated() -> Result<()> {
    open()?.write(|tx| {
        let ann = tx.create(person("Ann", 30))?;
        let tags = ann.tags()?;
        tags.extend(["a", "b", "c"])?;
        tags.insert(1, "x")?;
        assert_eq!(tags.load::<Vec<_>>()?, ["a", "x", "b", "c"]);
        assert_eq!(tags.set(0, "A")?, "a");
        assert_eq!(tags.remove(1)?, "x");
        assert_eq!(tags.pop()?.as_deref(), Some("c"));
        assert_eq!((tags.len()?, tags.get(1)?.as_deref(), tags.get(2)?), (2, Some("b"), None));
        assert_eq!(tags.position("b")?, Some(1));
        for tag in tags.iter() {
            let tag = tag?;
            if tag.len() == 1 {
                tags.push(format!("{tag}{tag}"))?;
            }
        }
        assert_eq!(tags.load::<Vec<_>>()?, ["A", "b", "AA", "bb"]);
        assert_eq!(tags.iter().next_back().transpose()?.as_deref(), Some("bb"));
        tags.clear()?;
        assert!(tags.is_empty()?);

        let others = (0..5).map(|age| tx.create(person("p", age))).collect::<Result<Vec<_>>>()?;
        let pals = ann.pals()?;
        pals.extend(others.iter().copied())?;
        assert!(!pals.add(others[0])?);
        assert!(pals.contains(others[3])? && pals.remove(others[3])? && !pals.remove(others[3])?);
        assert_eq!(pals.len()?, 4);
        let ages: BTreeSet<i32> = pals.objects().map(|pal| pal?.age()).collect::<Result<_>>()?;
        assert_eq!(ages, [0, 1, 2, 4].into());

        let scores = ann.scores()?;
        assert_eq!(scores.insert("k", 1)?, None);
        assert_eq!(scores.insert("k", None)?, Some(Some(1)));
        scores.extend([("a", 1), ("z", 2)])?;
        let keys: Vec<String> = scores.range("b"..)?.keys().collect::<Result<_>>()?;
        assert_eq!(keys, ["k", "z"]);
        assert_eq!(scores.get("z")?, Some(Some(2)));
        assert_eq!(scores.remove("z")?, Some(Some(2)));
        assert_eq!(scores.last()?, Some(("k".into(), None)));
        assert!(scores.contains_key("a")?);

        let hits = ann.hits();
        hits.set(5)?;
        hits.add(-7)?;
        assert_eq!(hits.get()?, -2);
        Ok(())
    })
}

type Names<'t> = permazen::model::Index<'t, Person, permazen::model::ByValue<Option<String>>>;

fn values(index: &Names<'_>) -> Result<Vec<String>> {
    index.values().map(|name| Ok(name?.unwrap_or_default())).collect()
}

#[test]
fn indexes_are_queried_by_value_range_and_prefix() -> Result<()> {
    open()?.write(|tx| {
        for (name, age) in [("Ann", 30), ("Bob", 20), ("Ann", 10), ("Cid", 5)] {
            tx.create(person(name, age))?;
        }
        tx.create(Dog { name: Some("Ann".into()), owner: None })?;
        let names = tx.index(Person::NAME)?;
        assert_eq!(names.get("Ann")?.count()?, 2);
        assert_eq!(names.count()?, 4);
        assert_eq!(values(&names)?, ["Ann", "Bob", "Cid"]);
        assert_eq!(values(&names.range("B"..)?)?, ["Bob", "Cid"]);
        assert_eq!(values(&names.range("Ann".."Bob")?)?, ["Ann"]);
        assert_eq!(values(&names.range("Ann"..="Bob")?)?, ["Ann", "Bob"]);
        let backwards: Vec<_> =
            names.iter().rev().map(|entry| entry?.1.age()).collect::<Result<_>>()?;
        assert_eq!(backwards.first().zip(backwards.get(1)), Some((&5, &20)));
        let both = names.of_all_types()?.get("Ann")?;
        assert_eq!(both.count()?, 3);
        // The range stays when objects of all types are asked for.
        assert_eq!(names.range("B"..)?.of_all_types()?.count()?, 2);
        assert_eq!(names.of_all_types()?.range(.."B")?.count()?, 3);
        assert_eq!(names.range(.."B")?.of_all_types()?.count()?, 3);

        let composite = tx.index(Person::NAME_AGE)?;
        assert_eq!(composite.count()?, 4);
        assert_eq!(composite.get(("Ann", 30))?.count()?, 1);
        assert_eq!(composite.range("B"..)?.count()?, 2);
        let anns = composite.prefix("Ann")?;
        let in_order: Vec<i32> = anns.iter().map(|entry| Ok(entry?.0.1)).collect::<Result<_>>()?;
        assert_eq!(in_order, [10, 30]);
        assert_eq!(anns.range(11..)?.first()?.map(|entry| entry.0.1), Some(30));
        assert_eq!(anns.prefix(10)?.count()?, 1);
        Ok(())
    })
}

#[test]
fn element_key_and_value_indexes_know_positions_and_keys() -> Result<()> {
    open()?.write(|tx| {
        let ann = tx.create(Person {
            tags: vec!["a".into(), "b".into(), "a".into()],
            scores: [("k".into(), Some(1)), ("l".into(), Some(1))].into(),
            ..person("Ann", 30)
        })?;
        assert_eq!(tx.index(Person::TAGS)?.iter().count(), 2);
        let positions: Vec<_> =
            tx.index(Person::TAGS.positions())?.iter().collect::<Result<_>>()?;
        assert_eq!(positions, [("a".into(), ann, 0), ("a".into(), ann, 2), ("b".into(), ann, 1)]);
        assert_eq!(tx.index(Person::SCORES.key())?.get("l")?.to_vec()?, [ann]);
        assert_eq!(tx.index(Person::SCORES.value())?.get(1)?.to_vec()?, [ann]);
        let keyed: Vec<_> =
            tx.index(Person::SCORES.value().with_keys())?.iter().collect::<Result<_>>()?;
        assert_eq!(keyed, [(Some(1), ann, "k".into()), (Some(1), ann, "l".into())]);
        Ok(())
    })
}

#[test]
fn handles_are_compared_by_object_and_transaction() -> Result<()> {
    let db = open()?;
    let tx = db.begin()?;
    let ann = tx.create(person("Ann", 30))?;
    assert_eq!(tx.get(ann.to_ref())?, ann);
    assert_eq!(format!("{ann:?}"), format!("Person@{}", ann.id()));
    let reference = ann.to_ref();
    tx.commit()?;
    let (one, two) = (db.begin_read()?, db.begin_read()?);
    assert_ne!(one.get(reference)?, two.get(reference)?);
    assert!(matches!(one.get::<Dog>(reference.id()), Err(Error::WrongType { .. })));
    Ok(())
}

#[test]
fn a_failed_transaction_leaves_nothing() -> Result<()> {
    let db = open()?;
    let refused = db.write(|tx| {
        tx.create(person("Ann", 30))?;
        Err::<(), _>(Error::other("no"))
    });
    assert_eq!(refused.unwrap_err().to_string(), "no");
    {
        let tx = db.begin()?;
        tx.create(person("Ann", 30))?;
    }
    assert_eq!(db.read(|tx| tx.all::<Person>()?.count())?, 0);
    Ok(())
}

#[test]
fn a_transaction_is_run_again_after_a_conflict() -> Result<()> {
    let db = open()?;
    let mut runs = 0;
    let done = db.write(|_| {
        runs += 1;
        if runs < 3 {
            return Err(Error::other(permazen::kv::KvError::Retry("test".into())));
        }
        Ok(runs)
    })?;
    assert_eq!(done, 3);
    let failed: Result<(), Box<dyn std::error::Error>> = db.try_write(|_| Err("text".into()));
    assert_eq!(failed.unwrap_err().to_string(), "text");
    Ok(())
}

#[test]
fn all_problems_of_the_models_are_told() {
    #[derive(PermazenObject)]
    #[allow(dead_code)]
    struct Lonely {
        person: Option<Ref<Person>>,
        #[permazen(element(inverse_delete = "remove"))]
        dogs: Vec<Ref<Dog>>,
        #[permazen(encoding = "nonsense:")]
        text: String,
    }
    let error = Permazen::builder(MemoryStore::new()).model::<Lonely>().build().unwrap_err();
    let Error::Models(errors) = error else { panic!("{error}") };
    let paths =
        |errors: &ModelErrors| errors.iter().map(|error| error.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&errors), ["Lonely.person", "Lonely.dogs.element", "Lonely.text"]);
    let error = Permazen::builder(MemoryStore::new()).build().unwrap_err();
    assert!(error.to_string().contains("no model is registered"), "{error}");
}

#[test]
fn models_that_differ_from_the_database_are_refused_if_asked() -> Result<()> {
    mod changed {
        use permazen::PermazenObject;

        #[derive(PermazenObject, Debug, Default)]
        #[permazen(name = "Hound")]
        pub(super) struct Dog {
            #[permazen(indexed)]
            name: Option<i64>,
        }
    }
    let store = std::sync::Arc::new(MemoryStore::new());
    let open = || Permazen::builder_shared(store.clone());
    open().model::<Person>().model::<Dog>().build()?;
    let error =
        open().model::<changed::Dog>().allow_new_schema(false).build().unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    for part in ["Hound", "name", "String", "Long", "Person"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    open().model::<Person>().model::<Dog>().allow_new_schema(false).build()?;
    open().model::<changed::Dog>().build()?;
    Ok(())
}

#[test]
fn objects_of_unknown_types_are_reached_by_name() -> Result<()> {
    let store = std::sync::Arc::new(MemoryStore::new());
    let open = || Permazen::builder_shared(store.clone());
    let dog = open()
        .model::<Person>()
        .model::<Dog>()
        .build()?
        .write(|tx| Ok(tx.create(Dog { name: Some("Rex".into()), owner: None })?.id()))?;
    let db = open().model::<Person>().build()?;
    db.write(|tx| {
        assert!(matches!(tx.all::<Dog>(), Err(Error::NotRegistered { .. })));
        let all = tx.untyped()?.to_vec()?;
        assert_eq!(all, [tx.any(dog)]);
        assert_eq!(tx.everything()?.count()?, 1);
        let dog = tx.any(dog);
        assert_eq!(dog.type_name()?, "Hound");
        assert_eq!(dog.get("name")?, "Rex".into());
        dog.set("name", &"Max".into())?;
        let names: Vec<String> = dog.fields()?.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["name", "who"]);
        assert_eq!(tx.index_by_name("Hound", "name")?.get(&["Max".into()])?.count()?, 1);
        Ok(())
    })
}

#[test]
fn deleting_does_what_the_references_ask_for() -> Result<()> {
    #[derive(PermazenObject, Debug, Default)]
    struct Guarded {
        keeps: Option<Ref<Guarded>>,
    }
    let store = std::sync::Arc::new(MemoryStore::new());
    let builder = Permazen::builder_shared(store).model::<Person>().model::<Dog>();
    builder.model::<Guarded>().build()?.write(|tx| {
        let ann = tx.create(person("Ann", 30))?;
        let bob = tx.create(Person { friend: Some(ann.to_ref()), ..person("Bob", 20) })?;
        let dog = tx.create(Dog { name: None, owner: Some(ann.to_ref()) })?;
        assert!(ann.delete()? && !ann.delete()?);
        assert_eq!((ann.exists()?, dog.exists()?, bob.exists()?), (false, false, true));
        assert_eq!(bob.friend()?, None);
        assert!(matches!(
            ann.name(),
            Err(Error::Object(permazen::object::Error::DeletedObject { .. }))
        ));
        assert!(ann.recreate()? && !ann.recreate()?);
        ann.set_nick_name("Ann")?;

        let kept = tx.create(Guarded::default())?;
        let guard = tx.create(Guarded { keeps: Some(kept.to_ref()) })?;
        let refused = kept.delete().unwrap_err();
        assert!(matches!(refused, Error::Object(permazen::object::Error::ReferencedObject { .. })));
        guard.set_keeps(None)?;
        assert!(kept.delete()?);
        Ok(())
    })
}

#[test]
fn a_refused_change_of_several_fields_changes_nothing() -> Result<()> {
    open()?.write(|tx| {
        let ann = tx.create(Person { tags: vec!["a".into()], ..person("Ann", 30) })?;
        let gone = tx.create(person("Gone", 1))?;
        gone.delete()?;
        let before = ann.load()?;
        let dangling = Person { friend: Some(gone.to_ref()), ..person("Anna", 31) };
        assert!(ann.store(&dangling).is_err());
        assert_eq!(ann.load()?, before);
        assert!(tx.create(dangling).is_err());
        assert_eq!(tx.all::<Person>()?.count()?, 1);
        Ok(())
    })
}

#[test]
fn every_access_costs_what_is_documented() -> Result<()> {
    use permazen::kv::counting::CountingStore;

    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let db = Permazen::builder(store).model::<Dog>().model::<Person>().build()?;
    let dog = db.write(|tx| {
        counter.take();
        let dog = tx.create(Dog { name: Some("Rex".into()), owner: None })?;
        let created = counter.take();
        // The object, its schema, the name, and two index entries.
        assert_eq!((created.reads(), created.writes()), (0, 5));
        dog.set_name("Max")?;
        let changed = counter.take();
        assert_eq!((changed.reads(), changed.writes()), (1, 3));
        Ok(dog.to_ref())
    })?;
    db.read(|tx| {
        counter.take();
        let dog = tx.get(dog)?;
        assert_eq!(counter.take().reads(), 0);
        assert_eq!(dog.name()?.as_deref(), Some("Max"));
        assert_eq!(counter.take().reads(), 2);
        assert_eq!(dog.name()?.as_deref(), Some("Max"));
        assert_eq!(counter.take().reads(), 1);
        let index = tx.index(Dog::NAME)?;
        let set = index.get("Max")?;
        assert_eq!(counter.take().reads(), 0);
        assert_eq!(set.first()?, Some(dog));
        assert!(counter.take().reads() <= 3);
        Ok(())
    })?;
    db.read(|tx| {
        let dog = tx.get(dog)?;
        counter.take();
        dog.load()?;
        let read = counter.take();
        assert_eq!((read.gets, read.seeks), (0, 1), "{read:?}");
        Ok(())
    })?;
    db.write(|tx| {
        let dog = tx.get(dog)?;
        let value = Dog { name: Some("Rex".into()), owner: None };
        counter.take();
        dog.store(&value)?;
        let stored = counter.take();
        assert_eq!((stored.gets, stored.seeks, stored.writes()), (0, 1, 3), "{stored:?}");
        Ok(())
    })
}

/// Large collections with few changes take no more operations than the changes and one scan.
#[test]
fn storing_big_collections_writes_what_differs() -> Result<()> {
    use permazen::kv::counting::CountingStore;

    #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
    struct Big {
        numbers: BTreeSet<i32>,
        squares: BTreeMap<i32, i64>,
    }

    const LEN: i32 = 100_000;
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    Permazen::builder(store).model::<Big>().build()?.write(|tx| {
        let squares = |n: i32| (n, i64::from(n) * i64::from(n));
        let mut value =
            Big { numbers: (0..LEN).collect(), squares: (0..LEN).map(squares).collect() };
        let big = tx.create(value.clone())?;
        counter.take();
        big.store(&value)?;
        let same = counter.take();
        assert_eq!((same.writes(), same.seeks), (0, 1), "{same:?}");

        for n in [0, LEN / 2, LEN - 1] {
            value.numbers.remove(&n);
            value.squares.remove(&n);
        }
        value.numbers.extend([-1, LEN]);
        value.squares.extend([(-1, 1), (7, 0), (LEN, 0)]);
        counter.take();
        big.store(&value)?;
        assert_eq!(counter.take().writes(), 3 + 2 + 3 + 3);
        assert_eq!(big.load()?, value);
        Ok(())
    })
}

#[test]
fn converted_and_unordered_types_are_stored() -> Result<()> {
    #[derive(Debug, Clone, PartialEq)]
    struct Days(u32);
    impl TryFrom<i64> for Days {
        type Error = std::num::TryFromIntError;

        fn try_from(days: i64) -> std::result::Result<Self, Self::Error> {
            days.try_into().map(Days)
        }
    }
    impl From<Days> for i64 {
        fn from(days: Days) -> i64 {
            days.0.into()
        }
    }
    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    struct Loan {
        #[permazen(with = i64, indexed)]
        days: Days,
        #[permazen(set)]
        rates: Vec<f32>,
        #[permazen(map)]
        steps: Vec<(f64, bool)>,
        #[permazen(array)]
        flags: Vec<bool>,
    }
    Permazen::builder(MemoryStore::new()).model::<Loan>().build()?.write(|tx| {
        let loan = Loan {
            days: Days(4_000_000_000),
            rates: vec![-1.5, 0.25],
            steps: vec![(0.5, true), (2.5, false)],
            flags: vec![true, false, true],
        };
        let object = tx.create(loan.clone())?;
        assert_eq!(object.load()?, loan);
        assert_eq!(object.days()?, loan.days);
        object.set_days(Days(7))?;
        object.set_flags(vec![])?;
        assert_eq!(tx.index(Loan::DAYS)?.get(7)?.to_vec()?, [object]);
        assert_eq!(object.flags()?, Vec::<bool>::new());
        object.set(Loan::DAYS, -1)?;
        assert!(matches!(object.days(), Err(Error::Convert { .. })));
        assert!(matches!(object.load(), Err(Error::Convert { .. })));
        Ok(())
    })
}

#[test]
fn a_typed_transaction_that_is_overtaken_again_and_again_gets_its_turn() {
    use permazen::kv::TxOptions;
    use permazen::kv::optimistic::OptimisticDatabase;

    #[derive(PermazenObject, Default)]
    struct Account {
        balance: i64,
    }
    let store = OptimisticDatabase::new(MemoryStore::new());
    // The other one does not wait.
    let options = TxOptions::writing().with_wait(std::time::Duration::ZERO);
    let db = Permazen::builder(store).model::<Account>().kv_options(options).build().unwrap();
    let account = db.write(|tx| Ok(tx.create(Account::default())?.to_ref())).unwrap();
    let mut attempts = 0;
    db.write(|tx| {
        attempts += 1;
        let balance = tx.get(account)?.balance()?;
        let other = || db.write(|tx| tx.get(account)?.set_balance(10 + i64::from(attempts)));
        let overtaken = std::thread::scope(|scope| scope.spawn(other).join().unwrap());
        assert_eq!(overtaken.is_ok(), attempts < 6, "{overtaken:?}");
        tx.get(account)?.set_balance(balance + 1)
    })
    .unwrap();
    assert_eq!(attempts, 6);
    assert_eq!(db.read(|tx| tx.get(account)?.balance()).unwrap(), 16);
}
