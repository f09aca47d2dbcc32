//! Moving all objects to the schema of the models, in batches.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvError, TxOptions};
use permazen::model::{MigrationEnd, UpgradeReport};
use permazen::schema::SchemaRemoval;
use permazen::{Counter, Error, ObjId, OldValues, Permazen, PermazenObject, Ref, Validation};

mod old {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Item {
        pub(super) name: String,
        pub(super) size: i64,
        pub(super) color: String,
        pub(super) count: Counter,
    }

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Note {
        pub(super) text: String,
    }

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Gone {
        pub(super) what: String,
    }
}

mod new {
    use super::*;

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Item {
        #[permazen(indexed)]
        pub(super) name: String,
        pub(super) size: i32,
        #[permazen(upgrade_with = shade)]
        pub(super) shade: String,
        pub(super) count: Counter,
    }

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    pub(super) struct Note {
        pub(super) text: String,
    }

    fn shade(old: &OldValues<'_>) -> permazen::Result<String> {
        if let Some(meanwhile) = super::MEANWHILE.take() {
            meanwhile();
        }
        let color: String = old.take("color")?;
        match &*color {
            "none" => Err(Error::other("no color is no shade")),
            "unread" => Err(Error::other(KvError::Stale("on purpose".to_owned()))),
            _ => Ok(color),
        }
    }
}

/// One of each kind of store, with the directory that it needs.
fn stores() -> Vec<(Arc<dyn KvDatabase>, Option<tempfile::TempDir>)> {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::builder().create(true).open(dir.path()).unwrap();
    let memory = MemoryStore::new();
    let optimistic = OptimisticDatabase::new(MemoryStore::new());
    vec![(Arc::new(memory), None), (Arc::new(lmdb), Some(dir)), (Arc::new(optimistic), None)]
}

fn before(store: &Arc<dyn KvDatabase>) -> Permazen {
    let builder = Permazen::builder_shared(Arc::clone(store));
    builder.model::<old::Item>().model::<old::Note>().model::<old::Gone>().build().unwrap()
}

fn after(store: &Arc<dyn KvDatabase>) -> Permazen {
    let builder = Permazen::builder_shared(Arc::clone(store));
    builder.model::<new::Item>().model::<new::Note>().build().unwrap()
}

fn item(number: i64) -> old::Item {
    old::Item {
        name: format!("item {number}"),
        size: number,
        color: "red".into(),
        count: Counter::from(number),
    }
}

/// Creates items of these numbers.
fn create(db: &Permazen, numbers: impl Iterator<Item = i64> + Clone) {
    db.write(|tx| numbers.clone().try_for_each(|number| tx.create(item(number)).map(drop)))
        .unwrap();
}

/// Creates three items that cannot move, and returns them.
fn create_unmovable(db: &Permazen) -> BTreeSet<ObjId> {
    db.write(|tx| {
        Ok(BTreeSet::from([
            tx.create(item(5_000_000_000))?.id(),
            tx.create(old::Item { color: "none".into(), ..item(1) })?.id(),
            tx.create(old::Item { size: -5_000_000_000, ..item(2) })?.id(),
        ]))
    })
    .unwrap()
}

/// All pairs of a store.
fn content(store: &Arc<dyn KvDatabase>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let pairs = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    pairs.map(|pair| pair.unwrap()).map(|(key, value)| (key.into(), value.into())).collect()
}

fn refused(report: &UpgradeReport) -> BTreeSet<ObjId> {
    report.refusals.iter().map(|refusal| refusal.id).collect()
}

#[test]
fn many_refused_objects_are_passed_over_in_several_transactions() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let create = |tx: &permazen::Tx, size: i64| {
        let (name, color, count) = (String::new(), "red".into(), Counter(0));
        tx.create(old::Item { name, size, color, count }).map(|item| item.id())
    };
    // More than a transaction looks at, and the last object is the only one that moves.
    let refused = 10_100;
    let mut ids = before(&store)
        .write(|tx| (0..=refused).map(|_| create(tx, 5_000_000_000)).collect::<Result<Vec<_>, _>>())
        .unwrap();
    ids.sort();
    let last = *ids.last().unwrap();
    before(&store).write(|tx| tx.get::<old::Item>(permazen::Ref::from(last))?.set_size(1)).unwrap();
    let db = after(&store);
    let mut left = Vec::new();
    let run = db.upgrade_all().list(1).progress(|progress| {
        left.push(progress.left.unwrap());
        ControlFlow::Continue(())
    });
    let report = run.run().unwrap();
    assert_eq!((report.moved, report.refused, report.end), (1, refused, MigrationEnd::Done));
    assert_eq!(report.refusals.len(), 1);
    assert_eq!((left.first(), left.last()), (Some(&9_101), Some(&0)));
}

#[test]
fn all_objects_move_in_batches() {
    for (store, _dir) in stores() {
        create(&before(&store), 0..250);
        let db = after(&store);
        let found = |name: &str| db.read(|tx| tx.index(new::Item::NAME)?.get(name)?.count());
        assert!(matches!(found("item 7"), Err(Error::PartialIndex { missing: 250, .. })));
        let mut batches = Vec::new();
        let run = db.upgrade_all().batch(100).progress(|progress| {
            batches.push((progress.moved, progress.left.unwrap()));
            ControlFlow::Continue(())
        });
        let report = run.run().unwrap();
        assert_eq!((report.moved, report.refused, report.end), (250, 0, MigrationEnd::Done));
        assert_eq!(batches, [(100, 150), (200, 50), (250, 0)]);
        assert_eq!(found("item 7").unwrap(), 1);
        db.read(|tx| {
            let sum = |sum: i64, item: permazen::Result<permazen::Obj<'_, new::Item>>| {
                let item = item?.load()?;
                assert_eq!((i64::from(item.size), &*item.shade), (item.count.0, "red"));
                Ok::<_, Error>(sum + item.count.0)
            };
            assert_eq!(tx.all::<new::Item>()?.iter().try_fold(0, sum)?, 249 * 250 / 2);
            Ok(())
        })
        .unwrap();
        // Nothing is left to do.
        let again = db.upgrade_all().run().unwrap();
        assert_eq!((again.moved, again.refused, again.end), (0, 0, MigrationEnd::Done));
    }
}

#[test]
fn a_batch_ends_after_its_number_of_bytes() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    create(&before(&store), 0..5);
    let mut batches = 0;
    let db = after(&store);
    let run = db.upgrade_all().batch_bytes(1).progress(|_| {
        batches += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(run.run().unwrap().moved, 5);
    assert_eq!(batches, 5);
}

/// Objects that cannot move stay in their schema, where they continue to work.
#[test]
fn refused_objects_stay_and_the_rest_moves() {
    for (store, _dir) in stores() {
        let old = before(&store);
        create(&old, 0..20);
        let unmovable = create_unmovable(&old);
        let db = after(&store);
        let mut told = Vec::new();
        let report = db.upgrade_all().batch(4).on_refusal(|refusal| told.push(refusal.id));
        let report = report.list(2).run().unwrap();
        assert_eq!((report.moved, report.refused, report.end), (20, 3, MigrationEnd::Done));
        assert_eq!(report.refusals.len(), 2);
        // The run tries each of them once.
        assert_eq!(told.len(), 3);
        assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), unmovable);
        for refusal in &report.refusals {
            let error = &refusal.error;
            assert!(matches!(error, Error::Refused(_) | Error::Upgrade { .. }), "{error:?}");
            let named = refusal.to_string().matches(&refusal.id.to_string()).count();
            assert_eq!(named, 1, "{refusal}");
        }
        for id in &unmovable {
            db.write(|tx| {
                let item = tx.any(*id).downcast::<new::Item>().unwrap();
                item.set_name("renamed")?;
                item.count().add(1)
            })
            .unwrap();
        }
        let mut loaded = old.read(|tx| {
            let items = unmovable.iter().map(|id| tx.any(*id).downcast::<old::Item>().unwrap());
            items.map(|item| item.load()).collect::<permazen::Result<Vec<_>>>()
        });
        let sizes: Vec<i64> = loaded.iter_mut().flatten().map(|item| item.size).collect();
        assert!(loaded.unwrap().iter().all(|item| item.name == "renamed"));
        assert_eq!(sizes.iter().sum::<i64>(), 1);
        // Once the value is gone that did not fit, they move.
        db.write(|tx| {
            for id in &unmovable {
                tx.any(*id).set("size", &permazen::encoding::Value::Long(1))?;
                tx.any(*id).set("color", &permazen::encoding::Value::from("blue"))?;
            }
            Ok(())
        })
        .unwrap();
        let report = db.upgrade_all().run().unwrap();
        assert_eq!((report.moved, report.refused), (3, 0));
    }
}

/// A dry run changes nothing, and finds the same objects as the run, also those whose index entries
/// would be too long.
/// It says nothing about the object.
#[test]
fn an_error_of_the_store_that_a_conversion_returns_ends_the_run() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let old = before(&store);
    create(&old, 0..2);
    let unread = old::Item { color: "unread".into(), ..item(2) };
    old.write(|tx| tx.create(unread.clone()).map(drop)).unwrap();
    let error = after(&store).upgrade_all().run().unwrap_err();
    assert!(error.causes().any(|cause| cause.is::<KvError>()), "{error:?}");
    assert!(!error.is_about_versions(), "{error:?}");
}

#[test]
fn a_dry_run_says_what_the_run_does() {
    for (store, dir) in stores() {
        let old = before(&store);
        create(&old, 0..20);
        let mut unmovable = create_unmovable(&old);
        let long = old.write(|tx| {
            let item = tx.create(old::Item { name: "long".repeat(200), ..item(3) })?;
            Ok(item.id())
        });
        // Only LMDB limits the length of keys.
        if dir.is_some() {
            unmovable.insert(long.unwrap());
        }
        let db = after(&store);
        let untouched = content(&store);
        let dry = db.upgrade_all().dry_run().batch(7).run().unwrap();
        assert!(content(&store) == untouched, "a dry run wrote something");
        let run = db.upgrade_all().batch(7).run().unwrap();
        assert_eq!((dry.moved, dry.refused), (run.moved, run.refused));
        assert_eq!(dry.end, MigrationEnd::Done);
        assert_eq!((refused(&dry), refused(&run)), (unmovable.clone(), unmovable));
        let texts = |report: &UpgradeReport| -> Vec<String> {
            report.refusals.iter().map(ToString::to_string).collect()
        };
        assert_eq!(texts(&dry), texts(&run));
        assert!(texts(&dry).iter().any(|text| text.contains("no color is no shade")));
    }
}

#[test]
fn a_stopped_run_is_continued_by_the_next_one() {
    for (store, _dir) in stores() {
        let old = before(&store);
        create(&old, 0..100);
        create_unmovable(&old);
        let stopped = after(&store);
        let run = stopped.upgrade_all().batch(30).progress(|_| ControlFlow::Break(()));
        let report = run.run().unwrap();
        assert_eq!((report.moved + report.refused, report.end), (30, MigrationEnd::Stopped));
        drop(stopped);
        // Another process knows nothing of the first run.
        let db = after(&store);
        let rest = db.upgrade_all().run().unwrap();
        assert_eq!(
            (rest.moved, rest.refused, rest.end),
            (100 - report.moved, 3, MigrationEnd::Done)
        );
    }
}

#[test]
fn only_the_named_models_and_only_known_types_move() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let old = before(&store);
    create(&old, 0..3);
    old.write(|tx| {
        tx.create(old::Note { text: "a note".into() })?;
        tx.create(old::Gone { what: "stays".into() })?;
        Ok(())
    })
    .unwrap();
    let db = after(&store);
    assert_eq!(db.upgrade_all().only::<new::Note>().run().unwrap().moved, 1);
    let error = db.upgrade_all().only::<old::Gone>().run().unwrap_err();
    assert!(matches!(error, Error::NotRegistered { .. }), "{error:?}");
    assert_eq!(db.upgrade_all().run().unwrap().moved, 3);
    let gone = old.read(|tx| tx.all::<old::Gone>()?.first()?.unwrap().load());
    assert_eq!(gone.unwrap().what, "stays");
}

/// An index that a new version adds is complete when it was built. Types without a new index stay
/// where they are.
#[test]
fn building_indexes_moves_only_what_they_need() {
    for (store, _dir) in stores() {
        let old = before(&store);
        create(&old, 0..50);
        let note =
            old.write(|tx| Ok(tx.create(old::Note { text: "a note".into() })?.id())).unwrap();
        let at = old.read(|tx| tx.any(note).schema_id()).unwrap();
        let db = after(&store);
        let dry = db.build_indexes().dry_run().run().unwrap();
        assert_eq!(dry.moved, 50);
        let report = db.build_indexes().batch(20).run().unwrap();
        assert_eq!((report.moved, report.refused, report.end), (50, 0, MigrationEnd::Done));
        let found = db.read(|tx| tx.index(new::Item::NAME)?.get("item 33")?.count()).unwrap();
        assert_eq!(found, 1);
        assert_eq!(db.read(|tx| tx.any(note).schema_id()).unwrap(), at);
        assert_eq!(db.build_indexes().run().unwrap().moved, 0);
        assert_eq!(db.upgrade_all().run().unwrap().moved, 1);
    }
}

/// Programs of which the first one knows no unique labels.
mod labels {
    pub(super) mod old {
        use super::super::*;

        #[derive(PermazenObject, Debug)]
        #[permazen(storage_id = 100)]
        pub(in super::super) struct Label {
            pub(in super::super) name: String,
        }

        #[derive(PermazenObject, Debug)]
        #[permazen(storage_id = 200)]
        pub(in super::super) struct Person {
            pub(in super::super) label: String,
        }
    }

    pub(super) mod new {
        use super::super::*;

        #[derive(PermazenObject, Debug)]
        #[permazen(storage_id = 100)]
        pub(in super::super) struct Label {
            #[permazen(indexed, unique)]
            pub(in super::super) name: String,
        }

        #[derive(PermazenObject, Debug)]
        #[permazen(storage_id = 200)]
        pub(in super::super) struct Person {
            #[permazen(upgrade_with = new_label)]
            pub(in super::super) label: Ref<Label>,
        }

        fn new_label(old: &OldValues<'_>) -> permazen::Result<Ref<Label>> {
            old.create(&Label { name: old.take("label")? })
        }
    }
}

/// The label that moves first has its index entry when the conversion of the person creates another
/// one.
#[test]
fn what_conversions_create_is_checked_beside_what_has_moved() {
    use labels::{new, old};
    for validation in [Validation::Early, Validation::AtCommit] {
        let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
        let before = Permazen::builder_shared(Arc::clone(&store));
        let before = before.model::<old::Label>().model::<old::Person>().build().unwrap();
        let created = before.write(|tx| {
            tx.create(old::Label { name: "x".into() })?;
            tx.create(old::Person { label: "x".into() }).map(drop)
        });
        created.unwrap();
        let db = Permazen::builder_shared(store).model::<new::Label>().model::<new::Person>();
        let db = db.validation(validation).build().unwrap();
        match db.upgrade_all().run() {
            // Each move is checked alone.
            Ok(report) => {
                assert_eq!((report.moved, report.refused), (1, 1), "{validation:?}");
                let error = &report.refusals[0].error;
                assert!(matches!(error, Error::Invalid(_)), "{error}");
                assert_eq!(validation, Validation::Early);
            }
            // The commit of the batch is refused.
            Err(error) => {
                assert!(matches!(error, Error::Invalid(_)), "{error}");
                assert_eq!(validation, Validation::AtCommit);
            }
        }
        let labels = db.read(|tx| tx.all::<new::Label>()?.count()).unwrap();
        assert_eq!(labels, 1, "{validation:?}");
    }
}

/// Objects that an older program creates during the run are moved too, but the run ends.
#[test]
fn objects_created_meanwhile_move_too_and_the_run_ends() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let old = before(&store);
    create(&old, 0..10);
    let db = after(&store);
    let mut created = 0;
    let run = db.upgrade_all().batch(5).progress(|_| {
        if created < 7 {
            created += 1;
            create(&old, 0..1);
        }
        ControlFlow::Continue(())
    });
    let report = run.run().unwrap();
    assert_eq!((report.moved, report.end), (17, MigrationEnd::Done));
    create(&old, 0..1);
    let run = db.upgrade_all().progress(|_| {
        create(&old, 0..20);
        ControlFlow::Continue(())
    });
    let report = run.batch(usize::MAX).run().unwrap();
    assert_eq!(report.end, MigrationEnd::MoreMayCome);
}

/// Programs of both versions write during the run. Nothing that they add is lost.
#[test]
fn others_write_during_the_run() {
    for (store, _dir) in stores() {
        let old = before(&store);
        let added = old.write(|tx| {
            let ids = (0..200).map(|number| Ok(tx.create(item(number))?.id()));
            ids.collect::<permazen::Result<Vec<_>>>()
        });
        let ids = added.unwrap();
        let db = after(&store);
        let done = AtomicBool::new(false);
        let counts = [AtomicI64::new(0), AtomicI64::new(0)];
        let report = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2)
                .map(|writer| {
                    let (ids, db, old, done) = (&ids, &db, &old, &done);
                    let count = &counts[writer];
                    scope.spawn(move || {
                        for n in (writer..).step_by(7) {
                            if done.load(Ordering::Relaxed) {
                                break;
                            }
                            let id = ids[n % ids.len()];
                            // A program of the old version can still add to the counter.
                            let of = if writer == 0 { db } else { old };
                            of.write(|tx| {
                                if writer == 0 {
                                    let item = tx.any(id).downcast::<new::Item>().unwrap();
                                    item.count().add(1)
                                } else {
                                    let item = tx.any(id).downcast::<old::Item>().unwrap();
                                    item.count().add(1)
                                }
                            })
                            .unwrap();
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            let mut batches = 0;
            let run = db.upgrade_all().batch(50).progress(|_| {
                batches += 1;
                // After each batch, both write something before the next one begins.
                for (writer, count) in writers.iter().zip(&counts) {
                    let before = count.load(Ordering::Relaxed);
                    while count.load(Ordering::Relaxed) == before && !writer.is_finished() {
                        std::thread::yield_now();
                    }
                }
                ControlFlow::Continue(())
            });
            let report = run.run().unwrap();
            done.store(true, Ordering::Relaxed);
            assert!(batches >= 4, "{batches}");
            report
        });
        assert_eq!((report.moved, report.refused), (200, 0));
        let counts: i64 = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        let total = db.read(|tx| {
            ids.iter().try_fold(0, |sum, id| {
                let item = tx.any(*id).downcast::<new::Item>().unwrap();
                Ok::<_, Error>(sum + item.count().get()?)
            })
        });
        assert_eq!(total.unwrap(), 199 * 200 / 2 + counts);
    }
}

thread_local! {
    /// The function that the next own conversion of this thread calls, once.
    static MEANWHILE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// The transaction of a batch that conflicts runs again with half of the objects. The next one may
/// be larger.
#[test]
fn a_batch_that_conflicts_runs_again_in_smaller_parts() {
    let store: Arc<dyn KvDatabase> = Arc::new(OptimisticDatabase::new(MemoryStore::new()));
    create(&before(&store), 0..200);
    let db = Arc::new(after(&store));
    let other = before(&store);
    let ids: Vec<ObjId> = other
        .read(|tx| tx.all::<old::Item>()?.iter().map(|item| Ok(item?.id())).collect())
        .unwrap();
    MEANWHILE.set(Some(Box::new(move || {
        let first =
            |tx: &permazen::Tx| tx.any(ids[0]).downcast::<old::Item>().unwrap().count().add(5);
        other.write(first).unwrap();
    })));
    let mut moved = Vec::new();
    let run = db.upgrade_all().batch(100).progress(|progress| {
        moved.push(progress.moved);
        ControlFlow::Continue(())
    });
    let report = run.run().unwrap();
    assert_eq!((report.moved, report.refused, report.end), (200, 0, MigrationEnd::Done));
    assert!(MEANWHILE.take().is_none());
    assert_eq!(moved, [50, 100, 200]);
    let sum = db.read(|tx| {
        let counts = tx.all::<new::Item>()?.iter().map(|item| item?.count().get());
        counts.sum::<permazen::Result<i64>>()
    });
    assert_eq!(sum.unwrap(), 199 * 200 / 2 + 5);
}

/// The schemas that are recorded.
fn recorded(db: &Permazen) -> usize {
    db.read(|tx| Ok(tx.core().bundle().schemas().len())).unwrap()
}

/// Types of which all objects are moved.
mod unused {
    pub(super) mod before {
        #[derive(permazen::PermazenObject)]
        pub(in super::super) struct Parcel {
            pub(in super::super) weight: i32,
        }
    }

    pub(super) mod after {
        #[derive(permazen::PermazenObject)]
        pub(in super::super) struct Parcel {
            pub(in super::super) weight: i64,
        }
    }
}

/// Schemas that no object needs any more go when the program is started the next time and writes,
/// or in the next transaction with `SchemaRemoval::Always`.
#[test]
fn old_schemas_are_removed_after_all_objects_have_moved() {
    use unused::{after, before};
    for (store, _dir) in stores() {
        let old = || {
            let builder = Permazen::builder_shared(Arc::clone(&store));
            let db = builder.model::<before::Parcel>().build().unwrap();
            db.write(|tx| tx.create(before::Parcel { weight: 7 }).map(drop)).unwrap();
            db
        };
        let new = || Permazen::builder_shared(Arc::clone(&store)).model::<after::Parcel>();
        let upgrade = |db: &Permazen| assert_eq!(db.upgrade_all().run().unwrap().moved, 1);

        drop(old());
        let db = new().build().unwrap();
        upgrade(&db);
        db.write(|_| Ok(())).unwrap();
        assert_eq!(recorded(&db), 2);
        drop(db);
        let db = new().build().unwrap();
        db.write(|_| Ok(())).unwrap();
        assert_eq!(recorded(&db), 1);
        drop(db);

        // The first transaction that can remove schemas does.
        let removes_once = || new().schema_removal(SchemaRemoval::Once).build().unwrap();
        drop(old());
        upgrade(&removes_once());
        let db = removes_once();
        db.read(|_| Ok(())).unwrap();
        assert_eq!(recorded(&db), 2);
        db.write(|_| Ok(())).unwrap();
        assert_eq!(recorded(&db), 1);
        drop(db);

        let old = old();
        let db = new().schema_removal(SchemaRemoval::Always).build().unwrap();
        upgrade(&db);
        db.write(|_| Ok(())).unwrap();
        assert_eq!(recorded(&db), 2, "a program of this process has the old schema open");
        drop(old);
        db.write(|_| Ok(())).unwrap();
        assert_eq!(recorded(&db), 1);
        let weights =
            db.read(|tx| tx.all::<after::Parcel>()?.iter().map(|it| it?.weight()).collect());
        let weights: Vec<i64> = weights.unwrap();
        assert_eq!(weights, [7, 7, 7]);
    }
}

/// An older program that still runs records its schema again when it needs it.
#[test]
fn an_older_program_that_runs_records_its_removed_schema_again() {
    for (store, _dir) in stores() {
        let old = before(&store);
        create(&old, 0..5);
        let schema = old.schema().schema_id();
        let db = after(&store);
        assert_eq!(db.upgrade_all().run().unwrap().moved, 5);
        // As a program in another process does.
        assert!(db.write(|tx| Ok(tx.core().remove_schema(schema)?)).unwrap());
        assert_eq!(recorded(&db), 1);
        let note = old::Note { text: "still here".into() };
        let id = old.write(|tx| Ok(tx.create(note.clone())?.id())).unwrap();
        assert_eq!(recorded(&db), 2);
        assert_eq!(old.read(|tx| tx.get::<old::Note>(id)?.load()).unwrap(), note);
        assert_eq!(old.read(|tx| tx.all::<old::Item>()?.count()).unwrap(), 5);
        let text = db.read(|tx| tx.get::<new::Note>(id)?.text()).unwrap();
        assert_eq!(text, "still here");
    }
}
