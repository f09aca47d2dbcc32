//! Objects that stay in their schema: what reads, changes and `store` do there.

use permazen::object;

use super::*;

fn is_too_long(error: &Error) -> bool {
    matches!(error, Error::Object(object::Error::KeyTooLong { .. }))
}

fn is_read_only(error: &Error) -> bool {
    matches!(error, Error::Object(object::Error::ReadOnly))
}

mod cannot_move {
    use super::*;

    versions! {
        old {
            pub struct Thing {
                pub title: String,
                pub tags: Vec<String>,
                pub words: BTreeSet<String>,
                pub scores: BTreeMap<i32, i32>,
                pub one: String,
                pub total: i64,
            }
        }
        new {
            pub struct Thing {
                #[permazen(indexed)]
                pub title: String,
                pub tags: BTreeSet<String>,
                pub words: Vec<String>,
                pub scores: BTreeMap<i64, i64>,
                pub one: Vec<String>,
                pub total: Counter,
            }
        }
        with_defaults {
            pub struct Thing {
                #[permazen(indexed)]
                pub title: String,
                pub tags: Vec<String>,
                pub words: BTreeSet<String>,
                pub scores: BTreeMap<i32, i32>,
                pub one: String,
                pub total: i64,
                #[permazen(default = vec![1, 2])]
                pub list: Vec<i32>,
                #[permazen(default = [3].into())]
                pub marks: BTreeSet<i32>,
                #[permazen(default = [(4, 5)].into())]
                pub prices: BTreeMap<i32, i32>,
                pub notes: Vec<String>,
                #[permazen(default = Counter(9))]
                pub count: Counter,
            }
        }
    }

    fn thing(store: &Store) -> ObjId {
        let thing = old::Thing {
            title: "long ".repeat(200),
            tags: vec!["a".into(), "b".into()],
            words: ["x".to_owned()].into(),
            scores: [(1, 2)].into(),
            one: "o".into(),
            total: 5,
        };
        create(&open::<old::Thing>(store), &thing)
    }

    #[test]
    fn collections_of_another_definition_are_not_read_as_empty() {
        on_lmdb(|store| {
            let id = thing(store);
            let db = open::<new::Thing>(store);
            let read = |tx: &Tx| {
                let thing = tx.get::<new::Thing>(id)?;
                let loaded = thing.load()?;
                assert_eq!(loaded.tags, ["a".to_owned(), "b".to_owned()].into());
                assert_eq!((loaded.words, loaded.one), (vec!["x".into()], vec!["o".into()]));
                assert_eq!((loaded.scores, loaded.total), ([(1, 2)].into(), Counter(5)));
                let views = [
                    thing.tags().map(drop),
                    thing.words().map(drop),
                    thing.scores().map(drop),
                    thing.one().map(drop),
                ];
                for view in views {
                    assert!(is_too_long(&view.unwrap_err()));
                }
                assert_eq!(thing.total().get()?, 5);
                assert_ne!(thing.schema_id()?, db.schema().schema_id());
                Ok(())
            };
            db.read(read).unwrap();
            db.write(read).unwrap();
        });
    }

    #[test]
    fn defaults_of_collections_and_counters_are_not_read_as_empty() {
        on_lmdb(|store| {
            let id = thing(store);
            let db = open::<with_defaults::Thing>(store);
            let read = |tx: &Tx| {
                let thing = tx.get::<with_defaults::Thing>(id)?;
                let loaded = thing.load()?;
                assert_eq!((loaded.list, loaded.marks), (vec![1, 2], [3].into()));
                assert_eq!((loaded.prices, loaded.count), ([(4, 5)].into(), Counter(9)));
                let views =
                    [thing.list().map(drop), thing.marks().map(drop), thing.prices().map(drop)];
                for view in views {
                    assert!(is_too_long(&view.unwrap_err()));
                }
                // One without a default is empty, and a counter has its default.
                assert!(thing.notes()?.is_empty()?);
                assert_eq!(thing.count().get()?, 9);
                Ok(())
            };
            db.read(read).unwrap();
            db.write(read).unwrap();
            // `store` moves the object with a title that fits, and the counter has its default.
            let mut value = load::<with_defaults::Thing>(&db, id).unwrap();
            value.title = "short".into();
            value.count = Counter(0);
            let store = |thing: Obj<'_, with_defaults::Thing>| thing.store(&value);
            assert!(!change(&db, id, store).unwrap());
            assert_eq!(load::<with_defaults::Thing>(&db, id).unwrap().count, Counter(9));
            value.list = Vec::new();
            let store = |thing: Obj<'_, with_defaults::Thing>| thing.store(&value);
            assert!(change(&db, id, store).unwrap());
            value.count = Counter(9);
            assert_eq!(load::<with_defaults::Thing>(&db, id).unwrap(), value);
        });
    }
}

mod versioned {
    use permazen::OldValues;
    use permazen::model::Versioned;

    use super::*;

    versions! {
        old {
            pub struct Thing {
                pub title: String,
                pub size: i32,
                pub note: Option<i32>,
            }
        }
        new {
            pub struct Thing {
                #[permazen(indexed)]
                pub title: String,
                #[permazen(upgrade_with = super::larger)]
                pub size: i64,
                pub note: Option<i32>,
            }
        }
    }

    fn larger(old: &OldValues<'_>) -> permazen::Result<i64> {
        Ok(old.take::<i64>("size")? + 1)
    }

    /// Only the own conversion tells what the size is, so the object must be seen as it would be
    /// after a move. It cannot move, but the changed field has the same definition where it is.
    #[test]
    fn an_object_that_cannot_move_is_changed_where_it_is_with_a_base_of_an_older_program() {
        on_lmdb(|store| {
            let old = open::<old::Thing>(store);
            let thing = old::Thing { title: "long ".repeat(200), size: 6, note: None };
            let id = create(&old, &thing);
            let base =
                old.read(|tx| Ok(tx.get::<old::Thing>(id)?.load_versioned()?.base().clone()));
            let db = open::<new::Thing>(store);
            let mut thing = load::<new::Thing>(&db, id).unwrap();
            thing.note = Some(1);
            let thing = Versioned::new(thing, base.unwrap());
            let stored = db.write(|tx| thing.store(tx)).unwrap();
            assert_eq!((stored.size, stored.note), (7, Some(1)));
            let thing = load::<old::Thing>(&old, id).unwrap();
            assert_eq!((thing.size, thing.note), (6, Some(1)));
        });
    }
}

mod refused {
    use super::*;

    versions! {
        old {
            pub struct Item {
                pub name: String,
                pub size: String,
                pub count: i64,
            }
        }
        new {
            pub struct Item {
                pub name: String,
                pub size: i32,
                pub count: Counter,
            }
        }
    }

    #[test]
    fn reading_transactions_refuse_to_store_an_object_that_cannot_move() {
        on_each_store(|store| {
            let old = open::<old::Item>(store);
            let item = old::Item { name: "a".into(), size: "large".into(), count: 5 };
            let id = create(&old, &item);
            let db = open::<new::Item>(store);
            let changes: [fn(Obj<'_, new::Item>) -> permazen::Result<()>; 3] = [
                |item| item.store(&new::Item { name: "b".into(), size: 1, count: Counter(0) }),
                |item| item.set_size(1),
                |item| item.set_name("b"),
            ];
            for change in changes {
                db.read(|tx| {
                    let item = tx.get::<new::Item>(id)?;
                    assert!(is_read_only(&change(item).unwrap_err()));
                    assert_eq!(item.name()?, "a");
                    Ok(())
                })
                .unwrap();
            }
            assert_eq!(load::<old::Item>(&old, id).unwrap(), item);
        });
    }

    #[test]
    fn store_rescues_an_object_whose_counter_had_another_type() {
        on_each_store(|store| {
            let old = open::<old::Item>(store);
            let item = old::Item { name: "a".into(), size: "large".into(), count: 5 };
            let id = create(&old, &item);
            let db = open::<new::Item>(store);
            assert_eq!(lost(load::<new::Item>(&db, id)), ["size"]);
            let value = new::Item { name: "b".into(), size: 1, count: Counter(50) };
            assert!(change(&db, id, |item: Obj<'_, new::Item>| item.store(&value)).unwrap());
            // Counters keep their numbers.
            let expected = new::Item { count: Counter(5), ..value };
            assert_eq!(load::<new::Item>(&db, id).unwrap(), expected);
        });
    }
}

mod defaults {
    use super::*;

    versions! {
        old {
            pub struct Game {
                pub title: String,
                pub players: i32,
            }
        }
        new {
            #[permazen(removed("players"))]
            pub struct Game {
                pub title: String,
                #[permazen(default = vec![1, 2])]
                pub list: Vec<i32>,
                #[permazen(default = Counter(9))]
                pub count: Counter,
                #[permazen(default = 3)]
                pub number: i32,
            }
        }
    }

    #[test]
    fn reading_a_default_moves_an_object_only_for_a_live_collection() {
        on_each_store(|store| {
            let old = open::<old::Game>(store);
            let db = open::<new::Game>(store);
            let game = old::Game { title: "chess".into(), players: 2 };
            let id = create(&old, &game);
            let read = |game: Obj<'_, new::Game>| {
                assert_eq!((game.number()?, game.count().get()?), (3, 9));
                let loaded = game.load()?;
                assert_eq!((loaded.list, loaded.count), (vec![1, 2], Counter(9)));
                Ok(())
            };
            assert!(!change(&db, id, read).unwrap());
            // A program that stores the default stays there too, and keeps what it does not know.
            let store = |game: Obj<'_, new::Game>| {
                let loaded = game.load()?;
                game.store(&new::Game { title: "go".into(), count: Counter(0), ..loaded })
            };
            assert!(!change(&db, id, store).unwrap());
            assert_eq!(load::<new::Game>(&db, id).unwrap().count, Counter(9));
            let kept = old::Game { title: "go".into(), ..game };
            assert_eq!(load::<old::Game>(&old, id).unwrap(), kept);
            let read = |game: Obj<'_, new::Game>| {
                assert_eq!(game.list()?.load::<Vec<_>>()?, [1, 2]);
                Ok(())
            };
            assert!(change(&db, id, read).unwrap());
        });
    }
}

mod lacking {
    use super::*;

    versions! {
        old {
            pub struct Job {
                pub name: String,
            }
        }
        new {
            pub struct Job {
                pub name: String,
                pub steps: Vec<String>,
                pub tags: BTreeSet<String>,
                pub scores: BTreeMap<i32, i32>,
            }
        }
    }

    #[test]
    fn a_change_that_fails_leaves_the_object_where_it_was() {
        on_each_store(|store| {
            let id = create(&open::<old::Job>(store), &old::Job { name: "a".into() });
            let fails = |job: Obj<'_, new::Job>| {
                assert!(job.steps()?.set(99, "x").is_err());
                assert!(job.steps()?.insert(1, "x").is_err());
                assert!(job.steps()?.remove(0).is_err());
                Ok(())
            };
            assert!(!change(&open::<new::Job>(store), id, fails).unwrap());
        });
    }

    #[test]
    fn removing_from_a_collection_that_the_schema_lacks_moves_nothing() {
        on_each_store(|store| {
            let id = create(&open::<old::Job>(store), &old::Job { name: "a".into() });
            let db = open::<new::Job>(store);
            let remove = |job: Obj<'_, new::Job>| {
                assert_eq!(job.steps()?.pop()?, None);
                job.steps()?.clear()?;
                assert!(!job.tags()?.remove("x")?);
                job.tags()?.clear()?;
                assert_eq!(job.scores()?.remove(1)?, None);
                job.scores()?.clear()
            };
            assert!(!change(&db, id, remove).unwrap());
            assert!(change(&db, id, |job: Obj<'_, new::Job>| job.steps()?.push("x")).unwrap());
        });
    }
}

mod dangling {
    use super::*;

    versions! {
        old {
            pub struct Node {
                pub next: Option<Ref<Node>>,
            }
        }
        new {
            pub struct Node {
                #[permazen(allow_deleted)]
                pub next: Option<Ref<Node>>,
            }
        }
    }

    #[test]
    fn a_reference_that_only_the_new_schema_allows_to_dangle_moves_the_object() {
        on_each_store(|store| {
            let old = open::<old::Node>(store);
            let id = create(&old, &old::Node { next: None });
            let gone = create(&old, &old::Node { next: None });
            assert!(old.write(|tx| tx.get::<old::Node>(gone)?.delete()).unwrap());
            let refused = old.write(|tx| tx.get::<old::Node>(id)?.set_next(Some(Ref::new(gone))));
            assert!(matches!(
                refused,
                Err(Error::Object(object::Error::DeletedObject { id, .. })) if id == gone
            ));
            let db = open::<new::Node>(store);
            let set = |node: Obj<'_, new::Node>| node.set_next(Some(Ref::new(gone)));
            assert!(change(&db, id, set).unwrap());
            assert_eq!(load::<new::Node>(&db, id).unwrap().next, Some(Ref::new(gone)));
            let id = create(&old, &old::Node { next: None });
            let value = new::Node { next: Some(Ref::new(gone)) };
            assert!(change(&db, id, |node: Obj<'_, new::Node>| node.store(&value)).unwrap());
        });
    }
}

mod one_field_differs {
    use super::*;

    versions! {
        old {
            pub struct Item {
                pub name: String,
                pub size: i32,
                pub place: Option<i32>,
                pub count: i64,
            }
        }
        new {
            pub struct Item {
                pub name: String,
                pub size: i64,
                pub place: Vec<i32>,
                pub count: Counter,
                pub phone: Option<String>,
            }
        }
        narrower {
            pub struct Item {
                pub name: String,
                pub size: i16,
            }
        }
    }

    /// `store` works where the object is, if all fields it changes have the same definition there.
    #[test]
    fn store_changes_the_fields_of_the_same_definition_where_the_object_is() {
        on_each_store(|store| {
            let old = open::<old::Item>(store);
            let item = old::Item { name: "a".into(), size: 5, place: Some(1), count: 3 };
            let id = create(&old, &item);
            let db = open::<new::Item>(store);
            let mut value = load::<new::Item>(&db, id).unwrap();
            value.name = "b".into();
            let set = |item: Obj<'_, new::Item>| item.store(&value);
            assert!(!change(&db, id, set).unwrap());
            let item = old::Item { name: "b".into(), ..item.clone() };
            assert_eq!(load::<old::Item>(&old, id).unwrap(), item);
            // One element more is a change, and the object moves with all that is given.
            value.place.push(2);
            value.name = "c".into();
            let set = |item: Obj<'_, new::Item>| item.store(&value);
            assert!(change(&db, id, set).unwrap());
            assert_eq!(load::<new::Item>(&db, id).unwrap(), value);
        });
    }

    /// A value that cannot be converted is replaced by a new one, so the object must move, and the
    /// losses are named.
    #[test]
    fn store_moves_an_object_with_a_value_that_has_no_counterpart() {
        on_each_store(|store| {
            let old = open::<old::Item>(store);
            let item = old::Item { name: "a".into(), size: 70_000, place: Some(1), count: 0 };
            let id = create(&old, &item);
            let db = open::<narrower::Item>(store);
            let value = narrower::Item { name: "b".into(), size: 7 };
            let set = |item: Obj<'_, narrower::Item>| item.store(&value);
            assert_eq!(lost(change(&db, id, set)), ["place"]);
            assert_eq!(load::<old::Item>(&old, id).unwrap(), item);
        });
    }
}

mod other_targets {
    use super::*;

    versions! {
        old {
            pub struct Person {
                pub home: Option<Ref<House>>,
                pub seat: Ref<House>,
                pub past: BTreeSet<Ref<House>>,
                pub next: Vec<Option<Ref<House>>>,
            }
            pub struct House {
                pub street: String,
            }
        }
        new {
            pub struct Person {
                pub home: Option<Ref<Flat>>,
                pub seat: Ref<Flat>,
                pub past: BTreeSet<Ref<Flat>>,
                pub next: Vec<Option<Ref<Flat>>>,
            }
            pub struct Flat {
                pub street: String,
            }
        }
    }

    #[test]
    fn a_reference_to_a_type_that_the_model_does_not_allow_is_named_with_its_holder() {
        on_each_store(|store| {
            let old = open2::<old::Person, old::House>(store);
            let house = create(&old, &old::House { street: "elm".into() });
            let there = Ref::new(house);
            let person = old::Person {
                home: Some(there),
                seat: there,
                past: [there].into(),
                next: vec![None, Some(there)],
            };
            let holder = create(&old, &person);
            let db = open2::<new::Person, new::Flat>(store);
            db.read(|tx| {
                let person = tx.get::<new::Person>(holder)?;
                let errors = [
                    ("Person.home", person.home().unwrap_err()),
                    ("Person.seat", person.seat().unwrap_err()),
                    ("Person.past", person.past()?.objects().next().unwrap().unwrap_err()),
                    ("Person.next", person.next()?.objects().next().unwrap().unwrap_err()),
                ];
                for (name, error) in errors {
                    let text = error.to_string();
                    let Error::WrongTarget { field, id, schema, target, target_type, expected } =
                        error
                    else {
                        panic!("{error:?}")
                    };
                    assert_eq!((&*field, id, schema), (name, holder, schema_of(tx, holder)));
                    assert_eq!((target, &*target_type, expected), (house, "House", "Flat"));
                    assert!(text.contains(&house.to_string()), "{text}");
                    // `load` needs that nothing else moves, so it is no advice.
                    assert!(
                        text.contains(
                            "read the reference with `get` and the constant of the field"
                        ),
                        "{text}"
                    );
                    assert!(!text.contains("`load`"), "{text}");
                }
                // These do not follow it.
                let home = person.get(new::Person::HOME)?.unwrap();
                assert_eq!(tx.any(home.id()).type_name()?, "House");
                assert_eq!(person.load()?.seat.id(), house);
                Ok(())
            })
            .unwrap();
        });
    }
}

mod deletions {
    use super::*;

    mod before {
        use super::*;
        #[derive(permazen::PermazenObject, Clone, Default)]
        pub struct Thing {}

        #[derive(permazen::PermazenObject, Clone, Default)]
        pub struct Holder {
            pub thing: Option<Ref<Thing>>,
            pub always: Option<Ref<Thing>>,
        }
    }
    mod now {
        use super::*;
        #[derive(permazen::PermazenObject, Clone, Default)]
        pub struct Thing {}

        #[derive(permazen::PermazenObject, Clone, Default)]
        pub struct Holder {
            #[permazen(inverse_delete = "nullify")]
            pub thing: Option<Ref<Thing>>,
            pub always: Option<Ref<Thing>>,
        }
    }

    #[test]
    fn obey_the_schema_of_the_object_that_refers() {
        on_each_store(|store| {
            let db = open2::<before::Thing, before::Holder>(store);
            let thing = create(&db, &before::Thing {});
            let [staying, moving] = [(); 2].map(|()| {
                let thing = Some(Ref::new(thing));
                create(&db, &before::Holder { thing, always: None })
            });
            let old = db.read(|tx| Ok(schema_of(tx, staying))).unwrap();
            let db = open2::<now::Thing, now::Holder>(store);
            let delete = || db.write(|tx| tx.any(thing).delete());
            let migrate = |id| db.write(|tx| tx.get::<now::Holder>(id)?.migrate()).unwrap();

            migrate(moving);
            let error = delete().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "Thing {thing} cannot be deleted: Holder {staying} refers to it through \"thing\", which forbids \
                     it in schema {old}, where that object is; the transaction's schema does not forbid it, but \
                     applies only when the object has moved there: move it (`migrate`, `upgrade_all`), delete it, \
                     or change the reference first"
                )
            );
            migrate(staying);
            let set = |to| db.write(|tx| tx.get::<now::Holder>(staying)?.set_always(to));
            set(Some(Ref::new(thing))).unwrap();
            let error = delete().unwrap_err().to_string();
            let end = "through \"always\", which forbids it; delete that object or change the reference first";
            assert!(error.ends_with(end), "{error}");
            set(None).unwrap();
            assert!(delete().unwrap());
            let now = load::<now::Holder>(&db, staying).unwrap();
            assert_eq!(now.thing, None);
        });
    }
}
