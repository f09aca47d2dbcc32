//! Life cycle and schemas: behaviours 133 to 138.

use std::sync::Arc;

use permazen::object::{Callback, Error, Migrate, Result, Transaction, TransactionConfig};
use permazen::schema::{SchemaError, SchemaModel};

use crate::support::*;

/// Records its calls, and fails at one of them.
struct Noting {
    name: &'static str,
    fails_at: &'static str,
    log: Log<String>,
}

impl Noting {
    fn note(&self, what: &str, more: &str) -> Result<()> {
        self.log.add(format!("{}.{what}{more}", self.name))?;
        if what == self.fails_at { Err(Error::listener("planned")) } else { Ok(()) }
    }
}

impl Callback for Noting {
    fn before_commit(&self, tx: &Transaction, read_only: bool) -> Result<()> {
        assert!(tx.is_open());
        let late = Noting { name: "late", fails_at: "", log: self.log.clone() };
        assert!(matches!(tx.add_callback(Arc::new(late)), Err(Error::Ended)));
        create(tx, foo_id(9));
        tx.delete(foo_id(9))?;
        self.note("beforeCommit", if read_only { "(true)" } else { "(false)" })
    }

    fn before_completion(&self, tx: &Transaction) -> Result<()> {
        self.note("beforeCompletion", if tx.is_open() { " open" } else { "" })
    }

    fn after_commit(&self) -> Result<()> {
        self.note("afterCommit", "")
    }

    fn after_completion(&self, committed: bool) -> Result<()> {
        self.note("afterCompletion", if committed { "(true)" } else { "(false)" })
    }
}

fn with_callbacks(world: &World, fails_at: &'static str) -> (Transaction, Log<String>) {
    let tx = world.foo();
    let log = Log::default();
    let first: Arc<dyn Callback> = Arc::new(Noting { name: "c1", fails_at, log: log.clone() });
    tx.add_callback(Arc::clone(&first)).unwrap();
    tx.add_callback(Arc::new(Noting { name: "c2", fails_at: "", log: log.clone() })).unwrap();
    tx.add_callback(first).unwrap();
    create(&tx, foo_id(1));
    (tx, log)
}

#[test]
fn t133_callbacks_in_order() {
    let all = [
        "c1.beforeCommit(false)",
        "c2.beforeCommit(false)",
        "c1.beforeCompletion",
        "c2.beforeCompletion",
        "c1.afterCommit",
        "c2.afterCommit",
        "c1.afterCompletion(true)",
        "c2.afterCompletion(true)",
    ];
    for fails_at in ["", "beforeCompletion", "afterCompletion"] {
        let world = World::new();
        let (tx, log) = with_callbacks(&world, fails_at);
        tx.commit().unwrap();
        assert_eq!(log.take(), all, "failing at {fails_at:?}");
    }
    let world = World::new();
    let (tx, log) = with_callbacks(&world, "beforeCommit");
    assert!(matches!(tx.commit(), Err(Error::Listener(_))));
    assert_eq!(
        log.take(),
        [
            "c1.beforeCommit(false)",
            "c1.beforeCompletion",
            "c2.beforeCompletion",
            "c1.afterCompletion(false)",
            "c2.afterCompletion(false)",
        ]
    );
    assert!(world.pairs().is_empty());
    let (tx, log) = with_callbacks(&world, "afterCommit");
    assert!(matches!(tx.commit(), Err(Error::Listener(_))));
    let mut called = all.to_vec();
    called.remove(5);
    assert_eq!(log.take(), called);
    assert_eq!(world.pairs().len(), 8, "the data is committed");
}

#[test]
fn rolling_back_tells_too_however_it_happens() {
    let rolled_back = [
        "c1.beforeCompletion open",
        "c2.beforeCompletion open",
        "c1.afterCompletion(false)",
        "c2.afterCompletion(false)",
    ];
    let world = World::new();
    let (tx, log) = with_callbacks(&world, "");
    tx.rollback().unwrap();
    assert_eq!(log.take(), rolled_back);
    let (tx, log) = with_callbacks(&world, "");
    drop(tx);
    assert_eq!(log.take(), rolled_back);
    assert!(world.pairs().is_empty());
}

#[test]
fn t134_rollback_only() {
    let world = World::new();
    let (tx, log) = with_callbacks(&world, "");
    tx.set_rollback_only();
    assert!(tx.is_rollback_only());
    assert!(matches!(tx.commit(), Err(Error::RollbackOnly)));
    assert_eq!(log.take().len(), 4);
    assert!(world.pairs().is_empty());
}

#[test]
fn callbacks_may_ask_for_a_rollback() {
    struct Refusing;
    impl Callback for Refusing {
        fn before_commit(&self, tx: &Transaction, _: bool) -> Result<()> {
            tx.set_rollback_only();
            Ok(())
        }
    }
    let world = World::new();
    let (tx, log) = with_callbacks(&world, "");
    tx.add_callback(Arc::new(Refusing)).unwrap();
    assert!(matches!(tx.commit(), Err(Error::RollbackOnly)));
    assert!(log.take().contains(&"c1.afterCompletion(false)".to_owned()));
    assert!(world.pairs().is_empty());
}

#[test]
fn t135_read_only_transactions_show_and_forget_what_is_written() {
    let world = World::new();
    world.foo().commit().unwrap();
    let (tx, log) = with_callbacks(&world, "");
    tx.set_read_only().unwrap();
    assert!(tx.is_read_only().unwrap());
    create(&tx, foo_id(2));
    assert!(tx.exists(foo_id(1)).unwrap() && tx.exists(foo_id(2)).unwrap());
    tx.commit().unwrap();
    assert_eq!(log.take()[0], "c1.beforeCommit(true)");
    assert!(world.pairs().is_empty());
    let model = SchemaModel::from_xml(FOO.as_bytes()).unwrap();
    let tx = world.db.begin(&TransactionConfig::new(model).unwrap().read_only()).unwrap();
    create(&tx, foo_id(3));
    assert!(tx.exists(foo_id(3)).unwrap());
    tx.commit().unwrap();
    assert!(world.pairs().is_empty());
}

/// Types enforce behaviour 136 here: `commit` and `rollback` take the transaction.
#[test]
fn t136_nothing_is_possible_after_the_end() {
    struct After;
    impl Callback for After {
        fn before_completion(&self, tx: &Transaction) -> Result<()> {
            assert!(!tx.is_open());
            assert!(matches!(tx.exists(foo_id(1)), Err(Error::Ended)), "not from memory either");
            assert!(matches!(tx.create("Foo"), Err(Error::Ended)));
            assert!(matches!(tx.delete(foo_id(1)), Err(Error::Ended)));
            assert!(matches!(tx.get(foo_id(1), "i", Migrate::No), Err(Error::Ended)));
            assert!(matches!(tx.load(foo_id(1), Migrate::No), Err(Error::Ended)));
            assert!(matches!(tx.migrate(foo_id(1)), Err(Error::Ended)));
            Ok(())
        }
    }
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    tx.add_callback(Arc::new(After)).unwrap();
    tx.commit().unwrap();
}

#[test]
fn t137_user_meta_data_is_left_alone() {
    let world = World::new();
    world.raw("00ff01", Some("2a"));
    let tx = world.foo();
    create(&tx, foo_id(1));
    let detached = tx.detached().unwrap();
    let copied = detached.read_pairs(|kv| Ok(kv.get(&[0, 0xff, 1])?.map(|v| v.to_vec()))).unwrap();
    assert_eq!(copied, Some(vec![0x2a]));
    tx.commit().unwrap();
    assert!(world.pairs().contains(&"00ff01=2a".to_owned()));
}

#[test]
fn t138_schemas_are_removed_only_without_objects() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    let own = tx.schema().id;
    let other = SchemaModel::from_xml(
        br#"<Schema><ObjectType name="Other"><SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int"/></ObjectType></Schema>"#,
    )
    .unwrap();
    assert!(!tx.remove_schema(other.schema_id()).unwrap());
    assert!(tx.add_schema(&other).unwrap());
    assert!(!tx.add_schema(&other).unwrap());
    assert_eq!(tx.schema().id, own);
    let id = tx.create_in("Other", tx.bundle().schema_by_id(other.schema_id()).unwrap()).unwrap();
    for schema in [own, other.schema_id()] {
        let refused = tx.remove_schema(schema);
        assert!(matches!(refused, Err(Error::Schema(SchemaError::InUse { .. }))), "{refused:?}");
    }
    tx.delete(id).unwrap();
    assert!(tx.remove_schema(other.schema_id()).unwrap());
    assert!(tx.bundle().schema_by_id(other.schema_id()).is_none());
    let refused = tx.add_schema(&SchemaModel::new());
    assert!(matches!(refused, Err(Error::Schema(SchemaError::Empty))), "{refused:?}");
    tx.delete(foo_id(1)).unwrap();
    assert!(tx.remove_schema(own).unwrap());
    assert!(tx.schema().types.is_empty(), "it continues with the empty schema");
    assert!(matches!(tx.create("Foo"), Err(Error::UnknownType { .. })));
}

#[test]
fn schemas_recorded_within_a_failed_step_are_forgotten() {
    let world = World::new();
    let tx = world.foo();
    let other = SchemaModel::from_xml(br#"<Schema><ObjectType name="Other"/></Schema>"#).unwrap();
    let failed: Result<()> = tx.atomic(|tx| {
        assert!(tx.add_schema(&other)?);
        create(tx, foo_id(1));
        Err(Error::listener("no"))
    });
    assert!(failed.is_err());
    assert!(tx.bundle().schema_by_id(other.schema_id()).is_none());
    assert!(!tx.exists(foo_id(1)).unwrap());
    assert!(tx.add_schema(&other).unwrap());
    tx.commit().unwrap();
    let tx = world.db.begin(
        &TransactionConfig::without_schema().schema_removal(permazen::schema::SchemaRemoval::Never),
    );
    assert_eq!(tx.unwrap().bundle().schemas().len(), 2);
}

#[test]
fn a_schema_removed_within_a_failed_step_is_that_of_the_transaction_again() {
    let world = World::new();
    let own = SchemaModel::from_xml(FOO.as_bytes()).unwrap();
    let other = SchemaModel::from_xml(br#"<Schema><ObjectType name="Other"/></Schema>"#).unwrap();
    // After the removal, nothing; another schema, which gets its number; and the same again.
    for added in [None, Some(&other), Some(&own)] {
        let tx = world.foo();
        let failed: Result<()> = tx.atomic(|tx| {
            assert!(tx.remove_schema(own.schema_id())?);
            if let Some(added) = added {
                assert!(tx.add_schema(added)?);
            }
            assert!(tx.schema().types.is_empty());
            Err(Error::listener("no"))
        });
        assert!(failed.is_err());
        assert_eq!(tx.schema().id, own.schema_id());
        create(&tx, foo_id(1));
        tx.rollback().unwrap();
    }
    // A failed step brings back the schema that the transaction had before it.
    let tx = world.foo();
    assert!(tx.remove_schema(own.schema_id()).unwrap() && tx.add_schema(&own).unwrap());
    let failed: Result<()> = tx.atomic(|tx| {
        assert!(tx.add_schema(&other)?);
        Err(Error::listener("no"))
    });
    assert!(failed.is_err() && tx.schema().types.is_empty());
}

#[test]
fn a_transaction_can_be_sent_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    let world = World::new();
    is_send(&world.foo());
    is_send(&world.foo().detached().unwrap());
}

#[test]
fn a_failed_commit_is_told_as_such() {
    let store = permazen::kv::fault::FaultStore::new(permazen::kv::memory::MemoryStore::new());
    let faults = store.faults();
    let db = permazen::object::Database::new(Arc::new(store));
    let config = TransactionConfig::new(SchemaModel::from_xml(FOO.as_bytes()).unwrap()).unwrap();
    let tx = db.begin(&config).unwrap();
    let log = Log::default();
    struct Quiet(Log<String>);
    impl Callback for Quiet {
        fn after_commit(&self) -> Result<()> {
            self.0.add("afterCommit".to_owned())
        }
        fn after_completion(&self, committed: bool) -> Result<()> {
            self.0.add(format!("afterCompletion({committed})"))
        }
    }
    tx.add_callback(Arc::new(Quiet(log.clone()))).unwrap();
    create(&tx, foo_id(1));
    faults.fail_nth(1, || permazen::kv::KvError::Retry("planned".to_owned()));
    let failed = tx.commit().unwrap_err();
    assert!(failed.is_retryable(), "{failed:?}");
    assert_eq!(log.take(), ["afterCompletion(false)"]);
    faults.stop();
    assert!(!db.begin(&config).unwrap().exists(foo_id(1)).unwrap());
}
