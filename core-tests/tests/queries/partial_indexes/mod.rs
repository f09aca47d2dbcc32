//! Queries of indexes while objects are in schemas of other programs.

mod coverage;
mod opening;
mod queries;
mod random;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::model::{Evolution, IndexOn};
use permazen::{Error, Model, Permazen, PermazenEnum, PermazenObject, Ref, Result, Tx, object};

/// The program before.
mod before {
    use super::*;

    #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum State {
        Open,
        Done,
    }

    #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
    #[permazen(composite(name = "stateRank", fields(state, rank)))]
    #[permazen(composite(name = "byRank", fields(rank, title)))]
    pub(super) struct Task {
        pub(super) title: String,
        #[permazen(indexed)]
        pub(super) state: Option<State>,
        pub(super) rank: i32,
        pub(super) parent: Option<Ref<Task>>,
        pub(super) tags: BTreeSet<String>,
        pub(super) steps: Vec<String>,
        pub(super) marks: BTreeMap<String, i32>,
        #[permazen(value(indexed))]
        pub(super) hours: BTreeMap<String, i32>,
        #[permazen(element(indexed))]
        pub(super) past: BTreeSet<State>,
    }

    #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
    pub(super) struct Note {
        pub(super) title: String,
    }
}

/// The program now: new indexes, a changed composite index, one more constant.
mod now {
    use super::*;

    #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum State {
        Open,
        Done,
        Dropped,
    }

    #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
    #[permazen(composite(name = "stateRank", fields(state, rank)))]
    #[permazen(composite(name = "byRank", fields(title, rank)))]
    pub(super) struct Task {
        #[permazen(indexed)]
        pub(super) title: String,
        #[permazen(indexed)]
        pub(super) state: Option<State>,
        pub(super) rank: i32,
        #[permazen(indexed)]
        pub(super) parent: Option<Ref<Task>>,
        #[permazen(element(indexed))]
        pub(super) tags: BTreeSet<String>,
        #[permazen(element(indexed))]
        pub(super) steps: Vec<String>,
        #[permazen(key(indexed), value(indexed))]
        pub(super) marks: BTreeMap<String, i32>,
        #[permazen(value(indexed))]
        pub(super) hours: BTreeMap<i32, i32>,
        #[permazen(element(indexed))]
        pub(super) past: BTreeSet<State>,
    }

    #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
    pub(super) struct Note {
        #[permazen(indexed)]
        pub(super) title: String,
    }
}

fn store() -> Arc<dyn KvDatabase> {
    Arc::new(MemoryStore::new())
}

fn before(store: &Arc<dyn KvDatabase>) -> Permazen {
    let db = Permazen::builder_shared(store.clone());
    db.model::<before::Task>().model::<before::Note>().build().unwrap()
}

fn now(store: &Arc<dyn KvDatabase>) -> Permazen {
    let db = Permazen::builder_shared(store.clone());
    db.model::<now::Task>().model::<now::Note>().build().unwrap()
}

/// The checker finds nothing wrong.
fn check(store: &Arc<dyn KvDatabase>) {
    let options = permazen_jsck::Options::default();
    let mut found = Vec::new();
    let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
    permazen_jsck::check_database(&**store, &options, &mut sink, &mut |_| {}).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

fn old_task(title: &str, state: Option<before::State>, rank: i32) -> before::Task {
    before::Task { title: title.into(), state, rank, ..Default::default() }
}

fn new_task(title: &str, state: Option<now::State>, rank: i32) -> now::Task {
    now::Task { title: title.into(), state, rank, ..Default::default() }
}

/// Two old tasks and two new ones.
fn mixed() -> (Arc<dyn KvDatabase>, Permazen) {
    let store = store();
    let filled: Result<()> = before(&store).write(|tx| {
        tx.create(old_task("a", Some(before::State::Open), 1))?;
        tx.create(old_task("c", Some(before::State::Done), 2))?;
        Ok(())
    });
    filled.unwrap();
    let db = now(&store);
    let filled: Result<()> = db.write(|tx| {
        tx.create(new_task("b", Some(now::State::Done), 3))?;
        tx.create(new_task("d", Some(now::State::Dropped), 4))?;
        Ok(())
    });
    filled.unwrap();
    (store, db)
}

fn refused<I: IndexOn>(tx: &Tx, index: I) -> (String, String, usize) {
    match tx.index(index) {
        Err(error @ Error::PartialIndex { .. }) => {
            let text = error.to_string();
            let Error::PartialIndex { index, type_name, missing, schemas, .. } = error else {
                unreachable!()
            };
            for part in ["build_indexes", "upgrade_all", "allow_partial", "complete_by_scan"] {
                assert!(text.contains(part), "{text}");
            }
            assert!(text.contains(&index) && text.contains(&type_name), "{text}");
            assert!(schemas.iter().all(|schema| text.contains(&schema.to_string())), "{text}");
            (index, type_name, missing)
        }
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("{} is complete", std::any::type_name::<I>()),
    }
}

#[test]
fn an_index_that_lacks_objects_says_so() {
    let (_store, db) = mixed();
    db.read(|tx| {
        let expected = ("Task.title".to_owned(), "Task".to_owned(), 2);
        assert_eq!(refused(tx, now::Task::TITLE), expected);
        let expected = ("Task#byRank".to_owned(), "Task".to_owned(), 2);
        assert_eq!(refused(tx, now::Task::BY_RANK), expected);
        // References always have an index.
        assert_eq!(tx.index(now::Task::PARENT)?.count()?, 4);
        assert_eq!(refused(tx, now::Task::TAGS).0, "Task.tags.element");
        assert_eq!(refused(tx, now::Task::STEPS).0, "Task.steps.element");
        assert_eq!(refused(tx, now::Task::STEPS.positions()).0, "Task.steps.element");
        assert_eq!(refused(tx, now::Task::MARKS.key()).0, "Task.marks.key");
        assert_eq!(refused(tx, now::Task::MARKS.value()).0, "Task.marks.value");
        assert_eq!(refused(tx, now::Task::MARKS.value().with_keys()).0, "Task.marks.value");
        // No note is in the old schema.
        assert_eq!(tx.index(now::Note::TITLE)?.count()?, 0);
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_is_indexed_is_found_if_that_is_wanted() {
    let (_store, db) = mixed();
    db.read(|tx| {
        let titles = tx.index(now::Task::TITLE.allow_partial())?;
        let found: Result<Vec<_>> = titles.values().collect();
        assert_eq!(found?, ["b", "d"]);
        assert_eq!(tx.index(now::Task::BY_RANK.allow_partial())?.count()?, 2);
        assert_eq!(tx.index(now::Task::TAGS.allow_partial())?.count()?, 0);
        Ok(())
    })
    .unwrap();
}

#[test]
fn missing_objects_are_counted_up_to_a_thousand() {
    let store = store();
    before(&store)
        .write(|tx| {
            for rank in 0..1001 {
                tx.create(old_task("x", None, rank))?;
            }
            tx.create(before::Note::default()).map(drop)
        })
        .unwrap();
    now(&store)
        .read(|tx| {
            assert_eq!(refused(tx, now::Task::TITLE).2, 1000);
            let error = tx.index(now::Task::TITLE).unwrap_err().to_string();
            assert!(error.contains("at least 1000 objects"), "{error}");
            let error = tx.index(now::Note::TITLE).unwrap_err().to_string();
            assert!(error.contains("of 1 object of type Note"), "{error}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn entries_are_added_by_loading_what_is_missing() {
    let (store, db) = mixed();
    db.read(|tx| {
        let titles = tx.index(now::Task::TITLE.complete_by_scan())?;
        let forward: Result<Vec<_>> = titles.values().collect();
        assert_eq!(forward?, ["a", "b", "c", "d"]);
        let backward: Result<Vec<_>> = titles.iter().rev().map(|row| Ok(row?.0)).collect();
        assert_eq!(backward?, ["d", "c", "b", "a"]);
        let some: Result<Vec<_>> = titles.range("b".."d")?.values().collect();
        assert_eq!(some?, ["b", "c"]);
        assert_eq!(titles.count()?, 4);
        assert_eq!(titles.first()?.unwrap().0, "a");
        assert_eq!(titles.last()?.unwrap().0, "d");
        let found = titles.get("c")?;
        assert_eq!((found.count()?, found.first()?.unwrap().rank()?), (1, 2));
        assert!(found.contains(found.first()?.unwrap())?);
        assert!(titles.get("x")?.is_empty()?);
        let mut both = titles.objects();
        let met = (both.next().unwrap()?.title()?, both.next_back().unwrap()?.title()?);
        assert_eq!(met, ("a".to_owned(), "d".to_owned()));
        assert_eq!(both.count(), 2);
        let by_rank = tx.index(now::Task::BY_RANK.complete_by_scan())?;
        let rows: Result<Vec<_>> = by_rank.iter().map(|row| Ok(row?.0)).collect();
        let expected = [("a", 1), ("b", 3), ("c", 2), ("d", 4)];
        assert_eq!(rows?, expected.map(|(title, rank)| (title.to_owned(), rank)));
        assert_eq!(by_rank.prefix("c")?.range(2..)?.count()?, 1);
        assert_eq!(by_rank.get(("c".to_owned(), 2))?.count()?, 1);
        Ok(())
    })
    .unwrap();
    // No object has moved.
    let still = before(&store).read(|tx| tx.index(before::Task::BY_RANK.allow_partial())?.count());
    assert_eq!(still.unwrap(), 2);
    check(&store);
}

#[test]
fn a_view_of_the_moment_shows_an_object_that_moves_once() {
    let (store, db) = mixed();
    db.write(|tx| {
        let titles = tx.index(now::Task::TITLE.complete_by_scan())?;
        for task in titles.objects() {
            task?.migrate()?;
        }
        assert_eq!(titles.count()?, 4);
        assert_eq!(titles.get("a")?.count()?, 1);
        // All have moved, so the index is complete.
        assert_eq!(tx.index(now::Task::TITLE)?.count()?, 4);
        Ok(())
    })
    .unwrap();
    assert_eq!(db.read(|tx| tx.index(now::Task::TITLE)?.count()).unwrap(), 4);
    check(&store);
}

#[test]
fn an_index_is_incomplete_again_when_moves_are_undone() {
    let (_store, db) = mixed();
    db.write(|tx| {
        refused(tx, now::Task::TITLE);
        let undone: Result<()> = tx.core().atomic(|_| {
            for task in tx.all::<now::Task>()? {
                task?.migrate()?;
            }
            assert_eq!(tx.index(now::Task::TITLE)?.count()?, 4);
            Err(Error::other("undo"))
        });
        undone.unwrap_err();
        assert_eq!(refused(tx, now::Task::TITLE).2, 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn collections_and_references_are_completed() {
    let store = store();
    let of = |strings: &[&str]| strings.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    before(&store)
        .write(|tx| {
            let parent = tx.create(old_task("parent", None, 0))?;
            tx.create(before::Task {
                parent: Some(parent.to_ref()),
                tags: of(&["t", "u"]).into_iter().collect(),
                steps: of(&["s", "t", "s"]),
                marks: [("m".to_owned(), 1), ("n".to_owned(), 1)].into(),
                ..old_task("child", None, 1)
            })?;
            Ok(())
        })
        .unwrap();
    let db = now(&store);
    db.write(|tx| {
        tx.create(now::Task {
            tags: of(&["u"]).into_iter().collect(),
            steps: of(&["t"]),
            marks: [("n".to_owned(), 2)].into(),
            ..new_task("new", None, 2)
        })?;
        let parents = tx.index(now::Task::PARENT.complete_by_scan())?;
        let parent = tx.all::<now::Task>()?.first()?.unwrap();
        let parent = match parent.title()?.as_str() {
            "parent" => parent,
            _ => tx.index(now::Task::TITLE.complete_by_scan())?.get("parent")?.first()?.unwrap(),
        };
        assert_eq!(parents.get(parent)?.first()?.unwrap().title()?, "child");
        assert_eq!(parents.count()?, 3);
        let tags = tx.index(now::Task::TAGS.complete_by_scan())?;
        assert_eq!((tags.count()?, tags.get("u")?.count()?), (3, 2));
        let values: Result<Vec<_>> = tags.values().rev().collect();
        assert_eq!(values?, ["u", "t"]);
        let steps = tx.index(now::Task::STEPS.complete_by_scan())?;
        assert_eq!((steps.count()?, steps.get("t")?.count()?), (3, 2));
        let positions = tx.index(now::Task::STEPS.positions().complete_by_scan())?;
        let at: Result<Vec<_>> = positions.range("s"..="s")?.iter().map(|row| Ok(row?.2)).collect();
        assert_eq!(at?, [0, 2]);
        assert_eq!(tx.index(now::Task::MARKS.key().complete_by_scan())?.get("n")?.count()?, 2);
        let marks = tx.index(now::Task::MARKS.value().complete_by_scan())?;
        assert_eq!((marks.count()?, marks.get(1)?.count()?), (2, 1));
        let with_keys = tx.index(now::Task::MARKS.value().with_keys().complete_by_scan())?;
        let rows: Result<Vec<_>> =
            with_keys.iter().map(|row| row.map(|row| (row.0, row.2))).collect();
        let expected = [(1, "m"), (1, "n"), (2, "n")];
        assert_eq!(rows?, expected.map(|(value, key)| (value, key.to_owned())));
        Ok(())
    })
    .unwrap();
    check(&store);
}

#[test]
fn entries_of_an_enum_with_more_constants_are_merged() {
    let (store, db) = mixed();
    db.read(|tx| {
        use now::State::{Done, Dropped, Open};
        let states = tx.index(now::Task::STATE)?;
        let rows: Result<Vec<_>> =
            states.iter().map(|row| row.and_then(|row| Ok((row.0, row.1.title()?)))).collect();
        let mut rows = rows?;
        rows.sort();
        let expected = [(Open, "a"), (Done, "b"), (Done, "c"), (Dropped, "d")];
        assert_eq!(rows, expected.map(|(state, title)| (Some(state), title.to_owned())));
        assert_eq!(states.get(Done)?.count()?, 2);
        let values: Result<Vec<_>> = states.values().rev().collect();
        assert_eq!(values?, [Some(Dropped), Some(Done), Some(Open)]);
        assert_eq!(states.range(Some(Done)..=Some(Dropped))?.count()?, 3);
        let ranked = tx.index(now::Task::STATE_RANK)?;
        let rows: Result<Vec<_>> = ranked.iter().map(|row| Ok(row?.0)).collect();
        let expected = [(Open, 1), (Done, 2), (Done, 3), (Dropped, 4)];
        assert_eq!(rows?, expected.map(|(state, rank)| (Some(state), rank)));
        let done = ranked.prefix(Some(Done))?;
        assert_eq!((done.count()?, done.range(3..)?.count()?), (2, 1));
        assert_eq!(ranked.get((Some(Done), 2))?.count()?, 1);
        Ok(())
    })
    .unwrap();
    // Merged views are live.
    db.write(|tx| {
        let states = tx.index(now::Task::STATE)?;
        let mut seen = 0;
        for task in states.objects() {
            let task = task?;
            task.set_state(Some(now::State::Dropped))?;
            seen += 1;
            assert!(seen < 20);
        }
        assert_eq!(states.get(now::State::Dropped)?.count()?, 4);
        Ok(())
    })
    .unwrap();
    check(&store);
}

#[test]
fn elements_of_an_enum_with_more_constants_are_merged() {
    let store = store();
    let past = [before::State::Open, before::State::Done];
    before(&store)
        .write(|tx| tx.create(before::Task { past: past.into(), ..Default::default() }).map(drop))
        .unwrap();
    let db = now(&store);
    db.write(|tx| {
        let past = [now::State::Done, now::State::Dropped];
        tx.create(now::Task { past: past.into(), ..Default::default() })?;
        let index = tx.index(now::Task::PAST)?;
        assert_eq!((index.count()?, index.get(now::State::Done)?.count()?), (4, 2));
        Ok(())
    })
    .unwrap();
}

/// The old program runs once more.
#[test]
fn a_value_of_a_newer_program_is_an_error_or_is_left_out() {
    let (store, _db) = mixed();
    let db = before(&store);
    db.read(|tx| {
        use before::State::{Done, Open};
        let states = tx.index(before::Task::STATE)?;
        assert_eq!(states.get(Done)?.count()?, 2);
        assert_eq!(states.range(Some(Open)..=Some(Done))?.count()?, 3);
        let rows: Vec<_> = states.iter().collect();
        let known: Vec<_> =
            rows.iter().filter_map(|row| row.as_ref().ok()).map(|row| row.0).collect();
        assert_eq!(known, [Some(Open), Some(Done), Some(Done)]);
        let error = rows.into_iter().find_map(Result::err).unwrap();
        match &error {
            Error::Object(object::Error::UnknownValue { value, index, .. }) => {
                assert_eq!((value.as_str(), index.as_str()), ("DROPPED", "Task.state"));
            }
            error => panic!("{error:?}"),
        }
        assert!(error.to_string().contains("skip_unknown"), "{error}");
        assert!(states.count().is_err());
        let known = tx.index(before::Task::STATE.skip_unknown())?;
        assert_eq!(known.count()?, 3);
        let backward: Result<Vec<_>> = known.values().rev().collect();
        assert_eq!(backward?, [Some(Done), Some(Open)]);
        let ranked = tx.index(before::Task::STATE_RANK.skip_unknown())?;
        assert_eq!(ranked.count()?, 3);
        assert!(tx.index(before::Task::STATE_RANK)?.count().is_err());
        Ok(())
    })
    .unwrap();
}

#[test]
fn map_values_are_complete_with_their_keys_only_if_the_keys_are_the_same() {
    let store = store();
    before(&store)
        .write(|tx| {
            let hours = [("7".to_owned(), 1), ("8".to_owned(), 2)];
            tx.create(before::Task { hours: hours.into(), ..Default::default() }).map(drop)
        })
        .unwrap();
    let db = now(&store);
    db.write(|tx| {
        tx.create(now::Task { hours: [(9, 2)].into(), ..Default::default() })?;
        // The entries of the values are the same.
        let hours = tx.index(now::Task::HOURS.value())?;
        assert_eq!((hours.count()?, hours.get(2)?.count()?), (3, 2));
        refused(tx, now::Task::HOURS.value().with_keys());
        let rows =
            |index: permazen::model::Index<'_, now::Task, permazen::model::ByKey<i32, i32>>| {
                let rows: Result<Vec<_>> =
                    index.iter().map(|row| row.map(|row| (row.0, row.2))).collect();
                rows
            };
        let keys = now::Task::HOURS.value().with_keys();
        assert_eq!(rows(tx.index(keys.allow_partial())?)?, [(2, 9)]);
        let mut all = rows(tx.index(keys.complete_by_scan())?)?;
        all.sort_unstable();
        assert_eq!(all, [(1, 7), (2, 8), (2, 9)]);
        assert_eq!(tx.index(keys.allow_partial())?.get(2)?.count()?, 1);
        assert_eq!(tx.index(keys.complete_by_scan())?.get(2)?.count()?, 2);
        Ok(())
    })
    .unwrap();
    db.build_indexes().run().unwrap();
    let count = db.read(|tx| tx.index(now::Task::HOURS.value().with_keys())?.count());
    assert_eq!(count.unwrap(), 3);
}

#[test]
fn an_index_of_all_types_covers_the_models_that_share_it() {
    let (store, db) = mixed();
    before(&store).write(|tx| tx.create(before::Note { title: "n".into() }).map(drop)).unwrap();
    db.write(|tx| {
        for task in tx.all::<now::Task>()? {
            task?.migrate()?;
        }
        let tasks = tx.index(now::Task::TITLE)?;
        match tasks.of_all_types() {
            Err(Error::PartialIndex { type_name, missing, .. }) => {
                assert_eq!((type_name.as_str(), missing), ("Note", 1));
            }
            other => panic!("{other:?}"),
        }
        let partial = tx.index(now::Task::TITLE.allow_partial())?;
        assert_eq!(partial.of_all_types()?.count()?, 4);
        let all = tx.index(now::Task::TITLE.complete_by_scan())?;
        assert_eq!((all.count()?, all.of_all_types()?.count()?), (4, 5));
        let all = all.range("b"..)?.of_all_types()?;
        let titles: Result<Vec<_>> = all.values().collect();
        assert_eq!(titles?, ["b", "c", "d", "n"]);
        // The entries of the states of tasks are merged here too.
        assert_eq!(tx.index(now::Task::STATE)?.of_all_types()?.count()?, 4);
        Ok(())
    })
    .unwrap();
}

#[test]
fn javas_rules_show_what_is_indexed() {
    let (store, _db) = mixed();
    let db = Permazen::builder_shared(store).evolution(Evolution::AsJava);
    let db = db.model::<now::Task>().model::<now::Note>().build().unwrap();
    assert_eq!(db.read(|tx| tx.index(now::Task::TITLE)?.count()).unwrap(), 2);
}

/// Fields with another name, and two steps of it.
mod renamed {
    use super::*;

    pub(super) mod first {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Item {
            #[permazen(indexed)]
            pub(in super::super) name: String,
        }
    }

    pub(super) mod second {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Item {
            #[permazen(indexed)]
            pub(in super::super) name: String,
            #[permazen(indexed)]
            pub(in super::super) label: String,
        }
    }

    pub(super) mod third {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        #[permazen(removed("name"))]
        pub(in super::super) struct Item {
            #[permazen(indexed, was = "name")]
            pub(in super::super) label: String,
        }
    }
}

fn open<M: Model>(store: &Arc<dyn KvDatabase>) -> Permazen {
    Permazen::builder_shared(store.clone()).model::<M>().build().unwrap()
}

#[test]
fn the_entries_of_a_field_with_another_name_are_merged() {
    use renamed::{first, second, third};
    let kv = store();
    let db = open::<first::Item>(&kv);
    db.write(|tx| tx.create(first::Item { name: "x".into() }).map(drop)).unwrap();
    let db = open::<third::Item>(&kv);
    db.write(|tx| {
        tx.create(third::Item { label: "x".into() })?;
        assert_eq!(tx.index(third::Item::LABEL)?.get("x")?.count()?, 2);
        Ok(())
    })
    .unwrap();
    // Nothing is missing, so nothing moves.
    assert_eq!(db.build_indexes().dry_run().run().unwrap().moved, 0);
    // In the second schema the same entries mean another field. So they do not tell.
    let db = open::<second::Item>(&kv);
    db.write(|tx| {
        let item = second::Item { name: "x".into(), label: "y".into() };
        tx.create(item).map(drop)
    })
    .unwrap();
    let db = open::<third::Item>(&kv);
    db.read(|tx| {
        assert_eq!(refused(tx, third::Item::LABEL).2, 1);
        let all = tx.index(third::Item::LABEL.complete_by_scan())?;
        let values: Result<Vec<_>> = all.iter().map(|row| Ok(row?.0)).collect();
        assert_eq!(values?, ["x", "x", "y"]);
        Ok(())
    })
    .unwrap();
    assert_eq!(db.build_indexes().run().unwrap().moved, 1);
    let count = db.read(|tx| tx.index(third::Item::LABEL)?.count());
    assert_eq!(count.unwrap(), 3);
}

/// By Java's rules, entries that mean the same are not merged, so these objects move.
#[test]
fn building_indexes_leaves_objects_whose_old_entries_mean_the_same() {
    use words::{before, now, turned};
    let kv = store();
    let old = open::<before::Ball>(&kv);
    for size in 0..3 {
        let ball = before::Ball { color: before::Color::Red, size };
        old.write(|tx| tx.create(ball.clone()).map(drop)).unwrap();
    }
    let db = open::<now::Ball>(&kv);
    assert_eq!(db.build_indexes().run().unwrap().moved, 0);
    let reds = db.read(|tx| tx.index(now::Ball::COLOR)?.get(now::Color::Crimson)?.count());
    assert_eq!(reds.unwrap(), 3);
    let java = Permazen::builder_shared(kv.clone()).evolution(Evolution::AsJava);
    let java = java.model::<now::Ball>().build().unwrap();
    assert_eq!(java.build_indexes().dry_run().run().unwrap().moved, 3);
    // The constants have changed places.
    let db = open::<turned::Ball>(&kv);
    assert_eq!(db.build_indexes().run().unwrap().moved, 3);
    let reds = db.read(|tx| tx.index(turned::Ball::COLOR)?.get(turned::Color::Red)?.count());
    assert_eq!(reds.unwrap(), 3);
    check(&kv);
}

/// A type whose values are converted, one of which cannot be.
mod converted {
    use super::*;

    pub(super) mod before {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Part {
            pub(in super::super) number: String,
        }
    }

    pub(super) mod now {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Part {
            #[permazen(indexed)]
            pub(in super::super) number: i32,
            #[permazen(indexed, default = 7)]
            pub(in super::super) weight: i32,
        }
    }
}

#[test]
fn added_entries_are_those_after_a_move_and_an_object_that_cannot_move_is_named() {
    use converted::{before, now};
    let kv = store();
    let create = |number: &str| {
        let part = before::Part { number: number.into() };
        let id = open::<before::Part>(&kv).write(|tx| Ok(tx.create(part.clone())?.to_ref()));
        id.unwrap()
    };
    create("42");
    let db = open::<now::Part>(&kv);
    db.read(|tx| {
        refused(tx, now::Part::NUMBER);
        assert_eq!(tx.index(now::Part::NUMBER.complete_by_scan())?.get(42)?.count()?, 1);
        assert_eq!(tx.index(now::Part::WEIGHT.complete_by_scan())?.get(7)?.count()?, 1);
        Ok(())
    })
    .unwrap();
    let id = create("many").id();
    db.read(|tx| {
        let error = tx.index(now::Part::NUMBER.complete_by_scan()).unwrap_err();
        let Error::Refused(refusal) = &error else { panic!("{error:?}") };
        assert_eq!(refusal.id, id);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_query_costs_a_seek_for_each_schema_without_the_index_once() {
    let counting = CountingStore::new(MemoryStore::new());
    let counter = counting.counter();
    let store: Arc<dyn KvDatabase> = Arc::new(counting);
    // With one schema nothing is read.
    let db = now(&store);
    db.write(|tx| tx.create(new_task("a", None, 1)).map(drop)).unwrap();
    let tx = db.begin().unwrap();
    counter.take();
    tx.index(now::Task::TITLE).unwrap();
    tx.index(now::Task::STATE_RANK).unwrap();
    assert_eq!(counter.take().reads(), 0);
    drop(tx);
    // A schema without the index, and no object in it.
    before(&store).write(|tx| tx.create(before::Note { title: "n".into() }).map(drop)).unwrap();
    let tx = db.begin().unwrap();
    counter.take();
    for _ in 0..3 {
        assert_eq!(tx.index(now::Task::TITLE).unwrap().count().unwrap(), 1);
        tx.index(now::Task::STATE).unwrap();
        tx.create(new_task("b", None, 1)).unwrap().delete().unwrap();
    }
    let first = counter.take();
    // The same with the index alone, but for one seek.
    for _ in 0..3 {
        assert_eq!(tx.index(now::Task::TITLE).unwrap().count().unwrap(), 1);
        tx.index(now::Task::STATE).unwrap();
        tx.create(new_task("b", None, 1)).unwrap().delete().unwrap();
    }
    let second = counter.take();
    assert_eq!(first.seeks, second.seeks + 1);
    tx.index(now::Task::TITLE).unwrap();
    assert_eq!(counter.take().reads(), 0);
    // All of it was needed for another type.
    refused(&tx, now::Note::TITLE);
    counter.take();
    tx.index(now::Note::TITLE.allow_partial()).unwrap();
    assert_eq!(counter.take().reads(), 0);
}

/// Constants and a composite index with other names.
mod words {
    use super::*;

    pub(super) mod before {
        use super::*;

        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
        pub(in super::super) enum Color {
            Red,
            Blue,
        }

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        #[permazen(composite(name = "colorSize", fields(color, size)))]
        pub(in super::super) struct Ball {
            #[permazen(indexed)]
            pub(in super::super) color: Color,
            pub(in super::super) size: i32,
        }
    }

    pub(super) mod now {
        use super::*;

        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
        pub(in super::super) enum Color {
            #[permazen(was = "RED")]
            Crimson,
            Blue,
            Green,
        }

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        #[permazen(composite(name = "looks", fields(color, size)))]
        pub(in super::super) struct Ball {
            #[permazen(indexed)]
            pub(in super::super) color: Color,
            pub(in super::super) size: i32,
        }
    }

    /// The constants have changed places.
    pub(super) mod turned {
        use super::*;

        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
        pub(in super::super) enum Color {
            Blue,
            Red,
        }

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Ball {
            #[permazen(indexed)]
            pub(in super::super) color: Color,
            pub(in super::super) size: i32,
        }
    }

    /// The values are made by the program.
    pub(super) mod own_code {
        use super::*;

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Ball {
            #[permazen(indexed, upgrade_with = blue)]
            pub(in super::super) color: super::now::Color,
            pub(in super::super) size: i32,
        }

        fn blue(_: &permazen::OldValues<'_>) -> Result<super::now::Color> {
            Ok(super::now::Color::Blue)
        }
    }
}

#[test]
fn the_entries_of_constants_and_composites_with_other_names_are_merged() {
    use words::{before, now, own_code, turned};
    let kv = store();
    let ball = before::Ball { color: before::Color::Red, size: 3 };
    open::<before::Ball>(&kv).write(|tx| tx.create(ball.clone()).map(drop)).unwrap();
    open::<now::Ball>(&kv)
        .read(|tx| {
            let colors = tx.index(now::Ball::COLOR)?;
            assert_eq!(colors.get(now::Color::Crimson)?.count()?, 1);
            let looks = tx.index(now::Ball::LOOKS)?;
            assert_eq!(looks.get((now::Color::Crimson, 3))?.count()?, 1);
            Ok(())
        })
        .unwrap();
    open::<turned::Ball>(&kv)
        .read(|tx| {
            assert_eq!(refused(tx, turned::Ball::COLOR).2, 1);
            let colors = tx.index(turned::Ball::COLOR.complete_by_scan())?;
            assert_eq!(colors.get(turned::Color::Red)?.count()?, 1);
            Ok(())
        })
        .unwrap();
    open::<own_code::Ball>(&kv)
        .read(|tx| {
            assert_eq!(refused(tx, own_code::Ball::COLOR).2, 1);
            let colors = tx.index(own_code::Ball::COLOR.complete_by_scan())?;
            assert_eq!(colors.get(now::Color::Blue)?.count()?, 1);
            Ok(())
        })
        .unwrap();
}

/// A map of another definition, whose keys are in the same index.
mod maps {
    use super::*;

    pub(super) mod before {
        use super::*;

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Shelf {
            #[permazen(key(indexed))]
            pub(in super::super) books: BTreeMap<String, i32>,
        }
    }

    pub(super) mod reset {
        use super::*;

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Shelf {
            #[permazen(upgrade = "reset", key(indexed))]
            pub(in super::super) books: BTreeMap<String, i64>,
        }
    }

    pub(super) mod own_code {
        use super::*;

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Shelf {
            #[permazen(upgrade_with = upper, key(indexed))]
            pub(in super::super) books: BTreeMap<String, i64>,
        }

        fn upper(old: &permazen::OldValues<'_>) -> Result<BTreeMap<String, i64>> {
            let books = old.take_entries::<String, i64>("books")?;
            Ok(books.into_iter().map(|(title, count)| (title.to_uppercase(), count)).collect())
        }
    }

    pub(super) mod kept {
        use super::*;

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Shelf {
            #[permazen(key(indexed))]
            pub(in super::super) books: BTreeMap<String, i64>,
        }
    }
}

#[test]
fn entries_do_not_count_if_the_map_gets_others_when_it_moves() {
    use maps::{before, kept, own_code, reset};
    let store = || {
        let kv = store();
        let db = open::<before::Shelf>(&kv);
        let books = BTreeMap::from([("a".to_owned(), 1)]);
        db.write(|tx| tx.create(before::Shelf { books: books.clone() }).map(drop)).unwrap();
        kv
    };
    let kv = store();
    let db = open::<kept::Shelf>(&kv);
    let found = db.read(|tx| tx.index(kept::Shelf::BOOKS.key())?.get("a")?.count()).unwrap();
    assert_eq!(found, 1);

    let kv = store();
    let db = open::<reset::Shelf>(&kv);
    let keys = reset::Shelf::BOOKS.key();
    db.read(|tx| {
        // The map starts empty, so nothing is missing.
        assert_eq!(tx.index(keys)?.count()?, 0);
        assert_eq!(tx.index(keys.allow_partial())?.count()?, 0);
        assert_eq!(tx.index(keys.complete_by_scan())?.count()?, 0);
        Ok(())
    })
    .unwrap();
    assert_eq!(db.build_indexes().run().unwrap().moved, 1);
    assert_eq!(db.read(|tx| tx.index(keys)?.count()).unwrap(), 0);

    let kv = store();
    let db = open::<own_code::Shelf>(&kv);
    let keys = own_code::Shelf::BOOKS.key();
    db.read(|tx| {
        assert_eq!(refused(tx, keys).2, 1);
        let all = tx.index(keys.complete_by_scan())?;
        assert_eq!((all.get("a")?.count()?, all.get("A")?.count()?), (0, 1));
        Ok(())
    })
    .unwrap();
    assert_eq!(db.build_indexes().run().unwrap().moved, 1);
    assert_eq!(db.read(|tx| tx.index(keys)?.get("A")?.count()).unwrap(), 1);
}
