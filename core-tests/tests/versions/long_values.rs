//! Values that are too long for an index, in objects that were stored before the index existed.

use permazen::kv::lmdb::LmdbStore;
use permazen::object::{self, CopyOptions, Migrate};
use permazen::{Counter, Error, Obj, ObjId, Permazen, Ref};

mod before {
    use permazen::{Counter, PermazenObject};

    #[derive(PermazenObject, Debug, Clone, PartialEq, Default)]
    pub(super) struct Job {
        pub(super) title: String,
        pub(super) number: i32,
        pub(super) count: Counter,
        pub(super) total: Counter,
        pub(super) tags: std::collections::BTreeSet<String>,
        pub(super) steps: Vec<String>,
    }
}

mod after {
    use permazen::{Counter, PermazenObject, Ref};

    #[derive(PermazenObject, Debug, Clone, PartialEq, Default)]
    #[permazen(composite(name = "byTitleNumber", fields(title, number)))]
    pub(super) struct Job {
        #[permazen(indexed)]
        pub(super) title: String,
        pub(super) number: i64,
        pub(super) count: Counter,
        pub(super) total: i64,
        #[permazen(element(indexed))]
        pub(super) tags: std::collections::BTreeSet<String>,
        #[permazen(element(indexed))]
        pub(super) steps: Vec<String>,
        pub(super) next: Option<Ref<Job>>,
        pub(super) notes: Vec<String>,
    }
}

/// A value that is too long: LMDB takes keys of 510 bytes.
fn long() -> String {
    "long ".repeat(120)
}

/// An LMDB store with one job of the old kind.
fn store(job: before::Job) -> (tempfile::TempDir, LmdbStore, ObjId) {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(dir.path()).unwrap();
    let db = Permazen::builder(store.clone()).model::<before::Job>().build().unwrap();
    let id = db.write(|tx| Ok(tx.create(job.clone())?.id())).unwrap();
    (dir, store, id)
}

fn job() -> before::Job {
    before::Job {
        title: long(),
        number: 7,
        count: Counter(5),
        total: Counter(9),
        tags: ["red".to_owned()].into(),
        steps: vec!["one".to_owned(), "two".to_owned()],
    }
}

fn too_long(error: &Error) -> bool {
    matches!(error, Error::Object(object::Error::KeyTooLong { .. }))
}

fn open(store: &LmdbStore) -> Permazen {
    Permazen::builder(store.clone()).model::<after::Job>().build().unwrap()
}

/// The checker finds nothing wrong.
fn check(store: &LmdbStore) {
    let options = permazen_jsck::Options::default();
    let mut found = Vec::new();
    let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
    permazen_jsck::check_database(store, &options, &mut sink, &mut |_| {}).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

fn expected() -> after::Job {
    after::Job {
        title: long(),
        number: 7,
        count: Counter(5),
        total: 9,
        tags: ["red".to_owned()].into(),
        steps: vec!["one".to_owned(), "two".to_owned()],
        next: None,
        notes: vec![],
    }
}

#[test]
fn an_object_with_a_value_too_long_for_a_new_index_can_be_read() {
    let (_dir, store, id) = store(job());
    let db = open(&store);
    let read = |tx: &permazen::Tx| {
        let job = tx.get(Ref::<after::Job>::new(id))?;
        assert_eq!(job.load()?, expected());
        assert_eq!(job.title()?, long());
        assert_eq!(job.number()?, 7);
        assert_eq!(job.count().get()?, 5);
        assert_eq!(job.total()?, 9);
        assert!(job.tags()?.contains("red")?);
        assert_eq!(job.steps()?.get(1)?.as_deref(), Some("two"));
        assert!(job.next()?.is_none());
        assert_eq!(job.notes()?.len()?, 0);
        assert_eq!(tx.all::<after::Job>()?.count()?, 1);
        Ok(())
    };
    db.read(read).unwrap();
    db.write(read).unwrap();
    check(&store);
    let schema = db.write(|tx| tx.any(id).schema_id()).unwrap();
    assert_ne!(schema, db.schema().schema_id(), "it is where it was");
}

/// A value that is the same in both schemas is set where the object is. It moves when that is asked
/// for, now that the value is short.
#[test]
fn an_object_can_move_once_a_value_too_long_for_a_new_index_is_replaced() {
    let (_dir, store, id) = store(job());
    let db = open(&store);
    db.write(|tx| {
        let job = tx.get(Ref::<after::Job>::new(id))?;
        assert!(too_long(&job.migrate().unwrap_err()));
        job.set_title("short")?;
        assert_ne!(job.schema_id()?, db.schema().schema_id(), "it is where it was");
        assert_eq!(job.title()?, "short");
        assert!(job.migrate()?);
        Ok(())
    })
    .unwrap();
    check(&store);
    db.read(|tx| {
        let found = tx.index(after::Job::TITLE)?.get("short")?.into_iter().next().unwrap()?;
        assert_eq!(found.load()?, after::Job { title: "short".into(), ..expected() });
        assert_eq!(tx.any(id).schema_id()?, db.schema().schema_id());
        Ok(())
    })
    .unwrap();
}

#[test]
fn storing_an_object_replaces_values_too_long_for_a_new_index() {
    let (_dir, store, id) = store(before::Job { steps: vec![long()], ..job() });
    let db = open(&store);
    let new = after::Job {
        title: "short".into(),
        number: 8,
        total: 3,
        tags: ["blue".to_owned()].into(),
        next: Some(Ref::new(id)),
        ..expected()
    };
    db.write(|tx| tx.get(Ref::<after::Job>::new(id))?.store(&new)).unwrap();
    check(&store);
    db.read(|tx| {
        assert_eq!(tx.get(Ref::<after::Job>::new(id))?.load()?, new);
        assert_eq!(tx.index(after::Job::TAGS)?.get("blue")?.count()?, 1);
        assert_eq!(tx.index(after::Job::STEPS)?.count()?, 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn copying_over_an_object_replaces_values_too_long_for_a_new_index() {
    let (_dir, store, id) = store(job());
    let db = open(&store);
    db.write(|tx| {
        let other = tx.create(after::Job { title: "short".into(), ..expected() })?;
        let data = tx.core().load(other.id(), Migrate::No)?;
        assert!(!tx.core().replace_object(id, &data, &mut CopyOptions::new())?);
        Ok(())
    })
    .unwrap();
    check(&store);
    let (_dir, store, id) = self::store(job());
    let db = open(&store);
    db.write(|tx| {
        let other = tx.create(after::Job { title: "short".into(), ..expected() })?;
        let data = tx.core().load(other.id(), Migrate::No)?;
        Ok(tx.core().store_object(id, &data, Migrate::Yes)?)
    })
    .unwrap();
    check(&store);
    db.read(|tx| {
        assert_eq!(tx.index(after::Job::TITLE)?.get("short")?.count()?, 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_element_too_long_for_a_new_index_can_be_removed() {
    let steps = vec![long(), "two".to_owned()];
    let (_dir, store, id) = store(before::Job { title: "short".into(), steps, ..job() });
    let db = open(&store);
    db.write(|tx| {
        let job = tx.get(Ref::<after::Job>::new(id))?;
        assert_eq!(job.steps()?.get(0)?, Some(long()));
        assert!(too_long(&job.migrate().unwrap_err()));
        job.steps()?.remove(0)?;
        assert_eq!(job.title()?, "short");
        assert_ne!(job.schema_id()?, db.schema().schema_id(), "it is where it was");
        assert!(job.migrate()?);
        Ok(())
    })
    .unwrap();
    check(&store);
    db.read(|tx| {
        assert_eq!(tx.index(after::Job::STEPS)?.get("two")?.count()?, 1);
        assert_eq!(tx.index(after::Job::TITLE)?.get("short")?.count()?, 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_needs_the_object_moved_says_which_value_is_in_the_way() {
    let (_dir, store, id) = store(job());
    let db = open(&store);
    let refused = db.write(|tx| {
        let job = tx.get(Ref::<after::Job>::new(id))?;
        let texts = [
            job.set_number(8).unwrap_err().to_string(),
            job.set_total(8).unwrap_err().to_string(),
            job.set_next(job).unwrap_err().to_string(),
            job.migrate().unwrap_err().to_string(),
            tx.core().get(id, "title", Migrate::Yes).unwrap_err().to_string(),
        ];
        for text in texts {
            for part in [&id.to_string(), "field title", "510 bytes", "of 610 bytes", "replaced"] {
                assert!(text.contains(part), "{part} in: {text}");
            }
        }
        // A field that both schemas define alike needs no move.
        job.count().add(1)?;
        job.tags()?.add("blue")?;
        job.set_title(long() + "still")?;
        assert_eq!((job.count().get()?, job.title()?), (6, long() + "still"));
        job.count().add(-1)?;
        job.tags()?.remove("blue")?;
        job.set_title(long())?;
        Ok(())
    });
    refused.unwrap();
    check(&store);
    let same = db.read(|tx| tx.get(Ref::<after::Job>::new(id))?.load()).unwrap();
    assert_eq!(same, expected(), "nothing has changed");
    // Storing other values in fields that need the move is refused if the new value is also too
    // long.
    let refused = db.write(|tx| {
        let new = after::Job { title: long(), number: 8, ..expected() };
        tx.get(Ref::<after::Job>::new(id))?.store(&new)
    });
    assert!(refused.as_ref().is_err_and(too_long), "{refused:?}");
}

#[test]
fn listeners_are_told_of_a_value_that_is_replaced_as_its_object_moves() {
    use std::sync::{Arc, Mutex};
    let (_dir, store, id) = store(job());
    let db = open(&store);
    db.write(|tx| {
        let told = Arc::new(Mutex::new(Vec::new()));
        let core = tx.core();
        let of = core.type_storage_id("Job")?;
        let log = Arc::clone(&told);
        core.on_schema_change(
            of,
            Arc::new(move |_, change| {
                log.lock().unwrap().push(format!("moved, was {}", change.old.object_type().schema));
                Ok(())
            }),
        )?;
        let log = Arc::clone(&told);
        core.on_change(
            core.field_storage_id("Job", "title")?,
            object::Watch::itself(),
            Arc::new(move |_, change, _| {
                let object::ChangeKind::Simple { old, new } = change.kind() else { return Ok(()) };
                log.lock().unwrap().push(format!("{} then {}", old.len(), new.len()));
                Ok(())
            }),
        )?;
        tx.core().set(id, "title", &"short".into(), Migrate::Yes)?;
        assert_eq!(*told.lock().unwrap(), ["moved, was 1", "601 then 6"]);
        Ok(())
    })
    .unwrap();
}

mod numbers {
    #[derive(permazen::PermazenObject, Debug, Clone, PartialEq, Default)]
    pub(super) struct Job {
        pub(super) title: Option<Box<[i32]>>,
    }
}

mod texts {
    #[derive(permazen::PermazenObject, Debug, Clone, PartialEq, Default)]
    pub(super) struct Job {
        #[permazen(indexed)]
        pub(super) title: Option<String>,
        pub(super) note: Option<String>,
    }
}

/// A change of a job.
type Way<'w> = &'w dyn Fn(Obj<'_, texts::Job>) -> permazen::Result<()>;

#[test]
fn a_value_too_long_once_it_is_converted_is_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(dir.path()).unwrap();
    let db = Permazen::builder(store.clone()).model::<numbers::Job>().build().unwrap();
    let job = numbers::Job { title: Some((1000..1200).collect()) };
    let id = db.write(|tx| Ok(tx.create(job.clone())?.id())).unwrap();
    let new = Permazen::builder(store.clone()).model::<texts::Job>().build().unwrap();
    let reference = Ref::<texts::Job>::new(id);
    // It can be read as it would be after the move.
    new.write(|tx| {
        let job = tx.get(reference)?;
        let text = job.title()?.unwrap();
        assert!(text.len() > 510 && text.starts_with("AAAD6AAAA+k"), "{text}");
        assert_eq!(job.load()?.title.unwrap(), text);
        assert_eq!(job.note()?, None);
        let refused = job.set_note("new").unwrap_err();
        assert!(too_long(&refused), "{refused:?}");
        for part in [&id.to_string(), "field title", "510 bytes", "replaced"] {
            assert!(refused.to_string().contains(part), "{part} in: {refused}");
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(db.read(|tx| tx.get(Ref::<numbers::Job>::new(id))?.load()).unwrap(), job);
    check(&store);
    // Each of these replaces the value and moves the object.
    let ways: [Way<'_>; 4] = [
        &|job| job.set_title("short"),
        &|job| job.set_title(None),
        &|job| job.store(&texts::Job { title: Some("short".to_owned()), note: None }),
        &|job| job.store(&texts::Job { title: None, note: Some("none".to_owned()) }),
    ];
    for (n, way) in ways.iter().enumerate() {
        let tx = new.begin().unwrap();
        let job = tx.get(reference).unwrap();
        way(job).unwrap();
        assert_eq!(job.schema_id().unwrap(), new.schema().schema_id());
        let title = (n % 2 == 0).then(|| "short".to_owned());
        assert_eq!(job.load().unwrap().title, title);
        assert_eq!(tx.index(texts::Job::TITLE).unwrap().get(&title).unwrap().count().unwrap(), 1);
        if n == 3 {
            tx.commit().unwrap();
        }
    }
    check(&store);
}

mod two {
    /// Two texts, without index.
    #[derive(permazen::PermazenObject, Debug, Clone, PartialEq, Default)]
    pub(super) struct Job {
        pub(super) title: String,
        pub(super) place: String,
    }
}

mod two_indexed {
    /// Two texts, each with an index.
    #[derive(permazen::PermazenObject, Debug, Clone, PartialEq, Default)]
    pub(super) struct Job {
        #[permazen(indexed)]
        pub(super) title: String,
        #[permazen(indexed)]
        pub(super) place: String,
    }
}

#[test]
fn two_values_too_long_for_new_indexes_are_replaced_one_by_one_or_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(dir.path()).unwrap();
    let db = Permazen::builder(store.clone()).model::<two::Job>().build().unwrap();
    let id = db.write(|tx| Ok(tx.create(two::Job { title: long(), place: long() })?.id())).unwrap();
    let db = Permazen::builder(store.clone()).model::<two_indexed::Job>().build().unwrap();
    let reference = Ref::<two_indexed::Job>::new(id);
    // The values are set where the object is. It moves when neither is too long.
    let moved = |tx: &permazen::Tx| tx.get(reference)?.migrate();
    let tx = db.begin().unwrap();
    tx.get(reference).unwrap().set_title("short").unwrap();
    let refused = moved(&tx).unwrap_err();
    assert!(too_long(&refused) && refused.to_string().contains("place"), "{refused}");
    tx.get(reference).unwrap().set_title(long()).unwrap();
    tx.get(reference).unwrap().set_place("short").unwrap();
    let refused = moved(&tx).unwrap_err();
    assert!(too_long(&refused) && refused.to_string().contains("title"), "{refused}");
    drop(tx);
    // The object layer moves with the value it sets, and the other one is in the way.
    let set = |field: &str| {
        let set = db.write(|tx| Ok(tx.core().set(id, field, &"short".into(), Migrate::Yes)?));
        set.unwrap_err().to_string()
    };
    assert!(set("title").contains("place"), "{}", set("title"));
    assert!(set("place").contains("title"), "{}", set("place"));
    let short = two_indexed::Job { title: "a".to_owned(), place: "b".to_owned() };
    db.write(|tx| tx.get(reference)?.store(&short)).unwrap();
    assert_eq!(db.read(|tx| tx.get(reference)?.load()).unwrap(), short);
    assert!(db.write(moved).unwrap());
    check(&store);
}

#[test]
fn a_collection_that_is_new_is_empty_while_the_object_cannot_be_moved() {
    let (_dir, store, id) = store(job());
    let db = open(&store);
    db.write(|tx| {
        let job = tx.get(Ref::<after::Job>::new(id))?;
        assert!(job.notes()?.is_empty()?);
        assert_eq!(job.notes()?.iter().count(), 0);
        let refused = job.notes()?.push("new").unwrap_err();
        assert!(too_long(&refused), "{refused:?}");
        // It can move once the title is short.
        job.set_title("short")?;
        job.notes()?.push("new")?;
        assert_eq!(job.notes()?.load::<Vec<_>>()?, ["new"]);
        Ok(())
    })
    .unwrap();
}
