//! The costs of reads and changes of collections, in operations of the store.

use std::ops::Bound;

use permazen::object::ListView;

use crate::changes::*;
use crate::costs::*;
use crate::support::*;

pub(crate) const OF_LISTS: Costs = &[
    ("Transaction::list_view", |tx| drop(list(tx, 1).unwrap()), "nothing"),
    (
        "Transaction::encoded().list_view",
        |tx| drop(tx.encoded().list_view(foo_id(1), &field(tx, "list")).unwrap()),
        "nothing",
    ),
    ("ListView::len", |tx| assert_eq!(list(tx, 1).unwrap().len().unwrap(), 3), "1 seek"),
    ("ListView::is_empty", |tx| assert!(!list(tx, 1).unwrap().is_empty().unwrap()), "1 seek"),
    ("ListView::get", |tx| drop(list(tx, 1).unwrap().get(1).unwrap()), "1 get"),
    (
        "ListView::encoded().get",
        |tx| list(tx, 1).unwrap().encoded().get(1, |_| ()).unwrap(),
        "1 get",
    ),
    ("ListView::iter", |tx| assert_eq!(list(tx, 1).unwrap().iter().count(), 3), "1 seek, 3 steps"),
    (
        "ListView::iter_range",
        |tx| assert_eq!(list(tx, 1).unwrap().iter_range(1..3).count(), 2),
        "1 seek, 2 steps",
    ),
    (
        "ListView::encoded().iter",
        |tx| assert_eq!(list(tx, 1).unwrap().encoded().iter(|_, _| Ok(())).count(), 3),
        "1 seek, 3 steps",
    ),
    (
        "ListView::encoded().iter_range",
        |tx| assert_eq!(list(tx, 1).unwrap().encoded().iter_range(1..3, |_, _| Ok(())).count(), 2),
        "1 seek, 2 steps",
    ),
    ("ListView::to_vec", |tx| drop(list(tx, 1).unwrap().to_vec().unwrap()), "1 seek, 3 steps"),
    (
        "ListView::position",
        |tx| assert_eq!(list(tx, 1).unwrap().position(&text("q")).unwrap(), Some(1)),
        "1 seek, 3 steps",
    ),
    (
        "ListView::encoded().position",
        |tx| assert_eq!(list(tx, 1).unwrap().encoded().position(b"q\0").unwrap(), Some(1)),
        "1 seek, 3 steps",
    ),
    (
        "ListView::set",
        |tx| drop(list(tx, 1).unwrap().set(1, &text("z")).unwrap()),
        "1 get, 2 puts, 1 delete",
    ),
    (
        "ListView::set to what it is",
        |tx| drop(list(tx, 1).unwrap().set(1, &text("q")).unwrap()),
        "1 get",
    ),
    (
        "ListView::set without an index",
        |tx| drop(plain(tx, 1).unwrap().set(1, &int(1)).unwrap()),
        "1 get, 1 put",
    ),
    (
        "ListView::encoded().set",
        |tx| drop(list(tx, 1).unwrap().encoded().set(1, b"z\0").unwrap()),
        "1 get, 2 puts, 1 delete",
    ),
    ("ListView::push", |tx| list(tx, 1).unwrap().push(&text("z")).unwrap(), "1 seek, 2 puts"),
    (
        "ListView::push without an index",
        |tx| plain(tx, 1).unwrap().push(&int(1)).unwrap(),
        "1 seek, 1 put",
    ),
    (
        "ListView::encoded().push",
        |tx| list(tx, 1).unwrap().encoded().push(b"z\0").unwrap(),
        "1 seek, 2 puts",
    ),
    (
        "ListView::extend",
        |tx| assert!(list(tx, 1).unwrap().extend(&texts(&["m", "n"])).unwrap()),
        "1 seek, 4 puts",
    ),
    // two elements move
    (
        "ListView::insert",
        |tx| list(tx, 1).unwrap().insert(1, &text("z")).unwrap(),
        "2 seeks, 2 steps, 6 puts, 2 deletes",
    ),
    (
        "ListView::insert without an index",
        |tx| plain(tx, 1).unwrap().insert(1, &int(1)).unwrap(),
        "2 seeks, 2 steps, 3 puts",
    ),
    (
        "ListView::insert_all",
        |tx| assert!(list(tx, 1).unwrap().insert_all(1, &texts(&["m", "n"])).unwrap()),
        "2 seeks, 2 steps, 8 puts, 2 deletes",
    ),
    (
        "ListView::encoded().insert_all",
        |tx| assert!(list(tx, 1).unwrap().encoded().insert_all(1, &[b"m\0", b"n\0"]).unwrap()),
        "2 seeks, 2 steps, 8 puts, 2 deletes",
    ),
    (
        "ListView::encoded().insert",
        |tx| list(tx, 1).unwrap().encoded().insert(1, b"z\0").unwrap(),
        "2 seeks, 2 steps, 6 puts, 2 deletes",
    ),
    (
        "ListView::encoded().extend",
        |tx| assert!(list(tx, 1).unwrap().encoded().extend(&[b"m\0", b"n\0"]).unwrap()),
        "1 seek, 4 puts",
    ),
    (
        "ListView::remove",
        |tx| drop(list(tx, 1).unwrap().remove(0).unwrap()),
        "2 seeks, 3 steps, 4 puts, 4 deletes",
    ),
    (
        "ListView::remove without an index",
        |tx| drop(plain(tx, 1).unwrap().remove(0).unwrap()),
        "2 seeks, 3 steps, 2 puts, 1 delete",
    ),
    (
        "ListView::encoded().remove",
        |tx| drop(list(tx, 1).unwrap().encoded().remove(0).unwrap()),
        "2 seeks, 3 steps, 4 puts, 4 deletes",
    ),
    (
        "ListView::remove_value",
        |tx| assert!(plain(tx, 1).unwrap().remove_value(&int(4)).unwrap()),
        "3 seeks, 6 steps, 2 puts, 1 delete",
    ),
    ("ListView::pop", |tx| drop(list(tx, 1).unwrap().pop().unwrap()), "1 seek, 2 deletes"),
    (
        "ListView::pop without an index",
        |tx| drop(plain(tx, 1).unwrap().pop().unwrap()),
        "1 seek, 1 delete",
    ),
    (
        "ListView::remove_range",
        |tx| list(tx, 1).unwrap().remove_range(0, 2).unwrap(),
        "3 seeks, 5 steps, 2 puts, 3 deletes, 1 range removal",
    ),
    (
        "ListView::remove_range at the end",
        |tx| list(tx, 1).unwrap().remove_range(1, 3).unwrap(),
        "2 seeks, 2 steps, 2 deletes, 1 range removal",
    ),
    (
        "ListView::retain",
        |tx| assert_eq!(plain(tx, 1).unwrap().retain(|value| *value != int(5)).unwrap(), 1),
        "3 seeks, 5 steps, 1 put, 1 delete",
    ),
    (
        "ListView::retain all",
        |tx| assert_eq!(plain(tx, 1).unwrap().retain(|_| true).unwrap(), 0),
        "1 seek, 3 steps",
    ),
    (
        "ListView::clear",
        |tx| list(tx, 1).unwrap().clear().unwrap(),
        "1 seek, 3 steps, 3 deletes, 1 range removal",
    ),
    (
        "ListView::clear without an index",
        |tx| plain(tx, 1).unwrap().clear().unwrap(),
        "1 seek, 3 steps, 1 range removal",
    ),
    ("ListView::cursor", |tx| drop(list(tx, 1).unwrap().cursor()), "nothing"),
    ("ListView::cursor_at", |tx| drop(list(tx, 1).unwrap().cursor_at(1)), "nothing"),
    ("ListCursor::step", |tx| drop(list(tx, 1).unwrap().cursor().step().unwrap()), "1 get"),
    (
        "ListCursor::step_back",
        |tx| {
            let mut cursor = list(tx, 1).unwrap().cursor();
            cursor.step().unwrap();
            cursor.step_back().unwrap();
        },
        "2 gets",
    ),
    (
        "ListCursor::remove",
        |tx| {
            let mut cursor = plain(tx, 1).unwrap().cursor();
            cursor.step().unwrap();
            cursor.remove().unwrap();
        },
        "1 get, 2 seeks, 3 steps, 2 puts, 1 delete",
    ),
    (
        "ListCursor::set",
        |tx| {
            let mut cursor = plain(tx, 1).unwrap().cursor();
            cursor.step().unwrap();
            cursor.set(&int(1)).unwrap();
        },
        "2 gets, 1 put",
    ),
    (
        "ListCursor::insert",
        |tx| plain(tx, 1).unwrap().cursor().insert(&int(1)).unwrap(),
        "2 seeks, 3 steps, 4 puts",
    ),
];

pub(crate) const OF_SETS: Costs = &[
    ("Transaction::set_view", |tx| drop(set_of(tx, 1).unwrap()), "nothing"),
    (
        "Transaction::encoded().set_view",
        |tx| drop(tx.encoded().set_view(foo_id(1), &field(tx, "set")).unwrap()),
        "nothing",
    ),
    (
        "SetView::range",
        |tx| drop(set_of(tx, 1).unwrap().range(Bound::Unbounded, Bound::Unbounded)),
        "nothing",
    ),
    ("SetView::contains", |tx| assert!(set_of(tx, 1).unwrap().contains(&int(7)).unwrap()), "1 get"),
    (
        "SetView::encoded().contains",
        |tx| assert!(set_of(tx, 1).unwrap().encoded().contains(&[0x86]).unwrap()),
        "1 get",
    ),
    ("SetView::iter", |tx| assert_eq!(set_of(tx, 1).unwrap().iter().count(), 2), "1 seek, 2 steps"),
    (
        "SetView::encoded().iter",
        |tx| assert_eq!(set_of(tx, 1).unwrap().encoded().iter(|_| Ok(())).count(), 2),
        "1 seek, 2 steps",
    ),
    (
        "SetView::encoded().to_vec",
        |tx| assert_eq!(set_of(tx, 1).unwrap().encoded().to_vec().unwrap(), [[0x86], [0x88]]),
        "1 seek, 2 steps",
    ),
    ("SetView::to_vec", |tx| drop(set_of(tx, 1).unwrap().to_vec().unwrap()), "1 seek, 2 steps"),
    ("SetView::len", |tx| assert_eq!(set_of(tx, 1).unwrap().len().unwrap(), 2), "1 seek, 2 steps"),
    ("SetView::first", |tx| drop(set_of(tx, 1).unwrap().first().unwrap()), "1 seek"),
    ("SetView::last", |tx| drop(set_of(tx, 1).unwrap().last().unwrap()), "1 seek"),
    (
        "SetView::encoded().first",
        |tx| {
            set_of(tx, 1).unwrap().encoded().first(|at| assert_eq!(at, Some(&[0x86][..]))).unwrap()
        },
        "1 seek",
    ),
    (
        "SetView::encoded().last",
        |tx| set_of(tx, 1).unwrap().encoded().last(|at| assert_eq!(at, Some(&[0x88][..]))).unwrap(),
        "1 seek",
    ),
    ("SetView::is_empty", |tx| assert!(!set_of(tx, 1).unwrap().is_empty().unwrap()), "1 seek"),
    ("SetView::add", |tx| assert!(set_of(tx, 1).unwrap().add(&int(1)).unwrap()), "1 get, 2 puts"),
    (
        "SetView::add what is there",
        |tx| assert!(!set_of(tx, 1).unwrap().add(&int(7)).unwrap()),
        "1 get",
    ),
    (
        "SetView::encoded().add",
        |tx| assert!(set_of(tx, 1).unwrap().encoded().add(&[0x84]).unwrap()),
        "1 get, 2 puts",
    ),
    (
        "SetView::remove",
        |tx| assert!(set_of(tx, 1).unwrap().remove(&int(7)).unwrap()),
        "1 get, 2 deletes",
    ),
    (
        "SetView::remove what is not there",
        |tx| assert!(!set_of(tx, 1).unwrap().remove(&int(1)).unwrap()),
        "1 get",
    ),
    (
        "SetView::encoded().remove",
        |tx| assert!(set_of(tx, 1).unwrap().encoded().remove(&[0x86]).unwrap()),
        "1 get, 2 deletes",
    ),
    (
        "SetView::pop_first",
        |tx| drop(set_of(tx, 1).unwrap().pop_first().unwrap()),
        "1 seek, 2 deletes",
    ),
    (
        "SetView::pop_last",
        |tx| drop(set_of(tx, 1).unwrap().pop_last().unwrap()),
        "1 seek, 2 deletes",
    ),
    (
        "SetView::retain",
        |tx| assert_eq!(set_of(tx, 1).unwrap().retain(|value| *value == int(7)).unwrap(), 1),
        "1 get, 1 seek, 2 steps, 2 deletes",
    ),
    (
        "SetView::clear",
        |tx| set_of(tx, 1).unwrap().clear().unwrap(),
        "1 seek, 2 steps, 2 deletes, 1 range removal",
    ),
    (
        "SetView::clear of an empty set",
        |tx| tx.set_view(foo_id(1), "friends", NO).unwrap().clear().unwrap(),
        "1 seek",
    ),
];

pub(crate) const OF_MAPS: Costs = &[
    ("Transaction::map_view", |tx| drop(map(tx, 1).unwrap()), "nothing"),
    (
        "Transaction::encoded().map_view",
        |tx| drop(tx.encoded().map_view(foo_id(1), &field(tx, "map")).unwrap()),
        "nothing",
    ),
    (
        "MapView::range",
        |tx| drop(map(tx, 1).unwrap().range(Bound::Unbounded, Bound::Unbounded)),
        "nothing",
    ),
    ("MapView::get", |tx| drop(map(tx, 1).unwrap().get(&int(1)).unwrap()), "1 get"),
    (
        "MapView::encoded().get",
        |tx| map(tx, 1).unwrap().encoded().get(&[0x80], |_| ()).unwrap(),
        "1 get",
    ),
    (
        "MapView::contains_key",
        |tx| assert!(map(tx, 1).unwrap().contains_key(&int(1)).unwrap()),
        "1 get",
    ),
    ("MapView::iter", |tx| assert_eq!(map(tx, 1).unwrap().iter().count(), 2), "1 seek, 2 steps"),
    (
        "MapView::encoded().contains_key",
        |tx| assert!(map(tx, 1).unwrap().encoded().contains_key(&[0x80]).unwrap()),
        "1 get",
    ),
    (
        "MapView::encoded().iter",
        |tx| assert_eq!(map(tx, 1).unwrap().encoded().iter(|_, _| Ok(())).count(), 2),
        "1 seek, 2 steps",
    ),
    (
        "MapView::encoded().keys",
        |tx| assert_eq!(map(tx, 1).unwrap().encoded().keys(|_| Ok(())).count(), 2),
        "1 seek, 2 steps",
    ),
    ("MapView::keys", |tx| assert_eq!(map(tx, 1).unwrap().keys().count(), 2), "1 seek, 2 steps"),
    ("MapView::to_vec", |tx| drop(map(tx, 1).unwrap().to_vec().unwrap()), "1 seek, 2 steps"),
    ("MapView::len", |tx| assert_eq!(map(tx, 1).unwrap().len().unwrap(), 2), "1 seek, 2 steps"),
    ("MapView::first", |tx| drop(map(tx, 1).unwrap().first().unwrap()), "1 seek"),
    ("MapView::last", |tx| drop(map(tx, 1).unwrap().last().unwrap()), "1 seek"),
    (
        "MapView::encoded().first",
        |tx| map(tx, 1).unwrap().encoded().first(|entry| assert!(entry.is_some())).unwrap(),
        "1 seek",
    ),
    (
        "MapView::encoded().last",
        |tx| map(tx, 1).unwrap().encoded().last(|entry| assert!(entry.is_some())).unwrap(),
        "1 seek",
    ),
    ("MapView::is_empty", |tx| assert!(!map(tx, 1).unwrap().is_empty().unwrap()), "1 seek"),
    (
        "MapView::put",
        |tx| drop(map(tx, 1).unwrap().put(&int(5), &text("z")).unwrap()),
        "1 get, 3 puts",
    ),
    (
        "MapView::put another value",
        |tx| drop(map(tx, 1).unwrap().put(&int(1), &text("z")).unwrap()),
        "1 get, 2 puts, 1 delete",
    ),
    (
        "MapView::put what is there",
        |tx| drop(map(tx, 1).unwrap().put(&int(1), &text("x")).unwrap()),
        "1 get",
    ),
    (
        "MapView::encoded().put",
        |tx| drop(map(tx, 1).unwrap().encoded().put(&[0x84], b"z\0").unwrap()),
        "1 get, 3 puts",
    ),
    (
        "MapView::remove",
        |tx| drop(map(tx, 1).unwrap().remove(&int(1)).unwrap()),
        "1 get, 3 deletes",
    ),
    (
        "MapView::remove what is not there",
        |tx| drop(map(tx, 1).unwrap().remove(&int(5)).unwrap()),
        "1 get",
    ),
    (
        "MapView::encoded().remove",
        |tx| drop(map(tx, 1).unwrap().encoded().remove(&[0x80]).unwrap()),
        "1 get, 3 deletes",
    ),
    (
        "MapView::pop_first",
        |tx| drop(map(tx, 1).unwrap().pop_first().unwrap()),
        "1 seek, 3 deletes",
    ),
    ("MapView::pop_last", |tx| drop(map(tx, 1).unwrap().pop_last().unwrap()), "1 seek, 3 deletes"),
    (
        "MapView::retain",
        |tx| assert_eq!(map(tx, 1).unwrap().retain(|key, _| *key == int(1)).unwrap(), 1),
        "1 get, 1 seek, 2 steps, 3 deletes",
    ),
    (
        "MapView::clear",
        |tx| map(tx, 1).unwrap().clear().unwrap(),
        "1 seek, 2 steps, 4 deletes, 1 range removal",
    ),
];

#[test]
fn of_lists() {
    check(OF_LISTS);
}

#[test]
fn of_sets() {
    check(OF_SETS);
}

#[test]
fn of_maps() {
    check(OF_MAPS);
}

/// A list is only read as far as its elements move. The elements before them do not matter.
#[test]
fn long_lists_are_read_from_where_they_change() {
    let world = World::new();
    let tx = world.begin(&schema());
    create(&tx, foo_id(1));
    let list = plain(&tx, 1).unwrap();
    list.extend(&vec![int(1); 100_000]).unwrap();
    let check = |what: &str, operation: &dyn Fn(), expected: &str| {
        let ((), cost) = world.cost(operation);
        assert_eq!(told(cost), expected, "{what}");
    };
    let insert = |at| move |list: &ListView<'_>| list.insert(at, &int(2)).unwrap();
    check("push", &|| list.push(&int(2)).unwrap(), "1 seek, 1 put");
    check("get", &|| drop(list.get(50_000).unwrap()), "1 get");
    check(
        "a part",
        &|| assert_eq!(list.iter_range(99_990..99_995).rev().count(), 5),
        "1 seek, 5 steps",
    );
    check("the middle", &|| drop(list.cursor_at(50_000).step().unwrap()), "1 get");
    check("set", &|| drop(list.set(50_000, &int(3)).unwrap()), "1 get, 1 put");
    check("pop", &|| drop(list.pop().unwrap()), "1 seek, 1 delete");
    // 512 elements with each seek
    check("insert", &|| insert(98_976)(&list), "3 seeks, 1024 steps, 1025 puts");
    check(
        "remove",
        &|| drop(list.remove(98_977).unwrap()),
        "3 seeks, 1024 steps, 1023 puts, 1 delete",
    );
    check(
        "remove a range",
        &|| list.remove_range(99_000, 99_100).unwrap(),
        "4 seeks, 1100 steps, 900 puts, 1 range removal",
    );
    check(
        "truncate",
        &|| list.remove_range(99_890, 99_900).unwrap(),
        "2 seeks, 10 steps, 1 range removal",
    );
    check("insert in the middle", &|| insert(50_000)(&list), "99 seeks, 49890 steps, 49891 puts");
    assert_eq!(list.len().unwrap(), 99_891);
}
