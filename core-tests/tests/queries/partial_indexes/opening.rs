//! The costs of opening an index, queries where objects lack entries, and the texts of their
//! errors.

use permazen::kv::counting::Counter;

use super::*;

/// A store that counts, with a database of the first program's objects.
fn counted() -> (Arc<dyn KvDatabase>, Counter) {
    let counting = CountingStore::new(MemoryStore::new());
    let counter = counting.counter();
    (Arc::new(counting), counter)
}

#[test]
fn writes_do_not_make_a_query_of_merged_entries_look_again() {
    let (store, counter) = counted();
    before(&store).write(|tx| tx.create(old_task("a", None, 1)).map(drop)).unwrap();
    let tx = now(&store).begin().unwrap();
    let task = tx.create(new_task("b", Some(now::State::Done), 1)).unwrap();
    counter.take();
    tx.index(now::Task::STATE).unwrap();
    assert_eq!(counter.take().seeks, 1);
    for rank in 2..5 {
        task.set_rank(rank).unwrap();
        counter.take();
        let states = tx.index(now::Task::STATE).unwrap();
        assert_eq!(counter.take().reads(), 0);
        assert_eq!(states.count().unwrap(), 2);
    }
    // Also after the last old object has left.
    let old = tx.index(now::Task::STATE).unwrap().get(None).unwrap().first().unwrap().unwrap();
    old.migrate().unwrap();
    counter.take();
    let states = tx.index(now::Task::STATE).unwrap();
    assert_eq!(counter.take().reads(), 0);
    assert_eq!(states.count().unwrap(), 2);
}

#[test]
fn a_refusal_is_of_the_moment() {
    let (store, counter) = counted();
    before(&store).write(|tx| tx.create(old_task("a", None, 1)).map(drop)).unwrap();
    let tx = now(&store).begin().unwrap();
    refused(&tx, now::Task::TITLE);
    let task = tx.all::<now::Task>().unwrap().first().unwrap().unwrap();
    task.migrate().unwrap();
    counter.take();
    let titles = tx.index(now::Task::TITLE).unwrap();
    assert_eq!(counter.take().seeks, 1);
    assert_eq!(titles.count().unwrap(), 1);
}

#[test]
fn a_view_that_was_opened_before_is_looked_up_again_when_schemas_are_recorded() {
    let old = before(&(Arc::new(MemoryStore::new()) as Arc<dyn KvDatabase>)).schema().clone();
    let (store, counter) = counted();
    let tx = now(&store).begin().unwrap();
    tx.create(new_task("b", Some(now::State::Done), 1)).unwrap();
    for _ in 0..2 {
        counter.take();
        let titles = tx.index(now::Task::TITLE).unwrap();
        assert_eq!(counter.take().reads(), 0);
        assert_eq!(titles.count().unwrap(), 1);
    }
    assert!(tx.core().add_schema(&old).unwrap());
    counter.take();
    tx.index(now::Task::TITLE).unwrap();
    assert_eq!(counter.take().seeks, 1);
    assert_eq!(tx.index(now::Task::TITLE).unwrap().count().unwrap(), 1);
}

#[test]
fn a_query_of_what_is_indexed_does_not_look_for_more() {
    let (store, counter) = counted();
    before(&store).write(|tx| tx.create(old_task("a", None, 1)).map(drop)).unwrap();
    let tx = now(&store).begin().unwrap();
    counter.take();
    tx.index(now::Task::TITLE.allow_partial()).unwrap();
    assert_eq!(counter.take().reads(), 0);
}

#[test]
fn a_scan_costs_a_seek_and_a_scan_for_each_object_that_is_missing() {
    let (store, counter) = counted();
    let count = 20;
    before(&store)
        .write(|tx| {
            for rank in 0..count {
                tx.create(old_task("a", None, rank))?;
            }
            Ok::<_, Error>(())
        })
        .unwrap();
    let tx = now(&store).begin().unwrap();
    counter.take();
    let titles = tx.index(now::Task::TITLE.complete_by_scan()).unwrap();
    let ops = counter.take();
    let count = u64::try_from(count).unwrap();
    assert_eq!(ops.gets, 0, "{ops:?}");
    assert!(ops.seeks >= count && ops.seeks <= count + 3, "{ops:?}");
    // Four pairs of each object, and its entry in the object schema index.
    assert!(ops.steps <= 5 * count, "{ops:?}");
    assert_eq!(titles.count().unwrap() as u64, count);
}

/// An object that cannot move, for reasons that other indexes have nothing to do with.
mod sizes {
    use super::*;

    pub(super) mod before {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct File {
            pub(in super::super) name: String,
            pub(in super::super) size: i64,
            pub(in super::super) number: i32,
            pub(in super::super) note: Option<String>,
        }
    }

    pub(super) mod now {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        #[permazen(composite(name = "nameNumber", fields(name, number)))]
        #[permazen(composite(name = "nameSize", fields(name, size)))]
        pub(in super::super) struct File {
            #[permazen(indexed)]
            pub(in super::super) name: String,
            #[permazen(indexed)]
            pub(in super::super) size: i32,
            #[permazen(indexed)]
            pub(in super::super) number: i64,
            #[permazen(indexed, default = 3)]
            pub(in super::super) weight: i32,
        }
    }
}

#[test]
fn a_scan_needs_only_the_fields_of_the_index() {
    use sizes::{before, now::File};
    let store = store();
    let file = |name: &str, size, note: Option<&str>| {
        let note = note.map(str::to_owned);
        let file = before::File { name: name.into(), size, number: 5, note };
        open::<before::File>(&store).write(|tx| Ok(tx.create(file.clone())?.id())).unwrap()
    };
    file("small", 7, None);
    let large = file("large", 5_000_000_000, None);
    // The model lacks this note.
    let noted = file("noted", 8, Some("keep"));
    let db = open::<File>(&store);
    db.read(|tx| {
        assert_eq!(tx.index(File::NAME.complete_by_scan())?.get("large")?.count()?, 1);
        assert_eq!(tx.index(File::NAME.complete_by_scan())?.count()?, 3);
        assert_eq!(tx.index(File::NUMBER.complete_by_scan())?.get(5)?.count()?, 3);
        assert_eq!(tx.index(File::WEIGHT.complete_by_scan())?.get(3)?.count()?, 3);
        let both = tx.index(File::NAME_NUMBER.complete_by_scan())?;
        assert_eq!(both.get(("large".to_owned(), 5))?.count()?, 1);
        // Here its size is needed.
        let named = |result: Result<()>| match result {
            Err(Error::Refused(refusal)) => {
                assert_eq!(refusal.id, large);
                let fields: Vec<_> = refusal.losses.iter().map(|loss| &*loss.field).collect();
                assert_eq!(fields, ["size"]);
            }
            other => panic!("{other:?}"),
        };
        named(tx.index(File::SIZE.complete_by_scan()).map(drop));
        named(tx.index(File::NAME_SIZE.complete_by_scan()).map(drop));
        // Or it is left out.
        let sizes = tx.index(File::SIZE.complete_by_scan().skip_unknown())?;
        let found: Result<Vec<_>> = sizes.values().collect();
        assert_eq!(found?, [7, 8]);
        Ok(())
    })
    .unwrap();
    check(&store);
    // After the others have moved, the error says why these stay.
    assert_eq!(db.upgrade_all().run().unwrap().moved, 1);
    db.read(|tx| {
        match tx.index(File::NAME) {
            Err(error @ Error::PartialIndex { .. }) => {
                let text = error.to_string();
                assert!(text.contains("2 objects") && text.contains("cannot move"), "{text}");
                let (large, noted) = (large.to_string(), noted.to_string());
                assert!(text.contains(&large) || text.contains(&noted), "{text}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(tx.index(File::NAME.complete_by_scan())?.count()?, 3);
        Ok(())
    })
    .unwrap();
}

/// Own code of other fields does not run, and may fail.
mod own {
    use super::*;

    pub(super) mod before {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Part {
            pub(in super::super) name: String,
            pub(in super::super) number: String,
        }
    }

    pub(super) mod now {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Part {
            #[permazen(indexed)]
            pub(in super::super) name: String,
            #[permazen(indexed, upgrade_with = number)]
            pub(in super::super) number: i32,
        }

        fn number(old: &permazen::OldValues<'_>) -> Result<i32> {
            let number: String = old.take("number")?;
            number.strip_prefix('#').unwrap_or_default().parse().map_err(Error::other)
        }
    }
}

#[test]
fn a_scan_runs_own_code_only_for_the_fields_of_the_index() {
    use own::{before, now::Part};
    let store = store();
    let create = |number: &str| {
        let part = before::Part { name: "p".into(), number: number.into() };
        open::<before::Part>(&store).write(|tx| Ok(tx.create(part.clone())?.id())).unwrap()
    };
    create("#4");
    let db = open::<Part>(&store);
    db.read(|tx| {
        assert_eq!(tx.index(Part::NUMBER.complete_by_scan())?.get(4)?.count()?, 1);
        Ok(())
    })
    .unwrap();
    let bad = create("4");
    db.read(|tx| {
        assert_eq!(tx.index(Part::NAME.complete_by_scan())?.get("p")?.count()?, 2);
        match tx.index(Part::NUMBER.complete_by_scan()) {
            Err(Error::Upgrade { id, .. }) => assert_eq!(id, bad),
            other => panic!("{other:?}"),
        }
        Ok(())
    })
    .unwrap();
}

/// Two types share an index of map values, and their maps have other keys.
mod keys {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
    pub(super) struct Task {
        #[permazen(value(indexed))]
        pub(super) hours: BTreeMap<i32, i32>,
    }

    #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
    pub(super) struct Team {
        #[permazen(value(indexed))]
        pub(super) hours: BTreeMap<String, i32>,
    }
}

#[test]
fn types_whose_maps_have_other_keys_are_no_partial_index() {
    use keys::{Task, Team};
    let store = store();
    let db = Permazen::builder_shared(store.clone()).model::<Task>().model::<Team>();
    let db = db.build().unwrap();
    db.write(|tx| {
        tx.create(Task { hours: [(7, 1)].into() })?;
        tx.create(Team { hours: [("a".to_owned(), 1)].into() }).map(drop)
    })
    .unwrap();
    db.read(|tx| {
        assert_eq!(tx.index(Task::HOURS.value())?.of_all_types()?.get(1)?.count()?, 2);
        for index in [
            tx.index(Task::HOURS.value().with_keys())?,
            tx.index(Task::HOURS.value().with_keys().complete_by_scan())?,
        ] {
            match index.of_all_types() {
                Err(error @ Error::OtherKeys { .. }) => {
                    let text = error.to_string();
                    assert!(text.contains("Team") && text.contains("with_keys"), "{text}");
                }
                other => panic!("{other:?}"),
            }
        }
        let partial = tx.index(Task::HOURS.value().with_keys().allow_partial())?;
        let rows: Result<Vec<_>> = partial.of_all_types()?.iter().map(|row| Ok(row?.2)).collect();
        assert_eq!(rows?, [7]);
        Ok(())
    })
    .unwrap();
    // A type without a model is left out.
    open::<Task>(&store)
        .read(|tx| {
            let index = tx.index(Task::HOURS.value().with_keys())?.of_all_types()?;
            let rows: Result<Vec<_>> = index.iter().map(|row| Ok(row?.2)).collect();
            assert_eq!(rows?, [7]);
            assert_eq!(index.get(1)?.count()?, 1);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_scan_by_javas_rules_adds_what_is_missing() {
    let (store, _db) = mixed();
    let db = Permazen::builder_shared(store).evolution(Evolution::AsJava);
    let db = db.model::<now::Task>().model::<now::Note>().build().unwrap();
    db.read(|tx| {
        assert_eq!(tx.index(now::Task::TITLE.complete_by_scan())?.count()?, 4);
        assert_eq!(tx.index(now::Task::TITLE.allow_partial())?.count()?, 2);
        // By these rules a set starts empty if its definition has changed.
        assert_eq!(tx.index(now::Task::PAST.complete_by_scan())?.count()?, 0);
        Ok(())
    })
    .unwrap();
}

#[test]
fn unknown_values_and_missing_objects_are_two_choices() {
    let (store, db) = mixed();
    // The first program once more, whose index also lacks objects.
    mod old {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(super) struct Task {
            pub(super) title: String,
            pub(super) state: Option<super::super::before::State>,
            #[permazen(indexed)]
            pub(super) rank: i32,
        }
    }
    drop(db);
    // Tasks without any index of their state.
    open::<old::Task>(&store)
        .write(|tx| {
            let state = Some(before::State::Open);
            tx.create(old::Task { title: "x".into(), state, rank: 9 }).map(drop)
        })
        .unwrap();
    let db = before(&store);
    db.read(|tx| {
        use before::State::{Done, Open};
        refused(tx, before::Task::STATE.skip_unknown());
        assert!(tx.index(before::Task::STATE.allow_partial())?.count().is_err());
        let known = tx.index(before::Task::STATE.allow_partial().skip_unknown())?;
        assert_eq!(known.count()?, 3);
        assert!(tx.index(before::Task::STATE.complete_by_scan())?.count().is_err());
        let all = tx.index(before::Task::STATE.skip_unknown().complete_by_scan())?;
        assert_eq!((all.count()?, all.get(Open)?.count()?, all.get(Done)?.count()?), (4, 2, 2));
        Ok(())
    })
    .unwrap();
}
