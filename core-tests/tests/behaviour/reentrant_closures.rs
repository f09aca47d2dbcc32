//! Closures and iterators of the caller that change what the operation works on. Each operation
//! works on the objects that existed when it began, or refuses before it has removed anything.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::object::{
    Error, IdFilter, ListView, MapView, Migrate, PathStep, SetView, Transaction, Watch,
};
use permazen::object_xml::ObjectXmlWriter;
use permazen::{Obj, ObjId, Permazen, PermazenObject, Ref, Tx};

use crate::support::*;

/// The change that a closure makes to the transaction besides its task.
type Meddle = fn(&Transaction);

/// An operation that may be refused.
type Change = fn(&Transaction) -> Result<(), Error>;

/// Calls the closure it gets.
type Lend = fn(&Transaction, &dyn Fn());

fn list<'t>(tx: &'t Transaction) -> ListView<'t> {
    tx.list_view(a(1), "list", Migrate::No).unwrap()
}

fn set_of<'t>(tx: &'t Transaction) -> SetView<'t> {
    tx.set_view(a(1), "set", Migrate::No).unwrap()
}

fn map<'t>(tx: &'t Transaction, name: &str) -> MapView<'t> {
    tx.map_view(a(1), name, Migrate::No).unwrap()
}

/// `1,2` for references to [`a`] 1 and 2.
fn numbers(values: impl IntoIterator<Item = permazen::encoding::Value>) -> String {
    let last = |value| show(&value).chars().last().unwrap().to_string();
    values.into_iter().map(last).collect::<Vec<_>>().join("")
}

fn in_list(tx: &Transaction) -> String {
    numbers(list(tx).to_vec().unwrap())
}

fn in_set(tx: &Transaction) -> String {
    numbers(set_of(tx).to_vec().unwrap())
}

fn in_map(tx: &Transaction, name: &str) -> String {
    let entries = map(tx, name).to_vec().unwrap();
    entries.into_iter().map(|(key, value)| numbers([key, value])).collect::<Vec<_>>().join(",")
}

/// Object 1, whose collections hold the objects 2 to 5, and object 8, whose list and `ref` refer to
/// object 1. References in collections are removed when their target is deleted.
fn holder(world: &World) -> Transaction {
    let tx = world.begin(&containers("NULLIFY", "REMOVE"));
    (1..=9).for_each(|n| {
        create(&tx, a(n));
    });
    let all = [2, 3, 4, 5].map(to_a);
    list(&tx).extend(&all).unwrap();
    for (n, to) in (2..).zip(&all) {
        set_of(&tx).add(to).unwrap();
        map(&tx, "byKey").put(to, &int(n)).unwrap();
        map(&tx, "byValue").put(&int(n), to).unwrap();
    }
    set(&tx, a(8), "ref", to_a(1));
    tx.list_view(a(8), "list", Migrate::No).unwrap().push(&to_a(1)).unwrap();
    tx
}

/// Runs `meddle` the first time only.
fn once<'m>(tx: &'m Transaction, meddle: Meddle) -> impl Fn() + 'm {
    let done = Cell::new(false);
    move || {
        if !done.replace(true) {
            meddle(tx);
        }
    }
}

/// Changes that leave the collections of object 1 as they are.
const HARMLESS: &[(&str, Meddle)] = &[
    ("nothing", |_| {}),
    ("another field of the object", |tx| set(tx, a(1), "n", int(7))),
    ("an object more", |tx| {
        tx.create("A").unwrap();
    }),
    ("the same collection of another object", |tx| {
        tx.list_view(a(8), "list", Migrate::No).unwrap().clear().unwrap();
    }),
    ("what refers to the object", |tx| assert!(tx.delete(a(8)).unwrap())),
    ("there and back", |tx| {
        list(tx).push(&to_a(6)).unwrap();
        list(tx).pop().unwrap();
        set_of(tx).add(&to_a(6)).unwrap();
        set_of(tx).remove(&to_a(6)).unwrap();
    }),
    ("taken back", |tx| {
        let failed: Result<(), Error> = tx.atomic(|tx| {
            assert!(tx.delete(a(2))?);
            Err(Error::listener("not meant"))
        });
        assert!(failed.is_err());
    }),
];

#[test]
fn retain_of_a_list_does_not_remove_another_element_than_was_judged() {
    let world = World::new();
    let tx = holder(&world);
    // A finished job is deleted, which removes it from the list.
    let finished = list(&tx).retain(|job| {
        let done = *job == to_a(2);
        if done {
            assert!(tx.delete(a(2)).unwrap());
        }
        !done
    });
    match finished {
        Err(Error::ChangedMeanwhile { of }) => {
            assert_eq!(of, format!("field list of A {}", a(1)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(in_list(&tx), "345");
    tx.commit().unwrap();
}

#[test]
fn retain_of_a_list_refuses_whatever_changed_the_list() {
    let meddles: &[(&str, Meddle, &str)] = &[
        ("push", |tx| list(tx).push(&to_a(6)).unwrap(), "23456"),
        ("insert", |tx| list(tx).insert(0, &to_a(6)).unwrap(), "62345"),
        ("set", |tx| drop(list(tx).set(3, &to_a(6)).unwrap()), "2346"),
        ("remove", |tx| drop(list(tx).remove(1).unwrap()), "245"),
        ("clear", |tx| list(tx).clear().unwrap(), ""),
        ("delete an element", |tx| assert!(tx.delete(a(4)).unwrap()), "235"),
        ("delete all elements", |tx| (2..6).for_each(|n| assert!(tx.delete(a(n)).unwrap())), ""),
        (
            "another list of the same length",
            |tx| {
                drop(list(tx).remove(0).unwrap());
                list(tx).push(&to_a(2)).unwrap();
            },
            "3452",
        ),
        (
            "delete and create the object",
            |tx| {
                assert!(tx.delete(a(1)).unwrap());
                create(tx, a(1));
            },
            "",
        ),
    ];
    for (name, meddle, left) in meddles {
        let world = World::new();
        let tx = holder(&world);
        let meddle = once(&tx, *meddle);
        let retained = list(&tx).retain(|value| {
            meddle();
            *value == to_a(5)
        });
        assert!(matches!(retained, Err(Error::ChangedMeanwhile { .. })), "{name}: {retained:?}");
        assert_eq!(in_list(&tx), *left, "{name}");
        // Again, without a change in between.
        list(&tx).retain(|value| *value == to_a(5)).unwrap();
        assert_eq!(in_list(&tx), left.matches('5').collect::<String>(), "{name}");
    }
}

#[test]
fn retain_works_while_its_closure_changes_other_things() {
    for (name, meddle) in HARMLESS {
        let world = World::new();
        let tx = holder(&world);
        let kept = |value: &permazen::encoding::Value| *value == to_a(3) || *value == int(3);
        let again = once(&tx, *meddle);
        let removed = list(&tx).retain(|value| {
            again();
            kept(value)
        });
        assert_eq!((removed.unwrap(), &*in_list(&tx)), (3, "3"), "{name}");
        let world = World::new();
        let tx = holder(&world);
        let again = once(&tx, *meddle);
        let removed = set_of(&tx).retain(|value| {
            again();
            kept(value)
        });
        assert_eq!((removed.unwrap(), &*in_set(&tx)), (3, "3"), "{name}");
        for by in ["byKey", "byValue"] {
            let removed = map(&tx, by).retain(|key, _| {
                again();
                kept(key)
            });
            assert_eq!((removed.unwrap(), &*in_map(&tx, by)), (3, "33"), "{name}");
        }
    }
}

#[test]
fn retain_of_a_deleted_object_says_so() {
    let of_each: [Change; 3] = [
        |tx| list(tx).retain(|_| tx.delete(a(1)).is_err()).map(drop),
        |tx| set_of(tx).retain(|_| tx.delete(a(1)).is_err()).map(drop),
        |tx| map(tx, "byKey").retain(|_, _| tx.delete(a(1)).is_err()).map(drop),
    ];
    for retain in of_each {
        let world = World::new();
        let tx = holder(&world);
        assert_deleted(retain(&tx), a(1));
        assert!(tx.exists(a(2)).unwrap());
    }
}

#[test]
fn retain_that_keeps_all_never_fails() {
    let world = World::new();
    let tx = holder(&world);
    let keep = |tx: &Transaction| {
        list(tx).push(&to_a(2)).unwrap();
        set_of(tx).add(&to_a(6)).unwrap();
        map(tx, "byKey").put(&to_a(3), &int(9)).unwrap();
        true
    };
    assert_eq!(list(&tx).retain(|_| keep(&tx)).unwrap(), 0);
    assert_eq!(in_list(&tx), "23452222");
    assert_eq!(set_of(&tx).retain(|_| keep(&tx)).unwrap(), 0);
    assert_eq!(map(&tx, "byKey").retain(|_, _| keep(&tx)).unwrap(), 0);
    assert_eq!(in_map(&tx, "byKey"), "22,39,44,55");
}

#[test]
fn retain_of_a_set_removes_what_is_still_there() {
    let meddles: &[(&str, Meddle, usize, &str)] = &[
        ("delete an element", |tx| assert!(tx.delete(a(2)).unwrap()), 2, "5"),
        ("remove", |tx| assert!(set_of(tx).remove(&to_a(3)).unwrap()), 2, "5"),
        ("add ahead", |tx| assert!(set_of(tx).add(&to_a(6)).unwrap()), 3, "56"),
        ("clear", |tx| set_of(tx).clear().unwrap(), 0, ""),
        (
            "delete and create the object",
            |tx| {
                assert!(tx.delete(a(1)).unwrap());
                create(tx, a(1));
            },
            0,
            "",
        ),
    ];
    for (name, meddle, removed, left) in meddles {
        let world = World::new();
        let tx = holder(&world);
        let meddle = once(&tx, *meddle);
        let retained = set_of(&tx).retain(|value| {
            meddle();
            *value == to_a(5)
        });
        assert_eq!((retained.unwrap(), &*in_set(&tx)), (*removed, *left), "{name}");
    }
}

#[test]
fn retain_of_a_map_removes_entries_as_they_were_shown() {
    let meddles: &[(&str, Meddle, usize, &str, &str)] = &[
        ("delete a reference", |tx| assert!(tx.delete(a(2)).unwrap()), 2, "55", "55"),
        (
            "remove",
            |tx| {
                map(tx, "byKey").remove(&to_a(3)).unwrap();
                map(tx, "byValue").remove(&int(3)).unwrap();
            },
            2,
            "55",
            "55",
        ),
        (
            "put ahead",
            |tx| {
                map(tx, "byKey").put(&to_a(6), &int(6)).unwrap();
                map(tx, "byValue").put(&int(6), &to_a(6)).unwrap();
            },
            3,
            "55,66",
            "55,66",
        ),
        (
            "another value of what is kept",
            |tx| {
                map(tx, "byKey").put(&to_a(5), &int(6)).unwrap();
                map(tx, "byValue").put(&int(5), &to_a(6)).unwrap();
            },
            3,
            "56",
            "56",
        ),
    ];
    let kept = |key: &permazen::encoding::Value| *key == to_a(5) || *key == int(5);
    for (name, meddle, removed, by_key, by_value) in meddles {
        for (by, left) in [("byKey", by_key), ("byValue", by_value)] {
            let world = World::new();
            let tx = holder(&world);
            let meddle = once(&tx, *meddle);
            let retained = map(&tx, by).retain(|key, _| {
                meddle();
                kept(key)
            });
            assert_eq!((retained.unwrap(), &*in_map(&tx, by)), (*removed, *left), "{name}");
        }
    }
    // A value that the closure has not judged is not removed.
    let world = World::new();
    let tx = holder(&world);
    let retained = map(&tx, "byValue").retain(|key, _| {
        map(&tx, "byValue").put(&int(4), &to_a(6)).unwrap();
        kept(key)
    });
    assert!(matches!(retained, Err(Error::ChangedMeanwhile { .. })), "{retained:?}");
    assert_eq!(in_map(&tx, "byValue"), "22,33,46,55");
}

#[test]
fn closures_that_add_with_every_call_come_to_an_end() {
    let world = World::new();
    let tx = holder(&world);
    let calls = Cell::new(0);
    let more = || {
        calls.set(calls.get() + 1);
        assert!(calls.get() < 100);
        tx.create("A").unwrap()
    };
    set_of(&tx).retain(|_| set_of(&tx).add(&more().into()).unwrap() && calls.get() < 3).unwrap();
    assert_eq!(calls.replace(0), 4);
    let entries = map(&tx, "byKey");
    entries.retain(|_, _| entries.put(&more().into(), &int(1)).unwrap().is_none()).unwrap();
    assert_eq!(calls.replace(0), 4);
    let retained = list(&tx).retain(|_| list(&tx).push(&more().into()).is_err());
    assert!(matches!(retained, Err(Error::ChangedMeanwhile { .. })));
    assert_eq!(calls.get(), 4);
}

#[test]
fn a_cursor_changes_nothing_but_what_it_stepped_over() {
    let meddles: &[(&str, Meddle)] = &[
        ("delete the element", |tx| assert!(tx.delete(a(3)).unwrap())),
        ("delete one before", |tx| assert!(tx.delete(a(2)).unwrap())),
        ("insert before", |tx| list(tx).insert(0, &to_a(6)).unwrap()),
        ("set", |tx| drop(list(tx).set(1, &to_a(6)).unwrap())),
    ];
    for (name, meddle) in meddles {
        let world = World::new();
        let tx = holder(&world);
        let list = list(&tx);
        let mut cursor = list.cursor_at(1);
        assert_eq!(cursor.step().unwrap(), Some(to_a(3)));
        meddle(&tx);
        let before = in_list(&tx);
        for refused in [cursor.clone().remove(), cursor.clone().set(&to_a(7))] {
            assert!(matches!(refused, Err(Error::ChangedMeanwhile { .. })), "{name}: {refused:?}");
        }
        assert_eq!(in_list(&tx), before, "{name}");
        // The cursor did not move.
        assert_eq!(cursor.position(), 2);
        assert_eq!(cursor.step().unwrap(), list.get(2).unwrap());
        cursor.set(&to_a(7)).unwrap();
        assert_eq!(cursor.set(&to_a(8)).unwrap(), to_a(7));
        assert_eq!(cursor.remove().unwrap(), to_a(8));
    }
    let world = World::new();
    let tx = holder(&world);
    let mut cursor = list(&tx).cursor();
    cursor.step().unwrap();
    assert!(tx.delete(a(1)).unwrap());
    assert!(cursor.remove().is_err());
    assert_deleted(cursor.set(&to_a(7)), a(1));
}

// ---------------------------------------------------------------------- lent bytes

/// Each operation calls the closure it gets while it lends bytes of the transaction.
const LENDING: &[(&str, Lend)] = &[
    ("ListView::encoded().get", |tx, call| list(tx).encoded().get(0, |_| call()).unwrap()),
    ("MapView::encoded().get", |tx, call| {
        map(tx, "byKey").encoded().get(a(2).as_bytes(), |_| call()).unwrap();
    }),
    ("SetView::encoded().first", |tx, call| set_of(tx).encoded().first(|_| call()).unwrap()),
    ("SetView::encoded().last", |tx, call| set_of(tx).encoded().last(|_| call()).unwrap()),
    ("MapView::encoded().first", |tx, call| {
        map(tx, "byKey").encoded().first(|_| call()).unwrap();
    }),
    ("MapView::encoded().last", |tx, call| {
        map(tx, "byKey").encoded().last(|_| call()).unwrap();
    }),
    ("Transaction::encoded().get", |tx, call| {
        let field = tx.object_type(a(1)).unwrap().field("ref").unwrap().clone();
        tx.encoded().get(a(1), &field, Migrate::No, |_| call()).unwrap();
    }),
    ("Transaction::visit", |tx, call| {
        tx.visit(a(1), Migrate::No, |_, _| {
            call();
            Ok(())
        })
        .unwrap();
    }),
    ("Transaction::read_pairs", |tx, call| {
        tx.read_pairs(|_| {
            call();
            Ok(())
        })
        .unwrap();
    }),
];

/// Changes of all kinds, on what the lending operations read.
const REFUSED: &[(&str, Change)] = &[
    ("push", |tx| list(tx).push(&to_a(6))),
    ("insert", |tx| list(tx).insert(0, &to_a(6))),
    ("remove from the list", |tx| list(tx).remove(0).map(drop)),
    ("clear the list", |tx| list(tx).clear()),
    ("retain", |tx| list(tx).retain(|_| false).map(drop)),
    ("add", |tx| set_of(tx).add(&to_a(6)).map(drop)),
    ("put", |tx| map(tx, "byKey").put(&to_a(6), &int(6)).map(drop)),
    ("remove from the map", |tx| map(tx, "byKey").remove(&to_a(2)).map(drop)),
    ("set a field", |tx| tx.set(a(1), "n", &int(6), Migrate::No)),
    ("set a reference", |tx| tx.set(a(1), "ref", &to_a(2), Migrate::No)),
    ("delete the object", |tx| tx.delete(a(1)).map(drop)),
    ("delete what it refers to", |tx| tx.delete(a(2)).map(drop)),
    ("delete what refers to it", |tx| tx.delete(a(8)).map(drop)),
    ("create", |tx| tx.create("A").map(drop)),
];

#[test]
fn while_bytes_are_lent_changes_are_refused_and_the_transaction_goes_on() {
    for (of, lend) in LENDING {
        for (name, change) in REFUSED {
            let world = World::new();
            holder(&world).commit().unwrap();
            let before = world.pairs();
            let tx = world.begin(&containers("NULLIFY", "REMOVE"));
            let called = Cell::new(false);
            lend(&tx, &|| {
                let refused = change(&tx);
                assert!(matches!(refused, Err(Error::Busy)), "{of}, {name}: {refused:?}");
                called.set(true);
            });
            assert!(called.get(), "{of}");
            assert_eq!(in_list(&tx), "2345", "{of}, {name}");
            tx.commit().unwrap();
            assert_eq!(world.pairs(), before, "{of}, {name}");
        }
    }
}

// ---------------------------------------------------------------------- iterators

#[test]
fn iterators_may_be_changed_under_their_closures() {
    let world = World::new();
    let tx = holder(&world);
    let removed = |n: u8| set_of(&tx).remove(&to_a(n)).unwrap();
    // Elements removed ahead are not returned.
    let seen: Vec<u8> = set_of(&tx)
        .encoded()
        .iter(|element| {
            let n = *element.last().unwrap();
            removed(n + 1);
            Ok(n)
        })
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!((seen, &*in_set(&tx)), (vec![2, 4], "24"));
    let entries = map(&tx, "byKey");
    let seen: Vec<u8> = entries
        .encoded()
        .iter(|key, _| {
            let n = *key.last().unwrap();
            tx.delete(a(n + 1)).unwrap();
            Ok(n)
        })
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!((seen, &*in_map(&tx, "byKey")), (vec![2, 4], "22,44"));
    // Iterators of lists count positions.
    let seen: Vec<u8> = list(&tx)
        .encoded()
        .iter(|_, element| {
            let n = *element.last().unwrap();
            tx.delete(a(n)).unwrap();
            Ok(n)
        })
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!((seen, &*in_list(&tx)), (vec![2], "4"));
    let index = tx.simple_index(sid(22)).unwrap();
    let holders: Vec<ObjId> = index
        .iter_with(|entry| {
            let id = entry.id()?;
            tx.delete(id)?;
            Ok(id)
        })
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(holders, [a(8), a(1)]);
    assert!(!tx.exists(a(8)).unwrap() && !tx.exists(a(1)).unwrap());
}

#[test]
fn iterators_of_ids_are_read_before_anything_else() {
    let world = World::new();
    let tx = holder(&world);
    // Each iterator deletes the objects that it gives. It is read to its end first.
    let deleting = |ids: &[u8]| {
        let ids: Vec<ObjId> = ids.iter().map(|n| a(*n)).collect();
        let tx = &tx;
        ids.into_iter().inspect(move |id| assert!(tx.delete(*id).unwrap()))
    };
    let reached = tx.follow_path(deleting(&[8]), &[PathStep::Forward(sid(22))], &[]).unwrap();
    assert_eq!(reached, []);
    let path = [PathStep::Forward(sid(22))];
    assert_eq!(tx.invert_path(&path, &[], deleting(&[2])).unwrap(), []);
    assert_eq!(tx.id_set(deleting(&[3])).unwrap().to_vec().unwrap(), [a(3)]);
    assert_eq!(in_list(&tx), "45");
    // Operations that only describe a set or filter read nothing. The objects that exist when the
    // set is read count.
    let types = || {
        std::iter::once(sid(10)).inspect(|_| {
            tx.delete(a(9)).unwrap();
        })
    };
    let without = [1, 4, 5, 6, 7].map(a);
    let objects = tx.objects_of(types()).unwrap();
    assert_eq!(objects.to_vec().unwrap(), without);
    assert_eq!(objects.of_types(types()).to_vec().unwrap(), without);
    let some = |id| tx.id_set([id]).unwrap();
    let others = || [5, 6].into_iter().map(|n| some(a(n))).inspect(|_| drop(tx.delete(a(7))));
    assert_eq!(some(a(4)).union_all(others()).to_vec().unwrap(), [4, 5, 6].map(a));
    assert_eq!(objects.intersection_all(others()).to_vec().unwrap(), []);
    let index = tx.simple_index(sid(22)).unwrap();
    let schemas = std::iter::once(tx.schema().index).inspect(|_| drop(tx.delete(a(6))));
    assert_eq!(index.of_types(types()).in_schemas(schemas).count().unwrap(), 2);
    assert!(IdFilter::of_types(types()).allows(a(1)));
    assert!(
        IdFilter::of_ids([a(1)].into_iter().inspect(|_| assert!(types().next().is_some())))
            .allows(a(1))
    );
    drop(Watch::along(
        std::iter::once(PathStep::Forward(sid(22))).inspect(|_| assert!(types().next().is_some())),
    ));
    assert_eq!(tx.objects("A").unwrap().to_vec().unwrap(), [1, 4, 5].map(a));
}

#[test]
fn objects_are_written_as_they_are_when_their_turn_comes() {
    let world = World::new();
    let tx = holder(&world);
    let mut out = Vec::new();
    let objects = tx.objects("A").unwrap();
    // Each step deletes the next object.
    let ids = objects.iter().inspect(|id| {
        let n = id.as_ref().unwrap().as_bytes()[7];
        tx.delete(a(n + 1)).unwrap();
    });
    assert_eq!(ObjectXmlWriter::new().write_objects(&tx, ids, &mut out).unwrap(), 5);
    let gone = [Ok(a(3))].into_iter().inspect(|_| assert!(tx.delete(a(3)).unwrap()));
    let refused = ObjectXmlWriter::new().write_objects(&tx, gone, &mut out);
    assert!(refused.unwrap_err().to_string().contains(&a(3).to_string()));
}

#[test]
fn what_an_atomic_closure_changes_is_kept_or_taken_back_whole() {
    let world = World::new();
    let tx = holder(&world);
    let body = |tx: &Transaction| {
        list(tx).insert(0, &to_a(6))?;
        let inner: Result<(), Error> = tx.atomic(|tx| {
            tx.delete(a(4))?;
            Err(Error::listener("inner"))
        });
        assert!(inner.is_err());
        tx.delete(a(2)).map(drop)
    };
    let failed: Result<(), Error> = tx.atomic(|tx| {
        body(tx)?;
        tx.delete(a(1))?;
        Err(Error::listener("outer"))
    });
    assert!(failed.is_err());
    assert_eq!((&*in_list(&tx), &*in_set(&tx)), ("2345", "2345"));
    tx.atomic(body).unwrap();
    assert_eq!((&*in_list(&tx), &*in_set(&tx)), ("6345", "345"));
    tx.untracked(body).unwrap();
    assert_eq!(&*in_list(&tx), "66345");
}

// ---------------------------------------------------------------------- typed collections

#[derive(PermazenObject, Default)]
struct Job {
    name: String,
}

#[derive(PermazenObject, Default)]
struct Worker {
    labels: BTreeSet<String>,
    notes: Vec<String>,
    ratings: BTreeMap<String, i32>,
    #[permazen(element(inverse_delete = "remove"))]
    queue: Vec<Ref<Job>>,
    #[permazen(element(inverse_delete = "remove"))]
    open: BTreeSet<Ref<Job>>,
    #[permazen(key(inverse_delete = "remove"))]
    hours: BTreeMap<Ref<Job>, i32>,
}

fn database() -> Permazen {
    Permazen::builder(MemoryStore::new()).model::<Worker>().model::<Job>().build().unwrap()
}

/// A worker with three jobs.
fn worker(tx: &Tx) -> (Obj<'_, Worker>, Vec<Ref<Job>>) {
    let job = |name: &str| tx.create(Job { name: name.into() }).unwrap().to_ref();
    let jobs = ["a", "b", "c"].map(job);
    let texts = || ["a", "b", "c"].map(String::from);
    let worker = tx.create(Worker {
        labels: texts().into(),
        notes: texts().into(),
        ratings: texts().into_iter().zip(1..).collect(),
        queue: jobs.into(),
        open: jobs.into(),
        hours: jobs.into_iter().zip(1..).collect(),
    });
    (worker.unwrap(), jobs.to_vec())
}

#[test]
fn a_collection_can_be_extended_by_what_it_holds() {
    let db = database();
    db.write(|tx| {
        let (worker, _) = worker(tx);
        let (labels, notes, ratings) = (worker.labels()?, worker.notes()?, worker.ratings()?);
        labels.extend(labels.iter().map(|label| format!("{}z", label.unwrap())))?;
        assert_eq!(labels.load::<Vec<_>>()?, ["a", "az", "b", "bz", "c", "cz"]);
        labels.extend(labels.iter().map(Result::unwrap))?;
        assert_eq!(labels.len()?, 6);
        notes.extend(notes.iter().map(Result::unwrap))?;
        assert_eq!(notes.load::<Vec<_>>()?, ["a", "b", "c", "a", "b", "c"]);
        ratings.extend(ratings.iter().map(|entry| {
            let (key, value) = entry.unwrap();
            (format!("{key}z"), value + 10)
        }))?;
        let all = ratings.load::<Vec<_>>()?;
        assert_eq!(
            all.iter().map(|(key, value)| format!("{key}{value}")).collect::<String>(),
            "a1az11b2bz12c3cz13"
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_iterator_that_changes_the_collection_has_ended_when_it_is_extended() {
    let db = database();
    db.write(|tx| {
        let (worker, _) = worker(tx);
        let (labels, notes, ratings) = (worker.labels()?, worker.notes()?, worker.ratings()?);
        labels.extend(["a", "d"].into_iter().inspect(|_| labels.clear().unwrap()))?;
        assert_eq!(labels.load::<Vec<_>>()?, ["a", "d"]);
        notes.extend(["d"].into_iter().inspect(|_| drop(notes.pop().unwrap())))?;
        assert_eq!(notes.load::<Vec<_>>()?, ["a", "b", "d"]);
        ratings.extend([("a", 5), ("a", 6)].into_iter().inspect(|_| ratings.clear().unwrap()))?;
        assert_eq!(ratings.load::<Vec<_>>()?, [("a".to_owned(), 6)]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn collections_are_extended_by_all_or_nothing() {
    let db = database();
    db.write(|tx| {
        let (worker, jobs) = worker(tx);
        let (queue, open, hours) = (worker.queue()?, worker.open()?, worker.hours()?);
        let more = [(); 3].map(|()| tx.create(Job::default()).unwrap().to_ref());
        let last = more[2];
        // The iterator deletes the object that it gave before.
        let given = |of: &[Ref<Job>]| {
            let of = of.to_vec();
            of.into_iter().inspect(move |job| {
                if *job == last {
                    tx.get(more[1]).unwrap().delete().unwrap();
                }
            })
        };
        assert!(queue.extend(given(&more)).is_err());
        assert!(open.extend(given(&more)).is_err());
        assert!(hours.extend(given(&more).map(|job| (job, 9))).is_err());
        assert_eq!(queue.load::<Vec<_>>()?, jobs);
        assert_eq!(open.load::<BTreeSet<_>>()?, jobs.iter().copied().collect());
        assert_eq!(hours.len()?, 3);
        // Or it deletes an object that is already in the collection, and so removes it from there.
        let finish =
            |of: Ref<Job>| move |_: &Ref<Job>| assert!(tx.get(of).unwrap().delete().unwrap());
        open.extend([more[0]].iter().copied().inspect(finish(jobs[0])))?;
        queue.extend([more[0]].iter().copied().inspect(finish(jobs[1])))?;
        hours.extend([more[0]].iter().copied().inspect(finish(jobs[2])).map(|job| (job, 9)))?;
        assert_eq!(queue.load::<Vec<_>>()?, [more[0]]);
        assert_eq!(open.load::<Vec<_>>()?, [more[0]]);
        assert_eq!(hours.load::<Vec<_>>()?, [(more[0], 9)]);
        // Or it deletes the object that has the collection.
        let gone = |_: &Ref<Job>| assert!(worker.delete().unwrap());
        assert!(open.extend([more[0]].iter().copied().inspect(gone)).is_err());
        assert!(queue.extend([more[0]]).is_err() && hours.extend([(more[0], 1)]).is_err());
        assert!(!worker.exists()?);
        Ok(())
    })
    .unwrap();
}

#[test]
fn listeners_are_told_when_a_collection_has_been_extended() {
    let db = database();
    db.write(|tx| {
        let (worker, _) = worker(tx);
        let (labels, ratings) = (worker.labels()?, worker.ratings()?);
        let (told, log) = Log::pair();
        for (field, kind) in [("labels", true), ("ratings", false)] {
            let log = log.clone();
            let listener = move |tx: &Transaction, _: &_, ids: &[ObjId]| {
                let len = match kind {
                    true => tx.set_view(ids[0], field, Migrate::No)?.len()?,
                    false => tx.map_view(ids[0], field, Migrate::No)?.len()?,
                };
                log.add(len)
            };
            let id = tx.core().field_storage_id("Worker", field)?;
            tx.core().on_change(id, Watch::itself(), Arc::new(listener))?;
        }
        labels.extend(["x", "y", "a"])?;
        ratings.extend([("x", 1), ("y", 2), ("z", 3)])?;
        assert_eq!(told.all(), [5, 5, 6, 6, 6]);
        Ok(())
    })
    .unwrap();
}
