//! Opening a database: several times at once, and with models of several versions.

use std::sync::{Arc, Barrier};
use std::thread;

use permazen::__internal::schema::read_schemas;
use permazen::kv::counting::CountingStore;
use permazen::kv::fault::FaultStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{KvDatabase, KvError, TxOptions};
use permazen::model::Model;
use permazen::object::{self, Database, TransactionConfig};
use permazen::schema::{ObjectType, SchemaError, SchemaModel, SchemaRemoval};
use permazen::{Permazen, PermazenObject};

mod one {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Job {
        pub(super) title: String,
    }
}

mod two {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Job {
        pub(super) title: String,
        pub(super) done: bool,
    }
}

#[derive(PermazenObject, Default)]
struct Person {
    #[permazen(indexed)]
    name: String,
}

/// Rounds in which three threads open a new database at the same time, with three models.
fn open_at_once(store: impl Fn() -> Arc<dyn KvDatabase>) {
    for _ in 0..20 {
        let store = store();
        let start = Barrier::new(3);
        let (store, start) = (&store, &start);
        thread::scope(|scope| {
            let open = |build: fn(permazen::model::Builder) -> permazen::Result<Permazen>| {
                scope.spawn(move || {
                    start.wait();
                    build(Permazen::builder_shared(Arc::clone(store))).map(drop)
                })
            };
            let opened = [
                open(|builder| builder.model::<one::Job>().build()),
                open(|builder| builder.model::<two::Job>().build()),
                open(|builder| builder.model::<Person>().build()),
            ];
            for opened in opened {
                opened.join().unwrap().unwrap();
            }
        });
    }
}

#[test]
fn several_open_an_optimistic_database_at_once() {
    open_at_once(|| Arc::new(OptimisticDatabase::new(MemoryStore::new())));
}

#[test]
fn several_open_an_optimistic_database_over_lmdb_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let made = std::cell::Cell::new(0);
    open_at_once(|| {
        made.set(made.get() + 1);
        let path = dir.path().join(made.get().to_string());
        let lmdb = permazen::kv::lmdb::LmdbStore::open_or_create(path).unwrap();
        Arc::new(OptimisticDatabase::new(lmdb))
    });
}

#[test]
fn several_open_a_database_in_sqlite_with_late_locks_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let made = std::cell::Cell::new(0);
    open_at_once(|| {
        made.set(made.get() + 1);
        let path = dir.path().join(made.get().to_string());
        let builder = permazen::kv::sqlite::SqliteStore::builder().create(true).late_lock(true);
        Arc::new(builder.open(path).unwrap())
    });
}

#[test]
fn a_closure_that_hides_the_error_of_a_full_memory_map_runs_again() {
    let dir = tempfile::tempdir().unwrap();
    let builder = permazen::kv::lmdb::LmdbStore::builder().create(true).first_map_size(1 << 20);
    let store = builder.open(dir.path()).unwrap();
    let db = Permazen::builder(store).model::<one::Job>().build().unwrap();
    let mut created = Vec::new();
    db.write(|tx| {
        created.push(tx.create(one::Job { title: "x".repeat(3 << 20) }).is_ok());
        Ok(())
    })
    .unwrap();
    // The map may double twice.
    assert!(created.len() > 1 && created.pop() == Some(true), "{created:?}");
    assert!(created.iter().all(|is_created| !is_created), "{created:?}");
    assert_eq!(db.read(|tx| tx.all::<one::Job>()?.count()).unwrap(), 1);
}

/// Calls `open` again and again. Each time the next operation of the store fails, for a reason that
/// may pass. `open` returns how many operations have failed.
fn with_every_failure(open: impl Fn(&FaultStore<MemoryStore>) -> u64) {
    for n in 1.. {
        let store = FaultStore::new(MemoryStore::new());
        store.faults().fail_nth(n, || KvError::Retry("others were faster".to_owned()));
        if open(&store) == 0 {
            assert!(n > 5, "only {n} operations");
            return;
        }
    }
}

#[test]
fn a_build_is_run_again_wherever_it_failed() {
    with_every_failure(|store| {
        let db = Permazen::builder(store.clone()).model::<Person>().build().unwrap();
        let hits = store.faults().hits();
        store.faults().stop();
        let person = db.write(|tx| Ok(tx.create(Person { name: "Ann".into() })?.to_ref())).unwrap();
        assert_eq!(db.read(|tx| tx.get(person)?.name()).unwrap(), "Ann");
        hits
    });
}

#[test]
fn a_refused_build_is_refused_after_a_failure_too() {
    with_every_failure(|store| {
        let refused = Permazen::builder(store.clone()).model::<Person>().allow_new_schema(false);
        let refused = refused.build().unwrap_err();
        assert!(matches!(refused, permazen::Error::SchemaDiffers { .. }), "{refused}");
        store.faults().hits()
    });
}

#[test]
fn a_transaction_that_records_its_schema_is_begun_again_wherever_that_failed() {
    let model = SchemaModel::new().object_type(ObjectType::new("Person"));
    let config = TransactionConfig::new(model).unwrap();
    let mut n = 1;
    loop {
        let store = FaultStore::new(MemoryStore::new());
        let db = Database::new(Arc::new(store.clone()));
        // The first operation is the store's own begin, which has already waited for its turn.
        n += 1;
        store.faults().fail_nth(n, || KvError::Retry("others were faster".to_owned()));
        let tx = db.begin(&config).unwrap();
        let hits = store.faults().hits();
        store.faults().stop();
        tx.create("Person").unwrap();
        tx.commit().unwrap();
        if hits == 0 {
            assert!(n > 5, "only {n} operations");
            return;
        }
    }
}

mod here {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Place {
        pub(super) name: String,
    }
}

mod there {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Place {
        pub(super) name: String,
        pub(super) far: bool,
    }
}

fn recorded(store: &MemoryStore) -> usize {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    read_schemas(&*tx).unwrap().schemas().len()
}

/// The program with models of another version, as if another process ran it. That process knows no
/// schema that this one works with, so schemas without objects are removed.
fn start_elsewhere<M: Model>(store: &MemoryStore) {
    let other = Permazen::builder(MemoryStore::new()).model::<M>().build().unwrap();
    let config = TransactionConfig::new(other.schema().clone()).unwrap();
    let db = Database::new(Arc::new(store.clone()));
    let tx = db.begin(&config).unwrap();
    let own = tx.schema().id;
    for other in tx.bundle().schemas().iter().filter(|schema| schema.id != own) {
        let removed = tx.remove_schema(other.id);
        let in_use = matches!(removed, Err(object::Error::Schema(SchemaError::InUse { .. })));
        assert!(in_use || removed.unwrap());
    }
    tx.commit().unwrap();
}

#[test]
fn a_program_whose_schema_another_one_has_removed_is_told_so() {
    let store = MemoryStore::new();
    drop(Permazen::builder(store.clone()).model::<one::Job>().build().unwrap());
    let build = || {
        let builder = Permazen::builder(store.clone()).model::<one::Job>();
        builder.allow_new_schema(false).build()
    };
    let db = build().unwrap();
    db.read(|tx| tx.all::<one::Job>()?.count()).unwrap();
    start_elsewhere::<two::Job>(&store);
    let refused = db.read(|tx| tx.all::<one::Job>()?.count()).unwrap_err().to_string();
    for part in ["was recorded", "removed because no object used it", "SchemaRemoval::Never"] {
        assert!(refused.contains(part), "{part} in: {refused}");
    }
    let refused = build().unwrap_err().to_string();
    for part in ["field \"done\"", "no object used it", "SchemaRemoval::Never"] {
        assert!(refused.contains(part), "{part} in: {refused}");
    }
    // With objects the schema would have stayed.
    let db = Permazen::builder(store.clone()).model::<one::Job>().build().unwrap();
    db.write(|tx| tx.create(one::Job { title: "a".into() }).map(drop)).unwrap();
    start_elsewhere::<two::Job>(&store);
    build().unwrap().read(|tx| tx.all::<one::Job>()?.count()).unwrap();
}

#[test]
fn a_schema_this_program_removes_itself_is_told_as_removed() {
    let store = MemoryStore::new();
    let model = SchemaModel::new().object_type(ObjectType::new("Person"));
    let config = TransactionConfig::new(model).unwrap();
    Database::new(Arc::new(store.clone())).begin(&config).unwrap().commit().unwrap();
    let db = Database::new(Arc::new(store));
    let refused = db.begin(&config.clone().allow_new_schema(false)).unwrap_err();
    assert!(matches!(refused, object::Error::Schema(SchemaError::Removed { .. })), "{refused}");
    let config = config.allow_new_schema(false).schema_removal(SchemaRemoval::Never);
    db.begin(&config).unwrap();
}

#[test]
fn a_build_keeps_the_schemas_this_process_works_with() {
    let store = MemoryStore::new();
    let build = || Permazen::builder(store.clone());
    drop(build().model::<here::Place>().build().unwrap());
    let here = build().model::<here::Place>().allow_new_schema(false).build().unwrap();
    let there = build().model::<there::Place>().build().unwrap();
    assert_eq!(recorded(&store), 2);
    for _ in 0..2 {
        here.write(|tx| tx.all::<here::Place>()?.count()).unwrap();
        there.write(|tx| tx.all::<there::Place>()?.count()).unwrap();
    }
    assert_eq!(recorded(&store), 2);
    drop(here);
    drop(there);
    let person = build().model::<Person>().build().unwrap();
    assert_eq!(recorded(&store), 1, "nobody works with the others");
    drop(person);
}

mod kept {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Parcel {
        pub(super) weight: i32,
    }
}

#[test]
fn the_object_layer_keeps_the_schemas_this_process_works_with() {
    let store = MemoryStore::new();
    let build = || Permazen::builder(store.clone()).model::<kept::Parcel>();
    drop(build().build().unwrap());
    let db = build().allow_new_schema(false).build().unwrap();
    let elsewhere = Database::new(Arc::new(store.clone()));
    let removals = [SchemaRemoval::Once, SchemaRemoval::ConfigChange, SchemaRemoval::Always];
    for removal in removals {
        let config = TransactionConfig::without_schema().schema_removal(removal);
        db.database().begin(&config).unwrap().commit().unwrap();
        elsewhere.begin(&config).unwrap().commit().unwrap();
        assert_eq!(recorded(&store), 1, "{removal:?}");
        db.write(|tx| tx.all::<kept::Parcel>()?.count()).unwrap();
    }
    // A program that asks for the removal still gets it.
    let config = TransactionConfig::without_schema();
    let tx = elsewhere.begin(&config).unwrap();
    let own = tx.bundle().schemas().last().unwrap().id;
    assert!(tx.remove_schema(own).unwrap());
    drop(tx);
    // No database is open with it any more.
    drop(db);
    elsewhere.begin(&config.schema_removal(SchemaRemoval::Always)).unwrap().commit().unwrap();
    assert_eq!(recorded(&store), 0);
}

mod before {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Letter {
        pub(super) title: String,
    }
}

mod after {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Letter {
        pub(super) title: String,
        pub(super) sent: bool,
    }
}

/// A program that only reads cannot remove a schema for good. So it does not look for unused ones.
#[test]
fn a_program_that_only_reads_does_not_decode_the_schemas_again_and_again() {
    let counting = CountingStore::new(MemoryStore::new());
    let counter = counting.counter();
    let store: Arc<dyn KvDatabase> = Arc::new(counting);
    let open = || Permazen::builder_shared(Arc::clone(&store)).model::<after::Letter>();
    let old =
        Permazen::builder_shared(Arc::clone(&store)).model::<before::Letter>().build().unwrap();
    old.write(|tx| tx.create(before::Letter { title: "a".into() }).map(drop)).unwrap();
    let db = open().build().unwrap();
    db.upgrade_all().run().unwrap();
    drop((old, db));
    let recorded = || {
        let tx = store.begin(&TxOptions::reading()).unwrap();
        read_schemas(&*tx).unwrap().schemas().len()
    };
    let db = open().build().unwrap();
    let bundle = || db.read(|tx| Ok(tx.core().bundle())).unwrap();
    let first = bundle();
    counter.take();
    for _ in 0..3 {
        assert!(Arc::ptr_eq(&first, &bundle()));
    }
    let counts = counter.take();
    assert_eq!((counts.reads(), counts.writes()), (0, 0), "{counts:?}");
    // A writing transaction removes the schemas that no object uses; readers know it then.
    db.write(|_| Ok(())).unwrap();
    assert_eq!(recorded(), 1);
    let first = bundle();
    counter.take();
    db.write(|_| Ok(())).unwrap();
    assert!(Arc::ptr_eq(&first, &bundle()));
    assert_eq!(counter.take().puts, 0);
}

/// A transaction keeps the store open, and lets go of it when it ends.
#[test]
fn a_transaction_outlives_its_database() {
    let dir = tempfile::tempdir().unwrap();
    let build = |store| Permazen::builder(store).model::<Person>().build().unwrap();
    let create = |tx: &permazen::Tx| tx.create(Person { name: "Ann".to_owned() }).map(drop);
    for kind in ["memory", "lmdb", "sqlite"] {
        let memory = permazen::open("memory:").unwrap();
        let url = format!("{kind}:{}", dir.path().join(kind).display());
        let open = || match kind {
            "memory" => memory.clone(),
            _ => permazen::open::Opening::new().create(true).open(&url).unwrap(),
        };
        let mut persons = 0;
        for optimistic in [false, true] {
            let begin = || {
                let store = if optimistic { open().optimistic() } else { open() };
                // The database is dropped here.
                build(store).begin().unwrap()
            };
            let tx = begin();
            create(&tx).unwrap();
            tx.commit().unwrap();
            persons += 1;
            let tx = begin();
            create(&tx).unwrap();
            drop(tx);
            let tx = begin();
            assert_eq!(tx.all::<Person>().unwrap().count().unwrap(), persons, "{kind}");
        }
    }
}
