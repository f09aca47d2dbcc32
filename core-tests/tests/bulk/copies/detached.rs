//! Typed transactions in memory, and their bytes.

use permazen::encoding::Value;
use permazen::kv::memory::MemoryStore;
use permazen::model::{Copy, Detached};
use permazen::object::Migrate;
use permazen::{Permazen, Ref};

use super::{Node, node, open};

/// A transaction in memory with a small tree.
fn tree(db: &Permazen) -> Detached {
    db.write(|tx| {
        let root = tx.create(node("root", None))?;
        tx.create(node("child", Some(root.to_ref())))?;
        let memory = tx.detached()?;
        root.copy_to(&memory, Copy::new().cascade("tree"))?;
        Ok(memory)
    })
    .unwrap()
}

#[test]
fn a_snapshot_and_its_transaction_do_not_affect_each_other() {
    open()
        .write(|tx| {
            let root = tx.create(node("root", None))?;
            let snapshot = tx.snapshot()?;
            root.set_name("changed")?;
            let there = snapshot.get(root.to_ref())?;
            assert_eq!(there.name()?, "root");
            there.delete()?;
            assert!(root.exists()?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_transaction_in_memory_can_be_emptied_and_used_again() {
    let memory = tree(&open());
    assert_eq!(memory.all::<Node>().unwrap().count().unwrap(), 2);
    memory.reset().unwrap();
    assert!(memory.everything().unwrap().is_empty().unwrap());
    let node = memory.create(node("new", None)).unwrap();
    assert_eq!(memory.find(Node::NAME, "new").unwrap(), Some(node));
}

#[test]
fn bytes_give_the_same_transaction_back() {
    let db = open();
    let memory = tree(&db);
    let bytes = memory.to_bytes().unwrap();
    for reader in [&db, &open()] {
        let again = reader.detached_from_bytes(&bytes).unwrap();
        assert_eq!(again.to_bytes().unwrap(), bytes);
        let root = again.find(Node::NAME, "root").unwrap().unwrap();
        assert_eq!(root.referrers(Node::PARENT).unwrap().count().unwrap(), 1);
        assert_eq!(root.load().unwrap(), memory.get(root.to_ref()).unwrap().load().unwrap());
    }
}

mod newer {
    use permazen::{PermazenObject, Ref};

    #[derive(PermazenObject, Default, Debug)]
    #[permazen(removed("links", "hop"))]
    pub(super) struct Node {
        #[permazen(indexed)]
        pub(super) name: String,
        pub(super) parent: Option<Ref<Node>>,
        pub(super) rank: i32,
    }
}

/// Nothing has changed in objects that come from bytes, so their rules are checked if one asks for
/// it.
#[test]
fn objects_from_bytes_are_checked_after_revalidate() {
    let db = open();
    let memory = db.read(|tx| tx.detached()).unwrap();
    let node = memory.create_default::<Node>().unwrap();
    memory.core().set(node.id(), "name", &Value::Null, Migrate::No).unwrap();
    assert!(memory.validate().is_err());
    let again = db.detached_from_bytes(&memory.to_bytes().unwrap()).unwrap();
    again.validate().unwrap();
    again.get(Ref::<Node>::new(node.id())).unwrap().revalidate().unwrap();
    let error = again.validate().unwrap_err();
    assert!(error.to_string().starts_with("Node.name of object"), "{error}");
}

#[test]
fn another_version_of_the_program_reads_the_bytes() {
    let bytes = tree(&open()).to_bytes().unwrap();
    let db = Permazen::builder(MemoryStore::new()).model::<newer::Node>().build().unwrap();
    let memory = db.detached_from_bytes(&bytes).unwrap();
    let child = memory.find(newer::Node::NAME, "child").unwrap().unwrap();
    assert_eq!(child.rank().unwrap(), 0);
    child.set_rank(3).unwrap();
    assert_eq!(child.parent().unwrap().unwrap().name().unwrap(), "root");
}

#[test]
fn damaged_bytes_are_errors() {
    let db = open();
    let bytes = tree(&db).to_bytes().unwrap();
    for len in 0..bytes.len() {
        assert!(db.detached_from_bytes(&bytes[..len]).is_err(), "cut to {len}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(db.detached_from_bytes(&longer).is_err());
    assert!(db.detached_from_bytes(b"permazen detached 2\n").is_err());
    // Whatever a byte becomes: either it is refused, or the objects that were read are good and can
    // be copied.
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x81;
        if let Ok(memory) = db.detached_from_bytes(&damaged) {
            for node in memory.all::<Node>().unwrap().iter() {
                node.and_then(|node| node.load()).unwrap();
            }
        }
    }
}
