//! Sections 15 and 16: transactions in memory, copies, cascades, plain data.

use permazen::model::Copy;
use permazen::object::Error as ObjectError;
use permazen::{Counter, Error, Obj, PermazenObject, Ref};

use crate::rows::*;

#[derive(PermazenObject, Default, Debug, PartialEq, Clone)]
#[permazen(hooks)]
struct Node {
    #[permazen(indexed)]
    name: String,
    #[permazen(cascade(forward = ["tree", "ancestors"], inverse = ["tree", "descendants"]))]
    parent: Option<Ref<Node>>,
    #[permazen(cascade(forward = ["next"]))]
    next: Option<Ref<Node>>,
    #[permazen(allow_deleted, inverse_delete = "ignore", cascade(forward = ["lost"]))]
    lost: Option<Ref<Node>>,
    tags: Vec<String>,
    hits: Counter,
}

#[permazen::hooks]
impl Node {
    #[on_create]
    fn made(_: Obj<'_, Self>) -> Result<()> {
        log("made");
        Ok(())
    }

    #[on_change(fields(name))]
    fn named(this: Obj<'_, Self>) -> Result<()> {
        log(this.name()?);
        Ok(())
    }
}

/// Has an equal field, but no cascade leads through it.
#[derive(PermazenObject, Default)]
struct Other {
    parent: Option<Ref<Node>>,
}

fn nodes() -> Permazen {
    open2::<Node, Other>(&store())
}

fn node(name: &str, parent: Option<Obj<'_, Node>>) -> Node {
    Node { name: name.into(), parent: parent.map(|it| it.to_ref()), ..Node::default() }
}

#[test]
fn m15_1_03_a_transaction_in_memory_has_indexes_hooks_and_rules_and_no_commit() {
    let memory = nodes().read(|tx| tx.detached()).unwrap();
    let a = memory.create(node("a", None)).unwrap();
    assert_log(["made", "a"]);
    assert!(memory.core().is_detached() && memory.core().is_open());
    assert_eq!(memory.find(Node::NAME, "a").unwrap(), Some(a));
    // The target of a reference may be missing.
    let gone = memory.create(node("gone", None)).unwrap();
    gone.delete().unwrap();
    a.set_parent(gone).unwrap();
    assert!(!a.parent().unwrap().unwrap().exists().unwrap());
    // It takes no callbacks, and can be emptied.
    memory.reset().unwrap();
    assert_eq!(memory.everything().unwrap().count().unwrap(), 0);
    LOG.take();
}

#[test]
fn m15_1_04_a_snapshot_has_what_the_transaction_has_and_goes_its_own_way() {
    nodes()
        .write(|tx| {
            let a = tx.create(node("a", None))?;
            let snapshot = tx.snapshot()?;
            a.set_name("b")?;
            let copy = snapshot.get(a.to_ref())?;
            assert_eq!(copy.name()?, "a");
            copy.set_name("c")?;
            snapshot.create(node("new", None))?;
            assert_eq!((a.name()?.as_str(), tx.all::<Node>()?.count()?), ("b", 1));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m15_1_05_a_transaction_in_memory_has_the_storage_ids_of_its_origin() {
    nodes()
        .write(|tx| {
            let memory = tx.detached()?;
            assert_eq!(memory.schema().id, tx.schema().id);
            for name in ["name", "parent", "tags.element"] {
                assert_eq!(field_id(&memory, "Node", name), field_id(tx, "Node", name));
            }
            Ok(())
        })
        .unwrap();
}

// ---- 15.2 copies

#[test]
fn m15_2_01_an_object_is_copied_with_all_fields_and_its_id() {
    let to = nodes();
    nodes()
        .write(|tx| {
            let tags = vec!["x".to_owned(), "y".to_owned()];
            let a = tx.create(Node { tags, hits: Counter(7), ..node("a", None) })?;
            to.write(|dest| {
                let copy = a.copy_to(dest, Copy::new())?;
                assert_eq!((copy.id(), copy.load()?), (a.id(), a.load()?));
                // Over an object that is there.
                copy.set_name("other")?;
                copy.tags()?.clear()?;
                assert_eq!(a.copy_to(dest, Copy::new())?.load()?, a.load()?);
                assert_eq!(dest.all::<Node>()?.count()?, 1);
                Ok(())
            })
        })
        .unwrap();
}

#[test]
fn m15_2_02_and_07_types_and_schemas_that_the_destination_lacks() {
    #[derive(PermazenObject, Default)]
    #[permazen(name = "Node")]
    struct Less {
        name: String,
    }
    let (unknown, less) = (database::<Other2>(), database::<Less>());
    nodes()
        .write(|tx| {
            let a = tx.create(node("a", None))?;
            unknown.write(|dest| {
                let refused = a.copy_to(dest, Copy::new()).map(drop);
                assert!(matches!(refused, Err(Error::NotRegistered { .. })), "{refused:?}");
                Ok(())
            })?;
            less.write(|dest| {
                let refused = a.any().copy_to(dest, Copy::new()).map(drop);
                let Err(Error::Object(ObjectError::SchemaMismatch { .. })) = refused else {
                    panic!("{refused:?}")
                };
                Ok(())
            })
        })
        .unwrap();
}

#[derive(PermazenObject, Default)]
struct Other2 {
    n: i32,
}

#[test]
fn m15_2_05_hooks_are_told_unless_the_copy_is_silent() {
    nodes()
        .write(|tx| {
            let a = tx.create(node("a", None))?;
            LOG.take();
            a.copy_to(&*tx.detached()?, Copy::new())?;
            assert_log(["made", "a"]);
            a.copy_to(&*tx.detached()?, Copy::new().silent())?;
            assert_log([]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m15_2_11_a_missing_target_refuses_the_copy_unless_it_is_copied_too() {
    let to = nodes();
    nodes()
        .write(|tx| {
            let a = tx.create(node("a", None))?;
            let b = tx.create(node("b", Some(a)))?;
            to.write(|dest| {
                assert_deleted(b.copy_to(dest, Copy::new()), a.id());
                assert_eq!(dest.all::<Node>()?.count()?, 0, "nothing is copied");
                b.copy_to(dest, Copy::new().cascade("ancestors"))?;
                assert_eq!(dest.all::<Node>()?.count()?, 2);
                Ok(())
            })
        })
        .unwrap();
}

#[test]
fn m15_2_12_a_copy_onto_itself_changes_nothing() {
    nodes()
        .write(|tx| {
            let a = tx.create(Node { tags: vec!["x".into()], ..node("a", None) })?;
            let before = a.load()?;
            LOG.take();
            assert_eq!(a.copy_to(tx, Copy::new())?, a);
            assert_log([]);
            assert_eq!((a.load()?, tx.all::<Node>()?.count()?), (before, 1));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m15_2_13_to_15_clones_refer_to_clones_also_in_circles() {
    nodes()
        .write(|tx| {
            let outside = tx.create(node("outside", None))?;
            let a = tx.create(node("a", Some(outside)))?;
            let b = tx.create(Node { next: Some(a.to_ref()), ..node("b", None) })?;
            a.set_next(b)?;
            let own = tx.create(node("own", None))?;
            own.set_next(own)?;
            let copy = a.copy_to(tx, Copy::new().cascade("next").clone_ids())?;
            let other = copy.next()?.unwrap();
            assert!(copy != a && other != b);
            assert_eq!(other.next()?, Some(copy));
            assert_eq!(copy.parent()?, Some(outside));
            assert_eq!((a.next()?, b.next()?), (Some(b), Some(a)));
            let copy = own.copy_to(tx, Copy::new().clone_ids())?;
            assert!(copy != own);
            assert_eq!(copy.next()?, Some(copy));
            Ok(())
        })
        .unwrap();
}

// ---- 15.3 cascades

#[test]
fn m15_3_01_to_08_what_cascades_find() {
    nodes()
        .write(|tx| {
            let a = tx.create(node("A", None))?;
            let b = tx.create(node("B", Some(a)))?;
            let c = tx.create(node("C", Some(a)))?;
            let d = tx.create(node("D", Some(c)))?;
            tx.create(Other { parent: Some(c.to_ref()) })?;
            let names = |ids: Vec<ObjId>| -> Result<String> {
                let mut names: Vec<_> =
                    ids.into_iter().map(|id| tx.get::<Node>(id)?.name()).collect::<Result<_>>()?;
                names.sort();
                Ok(names.concat())
            };
            assert_eq!(c.cascade("ancestors").ids()?, [c.id(), a.id()], "the start comes first");
            assert_eq!(names(c.cascade("descendants").ids()?)?, "CD");
            assert_eq!(names(c.cascade("tree").ids()?)?, "ABCD");
            assert_eq!(names(a.cascade("tree").limit(1).ids()?)?, "ABC");
            assert_eq!(names(a.cascade("tree").limit(0).ids()?)?, "A");
            assert_eq!(names(b.cascade("ancestors").and("descendants").ids()?)?, "ABCD");
            assert_eq!(c.cascade("absent").ids()?, [c.id()]);
            d.delete()?;
            a.set_lost(d)?;
            assert_eq!(a.cascade("lost").limit(1).ids()?, [a.id(), d.id()]);
            assert_deleted(a.cascade("lost").ids(), d.id());
            Ok(())
        })
        .unwrap();
}

// ---- 16 plain data

#[test]
fn m16_0_01_and_06_plain_data_goes_in_and_comes_out() {
    nodes()
        .write(|tx| {
            let parent = tx.create(node("parent", None))?;
            let tags = vec!["x".to_owned()];
            let plain = Node { tags, hits: Counter(3), ..node("a", Some(parent)) };
            let a = tx.create(&plain)?;
            assert_eq!(a.load()?, plain);
            let other = Node { tags: vec!["y".into(), "z".into()], ..node("b", None) };
            a.store(&other)?;
            assert_eq!(a.load()?, Node { hits: Counter(3), ..other });
            Ok(())
        })
        .unwrap();
}

#[test]
fn m16_0_02_and_07_graphs_of_objects_go_out_and_in_with_circles() {
    use permazen::model::Import;
    let to = nodes();
    nodes()
        .write(|tx| {
            let a = tx.create(node("a", None))?;
            let b = tx.create(Node { next: Some(a.to_ref()), ..node("b", None) })?;
            a.set_next(b)?;
            let graph = tx.export_graph(a.cascade("next").ids()?)?;
            to.write(|dest| {
                let ids = dest.import_graph(&graph, Import::new().new_ids())?;
                let new_a = dest.get::<Node>(ids[&a.id()])?;
                let new_b = new_a.next()?.unwrap();
                assert_eq!((new_b.id(), new_b.name()?.as_str()), (ids[&b.id()], "b"));
                assert_eq!(new_b.next()?, Some(new_a));
                Ok(())
            })
        })
        .unwrap();
}
