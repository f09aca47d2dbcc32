//! Damaged pairs: errors name them, and everything else stays usable.

use permazen::encoding::Value;
use permazen::object::{Error, Migrate};

use crate::support::*;

/// An object with five elements in its list, entries in its map and elements in its set.
fn filled(world: &World) {
    let tx = world.foo();
    create(&tx, foo_id(1));
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    list.extend(&texts(&["a", "b", "c", "d", "e"])).unwrap();
    let map = tx.map_view(foo_id(1), "map", Migrate::No).unwrap();
    let set = tx.set_view(foo_id(1), "set", Migrate::No).unwrap();
    for n in 1..=4 {
        map.put(&int(n), &text(&n.to_string())).unwrap();
        set.add(&int(n)).unwrap();
    }
    tx.commit().unwrap();
}

/// The error says that something is damaged and names all of these.
fn assert_damaged<R: std::fmt::Debug>(result: permazen::object::Result<R>, named: &[&str]) {
    match result {
        Err(error @ Error::Inconsistent { .. }) => {
            let told = error.to_string();
            for part in named {
                assert!(told.contains(part), "{part:?} in {told:?}");
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_list_with_a_hole_loses_what_is_meant_to_go() {
    let world = World::new();
    filled(&world);
    world.raw("0a111111111111111602", None);
    world.raw("1763000a1111111111111102", None);
    let tx = world.foo();
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    assert_eq!(list.retain(|value| *value != text("e")).unwrap(), 1);
    assert_eq!(show_all(&list.to_vec().unwrap()), "a,b,d");
    assert_eq!((list.get(3).unwrap(), list.get(4).unwrap()), (Some(text("d")), None));
    // A change that would move elements over the hole is refused.
    assert_damaged(list.retain(|value| *value != text("a")), &["list of Foo 0a11111111111111"]);
    assert_eq!(show_all(&list.to_vec().unwrap()), "a,b,d");
}

#[test]
fn behind_a_damaged_element_iterators_go_on() {
    let world = World::new();
    filled(&world);
    world.raw("0a111111111111111602", Some("6361"));
    world.raw("0a111111111111111881", Some("6361"));
    world.raw("0a1111111111111114ff", Some(""));
    let tx = world.foo();
    let shown = |result: permazen::object::Result<Value>| match result {
        Ok(value) => show(&value),
        Err(Error::Inconsistent { .. }) => "damaged".to_owned(),
        Err(error) => panic!("{error}"),
    };
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    let forward: Vec<String> = list.iter().map(shown).collect();
    assert_eq!(forward, ["a", "b", "damaged", "d", "e"]);
    let mut backward: Vec<String> = list.iter().rev().map(shown).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    let map = tx.map_view(foo_id(1), "map", Migrate::No).unwrap();
    let values: Vec<String> = map.iter().map(|pair| shown(pair.map(|(_, value)| value))).collect();
    assert_eq!(values, ["1", "damaged", "3", "4"]);
    let set = tx.set_view(foo_id(1), "set", Migrate::No).unwrap();
    let elements: Vec<String> = set.iter().map(shown).collect();
    assert_eq!(elements, ["1", "2", "3", "4", "damaged"]);

    // Changes that depend on the values stop at the damaged one, and have changed nothing.
    let before = tx.load(foo_id(1), Migrate::No).unwrap();
    assert_damaged(list.set(2, &text("z")), &["list of Foo 0a11111111111111", "1602"]);
    assert_damaged(list.remove(2), &["1602"]);
    assert_damaged(list.retain(|_| false), &["1602"]);
    assert_damaged(map.put(&int(2), &text("z")), &["map of Foo 0a11111111111111", "1881"]);
    assert_damaged(map.remove(&int(2)), &["1881"]);
    assert_damaged(set.retain(|_| false), &["set of Foo 0a11111111111111", "14ff"]);
    let after = tx.load(foo_id(1), Migrate::No).unwrap();
    for field in before.object_type().fields.clone() {
        assert!(before.pairs(&field).eq(after.pairs(&field)), "{}", field.name);
    }
    // Damage can be removed by its bytes.
    assert_eq!(list.encoded().remove(2).unwrap(), unhex("6361"));
    assert_eq!(map.encoded().put(&unhex("81"), &unhex("7a00")).unwrap(), Some(unhex("6361")));
    assert!(set.encoded().remove(&unhex("ff")).unwrap());
    assert_eq!(show_all(&list.to_vec().unwrap()), "a,b,d,e");
    assert_eq!(map.get(&int(2)).unwrap(), Some(text("z")));
    assert_eq!(show_all(&set.to_vec().unwrap()), "1,2,3,4");
}

#[test]
fn positions_no_list_has_are_not_looked_for() {
    let world = World::new();
    filled(&world);
    world.raw("0a1111111111111116fe7fffffff", Some("6100"));
    let tx = world.foo();
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    for position in [permazen::__internal::object::MAX_LIST_LEN, u32::MAX] {
        assert_eq!(list.get(position).unwrap(), None);
        assert!(list.set(position, &text("z")).is_err());
        assert!(list.remove(position).is_err());
    }
}

#[test]
fn loaded_damage_is_named_like_damage_read() {
    let world = World::new();
    filled(&world);
    world.raw("0a111111111111110c", Some("41"));
    world.raw("0a111111111111110e", Some("0102"));
    world.raw("0a111111111111111601", Some("41"));
    let tx = world.foo();
    let data = tx.load(foo_id(1), Migrate::No).unwrap();
    assert_damaged(
        data.decode("s"),
        &["field s of Foo 0a11111111111111", "0a111111111111110c", "41"],
    );
    assert_damaged(data.decode("c"), &["field c of Foo", "0a111111111111110e", "0102"]);
    assert_damaged(data.decode("list"), &["field list of Foo", "0a111111111111111601", "41"]);
    assert!(data.decode("map").is_ok());
}

#[test]
fn adjusting_a_damaged_counter_says_so() {
    let world = World::new();
    filled(&world);
    world.raw("0a111111111111110e", Some("0102"));
    let tx = world.foo();
    let adjust = |by| tx.adjust_counter(foo_id(1), "c", by, Migrate::No);
    assert_damaged(adjust(5), &["field c of Foo 0a11111111111111", "0e", "0102"]);
    tx.set_counter(foo_id(1), "c", 7, Migrate::No).unwrap();
    adjust(5).unwrap();
    assert_eq!(tx.counter(foo_id(1), "c", Migrate::No).unwrap(), 12);
    tx.commit().unwrap();
    // A missing counter reads as 0, and counts from there.
    world.raw("0a111111111111110e", None);
    let tx = world.foo();
    tx.adjust_counter(foo_id(1), "c", 5, Migrate::No).unwrap();
    assert_eq!(tx.counter(foo_id(1), "c", Migrate::No).unwrap(), 5);
}

#[test]
fn what_a_loaded_object_lacks_is_not_taken_from_others() {
    let world = World::new();
    filled(&world);
    world.raw("0a111111111111110e", None);
    let tx = world.foo();
    let data = tx.load(foo_id(1), Migrate::No).unwrap();
    for n in [2, 3] {
        create(&tx, foo_id(n));
        tx.set_counter(foo_id(n), "c", 7, Migrate::No).unwrap();
    }
    tx.store_object(foo_id(2), &data, Migrate::No).unwrap();
    tx.replace_object(foo_id(3), &data, &mut permazen::object::CopyOptions::new()).unwrap();
    tx.create_with(Some(foo_id(4)), &data).unwrap().unwrap();
    tx.commit().unwrap();
    let pairs = world.pairs();
    for id in ["0a22222222222222", "0a33333333333333", "0a44444444444444"] {
        let counter = format!("{id}0e=0000000000000000");
        assert!(pairs.contains(&counter), "{counter} in {pairs:?}");
    }
}

#[test]
fn a_list_with_a_hole_is_not_copied() {
    let world = World::new();
    filled(&world);
    world.raw("0a111111111111111602", None);
    let elsewhere = World::new();
    let (tx, dest) = (world.foo(), elsewhere.foo());
    let copied = tx.copy_to(foo_id(1), &dest, &mut permazen::object::CopyOptions::new());
    assert_damaged(copied, &["field list of Foo 0a11111111111111", "position 2"]);
    assert!(!dest.exists(foo_id(1)).unwrap());
}

#[test]
fn foreign_keys_of_a_deleted_object_hide_none_of_its_fields() {
    let world = World::new();
    filled(&world);
    let tx = world.foo();
    set(&tx, foo_id(1), "i", int(5));
    tx.commit().unwrap();
    // Storage IDs in longer forms than necessary. Some of them belong to existing fields.
    for foreign in ["feffffff06", "feffffff0a", "fc0000", "0b"] {
        world.raw(&format!("0a11111111111111{foreign}ff"), Some("84"));
    }
    let tx = world.foo();
    assert!(tx.delete(foo_id(1)).unwrap());
    tx.commit().unwrap();
    assert_eq!(world.pairs(), Vec::<String>::new());
}
