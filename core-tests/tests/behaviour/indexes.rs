//! Index views.

use std::ops::Bound;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{Error, IndexView, Migrate, Transaction};

use crate::support::*;

fn rows(view: &IndexView<'_>) -> Vec<String> {
    let row = |entry: permazen::object::Result<permazen::object::IndexEntry<'_>>| {
        let values = entry.unwrap().to_values().unwrap();
        values.iter().map(short).collect::<Vec<_>>().join(",")
    };
    let forward: Vec<_> = view.entries().map(row).collect();
    let mut backward: Vec<_> = view.entries().rev().map(row).collect();
    backward.reverse();
    assert_eq!(forward, backward, "backward is forward turned round");
    forward
}

/// Like `show`, with `id1` for the ID `0a11…`.
fn short(value: &Value) -> String {
    match value {
        Value::Ref(id) if id.as_bytes()[0] == 0x0a => format!("id{}", id.as_bytes()[1] / 0x11),
        other => show(other),
    }
}

fn new_foo(tx: &Transaction, n: u8, i: i32, s: Value) {
    create(tx, foo_id(n));
    set(tx, foo_id(n), "i", int(i));
    set(tx, foo_id(n), "s", s);
}

/// i: id1=1, id4=1, id2=2, id3=3; s: x, z, y, null.
fn example(tx: &Transaction) {
    new_foo(tx, 1, 1, text("x"));
    new_foo(tx, 4, 1, text("z"));
    new_foo(tx, 2, 2, text("y"));
    new_foo(tx, 3, 3, Value::Null);
}

#[test]
fn t071_no_object_with_a_value() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    let index = tx.simple_index(sid(11)).unwrap();
    assert!(index.get(&[int(99)]).unwrap().is_empty().unwrap());
    assert!(index.get(&[text("no int")]).unwrap().is_empty().unwrap());
    assert_eq!(index.get(&[int(1)]).unwrap().to_vec().unwrap(), [foo_id(1), foo_id(4)]);
    assert_invalid_argument(index.get(&[]));
}

#[test]
fn t072_objects_referring_to_nothing() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    set(&tx, foo_id(1), "r", Value::Ref(foo_id(2)));
    let index = tx.simple_index(sid(13)).unwrap();
    let none = index.get(&[Value::Null]).unwrap();
    assert_eq!(none.to_vec().unwrap(), [foo_id(2), foo_id(3), foo_id(4)]);
    assert_eq!(rows(&index)[0], "id2,id1");
}

#[test]
fn t073_list_elements_with_and_without_positions() {
    let world = World::new();
    let tx = world.foo();
    for n in [1, 2] {
        create(&tx, foo_id(n));
    }
    tx.list_view(foo_id(1), "list", Migrate::No).unwrap().extend(&texts(&["p", "q", "p"])).unwrap();
    tx.list_view(foo_id(2), "list", Migrate::No).unwrap().push(&text("p")).unwrap();
    let simple = tx.simple_index(sid(23)).unwrap();
    assert_eq!(rows(&simple), ["p,id1", "p,id2", "q,id1"]);
    assert_eq!(simple.get(&[text("p")]).unwrap().to_vec().unwrap(), [foo_id(1), foo_id(2)]);
    let positions = tx.list_element_index(sid(23)).unwrap();
    assert_eq!(rows(&positions), ["p,id1,0", "p,id1,2", "p,id2,0", "q,id1,1"]);
    let of_one = positions.with_prefix(&[text("p"), Value::Ref(foo_id(1))]).unwrap();
    assert_eq!(rows(&of_one), ["p,id1,0", "p,id1,2"]);
    let last = of_one.last().unwrap().unwrap();
    assert_eq!((last.position().unwrap(), last.id().unwrap()), (2, foo_id(1)));
    // a bound on positions
    let from_1 = positions.with_bounds(2, Bound::Included(&int(1)), Bound::Unbounded).unwrap();
    assert_eq!(rows(&from_1), ["p,id1,2", "q,id1,1"]);
    assert_eq!(rows(&from_1.distinct(2)), ["p,id1", "q,id1"]);
}

#[test]
fn t074_map_values_with_keys() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    let map = tx.map_view(foo_id(1), "map", Migrate::No).unwrap();
    map.put(&int(1), &text("v")).unwrap();
    map.put(&int(2), &text("v")).unwrap();
    assert_eq!(rows(&tx.map_value_index(sid(26)).unwrap()), ["v,id1,1", "v,id1,2"]);
    assert_eq!(rows(&tx.simple_index(sid(26)).unwrap()), ["v,id1"]);
    assert_eq!(rows(&tx.simple_index(sid(25)).unwrap()), ["1,id1", "2,id1"]);
}

#[test]
fn t075_composite_entries_follow_their_fields() {
    let world = World::new();
    let tx = world.foo();
    new_foo(&tx, 1, 1, text("x"));
    let index = tx.composite_index(sid(30), 2).unwrap();
    assert_eq!(rows(&index), ["1,x,id1"]);
    set(&tx, foo_id(1), "s", text("y"));
    assert_eq!(rows(&index), ["1,y,id1"]);
    set(&tx, foo_id(1), "i", int(7));
    assert_eq!(rows(&index), ["7,y,id1"]);
}

#[test]
fn t076_distinct_pairs_of_a_composite_index() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    new_foo(&tx, 5, 1, text("x"));
    let index = tx.composite_index(sid(30), 2).unwrap();
    assert_eq!(rows(&index), ["1,x,id1", "1,x,id5", "1,z,id4", "2,y,id2", "3,null,id3"]);
    assert_eq!(rows(&index.truncated(2)), ["1,x", "1,z", "2,y", "3,null"]);
    assert_eq!(rows(&index.truncated(1)), ["1", "2", "3"]);
    let one = index.with_prefix(&[int(1)]).unwrap();
    assert_eq!(rows(&one), ["1,x,id1", "1,x,id5", "1,z,id4"]);
    assert_eq!(rows(&one.distinct(2)), ["1,x", "1,z"]);
    // each group as a view of its own
    let groups: Vec<String> = index
        .values()
        .entries()
        .map(|key| {
            let key = key.unwrap();
            rows(&index.with_prefix_of(&key)).join(" ")
        })
        .collect();
    assert_eq!(groups, ["1,x,id1 1,x,id5", "1,z,id4", "2,y,id2", "3,null,id3"]);
}

#[test]
fn t077_bounds_on_values() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    let index = tx.simple_index(sid(11)).unwrap();
    let from_2 = index.with_bounds(0, Bound::Included(&int(2)), Bound::Unbounded).unwrap();
    assert_eq!(rows(&from_2.values()), ["2", "3"]);
    let between = index.with_bounds(0, Bound::Excluded(&int(1)), Bound::Excluded(&int(3))).unwrap();
    assert_eq!(rows(&between), ["2,id2"]);
    // repeated bounds intersect
    let both = from_2.with_bounds(0, Bound::Unbounded, Bound::Included(&int(2))).unwrap();
    assert_eq!(rows(&both), ["2,id2"]);
    assert_invalid_argument(index.with_bounds(
        0,
        Bound::Included(&int(3)),
        Bound::Included(&int(2)),
    ));
    assert_invalid_argument(index.with_bounds(0, Bound::Included(&text("x")), Bound::Unbounded));
    assert_invalid_argument(index.with_bounds(2, Bound::Included(&int(3)), Bound::Unbounded));
    let none = index.with_bounds(0, Bound::Excluded(&int(2)), Bound::Excluded(&int(2))).unwrap();
    assert!(none.is_empty().unwrap());
}

#[test]
fn t078_bounds_on_objects_hide_values_without_any() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    let index = tx.simple_index(sid(11)).unwrap();
    let view = index.of_ids((Bound::Excluded(foo_id(2)), Bound::Unbounded));
    assert_eq!(rows(&view), ["1,id4", "3,id3"]);
    assert_eq!(rows(&view.values()), ["1", "3"]);
    assert!(view.get(&[int(2)]).unwrap().is_empty().unwrap());
}

#[test]
fn t079_cutting_columns_drops_their_bounds() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    let index = tx.composite_index(sid(30), 2).unwrap().of_ids(foo_id(1)..=foo_id(1));
    assert_eq!(rows(&index), ["1,x,id1"]);
    assert_eq!(rows(&index.truncated(2)), ["1,x", "1,z", "2,y", "3,null"]);
    assert_eq!(rows(&index.distinct(2)), ["1,x"]);
}

#[test]
fn t080_indexes_of_another_kind() {
    let world = World::new();
    let tx = world.foo();
    assert_unknown_index(tx.composite_index(sid(30), 3));
    assert_unknown_index(tx.composite_index(sid(11), 1));
    assert_unknown_index(tx.list_element_index(sid(21)));
    assert_unknown_index(tx.map_value_index(sid(25)));
    assert!(tx.composite_index(sid(31), 3).is_ok());
}

#[test]
fn t081_no_index() {
    let world = World::new();
    let tx = world.foo();
    assert_unknown_index(tx.simple_index(sid(12)));
    assert_unknown_field(tx.simple_index(sid(99)));
    assert_unknown_field(tx.simple_index(sid(20)));
    assert_unknown_field(tx.simple_index(sid(30)));
    assert_unknown_index(tx.index(sid(99)));
}

const SHARED: &str = r#"<Schema>
<ObjectType name="A" storageId="10"><ReferenceField name="r" storageId="13"><ObjectTypes><ObjectType name="A"/></ObjectTypes></ReferenceField></ObjectType>
<ObjectType name="B" storageId="11"><ReferenceField name="r" storageId="13"><ObjectTypes><ObjectType name="B"/></ObjectTypes></ReferenceField></ObjectType>
</Schema>"#;

#[test]
fn t082_types_sharing_a_reference_field() {
    let world = World::new();
    let tx = world.begin(SHARED);
    let (a, b) = (create(&tx, id("0a00000000000001")), create(&tx, id("0b00000000000001")));
    set(&tx, a, "r", Value::Ref(a));
    set(&tx, b, "r", Value::Ref(b));
    let index = tx.simple_index(sid(13)).unwrap();
    let values: Vec<_> = index.entries().map(|entry| entry.unwrap().value(0).unwrap()).collect();
    assert_eq!(values, [Value::Ref(a), Value::Ref(b)]);
    let of_b = index.of_types([sid(11)]);
    assert_eq!(of_b.ids().map(Result::unwrap).collect::<Vec<_>>(), [b]);
    let to_a = index.with_references_to(0, [sid(10)], false).unwrap();
    assert_eq!(to_a.ids().map(Result::unwrap).collect::<Vec<_>>(), [a]);
    set(&tx, b, "r", Value::Null);
    let to_a_or_null = index.with_references_to(0, [sid(10)], true).unwrap();
    assert_eq!(to_a_or_null.ids().map(Result::unwrap).collect::<Vec<_>>(), [a, b]);
    assert_eq!(to_a_or_null.ids().rev().map(Result::unwrap).collect::<Vec<_>>(), [b, a]);
}

/// The schema or type that was recorded last does not decide whether an index is found (D16).
#[test]
fn an_index_is_found_wherever_it_is() {
    let two = |a: &str, b: &str| {
        format!(
            r#"<Schema><ObjectType name="A"><SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" indexed="{a}" storageId="5"/></ObjectType>
            <ObjectType name="B"><SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" indexed="{b}" storageId="5"/></ObjectType></Schema>"#
        )
    };
    for (a, b) in [("true", "false"), ("false", "true")] {
        let world = World::new();
        let tx = world.begin(&two(a, b));
        let made = [tx.create("A").unwrap(), tx.create("B").unwrap()];
        let expected = made[usize::from(b == "true")];
        let index = tx.simple_index(sid(5)).unwrap();
        assert_eq!(index.ids().map(Result::unwrap).collect::<Vec<_>>(), [expected]);
        tx.commit().unwrap();
        // A newer schema without the index does not hide the entries of older objects.
        let tx = world.begin(&two("false", "false"));
        let index = tx.simple_index(sid(5)).unwrap();
        assert_eq!(index.ids().map(Result::unwrap).collect::<Vec<_>>(), [expected]);
    }
}

/// One query method takes indexes of every kind (D17).
#[test]
fn one_query_for_every_kind_of_index() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    tx.list_view(foo_id(1), "list", Migrate::No).unwrap().push(&text("p")).unwrap();
    tx.set_view(foo_id(1), "set", Migrate::No).unwrap().add(&int(9)).unwrap();
    tx.map_view(foo_id(1), "map", Migrate::No).unwrap().put(&int(7), &text("v")).unwrap();
    assert_eq!(rows(&tx.index(sid(11)).unwrap())[0], "1,id1");
    assert_eq!(rows(&tx.index(sid(21)).unwrap()), ["9,id1"]);
    assert_eq!(rows(&tx.index(sid(23)).unwrap()), ["p,id1,0"]);
    assert_eq!(rows(&tx.index(sid(25)).unwrap()), ["7,id1"]);
    assert_eq!(rows(&tx.index(sid(26)).unwrap()), ["v,id1,7"]);
    assert_eq!(rows(&tx.index(sid(30)).unwrap())[0], "1,x,id1");
    assert_eq!(rows(&tx.index(sid(31)).unwrap())[0], "1,null,null,id1");
}

#[test]
fn by_name() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    tx.list_view(foo_id(1), "list", Migrate::No).unwrap().push(&text("p")).unwrap();
    assert_eq!(rows(&tx.index_by_name("Foo", "i").unwrap()).len(), 4);
    assert_eq!(rows(&tx.index_by_name("Foo", "list").unwrap()), ["p,id1,0"]);
    assert_eq!(rows(&tx.index_by_name("Foo", "list.element").unwrap()), ["p,id1,0"]);
    assert_eq!(rows(&tx.index_by_name("Foo", "is").unwrap()).len(), 4);
    assert_unknown_index(tx.index_by_name("Foo", "s"));
    assert_unknown_index(tx.index_by_name("Foo", "map"));
    assert_unknown_field(tx.index_by_name("Foo", "nope"));
    assert!(matches!(tx.index_by_name("Nope", "i"), Err(Error::UnknownType { .. })));
    // the same from a transaction that does not know the type
    tx.commit().unwrap();
    let tx = world.begin(r#"<Schema><ObjectType name="Other"/></Schema>"#);
    assert_eq!(rows(&tx.index_by_name("Foo", "i").unwrap()).len(), 4);
}

const TWO_MAPS: &str = r#"<Schema>
<ObjectType name="A" storageId="10"><MapField name="m" storageId="20"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="21"/>
  <SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="22" indexed="true"/></MapField></ObjectType>
<ObjectType name="B" storageId="11"><MapField name="m" storageId="23"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="24"/>
  <SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="22" indexed="true"/></MapField></ObjectType>
</Schema>"#;

/// Maps with keys of different encodings that share the index of their values (D31).
#[test]
fn map_keys_of_different_encodings_in_one_index() {
    let world = World::new();
    let tx = world.begin(TWO_MAPS);
    let (a, b) = (create(&tx, id("0a00000000000001")), create(&tx, id("0b00000000000001")));
    tx.map_view(a, "m", Migrate::No).unwrap().put(&int(7), &text("v")).unwrap();
    tx.map_view(b, "m", Migrate::No).unwrap().put(&text("k"), &text("v")).unwrap();
    let index = tx.map_value_index(sid(22)).unwrap();
    let keys: Vec<_> = index.entries().map(|entry| entry.unwrap().value(2).unwrap()).collect();
    assert_eq!(keys, [int(7), text("k")]);
    let keys: Vec<_> =
        index.entries().rev().map(|entry| entry.unwrap().value(2).unwrap()).collect();
    assert_eq!(keys, [text("k"), int(7)]);
}

#[test]
fn only_objects_of_a_schema() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    let old = tx.schema().index;
    tx.commit().unwrap();
    let tx = world.begin(&foo_with_more());
    create(&tx, foo_id(5));
    let new = tx.schema().index;
    let index = tx.simple_index(sid(11)).unwrap();
    assert_eq!(rows(&index.in_schema(new)), ["0,id5"]);
    assert_eq!(rows(&index.in_schema(old)), ["1,id1", "1,id4", "2,id2", "3,id3"]);
    assert_eq!(rows(&index.in_schema(old).values()), ["1", "2", "3"]);
    let ones = index.in_schema(old).get(&[int(1)]).unwrap();
    assert_eq!(ones.to_vec().unwrap(), [foo_id(1), foo_id(4)]);
    assert!(index.in_schema(new).get(&[int(1)]).unwrap().is_empty().unwrap());
}

/// Views limited to schemas, for every kind of index, in both directions, alone and together.
#[test]
fn objects_of_several_schemas_in_every_kind_of_index() {
    let world = World::new();
    let third = foo_with_more().replace("more", "most");
    let mut schemas = Vec::new();
    for (n, xml) in (1..).zip([FOO, &foo_with_more(), &third]) {
        let tx = world.begin(xml);
        let id = create(&tx, foo_id(n));
        set(&tx, id, "i", int(7));
        set(&tx, id, "s", text("s"));
        tx.set_view(id, "set", Migrate::No).unwrap().add(&int(7)).unwrap();
        tx.list_view(id, "list", Migrate::No).unwrap().extend(&texts(&["v", "v"])).unwrap();
        tx.map_view(id, "map", Migrate::No).unwrap().put(&int(7), &text("v")).unwrap();
        schemas.push(tx.schema().index);
        tx.commit().unwrap();
    }
    let tx = world.foo();
    let all = [foo_id(1), foo_id(2), foo_id(3)];
    for number in [11, 15, 21, 23, 25, 26, 30, 31] {
        let view = tx.index(sid(number)).unwrap();
        for wanted in 0..8 {
            let chosen = |n: &usize| wanted >> n & 1 == 1;
            let expected: Vec<_> = (0..3).filter(chosen).map(|n| all[n]).collect();
            let view = view.in_schemas((0..3).filter(chosen).map(|n| schemas[n]));
            let each = if number == 23 { 2 } else { 1 };
            let rows: Vec<_> = view.entries().map(|row| row.unwrap().id().unwrap()).collect();
            assert_eq!(rows.len(), expected.len() * each, "index {number}, schemas {wanted:b}");
            let mut backward: Vec<_> =
                view.entries().rev().map(|row| row.unwrap().id().unwrap()).collect();
            backward.reverse();
            assert_eq!(backward, rows);
            let ids: Vec<_> = view.ids().map(Result::unwrap).collect();
            assert_eq!(ids, expected, "index {number}, schemas {wanted:b}");
            let mut ids: Vec<_> = view.ids().rev().map(Result::unwrap).collect();
            ids.reverse();
            assert_eq!(ids, expected);
            assert_eq!(view.id_set().unwrap().to_vec().unwrap(), expected);
            assert_eq!(view.is_empty().unwrap(), expected.is_empty());
            assert_eq!(view.values().count().unwrap(), usize::from(!expected.is_empty()));
            let entry = tx.index(sid(number)).unwrap().values().first().unwrap().unwrap();
            let of_value = view.get(&entry.to_values().unwrap()).unwrap();
            assert_eq!(of_value.to_vec().unwrap(), expected);
            assert_eq!(of_value.iter().rev().count(), expected.len());
            // Several restrictions all apply.
            let narrowed = view.in_schemas([schemas[0], schemas[1]]).in_schema(schemas[1]);
            let left: Vec<_> = narrowed.ids().map(Result::unwrap).collect();
            assert_eq!(left, Vec::from_iter(chosen(&1).then_some(all[1])));
        }
        assert!(view.in_schema(schemas[0]).in_schema(schemas[1]).is_empty().unwrap());
    }
    // A migrated object belongs to its new schema. A view of no schema reads nothing. A view of
    // several schemas looks for each object in one after another, with a get each.
    let index = tx.simple_index(sid(11)).unwrap();
    assert!(tx.migrate(foo_id(3)).unwrap());
    assert_eq!(rows(&index.in_schema(schemas[0])), ["7,id1", "7,id3"]);
    let (_, cost) = world.cost(|| index.in_schemas([]).count().unwrap());
    assert_eq!((cost.gets, cost.seeks), (0, 0));
    let (_, cost) = world.cost(|| index.in_schemas(schemas.clone()).count().unwrap());
    assert_eq!((cost.gets, cost.steps), (1 + 2 + 1, 3));
}

/// Objects change in the loop that an index query drives. Objects moved ahead of it are returned
/// again, objects moved back are not.
#[test]
fn changing_the_index_while_walking_it() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    let mut walked = Vec::new();
    for entry in tx.simple_index(sid(11)).unwrap().entries() {
        let entry = entry.unwrap();
        let (id, Value::Int(i)) = (entry.id().unwrap(), entry.value(0).unwrap()) else { panic!() };
        walked.push((i, id));
        match i {
            1 => set(&tx, id, "i", int(10)),
            2 => set(&tx, id, "i", int(-1)),
            _ => {}
        }
    }
    let expected = [(1, 1), (1, 4), (2, 2), (3, 3), (10, 1), (10, 4)].map(|(i, n)| (i, foo_id(n)));
    assert_eq!(walked, expected);
}

#[test]
fn from_both_ends() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    let index = tx.simple_index(sid(11)).unwrap();
    let mut ids = index.ids();
    assert_eq!(ids.next().unwrap().unwrap(), foo_id(1));
    assert_eq!(ids.next_back().unwrap().unwrap(), foo_id(3));
    assert_eq!(ids.next_back().unwrap().unwrap(), foo_id(2));
    assert_eq!(ids.next().unwrap().unwrap(), foo_id(4));
    assert!(ids.next().is_none() && ids.next_back().is_none());
}

#[test]
fn damaged_entries_are_named() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    tx.commit().unwrap();
    // the ID is cut short
    world.raw("0b810a1111", Some(""));
    let tx = world.foo();
    let index = tx.simple_index(sid(11)).unwrap();
    let results: Vec<_> = index.ids().collect();
    assert_eq!(results.len(), 3, "two good entries, then the error ends the walk");
    let error = results[2].as_ref().unwrap_err();
    assert!(matches!(error, Error::Inconsistent { .. }));
    assert!(error.to_string().contains("0b810a1111"), "{error}");
    // other parts of the index stay readable
    let from_3 = index.with_bounds(0, Bound::Included(&int(3)), Bound::Unbounded).unwrap();
    assert_eq!(rows(&from_3), ["3,id3"]);
}

#[test]
fn restrictions_of_every_form_add_up() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    let index = tx.composite_index(sid(30), 2).unwrap();
    let (low, high) = ([int(1), text("z")], [int(2)]);
    let all = [int(0)];
    let from = |view: &IndexView<'_>, low: &[Value]| {
        rows(&view.with_tuple_bounds(Bound::Included(low), Bound::Unbounded).unwrap())
    };
    let between = index.with_tuple_bounds(Bound::Included(&low), Bound::Included(&high)).unwrap();
    let expected = ["1,z,id4", "2,y,id2"];
    assert_eq!(rows(&between), expected);
    assert_eq!(from(&between, &all), expected, "a wider bound changes nothing");
    let below = index.with_tuple_bounds(Bound::Unbounded, Bound::Included(&high)).unwrap();
    assert_eq!(from(&below, &low), expected);
    let wider = [int(9)];
    let same = below.with_tuple_bounds(Bound::Included(&low), Bound::Included(&wider)).unwrap();
    assert_eq!(rows(&same), expected);
    let first = index.first().unwrap().unwrap();
    let other = index.with_value(0, &int(2)).unwrap();
    assert_eq!(rows(&other.with_prefix_of(&first)), Vec::<String>::new());
    let references = tx.composite_index(sid(31), 3).unwrap();
    let to_foo = |or_null| references.with_references_to(1, [sid(10)], or_null).unwrap();
    assert_eq!([true, false].map(|null| to_foo(null).count().unwrap()), [4, 0]);
    for (n, content) in [(1, vec!["q"]), (2, vec!["a", "q"])] {
        let list = tx.list_view(foo_id(n), "list", Migrate::No).unwrap();
        list.extend(&texts(&content)).unwrap();
    }
    let elements = tx.list_element_index(sid(23)).unwrap().with_value(0, &text("q")).unwrap();
    let second = elements.with_value(2, &int(1)).unwrap();
    assert_eq!(second.id_set().unwrap().to_vec().unwrap(), [foo_id(2)]);
}

#[test]
fn entries_have_the_columns_of_their_view_only() {
    let world = World::new();
    let tx = world.foo();
    example(&tx);
    tx.list_view(foo_id(1), "list", Migrate::No).unwrap().push(&text("q")).unwrap();
    let index = tx.simple_index(sid(11)).unwrap();
    let entry = index.first().unwrap().unwrap();
    assert_invalid_argument(entry.value(2));
    assert_invalid_argument(entry.position());
    let cut = tx.list_element_index(sid(23)).unwrap().distinct(2);
    assert_invalid_argument(cut.first().unwrap().unwrap().position());
    let values: permazen::object::Result<Vec<_>> = index
        .values()
        .iter_with(|entry| {
            assert_invalid_argument(entry.value(1));
            Ok(entry.encoded(1).is_empty())
        })
        .collect();
    assert_eq!(values.unwrap(), [true, true, true]);
    let failing = index.iter_with(|_| Err::<(), _>(Error::listener("no")));
    assert_eq!(failing.count(), 1, "an error ends the walk");
}

#[test]
fn references_to_several_types_leave_out_those_between() {
    let xml = r#"<Schema><ObjectType name="A" storageId="10"/><ObjectType name="B" storageId="11"/>
<ObjectType name="C" storageId="12"/><ObjectType name="H" storageId="20"><ReferenceField name="r" storageId="13"/></ObjectType></Schema>"#;
    let world = World::new();
    let tx = world.begin(xml);
    let targets: Vec<ObjId> = ["A", "B", "C"].map(|name| tx.create(name).unwrap()).to_vec();
    let holder = |target: Value| {
        let holder = tx.create("H").unwrap();
        set(&tx, holder, "r", target);
        holder
    };
    let holders: Vec<ObjId> = targets
        .iter()
        .map(|target| holder(Value::Ref(*target)))
        .chain([holder(Value::Null)])
        .collect();
    let index = tx.simple_index(sid(13)).unwrap();
    for (types, or_null, expected) in [
        (vec![sid(10), sid(12)], false, vec![holders[0], holders[2]]),
        (vec![sid(10), sid(12)], true, vec![holders[0], holders[2], holders[3]]),
        (vec![sid(11)], true, vec![holders[1], holders[3]]),
        (vec![], true, vec![holders[3]]),
    ] {
        let view = index.with_references_to(0, types.clone(), or_null).unwrap();
        let ids: Vec<ObjId> = view.ids().map(Result::unwrap).collect();
        assert_eq!(ids, expected, "{types:?}");
        let mut back: Vec<ObjId> = view.ids().rev().map(Result::unwrap).collect();
        back.reverse();
        assert_eq!(back, expected, "{types:?} backwards");
        let entries: Vec<ObjId> =
            view.entries().map(|entry| entry.unwrap().id().unwrap()).collect();
        assert_eq!(entries, expected, "{types:?} as entries");
    }
}

#[test]
fn behind_an_object_with_many_entries_comes_the_next_id() {
    let world = World::new();
    let tx = world.foo();
    let ids: Vec<ObjId> = (0..6).map(|n| id(&format!("0a0000000000000{n}"))).collect();
    for (n, object) in ids.iter().enumerate() {
        create(&tx, *object);
        let list = tx.list_view(*object, "list", Migrate::No).unwrap();
        list.extend(&vec![text("a"); if n % 2 == 0 { 40 } else { 1 }]).unwrap();
    }
    let set = tx.list_element_index(sid(23)).unwrap().get(&[text("a")]).unwrap();
    assert_eq!(set.to_vec().unwrap(), ids);
    let mut back: Vec<ObjId> = set.iter().rev().map(Result::unwrap).collect();
    back.reverse();
    assert_eq!(back, ids);
}
