//! What happens to values when the type of a field changes.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::{Counter, Error, Permazen, PermazenEnum, PermazenObject, Ref};

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    A,
    B,
    C,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    C,
    B,
    X,
}

mod old {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Item {
        pub(super) number: i32,
        pub(super) text: String,
        pub(super) digits: String,
        pub(super) letter: Before,
        pub(super) lost: Option<Before>,
        pub(super) count: Counter,
        pub(super) total: i64,
        pub(super) reset: i32,
        pub(super) tags: Vec<String>,
    }
}

mod new {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Item {
        #[permazen(indexed)]
        pub(super) number: i64,
        pub(super) text: i32,
        pub(super) digits: i32,
        pub(super) letter: After,
        pub(super) lost: Option<After>,
        pub(super) count: i64,
        pub(super) total: Counter,
        #[permazen(upgrade = "reset")]
        pub(super) reset: i64,
        pub(super) tags: Vec<i32>,
    }
}

mod strict {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Item {
        #[permazen(upgrade = "exact")]
        pub(super) number: i64,
        #[permazen(upgrade = "exact")]
        pub(super) text: i32,
    }
}

mod collections {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Item {
        #[permazen(upgrade = "exact")]
        pub(super) tags: Vec<i32>,
    }
}

fn item() -> old::Item {
    old::Item {
        number: 42,
        text: "no number".into(),
        digits: "-17".into(),
        letter: Before::C,
        lost: Some(Before::A),
        count: Counter::from(5),
        total: 7,
        reset: 9,
        tags: vec!["1".into()],
    }
}

/// A store with one object of the old type.
fn store() -> Arc<dyn KvDatabase> {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<old::Item>().build().unwrap();
    db.write(|tx| tx.create(item()).map(drop)).unwrap();
    store
}

#[test]
fn values_are_converted_where_they_can_be() {
    let db = Permazen::builder_shared(store()).model::<new::Item>().build().unwrap();
    let expected = new::Item {
        number: 42,
        text: 0,
        digits: -17,
        letter: After::C,
        lost: None,
        count: 5,
        total: Counter::from(7),
        reset: 0,
        tags: vec![],
    };
    let seen = |tx: &permazen::Tx| {
        let found = tx.all::<new::Item>()?.into_iter().next();
        found.unwrap()?.load()
    };
    assert_eq!(db.read(seen).unwrap(), expected);
    assert_eq!(db.write(seen).unwrap(), expected);
    let found = db.read(|tx| tx.index(new::Item::NUMBER)?.get(42)?.count()).unwrap();
    assert_eq!(found, 1);
    // Converted once: a value set afterwards stays.
    db.write(|tx| {
        for item in tx.all::<new::Item>()? {
            item?.set_number(43)?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(db.read(seen).unwrap(), new::Item { number: 43, ..expected });
}

#[test]
fn elements_that_must_be_converted_are_an_error() {
    let db = Permazen::builder_shared(store()).model::<collections::Item>().build().unwrap();
    let loaded = db.read(|tx| tx.all::<collections::Item>()?.into_iter().next().unwrap()?.load());
    match loaded {
        Err(Error::Upgrade { field, .. }) => assert_eq!(field, "Item.tags"),
        other => panic!("{other:?}"),
    }
    // Empty collections have nothing to lose.
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<old::Item>().build().unwrap();
    db.write(|tx| tx.create(old::Item { tags: vec![], ..item() }).map(drop)).unwrap();
    let db = Permazen::builder_shared(store).model::<collections::Item>().build().unwrap();
    let loaded = db.read(|tx| tx.all::<collections::Item>()?.into_iter().next().unwrap()?.load());
    assert_eq!(loaded.unwrap(), collections::Item { tags: vec![] });
}

#[test]
fn what_must_be_converted_and_cannot_be_is_an_error_and_nothing_is_lost() {
    let store = store();
    let db = Permazen::builder_shared(store.clone()).model::<strict::Item>().build().unwrap();
    let tx = db.begin().unwrap();
    let stored = tx.all::<strict::Item>().unwrap().into_iter().next().unwrap().unwrap();
    let error = stored.load().unwrap_err();
    assert!(matches!(error, Error::Upgrade { .. }), "{error:?}");
    let error = error.to_string();
    assert!(error.contains("Item.text") && error.contains("no number"), "{error}");
    tx.commit().unwrap();
    let failed: Result<_, Error> = db.write(|tx| {
        let id: Ref<strict::Item> = tx.all::<strict::Item>()?.into_iter().next().unwrap()?.into();
        tx.get(id)?.number()
    });
    failed.unwrap_err();
    let db = Permazen::builder_shared(store).model::<old::Item>().build().unwrap();
    let kept = db.read(|tx| tx.all::<old::Item>()?.into_iter().next().unwrap()?.load());
    assert_eq!(kept.unwrap(), item());
}

/// A value that cannot be converted does not prevent its replacement.
#[test]
fn a_value_that_cannot_be_converted_can_be_replaced() {
    for way in ["set", "store", "object layer"] {
        let store = store();
        let db = Permazen::builder_shared(store.clone()).model::<strict::Item>().build().unwrap();
        let done: Result<(), Error> = db.write(|tx| {
            let item = tx.all::<strict::Item>()?.into_iter().next().unwrap()?;
            assert!(matches!(item.text(), Err(Error::Upgrade { .. })));
            match way {
                "set" => item.set_text(7)?,
                "store" => item.store(&strict::Item { number: 42, text: 7 })?,
                _ => {
                    let number = permazen::encoding::Value::Int(7);
                    let migrate = permazen::object::Migrate::Yes;
                    tx.core().set(item.id(), "text", &number, migrate)?;
                }
            }
            assert_eq!((item.number()?, item.text()?), (42, 7), "{way}");
            Ok(())
        });
        done.unwrap();
    }
}

#[test]
fn listeners_can_be_added_to_those_that_convert() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let db = Permazen::builder_shared(store()).model::<new::Item>().build().unwrap();
    let told = Arc::new(AtomicUsize::new(0));
    let tx = db.begin().unwrap();
    let object_type = tx.schema().object_type("Item").unwrap().storage_id;
    let count = Arc::clone(&told);
    tx.core()
        .on_schema_change(
            object_type,
            Arc::new(move |tx, change| {
                let number = tx.get(change.id, "number", permazen::object::Migrate::No)?;
                assert_eq!(number, permazen::encoding::Value::Long(42));
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }),
        )
        .unwrap();
    let item = tx.all::<new::Item>().unwrap().into_iter().next().unwrap().unwrap();
    assert_eq!(item.number().unwrap(), 42);
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

mod links {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Place {}

    pub(super) mod old {
        use super::*;

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Holder {
            pub(in super::super) kept: Option<Ref<Place>>,
            pub(in super::super) lost: Option<Ref<Place>>,
        }
    }

    pub(super) mod new {
        use super::*;

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Holder {
            pub(in super::super) kept: Option<Ref<Place>>,
            pub(in super::super) lost: Option<Ref<Holder>>,
        }
    }

    pub(super) mod strict {
        use super::*;

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Holder {
            #[permazen(upgrade = "exact")]
            pub(in super::super) kept: Option<Ref<Place>>,
            #[permazen(upgrade = "exact")]
            pub(in super::super) lost: Option<Ref<Holder>>,
        }
    }
}

/// References need no conversion. References to objects of a type that is no longer allowed are
/// lost.
#[test]
fn references_are_kept_where_their_type_is_allowed() {
    use links::{Place, new, old, strict};
    let counting = CountingStore::new(MemoryStore::new());
    let counter = counting.counter();
    let store: Arc<dyn KvDatabase> = Arc::new(counting);
    let of = |lost: bool| {
        let db = Permazen::builder_shared(store.clone())
            .model::<old::Holder>()
            .model::<Place>()
            .build()
            .unwrap();
        let created: Result<(), Error> = db.write(|tx| {
            for holder in tx.all::<old::Holder>()? {
                holder?.delete()?;
            }
            let place = Some(tx.create(Place {})?.into());
            let lost = if lost { place } else { None };
            tx.create(old::Holder { kept: place, lost }).map(drop)
        });
        created.unwrap();
    };
    of(true);
    let db = Permazen::builder_shared(store.clone())
        .model::<new::Holder>()
        .model::<Place>()
        .build()
        .unwrap();
    let tx = db.begin().unwrap();
    let holder = tx.all::<new::Holder>().unwrap().into_iter().next().unwrap().unwrap();
    counter.take();
    let loaded = holder.load().unwrap();
    assert_eq!(counter.take().gets, 0);
    assert!(loaded.kept.is_some());
    assert_eq!(loaded.lost, None);
    drop(tx);
    let db = Permazen::builder_shared(store.clone())
        .model::<strict::Holder>()
        .model::<Place>()
        .build()
        .unwrap();
    let load = || {
        let tx = db.begin().unwrap();
        let holder = tx.all::<strict::Holder>().unwrap().into_iter().next().unwrap().unwrap();
        holder.load()
    };
    let error = load().unwrap_err().to_string();
    assert!(error.contains("Holder.lost") && error.contains("references to objects"), "{error}");
    of(false);
    assert!(load().unwrap().kept.is_some());
}
