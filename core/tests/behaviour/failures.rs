//! Whatever operation of the store fails: the operation on objects leaves everything as it was.

use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::fault::{FaultStore, Faults};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvError};
use permazen::object::{
    CopyOptions, Database, Error, IdMap, Migrate, Result, Transaction, TransactionConfig, Watch,
};
use permazen::schema::SchemaModel;

use crate::support::*;

/// The example schema with deletions that cascade.
fn schema() -> String {
    FOO.replace(
        r#"<CompositeIndex name="is""#,
        r#"<ReferenceField name="owner" storageId="40" inverseDelete="DELETE"/>
<ListField name="refs" storageId="41"><ReferenceField storageId="42" inverseDelete="REMOVE"/></ListField><CompositeIndex name="is""#,
    )
}

/// Another version of it: some indexes are gone, others new, one field has another encoding.
fn newer_schema() -> String {
    schema()
        .replace(
            r#"name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="12""#,
            r#"name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="12" indexed="true""#,
        )
        .replace(r#"storageId="11" indexed="true""#, r#"storageId="11""#)
        .replace(r#"int" storageId="21" indexed="true""#, r#"long""#)
        .replace(r#"<SetField name="set" storageId="20">"#, r#"<SetField name="set">"#)
}

fn config(xml: &str) -> TransactionConfig {
    TransactionConfig::new(SchemaModel::from_xml(xml.as_bytes()).unwrap()).unwrap()
}

fn all_pairs(tx: &Transaction<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
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

fn fill(tx: &Transaction<'_>) {
    for n in 1..=5 {
        create(tx, foo_id(n));
        set(tx, foo_id(n), "i", int(i32::from(n)));
        set(tx, foo_id(n), "s", text("abc"));
        let list = tx.list_view(foo_id(n), "list", Migrate::No).unwrap();
        list.extend(&texts(&["p", "q", "p"])).unwrap();
        tx.set_view(foo_id(n), "set", Migrate::No).unwrap().add(&int(7)).unwrap();
        let map = tx.map_view(foo_id(n), "map", Migrate::No).unwrap();
        map.put(&int(1), &text("x")).unwrap();
        map.put(&int(2), &text("y")).unwrap();
    }
    set(tx, foo_id(2), "owner", Value::Ref(foo_id(1)));
    set(tx, foo_id(3), "r", Value::Ref(foo_id(1)));
    set(tx, foo_id(4), "owner", Value::Ref(foo_id(2)));
    let refs = tx.list_view(foo_id(5), "refs", Migrate::No).unwrap();
    refs.extend(&[1, 1, 2, 3, 4].map(|n| Value::Ref(foo_id(n)))).unwrap();
}

/// A new database with the objects, and what makes its store fail.
fn world() -> (Database, Faults) {
    let store = FaultStore::new(MemoryStore::new());
    let faults = store.faults();
    let db = Database::new(Arc::new(store));
    let tx = db.begin(&config(&schema())).unwrap();
    fill(&tx);
    tx.commit().unwrap();
    (db, faults)
}

fn planned() -> KvError {
    KvError::InvalidArgument("planned failure".to_owned())
}

type Operation = fn(&Transaction<'_>) -> Result<()>;

/// Makes every operation of the store that `operation` makes fail in turn.
fn check(name: &str, with_schema: &str, operation: Operation) {
    let (db, faults) = world();
    let tx = db.begin(&config(with_schema)).unwrap();
    tx.on_change(sid(11), Watch::itself(), Arc::new(|_, _, _| Ok(()))).unwrap();
    tx.on_change(sid(22), Watch::itself(), Arc::new(|_, _, _| Ok(()))).unwrap();
    let before = all_pairs(&tx);
    let reference = {
        let detached = db.begin(&config(with_schema).read_only()).unwrap();
        operation(&detached).unwrap();
        all_pairs(&detached)
    };
    assert_ne!(before, reference, "{name} changes something");
    for n in 1.. {
        assert!(n < 2000, "{name} does not end");
        faults.fail_nth(n, planned);
        let result = operation(&tx);
        let hit = faults.hits() > 0;
        faults.stop();
        if !hit {
            result.unwrap();
            assert!(n > 2, "{name} was made to fail");
            break;
        }
        assert!(matches!(result, Err(Error::Kv(_) | Error::Schema(_))), "{name}, {n}: {result:?}");
        let after = all_pairs(&tx);
        assert_eq!(after, before, "{name}: failure at operation {n}");
    }
    assert_eq!(all_pairs(&tx), reference, "{name} after all the failures");
    tx.commit().unwrap();
}

fn put_bytes(bytes: &'static [u8]) -> impl FnOnce(&mut Vec<u8>) -> permazen::encoding::Result<()> {
    move |out| {
        out.extend_from_slice(bytes);
        Ok(())
    }
}

#[test]
fn a_failed_operation_changes_nothing_whatever_failed() {
    let schema = schema();
    let check = |name, operation| check(name, &schema, operation);
    check("create", |tx| tx.create_with_id(foo_id(9)).map(drop));
    check("create with values", |tx| {
        let foo = tx.schema().object_type("Foo").unwrap().clone();
        let field = |name| foo.field(name).unwrap();
        let mut object = permazen::object::ObjectBuilder::new(foo.clone());
        object.write_simple(field("i"), put_bytes(&[0x84])).unwrap();
        object.write_list_element(field("list"), 0, put_bytes(b"z\0")).unwrap();
        object.write_set_element(field("set"), put_bytes(&[0x84])).unwrap();
        tx.create_with(Some(foo_id(9)), &object.finish()).map(drop)
    });
    check("set", |tx| tx.set(foo_id(1), "i", &int(77), Migrate::No));
    check("set a reference", |tx| tx.set(foo_id(1), "r", &Value::Ref(foo_id(3)), Migrate::No));
    check("adjust", |tx| {
        tx.atomic(|tx| {
            tx.set_counter(foo_id(1), "c", 8, Migrate::No)?;
            tx.adjust_counter(foo_id(1), "c", 5, Migrate::No)?;
            tx.set_counter(foo_id(2), "c", 8, Migrate::No)
        })
    });
    check("insert into a list", |tx| {
        tx.list_view(foo_id(1), "list", Migrate::No)?.insert(1, &text("new"))
    });
    check("remove from a list", |tx| {
        tx.list_view(foo_id(1), "list", Migrate::No)?.remove(0).map(drop)
    });
    check("clear a list", |tx| tx.list_view(foo_id(1), "list", Migrate::No)?.clear());
    check("add to a set", |tx| tx.set_view(foo_id(1), "set", Migrate::No)?.add(&int(3)).map(drop));
    check("put into a map", |tx| {
        tx.map_view(foo_id(1), "map", Migrate::No)?.put(&int(1), &text("z")).map(drop)
    });
    check("delete", |tx| tx.delete(foo_id(1)).map(drop));
    check("copy", |tx| {
        let mut ids = IdMap::from([(foo_id(1), Some(foo_id(9)))]);
        tx.copy_to(foo_id(1), tx, &mut CopyOptions::new().mapping_ids(&mut ids)).map(drop)
    });
    check("copy onto another", |tx| {
        let mut ids = IdMap::from([(foo_id(2), Some(foo_id(3)))]);
        tx.copy_to(foo_id(2), tx, &mut CopyOptions::new().mapping_ids(&mut ids)).map(drop)
    });
    check("add a schema", |tx| {
        let other =
            SchemaModel::from_xml(br#"<Schema><ObjectType name="Other"/></Schema>"#).unwrap();
        tx.add_schema(&other).map(drop)
    });
}

#[test]
fn a_failed_change_of_a_collection_changes_nothing_whatever_failed() {
    let schema = schema();
    let check = |name, operation| check(name, &schema, operation);
    check("insert several", |tx| {
        tx.list_view(foo_id(1), "list", Migrate::No)?.insert_all(1, &texts(&["m", "n"])).map(drop)
    });
    check("remove a range", |tx| tx.list_view(foo_id(1), "list", Migrate::No)?.remove_range(0, 2));
    check("replace an element", |tx| {
        tx.list_view(foo_id(1), "list", Migrate::No)?.set(1, &text("z")).map(drop)
    });
    check("retain in a list nobody watches", |tx| {
        tx.list_view(foo_id(5), "refs", Migrate::No)?
            .retain(|value| *value != Value::Ref(foo_id(1)))
            .map(drop)
    });
    check("clear a set", |tx| tx.set_view(foo_id(1), "set", Migrate::No)?.clear());
    check("pop from a set", |tx| tx.set_view(foo_id(1), "set", Migrate::No)?.pop_first().map(drop));
    check("remove from a map", |tx| {
        tx.map_view(foo_id(1), "map", Migrate::No)?.remove(&int(1)).map(drop)
    });
    check("clear a map", |tx| tx.map_view(foo_id(1), "map", Migrate::No)?.clear());
}

#[test]
fn a_failed_migration_changes_nothing_whatever_failed() {
    let newer = newer_schema();
    check("migrate", &newer, |tx| tx.migrate(foo_id(1)).map(drop));
    check("set with migration", &newer, |tx| tx.set(foo_id(1), "i", &int(77), Migrate::Yes));
}

#[test]
fn after_a_failure_that_kills_the_store_nothing_is_committed() {
    let (db, faults) = world();
    let before = all_pairs(&db.begin(&config(&schema())).unwrap());
    for n in 1..60 {
        let tx = db.begin(&config(&schema())).unwrap();
        faults.fail_nth(n, || KvError::Retry("planned".to_owned()));
        let failed = tx.delete(foo_id(1));
        faults.stop();
        let Err(error) = failed else { break };
        assert!(error.is_retryable(), "{n}: {error:?}");
        assert!(tx.commit().is_err(), "{n}");
        assert_eq!(all_pairs(&db.begin(&config(&schema())).unwrap()), before);
    }
}

/// A store that takes keys of at most 30 bytes.
mod short_keys {
    use super::*;
    use permazen::kv::{
        Blob, Capabilities, KvDatabase, KvRead, KvTransaction, KvWrite, Scan, SharedRead, TxOptions,
    };

    pub(super) const LIMIT: usize = 30;

    pub(super) struct ShortKeys(pub(super) MemoryStore);

    struct Short<'db>(Box<dyn KvTransaction + Send + 'db>);

    impl KvDatabase for ShortKeys {
        fn begin<'db>(
            &'db self,
            options: &TxOptions,
        ) -> permazen::kv::Result<Box<dyn KvTransaction + Send + 'db>> {
            Ok(Box::new(Short(self.0.begin(options)?)))
        }

        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }
    }

    impl KvRead for Short<'_> {
        fn get(&self, key: &[u8]) -> permazen::kv::Result<Option<Blob<'_>>> {
            assert!(key.len() <= LIMIT);
            self.0.get(key)
        }

        fn scan<'a>(
            &'a self,
            span: KeySpan<'_>,
            direction: Direction,
        ) -> permazen::kv::Result<Scan<'a>> {
            self.0.scan(span, direction)
        }

        fn max_key_len(&self) -> usize {
            LIMIT
        }
    }

    impl KvWrite for Short<'_> {
        fn put(&mut self, key: &[u8], value: &[u8]) -> permazen::kv::Result<()> {
            assert!(key.len() <= LIMIT);
            self.0.put(key, value)
        }

        fn remove(&mut self, key: &[u8]) -> permazen::kv::Result<()> {
            assert!(key.len() <= LIMIT);
            self.0.remove(key)
        }

        fn remove_span(&mut self, span: KeySpan<'_>) -> permazen::kv::Result<()> {
            self.0.remove_span(span)
        }
    }

    impl KvTransaction for Short<'_> {
        fn is_read_only(&self) -> bool {
            self.0.is_read_only()
        }

        fn set_read_only(&mut self) -> permazen::kv::Result<()> {
            self.0.set_read_only()
        }

        fn snapshot(&self) -> permazen::kv::Result<SharedRead> {
            self.0.snapshot()
        }

        fn commit(self: Box<Self>) -> permazen::kv::Result<()> {
            self.0.commit()
        }

        fn rollback(self: Box<Self>) {
            self.0.rollback();
        }
    }
}

#[track_caller]
fn assert_too_long<R: std::fmt::Debug>(result: Result<R>, parts: &[&str]) {
    match result {
        Err(error @ Error::KeyTooLong { limit: short_keys::LIMIT, .. }) => {
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
    let db = Database::new(Arc::new(short_keys::ShortKeys(MemoryStore::new())));
    let xml = r#"<Schema><ObjectType name="A" storageId="10">
<SimpleField name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="11" indexed="true"/>
<SimpleField name="plain" encoding="urn:fdc:permazen.io:2020:String" storageId="12"/>
<SetField name="set" storageId="13"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="14"/></SetField>
<ListField name="list" storageId="15"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="16" indexed="true"/></ListField>
<CompositeIndex name="both" storageId="17"><Field name="plain"/><Field name="s"/></CompositeIndex>
</ObjectType></Schema>"#;
    let tx = db.begin(&config(xml)).unwrap();
    let object: ObjId = create(&tx, foo_id(1));
    let before = all_pairs(&tx);
    let long = text("0123456789012345678901");
    let shorter = text("012345678901");
    assert_too_long(
        tx.set(object, "s", &long, Migrate::No),
        &["field s of object 0a11111111111111", "30 bytes"],
    );
    set(&tx, object, "s", shorter.clone());
    assert_too_long(
        tx.set(object, "plain", &shorter, Migrate::No),
        &["field plain of object 0a11111111111111", "both"],
    );
    set(&tx, object, "s", Value::Null);
    let elements = tx.set_view(object, "set", Migrate::No).unwrap();
    assert_too_long(elements.add(&long), &["set of object 0a11111111111111"]);
    assert!(!elements.contains(&long).unwrap());
    let list = tx.list_view(object, "list", Migrate::No).unwrap();
    assert_too_long(list.extend(&[text("a"), long.clone()]), &["list of object 0a11111111111111"]);
    assert_eq!(all_pairs(&tx), before);
    tx.commit().unwrap();
}
