//! Deletions with references that forbid something, each under all orders of the IDs.

use std::sync::{Arc, Mutex};

use permazen::__internal::object::DeletionStep;
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{Error, Migrate, Transaction};

use crate::support::*;

/// Nothing goes with an outsider. `strict` forbids, and `parent` deletes.
const XML: &str = r#"<Schema>
<ObjectType name="N" storageId="10">
<ReferenceField name="parent" storageId="20" inverseDelete="DELETE"/>
<ReferenceField name="strict" storageId="21" inverseDelete="EXCEPTION"/>
<ReferenceField name="other" storageId="22" inverseDelete="EXCEPTION" allowDeleted="true"/>
<ListField name="owned" storageId="23"><ReferenceField storageId="24" inverseDelete="NULLIFY" forwardDelete="true"><ObjectTypes><ObjectType name="N"/></ObjectTypes></ReferenceField></ListField>
<SetField name="set" storageId="25"><ReferenceField storageId="26" inverseDelete="EXCEPTION"/></SetField>
<MapField name="both" storageId="27"><ReferenceField storageId="28" inverseDelete="REMOVE"/><ReferenceField storageId="29" inverseDelete="DELETE"/></MapField>
<MapField name="fragile" storageId="30"><ReferenceField storageId="31" inverseDelete="REMOVE"/><ReferenceField storageId="32" inverseDelete="EXCEPTION"/></MapField>
<MapField name="named" storageId="34"><ReferenceField storageId="35" inverseDelete="NULLIFY"/><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="36"/></MapField>
<MapField name="pairs" storageId="37"><ReferenceField storageId="38" inverseDelete="NULLIFY"/><ReferenceField storageId="39" inverseDelete="EXCEPTION"/></MapField>
</ObjectType>
<ObjectType name="Outsider" storageId="11"><ReferenceField name="strict" storageId="21" inverseDelete="EXCEPTION"/><ReferenceField name="friend" storageId="33" inverseDelete="NULLIFY"/></ObjectType>
</Schema>"#;

fn outsider(n: u8) -> ObjId {
    ObjId::from_bytes([11, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

fn put(tx: &Transaction, map: (ObjId, &str), key: ObjId, value: ObjId) {
    let view = tx.map_view(map.0, map.1, Migrate::No).unwrap();
    view.put(&Value::Ref(key), &Value::Ref(value)).unwrap();
}

fn push(tx: &Transaction, id: ObjId, target: ObjId) {
    tx.list_view(id, "owned", Migrate::No).unwrap().push(&Value::Ref(target)).unwrap();
}

/// Fills a database with four objects and an outsider, under each order of the IDs, and deletes the
/// first object. Then the objects that are left must be these; all of them, if it is refused.
fn scenario(name: &str, left: &[usize], fill: impl Fn(&Transaction, [ObjId; 4])) {
    scenario_then(name, left, fill, |_, _| {});
}

fn scenario_then(
    name: &str,
    left: &[usize],
    fill: impl Fn(&Transaction, [ObjId; 4]),
    then: impl Fn(&Transaction, [ObjId; 4]),
) {
    for order in 0..24_usize {
        let mut numbers = vec![1, 2, 3, 4];
        let mut rest = order;
        let ids: Vec<ObjId> = (1..=4)
            .rev()
            .map(|n| {
                let at = rest % n;
                rest /= n;
                a(numbers.remove(at))
            })
            .collect();
        let ids: [ObjId; 4] = ids.try_into().unwrap();
        for heard in [false, true] {
            let world = World::new();
            let tx = world.begin(XML);
            create_all(&tx, 1..=4);
            create(&tx, outsider(1));
            fill(&tx, ids);
            if heard {
                on_delete(&tx, |_, _, _| Ok(()));
            }
            let deleted = tx.delete(ids[0]);
            let found: Vec<usize> = (0..4).filter(|n| tx.exists(ids[*n]).unwrap()).collect();
            assert_eq!(found, left, "{name}, {order}, {heard}: {deleted:?}");
            assert_eq!(deleted.is_ok(), left.len() < 4, "{name}, {order}, {heard}: {deleted:?}");
            then(&tx, ids);
        }
    }
}

fn refers(tx: &Transaction, holder: ObjId, field: &str, target: ObjId) {
    set(tx, holder, field, Value::Ref(target));
}

#[test]
fn what_goes_too_forbids_nothing() {
    scenario("beside each other", &[3], |tx, [root, one, two, _]| {
        refers(tx, one, "parent", root);
        refers(tx, two, "parent", root);
        refers(tx, two, "strict", one);
    });
    scenario("in a circle", &[3], |tx, [root, one, two, _]| {
        refers(tx, one, "parent", root);
        refers(tx, two, "parent", root);
        refers(tx, two, "strict", one);
        refers(tx, one, "strict", two);
    });
    scenario("child and parent", &[2, 3], |tx, [root, child, ..]| {
        refers(tx, child, "parent", root);
        refers(tx, child, "strict", root);
        refers(tx, child, "other", root);
        tx.set_view(child, "set", Migrate::No).unwrap().add(&Value::Ref(root)).unwrap();
    });
    scenario("itself", &[1, 2, 3], |tx, [root, ..]| refers(tx, root, "strict", root));
    for order in [[1, 2, 3], [3, 2, 1]] {
        scenario("owned, in a list", &[], |tx, ids| {
            order.iter().for_each(|n| push(tx, ids[0], ids[*n]));
            refers(tx, ids[1], "strict", ids[2]);
            refers(tx, ids[2], "other", ids[3]);
        });
    }
}

#[test]
fn what_stays_refuses() {
    let all = &[0, 1, 2, 3];
    scenario("one of the same type", all, |tx, [root, one, two, stays]| {
        refers(tx, one, "parent", root);
        refers(tx, two, "strict", root);
        refers(tx, two, "parent", root);
        refers(tx, stays, "strict", one);
    });
    scenario("an outsider", all, |tx, [root, one, two, _]| {
        refers(tx, one, "parent", root);
        refers(tx, two, "parent", one);
        refers(tx, outsider(1), "strict", two);
    });
    scenario("a circle from outside", all, |tx, [root, one, ..]| {
        refers(tx, one, "strict", root);
        refers(tx, root, "strict", one);
    });
}

#[test]
fn entries_of_maps_count_as_they_were() {
    // The key goes and takes the entry away; the value goes and takes the holder with it.
    scenario("holder", &[], |tx, [root, key, value, holder]| {
        refers(tx, key, "parent", root);
        refers(tx, value, "parent", root);
        put(tx, (holder, "both"), key, value);
    });
    // The entry that forbids it goes with its key.
    scenario("entry", &[3], |tx, [root, key, value, holder]| {
        refers(tx, key, "parent", root);
        refers(tx, value, "parent", root);
        put(tx, (holder, "fragile"), key, value);
    });
    scenario("entry of an object that stays", &[0, 1, 2, 3], |tx, [root, key, value, holder]| {
        refers(tx, value, "parent", root);
        put(tx, (holder, "fragile"), key, value);
    });
}

#[test]
fn what_listeners_to_deletions_change_counts() {
    // When it is called for the first object, a listener removes the reference that forbids the
    // deletion of the second one, or adds such a reference.
    for (holds, left) in [(false, &[2, 3][..]), (true, &[0, 1, 2, 3])] {
        scenario("a listener", left, |tx, [root, one, two, _]| {
            refers(tx, one, "parent", root);
            refers(tx, outsider(1), if holds { "friend" } else { "strict" }, one);
            on_delete(tx, move |tx, id, _| {
                let held = if holds { Value::Ref(one) } else { Value::Null };
                if id == root { tx.set(outsider(1), "strict", &held, Migrate::No) } else { Ok(()) }
            });
            refers(tx, two, "parent", two);
        });
    }
}

#[test]
fn what_forbids_the_deletion_of_the_given_object_may_be_let_go_by_listeners() {
    // The listener is called for the object itself, or for one that is deleted with it.
    for told in [0, 1] {
        scenario("let go", &[2, 3], |tx, ids| {
            let [root, one, ..] = ids;
            refers(tx, one, "parent", root);
            refers(tx, outsider(1), "strict", root);
            on_delete(tx, move |tx, id, _| match id == ids[told] {
                true => tx.set(outsider(1), "strict", &Value::Null, Migrate::No),
                false => Ok(()),
            });
        });
    }
    // A listener deletes the object that forbids the deletion.
    scenario("deleted", &[1, 2, 3], |tx, [root, ..]| {
        refers(tx, outsider(1), "strict", root);
        on_delete(tx, move |tx, id, _| match id == root {
            true => tx.delete(outsider(1)).map(drop),
            false => Ok(()),
        });
    });
}

#[test]
fn the_lowest_of_several_values_stays_under_null() {
    let values = |tx: &Transaction, id: ObjId, map: &str| {
        tx.map_view(id, map, Migrate::No).unwrap().to_vec().unwrap()
    };
    let together = |tx: &Transaction, root: ObjId, others: &[ObjId]| {
        others.iter().for_each(|it| refers(tx, *it, "parent", root));
    };
    for (old, given) in [(None, [7, -3, 5]), (Some(-9), [5, 7, -3]), (Some(9), [-3, 5, 7])] {
        scenario_then(
            "numbers",
            &[3],
            |tx, [root, one, two, holder]| {
                together(tx, root, &[one, two]);
                let map = tx.map_view(holder, "named", Migrate::No).unwrap();
                for (key, value) in [root, one, two].into_iter().zip(given) {
                    map.put(&Value::Ref(key), &Value::Int(value)).unwrap();
                }
                // The value that was under null before is replaced.
                if let Some(old) = old {
                    map.put(&Value::Null, &Value::Int(old)).unwrap();
                }
            },
            |tx, [.., holder]| {
                assert_eq!(values(tx, holder, "named"), [(Value::Null, Value::Int(-3))]);
            },
        );
    }
    // A value that forbids the deletion is not lost, whatever its key was.
    scenario("forbids", &[0, 1, 2, 3], |tx, [root, one, stays, holder]| {
        together(tx, root, &[one]);
        put(tx, (holder, "pairs"), root, one);
        put(tx, (holder, "pairs"), one, stays);
    });
    scenario_then(
        "references",
        &[2, 3],
        |tx, [root, one, stays, holder]| {
            together(tx, root, &[one]);
            put(tx, (holder, "pairs"), root, stays);
            put(tx, (holder, "pairs"), one, holder);
        },
        |tx, [_, _, stays, holder]| {
            let lowest = Value::Ref(stays.min(holder));
            assert_eq!(values(tx, holder, "pairs"), [(Value::Null, lowest)]);
        },
    );
}

#[test]
fn a_deletion_within_a_listener_is_judged_alone() {
    let world = World::new();
    let tx = world.begin(XML);
    create_all(&tx, 1..=3);
    // A3 goes with A1, and forbids the deletion of A2, which goes with A1 too.
    refers(&tx, a(2), "parent", a(1));
    refers(&tx, a(3), "parent", a(1));
    refers(&tx, a(3), "strict", a(2));
    let (nested, results) = Log::pair();
    on_delete(&tx, move |tx, id, _| match id == a(1) {
        true => results.add(tx.delete(a(2)).is_ok()),
        false => Ok(()),
    });
    assert!(tx.delete(a(1)).unwrap());
    assert_eq!(nested.all(), [false]);
    assert!(tx.all_objects().unwrap().is_empty().unwrap());
}

#[test]
fn an_object_that_a_listener_has_made_anew_is_not_judged() {
    let world = World::new();
    let tx = world.begin(XML);
    create_all(&tx, 1..=2);
    refers(&tx, a(2), "parent", a(1));
    create(&tx, outsider(1));
    let again = Arc::new(Mutex::new(true));
    on_delete(&tx, move |tx, id, _| {
        if id == a(2) && std::mem::take(&mut *again.lock().unwrap()) {
            assert!(tx.create_with_id(a(1))?);
            tx.set(outsider(1), "strict", &Value::Ref(a(1)), Migrate::No)?;
        }
        Ok(())
    });
    assert!(tx.delete(a(1)).unwrap());
    assert!(tx.exists(a(1)).unwrap() && !tx.exists(a(2)).unwrap());
}

/// A thousand objects go with A1.
fn many_children(tx: &Transaction) {
    create_all(tx, 1..=2);
    for n in 0..1000_u32 {
        let id = create(tx, id(&format!("0a01{n:012x}")));
        refers(tx, id, "parent", a(1));
    }
}

#[test]
fn a_refusal_that_is_sure_is_found_at_once() {
    let world = World::new();
    let tx = world.begin(XML);
    many_children(&tx);
    for n in 1..100 {
        create(&tx, outsider(n));
        refers(&tx, outsider(n), "strict", a(1));
    }
    let (refused, cost) = world.cost(|| tx.delete(a(1)));
    assert!(
        matches!(refused, Err(Error::ReferencedObject { referrer, .. }) if referrer == outsider(1))
    );
    assert!(cost.reads() < 30 && cost.writes() == 0, "{cost:?}");
    // In the cascade, too.
    refers(&tx, a(2), "parent", a(2));
    create(&tx, a(3));
    refers(&tx, a(3), "parent", a(2));
    refers(&tx, outsider(1), "strict", a(3));
    let (refused, cost) = world.cost(|| tx.delete(a(2)));
    assert!(
        matches!(refused, Err(Error::ReferencedObject { id, .. }) if id == a(3)),
        "{refused:?}"
    );
    assert!(cost.reads() < 30, "{cost:?}");
}

#[test]
fn no_cascade_is_read_twice() {
    let world = World::new();
    let tx = world.begin(XML);
    many_children(&tx);
    let (deleted, plain) = world.cost(|| {
        let all = tx.delete(a(1)).unwrap();
        assert!(all);
    });
    let () = deleted;
    let world = World::new();
    let tx = world.begin(XML);
    many_children(&tx);
    // One of the thousand forbids it, and goes.
    refers(&tx, id("0a01000000000000"), "strict", a(1));
    let (deleted, cost) = world.cost(|| tx.delete(a(1)).unwrap());
    assert!(deleted);
    assert!(cost.reads() <= plain.reads() + 10, "{cost:?}, not {plain:?}");
}

#[test]
fn the_first_of_several_refusals_is_named_and_all_are_told() {
    let world = World::new();
    let tx = world.begin(XML);
    create_all(&tx, 1..=4);
    refers(&tx, a(2), "parent", a(1));
    // A2 comes after A1, `other` after `strict`, A4 after A3.
    for holder in [3, 4] {
        for (field, target) in [("other", 1), ("strict", 2)] {
            refers(&tx, a(holder), field, a(target));
        }
    }
    let Err(Error::ReferencedObject { id, referrer, field, .. }) = tx.delete(a(1)) else {
        panic!("it is not refused")
    };
    assert_eq!((id, referrer, &*field), (a(1), a(3), "other"));
    let mut told = Vec::new();
    let refused = tx.delete_together(&[a(1)], &mut |step| {
        if let DeletionStep::Refused { holder, field, target } = step {
            told.push((target, field.get(), holder));
        }
        Ok(())
    });
    assert!(matches!(refused, Err(Error::ReferencedObject { id, .. }) if id == a(1)));
    let all = [(a(1), 22, a(3)), (a(1), 22, a(4)), (a(2), 21, a(3)), (a(2), 21, a(4))];
    assert_eq!(told, all);
    tx.delete_together(&[a(4), a(1), a(3), a(4)], &mut |_| Ok(())).unwrap();
    assert!(tx.all_objects().unwrap().is_empty().unwrap());
}
