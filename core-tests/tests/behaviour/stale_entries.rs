//! Deletions and whole-object operations that meet damage: index entries without matching content,
//! and keys that continue the key of a simple field. The stored content is treated correctly, no
//! other object changes, and every object can be deleted.

use permazen::ObjId;
use permazen::object::{CopyOptions, Error, FieldValue, Migrate, Transaction};

use crate::support::*;

fn schema(action: &str) -> String {
    containers(if action == "REMOVE" { "NULLIFY" } else { action }, action)
}

/// A1 refers to A3 in every kind of field.
fn fill(tx: &Transaction) {
    create_all(tx, 1..=3);
    set(tx, a(1), "ref", to_a(3));
    tx.list_view(a(1), "list", Migrate::No).unwrap().extend(&[to_a(3), to_a(3)]).unwrap();
    tx.set_view(a(1), "set", Migrate::No).unwrap().add(&to_a(3)).unwrap();
    tx.map_view(a(1), "byKey", Migrate::No).unwrap().put(&to_a(3), &int(7)).unwrap();
    tx.map_view(a(1), "byValue", Migrate::No).unwrap().put(&int(1), &to_a(3)).unwrap();
}

/// Everything stored for an object except its own pair.
fn content(world: &World, id: ObjId) -> Vec<String> {
    let prefix = format!("{id}");
    world.pairs().into_iter().filter(|pair| pair.starts_with(&prefix)).collect()
}

/// Index entries that say A1 refers to A2, at places where it refers to A3 or that do not exist.
fn stale() -> Vec<String> {
    let (one, two) = (a(1), a(2));
    ["14{2}{1}", "16{2}{1}00", "16{2}{1}09", "18{2}{1}", "1a{2}{1}", "1e{2}{1}81", "1e{2}{1}85"]
        .map(|entry| entry.replace("{2}", &two.to_string()).replace("{1}", &one.to_string()))
        .into()
}

#[test]
fn what_a_stale_entry_names_is_left_alone_and_the_object_can_be_deleted() {
    for action in ["NULLIFY", "REMOVE", "DELETE", "EXCEPTION", "IGNORE"] {
        let world = World::new();
        let tx = world.begin(&schema(action));
        fill(&tx);
        tx.commit().unwrap();
        let before = content(&world, a(1));
        stale().iter().for_each(|entry| world.raw(entry, Some("")));
        let tx = world.begin(&schema(action));
        assert!(tx.delete(a(2)).unwrap(), "{action}");
        assert!(!tx.exists(a(2)).unwrap());
        assert!(tx.exists(a(1)).unwrap(), "{action}: an innocent object is deleted");
        tx.commit().unwrap();
        assert_eq!(content(&world, a(1)), before, "{action}");
    }
}

#[test]
fn what_does_refer_is_found_among_stale_entries() {
    for (action, expected) in
        [("NULLIFY", Some("null,X,null")), ("REMOVE", Some("X")), ("DELETE", None)]
    {
        let world = World::new();
        let tx = world.begin(&schema(action));
        fill(&tx);
        let list = tx.list_view(a(1), "list", Migrate::No).unwrap();
        list.clear().unwrap();
        list.extend(&[to_a(2), to_a(3), to_a(2)]).unwrap();
        tx.commit().unwrap();
        for position in ["01", "09"] {
            world.raw(&format!("16{}{}{position}", a(2), a(1)), Some(""));
        }
        let tx = world.begin(&schema(action));
        assert!(tx.delete(a(2)).unwrap());
        assert_eq!(tx.exists(a(1)).unwrap(), expected.is_some(), "{action}");
        if let Some(expected) = expected {
            let list = tx.list_view(a(1), "list", Migrate::No).unwrap().to_vec().unwrap();
            assert_eq!(show_all(&list).replace(&a(3).to_string(), "X"), expected);
        }
    }
    let world = World::new();
    let tx = world.begin(&schema("EXCEPTION"));
    fill(&tx);
    tx.list_view(a(1), "list", Migrate::No).unwrap().push(&to_a(2)).unwrap();
    tx.commit().unwrap();
    world.raw(&format!("16{}{}00", a(2), a(1)), Some(""));
    let result = world.begin(&schema("EXCEPTION")).delete(a(2));
    assert!(matches!(result, Err(Error::ReferencedObject { .. })), "{result:?}");
}

/// The example object with default values, and these further keys with values.
fn with_stray_keys(keys: &[(&str, &str)]) -> World {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    tx.commit().unwrap();
    for (key, value) in keys {
        world.raw(&format!("{}{key}", foo_id(1)), Some(value));
    }
    world
}

#[test]
fn keys_behind_that_of_a_simple_field_or_counter_are_no_values() {
    let strays = [("0b33", "85"), ("0c00", "7800"), ("0d07", "0a22222222222222")];
    let id = foo_id(1);
    let world = with_stray_keys(&strays);
    world.raw(&format!("{id}0e"), None);
    world.raw(&format!("{id}0e01"), Some("0000000000000005"));
    let tx = world.foo();
    let data = tx.load(id, Migrate::No).unwrap();
    for field in ["i", "s", "r"] {
        let value = tx.get(id, field, Migrate::No).unwrap();
        assert_eq!(data.decode(field).unwrap(), FieldValue::Simple(value), "{field}");
    }
    assert_eq!(data.decode("c").unwrap(), FieldValue::Counter(0));
    let other = tx.detached().unwrap();
    assert!(tx.copy_to(id, &other, &mut CopyOptions::new()).unwrap());
    assert_eq!(other.get(id, "i", Migrate::No).unwrap(), int(0));
    tx.store_object(id, &data, Migrate::No).unwrap();
    assert_eq!(tx.get(id, "i", Migrate::No).unwrap(), int(0));
    assert!(tx.delete(id).unwrap());
    tx.commit().unwrap();
    assert_eq!(world.pairs(), Vec::<String>::new(), "index entries and stray keys are gone");
}

#[test]
fn undoing_a_deletion_of_an_object_with_stray_keys_puts_back_what_was() {
    let world = with_stray_keys(&[("0b33", "85")]);
    let before = world.pairs();
    let tx = world.foo();
    let result = tx.atomic(|tx| {
        tx.delete(foo_id(1))?;
        Err::<(), Error>(Error::listener("no"))
    });
    assert!(result.is_err());
    tx.commit().unwrap();
    assert_eq!(world.pairs(), before);
}

#[test]
fn migrating_an_object_with_stray_keys_keeps_its_values() {
    let world = with_stray_keys(&[("0b33", "85")]);
    let tx = world.begin(&foo_with_more());
    assert!(tx.migrate(foo_id(1)).unwrap());
    assert_eq!(tx.get(foo_id(1), "i", Migrate::No).unwrap(), int(0));
    assert!(tx.delete(foo_id(1)).unwrap());
    tx.commit().unwrap();
    assert_eq!(world.pairs(), Vec::<String>::new());
}
