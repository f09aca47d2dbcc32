//! Whatever operation of the store fails, the operation on objects leaves everything as it was.

use std::sync::Arc;

use permazen::encoding::Value;
use permazen::kv::counting::CountingStore;
use permazen::kv::fault::{FaultStore, Faults};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvError, TxOptions};
use permazen::object::{
    Database, Error, Migrate, ObjectBuilder, PathStep, Result, Transaction, TransactionConfig,
    Watch,
};
use permazen::schema::{SchemaModel, SchemaRemoval};
use permazen::{ObjId, ObjIdGenerator};

use crate::changes::*;
use crate::peculiar_store::PeculiarStore;
use crate::support::*;

pub(crate) fn config(xml: &str) -> TransactionConfig {
    TransactionConfig::new(SchemaModel::from_xml(xml.as_bytes()).unwrap())
        .unwrap()
        .schema_removal(SchemaRemoval::Never)
}

pub(crate) fn all_pairs(tx: &Transaction) -> Vec<(Vec<u8>, Vec<u8>)> {
    tx.read_pairs(|kv| {
        let mut found = Vec::new();
        for pair in kv.scan(KeySpan::FULL, Direction::Forward)? {
            let (key, value) = pair?;
            found.push((key.into_owned(), value.into_owned()));
        }
        Ok(found)
    })
    .unwrap()
}

/// A database with objects and an unused schema, and the faults that make its store fail.
fn world() -> (Database, Faults) {
    let store = FaultStore::new(MemoryStore::new());
    let faults = store.faults();
    let db = Database::new(Arc::new(store));
    let unused = br#"<Schema><ObjectType name="Unused"/></Schema>"#;
    let tx = db.begin(&config(&schema())).unwrap();
    fill(&tx);
    tx.add_schema(&SchemaModel::from_xml(unused).unwrap()).unwrap();
    tx.commit().unwrap();
    (db, faults)
}

fn watch_everything(tx: &Transaction) {
    for field in WATCHABLE {
        on_change(tx, field, |_, _, _| Ok(()));
    }
    on_create(tx, |_, _| Ok(()));
    on_schema_change(tx, |_, _| Ok(()));
    let holders = Watch::along([PathStep::Forward(sid(13))]);
    tx.on_delete(holders, Arc::new(|_, _, _| Ok(()))).unwrap();
}

pub(crate) fn planned() -> KvError {
    KvError::InvalidArgument("planned failure".to_owned())
}

/// Makes the operations of the store that `operation` makes fail one after another, each in a new
/// transaction. After each failure nothing has changed, or, if `may_succeed`, everything has. If
/// `operation` is then tried again in the same transaction, it does what it should.
fn check(
    name: &str,
    (db, faults): &(Database, Faults),
    begin: &dyn Fn() -> Transaction,
    operation: Operation,
    may_succeed: bool,
) {
    let run = |tx: &Transaction| {
        db.set_id_generator(ObjIdGenerator::from_seed(7));
        operation(tx)
    };
    let succeed = |tx: &Transaction| {
        run(tx).unwrap_or_else(|error| panic!("{name}: {error}"));
        all_pairs(tx)
    };
    let (before, after) = {
        let tx = begin();
        (all_pairs(&tx), succeed(&tx))
    };
    assert_ne!(before, after, "{name} changes something");
    for n in 1.. {
        assert!(n < 2000, "{name} does not end");
        let tx = begin();
        faults.fail_nth(n, planned);
        let result = run(&tx);
        let hit = faults.hits() > 0;
        faults.stop();
        if !hit {
            assert!(n > 1, "{name} was made to fail");
            break;
        }
        let error = result.expect_err(&format!("{name}: failure at operation {n}"));
        let message = error.to_string();
        assert!(message.contains("planned failure"), "{name}, {n}: {message}");
        let of_no_object = name.contains("schema") || name.contains("reset");
        assert!(message.contains("Foo 0a") || of_no_object, "{name}, {n}: {message}");
        let left = all_pairs(&tx);
        assert!(
            left == before || may_succeed && left == after,
            "{name}: failure at operation {n} left something"
        );
        assert!(succeed(&tx) == after, "{name}: another outcome after failure at operation {n}");
    }
}

/// Checks operations in transactions of this schema, without listeners and with.
fn check_all(operations: &[(&str, Operation)], xml: &str, may_succeed: bool) {
    let world = world();
    let config = config(xml);
    // The first transaction records the schema.
    world.0.begin(&config).unwrap().commit().unwrap();
    for watched in [false, true] {
        let begin = || {
            let tx = world.0.begin(&config).unwrap();
            if watched {
                watch_everything(&tx);
            }
            tx
        };
        for (name, operation) in operations {
            check(name, &world, &begin, *operation, may_succeed);
        }
    }
}

#[test]
fn a_failed_operation_changes_nothing_whatever_failed() {
    check_all(OF_OBJECTS, &schema(), false);
}

#[test]
fn a_failed_change_of_a_field_changes_nothing_whatever_failed() {
    check_all(OF_FIELDS, &schema(), false);
}

#[test]
fn a_failed_change_of_a_list_changes_nothing_whatever_failed() {
    check_all(OF_LISTS, &schema(), false);
}

#[test]
fn a_failed_change_of_a_set_or_map_changes_nothing_whatever_failed() {
    check_all(OF_SETS_AND_MAPS, &schema(), false);
}

#[test]
fn a_failed_migration_changes_nothing_whatever_failed() {
    check_all(MIGRATING, &newer_schema(), false);
}

/// If an object is moved and then only read, the move is an operation of its own.
#[test]
fn an_object_that_cannot_be_read_may_have_moved() {
    check_all(READING_MOVED, &newer_schema(), true);
}

#[test]
fn a_failed_change_of_a_detached_transaction_changes_nothing_whatever_failed() {
    let world = world();
    let db = &world.0;
    let begin = || db.detached(db.kv().begin(&TxOptions::default()).unwrap(), &config(&schema()));
    for (name, operation) in DETACHED {
        check(name, &world, &|| begin().unwrap(), *operation, false);
    }
}

#[test]
fn after_a_failure_that_kills_the_store_nothing_is_committed() {
    let (db, faults) = world();
    let config = config(&schema());
    let committed = || all_pairs(&db.begin(&config).unwrap());
    let before = committed();
    for (name, operation) in [OF_OBJECTS, OF_FIELDS, OF_LISTS, OF_SETS_AND_MAPS].concat() {
        for n in 1.. {
            let tx = db.begin(&config).unwrap();
            faults.fail_nth(n, || KvError::Retry("planned".to_owned()));
            let result = operation(&tx);
            let hit = faults.hits() > 0;
            faults.stop();
            if !hit {
                break;
            }
            let error = result.expect_err(&format!("{name}: failure at operation {n}"));
            assert!(error.is_retryable(), "{name}, {n}: {error:?}");
            assert!(tx.commit().is_err(), "{name}, {n}");
            assert!(committed() == before, "{name}, {n}: something was committed");
        }
    }
}

/// The objects whose listeners are called are looked up after the change. If that fails, or if a
/// listener fails, the change stays.
#[test]
fn a_change_stays_if_those_to_be_told_cannot_be_found() {
    let (db, faults) = world();
    let tx = db.begin(&config(&schema())).unwrap();
    let (told, telling) = Log::pair();
    tx.on_change(
        sid(11),
        Watch::along([PathStep::Forward(sid(13))]),
        Arc::new(move |_, _, holders: &[ObjId]| telling.add_all(holders)),
    )
    .unwrap();
    set(&tx, foo_id(1), "i", int(50));
    assert_eq!(told.all(), [foo_id(3)]);
    faults.stop();
    set(&tx, foo_id(1), "i", int(51));
    let operations = faults.operations();
    let mut stayed = 0;
    for (value, n) in (60..).zip(1..=operations) {
        faults.fail_nth(n, planned);
        assert!(tx.set(foo_id(1), "i", &int(value), Migrate::No).is_err());
        faults.stop();
        let now = tx.get(foo_id(1), "i", Migrate::No).unwrap();
        // All of the change exists, or nothing of it.
        let index = tx.simple_index(sid(11)).unwrap().get(std::slice::from_ref(&now)).unwrap();
        assert_eq!(index.to_vec().unwrap(), [foo_id(1)]);
        if now == int(value) {
            stayed += 1;
        }
    }
    assert!(stayed > 0 && stayed < operations);
    set(&tx, foo_id(1), "i", int(99));
    tx.commit().unwrap();
}

/// How long keys may be in the tests of keys that are too long.
const KEY_LIMIT: usize = 30;

#[track_caller]
fn assert_too_long<R: std::fmt::Debug>(result: Result<R>, parts: &[&str]) {
    match result {
        Err(error @ Error::KeyTooLong { limit: KEY_LIMIT, .. }) => {
            let message = error.to_string();
            for part in parts {
                assert!(message.contains(part), "{part} in {message}");
            }
        }
        other => panic!("expected KeyTooLong, got {other:?}"),
    }
}

#[test]
fn keys_that_are_too_long_are_refused_before_anything_is_written() {
    let store = CountingStore::new(PeculiarStore::with_short_keys(KEY_LIMIT));
    let counter = store.counter();
    let db = Database::new(Arc::new(store));
    let xml = r#"<Schema><ObjectType name="A" storageId="10">
<SimpleField name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="11" indexed="true"/>
<SimpleField name="plain" encoding="urn:fdc:permazen.io:2020:String" storageId="12"/>
<SetField name="set" storageId="13"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="14"/></SetField>
<ListField name="list" storageId="15"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="16" indexed="true"/></ListField>
<MapField name="map" storageId="18"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="19"/>
  <SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="20" indexed="true"/></MapField>
<CompositeIndex name="both" storageId="17"><Field name="plain"/><Field name="s"/></CompositeIndex>
</ObjectType></Schema>"#;
    let tx = db.begin(&config(xml)).unwrap();
    let object: ObjId = create(&tx, foo_id(1));
    let map = tx.map_view(object, "map", Migrate::No).unwrap();
    map.put(&int(1), &text("x")).unwrap();
    let list = tx.list_view(object, "list", Migrate::No).unwrap();
    list.extend(&texts(&["a", "b", "c"])).unwrap();
    let before = all_pairs(&tx);
    let long = text("0123456789012345678901");
    let shorter = text("012345678901");
    assert_too_long(
        tx.set(object, "s", &long, Migrate::No),
        &["field s of A 0a11111111111111", "30 bytes"],
    );
    set(&tx, object, "s", shorter.clone());
    assert_too_long(
        tx.set(object, "plain", &shorter, Migrate::No),
        &["field plain of A 0a11111111111111", "both"],
    );
    set(&tx, object, "s", Value::Null);
    counter.take();
    let elements = tx.set_view(object, "set", Migrate::No).unwrap();
    assert_too_long(elements.add(&long), &["set of A 0a11111111111111"]);
    assert!(!elements.contains(&long).unwrap());
    let in_list = ["index", "list of A 0a11111111111111"];
    assert_too_long(list.extend(&[text("a"), long.clone()]), &in_list);
    assert_too_long(list.insert(0, &long), &in_list);
    assert_too_long(list.set(1, &long), &in_list);
    for key in [1, 2] {
        assert_too_long(map.put(&int(key), &long), &["index", "map of A 0a11111111111111"]);
    }
    let of = tx.schema().object_type("A").unwrap().clone();
    for field in ["set", "list"] {
        let mut content = ObjectBuilder::new(of.clone());
        let bytes = |out: &mut Vec<u8>| {
            out.extend_from_slice(b"0123456789012345678901\0");
            Ok(())
        };
        let part = of.field(field).unwrap();
        match field {
            "set" => content.write_set_element(part, bytes).unwrap(),
            _ => content.write_list_element(part, 0, bytes).unwrap(),
        }
        let content = content.finish();
        let named = if field == "list" { "index entry of field list.element" } else { "field set" };
        let made = tx.create_with(Some(foo_id(2)), &content);
        assert_too_long(made, &[named, "A 0a22222222222222"]);
        let stored = tx.store_object(object, &content, Migrate::No);
        assert_too_long(stored, &[named, "A 0a11111111111111"]);
    }
    assert_eq!(counter.take().writes(), 0, "refused before anything is written");
    assert_eq!(all_pairs(&tx), before);
    tx.commit().unwrap();
}

/// Index entries are written and removed without a check whether they exist. So taking a failed
/// operation back gives the entries it has written or removed the state that the objects call for.
/// Entries that were missing exist afterwards, and wrong entries do not. Everything else is as
/// before.
#[test]
fn undoing_leaves_index_entries_that_agree_with_the_objects() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    set(&tx, foo_id(1), "i", int(5));
    tx.set_view(foo_id(1), "set", Migrate::No).unwrap().add(&int(5)).unwrap();
    tx.commit().unwrap();
    let healthy = world.pairs();
    let missing = ["0b840a11111111111111", "15840a11111111111111"];
    let stale = ["0b860a11111111111111", "15860a11111111111111"];
    missing.iter().for_each(|key| world.raw(key, None));
    stale.iter().for_each(|key| world.raw(key, Some("")));
    let damaged = world.pairs();
    let fail = |change: fn(&Transaction)| {
        let tx = world.foo();
        let result = tx.atomic(|tx| {
            change(tx);
            Err::<(), _>(Error::RollbackOnly)
        });
        assert!(matches!(result, Err(Error::RollbackOnly)));
        tx.commit().unwrap();
        let left = world.pairs();
        let keys = |from: &[String], to: &[String]| -> Vec<String> {
            from.iter()
                .filter(|pair| !to.contains(pair))
                .map(|pair| pair.replace('=', ""))
                .collect()
        };
        let differences = (keys(&left, &damaged), keys(&damaged, &left));
        missing.iter().for_each(|key| world.raw(key, None));
        stale.iter().for_each(|key| world.raw(key, Some("")));
        differences
    };
    let other = fail(|tx| set(tx, foo_id(1), "s", text("changed")));
    assert_eq!(other, (vec![], vec![]));
    let field = fail(|tx| set(tx, foo_id(1), "i", int(7)));
    assert_eq!(field, (vec![missing[0].to_owned()], vec![stale[0].to_owned()]));
    let element = fail(|tx| {
        let set = tx.set_view(foo_id(1), "set", Migrate::No).unwrap();
        assert!(set.remove(&int(5)).unwrap() && set.add(&int(7)).unwrap());
    });
    assert_eq!(element, (vec![missing[1].to_owned()], vec![stale[1].to_owned()]));
    let deleted = fail(|tx| assert!(tx.delete(foo_id(1)).unwrap()));
    assert_eq!(deleted, (missing.map(str::to_owned).to_vec(), vec![]));
    missing.iter().for_each(|key| world.raw(key, Some("")));
    stale.iter().for_each(|key| world.raw(key, None));
    assert_eq!(world.pairs(), healthy);
}
