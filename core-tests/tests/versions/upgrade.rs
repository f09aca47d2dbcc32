//! Values of a field whose type changes.

use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::model::{Loss, Model};
use permazen::{Counter, Error, Obj, Permazen, PermazenEnum, PermazenObject, Ref, Tx};

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

/// The same as `new`, and accepts that values are lost.
mod lossy {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    #[permazen(default_upgrade = "lossy")]
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

/// Two of the fields. The others may go.
mod fewer {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    #[permazen(removed("digits", "letter", "lost", "count", "total", "reset", "tags"))]
    pub(super) struct Item {
        pub(super) number: i64,
        pub(super) text: i32,
    }
}

mod collections {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    #[permazen(removed("number", "text", "digits", "letter", "lost", "count", "total", "reset"))]
    pub(super) struct Item {
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
fn store_of(item: old::Item) -> Arc<dyn KvDatabase> {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<old::Item>().build().unwrap();
    db.write(|tx| tx.create(item.clone()).map(drop)).unwrap();
    store
}

fn store() -> Arc<dyn KvDatabase> {
    store_of(item())
}

fn open<M: Model>(store: &Arc<dyn KvDatabase>) -> Permazen {
    Permazen::builder_shared(store.clone()).model::<M>().build().unwrap()
}

fn only<M: Model>(tx: &Tx) -> Obj<'_, M> {
    tx.all::<M>().unwrap().into_iter().next().unwrap().unwrap()
}

/// The losses, by the name of the field.
fn losses<T: std::fmt::Debug>(result: permazen::Result<T>) -> Vec<(String, String)> {
    match result {
        Err(Error::Refused(refusal)) => {
            assert_eq!(refusal.type_name, "Item");
            let loss = |loss: Loss| (loss.field, loss.value);
            refusal.losses.into_iter().map(loss).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn expected() -> new::Item {
    new::Item {
        number: 42,
        text: 7,
        digits: -17,
        letter: After::C,
        lost: Some(After::B),
        count: 5,
        total: Counter::from(7),
        reset: 0,
        tags: vec![1],
    }
}

#[test]
fn values_are_converted_exactly() {
    let store = store_of(old::Item { text: "7".into(), lost: Some(Before::B), ..item() });
    let db = open::<new::Item>(&store);
    let seen = |tx: &Tx| only::<new::Item>(tx).load();
    assert_eq!(db.read(seen).unwrap(), expected());
    assert_eq!(db.write(seen).unwrap(), expected());
    let found = db.read(|tx| tx.index(new::Item::NUMBER)?.get(42)?.count()).unwrap();
    assert_eq!(found, 1);
    // Converted once: a value set afterwards stays.
    db.write(|tx| only::<new::Item>(tx).set_number(43)).unwrap();
    assert_eq!(db.read(seen).unwrap(), new::Item { number: 43, ..expected() });
}

#[test]
fn an_object_stays_where_it_is_rather_than_lose_values() {
    let store = store();
    let db = open::<new::Item>(&store);
    let lost =
        [("text".to_owned(), "\"no number\"".to_owned()), ("lost".to_owned(), "A".to_owned())];
    assert_eq!(losses(db.read(|tx| only::<new::Item>(tx).load())), lost);
    let before = db.read(|tx| only::<new::Item>(tx).schema_id()).unwrap();
    // Every access that needs the move is refused, and a refused access changes nothing.
    db.write(|tx| {
        let item = only::<new::Item>(tx);
        assert_eq!(losses(item.load()), lost);
        assert_eq!(losses(item.number()), lost);
        assert_eq!(losses(item.tags().map(drop)), lost);
        assert_eq!(losses(item.set_number(1)), lost);
        assert_eq!(losses(item.migrate()), lost);
        // A value that is replaced need not be converted.
        assert_eq!(losses(item.set_text(1)), lost[1..]);
        assert_eq!(losses(item.set_lost(None)), lost[..1]);
        Ok(())
    })
    .unwrap();
    assert_eq!(db.read(|tx| only::<new::Item>(tx).schema_id()).unwrap(), before);
    let old = open::<old::Item>(&store);
    assert_eq!(old.read(|tx| only::<old::Item>(tx).load()).unwrap(), item());
    // The earlier program continues to use the object, and can remove what is in the way.
    old.write(|tx| {
        let item = only::<old::Item>(tx);
        item.set_text("7")?;
        item.set_lost(Before::B)
    })
    .unwrap();
    assert_eq!(db.write(|tx| only::<new::Item>(tx).load()).unwrap(), expected());
}

#[test]
fn what_may_be_lost_is_converted_as_well_as_possible() {
    let store = store();
    let db = open::<lossy::Item>(&store);
    let expected = lossy::Item {
        number: 42,
        text: 0,
        digits: -17,
        letter: After::C,
        lost: None,
        count: 5,
        total: Counter::from(7),
        reset: 0,
        tags: vec![1],
    };
    assert_eq!(db.read(|tx| only::<lossy::Item>(tx).load()).unwrap(), expected);
    assert_eq!(db.write(|tx| only::<lossy::Item>(tx).load()).unwrap(), expected);
    // The move is there to stay.
    assert_eq!(db.read(|tx| only::<lossy::Item>(tx).load()).unwrap(), expected);
}

#[test]
fn elements_are_converted_exactly_or_the_move_is_refused() {
    let tags = |tags: &[&str]| {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let store = store_of(old::Item { tags, ..item() });
        open::<collections::Item>(&store)
            .read(|tx| only::<collections::Item>(tx).load().map(|item| item.tags))
    };
    assert_eq!(tags(&["3", "-1", "3"]).unwrap(), [3, -1, 3]);
    assert!(tags(&[]).unwrap().is_empty());
    assert_eq!(losses(tags(&["3", "three"])), [("tags".to_owned(), "\"three\"".to_owned())]);
    // Read as a number and written again, it would be another text.
    assert_eq!(losses(tags(&["03"])), [("tags".to_owned(), "\"03\"".to_owned())]);
}

#[test]
fn a_value_that_cannot_be_converted_is_refused_and_not_lost() {
    let store = store();
    let db = open::<fewer::Item>(&store);
    let tx = db.begin().unwrap();
    let stored = only::<fewer::Item>(&tx);
    let error = stored.load().unwrap_err();
    let text = error.to_string();
    for part in [&stored.id().to_string(), "Item", "text", "no number", "upgrade_with", "lossy"] {
        assert!(text.contains(part), "{part} in: {text}");
    }
    assert_eq!(losses::<()>(Err(error)).len(), 1);
    tx.commit().unwrap();
    losses(db.write(|tx| only::<fewer::Item>(tx).number()));
    let kept = open::<old::Item>(&store).read(|tx| only::<old::Item>(tx).load());
    assert_eq!(kept.unwrap(), item());
}

/// A value that cannot be converted does not prevent its replacement.
#[test]
fn a_value_that_cannot_be_converted_can_be_replaced() {
    for way in ["set", "store", "object layer"] {
        let store = store();
        let db = open::<fewer::Item>(&store);
        db.write(|tx| {
            let item = only::<fewer::Item>(tx);
            losses(item.text());
            match way {
                "set" => item.set_text(7)?,
                "store" => item.store(&fewer::Item { number: 42, text: 7 })?,
                _ => {
                    let number = permazen::encoding::Value::Int(7);
                    let migrate = permazen::object::Migrate::Yes;
                    tx.core().set(item.id(), "text", &number, migrate)?;
                }
            }
            assert_eq!((item.number()?, item.text()?), (42, 7), "{way}");
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn listeners_can_be_added_to_those_that_convert() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let db = open::<lossy::Item>(&store());
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
    let item = only::<lossy::Item>(&tx);
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

    pub(super) mod lossy {
        use super::*;

        #[derive(PermazenObject, Debug, Clone, PartialEq)]
        pub(in super::super) struct Holder {
            pub(in super::super) kept: Option<Ref<Place>>,
            #[permazen(upgrade = "lossy")]
            pub(in super::super) lost: Option<Ref<Holder>>,
        }
    }
}

/// References need no conversion. An object that refers to objects of a type that is no longer
/// allowed does not move, unless the reference may be lost. Everything else works where it is.
#[test]
fn references_to_a_type_no_longer_allowed_keep_an_object_where_it_is() {
    use links::{Place, lossy, new, old};
    fn open<M: Model>(store: &Arc<dyn KvDatabase>) -> Permazen {
        Permazen::builder_shared(store.clone()).model::<M>().model::<Place>().build().unwrap()
    }
    let counting = CountingStore::new(MemoryStore::new());
    let counter = counting.counter();
    let store: Arc<dyn KvDatabase> = Arc::new(counting);
    let (place, holder) = open::<old::Holder>(&store)
        .write(|tx| {
            let place: Ref<Place> = tx.create(Place {})?.into();
            let holder = tx.create(old::Holder { kept: Some(place), lost: Some(place) })?;
            Ok((place, holder.id()))
        })
        .unwrap();
    let db = open::<new::Holder>(&store);
    db.write(|tx| {
        let holder = tx.get::<new::Holder>(holder)?;
        counter.take();
        assert_eq!(holder.kept()?.map(|place| place.to_ref()), Some(place));
        assert_eq!(counter.take().reads(), 2, "nothing is looked up but the value and the schema");
        match holder.migrate() {
            Err(Error::Refused(refusal)) => {
                assert_eq!(refusal.losses.len(), 1);
                assert_eq!(refusal.losses[0].field, "lost");
            }
            other => panic!("{other:?}"),
        }
        // Its field says that it has a reference of another type.
        assert!(matches!(holder.lost(), Err(Error::WrongTarget { .. })), "{:?}", holder.lost());
        // With another reference, it may move.
        holder.set_lost(holder)?;
        assert_eq!(holder.lost()?, Some(holder));
        assert_eq!(holder.schema_id()?, db.schema().schema_id());
        Ok(())
    })
    .unwrap();
    // A reference that may be lost.
    let holder = open::<old::Holder>(&store)
        .write(|tx| Ok(tx.create(old::Holder { kept: Some(place), lost: Some(place) })?.id()))
        .unwrap();
    let moved = open::<lossy::Holder>(&store).write(|tx| {
        let holder = tx.get::<lossy::Holder>(holder)?;
        assert!(holder.migrate()?);
        holder.load()
    });
    assert_eq!(moved.unwrap(), lossy::Holder { kept: Some(place), lost: None });
}

/// A program keeps its listeners while a newer one records its schema and writes.
#[test]
fn kept_listeners_are_called_after_a_newer_program_has_written() {
    use permazen::__internal::object::{FieldListener, ListenerSet};
    use permazen::object::Watch;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let store = store();
    let db = open::<old::Item>(&store);
    let told = Arc::new(AtomicUsize::new(0));
    let kept = db.read(|tx| {
        let mut set = ListenerSet::new(tx.core().bundle());
        let schema = tx.schema();
        let number = schema.object_type("Item").unwrap().field("number").unwrap();
        let count = Arc::clone(&told);
        let listener: FieldListener = Arc::new(move |_, _, _| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        set.on_change(number.storage_id, Watch::itself(), listener)?;
        Ok(Arc::new(set))
    });
    let kept = kept.unwrap();
    let set = |number| {
        db.write(|tx| {
            tx.core().set_listeners(Arc::clone(&kept))?;
            only::<old::Item>(tx).set_number(number)
        })
        .unwrap();
        told.load(Ordering::Relaxed)
    };
    assert_eq!(set(1), 1);
    let newer = open::<fewer::Item>(&store);
    newer
        .write(|tx| tx.create_default::<fewer::Item>().map(|item| item.delete()).map(drop))
        .unwrap();
    assert_eq!(set(2), 2);
}
