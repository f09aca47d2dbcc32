//! Sets.

use std::ops::Bound;

use permazen::encoding::Value;
use permazen::object::{Error, Migrate, SetView, Transaction};

use crate::support::*;

fn set_of<'t>(tx: &'t Transaction, n: u8) -> SetView<'t> {
    tx.set_view(foo_id(n), "set", Migrate::No).unwrap()
}

fn filled<'t>(tx: &'t Transaction, values: &[i32]) -> SetView<'t> {
    create(tx, foo_id(1));
    let set = set_of(tx, 1);
    for value in values {
        assert!(set.add(&int(*value)).unwrap());
    }
    set
}

#[test]
fn t045_adding_puts_content_and_index_once() {
    let world = World::new();
    let tx = world.foo();
    let set = filled(&tx, &[]);
    let (added, cost) = world.cost(|| set.add(&int(7)).unwrap());
    assert!(added);
    assert_eq!((cost.gets, cost.puts, cost.reads(), cost.writes()), (1, 2, 1, 2));
    let (added, cost) = world.cost(|| set.add(&int(7)).unwrap());
    assert!(!added);
    assert_eq!((cost.gets, cost.reads(), cost.writes()), (1, 1, 0));
    tx.commit().unwrap();
    let pairs = world.pairs();
    assert!(pairs.contains(&"0a111111111111111486=".to_owned()));
    assert!(pairs.contains(&"15860a11111111111111=".to_owned()));
}

#[test]
fn t046_null_is_no_int() {
    let world = World::new();
    let tx = world.foo();
    let set = filled(&tx, &[]);
    assert_invalid_value(set.add(&Value::Null));
}

#[test]
fn t047_removing_what_cannot_be_an_element_is_false() {
    let world = World::new();
    let tx = world.foo();
    let set = filled(&tx, &[1]);
    assert!(!set.remove(&text("x")).unwrap());
    assert!(!set.contains(&text("x")).unwrap());
}

#[test]
fn t048_clearing_a_watched_range_removes_one_by_one() {
    let world = World::new();
    let tx = world.foo();
    let set = filled(&tx, &[1, 2, 3, 4]);
    let events = Events::on(&tx, 20);
    set.range(Bound::Unbounded, Bound::Excluded(&int(2))).unwrap().clear().unwrap();
    assert_eq!(events.take(), ["remove 1"]);
    assert_eq!(show_all(&set.to_vec().unwrap()), "2,3,4");
}

#[test]
fn t049_clearing_is_one_event() {
    let world = World::new();
    let tx = world.foo();
    let set = filled(&tx, &[1, 2, 3, 4]);
    let events = Events::on(&tx, 20);
    set.clear().unwrap();
    assert_eq!(events.take(), ["clear"]);
    set.clear().unwrap();
    assert!(events.take().is_empty());
    assert!(tx.simple_index(sid(21)).unwrap().is_empty().unwrap());
}

#[test]
fn t050_outside_of_a_range() {
    let world = World::new();
    let tx = world.foo();
    let set = filled(&tx, &[100, 300]);
    let range = set.range(Bound::Included(&int(200)), Bound::Excluded(&int(800))).unwrap();
    assert_invalid_argument(range.add(&int(101)));
    assert_invalid_argument(range.add(&int(800)));
    assert!(!range.contains(&int(100)).unwrap());
    assert!(!range.remove(&int(100)).unwrap());
    assert!(range.contains(&int(300)).unwrap());
    assert_eq!(show_all(&set.to_vec().unwrap()), "100,300");
    assert_invalid_argument(set.range(Bound::Included(&int(5)), Bound::Included(&int(4))));
}

#[test]
fn t051_of_a_deleted_owner() {
    let world = World::new();
    let tx = world.foo();
    let set = filled(&tx, &[1, 2]);
    assert!(tx.delete(foo_id(1)).unwrap());
    assert_eq!(set.len().unwrap(), 0);
    assert!(set.is_empty().unwrap());
    assert_deleted(set.add(&int(1)), foo_id(1));
    assert_deleted(set.remove(&int(1)), foo_id(1));
    assert_deleted(set.clear(), foo_id(1));
    // Created again, the object has its set again.
    create(&tx, foo_id(1));
    assert!(set.add(&int(3)).unwrap());
    assert_eq!(show_all(&set.to_vec().unwrap()), "3");
}

#[test]
fn t052_null_comes_last() {
    let xml = FOO.replace(
        r#"<SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="21""#,
        r#"<SimpleField encoding="urn:fdc:permazen.io:2020:Integer" storageId="21""#,
    );
    let world = World::new();
    let tx = world.begin(&xml);
    let set = filled(&tx, &[5, -1]);
    assert!(set.add(&Value::Null).unwrap());
    assert_eq!(show_all(&set.to_vec().unwrap()), "-1,5,null");
    assert_eq!(set.last().unwrap(), Some(Value::Null));
}

#[test]
fn t053_removing_while_iterating_visits_all_once() {
    let world = World::new();
    let tx = world.foo();
    let values: Vec<i32> = (0..1000).collect();
    let set = filled(&tx, &values);
    let mut visited = Vec::new();
    for value in set.iter() {
        let value = value.unwrap();
        assert!(set.remove(&value).unwrap());
        visited.push(value);
    }
    assert_eq!(visited, ints(&values));
    assert!(set.is_empty().unwrap());
    assert!(tx.simple_index(sid(21)).unwrap().is_empty().unwrap());
}

/// Removing the first or last element maintains the index and calls listeners (D5).
#[test]
fn taking_an_end_is_a_proper_removal() {
    let world = World::new();
    let tx = world.foo();
    let set = filled(&tx, &[1, 2, 3]);
    let events = Events::on(&tx, 20);
    assert_eq!(set.pop_first().unwrap(), Some(int(1)));
    assert_eq!(set.pop_last().unwrap(), Some(int(3)));
    assert_eq!(events.take(), ["remove 1", "remove 3"]);
    let values: Vec<_> =
        tx.simple_index(sid(21)).unwrap().entries().map(|e| e.unwrap().value(0).unwrap()).collect();
    assert_eq!(show_all(&values), "2");
    assert_eq!(set.pop_first().unwrap(), Some(int(2)));
    assert_eq!(set.pop_first().unwrap(), None);
}

#[test]
fn retain_removes_from_index_too() {
    let world = World::new();
    let tx = world.foo();
    let set = filled(&tx, &(0..100).collect::<Vec<_>>());
    assert_eq!(set.retain(|value| matches!(value, Value::Int(n) if n % 3 == 0)).unwrap(), 66);
    assert_eq!(set.len().unwrap(), 34);
    assert_eq!(tx.simple_index(sid(21)).unwrap().count().unwrap(), 34);
}

/// A view refuses changes if its object was since moved to a schema without the field (D21).
#[test]
fn a_view_of_a_field_the_object_no_longer_has_refuses_changes() {
    let world = World::new();
    let tx = world.foo();
    filled(&tx, &[1]);
    tx.commit().unwrap();
    let without =
        FOO.lines().filter(|line| !line.contains("\"set\"")).collect::<Vec<_>>().join("\n");
    let tx = world.begin(&without);
    let set = set_of(&tx, 1);
    assert!(set.add(&int(2)).unwrap());
    assert!(tx.migrate(foo_id(1)).unwrap());
    assert!(set.is_empty().unwrap());
    assert_unknown_field(set.add(&int(3)));
    assert_unknown_field(set.clear());
    tx.commit().unwrap();
    assert!(!world.pairs().iter().any(|pair| pair.starts_with("15") || pair.contains("1114")));
}

#[test]
fn damaged_elements_are_named() {
    let world = World::new();
    let tx = world.foo();
    filled(&tx, &[1]);
    tx.commit().unwrap();
    world.raw("0a1111111111111114f8", Some(""));
    let tx = world.foo();
    let set = set_of(&tx, 1);
    let error = set.to_vec().unwrap_err();
    assert!(matches!(error, Error::Inconsistent { .. }));
    let message = error.to_string();
    assert!(message.contains("0a1111111111111114f8") && message.contains("set"), "{message}");
    // the rest of the object stays usable
    assert_eq!(set.first().unwrap(), Some(int(1)));
    assert!(set.add(&int(4)).unwrap());
}

const OF_REFERENCES: &str = r#"<Schema><ObjectType name="B" storageId="11"/><ObjectType name="A" storageId="10">
<SetField name="set" storageId="20"><ReferenceField storageId="21" inverseDelete="REMOVE"><ObjectTypes><ObjectType name="B"/></ObjectTypes></ReferenceField></SetField>
</ObjectType></Schema>"#;

#[test]
fn a_bound_may_be_a_reference_that_cannot_be_an_element() {
    let world = World::new();
    let tx = world.begin(OF_REFERENCES);
    let a = create(&tx, id("0a00000000000001"));
    let b = create(&tx, id("0b00000000000001"));
    let set = tx.set_view(a, "set", Migrate::No).unwrap();
    set.add(&Value::Ref(b)).unwrap();
    assert_invalid_value(set.add(&Value::Ref(a)));
    let after = Value::Ref(a);
    let rest = set.range(Bound::Excluded(&after), Bound::Unbounded).unwrap();
    assert_eq!(rest.first().unwrap(), Some(Value::Ref(b)));
}
