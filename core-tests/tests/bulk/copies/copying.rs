//! Copies with those that belong to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use permazen::kv::memory::MemoryStore;
use permazen::model::Copy;
use permazen::object::Error as ObjectError;
use permazen::{Error, Permazen, PermazenObject, Ref};

use super::{Node, node, open};

#[test]
fn a_tree_is_copied_with_its_ids_and_indexes() {
    let db = open();
    let memory = db
        .write(|tx| {
            let root = tx.create(node("root", None))?;
            let child = tx.create(node("child", Some(root.to_ref())))?;
            tx.create(node("grandchild", Some(child.to_ref())))?;
            let memory = tx.detached()?;
            let copy = child.copy_to(&memory, Copy::new().cascade("ancestors"))?;
            assert_eq!(copy.load()?, child.load()?);
            assert_eq!(copy.id(), child.id());
            Ok(memory)
        })
        .unwrap();
    // It lives on without the transaction.
    assert_eq!(memory.all::<Node>().unwrap().count().unwrap(), 2);
    let root = memory.find(Node::NAME, "root").unwrap().unwrap();
    assert_eq!(root.referrers(Node::PARENT).unwrap().count().unwrap(), 1);
    // And back, after changes.
    root.set_name("trunk").unwrap();
    db.write(|tx| {
        root.copy_to(tx, Copy::new())?;
        let mut names: Vec<_> =
            tx.all::<Node>()?.iter().map(|it| it?.name()).collect::<Result<_, _>>()?;
        names.sort();
        assert_eq!(names, ["child", "grandchild", "trunk"]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_circle_is_cloned_and_its_outward_references_stay() {
    open()
        .write(|tx| {
            let outside = tx.create(node("outside", None))?;
            let a = tx.create(node("a", None))?;
            let b = tx.create(Node {
                links: vec![a.to_ref(), a.to_ref()],
                hop: Some(outside.to_ref()),
                ..node("b", None)
            })?;
            a.links()?.push(b.to_ref())?;
            a.links()?.push(a.to_ref())?;
            let copy = a.copy_to(tx, Copy::new().cascade("links").clone_ids())?;
            assert_ne!(copy.id(), a.id());
            assert_eq!(tx.all::<Node>()?.count()?, 5);
            let links: Vec<Ref<Node>> = copy.links()?.load()?;
            let other = tx.get(links[0])?;
            assert_eq!(links, [other.to_ref(), copy.to_ref()]);
            assert_ne!(other, b);
            assert_eq!(other.load()?.links, [copy.to_ref(), copy.to_ref()]);
            assert_eq!(other.hop()?, Some(outside));
            // The originals are as they were.
            assert_eq!(a.load()?.links, [b.to_ref(), a.to_ref()]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn limits_say_how_far_a_copy_goes() {
    open()
        .write(|tx| {
            let a = tx.create(node("a", None))?;
            let b = tx.create(Node { links: vec![a.to_ref()], ..node("b", None) })?;
            let c = tx.create(Node { links: vec![b.to_ref()], ..node("c", None) })?;
            for (limit, count) in [(0, 1), (1, 2), (2, 3), (9, 3)] {
                let memory = tx.detached()?;
                c.copy_to(&memory, Copy::new().cascade("links").limit(limit))?;
                assert_eq!(memory.all::<Node>()?.count()?, count, "limit {limit}");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_copy_whose_targets_are_missing_is_refused_as_a_whole() {
    let (from, to) = (open(), open());
    from.write(|tx| {
        let root = tx.create(node("root", None))?;
        let child = tx.create(Node { links: vec![root.to_ref()], ..node("child", None) })?;
        to.write(|dest| {
            let missing = child.copy_to(dest, Copy::new().cascade("unknown")).unwrap_err();
            let Error::Object(ObjectError::DeletedObject { id, .. }) = &missing else {
                panic!("{missing:?}");
            };
            assert_eq!(*id, root.id());
            assert_eq!(dest.all::<Node>()?.count()?, 0, "nothing stays");
            // With the target it is copied, in whichever order.
            child.copy_to(dest, Copy::new().cascade("links"))?;
            assert_eq!(dest.all::<Node>()?.count()?, 2);
            Ok(())
        })
    })
    .unwrap();
}

#[test]
fn a_silent_copy_calls_no_listeners() {
    let (from, to) = (open(), open());
    from.write(|tx| {
        let root = tx.create(node("root", None))?;
        to.write(|dest| {
            let calls = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&calls);
            let type_id = dest.schema().object_type("Node").unwrap().storage_id;
            let listener = move |_: &permazen::object::Transaction, _| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            dest.core().on_create(type_id, Arc::new(listener))?;
            root.copy_to(dest, Copy::new().silent())?;
            assert_eq!(calls.load(Ordering::Relaxed), 0);
            root.copy_to(dest, Copy::new().clone_ids())?;
            assert_eq!(calls.load(Ordering::Relaxed), 1);
            Ok(())
        })
    })
    .unwrap();
}

#[derive(PermazenObject, Default)]
#[permazen(name = "Other")]
struct Other {
    name: String,
}

#[test]
fn a_database_of_other_models_refuses_the_copy_and_says_why() {
    let to = Permazen::builder(MemoryStore::new()).model::<Other>().build().unwrap();
    open()
        .write(|tx| {
            let root = tx.create(node("root", None))?;
            to.write(|dest| {
                let typed = root.copy_to(dest, Copy::new()).unwrap_err();
                assert!(matches!(typed, Error::NotRegistered { .. }), "{typed:?}");
                let untyped = root.any().copy_to(dest, Copy::new()).unwrap_err();
                let Error::Object(ObjectError::SchemaMismatch { .. }) = &untyped else {
                    panic!("{untyped:?}");
                };
                assert_eq!(dest.everything()?.count()?, 0);
                Ok(())
            })
        })
        .unwrap();
}

mod before {
    use permazen::PermazenObject;

    #[derive(PermazenObject, Default)]
    pub(super) struct Person {
        pub(super) name: String,
    }
}

mod after {
    use permazen::PermazenObject;

    #[derive(PermazenObject, Default)]
    pub(super) struct Person {
        pub(super) name: String,
        pub(super) age: i32,
    }
}

#[test]
fn an_object_of_another_schema_is_copied_as_it_is_or_after_it_has_moved() {
    let store = Arc::new(MemoryStore::new());
    let old = Permazen::builder_shared(store.clone()).model::<before::Person>().build().unwrap();
    let id = old.write(|tx| Ok(tx.create(before::Person { name: "Ann".into() })?.id())).unwrap();
    let db = Permazen::builder_shared(store).model::<after::Person>().build().unwrap();
    let fresh = Permazen::builder(MemoryStore::new()).model::<after::Person>().build().unwrap();
    db.write(|tx| {
        let ann = tx.get::<after::Person>(id)?;
        let memory = tx.detached()?;
        let copy = ann.copy_to(&memory, Copy::new())?;
        assert_eq!(copy.schema_id()?, ann.schema_id()?);
        assert_ne!(copy.schema_id()?, tx.schema().id);
        assert_eq!((copy.name()?.as_str(), copy.age()?), ("Ann", 0));
        fresh.write(|dest| {
            let refused = ann.copy_to(dest, Copy::new()).unwrap_err();
            assert!(
                matches!(refused, Error::Object(ObjectError::SchemaMismatch { .. })),
                "{refused:?}"
            );
            let copy = ann.copy_to(dest, Copy::new().migrating())?;
            assert_eq!(copy.schema_id()?, dest.schema().id);
            Ok(())
        })
    })
    .unwrap();
}
