//! Which old entries a query shows, by what becomes of the values.

use permazen::model::Path;
use permazen::{NewValues, OldValues};

use super::*;

/// Maps with indexes whose storage IDs stay when the other half of the map changes.
mod maps {
    use super::*;

    pub(super) mod before {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Item {
            #[permazen(value(indexed))]
            pub(in super::super) hours: BTreeMap<String, i32>,
            #[permazen(key(indexed))]
            pub(in super::super) sizes: BTreeMap<i32, String>,
        }
    }

    pub(super) mod reset {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Item {
            #[permazen(upgrade = "reset", value(indexed))]
            pub(in super::super) hours: BTreeMap<i32, i32>,
            #[permazen(upgrade = "reset", key(indexed))]
            pub(in super::super) sizes: BTreeMap<i32, i32>,
        }
    }

    pub(super) mod lossy {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Item {
            #[permazen(upgrade = "lossy", value(indexed))]
            pub(in super::super) hours: BTreeMap<i32, i32>,
            #[permazen(upgrade = "lossy", key(indexed))]
            pub(in super::super) sizes: BTreeMap<i32, i32>,
        }
    }

    pub(super) mod own_code {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Item {
            #[permazen(upgrade_with = none, value(indexed))]
            pub(in super::super) hours: BTreeMap<i32, i32>,
            #[permazen(upgrade = "reset", key(indexed))]
            pub(in super::super) sizes: BTreeMap<i32, i32>,
        }

        fn none(old: &OldValues<'_>) -> Result<BTreeMap<i32, i32>> {
            let hours: Vec<(String, i32)> = old.take_entries("hours")?;
            Ok(hours
                .into_iter()
                .map(|(_, hours)| hours)
                .map(|hours| (hours, hours + 100))
                .collect())
        }
    }

    pub(super) mod own_type {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        #[permazen(on_schema_change = Item::from_old)]
        pub(in super::super) struct Item {
            #[permazen(value(indexed))]
            pub(in super::super) hours: BTreeMap<i32, i32>,
            #[permazen(upgrade = "reset", key(indexed))]
            pub(in super::super) sizes: BTreeMap<i32, i32>,
        }

        impl Item {
            fn from_old(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Self>) -> Result<()> {
                let _: Vec<(String, i32)> = old.take_entries("hours")?;
                new.set_entries(Self::HOURS, [(5, 50)])
            }
        }
    }

    pub(super) mod exact {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Item {
            #[permazen(value(indexed))]
            pub(in super::super) hours: BTreeMap<i32, i32>,
            #[permazen(key(indexed))]
            pub(in super::super) sizes: BTreeMap<i32, i32>,
        }
    }
}

fn old_item(store: &Arc<dyn KvDatabase>, hour: &str) {
    use maps::before::Item;
    let item = Item { hours: [(hour.to_owned(), 1)].into(), sizes: [(2, "2".to_owned())].into() };
    open::<Item>(store).write(|tx| tx.create(item.clone()).map(drop)).unwrap();
}

/// The values that an index finds are those that the objects contain.
macro_rules! assert_same {
    ($index:expr, $objects:expr, |$object:ident| $values:expr) => {{
        let found: Result<Vec<i32>> = $index.iter().map(|row| Ok(row?.0)).collect();
        let mut expected = Vec::new();
        for $object in $objects.iter() {
            let $object = $object?;
            expected.extend($values);
        }
        expected.sort_unstable();
        assert_eq!(found?, expected);
    }};
}

#[test]
fn entries_of_values_that_are_reset_are_not_shown() {
    use maps::reset::Item;
    let store = store();
    old_item(&store, "a");
    let db = open::<Item>(&store);
    db.write(|tx| {
        tx.create(Item { hours: [(1, 1)].into(), sizes: [(2, 2)].into() })?;
        // Nothing is missing: the values start empty.
        let hours = tx.index(Item::HOURS.value())?;
        assert_eq!((hours.count()?, hours.get(1)?.count()?), (1, 1));
        assert_eq!(tx.index(Item::SIZES.key())?.get(2)?.count()?, 1);
        assert_eq!(tx.index(Item::HOURS.value().with_keys())?.count()?, 1);
        assert_same!(tx.index(Item::HOURS.value())?, tx.all::<Item>()?, |item| item
            .hours()?
            .load::<BTreeMap<i32, i32>>()?
            .into_values());
        Ok(())
    })
    .unwrap();
    check(&store);
}

#[test]
fn sets_leave_out_entries_of_values_that_are_reset_as_they_are_read() {
    use maps::reset::Item;
    let counting = CountingStore::new(MemoryStore::new());
    let counter = counting.counter();
    let store: Arc<dyn KvDatabase> = Arc::new(counting);
    for hour in ["a", "b", "c"] {
        old_item(&store, hour);
    }
    let db = open::<Item>(&store);
    let tx = db.begin().unwrap();
    let old = tx.all::<Item>().unwrap().to_vec().unwrap();
    let new: Vec<_> = (0..3)
        .map(|_| tx.create(Item { hours: [(1, 1)].into(), sizes: [(2, 2)].into() }).unwrap())
        .collect();
    let (hours, sizes) = (tx.index(Item::HOURS.value()), tx.index(Item::SIZES.key()));
    let (hours, sizes) = (hours.unwrap(), sizes.unwrap());
    counter.take();
    let set = hours.get(1).unwrap();
    let others = tx.all::<Item>().unwrap().difference(&set);
    let both = set.intersection(sizes.get(2).unwrap());
    assert_eq!(counter.take().reads(), 0);
    let same = |found: Vec<permazen::Obj<'_, Item>>, expected: &[permazen::Obj<'_, Item>]| {
        let ids = |objects: &[permazen::Obj<'_, Item>]| {
            objects.iter().map(|item| item.id()).collect::<BTreeSet<_>>()
        };
        assert_eq!(found.len(), expected.len());
        assert_eq!(ids(&found), ids(expected));
    };
    same(set.to_vec().unwrap(), &new);
    same(set.iter().rev().collect::<Result<_>>().unwrap(), &new);
    same(both.to_vec().unwrap(), &new);
    same(others.to_vec().unwrap(), &old);
    assert!(old.iter().all(|item| !set.contains(*item).unwrap()));
    assert!(new.iter().all(|item| set.contains(*item).unwrap()));
    let first = set.first().unwrap();
    assert_eq!(tx.find(Item::HOURS.value(), 1).unwrap(), first);
    // An object that moves has new values.
    old[0].migrate().unwrap();
    old[0].hours().unwrap().insert(7, 1).unwrap();
    same(set.to_vec().unwrap(), &[&new[..], &old[..1]].concat());
}

#[test]
fn entries_of_values_that_may_be_left_out_are_not_shown() {
    use maps::lossy::Item;
    let store = store();
    old_item(&store, "a");
    old_item(&store, "7");
    let db = open::<Item>(&store);
    db.write(|tx| {
        tx.create(Item { hours: [(1, 1)].into(), sizes: [(2, 2)].into() })?;
        assert_eq!(refused(tx, Item::HOURS.value()).2, 2);
        assert_eq!(tx.index(Item::HOURS.value().allow_partial())?.count()?, 1);
        let all = tx.index(Item::HOURS.value().complete_by_scan())?;
        assert_same!(all, tx.all::<Item>()?, |item| item
            .hours()?
            .load::<BTreeMap<i32, i32>>()?
            .into_values());
        Ok(())
    })
    .unwrap();
    check(&store);
}

#[test]
fn entries_of_values_that_own_code_makes_are_not_shown() {
    let store = store();
    old_item(&store, "a");
    open::<maps::own_code::Item>(&store)
        .read(|tx| {
            use maps::own_code::Item;
            assert_eq!(refused(tx, Item::HOURS.value()).2, 1);
            assert_eq!(tx.index(Item::HOURS.value().allow_partial())?.count()?, 0);
            let all = tx.index(Item::HOURS.value().complete_by_scan())?;
            assert_eq!((all.get(101)?.count()?, all.count()?), (1, 1));
            Ok(())
        })
        .unwrap();
    open::<maps::own_type::Item>(&store)
        .read(|tx| {
            use maps::own_type::Item;
            assert_eq!(refused(tx, Item::HOURS.value()).2, 1);
            let all = tx.index(Item::HOURS.value().complete_by_scan())?;
            assert_eq!((all.get(50)?.count()?, all.count()?), (1, 1));
            Ok(())
        })
        .unwrap();
    // The report and the background work agree with the queries.
    let db = open::<maps::own_code::Item>(&store);
    let report = db.evolution_report().unwrap();
    let types = report.versions.iter().flat_map(|version| &version.types);
    let indexes = types.flat_map(|of| &of.indexes).filter(|index| index.name == "hours.value");
    assert!(indexes.into_iter().all(|index| !index.is_complete));
    assert_eq!(db.build_indexes().run().unwrap().moved, 1);
    check(&store);
}

#[test]
fn entries_of_values_that_stay_are_shown_when_the_other_half_of_the_map_changes() {
    use maps::exact::Item;
    let store = store();
    old_item(&store, "7");
    open::<Item>(&store)
        .read(|tx| {
            assert_eq!(tx.index(Item::HOURS.value())?.get(1)?.count()?, 1);
            assert_eq!(tx.index(Item::SIZES.key())?.get(2)?.count()?, 1);
            Ok(())
        })
        .unwrap();
}

/// Maps whose values are references. Their storage ID stays when the keys change.
mod teams {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone)]
    pub(super) struct Person {
        pub(super) name: String,
    }

    pub(super) mod before {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone)]
        pub(in super::super) struct Team {
            pub(in super::super) members: BTreeMap<String, Ref<Person>>,
        }
    }

    pub(super) mod lossy {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone)]
        pub(in super::super) struct Team {
            #[permazen(upgrade = "lossy", value(cascade(inverse = ["teams"])))]
            pub(in super::super) members: BTreeMap<i32, Ref<Person>>,
        }
    }

    pub(super) mod own_code {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone)]
        pub(in super::super) struct Team {
            #[permazen(upgrade_with = sevens, value(cascade(inverse = ["teams"])))]
            pub(in super::super) members: BTreeMap<i32, Ref<Person>>,
        }

        fn sevens(old: &OldValues<'_>) -> Result<BTreeMap<i32, Ref<Person>>> {
            let members: Vec<(String, Ref<Person>)> = old.take_entries("members")?;
            Ok(members.into_iter().map(|(_, person)| (7, person)).collect())
        }
    }

    pub(super) mod own_type {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone)]
        #[permazen(on_schema_change = Team::from_old)]
        pub(in super::super) struct Team {
            #[permazen(value(cascade(inverse = ["teams"])))]
            pub(in super::super) members: BTreeMap<i32, Ref<Person>>,
        }

        impl Team {
            fn from_old(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Self>) -> Result<()> {
                let members: Vec<(String, Ref<Person>)> = old.take_entries("members")?;
                new.set_entries(Self::MEMBERS, members.into_iter().map(|(_, person)| (7, person)))
            }
        }
    }
}

/// A person in a team of the program before.
fn old_team(store: &Arc<dyn KvDatabase>) -> Ref<teams::Person> {
    use teams::Person;
    use teams::before::Team;
    let db = Permazen::builder_shared(store.clone()).model::<Person>().model::<Team>();
    let person = db.build().unwrap().write(|tx| {
        let person = tx.create(Person::default())?.to_ref();
        tx.create(Team { members: [("7".to_owned(), person)].into() })?;
        Ok(person)
    });
    person.unwrap()
}

/// No way leads back to the person until the team has moved.
macro_rules! assert_no_way_back {
    ($team:ty) => {{
        let store = store();
        let person = old_team(&store);
        let db = Permazen::builder_shared(store.clone()).model::<teams::Person>().model::<$team>();
        let db = db.build().unwrap();
        let members = <$team>::MEMBERS.value();
        db.read(|tx| {
            let person = tx.get(person)?;
            let back = Path::of::<teams::Person>().from(members);
            let ways = [
                person.referrers(members).map(drop),
                person.follow(&back).map(drop),
                person.cascade("teams").ids().map(drop),
            ];
            for way in ways {
                assert!(matches!(way, Err(Error::PartialIndex { missing: 1, .. })), "{way:?}");
            }
            Ok(())
        })
        .unwrap();
        db.upgrade_all().run().unwrap();
        let found = db.read(|tx| tx.get(person)?.referrers(members)?.count());
        assert_eq!(found.unwrap(), 1);
        check(&store);
    }};
}

#[test]
fn no_way_leads_back_from_a_value_of_a_map_whose_keys_may_be_left_out() {
    assert_no_way_back!(teams::lossy::Team);
    assert_no_way_back!(teams::own_code::Team);
    assert_no_way_back!(teams::own_type::Team);
}

/// New collections.
mod collections {
    use super::*;

    pub(super) mod before {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Issue {
            pub(in super::super) title: String,
        }
    }

    pub(super) mod now {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        pub(in super::super) struct Issue {
            pub(in super::super) title: String,
            pub(in super::super) watchers: BTreeSet<Ref<Issue>>,
            #[permazen(element(indexed))]
            pub(in super::super) steps: Vec<String>,
            #[permazen(key(indexed), value(indexed))]
            pub(in super::super) marks: BTreeMap<String, i32>,
            #[permazen(element(indexed), default = vec![7])]
            pub(in super::super) sizes: Vec<i32>,
        }
    }

    pub(super) mod own_type {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
        #[permazen(on_schema_change = Issue::from_old)]
        pub(in super::super) struct Issue {
            pub(in super::super) title: String,
            #[permazen(element(indexed))]
            pub(in super::super) steps: Vec<String>,
        }

        impl Issue {
            fn from_old(_: &OldValues<'_>, new: &mut NewValues<'_, '_, Self>) -> Result<()> {
                new.set_list(Self::STEPS, ["x".to_owned()])
            }
        }
    }
}

#[test]
fn an_index_of_a_new_collection_lacks_nothing() {
    use collections::{before, now::Issue, own_type};
    let store = store();
    let old = open::<before::Issue>(&store);
    old.write(|tx| tx.create(before::Issue::default()).map(drop)).unwrap();
    let db = open::<Issue>(&store);
    db.write(|tx| {
        let issue = tx.create(Issue { steps: vec!["a".to_owned()], ..Issue::default() })?;
        issue.watchers()?.add(issue)?;
        assert_eq!(tx.index(Issue::WATCHERS)?.get(issue)?.count()?, 1);
        assert_eq!(tx.index(Issue::STEPS)?.count()?, 1);
        assert_eq!(tx.index(Issue::STEPS.positions())?.count()?, 1);
        assert_eq!(tx.index(Issue::MARKS.key())?.count()?, 0);
        assert_eq!(tx.index(Issue::MARKS.value())?.count()?, 0);
        assert_eq!(tx.index(Issue::MARKS.value().with_keys())?.count()?, 0);
        // Here the old objects have elements.
        assert_eq!(refused(tx, Issue::SIZES).2, 1);
        Ok(())
    })
    .unwrap();
    open::<own_type::Issue>(&store)
        .read(|tx| {
            refused(tx, own_type::Issue::STEPS);
            Ok(())
        })
        .unwrap();
}

/// A newer program has given fields other names, and the older one still runs.
mod elsewhere {
    pub(super) mod before {
        use std::collections::BTreeSet;

        use permazen::PermazenObject;

        #[derive(PermazenObject, Debug, Default, Clone)]
        pub(in super::super) struct Member {
            #[permazen(indexed)]
            pub(in super::super) name: String,
            #[permazen(element(indexed))]
            pub(in super::super) tags: BTreeSet<String>,
        }
    }

    pub(super) mod now {
        use std::collections::BTreeSet;

        use permazen::PermazenObject;

        #[derive(PermazenObject, Debug, Default, Clone)]
        pub(in super::super) struct Member {
            #[permazen(indexed, was = "name")]
            pub(in super::super) full_name: String,
            #[permazen(element(indexed), was = "tags")]
            pub(in super::super) labels: BTreeSet<String>,
        }
    }
}

#[test]
fn an_older_program_is_not_told_that_values_with_a_new_name_do_not_exist() {
    use elsewhere::{before, now};
    let store = store();
    let old = open::<before::Member>(&store);
    let member = |name: &str| before::Member { name: name.into(), tags: ["t".into()].into() };
    let moved = old.write(|tx| tx.create(member("ann")).map(|member| member.id())).unwrap();
    let db = open::<now::Member>(&store);
    assert_eq!(db.upgrade_all().run().unwrap().moved, 1);
    old.write(|tx| tx.create(member("bea")).map(drop)).unwrap();
    old.read(|tx| {
        assert_eq!(refused(tx, before::Member::NAME).2, 1);
        assert_eq!(refused(tx, before::Member::TAGS).2, 1);
        match tx.index(before::Member::NAME.complete_by_scan()) {
            Err(Error::Missing { field, id, .. }) => {
                assert_eq!((&*field, id), ("Member.name", moved));
            }
            other => panic!("{other:?}"),
        }
        let known = tx.index(before::Member::NAME.complete_by_scan().skip_unknown())?;
        assert_eq!(known.values().collect::<Result<Vec<_>, _>>()?, ["bea"]);
        Ok(())
    })
    .unwrap();
    let labels = db.read(|tx| tx.index(now::Member::LABELS)?.get("t")?.count());
    assert_eq!(labels.unwrap(), 2);
}

#[test]
fn background_work_leaves_objects_whose_entries_are_merged() {
    use words::{before, now};
    let store = store();
    let ball = before::Ball { color: before::Color::Red, size: 3 };
    open::<before::Ball>(&store).write(|tx| tx.create(ball.clone()).map(drop)).unwrap();
    let db = open::<now::Ball>(&store);
    assert_eq!(db.read(|tx| tx.index(now::Ball::COLOR)?.count()).unwrap(), 1);
    assert_eq!(db.build_indexes().run().unwrap().moved, 0);
}

#[test]
fn another_meaning_of_an_index_counts_only_while_objects_have_it() {
    use renamed::{first, second, third};
    let store = store();
    let old = open::<first::Item>(&store);
    old.write(|tx| tx.create(first::Item { name: "x".into() }).map(drop)).unwrap();
    // The second schema is recorded, and no object is in it.
    let db = open::<second::Item>(&store);
    let id = db.write(|tx| Ok(tx.create(second::Item::default())?.id())).unwrap();
    let third = open::<third::Item>(&store);
    third
        .read(|tx| {
            refused(tx, third::Item::LABEL);
            Ok(())
        })
        .unwrap();
    db.write(|tx| tx.get::<second::Item>(id)?.delete().map(drop)).unwrap();
    third
        .read(|tx| {
            assert_eq!(tx.index(third::Item::LABEL)?.get("x")?.count()?, 1);
            Ok(())
        })
        .unwrap();
    assert_eq!(third.build_indexes().run().unwrap().moved, 0);
}
