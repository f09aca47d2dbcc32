//! The effects of the deletion of an object on the collections that refer to it.

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{Migrate, Transaction};

use crate::support::*;

/// A type with references in every kind of collection.
fn schema(action: &str) -> String {
    let reference =
        |id: u32| format!(r#"<ReferenceField storageId="{id}" inverseDelete="{action}"/>"#);
    let int = |id: u32| {
        format!(r#"<SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="{id}"/>"#)
    };
    format!(
        r#"<Schema><ObjectType name="A" storageId="10">
  <ListField name="list" storageId="21">{}</ListField>
  <SetField name="set" storageId="23">{}</SetField>
  <MapField name="byKey" storageId="25">{}{}</MapField>
  <MapField name="byValue" storageId="28">{}{}</MapField>
  <MapField name="both" storageId="31">{}{}</MapField>
</ObjectType></Schema>"#,
        reference(22),
        reference(24),
        reference(26),
        int(27),
        int(29),
        reference(30),
        reference(32),
        reference(33),
    )
}

fn refer(n: u8) -> Value {
    Value::Ref(a(n))
}

/// Objects 1 to 4. Each holder refers to object 2 in every collection except `both`.
fn example(tx: &Transaction, holders: &[u8]) {
    create_all(tx, 1..=4);
    for &n in holders {
        tx.list_view(a(n), "list", Migrate::No)
            .unwrap()
            .extend(&[refer(2), refer(1), refer(2)])
            .unwrap();
        let set = tx.set_view(a(n), "set", Migrate::No).unwrap();
        set.add(&refer(2)).unwrap();
        set.add(&refer(3)).unwrap();
        let by_key = tx.map_view(a(n), "byKey", Migrate::No).unwrap();
        by_key.put(&refer(2), &int(7)).unwrap();
        by_key.put(&Value::Null, &int(8)).unwrap();
        let by_value = tx.map_view(a(n), "byValue", Migrate::No).unwrap();
        by_value.put(&int(1), &refer(2)).unwrap();
        by_value.put(&int(2), &refer(2)).unwrap();
        by_value.put(&int(3), &refer(3)).unwrap();
    }
}

fn content(tx: &Transaction, n: u8) -> String {
    let short = |value: &Value| match value {
        Value::Ref(id) => format!("A{}", id.as_bytes()[7]),
        other => show(other),
    };
    let list = tx.list_view(a(n), "list", Migrate::No).unwrap().to_vec().unwrap();
    let set = tx.set_view(a(n), "set", Migrate::No).unwrap().to_vec().unwrap();
    let map = |name| {
        let entries = tx.map_view(a(n), name, Migrate::No).unwrap().to_vec().unwrap();
        let show = |(key, value): &(Value, Value)| format!("{}={}", short(key), short(value));
        entries.iter().map(show).collect::<Vec<_>>().join(",")
    };
    let all = |values: &[Value]| values.iter().map(short).collect::<Vec<_>>().join(",");
    format!("[{}] {{{}}} {{{}}} {{{}}}", all(&list), all(&set), map("byKey"), map("byValue"))
}

/// Keys of the indexes on references that name a target.
fn entries_of(world: &World, target: ObjId) -> Vec<String> {
    let is_index =
        |pair: &String| u8::from_str_radix(&pair[..2], 16).is_ok_and(|b| (0x16..0x30).contains(&b));
    world.pairs().into_iter().filter(|p| is_index(p) && p[2..18] == target.to_string()).collect()
}

#[test]
fn nullify_in_every_kind_of_collection() {
    // Two holders: the Java implementation fails with more than one (D25).
    for holders in [&[1][..], &[1, 4]] {
        let world = World::new();
        let tx = world.begin(&schema("NULLIFY"));
        example(&tx, holders);
        let events = [21, 23, 25, 28].map(|field| Events::on(&tx, field));
        assert!(tx.delete(a(2)).unwrap());
        for n in holders {
            assert_eq!(content(&tx, *n), "[null,A1,null] {A3,null} {null=7} {1=null,2=null,3=A3}");
        }
        if holders.len() == 1 {
            let target = a(2).to_string();
            let expected = [
                vec![format!("replace 0:{target}->null"), format!("replace 2:{target}->null")],
                vec![format!("remove {target}"), "add null".to_owned()],
                vec![format!("remove {target}=7"), "replace null=8->7".to_owned()],
                vec![format!("replace 1={target}->null"), format!("replace 2={target}->null")],
            ];
            assert_eq!(events.map(|events| events.take()), expected);
        }
        tx.commit().unwrap();
        assert!(entries_of(&world, a(2)).is_empty());
    }
}

#[test]
fn remove_in_every_kind_of_collection() {
    for holders in [&[1][..], &[1, 4]] {
        for watched in [false, true] {
            let world = World::new();
            let tx = world.begin(&schema("REMOVE"));
            example(&tx, holders);
            let events = watched.then(|| Events::on(&tx, 21));
            assert!(tx.delete(a(2)).unwrap());
            for n in holders {
                assert_eq!(content(&tx, *n), "[A1] {A3} {null=8} {3=A3}");
            }
            if let (Some(events), 1) = (events, holders.len()) {
                let target = a(2).to_string();
                assert_eq!(
                    events.take(),
                    [format!("remove 0:{target}"), format!("remove 1:{target}")]
                );
            }
            tx.commit().unwrap();
            assert!(entries_of(&world, a(2)).is_empty());
            let of_one: Vec<_> = entries_of(&world, a(1));
            assert_eq!(of_one.len(), holders.len(), "position 0 of each list: {of_one:?}");
            assert!(of_one.iter().all(|pair| pair.ends_with("00=")));
        }
    }
}

/// All equal references next to each other are removed (D3).
#[test]
fn remove_takes_adjacent_references() {
    for watched in [false, true] {
        for (before, after) in
            [(vec![2, 2], vec![]), (vec![2, 2, 2], vec![]), (vec![1, 2, 2, 3, 2, 2], vec![1, 3])]
        {
            let world = World::new();
            let tx = world.begin(&schema("REMOVE"));
            example(&tx, &[]);
            let list = tx.list_view(a(1), "list", Migrate::No).unwrap();
            list.extend(&before.iter().map(|n| refer(*n)).collect::<Vec<_>>()).unwrap();
            let _events = watched.then(|| Events::on(&tx, 21));
            assert!(tx.delete(a(2)).unwrap());
            assert_eq!(list.to_vec().unwrap(), after.iter().map(|n| refer(*n)).collect::<Vec<_>>());
            tx.commit().unwrap();
            assert!(entries_of(&world, a(2)).is_empty());
        }
    }
}

/// An object is both key and value of one entry. Both become null (D29).
#[test]
fn an_entry_that_refers_twice() {
    for (action, expected) in [("NULLIFY", 2), ("REMOVE", 1)] {
        let world = World::new();
        let tx = world.begin(&schema(action));
        example(&tx, &[]);
        let map = tx.map_view(a(1), "both", Migrate::No).unwrap();
        map.put(&refer(2), &refer(2)).unwrap();
        map.put(&refer(3), &refer(3)).unwrap();
        assert!(tx.delete(a(2)).unwrap());
        let entries = map.to_vec().unwrap();
        assert_eq!(entries.len(), expected);
        assert_eq!(entries[0], (refer(3), refer(3)));
        if expected == 2 {
            assert_eq!(entries[1], (Value::Null, Value::Null));
        }
        tx.commit().unwrap();
        assert!(entries_of(&world, a(2)).is_empty());
    }
}

/// A listener that changes the list while references are taken out of it.
#[test]
fn a_listener_changes_the_list_meanwhile() {
    let world = World::new();
    let tx = world.begin(&schema("REMOVE"));
    example(&tx, &[]);
    let list = tx.list_view(a(1), "list", Migrate::No).unwrap();
    list.extend(&[refer(2), refer(3), refer(2), refer(2)]).unwrap();
    on_change(&tx, 21, |tx: &Transaction, _: &_, _: &_| {
        let list = tx.list_view(a(1), "list", Migrate::No)?;
        if list.get(0)? == Some(refer(3)) {
            list.insert(0, &refer(1))?;
        }
        Ok(())
    });
    assert!(tx.delete(a(2)).unwrap());
    assert_eq!(list.to_vec().unwrap(), [refer(1), refer(3)]);
}

/// Many references in one long list are removed in one pass.
#[test]
fn a_long_list_is_cleaned_in_one_pass() {
    let world = World::new();
    let tx = world.begin(&schema("REMOVE"));
    example(&tx, &[]);
    let list = tx.list_view(a(1), "list", Migrate::No).unwrap();
    let elements: Vec<_> = (0..5000).map(|n| refer(if n % 2 == 0 { 2 } else { 3 })).collect();
    list.extend(&elements).unwrap();
    let (deleted, cost) = world.cost(|| tx.delete(a(2)).unwrap());
    assert!(deleted);
    assert_eq!(list.len().unwrap(), 2500);
    assert!(cost.writes() < 4 * 5000, "{cost:?}");
}
