//! List elements whose keys encode the position in another form than the usual one. Such an element
//! counts, but is not found at its position.

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::object::{CopyOptions, Error, ListView, Migrate, Transaction};
use permazen::object_xml::ObjectXmlWriter;
use permazen::{Permazen, PermazenObject};

use crate::support::*;

/// Position 1 in five bytes. It sorts after all positions of short lists.
const LONG: &str = "feffffff06";

/// Object 1 with the list `a, b, c` and, after it, `x` under a key that is no position. All of them
/// are indexed.
fn damaged() -> World {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    list(&tx).extend(&texts(&["a", "b", "c"])).unwrap();
    set(&tx, foo_id(1), "i", int(5));
    tx.commit().unwrap();
    world.raw(&format!("0a1111111111111116{LONG}"), Some("7800"));
    world.raw(&format!("1778000a11111111111111{LONG}"), Some(""));
    world
}

fn list<'t>(tx: &'t Transaction) -> ListView<'t> {
    tx.list_view(foo_id(1), "list", Migrate::No).unwrap()
}

#[track_caller]
fn assert_stray<R: std::fmt::Debug>(result: Result<R, Error>) {
    match result {
        Err(error @ Error::Inconsistent { .. }) => {
            let told = error.to_string();
            for part in ["list", LONG, "number 1 in 5 bytes"] {
                assert!(told.contains(part), "{part:?} in {told:?}");
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_written_where_the_length_is_not_known() {
    let world = damaged();
    let before = world.pairs();
    let tx = world.foo();
    let list = list(&tx);
    assert_stray(list.len());
    assert_stray(list.is_empty());
    assert_stray(list.push(&text("z")));
    assert_stray(list.encoded().push(b"z\0"));
    assert_stray(list.extend(&texts(&["y", "z"])));
    assert_stray(list.insert(1, &text("z")));
    assert_stray(list.insert_all(0, &texts(&["y", "z"])));
    assert_stray(list.pop());
    assert_stray(list.remove(0));
    assert_stray(list.encoded().remove(2));
    assert_stray(list.remove_value(&text("a")));
    assert_stray(list.remove_range(0, 2));
    assert_stray(list.remove_range(0, 4));
    assert_stray(list.retain(|value| *value == text("b")));
    assert_stray(list.set(3, &text("z")));
    let mut cursor = list.cursor();
    cursor.step().unwrap();
    assert_stray(cursor.insert(&text("z")));
    assert_stray(cursor.remove());
    tx.commit().unwrap();
    assert_eq!(world.pairs(), before);
}

#[test]
fn what_stands_at_a_position_can_be_read_and_replaced() {
    let world = damaged();
    let tx = world.foo();
    let list = list(&tx);
    let shown = |position| list.get(position).unwrap().as_ref().map(show);
    assert_eq!(
        [0, 1, 2, 3].map(shown),
        ["a", "b", "c"]
            .map(|s| Some(s.to_owned()))
            .iter()
            .cloned()
            .chain([None])
            .collect::<Vec<_>>()[..]
    );
    assert_eq!(list.set(1, &text("z")).unwrap(), text("b"));
    assert_eq!(list.position(&text("c")).unwrap(), Some(2));
    assert_stray(list.position(&text("nowhere")));
    assert_stray(list.to_vec());
    let mut all = list.iter();
    assert_eq!(show_all(&all.by_ref().take(3).collect::<Result<Vec<_>, _>>().unwrap()), "a,z,c");
    assert_stray(all.next().unwrap());
    assert!(all.next().is_none());
    assert_stray(list.iter().next_back().unwrap());
    assert_eq!(list.iter_range(..3).count(), 3);
}

#[test]
fn positions_beyond_the_last_a_list_can_have_are_damage() {
    let world = damaged();
    world.raw(&format!("0a1111111111111116{LONG}"), None);
    // Position 2147483647. With it, the list would have one element too many.
    world.raw("0a1111111111111116fe7fffff04", Some("7800"));
    let tx = world.foo();
    assert!(matches!(list(&tx).len(), Err(Error::Inconsistent { .. })));
    assert!(matches!(list(&tx).push(&text("z")), Err(Error::Inconsistent { .. })));
    assert!(matches!(list(&tx).to_vec(), Err(Error::Inconsistent { .. })));
    let data = tx.load(foo_id(1), Migrate::No).unwrap();
    assert!(matches!(data.decode("list"), Err(Error::Inconsistent { .. })));
}

#[test]
fn whole_objects_name_the_damage_and_their_other_fields_are_there() {
    let world = damaged();
    let tx = world.foo();
    let data = tx.load(foo_id(1), Migrate::No).unwrap();
    assert_stray(data.decode("list"));
    let field = data.field("list").unwrap().clone();
    assert_eq!(data.elements(&field).filter_map(Result::ok).count(), 3);
    assert!(data.decode("i").is_ok());
    let elsewhere = World::new();
    let dest = elsewhere.foo();
    assert_stray(tx.copy_to(foo_id(1), &dest, &mut CopyOptions::new()));
    assert_stray(dest.create_with(None, &data));
    assert_stray(dest.create_with(Some(foo_id(1)), &data));
    assert_stray(dest.replace_object(foo_id(1), &data, &mut CopyOptions::new()));
    create(&dest, foo_id(2));
    assert_stray(dest.store_object(foo_id(2), &data, Migrate::No));
    assert!(!dest.exists(foo_id(1)).unwrap());
    assert!(dest.list_view(foo_id(2), "list", Migrate::No).unwrap().is_empty().unwrap());
    let written = ObjectXmlWriter::new().write(&tx, &mut Vec::new()).unwrap_err().to_string();
    assert!(written.contains("number 1 in 5 bytes") && written.contains("list"), "{written}");
}

#[test]
fn a_whole_content_a_cleared_list_and_a_deletion_end_the_damage() {
    let stray = |world: &World| world.pairs().iter().any(|pair| pair.contains(LONG));
    let world = damaged();
    assert!(stray(&world));
    let tx = world.foo();
    list(&tx).clear().unwrap();
    list(&tx).push(&text("z")).unwrap();
    assert_eq!(show_all(&list(&tx).to_vec().unwrap()), "z");
    tx.commit().unwrap();
    assert!(!stray(&world));

    let world = damaged();
    let tx = world.foo();
    create(&tx, foo_id(2));
    let other = tx.load(foo_id(2), Migrate::No).unwrap();
    tx.store_object(foo_id(1), &other, Migrate::No).unwrap();
    tx.delete(foo_id(2)).unwrap();
    assert!(list(&tx).is_empty().unwrap());
    tx.commit().unwrap();
    assert!(!stray(&world));

    let world = damaged();
    let tx = world.foo();
    assert!(tx.delete(foo_id(1)).unwrap());
    tx.commit().unwrap();
    assert_eq!(world.pairs(), Vec::<String>::new());
}

#[test]
fn index_entries_name_no_position_that_is_none() {
    let world = damaged();
    let tx = world.foo();
    let index = tx.list_element_index(sid(23)).unwrap();
    let of_stray = index.with_value(0, &text("x")).unwrap();
    let entry = of_stray.first().unwrap().unwrap();
    assert_eq!(entry.id().unwrap(), foo_id(1));
    assert!(matches!(entry.position(), Err(Error::Inconsistent { .. })));
    assert!(matches!(entry.value(2), Err(Error::Inconsistent { .. })));
    assert_eq!(of_stray.distinct(2).count().unwrap(), 1);
}

/// Lists of references to objects of type 10, or only of type 50.
fn narrowing(allowed: &str) -> String {
    format!(
        r#"<Schema><ObjectType name="A" storageId="10">
<SimpleField name="n" encoding="urn:fdc:permazen.io:2020:int" storageId="40"/>
<ListField name="list" storageId="21"><ReferenceField storageId="22" inverseDelete="REMOVE">{allowed}</ReferenceField></ListField>
</ObjectType><ObjectType name="B" storageId="50"/></Schema>"#
    )
}

#[test]
fn an_object_with_a_stray_element_moves_unless_elements_have_to_move_too() {
    let only_b = narrowing(r#"<ObjectTypes><ObjectType name="B"/></ObjectTypes>"#);
    let only_a = narrowing(r#"<ObjectTypes><ObjectType name="A"/></ObjectTypes>"#);
    for (new, moves) in [(only_a, true), (only_b, false)] {
        let world = World::new();
        let tx = world.begin(&narrowing(""));
        create(&tx, a(1));
        tx.list_view(a(1), "list", Migrate::No).unwrap().extend(&[to_a(1), to_a(1)]).unwrap();
        tx.commit().unwrap();
        world.raw(&format!("{}15{LONG}", a(1)), Some(&a(1).to_string()));
        let before = world.pairs();
        let tx = world.begin(&new);
        let moved = tx.migrate(a(1));
        match moves {
            true => assert!(moved.unwrap()),
            false => assert_stray(moved),
        }
        assert!(tx.get(a(1), "n", Migrate::No).is_ok());
        tx.commit().unwrap();
        let content = |pairs: &[String]| {
            let prefix = format!("{}15", a(1));
            pairs.iter().filter(|pair| pair.starts_with(&prefix)).cloned().collect::<Vec<_>>()
        };
        assert_eq!(content(&world.pairs()), content(&before));
        let tx = world.begin(&new);
        assert!(tx.delete(a(1)).unwrap());
        tx.commit().unwrap();
        assert!(content(&world.pairs()).is_empty());
    }
}

#[test]
fn elements_behind_a_hole_do_not_move_onto_others_with_their_object() {
    let world = World::new();
    let tx = world.begin(&narrowing(""));
    (1..=2).for_each(|n| {
        create(&tx, a(n));
    });
    let b = tx.create("B").unwrap();
    let list = tx.list_view(a(1), "list", Migrate::No).unwrap();
    list.extend(&[b.into(), b.into(), to_a(2), b.into()]).unwrap();
    tx.commit().unwrap();
    // The element that was at 1 is then the first. If the element after it is removed, the last
    // would move to 1.
    world.raw(&format!("{}1500", a(1)), None);
    let before = world.pairs();
    let tx = world.begin(&narrowing(r#"<ObjectTypes><ObjectType name="B"/></ObjectTypes>"#));
    assert!(matches!(tx.migrate(a(1)), Err(Error::Inconsistent { .. })));
    tx.commit().unwrap();
    assert_eq!(world.pairs(), before);
}

#[test]
fn what_a_stray_element_refers_to_can_be_deleted() {
    for (action, left) in [("REMOVE", ""), ("NULLIFY", "=ff")] {
        let world = World::new();
        let tx = world.begin(&containers("NULLIFY", action));
        (1..=3).for_each(|n| {
            create(&tx, a(n));
        });
        tx.list_view(a(1), "list", Migrate::No)
            .unwrap()
            .extend(&[to_a(2), to_a(3), to_a(2)])
            .unwrap();
        tx.commit().unwrap();
        let key = format!("{}15{LONG}", a(1));
        world.raw(&key, Some(&a(2).to_string()));
        world.raw(&format!("16{}{}{LONG}", a(2), a(1)), Some(""));
        let tx = world.begin(&containers("NULLIFY", action));
        assert!(tx.delete(a(2)).unwrap());
        tx.commit().unwrap();
        let pairs = world.pairs();
        let stray = pairs.iter().find(|pair| pair.starts_with(&key));
        assert_eq!(stray.map_or("", |pair| &pair[key.len()..]), left, "{action}");
        assert!(!pairs.iter().any(|pair| pair.contains(&a(2).to_string())), "{pairs:?}");
        let tx = world.begin(&containers("NULLIFY", action));
        assert!(tx.delete(a(1)).unwrap() && tx.delete(a(3)).unwrap());
        tx.commit().unwrap();
        assert_eq!(world.pairs(), Vec::<String>::new(), "{action}");
    }
}

#[derive(PermazenObject, Debug, Default)]
#[permazen(storage_id = 10)]
struct Shelf {
    #[permazen(storage_id = 11)]
    label: String,
    #[permazen(storage_id = 12, element(indexed, storage_id = 13))]
    books: Vec<String>,
}

#[test]
fn the_typed_layer_tells_the_same() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<Shelf>().build().unwrap();
    let id = db
        .write(|tx| Ok(tx.create(Shelf { label: "l".into(), books: vec!["a".into(); 3] })?.id()))
        .unwrap();
    let mut kv = store.begin(&TxOptions::default()).unwrap();
    kv.put(&[id.as_bytes(), &[12][..], &unhex(LONG)].concat(), b"x\0").unwrap();
    kv.put(&[&b"\x0dx\0"[..], id.as_bytes(), &unhex(LONG)].concat(), b"").unwrap();
    kv.commit().unwrap();
    db.write(|tx| {
        let shelf = tx.get::<Shelf>(permazen::Ref::new(id))?;
        let damage = |result: Result<(), permazen::Error>| match result {
            Err(permazen::Error::Object(error)) => assert_stray::<()>(Err(error)),
            other => panic!("{other:?}"),
        };
        damage(shelf.load().map(drop));
        damage(shelf.books()?.push("z"));
        damage(shelf.books()?.extend(["y", "z"]));
        damage(shelf.books()?.load::<Vec<_>>().map(drop));
        damage(shelf.books()?.len().map(drop));
        assert_eq!((shelf.label()?.as_str(), shelf.books()?.get(2)?.as_deref()), ("l", Some("a")));
        let entries = tx.index(Shelf::BOOKS.positions())?;
        let read: Vec<_> = entries.iter().collect();
        assert_eq!(read.iter().filter(|entry| entry.is_ok()).count(), 3);
        assert!(read.last().is_some_and(Result::is_err));
        shelf.books()?.clear()?;
        shelf.books()?.push("z")?;
        assert_eq!(shelf.load()?.books, ["z"]);
        assert_eq!(tx.index(Shelf::BOOKS.positions())?.iter().count(), 1);
        Ok(())
    })
    .unwrap();
}
