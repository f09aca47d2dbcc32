//! Which objects exist.

use permazen::ObjId;
use permazen::object::{Error, Migrate, Transaction};

use crate::support::*;

const BAR: &str = r#"<Schema><ObjectType name="Bar" storageId="300"><SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" storageId="40"/></ObjectType></Schema>"#;

fn all(tx: &Transaction, type_name: &str) -> Vec<ObjId> {
    tx.objects(type_name).unwrap().to_vec().unwrap()
}

#[test]
fn t019_objects_of_all_schemas() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(2));
    tx.commit().unwrap();
    let tx = world.begin(&foo_with_more());
    create(&tx, foo_id(1));
    create(&tx, foo_id(3));
    assert_eq!(all(&tx, "Foo"), [foo_id(1), foo_id(2), foo_id(3)]);
    let backward: Vec<_> = tx.objects("Foo").unwrap().iter().rev().map(Result::unwrap).collect();
    assert_eq!(backward, [foo_id(3), foo_id(2), foo_id(1)]);
}

#[test]
fn t020_the_last_object_deleted() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    assert!(tx.delete(foo_id(1)).unwrap());
    assert!(all(&tx, "Foo").is_empty());
    assert!(tx.objects("Foo").unwrap().is_empty().unwrap());
}

/// Taking an object out of the set deletes the object with all its keys (D5).
#[test]
fn t021_removing_an_object_deletes_it_entirely() {
    let world = World::new();
    let tx = world.foo();
    for n in 1..=3 {
        create(&tx, foo_id(n));
        set(&tx, foo_id(n), "i", int(5));
    }
    for id in &tx.objects("Foo").unwrap() {
        assert!(tx.delete(id.unwrap()).unwrap());
    }
    tx.commit().unwrap();
    assert!(world.pairs().is_empty());
}

#[test]
fn t023_a_type_of_an_older_schema() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    tx.list_view(foo_id(1), "list", Migrate::No).unwrap().push(&text("a")).unwrap();
    tx.commit().unwrap();
    let tx = world.begin(BAR);
    assert_eq!(all(&tx, "Foo"), [foo_id(1)]);
    // and its collections can be edited
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    list.push(&text("b")).unwrap();
    assert_eq!(show_all(&list.to_vec().unwrap()), "a,b");
    assert_eq!(tx.simple_index(sid(23)).unwrap().count().unwrap(), 2);
    let bar = tx.create("Bar").unwrap();
    assert_eq!(tx.all_objects().unwrap().to_vec().unwrap(), [foo_id(1), bar]);
    assert_eq!(tx.objects_of([sid(300)]).unwrap().to_vec().unwrap(), [bar]);
}

#[test]
fn t024_an_unknown_type() {
    let world = World::new();
    let tx = world.foo();
    assert!(matches!(tx.objects("Nope"), Err(Error::UnknownType { .. })));
}

#[test]
fn t025_objects_by_schema() {
    let world = World::new();
    let tx = world.foo();
    assert!(tx.schemas_in_use().unwrap().is_empty());
    create(&tx, foo_id(2));
    let first = tx.schema().index;
    tx.commit().unwrap();
    let tx = world.begin(BAR);
    assert_eq!(tx.schemas_in_use().unwrap(), [first]);
    let bar = tx.create("Bar").unwrap();
    let second = tx.schema().index;
    assert_eq!(tx.schemas_in_use().unwrap(), [first, second]);
    assert_eq!(tx.objects_in_schema(first).unwrap().to_vec().unwrap(), [foo_id(2)]);
    assert_eq!(tx.objects_in_schema(second).unwrap().to_vec().unwrap(), [bar]);
}

#[test]
fn membership_and_ranges() {
    let world = World::new();
    let tx = world.foo();
    for n in 1..=5 {
        create(&tx, foo_id(n));
    }
    let foos = tx.objects("Foo").unwrap();
    assert!(foos.contains(foo_id(3)).unwrap());
    assert!(!foos.contains(foo_id(6)).unwrap());
    assert_eq!(foos.range(foo_id(2)..foo_id(4)).to_vec().unwrap(), [foo_id(2), foo_id(3)]);
    assert_eq!(foos.range(..=foo_id(1)).to_vec().unwrap(), [foo_id(1)]);
    assert_eq!(foos.first().unwrap(), Some(foo_id(1)));
    assert_eq!(foos.last().unwrap(), Some(foo_id(5)));
    assert_eq!(foos.range(foo_id(6)..).first().unwrap(), None);
}

#[test]
fn creating_and_deleting_while_walking() {
    let world = World::new();
    let tx = world.foo();
    for n in [1, 2, 4, 6] {
        create(&tx, foo_id(n));
    }
    let mut walked = Vec::new();
    for id in &tx.objects("Foo").unwrap() {
        let id = id.unwrap();
        walked.push(id);
        if id == foo_id(2) {
            tx.delete(foo_id(2)).unwrap();
            tx.delete(foo_id(4)).unwrap();
            create(&tx, foo_id(5));
        }
    }
    assert_eq!(walked, [foo_id(1), foo_id(2), foo_id(5), foo_id(6)]);
}

/// Objects with many keys are passed with a seek, objects with few keys by stepping.
#[test]
fn large_objects_are_jumped_over() {
    let world = World::new();
    let tx = world.foo();
    for n in 1..=4 {
        create(&tx, foo_id(n));
        let set = tx.set_view(foo_id(n), "set", Migrate::No).unwrap();
        for value in 0..5000 {
            set.add(&int(value)).unwrap();
        }
    }
    let (ids, cost) = world.cost(|| all(&tx, "Foo"));
    assert_eq!(ids.len(), 4);
    assert!(cost.seeks <= 16 && cost.steps < 200, "{cost:?}");
    let (count, cost) = world.cost(|| tx.objects("Foo").unwrap().count().unwrap());
    assert_eq!(count, 4);
    assert!(cost.seeks <= 5 && cost.steps < 100, "{cost:?}");
}

#[test]
fn objects_of_all_sizes_count_once() {
    let world = World::new();
    let tx = world.foo();
    for n in 1..=14 {
        create(&tx, foo_id(n));
        let set = tx.set_view(foo_id(n), "set", Migrate::No).unwrap();
        for value in 0..3 * n as i32 {
            set.add(&int(value)).unwrap();
        }
        let foos = tx.objects("Foo").unwrap();
        assert_eq!(foos.count().unwrap(), n as usize);
        assert_eq!(
            foos.range(foo_id(2)..foo_id(n)).count().unwrap(),
            (n as usize).saturating_sub(2)
        );
        assert_eq!(foos.range(foo_id(n)..).count().unwrap(), 1);
    }
}
