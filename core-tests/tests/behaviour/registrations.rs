//! Registering listeners, removing them, and sets of listeners.

use std::sync::Arc;

use permazen::__internal::object::{
    CreateListener, DeleteListener, FieldListener, ListenerSet, SchemaChangeListener,
};
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{Error, IdFilter, Migrate, PathStep, Transaction, Watch};
use permazen::schema::SchemaModel;

use crate::support::*;

/// Two types that share a field.
const TWO: &str = r#"<Schema>
<ObjectType name="A" storageId="10"><SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="20"/></ObjectType>
<ObjectType name="B" storageId="11"><SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="20"/></ObjectType>
</Schema>"#;

/// Another version of it.
const NEWER: &str = r#"<Schema>
<ObjectType name="A" storageId="10"><SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="20"/>
<SimpleField name="j" encoding="urn:fdc:permazen.io:2020:int" storageId="21"/></ObjectType>
<ObjectType name="B" storageId="11"><SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="20"/></ObjectType>
</Schema>"#;

fn only(object_type: u32) -> Watch {
    let filter = IdFilter::of_types([sid(object_type)]);
    Watch::filtered(vec![], vec![Some(filter)]).unwrap()
}

/// Which listeners were called, in this order.
#[derive(Clone, Default)]
struct Names(Log<&'static str>);

impl Names {
    fn take(&self) -> Vec<&'static str> {
        let mut names = self.0.take();
        names.sort_unstable();
        names
    }

    fn create(&self, name: &'static str) -> CreateListener {
        let log = self.0.clone();
        Arc::new(move |_, _| log.add(name))
    }

    fn schema(&self, name: &'static str) -> SchemaChangeListener {
        let log = self.0.clone();
        Arc::new(move |_, _| log.add(name))
    }

    fn delete(&self, name: &'static str) -> DeleteListener {
        let log = self.0.clone();
        Arc::new(move |_, _, _| log.add(name))
    }

    fn field(&self, name: &'static str) -> FieldListener {
        let log = self.0.clone();
        Arc::new(move |_, _, _| log.add(name))
    }
}

/// Creates, moves and deletes an object.
fn live(tx: &Transaction, n: u8) {
    let before =
        tx.bundle().schemas().iter().map(|schema| schema.id).find(|id| *id != tx.schema().id);
    assert!(tx.create_with_id_in(a(n), before.unwrap()).unwrap());
    assert!(tx.migrate(a(n)).unwrap());
    set(tx, a(n), "i", int(1));
    assert!(tx.delete(a(n)).unwrap());
}

#[test]
fn listeners_of_every_kind_count_once_and_are_taken_back() {
    let world = World::new();
    let tx = world.begin(NEWER);
    tx.add_schema(&SchemaModel::from_xml(TWO.as_bytes()).unwrap()).unwrap();
    let names = Names::default();
    let mut ids = Vec::new();
    for (created, moved, deleted, changed) in [("c1", "m1", "d1", "f1"), ("c2", "m2", "d2", "f2")] {
        let (c, m) = (names.create(created), names.schema(moved));
        let (d, f) = (names.delete(deleted), names.field(changed));
        for _ in 0..2 {
            ids.push(tx.on_create(sid(10), c.clone()).unwrap());
            ids.push(tx.on_schema_change(sid(10), m.clone()).unwrap());
            ids.push(tx.on_delete(Watch::itself(), d.clone()).unwrap());
            ids.push(tx.on_change(sid(20), Watch::itself(), f.clone()).unwrap());
        }
    }
    live(&tx, 1);
    let mut left = vec!["c1", "c2", "d1", "d2", "f1", "f2", "m1", "m2"];
    assert_eq!(names.take(), left);
    for (id, name) in ids.into_iter().zip(["c1", "m1", "d1", "f1"]) {
        tx.remove_listener(id).unwrap();
        left.retain(|other| *other != name);
        live(&tx, 1);
        assert_eq!(names.take(), left);
    }
}

#[test]
fn a_set_with_one_listener_of_any_kind_is_not_empty() {
    let world = World::new();
    let tx = world.begin(TWO);
    let names = Names::default();
    let with = |add: &dyn Fn(&mut ListenerSet)| {
        let mut set = ListenerSet::new(tx.bundle());
        assert!(set.is_empty());
        add(&mut set);
        set
    };
    let sets = [
        with(&|set| assert!(set.on_create(sid(10), names.create("c")).is_ok())),
        with(&|set| assert!(set.on_schema_change(sid(10), names.schema("m")).is_ok())),
        with(&|set| assert!(set.on_delete(Watch::itself(), names.delete("d")).is_ok())),
        with(&|set| assert!(set.on_change(sid(20), Watch::itself(), names.field("f")).is_ok())),
    ];
    assert!(sets.iter().all(|set| !set.is_empty()));
}

/// Two schemas whose items get the same storage IDs, if one is recorded after the other is gone.
const LEFT: &str = r#"<Schema><ObjectType name="L">
<SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int"/>
<ReferenceField name="r" inverseDelete="NULLIFY"/>
</ObjectType></Schema>"#;
const OTHER: &str = r#"<Schema><ObjectType name="O">
<SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int"/>
<ReferenceField name="y" inverseDelete="NULLIFY"/>
</ObjectType></Schema>"#;

fn schema(xml: &str) -> SchemaModel {
    SchemaModel::from_xml(xml.as_bytes()).unwrap()
}

/// Adds listeners to everything about the type L and its object `one`.
fn watch_left(set: &mut ListenerSet, tx: &Transaction, one: ObjId, names: &Names) {
    let bundle = tx.bundle();
    let left = bundle.schema_by_id(schema(LEFT).schema_id()).unwrap();
    let left = left.object_type("L").unwrap();
    let field = |name: &str| left.field(name).unwrap().storage_id;
    let only = |filter| Watch::filtered(vec![], vec![Some(filter)]).unwrap();
    let of_type = only(IdFilter::of_types([left.storage_id]));
    set.on_create(left.storage_id, names.create("created")).unwrap();
    set.on_schema_change(left.storage_id, names.schema("moved")).unwrap();
    set.on_change(field("i"), Watch::itself(), names.field("changed")).unwrap();
    let path = [PathStep::Forward(field("r"))];
    set.on_change(field("i"), Watch::along(path), names.field("referred")).unwrap();
    set.on_delete(of_type, names.delete("deleted")).unwrap();
    set.on_delete(only(IdFilter::of_ids([one])), names.delete("one")).unwrap();
}

/// Does everything about a type for which listeners can be called.
fn use_all(tx: &Transaction, xml: &str, fields: [&str; 2], ids: [ObjId; 2]) {
    let [one, two] = ids;
    for id in ids {
        assert!(tx.create_with_id_in(id, schema(xml).schema_id()).unwrap());
    }
    set(tx, two, fields[1], Value::Ref(one));
    set(tx, one, fields[0], int(1));
    assert!(tx.delete(one).unwrap());
}

/// Two IDs of a type.
fn two_of(tx: &Transaction, name: &str) -> [ObjId; 2] {
    let storage_id = tx.type_storage_id(name).unwrap();
    [1, 2].map(|n| id(&format!("{:02x}0000000000000{n}", storage_id.get())))
}

const ALL: [&str; 5] = ["changed", "created", "created", "deleted", "referred"];

#[test]
fn a_kept_set_follows_its_items_to_other_storage_ids() {
    let world = World::new();
    let names = Names::default();
    let tx = world.begin(LEFT);
    let old_ids = two_of(&tx, "L");
    let mut kept = ListenerSet::new(tx.bundle());
    watch_left(&mut kept, &tx, old_ids[0], &names);
    let kept = Arc::new(kept);
    tx.set_listeners(kept.clone()).unwrap();
    use_all(&tx, LEFT, ["i", "r"], old_ids);
    assert_eq!(names.take(), ["changed", "created", "created", "deleted", "one", "referred"]);
    tx.rollback().unwrap();

    // The items of the set are gone, and others have their storage IDs.
    let tx = world.begin(LEFT);
    assert!(tx.remove_schema(schema(LEFT).schema_id()).unwrap());
    assert!(tx.add_schema(&schema(OTHER)).unwrap());
    tx.commit().unwrap();
    let tx = world.begin(OTHER);
    assert_eq!(two_of(&tx, "O"), old_ids);
    tx.set_listeners(kept.clone()).unwrap();
    use_all(&tx, OTHER, ["x", "y"], old_ids);
    assert_eq!(names.take(), <[&str; 0]>::default());
    tx.commit().unwrap();

    // They come back with other storage IDs.
    let tx = world.begin(LEFT);
    let ids = two_of(&tx, "L");
    assert_ne!(ids, old_ids);
    tx.set_listeners(kept.clone()).unwrap();
    use_all(&tx, LEFT, ["i", "r"], ids);
    assert_eq!(names.take(), ALL);
    set(&tx, old_ids[1], "x", int(2));
    assert!(tx.delete(old_ids[1]).unwrap());
    assert_eq!(names.take(), <[&str; 0]>::default());
    // The earlier translation does not count: the set itself was registered.
    let there = tx.listeners();
    tx.rollback().unwrap();
    let fresh = World::new();
    let tx = fresh.begin(LEFT);
    tx.set_listeners(there).unwrap();
    use_all(&tx, LEFT, ["i", "r"], two_of(&tx, "L"));
    assert_eq!(names.take(), ["changed", "created", "created", "deleted", "one", "referred"]);
}

#[test]
fn a_kept_set_is_followed_once_for_the_same_recorded_schemas() {
    let world = World::new();
    let names = Names::default();
    let tx = world.begin(TWO);
    let mut kept = ListenerSet::new(tx.bundle());
    kept.on_change(sid(20), Watch::itself(), names.field("f")).unwrap();
    let kept = Arc::new(kept);
    tx.set_listeners(kept.clone()).unwrap();
    assert!(Arc::ptr_eq(&tx.listeners(), &kept));
    create(&tx, a(1));
    tx.commit().unwrap();
    // A newer program has come.
    let newer = world.begin(NEWER);
    create(&newer, a(2));
    newer.commit().unwrap();
    let installed = || {
        let tx = world.begin(TWO);
        tx.set_listeners(kept.clone()).unwrap();
        set(&tx, a(1), "i", int(7));
        assert_eq!(names.take(), ["f"]);
        tx.listeners()
    };
    let first = installed();
    assert!(!Arc::ptr_eq(&first, &kept));
    assert!(Arc::ptr_eq(&first, &installed()));
    // A changed clone has forgotten it.
    let mut changed = ListenerSet::clone(&kept);
    changed.on_change(sid(20), Watch::itself(), names.field("g")).unwrap();
    let tx = world.begin(TWO);
    tx.set_listeners(Arc::new(changed)).unwrap();
    set(&tx, a(1), "i", int(8));
    assert_eq!(names.take(), ["f", "g"]);
}

/// The same holds for listeners that a transaction has when its recorded schemas change.
#[test]
fn listeners_of_a_transaction_follow_their_items() {
    for installs in [false, true] {
        let world = World::new();
        let names = Names::default();
        let tx = world.begin(LEFT);
        let one = two_of(&tx, "L")[0];
        let mut kept = ListenerSet::new(tx.bundle());
        watch_left(&mut kept, &tx, one, &names);
        if installs {
            tx.set_listeners(Arc::new(kept)).unwrap();
        } else {
            let object_type = tx.type_storage_id("L").unwrap();
            tx.on_create(object_type, names.create("created")).unwrap();
        }
        let old_ids = two_of(&tx, "L");
        assert!(tx.remove_schema(schema(LEFT).schema_id()).unwrap());
        assert!(tx.add_schema(&schema(OTHER)).unwrap());
        use_all(&tx, OTHER, ["x", "y"], old_ids);
        assert_eq!(names.take(), <[&str; 0]>::default());
        assert!(tx.add_schema(&schema(LEFT)).unwrap());
        use_all(&tx, LEFT, ["i", "r"], two_of(&tx, "L"));
        assert_eq!(names.take(), if installs { &ALL[..] } else { &["created", "created"] });
    }
}

#[test]
fn a_set_fits_another_database_with_the_same_recorded_schemas() {
    let (one, other) = (World::new(), World::new());
    let (tx, there) = (one.begin(TWO), other.begin(TWO));
    let names = Names::default();
    tx.on_change(sid(20), Watch::itself(), names.field("f")).unwrap();
    there.set_listeners(tx.listeners()).unwrap();
    create(&there, a(1));
    set(&there, a(1), "i", int(1));
    assert_eq!(names.take(), ["f"]);
}

#[test]
fn a_watch_of_one_type_does_not_hide_those_of_others() {
    let world = World::new();
    let tx = world.begin(TWO);
    let names = Names::default();
    for (object_type, changed, deleted) in [(11, "f of B", "d of B"), (10, "f of A", "d of A")] {
        tx.on_change(sid(20), only(object_type), names.field(changed)).unwrap();
        tx.on_delete(only(object_type), names.delete(deleted)).unwrap();
    }
    create(&tx, a(1));
    set(&tx, a(1), "i", int(1));
    assert_eq!(names.take(), ["f of A"]);
    assert!(tx.delete(a(1)).unwrap());
    assert_eq!(names.take(), ["d of A"]);
}

#[test]
fn paths_to_deleted_objects_are_checked_when_registering() {
    let world = World::new();
    let tx = world.begin(TWO);
    let names = Names::default();
    for field in [20, 99] {
        let path = Watch::along([PathStep::Forward(sid(field))]);
        assert_unknown_field(tx.on_delete(path, names.delete("d")));
    }
}

/// A listener's change calls another listener, which fails. Its error is passed on unchanged.
#[test]
fn an_error_is_wrapped_once() {
    let world = World::new();
    let tx = world.begin(TWO);
    create(&tx, a(1));
    on_create(&tx, |_, _| Err(Error::listener("no")));
    on_change(&tx, 20, |tx, _, _| tx.create_with_id(a(2)).map(drop));
    match tx.set(a(1), "i", &int(1), Migrate::No) {
        Err(Error::Listener(cause)) => assert_eq!(cause.to_string(), "no"),
        other => panic!("{other:?}"),
    }
}
