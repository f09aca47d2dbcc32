//! Lists.

use permazen::encoding::Value;
use permazen::object::{Error, ListView, Migrate, Transaction};

use crate::support::*;

fn list_of<'t>(tx: &'t Transaction, n: u8) -> ListView<'t> {
    tx.list_view(foo_id(n), "list", Migrate::No).unwrap()
}

fn filled<'t>(tx: &'t Transaction, values: &[&str]) -> ListView<'t> {
    create(tx, foo_id(1));
    let list = list_of(tx, 1);
    assert_eq!(list.extend(&texts(values)).unwrap(), !values.is_empty());
    list
}

fn content(list: &ListView<'_>) -> String {
    show_all(&list.to_vec().unwrap())
}

fn unindexed() -> String {
    FOO.replace(r#"storageId="23" indexed="true""#, r#"storageId="23""#)
}

#[test]
fn t054_inserting_at_the_front_moves_from_the_end() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["a", "b"]);
    let (_, cost) = world.cost(|| list.insert(0, &text("c")).unwrap());
    // one seek for the size, one scan of what moves; content and index of three elements
    assert_eq!((cost.seeks, cost.puts, cost.removes), (2, 6, 2));
    assert_eq!(content(&list), "c,a,b");
    tx.commit().unwrap();
    let pairs = world.pairs();
    for pair in [
        "0a111111111111111600=6300",
        "0a111111111111111601=6100",
        "0a111111111111111602=6200",
        "1761000a1111111111111101=",
        "1762000a1111111111111102=",
        "1763000a1111111111111100=",
    ] {
        assert!(pairs.contains(&pair.to_owned()), "{pair} in {pairs:?}");
    }
    assert_eq!(pairs.iter().filter(|pair| pair.starts_with("17")).count(), 3);
}

#[test]
fn t055_setting_returns_the_element_before() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["a", "b", "c"]);
    let events = Events::on(&tx, 22);
    assert_eq!(list.set(1, &text("z")).unwrap(), text("b"));
    assert_eq!(events.take(), ["replace 1:b->z"]);
    let (old, cost) = world.cost(|| list.set(1, &text("z")).unwrap());
    assert_eq!((old, cost.gets, cost.writes()), (text("z"), 1, 0));
    assert!(events.take().is_empty());
}

#[test]
fn t056_positions_outside() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["a", "b"]);
    assert_out_of_range(list.set(2, &text("x")));
    assert_out_of_range(list.remove(2));
    assert_out_of_range(list.insert(3, &text("x")));
    assert_out_of_range(list.remove_range(1, 3));
    assert_invalid_argument(list.remove_range(2, 1));
    assert_eq!(list.get(2).unwrap(), None);
    assert_eq!(list.get(u32::MAX).unwrap(), None);
    assert_out_of_range(list.set(u32::MAX, &text("x")));
    assert_out_of_range(list.insert(u32::MAX, &text("x")));
    list.insert(2, &text("c")).unwrap();
    assert_eq!(content(&list), "a,b,c");
}

#[test]
fn t057_removing_a_range() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["z", "b", "c"]);
    let events = Events::on(&tx, 22);
    let (_, cost) = world.cost(|| list.remove_range(1, 3).unwrap());
    assert_eq!(cost.span_removes, 1);
    assert_eq!(events.take(), ["remove 1:b", "remove 2:c"]);
    assert_eq!(content(&list), "z");
}

#[test]
fn t058_removing_the_only_element_is_told_as_clear() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["a"]);
    let events = Events::on(&tx, 22);
    assert_eq!(list.remove(0).unwrap(), text("a"));
    assert_eq!(events.take(), ["clear"]);
}

#[test]
fn t059_inserting_several_is_told_afterwards() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["z"]);
    let events = Events::on(&tx, 22);
    assert!(list.insert_all(0, &texts(&["a", "b", "c"])).unwrap());
    assert_eq!(events.take(), ["add 0:a", "add 1:b", "add 2:c"]);
    assert_eq!(content(&list), "a,b,c,z");
}

/// Unlike in Java, the events come when all elements are there.
#[test]
fn t060_appending_without_index_tells_of_each_element() {
    let world = World::new();
    let tx = world.begin(&unindexed());
    let list = filled(&tx, &[]);
    let (sizes, seen) = Log::pair();
    on_change(&tx, 22, move |tx: &Transaction, _: &_, _: &_| seen.add(list_of(tx, 1).len()?));
    assert!(list.extend(&texts(&["a", "b", "c"])).unwrap());
    assert_eq!(sizes.all(), [3, 3, 3]);
}

#[test]
fn t061_inserting_nothing() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["z", "b"]);
    let events = Events::on(&tx, 22);
    let (inserted, cost) = world.cost(|| list.insert_all(0, &[]).unwrap());
    assert!(!inserted && events.take().is_empty());
    assert_eq!(cost.writes(), 0);
    assert_out_of_range(list.insert_all(3, &[]));
}

#[test]
fn t062_null_elements() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &[]);
    list.push(&Value::Null).unwrap();
    tx.commit().unwrap();
    let pairs = world.pairs();
    assert!(pairs.contains(&"0a111111111111111600=ff".to_owned()));
    assert!(pairs.contains(&"17ff0a1111111111111100=".to_owned()));
}

#[test]
fn t063_long_lists_have_longer_keys() {
    let world = World::new();
    let tx = world.begin(&unindexed());
    let list = filled(&tx, &vec!["x"; 300]);
    assert_eq!(list.len().unwrap(), 300);
    tx.commit().unwrap();
    let pairs = world.pairs();
    assert!(pairs.contains(&"0a1111111111111116fa=7800".to_owned()));
    assert!(pairs.contains(&"0a1111111111111116fb00=7800".to_owned()));
    assert!(pairs.contains(&"0a1111111111111116fb30=7800".to_owned()));
}

/// Removing through a cursor visits every element (D2).
#[test]
fn a_cursor_removes_without_skipping() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["a", "b", "c", "d", "e"]);
    let mut cursor = list.cursor();
    let mut visited = Vec::new();
    while let Some(value) = cursor.step().unwrap() {
        visited.push(value);
        cursor.remove().unwrap();
    }
    assert_eq!(show_all(&visited), "a,b,c,d,e");
    assert!(list.is_empty().unwrap());
    assert!(tx.simple_index(sid(23)).unwrap().is_empty().unwrap());
}

#[test]
fn a_cursor_inserts_replaces_and_goes_back() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["a", "b"]);
    let mut cursor = list.cursor();
    assert_invalid_argument(cursor.remove());
    cursor.insert(&text("0")).unwrap();
    assert_eq!(cursor.step().unwrap(), Some(text("a")));
    assert_eq!(cursor.set(&text("A")).unwrap(), text("a"));
    assert_eq!(cursor.step().unwrap(), Some(text("b")));
    assert_eq!(cursor.step().unwrap(), None);
    assert_eq!(cursor.step_back().unwrap(), Some(text("b")));
    cursor.remove().unwrap();
    assert_eq!(cursor.position(), 2);
    assert_eq!(content(&list), "0,A");
}

#[test]
fn retain_keeps_order_with_and_without_listeners() {
    for watched in [false, true] {
        let world = World::new();
        let tx = world.foo();
        let list = filled(&tx, &["a", "x", "x", "b", "x"]);
        let events = watched.then(|| Events::on(&tx, 22));
        assert_eq!(list.retain(|value| *value != text("x")).unwrap(), 3);
        assert_eq!(content(&list), "a,b");
        if let Some(events) = events {
            assert_eq!(events.take(), ["remove 1:x", "remove 1:x", "remove 2:x"]);
        }
        tx.commit().unwrap();
        let index: Vec<_> =
            world.pairs().into_iter().filter(|pair| pair.starts_with("17")).collect();
        assert_eq!(index, ["1761000a1111111111111100=", "1762000a1111111111111101="]);
    }
}

#[test]
fn a_hole_is_reported_and_nothing_changed() {
    let world = World::new();
    let tx = world.foo();
    filled(&tx, &["a", "b", "c"]);
    tx.commit().unwrap();
    world.raw("0a111111111111111601", None);
    let before = world.pairs();
    let tx = world.foo();
    let list = list_of(&tx, 1);
    for result in [list.insert(0, &text("x")), list.remove_range(0, 1)] {
        assert!(matches!(result, Err(Error::Inconsistent { .. })), "{result:?}");
    }
    assert_eq!(list.get(0).unwrap(), Some(text("a")));
    tx.commit().unwrap();
    assert_eq!(world.pairs(), before);
}

#[test]
fn a_failed_element_changes_nothing() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["a", "b"]);
    let (result, cost) = world.cost(|| list.insert_all(1, &[text("x"), int(3)]));
    assert_invalid_value(result);
    assert_eq!(cost.writes(), 0);
    assert_eq!(content(&list), "a,b");
}

#[test]
fn large_lists_are_edited_at_their_ends_cheaply() {
    let world = World::new();
    let tx = world.begin(&unindexed());
    create(&tx, foo_id(1));
    let list = list_of(&tx, 1);
    let elements = vec![text("x"); 100_000];
    let (_, cost) = world.cost(|| list.extend(&elements).unwrap());
    assert_eq!((cost.puts, cost.reads()), (100_000, 1));
    let (_, cost) = world.cost(|| list.push(&text("y")).unwrap());
    assert_eq!((cost.seeks, cost.gets, cost.steps, cost.writes()), (1, 0, 0, 1));
    let (value, cost) = world.cost(|| list.get(100_000).unwrap());
    assert_eq!((value, cost.reads()), (Some(text("y")), 1));
    let (_, cost) = world.cost(|| list.insert(99_999, &text("z")).unwrap());
    assert_eq!((cost.puts, cost.steps), (3, 2));
    assert_eq!(list.len().unwrap(), 100_002);
    let (_, cost) = world.cost(|| list.clear().unwrap());
    assert_eq!((cost.span_removes, cost.writes()), (1, 1));
}

#[test]
fn elements_that_are_arrays_are_found_by_their_content() {
    let arrays = FOO.replace(
        r#"encoding="urn:fdc:permazen.io:2020:String" storageId="23""#,
        r#"encoding="urn:fdc:permazen.io:2020:int[]" storageId="23""#,
    );
    assert_ne!(arrays, FOO);
    let world = World::new();
    let tx = world.begin(&arrays);
    create(&tx, foo_id(1));
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    let encoding = list.field().sub_field("element").unwrap().simple().unwrap().encoding.clone();
    let array = |text: &str| encoding.from_text(text).unwrap();
    list.extend(&[array(r#"[ "1" ]"#), array(r#"[ "2", "3" ]"#)]).unwrap();
    assert_eq!(list.position(&array(r#"[ "2", "3" ]"#)).unwrap(), Some(1));
    assert!(list.remove_value(&array(r#"[ "1" ]"#)).unwrap());
    assert_eq!(list.len().unwrap(), 1);
}

/// An operation that replaces or removes an element also returns it. So a damaged element stays
/// until it is removed without being returned.
#[test]
fn a_damaged_element_is_named_and_can_be_replaced_by_bytes() {
    let world = World::new();
    let tx = world.foo();
    filled(&tx, &["a", "b", "c"]);
    tx.commit().unwrap();
    world.raw("0a111111111111111602", Some("63"));
    let before = world.pairs();
    let tx = world.foo();
    let list = list_of(&tx, 1);
    for result in [list.set(2, &text("x")), list.remove(2), list.pop().map(Option::unwrap)] {
        let message = result.unwrap_err().to_string();
        for part in ["0a111111111111111602", "list", "0a11111111111111"] {
            assert!(message.contains(part), "{part} in {message}");
        }
    }
    tx.commit().unwrap();
    assert_eq!(world.pairs(), before);
    let tx = world.foo();
    let list = list_of(&tx, 1);
    assert_eq!(list.encoded().set(2, b"x\0").unwrap(), b"c");
    assert_eq!(content(&list), "a,b,x");
}

#[test]
fn retaining_in_a_watched_list_tells_positions_as_if_one_by_one() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["x", "a", "x", "x", "b", "c"]);
    let events = Events::on(&tx, 22);
    assert_eq!(list.retain(|value| *value != text("x") && *value != text("b")).unwrap(), 4);
    assert_eq!(events.take(), ["remove 0:x", "remove 1:x", "remove 1:x", "remove 1:b"]);
    assert_eq!(content(&list), "a,c");
    assert_eq!(list.retain(|_| false).unwrap(), 2);
    assert_eq!(events.take(), ["clear"]);
}

#[test]
fn removing_a_range_of_a_watched_list_tells_positions_before_the_removal() {
    let world = World::new();
    let tx = world.foo();
    let list = filled(&tx, &["a", "b", "c", "d", "e"]);
    let events = Events::on(&tx, 22);
    list.remove_range(1, 3).unwrap();
    assert_eq!(events.take(), ["remove 1:b", "remove 2:c"]);
    list.remove_range(1, 3).unwrap();
    assert_eq!(events.take(), ["remove 1:d", "remove 2:e"]);
    list.remove_range(0, 1).unwrap();
    assert_eq!(events.take(), ["clear"]);
}

/// Elements are moved in pieces. The list knows what each piece overwrites, and puts it back after
/// a failure.
#[test]
fn moves_of_many_elements_are_undone() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    let list = list_of(&tx, 1);
    let numbers =
        |range: std::ops::Range<i32>| range.map(|n| text(&n.to_string())).collect::<Vec<_>>();
    list.extend(&numbers(0..1700)).unwrap();
    let entries = || {
        tx.list_element_index(sid(23))
            .unwrap()
            .entries()
            .map(|e| e.unwrap().to_values().unwrap())
            .collect::<Vec<_>>()
    };
    let before = (list.to_vec().unwrap(), entries());
    let changes: [&dyn Fn() -> permazen::object::Result<()>; 4] = [
        &|| list.insert_all(3, &numbers(5000..5600)).map(drop),
        &|| list.insert_all(3, &numbers(5000..5001)).map(drop),
        &|| list.remove_range(3, 603),
        &|| list.remove_range(3, 5),
    ];
    for (number, change) in changes.iter().enumerate() {
        let failed = tx.atomic(|_| {
            change()?;
            Err::<(), _>(Error::listener("no"))
        });
        assert!(matches!(failed, Err(Error::Listener(_))), "{failed:?}");
        assert!((list.to_vec().unwrap(), entries()) == before, "change {number}");
    }
}
