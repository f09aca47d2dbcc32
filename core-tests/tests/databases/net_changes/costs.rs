//! The cost depends on the writes, not on the database.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen::__internal::object::NetChanges;
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::counting::Operations;
use permazen::kv::{Direction, KeySpan, KvRead, Scan};
use permazen::object::Migrate;

use crate::net_changes::world::{World, a};

fn id(n: u16) -> ObjId {
    let [high, low] = n.to_be_bytes();
    ObjId::from_bytes([0x0a, 1, 0, 0, 0, 0, high, low]).unwrap()
}

/// A database with `objects` objects, each with a set of 20 elements and a list of 20.
fn world(objects: u16) -> World {
    let mut world = World::new();
    world.edit(1, |tx| {
        for n in 0..objects {
            tx.create_with_id(id(n)).unwrap();
            let set = tx.set_view(id(n), "set", Migrate::No).unwrap();
            (0..20).for_each(|n| assert!(set.add(&Value::Int(n)).unwrap()));
            let list = tx.list_view(id(n), "list", Migrate::No).unwrap();
            list.extend(&vec![Value::from("x"); 20]).unwrap();
        }
    });
    world.commit();
    world
}

fn cost(world: &World) -> (usize, Operations) {
    let (schemas, before) = (world.schemas(), world.snapshot());
    world.counter.take();
    let found = NetChanges::new(world.writes(), &*before, &schemas).count();
    (found, world.counter.take())
}

#[test]
fn no_change_costs_nothing() {
    assert_eq!(cost(&world(10)), (0, Operations::default()));
}

#[test]
fn written_pairs_cost_a_get_each() {
    for objects in [10, 300] {
        let mut world = world(objects);
        world.edit(1, |tx| {
            tx.set(id(5), "i", &Value::Int(5), Migrate::No).unwrap();
            tx.adjust_counter(id(5), "c", 1, Migrate::No).unwrap();
            tx.set_view(id(5), "set", Migrate::No).unwrap().add(&Value::Int(77)).unwrap();
        });
        let (found, cost) = cost(&world);
        assert_eq!(found, 1);
        // Three pairs and the object's own, and a seek to see whether the object is new. The index
        // entries of `i` and of the set, of which one is removed, are found once each.
        assert_eq!((cost.gets, cost.reads()), (4, 6), "{objects}: {cost:?}");
    }
}

#[test]
fn a_new_object_costs_a_seek_and_a_get() {
    let mut world = world(10);
    world.edit(1, |tx| {
        tx.create_with_id(a(1)).unwrap();
        tx.set(a(1), "s", &Value::from("x"), Migrate::No).unwrap();
        let set = tx.set_view(a(1), "set", Migrate::No).unwrap();
        (0..20).for_each(|n| assert!(set.add(&Value::Int(n)).unwrap()));
    });
    let (found, cost) = cost(&world);
    assert_eq!((found, cost.reads()), (1, 1), "{cost:?}");
}

#[test]
fn a_deleted_object_costs_its_pairs() {
    for objects in [10, 300] {
        let mut world = world(objects);
        world.edit(1, |tx| assert!(tx.delete(id(5)).unwrap()));
        let (found, cost) = cost(&world);
        assert_eq!(found, 1);
        // Its own pair, a counter and two collections of 20.
        assert!((42..50).contains(&cost.steps) && cost.gets == 0, "{cost:?}");
        assert!(cost.seeks < 10, "{cost:?}");
    }
}

#[test]
fn it_stops_when_no_more_is_asked_for() {
    let mut world = world(300);
    world.edit(1, |tx| {
        for n in 0..300 {
            tx.set(id(n), "i", &Value::Int(5), Migrate::No).unwrap();
        }
    });
    let (schemas, before) = (world.schemas(), world.snapshot());
    world.counter.take();
    let found = NetChanges::new(world.writes(), &*before, &schemas).take(10).count();
    let reads = world.counter.take().reads();
    assert_eq!(found, 10);
    assert!(reads <= 40, "{reads}");
}

#[test]
fn it_stops_when_it_is_told_to() {
    let mut world = world(300);
    world.edit(1, |tx| {
        for n in 0..300 {
            tx.set(id(n), "i", &Value::Int(5), Migrate::No).unwrap();
        }
    });
    let (schemas, before) = (world.schemas(), world.snapshot());
    world.counter.take();
    let stop = AtomicBool::new(false);
    let mut changes = NetChanges::new(world.writes(), &*before, &schemas).stop_when(&stop);
    assert_eq!(changes.by_ref().take(10).count(), 10);
    assert!(world.counter.take().reads() > 0);
    stop.store(true, Ordering::Relaxed);
    assert_eq!(changes.count(), 0);
    assert_eq!(world.counter.take().reads(), 0);
}

/// Sets a flag when pairs are read.
struct StopsAt<'a> {
    inner: &'a dyn KvRead,
    stop: &'a AtomicBool,
}

impl KvRead for StopsAt<'_> {
    fn get(&self, key: &[u8]) -> permazen::kv::Result<Option<Cow<'_, [u8]>>> {
        self.stop.store(true, Ordering::Relaxed);
        self.inner.get(key)
    }

    fn scan(&self, span: KeySpan<'_>, direction: Direction) -> permazen::kv::Result<Scan<'_>> {
        self.inner.scan(span, direction)
    }
}

#[test]
fn it_stops_also_while_nothing_differs() {
    let mut world = world(300);
    world.edit(1, |tx| {
        for n in 0..300 {
            tx.set(id(n), "s", &Value::from("x"), Migrate::No).unwrap();
        }
    });
    world.commit();
    // The same again, so that there are writes and no changes.
    world.edit(1, |tx| {
        for n in 0..300 {
            tx.set(id(n), "s", &Value::from("y"), Migrate::No).unwrap();
            tx.set(id(n), "s", &Value::from("x"), Migrate::No).unwrap();
        }
    });
    let (schemas, before) = (world.schemas(), world.snapshot());
    let stop = AtomicBool::new(false);
    let before = StopsAt { inner: &*before, stop: &stop };
    world.counter.take();
    let found = NetChanges::new(world.writes(), &before, &schemas).stop_when(&stop).count();
    let reads = world.counter.take().reads();
    assert_eq!(found, 0);
    assert!((1..10).contains(&reads), "{reads}");
}
