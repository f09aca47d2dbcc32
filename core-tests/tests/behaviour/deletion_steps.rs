//! The steps that a deletion tells, and the references that forbid it.

use std::ops::ControlFlow;

use permazen::__internal::object::DeletionStep;
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{Error, Migrate, Transaction};

use crate::support::*;

/// The steps as text.
fn steps(tx: &Transaction, id: ObjId) -> Vec<String> {
    let mut steps = Vec::new();
    let told = &mut |step| {
        steps.push(match step {
            DeletionStep::Deleted { id } => format!("deleted {id}"),
            DeletionStep::Nullified { holder, field, target } => {
                format!("nullified {holder} {field} {target}")
            }
            DeletionStep::Removed { holder, field, target } => {
                format!("removed {holder} {field} {target}")
            }
            other => panic!("{other:?}"),
        });
        Ok(())
    };
    assert!(tx.delete_telling(id, told).unwrap());
    steps
}

/// Puts A2 into every container of A1.
fn fill(tx: &Transaction) {
    create_all(tx, 1..=2);
    set(tx, a(1), "ref", to_a(2));
    let list = tx.list_view(a(1), "list", Migrate::No).unwrap();
    list.extend(&[to_a(2), to_a(1), to_a(2)]).unwrap();
    tx.set_view(a(1), "set", Migrate::No).unwrap().add(&to_a(2)).unwrap();
    tx.map_view(a(1), "byKey", Migrate::No).unwrap().put(&to_a(2), &int(7)).unwrap();
    let by_value = tx.map_view(a(1), "byValue", Migrate::No).unwrap();
    by_value.put(&int(1), &to_a(2)).unwrap();
    by_value.put(&int(2), &to_a(2)).unwrap();
}

#[test]
fn each_container_is_told_once() {
    for (action, said) in [("NULLIFY", "nullified"), ("REMOVE", "removed")] {
        let world = World::new();
        let tx = world.begin(&containers("NULLIFY", action));
        fill(&tx);
        let mut expected = vec!["deleted 0a00000000000002".to_owned()];
        let ref_first = format!("nullified {} 20 {}", a(1), a(2));
        expected.push(ref_first);
        for field in [22, 24, 26, 30] {
            expected.push(format!("{said} {} {field} {}", a(1), a(2)));
        }
        assert_eq!(steps(&tx, a(2)), expected);
    }
}

#[test]
fn objects_that_go_too() {
    let world = World::new();
    let tx = world.begin(&containers("DELETE", "REMOVE"));
    create_all(&tx, 1..=4);
    set(&tx, a(2), "ref", to_a(1));
    set(&tx, a(3), "ref", to_a(2));
    // A4 stays. A3 loses an element before it goes itself.
    tx.set_view(a(4), "set", Migrate::No).unwrap().add(&to_a(2)).unwrap();
    tx.set_view(a(3), "set", Migrate::No).unwrap().add(&to_a(1)).unwrap();
    let id = |n| a(n).to_string();
    assert_eq!(
        steps(&tx, a(1)),
        [
            format!("deleted {}", id(1)),
            format!("removed {} 24 {}", id(3), id(1)),
            format!("deleted {}", id(2)),
            format!("removed {} 24 {}", id(4), id(2)),
            format!("deleted {}", id(3)),
        ]
    );
}

#[test]
fn who_is_told_can_stop_it() {
    let world = World::new();
    let tx = world.begin(&containers("DELETE", "NULLIFY"));
    create_all(&tx, 1..=9);
    for n in 1..9 {
        set(&tx, a(n + 1), "ref", to_a(n));
    }
    let mut told = 0;
    let stopped = tx.delete_telling(a(1), &mut |_| {
        told += 1;
        if told < 5 { Ok(()) } else { Err(Error::listener("enough")) }
    });
    assert!(matches!(stopped, Err(Error::Listener(_))), "{stopped:?}");
    assert!((1..=9).all(|n| tx.exists(a(n)).unwrap()));
    assert_eq!(tx.get(a(2), "ref", Migrate::No).unwrap(), to_a(1));
    assert!(!tx.delete_telling(a(20), &mut |_| panic!("nothing is deleted")).unwrap());
}

#[test]
fn entries_without_content_are_not_told() {
    let world = World::new();
    let tx = world.begin(&containers("NULLIFY", "REMOVE"));
    create_all(&tx, 1..=2);
    tx.commit().unwrap();
    // The index says that A1 refers to A2.
    world.raw("140a000000000000020a00000000000001", Some(""));
    let tx = world.begin(&containers("NULLIFY", "REMOVE"));
    assert_eq!(steps(&tx, a(2)), [format!("deleted {}", a(2))]);
}

fn refusals(tx: &Transaction, id: ObjId, most: usize) -> Vec<(ObjId, u32)> {
    let mut found = Vec::new();
    tx.each_refusal(id, &mut |holder, field| {
        found.push((holder, field.get()));
        if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .unwrap();
    found
}

#[test]
fn all_that_forbids_a_deletion() {
    let world = World::new();
    let tx = world.begin(&containers("EXCEPTION", "EXCEPTION"));
    fill(&tx);
    create(&tx, a(3));
    set(&tx, a(3), "ref", to_a(2));
    set(&tx, a(2), "ref", to_a(2));
    let all = [(a(1), 20), (a(3), 20), (a(1), 22), (a(1), 24), (a(1), 26), (a(1), 30)];
    assert_eq!(refusals(&tx, a(2), 99), all);
    assert_eq!(refusals(&tx, a(2), 3), all[..3]);
    assert_eq!(refusals(&tx, a(3), 99), []);
    tx.commit().unwrap();
    // The schema of the object that refers decides.
    let tx = world.begin(&containers("NULLIFY", "NULLIFY"));
    assert_eq!(refusals(&tx, a(2), 99), all);
    tx.migrate(a(1)).unwrap();
    assert_eq!(refusals(&tx, a(2), 99), [(a(3), 20)]);
    assert_eq!(tx.get(a(3), "ref", Migrate::No).unwrap(), Value::Ref(a(2)));
}
