//! Maps.

use std::ops::Bound;

use permazen::encoding::Value;
use permazen::object::{MapView, Migrate, Transaction};

use crate::support::*;

fn map_of<'t>(tx: &'t Transaction, n: u8) -> MapView<'t> {
    tx.map_view(foo_id(n), "map", Migrate::No).unwrap()
}

fn filled<'t>(tx: &'t Transaction, entries: &[(i32, &str)]) -> MapView<'t> {
    create(tx, foo_id(1));
    let map = map_of(tx, 1);
    for (key, value) in entries {
        assert_eq!(map.put(&int(*key), &text(value)).unwrap(), None);
    }
    map
}

fn content(map: &MapView<'_>) -> String {
    let show = |(key, value): &(Value, Value)| format!("{}={}", show(key), show(value));
    map.to_vec().unwrap().iter().map(show).collect::<Vec<_>>().join(",")
}

fn index_pairs(world: &World) -> Vec<String> {
    let is_index = |pair: &String| pair.starts_with("19") || pair.starts_with("1a");
    world.pairs().into_iter().filter(is_index).collect()
}

#[test]
fn t064_putting_twice() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[]);
    let events = Events::on(&tx, 24);
    let (old, cost) = world.cost(|| map.put(&int(1), &text("x")).unwrap());
    assert_eq!((old, cost.gets, cost.writes()), (None, 1, 3));
    assert_eq!(map.put(&int(1), &text("y")).unwrap(), Some(text("x")));
    assert_eq!(events.take(), ["add 1=x", "replace 1=x->y"]);
    tx.commit().unwrap();
    assert_eq!(index_pairs(&world), ["19800a11111111111111=", "1a79000a1111111111111180="]);
}

#[test]
fn t065_putting_an_equal_value() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[(1, "x")]);
    let events = Events::on(&tx, 24);
    let (old, cost) = world.cost(|| map.put(&int(1), &text("x")).unwrap());
    assert_eq!((old, cost.reads(), cost.writes()), (Some(text("x")), 1, 0));
    assert!(events.take().is_empty());
}

#[test]
fn t066_removing_what_is_not_there() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[(1, "x")]);
    let events = Events::on(&tx, 24);
    assert_eq!(map.remove(&int(2)).unwrap(), None);
    assert_eq!(map.remove(&text("no key")).unwrap(), None);
    assert!(events.take().is_empty());
    assert_eq!(map.remove(&int(1)).unwrap(), Some(text("x")));
    assert_eq!(events.take(), ["remove 1=x"]);
}

#[test]
fn t067_null_values() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[]);
    map.put(&int(2), &Value::Null).unwrap();
    assert_eq!(map.get(&int(2)).unwrap(), Some(Value::Null));
    assert_invalid_value(map.put(&Value::Null, &text("x")));
    tx.commit().unwrap();
    assert!(world.pairs().contains(&"0a111111111111111881=ff".to_owned()));
    assert_eq!(index_pairs(&world), ["19810a11111111111111=", "1aff0a1111111111111181="]);
}

#[test]
fn t068_replacing_while_iterating() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[(1, "a"), (2, "b"), (3, "c")]);
    let events = Events::on(&tx, 24);
    for entry in map.iter() {
        let (key, value) = entry.unwrap();
        assert_eq!(map.put(&key, &text("z")).unwrap(), Some(value));
    }
    assert_eq!(content(&map), "1=z,2=z,3=z");
    assert_eq!(events.take(), ["replace 1=a->z", "replace 2=b->z", "replace 3=c->z"]);
    assert_eq!(tx.simple_index(sid(26)).unwrap().count().unwrap(), 1);
}

#[test]
fn t069_clearing_maintains_both_indexes() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[(1, "a"), (2, "b")]);
    let events = Events::on(&tx, 24);
    map.clear().unwrap();
    assert_eq!(events.take(), ["clear"]);
    map.clear().unwrap();
    assert!(events.take().is_empty());
    tx.commit().unwrap();
    assert!(index_pairs(&world).is_empty());
}

#[test]
fn t070_outside_of_a_range() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[(1, "a"), (3, "c"), (16, "p")]);
    let range = map.range(Bound::Included(&int(1)), Bound::Excluded(&int(4))).unwrap();
    assert_invalid_argument(range.put(&int(16), &text("x")));
    assert_eq!(range.get(&int(16)).unwrap(), None);
    assert_eq!(range.remove(&int(16)).unwrap(), None);
    assert!(!range.contains_key(&int(16)).unwrap());
    assert_eq!(content(&range), "1=a,3=c");
    assert_eq!(range.last().unwrap(), Some((int(3), text("c"))));
    let events = Events::on(&tx, 24);
    range.clear().unwrap();
    assert_eq!(events.take(), ["remove 1=a", "remove 3=c"]);
    assert_eq!(content(&map), "16=p");
}

/// Taking the first or last entry maintains the indexes and calls listeners (D5).
#[test]
fn taking_an_end_is_a_proper_removal() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[(1, "a"), (2, "b"), (3, "c")]);
    let events = Events::on(&tx, 24);
    assert_eq!(map.pop_first().unwrap(), Some((int(1), text("a"))));
    assert_eq!(map.pop_last().unwrap(), Some((int(3), text("c"))));
    assert_eq!(events.take(), ["remove 1=a", "remove 3=c"]);
    tx.commit().unwrap();
    assert_eq!(index_pairs(&world), ["19810a11111111111111=", "1a62000a1111111111111181="]);
}

#[test]
fn of_a_deleted_owner() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[(1, "a")]);
    assert!(tx.delete(foo_id(1)).unwrap());
    assert!(map.is_empty().unwrap());
    assert_eq!(map.get(&int(1)).unwrap(), None);
    assert_deleted(map.put(&int(1), &text("a")), foo_id(1));
    assert_deleted(map.remove(&int(1)), foo_id(1));
    assert_deleted(map.clear(), foo_id(1));
}

#[test]
fn retain_and_reverse() {
    let world = World::new();
    let tx = world.foo();
    let map = filled(&tx, &[(1, "a"), (2, "b"), (3, "a")]);
    let keys: Vec<_> = map.keys().rev().map(Result::unwrap).collect();
    assert_eq!(show_all(&keys), "3,2,1");
    assert_eq!(map.retain(|_, value| *value == text("a")).unwrap(), 1);
    assert_eq!(content(&map), "1=a,3=a");
    assert_eq!(map.len().unwrap(), 2);
}

/// An operation that replaces or removes a value also returns it. So a damaged value stays until it
/// is removed without being returned.
#[test]
fn a_damaged_value_is_named_and_can_be_replaced_by_bytes() {
    let world = World::new();
    let tx = world.foo();
    filled(&tx, &[(1, "a"), (2, "b")]);
    tx.commit().unwrap();
    world.raw("0a111111111111111880", Some("61"));
    let before = world.pairs();
    let tx = world.foo();
    let map = map_of(&tx, 1);
    for result in [map.put(&int(1), &text("x")), map.remove(&int(1))] {
        let message = result.unwrap_err().to_string();
        for part in ["0a111111111111111880", "map", "0a11111111111111"] {
            assert!(message.contains(part), "{part} in {message}");
        }
    }
    assert!(map.pop_first().is_err());
    assert!(map.retain(|_, _| false).is_err());
    tx.commit().unwrap();
    assert_eq!(world.pairs(), before);
    let tx = world.foo();
    let map = map_of(&tx, 1);
    assert_eq!(map.encoded().put(&[0x80], b"x\0").unwrap(), Some(b"a".to_vec()));
    assert_eq!(content(&map), "1=x,2=b");
}
