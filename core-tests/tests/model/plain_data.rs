//! Plain data of objects, IDs and references outside of transactions.

use permazen::kv::memory::MemoryStore;
use permazen::{Counter, Error, Obj, ObjId, Permazen, PermazenObject, Ref, Result};

#[derive(
    PermazenObject, Debug, Default, Clone, PartialEq, serde::Serialize, serde::Deserialize,
)]
struct Person {
    #[permazen(indexed)]
    name: String,
    friend: Option<Ref<Person>>,
    visits: Counter,
    #[permazen(accessor = "number", indexed)]
    id: i64,
}

#[derive(PermazenObject, Debug, Default)]
struct Dog {
    name: String,
}

fn open() -> Permazen {
    let builder = Permazen::builder(MemoryStore::new());
    builder.model::<Person>().model::<Dog>().build().unwrap()
}

fn ann() -> Person {
    Person { name: "Ann".into(), visits: Counter(3), id: 17, ..Person::default() }
}

/// A model that is only known to be one.
fn created<M: permazen::Model>(tx: &permazen::Tx, value: &M) -> Result<ObjId> {
    Ok(tx.create(value)?.id())
}

#[test]
fn a_closure_that_runs_again_creates_from_a_reference() -> Result<()> {
    let person = ann();
    let id = open().write(|tx| {
        let first: Obj<'_, Person> = tx.create(&person)?;
        assert_eq!(first.load()?, person);
        assert_eq!(tx.create(person.clone())?.load()?, person);
        created(tx, &person)
    })?;
    assert_ne!(id.storage_id().get(), 0);
    Ok(())
}

#[test]
fn an_object_is_created_with_the_id_it_had() -> Result<()> {
    let db = open();
    let (reference, value) = db.write(|tx| {
        let ann = tx.create(ann())?;
        Ok((ann.to_ref(), ann.load()?))
    })?;
    db.write(|tx| {
        assert_eq!(tx.create_with_id(reference, Person::default())?, None);
        assert_eq!(tx.get(reference)?.load()?, value);
        tx.get(reference)?.delete()?;
        let again = tx.create_with_id(reference.id(), &value)?;
        assert_eq!(again, Some(tx.get(reference)?));
        assert_eq!(tx.get(reference)?.load()?, value);
        let wrong = tx.create_with_id(reference.id(), Dog::default());
        assert!(matches!(wrong, Err(Error::WrongType { expected: "Dog", .. })), "{wrong:?}");
        Ok(())
    })
}

#[test]
fn a_field_with_the_name_of_a_method_has_accessors_of_another_name() -> Result<()> {
    open().write(|tx| {
        let ann = tx.create(ann())?;
        assert_eq!((ann.number()?, ann.get(Person::ID)?), (17, 17));
        ann.set_number(18)?;
        assert_eq!((ann.load()?.id, ann.any().get("id")?), (18, 18i64.into()));
        assert_eq!(tx.index(Person::ID)?.get(18)?.count()?, 1);
        Ok(())
    })
}

#[test]
fn ids_references_and_counters_are_text_and_come_from_text() {
    let id: ObjId = "0a00000000000001".parse().unwrap();
    let reference: Ref<Person> = "0a00000000000001".parse().unwrap();
    assert_eq!((reference.id(), reference.to_string()), (id, id.to_string()));
    assert!("0a000000000001".parse::<Ref<Person>>().is_err());
    assert!("0000000000000001".parse::<Ref<Person>>().is_err());
    let counter: Counter = "-12".parse().unwrap();
    assert_eq!((counter, counter.to_string().as_str()), (Counter(-12), "-12"));
    assert!("twelve".parse::<Counter>().is_err());
}

#[test]
fn plain_data_is_json_and_comes_back() {
    let friend: Ref<Person> = "0a00000000000001".parse().unwrap();
    let person = Person { friend: Some(friend), ..ann() };
    let json = serde_json::to_value(&person).unwrap();
    let expected = serde_json::json!({
        "name": "Ann", "friend": "0a00000000000001", "visits": 3, "id": 17,
    });
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<Person>(json).unwrap(), person);
    for damaged in ["\"0a\"", "10", "null", "\"0000000000000001\""] {
        assert!(serde_json::from_str::<Ref<Person>>(damaged).is_err(), "{damaged}");
    }
}

/// The numbers of a format that is not for people.
#[test]
fn ids_are_numbers_in_formats_for_programs() {
    use serde::Deserialize;
    use serde::de::value::{Error, U64Deserializer};

    struct Binary(u64);
    impl<'de> serde::Deserializer<'de> for Binary {
        type Error = Error;
        fn deserialize_any<V: serde::de::Visitor<'de>>(
            self,
            to: V,
        ) -> std::result::Result<V::Value, Error> {
            serde::Deserializer::deserialize_any(U64Deserializer::new(self.0), to)
        }
        fn is_human_readable(&self) -> bool {
            false
        }
        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
        }
    }
    let id = ObjId::deserialize(Binary(0x0a00_0000_0000_0001)).unwrap();
    assert_eq!(id.to_string(), "0a00000000000001");
    assert!(ObjId::deserialize(Binary(1)).is_err());
}

#[test]
fn the_time_of_the_system_is_stored_as_an_instant() -> Result<()> {
    use permazen::encoding::time::Instant;
    use std::time::{Duration, SystemTime};

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    struct Event {
        #[permazen(with = Instant)]
        at: SystemTime,
    }

    let db = Permazen::builder(MemoryStore::new()).model::<Event>().build()?;
    let epoch = SystemTime::UNIX_EPOCH;
    let times = [epoch, epoch + Duration::new(7, 100), epoch - Duration::new(7, 100)];
    for (at, text) in times.into_iter().zip([
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:07.000000100Z",
        "1969-12-31T23:59:52.999999900Z",
    ]) {
        let event = Event { at };
        assert_eq!(db.write(|tx| tx.create(&event)?.load())?, event);
        assert_eq!(Instant::try_from(at).unwrap().to_string(), text);
    }
    Ok(())
}
