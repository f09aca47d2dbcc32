//! The costs of views of many entries, in operations of the store.

use std::ops::Bound;

use permazen::object::Migrate;

use crate::support::*;

#[test]
fn an_index_step_is_one_entry() {
    let world = World::new();
    let tx = world.foo();
    for n in 0..2000 {
        create(&tx, number(n));
        set(&tx, number(n), "i", int(i32::from(n % 100)));
    }
    let index = tx.simple_index(sid(11)).unwrap();
    let (count, cost) = world.cost(|| index.ids().count());
    assert_eq!((count, cost.steps, cost.gets), (2000, 2000, 0));
    // batches of 64, 1024 and the rest
    assert_eq!(cost.seeks, 3);
    let (count, cost) = world.cost(|| index.ids().rev().count());
    assert_eq!((count, cost.steps, cost.seeks), (2000, 2000, 3));
    let range = index.with_bounds(0, Bound::Included(&int(10)), Bound::Excluded(&int(12))).unwrap();
    let (count, cost) = world.cost(|| range.ids().count());
    assert_eq!((count, cost.steps), (40, 40));
    let one = index.get(&[int(7)]).unwrap();
    let (count, cost) = world.cost(|| one.count().unwrap());
    assert_eq!((count, cost.steps), (20, 20));
    // nothing is read to make a view, and little to ask for the first entry
    let (_, cost) = world.cost(|| tx.simple_index(sid(11)).unwrap().get(&[int(7)]).unwrap());
    assert_eq!(cost.reads(), 0);
    let (_, cost) = world.cost(|| index.first().unwrap());
    assert!(cost.seeks == 1 && cost.steps <= 8, "{cost:?}");
}

#[test]
fn distinct_values_jump_over_many_entries() {
    let world = World::new();
    let tx = world.foo();
    for n in 0..4000 {
        create(&tx, number(n));
        set(&tx, number(n), "i", int(i32::from(n % 4)));
    }
    let values = tx.simple_index(sid(11)).unwrap().values();
    for reverse in [false, true] {
        let (count, cost) = world.cost(|| {
            let entries = values.entries();
            if reverse { entries.rev().count() } else { entries.count() }
        });
        assert_eq!(count, 4);
        assert!(cost.seeks <= 16 && cost.steps < 200, "{cost:?}");
    }
}

#[test]
fn a_restriction_in_the_middle_jumps() {
    let world = World::new();
    let tx = world.foo();
    for n in 0..3000 {
        create(&tx, number(n));
        set(&tx, number(n), "i", int(i32::from(n % 3)));
        set(&tx, number(n), "s", text(&format!("{:04}", n / 3)));
    }
    let index = tx.composite_index(sid(30), 2).unwrap();
    let view = index.with_value(1, &text("0500")).unwrap();
    for reverse in [false, true] {
        let (rows, cost) = world.cost(|| {
            let ids = view.ids();
            if reverse { ids.rev().count() } else { ids.count() }
        });
        assert_eq!(rows, 3);
        assert!(cost.steps < 60 && cost.seeks <= 12, "{cost:?}");
    }
}

#[test]
fn sizes_and_ends_are_one_seek() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    list.extend(&texts(&["a"; 400])).unwrap();
    let set = tx.set_view(foo_id(1), "set", Migrate::No).unwrap();
    let map = tx.map_view(foo_id(1), "map", Migrate::No).unwrap();
    for n in 0..300 {
        set.add(&int(n)).unwrap();
        map.put(&int(n), &text("x")).unwrap();
    }
    let one_seek = |what: &str, body: &dyn Fn()| {
        let (_, cost) = world.cost(body);
        assert_eq!((cost.reads(), cost.seeks), (1, 1), "{what}");
    };
    one_seek("list length", &|| assert_eq!(list.len().unwrap(), 400));
    one_seek("set first", &|| assert_eq!(set.first().unwrap(), Some(int(0))));
    one_seek("set last", &|| assert_eq!(set.last().unwrap(), Some(int(299))));
    one_seek("map last", &|| assert_eq!(map.last().unwrap(), Some((int(299), text("x")))));
    one_seek("set empty", &|| assert!(!set.is_empty().unwrap()));
    let (_, cost) = world.cost(|| set.to_vec().unwrap());
    assert_eq!(cost.steps, 300);
    let (_, cost) = world.cost(|| tx.set_view(foo_id(1), "set", Migrate::No).unwrap());
    assert_eq!(cost.reads(), 0);
}

#[test]
fn writing_in_a_loop_costs_a_seek_per_step() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    let set = tx.set_view(foo_id(1), "set", Migrate::No).unwrap();
    for n in 0..300 {
        set.add(&int(n)).unwrap();
    }
    let (_, cost) = world.cost(|| {
        for value in set.iter() {
            set.remove(&value.unwrap()).unwrap();
        }
    });
    assert!(cost.seeks <= 302 && cost.steps <= 2 * 300 + 16, "{cost:?}");
}
