//! Many objects, in batches.

use std::ops::ControlFlow;
use std::sync::Arc;

use permazen::encoding::Value;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{KvDatabase, Retry};
use permazen::object::{Database, Error, Migrate, MigrationEnd, Progress};
use permazen::schema::{Field, ObjectType, SchemaError, SchemaId};
use permazen::{ObjId, StorageId};

use crate::migration::world::*;

/// 3 schemas: `f` is a `long`, an indexed `int`, a text. `B` has no fields; `C` is only in the
/// first.
fn three(store: Arc<dyn KvDatabase>) -> (Database, Vec<SchemaId>) {
    let with = |field: Field| ObjectType::new("A").field(field);
    let schemas = [
        schema([with(Field::new("f", long())), ObjectType::new("B"), ObjectType::new("C")]),
        schema([with(Field::new("f", int().indexed())), ObjectType::new("B")]),
        schema([with(Field::new("f", string())), ObjectType::new("B")]),
    ];
    database(store, &schemas)
}

fn fill(db: &Database, schema: SchemaId, numbers: impl Iterator<Item = i64>) -> Vec<ObjId> {
    let tx = db.begin(&config()).unwrap();
    let schema = Arc::clone(tx.bundle().schema_by_id(schema).unwrap());
    let ids = numbers.map(|number| {
        let id = tx.create_in("A", &schema).unwrap();
        tx.set(id, "f", &Value::Long(number), Migrate::No).unwrap();
        id
    });
    let ids = ids.collect();
    tx.commit().unwrap();
    ids
}

fn in_schema(db: &Database, schema: SchemaId) -> usize {
    let tx = db.begin(&config()).unwrap();
    let index = tx.bundle().schema_by_id(schema).unwrap().index;
    tx.objects_in_schema(index).unwrap().count().unwrap()
}

fn type_id(db: &Database, name: &str) -> StorageId {
    db.begin(&config()).unwrap().type_storage_id(name).unwrap()
}

#[test]
fn all_objects_of_all_types_of_the_schema() {
    let dir = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn KvDatabase>; 3] = [
        Arc::new(MemoryStore::new()),
        Arc::new(OptimisticDatabase::new(MemoryStore::new())),
        Arc::new(LmdbStore::builder().create(true).open(dir.path()).unwrap()),
    ];
    for store in stores {
        let (db, ids) = three(store);
        let objects = fill(&db, ids[0], (0..25).chain([1 << 40, 1 << 41]));
        let (b, c) = (create(&db, "B", ids[2]), create(&db, "C", ids[0]));
        let mut steps = Vec::new();
        let report = db
            .migrate_objects(ids[1])
            .batch(10)
            .progress(|progress| {
                steps.push(*progress);
                ControlFlow::Continue(())
            })
            .run()
            .unwrap();
        assert_eq!((report.moved, report.refused, report.end), (26, 2, MigrationEnd::Done));
        let refused: Vec<ObjId> = report.refusals.iter().map(|refusal| refusal.id).collect();
        assert_eq!(refused.len(), 2);
        assert!(refused.iter().all(|id| objects[25..].contains(id)), "{refused:?}");
        assert_eq!(steps.last().unwrap().left, Some(0));
        assert!(steps.len() >= 3 && steps[0].moved + steps[0].refused == 10, "{steps:?}");

        let tx = db.begin(&config()).unwrap();
        assert_eq!(tx.object_schema(b).unwrap().id, ids[1]);
        assert_eq!(tx.object_schema(c).unwrap().id, ids[0], "its type is not in the schema");
        let found = tx.index_by_name("A", "f").unwrap().get(&[Value::Int(7)]).unwrap();
        assert_eq!(found.first().unwrap(), Some(objects[7]));
        drop(tx);
        assert_clean(&db);

        // Nothing is left to do.
        let before = pairs(&db);
        let report = db.migrate_objects(ids[1]).run().unwrap();
        assert_eq!((report.moved, report.refused), (0, 2));
        assert_eq!(pairs(&db), before);
    }
}

#[test]
fn given_types_and_objects() {
    let (db, ids) = three(Arc::new(MemoryStore::new()));
    let objects = fill(&db, ids[0], 0..20);
    let (b, c) = (create(&db, "B", ids[0]), create(&db, "C", ids[0]));
    let report = db.migrate_objects(ids[1]).only_types([type_id(&db, "B")]).run().unwrap();
    assert_eq!((report.moved, in_schema(&db, ids[1])), (1, 1));

    let nobody = ObjId::min(type_id(&db, "A"));
    let wanted = objects[..12].iter().rev().chain(&objects[..3]).copied().chain([nobody, b]);
    let report = db.migrate_objects(ids[1]).only_objects(wanted).batch(5).run().unwrap();
    assert_eq!((report.moved, report.refused, report.end), (12, 0, MigrationEnd::Done));
    assert_eq!(in_schema(&db, ids[1]), 13);
    let tx = db.begin(&config()).unwrap();
    let moved = |id: &ObjId| tx.object_schema(*id).unwrap().id == ids[1];
    assert!(objects[..12].iter().all(moved) && !objects[12..].iter().any(moved));
    drop(tx);

    // An object whose type the schema lacks is refused when it is asked for.
    let report = db.migrate_objects(ids[1]).only_objects([c]).run().unwrap();
    assert_eq!((report.moved, report.refused), (0, 1));
    assert!(matches!(report.refusals[0].error, Error::TypeNotInSchema { .. }));
    assert!(report.refusals[0].to_string().contains(&c.to_string()));
    let report = db.migrate_objects(ids[1]).only_types([type_id(&db, "C")]).run().unwrap();
    assert_eq!((report.moved, report.refused), (0, 1));
    assert_clean(&db);
}

#[test]
fn a_run_that_is_stopped_continues_where_it_was() {
    let (db, ids) = three(Arc::new(MemoryStore::new()));
    fill(&db, ids[0], 0..50);
    let mut runs = 0;
    loop {
        let report = db
            .migrate_objects(ids[1])
            .batch(10)
            .progress(|_| ControlFlow::Break(()))
            .run()
            .unwrap();
        assert_clean(&db);
        if report.end == MigrationEnd::Done {
            break;
        }
        assert_eq!((report.end, report.moved), (MigrationEnd::Stopped, 10));
        runs += 1;
        assert_eq!(in_schema(&db, ids[1]), runs * 10);
    }
    assert_eq!(runs, 5);
}

#[test]
fn a_dry_run_moves_nothing() {
    let (db, ids) = three(Arc::new(MemoryStore::new()));
    let objects = fill(&db, ids[0], (0..5).chain([1 << 40]));
    let before = pairs(&db);
    let mut refused = Vec::new();
    let report = db
        .migrate_objects(ids[1])
        .dry_run()
        .list(0)
        .on_refusal(|refusal| refused.push(refusal.id))
        .run()
        .unwrap();
    assert_eq!((report.moved, report.refused, report.refusals.len()), (5, 1, 0));
    assert_eq!(refused, [objects[5]]);
    assert_eq!(pairs(&db), before);
}

#[test]
fn an_unknown_schema() {
    let (db, _) = three(Arc::new(MemoryStore::new()));
    let unknown = schema([ObjectType::new("Z")]).schema_id();
    let error = db.migrate_objects(unknown).run().unwrap_err();
    assert!(matches!(error, Error::Schema(SchemaError::UnknownSchema(_))), "{error:?}");
}

#[test]
fn others_change_objects_meanwhile() {
    let store = Arc::new(OptimisticDatabase::new(MemoryStore::new()));
    let (db, ids) = three(Arc::clone(&store) as Arc<dyn KvDatabase>);
    let objects = fill(&db, ids[0], 0..40);
    let other = db.clone();
    let mut next = 0;
    let mut deleted = 0;
    let report = db
        .migrate_objects(ids[1])
        .batch(8)
        .retry(Retry { times: 2, ..Retry::default() })
        .progress(|_| {
            // One is deleted, one is moved and one is added between batches.
            let tx = other.begin(&config()).unwrap();
            deleted += usize::from(tx.delete(objects[next]).unwrap());
            if tx.exists(objects[39 - next]).unwrap() {
                let _ = tx.migrate_exactly(objects[39 - next], ids[1]).unwrap();
            }
            tx.commit().unwrap();
            if next < 3 {
                fill(&other, ids[0], [100].into_iter());
            }
            next += 1;
            ControlFlow::Continue(())
        })
        .run()
        .unwrap();
    assert_eq!((report.refused, report.end), (0, MigrationEnd::Done));
    assert_eq!(in_schema(&db, ids[0]), 0);
    assert_eq!(in_schema(&db, ids[1]), 40 + 3 - deleted);
    assert_clean(&db);
}

#[test]
fn progress_is_that_of_the_typed_layer() {
    let progress: Option<Progress> = None;
    let _: Option<permazen::model::Progress> = progress;
}
