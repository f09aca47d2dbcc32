//! Features of the store that transactions pass on: reads that do not count in conflicts, watched
//! keys, the form of counters.

use std::sync::Arc;
use std::time::Duration;

use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::prefix::Prefixed;
use permazen::kv::{KvDatabase, KvError};
use permazen::object::{
    CopyOptions, Database, Error, ListView, Migrate, ObjectBuilder, Result, Transaction,
    TransactionConfig,
};
use permazen::schema::SchemaModel;
use permazen::{Counter, ObjId, Permazen, PermazenObject};

use crate::peculiar_store::PeculiarStore;
use crate::support::*;

fn foo_config() -> TransactionConfig {
    TransactionConfig::new(SchemaModel::from_xml(FOO.as_bytes()).unwrap()).unwrap()
}

/// Two objects in a store whose transactions write at the same time.
fn optimistic() -> Database {
    let db = Database::new(Arc::new(OptimisticDatabase::new(MemoryStore::new())));
    let tx = db.begin(&foo_config()).unwrap();
    create(&tx, foo_id(1));
    create(&tx, foo_id(2));
    tx.commit().unwrap();
    db
}

/// The end of a transaction that reads an object and then writes, after another transaction changed
/// the object.
fn read_and_lose(db: &Database, read: fn(&Transaction) -> Result<()>) -> Result<()> {
    let tx = db.begin(&foo_config()).unwrap();
    read(&tx).unwrap();
    let other = db.begin(&foo_config()).unwrap();
    set(
        &other,
        foo_id(1),
        "i",
        int(other.get(foo_id(1), "i", Migrate::No)?.get::<i32>().unwrap() + 1),
    );
    other.commit().unwrap();
    set(&tx, foo_id(2), "s", text("changed"));
    tx.commit()
}

#[test]
fn untracked_reads_do_not_conflict() {
    let db = optimistic();
    let lost = read_and_lose(&db, |tx| tx.get(foo_id(1), "i", Migrate::No).map(drop));
    assert!(lost.is_err_and(|error| error.is_retryable()));
    read_and_lose(&db, |tx| tx.untracked(|tx| tx.get(foo_id(1), "i", Migrate::No).map(drop)))
        .unwrap();
    // The reads of an operation always count.
    let lost =
        read_and_lose(&db, |tx| tx.untracked(|tx| tx.set(foo_id(1), "i", &int(77), Migrate::No)));
    assert!(lost.is_err_and(|error| error.is_retryable()));
}

/// Creation depends on whether the object exists, so that counts as read.
#[test]
fn creating_within_untracked_reads_notices_what_others_do_with_the_object() {
    type Create = fn(&Transaction, ObjId) -> Result<bool>;
    let ways: [(&str, Create); 3] = [
        ("create_with_id", |tx, id| tx.create_with_id(id)),
        ("create_with_id_in", |tx, id| tx.create_with_id_in(id, tx.schema().id)),
        ("create_with", |tx, id| {
            let object_type = Arc::clone(tx.schema().object_type("Foo").unwrap());
            Ok(tx.create_with(Some(id), &ObjectBuilder::new(object_type).finish())?.is_some())
        }),
    ];
    for (name, create) in ways {
        // It exists, and another transaction deletes it.
        let db = optimistic();
        let tx = db.begin(&foo_config()).unwrap();
        assert!(!tx.untracked(|tx| create(tx, foo_id(1))).unwrap(), "{name}");
        let other = db.begin(&foo_config()).unwrap();
        assert!(other.delete(foo_id(1)).unwrap());
        other.commit().unwrap();
        set(&tx, foo_id(2), "s", text("changed"));
        assert!(tx.commit().is_err_and(|error| error.is_retryable()), "{name}");
        // It does not exist, and another transaction creates it.
        let tx = db.begin(&foo_config()).unwrap();
        assert!(tx.untracked(|tx| create(tx, foo_id(3))).unwrap(), "{name}");
        let other = db.begin(&foo_config()).unwrap();
        assert!(other.create_with_id(foo_id(3)).unwrap());
        other.commit().unwrap();
        assert!(tx.commit().is_err_and(|error| error.is_retryable()), "{name}");
    }
}

/// A change, and the schema of the transaction that makes it.
type ChangeIn<'a, R> = (&'a str, &'a dyn Fn(&Transaction) -> R);

/// Whether a transaction is in conflict after it has run `change` within untracked reads, and then
/// another one has run `meanwhile` and was committed.
fn conflicts(
    world: &World,
    (schema, change): ChangeIn<'_, Result<()>>,
    (other_schema, meanwhile): ChangeIn<'_, ()>,
) -> bool {
    let tx = world.begin(schema);
    tx.untracked(|tx| change(tx)).unwrap();
    let other = world.begin(other_schema);
    meanwhile(&other);
    other.commit().unwrap();
    set(&tx, foo_id(2), "s", text("changed"));
    tx.commit().is_err_and(|error| error.is_retryable())
}

fn optimistic_world() -> World {
    let world = World::on(Arc::new(OptimisticDatabase::new(MemoryStore::new())));
    let tx = world.foo();
    create(&tx, foo_id(1));
    create(&tx, foo_id(2));
    list(&tx).extend(&texts(&["a", "b", "c"])).unwrap();
    tx.commit().unwrap();
    world
}

fn list(tx: &Transaction) -> ListView<'_> {
    tx.list_view(foo_id(1), "list", Migrate::No).unwrap()
}

/// What an operation on a list writes depends on the size of the list.
#[test]
fn changes_of_lists_within_untracked_reads_notice_what_others_add() {
    type Change = fn(&ListView<'_>) -> Result<()>;
    let ways: [(&str, Change); 5] = [
        ("pop", |list| list.pop().map(drop)),
        ("remove", |list| list.remove(0).map(drop)),
        ("remove the last", |list| list.remove(2).map(drop)),
        ("remove_value", |list| list.remove_value(&text("b")).map(drop)),
        ("push", |list| list.push(&text("d")).map(drop)),
    ];
    for (name, change) in ways {
        let world = optimistic_world();
        let change = |tx: &Transaction| change(&list(tx));
        let push = |tx: &Transaction| list(tx).push(&text("of another")).unwrap();
        assert!(conflicts(&world, (FOO, &change), (FOO, &push)), "{name}");
    }
}

/// What a move or a copy writes depends on the whole object.
#[test]
fn moves_and_copies_within_untracked_reads_notice_changes_of_the_object() {
    let newer = FOO.replace("</Schema>", r#"<ObjectType name="Newer"/></Schema>"#);
    let copy = |tx: &Transaction| {
        let mut ids = [(foo_id(1), Some(foo_id(9)))].into();
        tx.copy_to(foo_id(1), tx, &mut CopyOptions::new().mapping_ids(&mut ids)).map(drop)
    };
    let migrate = |tx: &Transaction| tx.migrate(foo_id(1)).map(drop);
    let read = |tx: &Transaction| tx.get(foo_id(1), "i", Migrate::Yes).map(drop);
    let ways: [(&str, ChangeIn<'_, Result<()>>); 3] =
        [("copy_to", (FOO, &copy)), ("migrate", (&newer, &migrate)), ("get", (&newer, &read))];
    for (name, (schema, change)) in ways {
        let world = optimistic_world();
        world.begin(schema).commit().unwrap();
        let set_s = |tx: &Transaction| set(tx, foo_id(1), "s", text("of another"));
        assert!(conflicts(&world, (schema, change), (FOO, &set_s)), "{name}");
    }
}

/// Such a copy writes nothing in the transaction of the object.
#[test]
fn a_copy_into_another_transaction_reads_as_its_caller_does() {
    let into = optimistic();
    let dest = into.begin(&foo_config()).unwrap();
    let copy = |tx: &Transaction| tx.copy_to(foo_id(1), &dest, &mut CopyOptions::new()).map(drop);
    let set_s = |tx: &Transaction| set(tx, foo_id(1), "s", text("of another"));
    assert!(!conflicts(&optimistic_world(), (FOO, &copy), (FOO, &set_s)));
    let world = optimistic_world();
    let tx = world.foo();
    copy(&tx).unwrap();
    let other = world.foo();
    set_s(&other);
    other.commit().unwrap();
    set(&tx, foo_id(2), "s", text("changed"));
    assert!(tx.commit().is_err_and(|error| error.is_retryable()));
}

#[test]
fn an_object_known_from_an_untracked_read_is_looked_up_again() {
    let db = optimistic();
    let tx = db.begin(&foo_config()).unwrap();
    assert!(tx.untracked(|tx| tx.exists(foo_id(1))).unwrap());
    let other = db.begin(&foo_config()).unwrap();
    assert!(other.delete(foo_id(1)).unwrap());
    other.commit().unwrap();
    set(&tx, foo_id(1), "s", text("written to an object that is gone"));
    assert!(tx.commit().is_err_and(|error| error.is_retryable()));
}

/// Where other transactions can be in conflict with the reads of a deletion, it reads no objects
/// that lie between those that refer to the deleted one.
#[test]
fn a_deletion_is_not_in_conflict_with_changes_of_other_objects() {
    let stores: [Arc<dyn KvDatabase>; 2] = [
        Arc::new(OptimisticDatabase::new(MemoryStore::new())),
        Arc::new(Prefixed::new(OptimisticDatabase::new(MemoryStore::new()), b"prefix")),
    ];
    for store in stores {
        let world = World::on(store);
        let begin = || world.begin(&containers("NULLIFY", "REMOVE"));
        let tx = begin();
        create_all(&tx, 1..=9);
        [1, 3, 5].into_iter().for_each(|n| set(&tx, a(n), "ref", to_a(9)));
        tx.commit().unwrap();
        let tx = begin();
        assert!(tx.delete(a(9)).unwrap());
        let other = begin();
        [2, 4, 6].into_iter().for_each(|n| set(&other, a(n), "n", int(7)));
        other.commit().unwrap();
        tx.commit().unwrap();
        // Its reads of the objects that refer to it count.
        let tx = begin();
        create(&tx, a(9));
        [1, 3].into_iter().for_each(|n| set(&tx, a(n), "ref", to_a(9)));
        tx.commit().unwrap();
        let tx = begin();
        assert!(tx.delete(a(9)).unwrap());
        let other = begin();
        set(&other, a(3), "ref", to_a(1));
        other.commit().unwrap();
        assert!(tx.commit().is_err_and(|error| error.is_retryable()));
    }
}

#[test]
fn without_conflict_detection_untracked_reads_are_reads() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    set(&tx, foo_id(1), "i", int(5));
    assert_eq!(tx.untracked(|tx| tx.get(foo_id(1), "i", Migrate::No)).unwrap(), int(5));
    let nested = tx.untracked(|tx| tx.untracked(|tx| tx.objects("Foo")?.count()));
    assert_eq!(nested.unwrap(), 1);
}

#[test]
fn keys_are_watched() {
    let world = World::new();
    let tx = world.foo();
    create(&tx, foo_id(1));
    tx.commit().unwrap();
    let tx = world.foo();
    let field = tx.watch_field(foo_id(1), "i").unwrap();
    let counter = tx.watch_field(foo_id(1), "c").unwrap();
    let object = tx.watch_object(foo_id(1)).unwrap();
    assert_unknown_field(tx.watch_field(foo_id(1), "set"));
    assert_unknown_field(tx.watch_field(foo_id(1), "nope"));
    assert_deleted(tx.watch_field(foo_id(2), "i"), foo_id(2));
    assert!(tx.detached().unwrap().watch_key(b"k").is_err());
    tx.rollback().unwrap();
    let tx = world.foo();
    set(&tx, foo_id(1), "i", int(1));
    tx.commit().unwrap();
    assert!(field.is_changed().unwrap());
    assert!(!counter.is_changed().unwrap());
    assert!(!object.is_changed().unwrap());
    let tx = world.foo();
    tx.delete(foo_id(1)).unwrap();
    tx.commit().unwrap();
    assert!(counter.is_changed().unwrap());
    assert!(object.is_changed().unwrap());
}

#[test]
fn listeners_find_the_users_object() {
    let world = World::new();
    let tx = world.foo();
    assert!(tx.user_object().is_none());
    tx.set_user_object(Some(Arc::new("request 17")));
    on_create(&tx, |tx, _| {
        let object = tx.user_object().ok_or_else(|| Error::listener("no object"))?;
        assert_eq!(object.downcast_ref::<&str>(), Some(&"request 17"));
        Ok(())
    });
    create(&tx, foo_id(1));
    tx.set_user_object(None);
    assert!(tx.user_object().is_none());
}

#[test]
fn counters_are_kept_as_the_store_keeps_them() {
    let db = Database::new(Arc::new(PeculiarStore::with_reversed_counters()));
    let tx = db.begin(&foo_config()).unwrap();
    create(&tx, foo_id(1));
    let count = |tx: &Transaction, n| tx.counter(foo_id(n), "c", Migrate::No).unwrap();
    let raw = |tx: &Transaction, n| {
        let key = [&foo_id(n).to_bytes()[..], &[14]].concat();
        tx.read_pairs(|kv| Ok(kv.get(&key)?.map(|value| hex(&value)))).unwrap().unwrap()
    };
    tx.set_counter(foo_id(1), "c", 5, Migrate::No).unwrap();
    assert_eq!((count(&tx, 1), raw(&tx, 1).as_str()), (5, "0500000000000000"));
    tx.adjust_counter(foo_id(1), "c", 0x100, Migrate::No).unwrap();
    assert_eq!((count(&tx, 1), raw(&tx, 1).as_str()), (0x105, "0501000000000000"));
    let loaded = tx.load(foo_id(1), Migrate::No).unwrap();
    let field = tx.object_type(foo_id(1)).unwrap().field("c").unwrap().clone();
    assert_eq!(loaded.counter(&field).unwrap(), 0x105);
    // an object made of values, and one that gets new values
    tx.create_with(Some(foo_id(2)), &loaded).unwrap();
    assert_eq!((count(&tx, 2), raw(&tx, 2).as_str()), (0x105, "0501000000000000"));
    create(&tx, foo_id(3));
    tx.store_object(foo_id(3), &loaded, Migrate::No).unwrap();
    assert_eq!(raw(&tx, 3), "0501000000000000");
    // a failure afterwards puts the old bytes back
    let undone: Result<()> = tx.atomic(|tx| {
        tx.set_counter(foo_id(3), "c", -1, Migrate::No)?;
        tx.store_object(foo_id(3), &loaded, Migrate::No)?;
        tx.set_counter(foo_id(3), "c", 9, Migrate::No)?;
        Err(Error::RollbackOnly)
    });
    assert!(undone.is_err());
    assert_eq!(raw(&tx, 3), "0501000000000000");
    // A store that keeps counters with the least significant byte first gets them in that form.
    let world = World::new();
    let other = world.foo();
    assert!(tx.copy_to(foo_id(1), &other, &mut CopyOptions::new()).unwrap());
    assert_eq!((count(&other, 1), raw(&other, 1).as_str()), (0x105, "0000000000000105"));
}

/// Stores with time-outs, each with one object.
fn stores_with_time_outs(scratch: &tempfile::TempDir) -> Vec<(&'static str, Database)> {
    let lmdb = permazen::kv::lmdb::LmdbStore::open_or_create(scratch.path().join("lmdb"));
    let sqlite = permazen::kv::sqlite::SqliteStore::open_or_create(scratch.path().join("db"));
    let stores: [(_, Arc<dyn KvDatabase>); 4] = [
        ("memory", Arc::new(MemoryStore::new())),
        ("optimistic", Arc::new(OptimisticDatabase::new(MemoryStore::new()))),
        ("LMDB", Arc::new(lmdb.unwrap())),
        ("SQLite", Arc::new(sqlite.unwrap())),
    ];
    let filled = stores.into_iter().map(|(name, store)| {
        let db = Database::new(store);
        let tx = db.begin(&foo_config()).unwrap();
        create(&tx, foo_id(1));
        tx.commit().unwrap();
        (name, db)
    });
    filled.collect()
}

/// Limits count from the beginning of a transaction, so a limit of zero has passed, and no later
/// one helps. `None` is no limit.
#[test]
fn transactions_can_be_limited_in_time() {
    let passed = Some(Duration::ZERO);
    let scratch = tempfile::tempdir().unwrap();
    for (name, db) in stores_with_time_outs(&scratch) {
        let i = |tx: &Transaction| tx.get(foo_id(1), "i", Migrate::No);
        let later = [None, Some(Duration::MAX), Some(Duration::from_secs(36_000))];
        for (n, limit) in (1..).zip(later) {
            let tx = db.begin(&foo_config()).unwrap();
            tx.set_timeout(Some(Duration::from_secs(3_600))).unwrap();
            tx.set_timeout(limit).unwrap();
            set(&tx, foo_id(1), "i", int(n));
            tx.commit().unwrap();
        }
        let timed_out = |result: Result<()>, what: &str| {
            let error = result.expect_err(what);
            let is_timeout = matches!(error, Error::Kv { source: KvError::Timeout(_), .. });
            assert!(is_timeout, "{name}: {what}: {error}");
        };
        for limit in later {
            let tx = db.begin(&foo_config()).unwrap();
            tx.set_timeout(passed).unwrap();
            timed_out(tx.set_timeout(limit), "giving it more time");
            timed_out(tx.commit(), "committing then");
        }
        let tx = db.begin(&foo_config()).unwrap();
        set(&tx, foo_id(1), "i", int(99));
        tx.set_timeout(passed).unwrap();
        timed_out(i(&tx).map(drop), "reading");
        timed_out(tx.exists(foo_id(2)).map(drop), "looking for an object");
        timed_out(tx.create_with_id(foo_id(2)).map(drop), "creating");
        timed_out(tx.objects("Foo").unwrap().count().map(drop), "counting");
        timed_out(tx.commit(), "committing");
        let tx = db.begin(&foo_config()).unwrap();
        assert_eq!(i(&tx).unwrap(), int(3), "{name}");
        assert!(!tx.exists(foo_id(2)).unwrap());
    }
}

#[test]
fn a_loader_writes_counters_as_the_store_keeps_them() {
    #[derive(PermazenObject)]
    struct Page {
        visits: Counter,
    }
    let store = Arc::new(PeculiarStore::with_reversed_counters());
    let db = Permazen::builder_shared(store.clone()).model::<Page>().build().unwrap();
    let mut loader = db.loader().unwrap();
    let page = loader.add(Page { visits: Counter(0x105) }).unwrap();
    loader.finish().unwrap();
    let tx = db.begin().unwrap();
    assert_eq!(tx.get(page).unwrap().load().unwrap().visits, Counter(0x105));
    tx.get(page).unwrap().visits().add(1).unwrap();
    assert_eq!(tx.get(page).unwrap().load().unwrap().visits, Counter(0x106));
}
