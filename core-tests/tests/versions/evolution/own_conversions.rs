//! Conversions of the program's own: what they may write, and what becomes of what they create.

use std::sync::Arc;

use permazen::encoding::Value;
use permazen::object::{self, Migrate};
use permazen::{NewValues, OldValues, Result};

use super::*;

mod address {
    use super::*;

    versions! {
        old {
            pub struct Person {
                pub name: String,
                pub street: String,
                pub text: String,
            }
            pub struct Address {
                pub street: String,
            }
        }
        new {
            #[permazen(on_schema_change = super::split)]
            pub struct Person {
                pub name: String,
                pub home: Option<Ref<Address>>,
                pub text: i32,
                pub extra: Option<String>,
            }
            pub struct Address {
                pub street: String,
            }
        }
        indexed {
            #[permazen(on_schema_change = super::split_indexed)]
            pub struct Person {
                pub name: String,
                pub home: Option<Ref<Address>>,
                #[permazen(indexed)]
                pub text: String,
            }
            pub struct Address {
                pub street: String,
            }
        }
    }

    fn split(old: &OldValues<'_>, new: &mut NewValues<'_, '_, new::Person>) -> Result<()> {
        let home = old.create(&new::Address { street: old.take("street")? })?;
        new.set(new::Person::HOME, Some(home))?;
        match old.get::<String>("street")?.as_str() {
            "bad" => Err(Error::other("bad street")),
            _ => Ok(()),
        }
    }

    fn split_indexed(
        old: &OldValues<'_>,
        new: &mut NewValues<'_, '_, indexed::Person>,
    ) -> Result<()> {
        let home = old.create(&indexed::Address { street: old.take("street")? })?;
        new.set(indexed::Person::HOME, Some(home))
    }

    fn person(store: &Store, street: &str, text: &str) -> ObjId {
        let db = open2::<old::Person, old::Address>(store);
        create(&db, &old::Person { name: "ann".into(), street: street.into(), text: text.into() })
    }

    fn addresses(store: &Store) -> usize {
        let db = open2::<new::Person, new::Address>(store);
        db.read(|tx| tx.all::<new::Address>()?.count()).unwrap()
    }

    #[test]
    fn what_a_failed_conversion_created_is_undone() {
        on_each_store(|store| {
            let id = person(store, "bad", "7");
            let db = open2::<new::Person, new::Address>(store);
            db.write(|tx| {
                let person = tx.get::<new::Person>(id)?;
                let failed =
                    [person.set_extra("x"), person.load().map(drop), person.migrate().map(drop)];
                for result in failed {
                    assert!(matches!(result, Err(Error::Upgrade { .. })), "{result:?}");
                }
                assert_eq!(tx.all::<new::Address>()?.count()?, 0);
                Ok(())
            })
            .unwrap();
            assert_eq!(addresses(store), 0);
        });
    }

    #[test]
    fn what_a_conversion_created_goes_if_the_move_is_refused() {
        on_each_store(|store| {
            let id = person(store, "elm", "no number");
            let db = open2::<new::Person, new::Address>(store);
            db.write(|tx| {
                let person = tx.get::<new::Person>(id)?;
                assert_eq!(lost(person.set_extra("x")), ["text"]);
                assert_eq!(lost(person.load()), ["text"]);
                assert_eq!(tx.all::<new::Address>()?.count()?, 0);
                Ok(())
            })
            .unwrap();
            // The text that could not be converted is replaced, so the conversion counts.
            assert!(change(&db, id, |person: Obj<'_, new::Person>| person.set_text(8)).unwrap());
            let home = db.read(|tx| tx.get::<new::Person>(id)?.home()?.unwrap().street()).unwrap();
            assert_eq!((home.as_str(), addresses(store)), ("elm", 1));
        });
    }

    #[test]
    fn nothing_a_conversion_created_stays_if_the_caller_gives_all_values() {
        on_each_store(|store| {
            let id = person(store, "elm", "no number");
            let db = open2::<new::Person, new::Address>(store);
            let value = new::Person { name: "bob".into(), home: None, text: 1, extra: None };
            assert!(change(&db, id, |person: Obj<'_, new::Person>| person.store(&value)).unwrap());
            assert_eq!(load::<new::Person>(&db, id).unwrap(), value);
            assert_eq!(addresses(store), 0);
        });
    }

    #[test]
    fn reads_of_an_object_that_cannot_move_leave_nothing_that_its_conversion_created() {
        on_lmdb(|store| {
            let id = person(store, "elm", &"long ".repeat(200));
            let db = open2::<indexed::Person, indexed::Address>(store);
            let reads = |tx: &Tx| {
                let person = tx.get::<indexed::Person>(id)?;
                for _ in 0..2 {
                    assert!(person.home()?.is_some());
                    assert!(person.load()?.home.is_some());
                    assert_eq!(tx.all::<indexed::Address>()?.count()?, 0);
                }
                Ok(schema_of(tx, id))
            };
            let stays = db.write(reads).unwrap();
            assert_eq!(db.read(reads).unwrap(), stays);
            assert_ne!(stays, db.schema().schema_id());
            assert_eq!(addresses(store), 0);
        });
    }

    #[test]
    fn listeners_cannot_disturb_an_object_that_is_being_moved() {
        type Disturb = fn(&object::Transaction, ObjId) -> object::Result<()>;
        let disturbances: [Disturb; 3] = [
            |tx, id| tx.set(id, "text", &Value::from("99"), Migrate::No),
            |tx, id| tx.delete(id).map(drop),
            |tx, id| tx.get(id, "text", Migrate::Yes).map(drop),
        ];
        for disturb in disturbances {
            on_each_store(|store| {
                let id = person(store, "elm", "7");
                let db = open2::<new::Person, new::Address>(store);
                let tx = db.begin().unwrap();
                let address = tx.core().type_storage_id("Address").unwrap();
                let listener = Arc::new(move |tx: &object::Transaction, _| disturb(tx, id));
                tx.core().on_create(address, listener).unwrap();
                let person = tx.get::<new::Person>(id).unwrap();
                let refused = person.migrate().unwrap_err().to_string();
                assert!(refused.contains("has not moved to another schema"), "{refused}");
                assert!(person.exists().unwrap());
                assert_ne!(person.schema_id().unwrap(), db.schema().schema_id());
                tx.commit().unwrap();
                assert_eq!(addresses(store), 0);
                let kept = open2::<old::Person, old::Address>(store);
                let kept = load::<old::Person>(&kept, id).unwrap();
                assert_eq!((&*kept.street, &*kept.text), ("elm", "7"));
                // Without the listener, it moves.
                assert_eq!(load::<new::Person>(&db, id).unwrap().text, 7);
            });
        }
    }
}

mod given {
    use std::sync::Mutex;

    use super::*;

    versions! {
        old {
            pub struct Person {
                pub street: String,
                pub visits: i32,
                pub number: i32,
            }
            pub struct Address {
                pub street: String,
            }
        }
        new {
            pub struct Person {
                #[permazen(upgrade_with = super::home)]
                pub home: Option<Ref<Address>>,
                #[permazen(upgrade_with = super::visits)]
                pub visits: Counter,
                pub number: i64,
            }
            pub struct Address {
                pub street: String,
            }
        }
    }

    fn home(old: &OldValues<'_>) -> Result<Option<Ref<new::Address>>> {
        old.create(&new::Address { street: old.take("street")? }).map(Some)
    }

    fn visits(old: &OldValues<'_>) -> Result<Counter> {
        old.create(&new::Address { street: "of a counter".to_owned() })?;
        Ok(Counter(old.take::<i32>("visits")?.into()))
    }

    fn person(store: &Store) -> (Permazen, ObjId) {
        let db = open2::<old::Person, old::Address>(store);
        let id = create(&db, &old::Person { street: "elm".into(), visits: 3, number: 4 });
        (open2::<new::Person, new::Address>(store), id)
    }

    fn streets(tx: &Tx) -> Vec<String> {
        let all = tx.all::<new::Address>().unwrap();
        let mut streets: Vec<_> = all.iter().map(|it| it.unwrap().street().unwrap()).collect();
        streets.sort();
        streets
    }

    /// Which streets there are after a change that must move the object.
    fn after(store: &Store, change: impl Fn(Obj<'_, new::Person>) -> Result<()>) -> Vec<String> {
        let (db, id) = person(store);
        let tx = db.begin().unwrap();
        change(tx.get::<new::Person>(id).unwrap()).unwrap();
        assert_eq!(schema_of(&tx, id), db.schema().schema_id());
        streets(&tx)
    }

    #[test]
    fn no_own_conversion_runs_for_what_the_caller_gives() {
        on_each_store(|store| {
            let value = new::Person { home: None, visits: Counter(9), number: 5 };
            assert_eq!(after(store, |person| person.set_number(5)), ["elm", "of a counter"]);
            assert_eq!(after(store, |person| person.set_home(None)), ["of a counter"]);
            assert_eq!(after(store, |person| person.visits().set(9)), ["elm"]);
            // Counters keep their number, so this conversion counts.
            assert_eq!(after(store, |person| person.store(&value)), ["of a counter"]);
            let replace = |person: Obj<'_, new::Person>| {
                let (tx, core) = (person.tx(), person.tx().core());
                let other = tx.create(value.clone())?;
                let content = core.load(other.id(), Migrate::No)?;
                other.delete()?;
                let mut options = object::CopyOptions::new();
                assert!(!core.replace_object(person.id(), &content, &mut options)?);
                Ok(())
            };
            assert!(after(store, replace).is_empty());
        });
    }

    mod of_type {
        use super::*;

        versions! {
            new {
                #[permazen(on_schema_change = super::convert)]
                pub struct Person {
                    pub home: Option<Ref<Address>>,
                    pub visits: Counter,
                    pub number: i64,
                }
                pub struct Address {
                    pub street: String,
                }
            }
        }

        fn convert(old: &OldValues<'_>, to: &mut NewValues<'_, '_, new::Person>) -> Result<()> {
            let street: String = old.take("street")?;
            let home = old.create(&new::Address { street: street.clone() })?;
            to.set(new::Person::HOME, Some(home))?;
            if street == "bad" {
                return Err(Error::other("bad street"));
            }
            to.set_counter(new::Person::VISITS, 100)
        }

        #[test]
        fn counters_keep_what_the_conversion_of_the_type_gives_them() {
            on_each_store(|store| {
                let (_, id) = person(store);
                let db = open2::<new::Person, new::Address>(store);
                let value = new::Person { home: None, visits: Counter(9), number: 5 };
                db.write(|tx| {
                    let person = tx.get::<new::Person>(id)?;
                    person.store(&value)?;
                    assert_eq!(
                        person.load()?,
                        new::Person { visits: Counter(100), ..value.clone() }
                    );
                    assert_eq!(tx.all::<new::Address>()?.count()?, 0);
                    Ok(())
                })
                .unwrap();
                let old = open2::<old::Person, old::Address>(store);
                let bad = old::Person { street: "bad".into(), visits: 3, number: 4 };
                let id = create(&old, &bad);
                let failed = change(&db, id, |person: Obj<'_, new::Person>| person.store(&value));
                assert!(matches!(failed, Err(Error::Upgrade { .. })), "{failed:?}");
                assert_eq!(load::<old::Person>(&old, id).unwrap(), bad);
            });
        }
    }

    #[test]
    fn what_the_caller_gives_is_what_the_object_has_after_the_move() {
        on_each_store(|store| {
            let (db, id) = person(store);
            db.write(|tx| {
                let person = tx.get::<new::Person>(id)?;
                person.visits().set(9)?;
                assert_eq!((person.visits().get()?, person.number()?), (9, 4));
                assert_eq!(person.home()?.unwrap().street()?, "elm");
                Ok(())
            })
            .unwrap();
            let (db, id) = person(store);
            db.write(|tx| {
                let person = tx.get::<new::Person>(id)?;
                person.set_home(None)?;
                assert_eq!(
                    person.load()?,
                    new::Person { home: None, visits: Counter(3), number: 4 }
                );
                Ok(())
            })
            .unwrap();
        });
    }

    #[test]
    fn listeners_are_told_of_the_move_and_of_what_was_given() {
        on_each_store(|store| {
            let (db, id) = person(store);
            db.write(|tx| {
                let told = Arc::new(Mutex::new(Vec::new()));
                let core = tx.core();
                let log = Arc::clone(&told);
                let moved = Arc::new(move |_: &object::Transaction, _: &object::SchemaChange| {
                    log.lock().unwrap().push("moved".to_owned());
                    Ok(())
                });
                core.on_schema_change(core.type_storage_id("Person")?, moved)?;
                for name in ["home", "number"] {
                    let log = Arc::clone(&told);
                    core.on_change(
                        core.field_storage_id("Person", name)?,
                        object::Watch::itself(),
                        Arc::new(move |_, change, _| {
                            log.lock().unwrap().push(format!("{name} {:?}", change.kind()));
                            Ok(())
                        }),
                    )?;
                }
                tx.get::<new::Person>(id)?.set_number(70)?;
                let told = told.lock().unwrap();
                assert_eq!(told.len(), 3, "{told:?}");
                assert_eq!(told[0], "moved");
                assert!(told[1].starts_with("home Simple"), "{told:?}");
                assert!(told[2].starts_with("number Simple"), "{told:?}");
                Ok(())
            })
            .unwrap();
        });
    }
}

mod values {
    use super::*;

    versions! {
        old {
            pub struct Thing {
                pub case: i32,
                pub label: String,
            }
            pub struct Other {
                pub number: i32,
            }
        }
        new {
            #[permazen(on_schema_change = super::convert)]
            pub struct Thing {
                pub case: i32,
                #[permazen(indexed)]
                pub label: i32,
                #[permazen(indexed)]
                pub note: Option<String>,
                #[permazen(element(indexed))]
                pub list: Vec<i32>,
                #[permazen(element(indexed))]
                #[permazen(accessor = "the_set")]
                pub set: BTreeSet<i32>,
                #[permazen(key(indexed), value(indexed))]
                pub map: BTreeMap<i32, i32>,
                pub count: Counter,
                pub other: Option<Ref<Other>>,
                pub others: Vec<Ref<Other>>,
            }
            pub struct Other {
                pub number: i32,
            }
        }
    }

    const SETS_TWICE: i32 = 0;
    const SETS_MISSING: i32 = 1;
    const SETS_MISSING_ELEMENT: i32 = 2;
    const SETS_OTHER_TYPE: i32 = 3;
    const FAILS_TO_SET: i32 = 4;

    /// A value that no field can hold.
    struct Unwritable;

    impl permazen::model::EncodeAs<i32> for Unwritable {
        fn encode_as(&self, _: &mut Vec<u8>) -> permazen::encoding::Result<()> {
            Err(permazen::encoding::EncodingError::Invalid("no value".to_owned()))
        }
    }

    fn convert(old: &OldValues<'_>, new: &mut NewValues<'_, '_, new::Thing>) -> Result<()> {
        use new::Thing;
        let missing = || {
            let other = old.create(&new::Other { number: 1 })?;
            let mut bytes = other.id().to_bytes();
            bytes[7] ^= 1;
            Ok::<_, Error>(Ref::<new::Other>::new(ObjId::from_bytes(bytes).unwrap()))
        };
        match old.get("case")? {
            SETS_TWICE => {
                new.set(Thing::NOTE, "first")?;
                new.set(Thing::NOTE, None)?;
                new.set_list(Thing::LIST, [1, 2, 3])?;
                new.set_list(Thing::LIST, [9])?;
                new.set_elements(Thing::SET, [3, 1])?;
                new.set_elements(Thing::SET, [7])?;
                new.set_entries(Thing::MAP, [(1, 1), (2, 5)])?;
                new.set_entries(Thing::MAP, [(9, 9)])?;
                new.set_counter(Thing::COUNT, 4)?;
                new.set_counter(Thing::COUNT, 6)
            }
            SETS_MISSING => new.set(Thing::OTHER, Some(missing()?)),
            SETS_MISSING_ELEMENT => new.set_list(Thing::OTHERS, [missing()?]),
            SETS_OTHER_TYPE => new.set(Thing::OTHER, Some(Ref::<new::Other>::new(old.id()))),
            FAILS_TO_SET => {
                assert!(new.set(Thing::LABEL, Unwritable).is_err());
                Ok(())
            }
            other => Err(Error::other(format!("no case {other}"))),
        }
    }

    fn thing(store: &Store, case: i32) -> ObjId {
        let db = open2::<old::Thing, old::Other>(store);
        create(&db, &old::Thing { case, label: "7".into() })
    }

    #[test]
    fn what_is_set_last_counts() {
        on_each_store(|store| {
            let id = thing(store, SETS_TWICE);
            let db = open2::<new::Thing, new::Other>(store);
            let expected = new::Thing {
                case: SETS_TWICE,
                label: 7,
                note: None,
                list: vec![9],
                set: [7].into(),
                map: [(9, 9)].into(),
                count: 6.into(),
                other: None,
                others: Vec::new(),
            };
            assert!(db.write(|tx| tx.get::<new::Thing>(id)?.migrate()).unwrap());
            assert_eq!(load::<new::Thing>(&db, id).unwrap(), expected);
        });
    }

    #[test]
    fn a_field_that_could_not_be_set_is_converted_by_the_library() {
        on_each_store(|store| {
            let id = thing(store, FAILS_TO_SET);
            let db = open2::<new::Thing, new::Other>(store);
            assert_eq!(load::<new::Thing>(&db, id).unwrap().label, 7);
            assert!(db.write(|tx| tx.get::<new::Thing>(id)?.migrate()).unwrap());
            assert_eq!(load::<new::Thing>(&db, id).unwrap().label, 7);
        });
    }

    #[test]
    fn no_reference_is_set_that_the_field_does_not_allow() {
        on_each_store(|store| {
            let db = open2::<new::Thing, new::Other>(store);
            for case in [SETS_MISSING, SETS_MISSING_ELEMENT, SETS_OTHER_TYPE] {
                let id = thing(store, case);
                let refused = db.write(|tx| {
                    let thing = tx.get::<new::Thing>(id)?;
                    let refused = thing.migrate().unwrap_err();
                    assert_ne!(thing.schema_id()?, db.schema().schema_id());
                    Ok(refused)
                });
                let Error::Object(refused) = refused.unwrap() else { panic!("case {case}") };
                match refused {
                    object::Error::DeletedObject { id: missing, .. } if case != SETS_OTHER_TYPE => {
                        assert_ne!(missing, id);
                    }
                    object::Error::InvalidValue { .. } if case == SETS_OTHER_TYPE => {}
                    other => panic!("case {case}: {other:?}"),
                }
                assert!(load::<new::Thing>(&db, id).is_err());
                let kept = open2::<old::Thing, old::Other>(store);
                assert_eq!(load::<old::Thing>(&kept, id).unwrap().label, "7");
            }
            assert_eq!(db.read(|tx| tx.all::<new::Other>()?.count()).unwrap(), 0);
        });
    }
}

mod constants {
    use super::*;

    mod old_level {
        #[derive(permazen::PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Level {
            Low,
            High,
        }
    }
    mod new_level {
        #[derive(permazen::PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Level {
            #[permazen(was = "LOW")]
            Minor,
            #[permazen(was = "HIGH")]
            Major,
        }
    }

    versions! {
        old {
            pub struct Issue {
                pub level: Option<super::old_level::Level>,
            }
        }
        as_text {
            pub struct Issue {
                #[permazen(upgrade_with = super::text)]
                pub level: String,
            }
        }
        renamed {
            pub struct Issue {
                #[permazen(upgrade_with = super::level)]
                pub level: Option<super::new_level::Level>,
            }
        }
    }

    fn text(old: &OldValues<'_>) -> Result<String> {
        Ok(old.take::<Option<String>>("level")?.unwrap_or_else(|| "none".to_owned()))
    }

    fn level(old: &OldValues<'_>) -> Result<Option<new_level::Level>> {
        match old.get::<Option<String>>("level")? {
            Some(_) => old.take::<new_level::Level>("level").map(Some),
            None => Ok(None),
        }
    }

    #[test]
    fn an_enum_is_taken_as_text_or_with_the_names_its_constants_have_now() {
        on_each_store(|store| {
            let old = open::<old::Issue>(store);
            for (level, name, now) in [
                (None, "none", None),
                (Some(old_level::Level::Low), "LOW", Some(new_level::Level::Minor)),
                (Some(old_level::Level::High), "HIGH", Some(new_level::Level::Major)),
            ] {
                let id = create(&old, &old::Issue { level });
                let text = load::<as_text::Issue>(&open::<as_text::Issue>(store), id);
                assert_eq!(text.unwrap().level, name);
                let renamed = load::<renamed::Issue>(&open::<renamed::Issue>(store), id);
                assert_eq!(renamed.unwrap().level, now);
            }
        });
    }
}

mod counters {
    use super::*;

    versions! {
        old {
            pub struct Page {
                pub size: String,
                pub stars: i32,
                pub visits: String,
            }
        }
        new {
            #[permazen(on_schema_change = super::count)]
            pub struct Page {
                pub size: i32,
                pub hits: Counter,
                #[permazen(upgrade_with = super::visits)]
                pub visits: Counter,
            }
        }
    }

    fn count(old: &OldValues<'_>, new: &mut NewValues<'_, '_, new::Page>) -> Result<()> {
        new.set_counter(new::Page::HITS, old.take("stars")?)
    }

    fn visits(old: &OldValues<'_>) -> Result<Counter> {
        let text: String = old.take("visits")?;
        Ok((text.len() as i64).into())
    }

    /// The caller gives everything but the counters, so these get what the conversions make of the
    /// old values.
    #[test]
    fn counters_are_converted_if_an_object_moves_to_be_stored_whole() {
        on_each_store(|store| {
            let page = old::Page { size: "large".into(), stars: 5, visits: "many".into() };
            let id = create(&open::<old::Page>(store), &page);
            let db = open::<new::Page>(store);
            // The old size does not convert, but it is replaced.
            assert!(matches!(load::<new::Page>(&db, id), Err(Error::Refused(_))));
            let page = new::Page { size: 9, hits: 0.into(), visits: 0.into() };
            db.write(|tx| tx.get::<new::Page>(id)?.store(&page)).unwrap();
            let stored = new::Page { size: 9, hits: 5.into(), visits: 4.into() };
            assert_eq!(load::<new::Page>(&db, id).unwrap(), stored);
        });
    }
}

mod of_a_field {
    use super::*;

    versions! {
        old {
            pub struct Visit {
                pub length: String,
            }
        }
        new {
            pub struct Visit {
                #[permazen(upgrade_with = super::minutes)]
                pub length: i32,
            }
        }
    }

    fn minutes(old: &OldValues<'_>) -> Result<i32> {
        let length: String = old.take("length")?;
        length.parse().map_err(Error::other)
    }

    /// The error says which value of which schema the conversion did not take, and what to do.
    #[test]
    fn the_error_of_a_conversion_names_schema_and_value() {
        on_each_store(|store| {
            let (old, new) = (open::<old::Visit>(store), open::<new::Visit>(store));
            let id = create(&old, &old::Visit { length: "a \"min\"".into() });
            let failed = load::<new::Visit>(&new, id).unwrap_err();
            let text = failed.to_string();
            let schema = old.schema().schema_id();
            let from = format!("from schema {schema} of the value \"a \\\"min\\\"\" failed");
            for part in [&*from, "Visit.length", &id.to_string(), "give the field a value"] {
                assert!(text.contains(part), "{part} is not in {text}");
            }
            let set = |visit: Obj<'_, new::Visit>| visit.set_length(5);
            assert!(change(&new, id, set).unwrap());
        });
    }
}
