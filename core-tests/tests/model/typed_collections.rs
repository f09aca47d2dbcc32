//! Lists and maps of typed objects: reading a part, and the effect of a damaged element.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::object::Migrate;
use permazen::{Error, Permazen, PermazenObject, Ref};

#[derive(PermazenObject, Debug, Clone, PartialEq)]
#[permazen(storage_id = 10)]
struct Shelf {
    #[permazen(storage_id = 11)]
    books: Vec<String>,
    #[permazen(storage_id = 12)]
    places: BTreeMap<i32, String>,
}

/// A database with a shelf. The element at position 1 and the value of key 1 are cut short.
fn damaged() -> (Permazen, Ref<Shelf>) {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<Shelf>().build().unwrap();
    let books = ["a", "b", "c"].map(str::to_owned).to_vec();
    let places = (1..=2).map(|n| (n, n.to_string())).collect();
    let shelf = db.write(|tx| {
        tx.create(Shelf { books: books.clone(), places: Clone::clone(&places) }).map(Ref::from)
    });
    let shelf = shelf.unwrap();
    let mut kv = store.begin(&TxOptions::default()).unwrap();
    for suffix in [&[11, 1][..], &[12, 128]] {
        let key = [shelf.id().as_bytes(), suffix].concat();
        assert!(kv.get(&key).unwrap().is_some());
        kv.put(&key, b"x").unwrap();
    }
    kv.commit().unwrap();
    (db, shelf)
}

#[test]
fn changes_that_cannot_give_back_what_they_replace_change_nothing() {
    let (db, shelf) = damaged();
    let tx = db.begin().unwrap();
    let (books, places) = {
        let shelf = tx.get(shelf).unwrap();
        (shelf.books().unwrap(), shelf.places().unwrap())
    };
    let before = tx.core().load(shelf.id(), Migrate::No).unwrap();
    let damage = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::Decode { .. })), "{result:?}");
    };
    damage(books.set(1, "z").map(drop));
    damage(books.remove(1).map(drop));
    damage(places.insert(1, "z").map(drop));
    damage(places.remove(1).map(drop));
    let after = tx.core().load(shelf.id(), Migrate::No).unwrap();
    for field in &before.object_type().fields {
        assert!(before.pairs(field).eq(after.pairs(field)), "{}", field.name);
    }
    books.remove_range(1, 2).unwrap();
    assert_eq!(books.pop().unwrap().as_deref(), Some("c"));
    assert_eq!(books.set(0, "z").unwrap(), "a");
    assert_eq!(places.insert(2, "z").unwrap().as_deref(), Some("2"));
    assert_eq!(books.load::<Vec<String>>().unwrap(), ["z"]);
    books.pop().unwrap();
    assert_eq!(books.pop().unwrap(), None);
}

#[test]
fn a_part_of_a_list_is_read() {
    let (db, shelf) = damaged();
    db.write(|tx| {
        let books = tx.get(shelf)?.books()?;
        books.clear()?;
        books.extend((0..100).map(|n| n.to_string()))?;
        let part: Vec<String> = books.iter_range(97..).rev().collect::<Result<_, _>>()?;
        assert_eq!(part, ["99", "98", "97"]);
        Ok(())
    })
    .unwrap();
}
