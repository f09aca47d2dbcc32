//! Copies, detached transactions and snapshots: behaviours 122 to 132.

use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::{EncodingError, Value};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Branch, Direction, KeySpan, KvTransaction};
use permazen::object::{
    CopyOptions, Database, Error, IdMap, Migrate, MissingTargets, Transaction, TransactionConfig,
};
use permazen::schema::SchemaModel;

use crate::support::*;

fn pairs(tx: &Transaction) -> Vec<String> {
    tx.read_pairs(|kv| {
        let mut found = Vec::new();
        for pair in kv.scan(KeySpan::FULL, Direction::Forward)? {
            let (key, value) = pair?;
            if key[0] != 0 || key[1] >= 0x80 {
                found.push(format!("{}={}", hex(&key), hex(&value)));
            }
        }
        Ok(found)
    })
    .unwrap()
}

fn fill(tx: &Transaction, id: ObjId) {
    set(tx, id, "i", int(5));
    tx.list_view(id, "list", Migrate::No).unwrap().push(&text("q")).unwrap();
    tx.set_view(id, "set", Migrate::No).unwrap().add(&int(7)).unwrap();
    tx.map_view(id, "map", Migrate::No).unwrap().put(&int(1), &text("x")).unwrap();
    tx.set_counter(id, "c", 4, Migrate::No).unwrap();
}

#[test]
fn t122_a_copy_is_complete() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    fill(&tx, foo_id(1));
    let other = tx.detached().unwrap();
    assert!(other.is_detached());
    assert!(pairs(&other).is_empty());
    let copy = |options: &mut CopyOptions<'_>| tx.copy_to(foo_id(1), &other, options).unwrap();
    assert!(copy(&mut CopyOptions::new()));
    assert!(!copy(&mut CopyOptions::new()));
    assert_eq!(pairs(&other), pairs(&tx));
    fill(&other, foo_id(1));
    set(&other, foo_id(1), "i", int(9));
    other.list_view(foo_id(1), "list", Migrate::No).unwrap().extend(&texts(&["a", "b"])).unwrap();
    other.set_view(foo_id(1), "set", Migrate::No).unwrap().add(&int(8)).unwrap();
    other.map_view(foo_id(1), "map", Migrate::No).unwrap().put(&int(1), &text("y")).unwrap();
    let events: Vec<_> = [11, 20, 22, 24].map(|field| Events::on(&other, field)).into();
    assert!(!copy(&mut CopyOptions::new()));
    assert_eq!(pairs(&other), pairs(&tx));
    assert_eq!(events[0].take(), ["9 -> 5"]);
    assert_eq!(events[1].take(), ["remove 8"]);
    assert_eq!(events[2].take(), ["remove 1:q", "remove 2:a", "remove 3:b"]);
    assert_eq!(events[3].take(), ["replace 1=y->x"]);
    set(&other, foo_id(1), "i", int(9));
    events[0].take();
    assert!(!copy(&mut CopyOptions::new().silent()));
    assert_eq!(events[0].take(), Vec::<String>::new());
    assert_eq!(pairs(&other), pairs(&tx));
}

#[test]
fn copies_tell_of_creation_and_keep_long_pairs() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    let long = "x".repeat(300);
    tx.map_view(foo_id(1), "map", Migrate::No).unwrap().put(&int(1), &text(&long)).unwrap();
    let list = tx.list_view(foo_id(1), "list", Migrate::No).unwrap();
    list.extend(&texts(&[&long, "b"])).unwrap();
    let other = tx.detached().unwrap();
    let told = count_created(&other);
    assert!(tx.copy_to(foo_id(1), &other, &mut CopyOptions::new()).unwrap());
    assert_eq!(*told.lock().unwrap(), 1);
    assert_eq!(pairs(&other), pairs(&tx));
}

#[test]
fn t123_t124_destinations_that_do_not_fit() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    let other = World::new();
    let dest = other.db.begin(&TransactionConfig::without_schema()).unwrap();
    let refused = tx.copy_to(foo_id(1), &dest, &mut CopyOptions::new());
    assert!(matches!(refused, Err(Error::SchemaMismatch { .. })), "{refused:?}");
    let mut ids = IdMap::from([(foo_id(1), Some(id("6300000000000001")))]);
    let refused = tx.copy_to(foo_id(1), &tx, &mut CopyOptions::new().mapping_ids(&mut ids));
    assert!(matches!(refused, Err(Error::SchemaMismatch { .. })), "{refused:?}");

    let restricted = r#"<Schema><ObjectType name="A" storageId="10"><ReferenceField name="r" inverseDelete="NULLIFY"><ObjectTypes><ObjectType name="A"/></ObjectTypes></ReferenceField></ObjectType><ObjectType name="B" storageId="20"/></Schema>"#;
    let world = World::new();
    let tx = world.begin(restricted);
    create(&tx, foo_id(1));
    create(&tx, foo_id(2));
    let b = create(&tx, id("1400000000000001"));
    set(&tx, foo_id(1), "r", Value::Ref(foo_id(2)));
    let mut ids = IdMap::from([(foo_id(1), Some(foo_id(3))), (foo_id(2), Some(b))]);
    let refused = tx.copy_to(foo_id(1), &tx, &mut CopyOptions::new().mapping_ids(&mut ids));
    assert!(
        matches!(
            refused,
            Err(Error::InvalidValue { source: EncodingError::InvalidReference { .. }, .. })
        ),
        "{refused:?}"
    );
    assert!(!tx.exists(foo_id(3)).unwrap(), "nothing is left of it");
    let mut ids = IdMap::from([(foo_id(1), Some(foo_id(3))), (foo_id(2), None)]);
    assert_invalid_argument(tx.copy_to(
        foo_id(1),
        &tx,
        &mut CopyOptions::new().mapping_ids(&mut ids),
    ));
}

#[test]
fn t125_t126_new_ids_and_self_references() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    set(&tx, foo_id(1), "r", Value::Ref(foo_id(1)));
    let mut ids = IdMap::from([(foo_id(1), None)]);
    assert!(tx.copy_to(foo_id(1), &tx, &mut CopyOptions::new().mapping_ids(&mut ids)).unwrap());
    let copy = ids[&foo_id(1)].expect("the new id is entered");
    assert_ne!(copy, foo_id(1));
    assert_eq!(tx.get(copy, "r", Migrate::No).unwrap(), Value::Ref(copy));
    assert!(!tx.copy_to(foo_id(1), &tx, &mut CopyOptions::new().mapping_ids(&mut ids)).unwrap());
}

#[test]
fn references_mapped_to_one_id_become_one_element() {
    let xml = r#"<Schema><ObjectType name="A" storageId="10"><SetField name="set" storageId="11"><ReferenceField inverseDelete="NULLIFY"/></SetField></ObjectType></Schema>"#;
    let world = World::new();
    let tx = world.begin(xml);
    for n in 1..=4 {
        create(&tx, foo_id(n));
    }
    let elements = tx.set_view(foo_id(1), "set", Migrate::No).unwrap();
    for n in [2, 3] {
        elements.add(&Value::Ref(foo_id(n))).unwrap();
    }
    let mut ids = IdMap::from([
        (foo_id(1), Some(foo_id(5))),
        (foo_id(2), Some(foo_id(4))),
        (foo_id(3), Some(foo_id(4))),
    ]);
    tx.copy_to(foo_id(1), &tx, &mut CopyOptions::new().mapping_ids(&mut ids)).unwrap();
    let copied = tx.set_view(foo_id(5), "set", Migrate::No).unwrap().to_vec().unwrap();
    assert_eq!(copied, [Value::Ref(foo_id(4))]);
}

#[test]
fn t127_references_to_missing_objects() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    create(&tx, foo_id(2));
    fill(&tx, foo_id(1));
    set(&tx, foo_id(1), "r", Value::Ref(foo_id(2)));
    let other = Database::new(Arc::new(MemoryStore::new()));
    let model = SchemaModel::from_xml(FOO.as_bytes()).unwrap();
    let dest = other.begin(&TransactionConfig::new(model).unwrap()).unwrap();
    for existing in [false, true] {
        if existing {
            create(&dest, foo_id(1));
        }
        let before = pairs(&dest);
        assert_deleted(tx.copy_to(foo_id(1), &dest, &mut CopyOptions::new()), foo_id(2));
        assert_eq!(pairs(&dest), before, "nothing is left of it");
    }
    let mut missing = MissingTargets::new();
    let options = &mut CopyOptions::new().noting_missing(&mut missing);
    assert!(!tx.copy_to(foo_id(1), &dest, options).unwrap());
    assert_eq!(missing.into_iter().collect::<Vec<_>>(), [(foo_id(2), "r".into())]);
    assert_eq!(dest.get(foo_id(1), "r", Migrate::No).unwrap(), Value::Ref(foo_id(2)));
    assert_deleted(dest.set(foo_id(1), "r", &Value::Ref(foo_id(3)), Migrate::No), foo_id(3));
}

#[test]
fn t128_an_existing_destination_is_migrated_first() {
    let old = r#"<Schema><ObjectType name="A" storageId="10"><SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" indexed="true"/></ObjectType></Schema>"#;
    let new = r#"<Schema><ObjectType name="A" storageId="10"><SimpleField name="y" encoding="urn:fdc:permazen.io:2020:int" indexed="true"/></ObjectType></Schema>"#;
    let world = World::new();
    let tx = world.begin(old);
    create(&tx, foo_id(1));
    set(&tx, foo_id(1), "x", int(3));
    tx.commit().unwrap();
    let tx = world.begin(new);
    create(&tx, foo_id(2));
    set(&tx, foo_id(2), "y", int(4));
    let mut ids = IdMap::from([(foo_id(2), Some(foo_id(1)))]);
    assert!(!tx.copy_to(foo_id(2), &tx, &mut CopyOptions::new().mapping_ids(&mut ids)).unwrap());
    assert_eq!(tx.get(foo_id(1), "y", Migrate::No).unwrap(), int(4));
    tx.delete(foo_id(2)).unwrap();
    tx.delete(foo_id(1)).unwrap();
    assert!(pairs(&tx).is_empty());
}

#[test]
fn t129_copying_onto_itself_changes_nothing() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    fill(&tx, foo_id(1));
    let before = pairs(&tx);
    let (created, cost) =
        world.cost(|| tx.copy_to(foo_id(1), &tx, &mut CopyOptions::new()).unwrap());
    assert!(!created);
    assert_eq!((cost.writes(), pairs(&tx)), (0, before));
}

#[test]
fn t130_t131_detached_transactions() {
    let world = World::new();
    let tx = world.foo();
    let detached = tx.detached().unwrap();
    drop(tx);
    create(&detached, foo_id(1));
    set(&detached, foo_id(1), "r", Value::Ref(foo_id(9)));
    assert!(!detached.is_read_only().unwrap());
    detached.set_read_only().unwrap();
    assert!(detached.is_read_only().unwrap());
    assert!(detached.set_timeout(None).is_err());
    assert!(matches!(detached.snapshot(), Err(Error::Unsupported(_))));
    detached.reset().unwrap();
    assert!(!detached.exists(foo_id(1)).unwrap());
    assert!(pairs(&detached).is_empty());
    assert!(detached.create_with_id(foo_id(1)).unwrap());
    assert!(matches!(detached.commit(), Err(Error::Unsupported(_))));
    let tx = world.foo();
    assert!(matches!(tx.reset(), Err(Error::Unsupported(_))));
    assert!(matches!(tx.detached().unwrap().rollback(), Err(Error::Unsupported(_))));
}

#[test]
fn a_detached_transaction_gives_its_store_back() {
    let world = World::new();
    world.foo().commit().unwrap();
    let config = TransactionConfig::new(SchemaModel::from_xml(FOO.as_bytes()).unwrap()).unwrap();
    let edit = || {
        let branch = Branch::open(world.db.kv()).unwrap();
        world.db.detached(branch, &config).unwrap()
    };
    let tx = edit();
    create(&tx, foo_id(1));
    let branch: Branch = tx.into_store().unwrap();
    assert!(!world.foo().exists(foo_id(1)).unwrap());
    branch.merge(world.db.kv()).unwrap();
    assert!(world.foo().exists(foo_id(1)).unwrap());
    assert!(matches!(
        edit().into_store::<Box<dyn KvTransaction + Send>>(),
        Err(Error::Unsupported(_))
    ));
    assert!(matches!(world.foo().into_store::<Branch>(), Err(Error::Unsupported(_))));
}

#[test]
fn t132_a_snapshot_is_separate() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    tx.commit().unwrap();
    let tx = world.foo();
    create(&tx, foo_id(2));
    let snapshot = match tx.snapshot() {
        Ok(snapshot) => snapshot,
        Err(error) => panic!("the memory store has snapshots: {error}"),
    };
    assert!(snapshot.exists(foo_id(1)).unwrap() && snapshot.exists(foo_id(2)).unwrap());
    assert!(snapshot.delete(foo_id(1)).unwrap());
    assert!(tx.exists(foo_id(1)).unwrap());
    assert!(tx.delete(foo_id(2)).unwrap());
    assert!(snapshot.exists(foo_id(2)).unwrap());
    assert_eq!(pairs(&snapshot).len(), 8);
}

#[test]
fn whole_objects_are_stored_by_their_differences() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    create(&tx, foo_id(2));
    fill(&tx, foo_id(1));
    let data = tx.load(foo_id(1), Migrate::No).unwrap();
    let (_, cost) = world.cost(|| tx.store_object(foo_id(1), &data, Migrate::Yes).unwrap());
    assert_eq!((cost.seeks, cost.writes()), (1, 0));
    tx.store_object(foo_id(2), &data, Migrate::Yes).unwrap();
    let other = tx.load(foo_id(2), Migrate::No).unwrap();
    for field in ["i", "s", "r", "e", "c", "set", "list", "map"] {
        assert_eq!(data.decode(field).unwrap(), other.decode(field).unwrap());
    }
}

const HOLDER: &str = r#"<Schema><ObjectType name="A" storageId="10">
<SetField name="set" storageId="20"><ReferenceField storageId="21" inverseDelete="REMOVE"/></SetField>
<ListField name="list" storageId="22"><ReferenceField storageId="23" inverseDelete="REMOVE"/></ListField>
<MapField name="map" storageId="24"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="25"/><ReferenceField storageId="26" inverseDelete="REMOVE"/></MapField>
</ObjectType></Schema>"#;

#[test]
fn copying_onto_itself_with_an_id_map_changes_nothing() {
    let world = World::new();
    let tx = world.begin(HOLDER);
    let holder = create(&tx, foo_id(1));
    let others = [create(&tx, foo_id(2)), create(&tx, foo_id(3))];
    for (at, other) in (0..).zip(others) {
        tx.set_view(holder, "set", Migrate::No).unwrap().add(&Value::Ref(other)).unwrap();
        tx.list_view(holder, "list", Migrate::No).unwrap().push(&Value::Ref(other)).unwrap();
        let map = tx.map_view(holder, "map", Migrate::No).unwrap();
        map.put(&int(at), &Value::Ref(other)).unwrap();
    }
    let before = pairs(&tx);
    let mut ids = IdMap::from([(holder, Some(holder))]);
    assert!(!tx.copy_to(holder, &tx, &mut CopyOptions::new().mapping_ids(&mut ids)).unwrap());
    assert_eq!(pairs(&tx), before);
}

const ONE: &str = r#"<Schema><ObjectType name="A" storageId="10">
<SimpleField name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="11" indexed="true"/>
<ReferenceField name="r" storageId="12" inverseDelete="EXCEPTION"/>
<SetField name="set" storageId="13"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="14" indexed="true"/></SetField>
</ObjectType></Schema>"#;

/// An object with `s` = src and the set {1, 2}.
fn source(tx: &Transaction) -> ObjId {
    let id = create(tx, foo_id(1));
    set(tx, id, "s", text("src"));
    let elements = tx.set_view(id, "set", Migrate::No).unwrap();
    elements.add(&int(1)).unwrap();
    elements.add(&int(2)).unwrap();
    id
}

/// The object is created before it gets its content. Writes of creation listeners are replaced, and
/// listeners receive all events in the order in which they happened.
#[test]
fn listeners_to_creation_see_defaults_and_do_not_change_what_a_copy_becomes() {
    let world = World::new();
    let tx = world.begin(ONE);
    let id = source(&tx);
    let data = tx.load(id, Migrate::No).unwrap();
    let way = |number: u8, other: &Transaction, id_there: ObjId| match number {
        0 => assert!(tx.copy_to(id, other, &mut CopyOptions::new()).unwrap()),
        1 => assert_eq!(other.create_with(Some(id_there), &data).unwrap(), Some(id_there)),
        2 => assert!(other.replace_object(id_there, &data, &mut CopyOptions::new()).unwrap()),
        _ => {
            let mut ids = IdMap::from([(id, Some(id_there))]);
            assert!(tx.copy_to(id, other, &mut CopyOptions::new().mapping_ids(&mut ids)).unwrap());
        }
    };
    for number in 0..4 {
        let id_there = if number == 3 { foo_id(2) } else { id };
        let other = tx.detached().unwrap();
        let (on_s, on_set) = (Events::on(&other, 11), Events::on(&other, 13));
        way(number, &other, id_there);
        let expected = pairs(&other);
        assert_eq!(on_s.take(), ["null -> src"]);
        assert_eq!(on_set.take(), ["add 1", "add 2"]);
        assert!(other.delete(id_there).unwrap());
        on_create(&other, |tx, id| {
            assert_eq!(tx.get(id, "s", Migrate::No)?, Value::Null);
            tx.set_view(id, "set", Migrate::No)?.add(&int(3))?;
            tx.set(id, "s", &text("init"), Migrate::No)
        });
        way(number, &other, id_there);
        assert_eq!(pairs(&other), expected, "way {number}");
        assert_eq!(on_s.take(), ["null -> init", "init -> src"]);
        assert_eq!(on_set.take(), ["add 3", "add 1", "add 2", "remove 3"]);
    }
}

#[test]
fn a_copy_whose_destination_a_listener_deletes_fails_and_tells_nothing() {
    let world = World::new();
    let tx = world.begin(ONE);
    let id = source(&tx);
    let other = tx.detached().unwrap();
    let events = Events::on(&other, 11);
    on_create(&other, |tx, id| tx.delete(id).map(drop));
    assert_deleted(tx.copy_to(id, &other, &mut CopyOptions::new()), id);
    let data = tx.load(id, Migrate::No).unwrap();
    assert_deleted(other.create_with(Some(id), &data), id);
    assert!(pairs(&other).is_empty());
    assert_eq!(events.take(), Vec::<String>::new());
}

#[test]
fn after_an_error_of_a_listener_the_copy_is_there_and_its_id_known() {
    let world = World::new();
    let tx = world.begin(ONE);
    let id = source(&tx);
    let other = tx.detached().unwrap();
    on_create(&other, |_, _| Err(Error::listener("no")));
    let mut ids = IdMap::from([(id, None)]);
    let result = tx.copy_to(id, &other, &mut CopyOptions::new().mapping_ids(&mut ids));
    assert!(matches!(result, Err(Error::Listener(_))));
    let copy = ids[&id].expect("the id of the copy");
    assert_eq!(other.get(copy, "s", Migrate::No).unwrap(), text("src"));
    assert!(!tx.copy_to(id, &other, &mut CopyOptions::new().mapping_ids(&mut ids)).unwrap());
    assert_eq!(other.objects("A").unwrap().count().unwrap(), 1);
}

#[test]
fn listeners_called_by_a_copy_may_not_do_what_only_the_copy_may() {
    let world = World::new();
    let tx = world.begin(ONE);
    let id = source(&tx);
    create(&tx, foo_id(3));
    set(&tx, id, "r", Value::Ref(foo_id(3)));
    let from = tx.snapshot().unwrap();
    set(&tx, id, "r", Value::Null);
    tx.delete(id).unwrap();
    tx.delete(foo_id(3)).unwrap();
    create(&tx, foo_id(4));
    let (refused, results) = Log::pair();
    on_create(&tx, move |tx, _| {
        let result = tx.set(foo_id(4), "r", &Value::Ref(foo_id(9)), Migrate::No);
        results.add(result.is_err())
    });
    let mut missing = MissingTargets::new();
    let mut options = CopyOptions::new().noting_missing(&mut missing);
    assert!(from.copy_to(id, &tx, &mut options).unwrap());
    assert_eq!(refused.all(), [true]);
    assert_eq!(missing.into_keys().collect::<Vec<_>>(), [foo_id(3)]);
}

#[test]
fn a_damaged_reference_is_reported_of_the_object_that_has_it() {
    let world = World::new();
    let tx = world.begin(ONE);
    let id = source(&tx);
    tx.commit().unwrap();
    world.raw(&format!("{id}0c"), Some("0a11"));
    let tx = world.begin(ONE);
    let other = tx.detached().unwrap();
    for mapped in [false, true] {
        let mut ids = IdMap::from([(id, Some(foo_id(7)))]);
        let mut options = CopyOptions::new();
        if mapped {
            options = options.mapping_ids(&mut ids);
        }
        match tx.copy_to(id, &other, &mut options) {
            Err(error @ Error::Inconsistent { .. }) => {
                let text = error.to_string();
                assert!(text.contains(&format!("field r of A {id}")), "{text}");
                assert!(text.contains("0a11"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(pairs(&other).is_empty());
}

#[test]
fn a_snapshot_has_no_listeners() {
    let world = World::new();
    let tx = world.begin(ONE);
    let id = source(&tx);
    let events = Events::on(&tx, 11);
    let snapshot = tx.snapshot().unwrap();
    set(&snapshot, id, "s", text("new"));
    assert_eq!(events.take(), Vec::<String>::new());
}

#[test]
fn a_source_is_moved_to_the_schema_of_its_transaction_if_asked() {
    let newer = foo_with_more();
    for migrate in [Migrate::No, Migrate::Yes] {
        let world = World::new();
        let tx = world.foo();
        create(&tx, foo_id(1));
        fill(&tx, foo_id(1));
        let old = tx.schema().id;
        tx.commit().unwrap();
        let tx = world.begin(&newer);
        let other = tx.detached().unwrap();
        let mut options = CopyOptions::new().migrating(migrate);
        assert!(tx.copy_to(foo_id(1), &other, &mut options).unwrap());
        let expected = if migrate == Migrate::Yes { tx.schema().id } else { old };
        assert_eq!(tx.object_schema(foo_id(1)).unwrap().id, expected);
        assert_eq!(other.object_schema(foo_id(1)).unwrap().id, expected);
        assert_eq!(pairs(&other), pairs(&tx));
        create(&tx, foo_id(2));
        let newer = tx.load(foo_id(2), Migrate::No).unwrap();
        let stored = tx.store_object(foo_id(1), &newer, Migrate::No);
        assert_eq!(stored.is_ok(), migrate == Migrate::Yes, "{stored:?}");
    }
}

#[test]
fn content_goes_only_to_objects_of_its_type_and_schema() {
    let xml = r#"<Schema><ObjectType name="A" storageId="10"><ReferenceField name="r" storageId="12" inverseDelete="NULLIFY"/></ObjectType><ObjectType name="B" storageId="11"/></Schema>"#;
    let world = World::new();
    let tx = world.begin(xml);
    let b = id("0b00000000000001");
    for id in [foo_id(1), foo_id(2), b] {
        create(&tx, id);
    }
    set(&tx, foo_id(1), "r", Value::Ref(foo_id(2)));
    let data = tx.load(foo_id(1), Migrate::No).unwrap();
    let before = pairs(&tx);
    for target in [b, id("0b00000000000002")] {
        assert_invalid_argument(tx.replace_object(target, &data, &mut CopyOptions::new()));
    }
    let refused = tx.store_object(b, &data, Migrate::No);
    assert!(matches!(refused, Err(Error::SchemaMismatch { .. })), "{refused:?}");
    assert_eq!(pairs(&tx), before);
    let from = tx.snapshot().unwrap();
    tx.delete(foo_id(2)).unwrap();
    let before = pairs(&tx);
    assert_deleted(tx.store_object(foo_id(1), &data, Migrate::No), foo_id(2));
    assert_deleted(from.copy_to(foo_id(1), &tx, &mut CopyOptions::new()), foo_id(2));
    assert_eq!(pairs(&tx), before);
}
