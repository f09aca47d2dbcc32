//! Null in collections whose elements, keys or values are no `Option` in the struct.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::Value;
use permazen::kv::counting::CountingStore;
use permazen::model::Copy;
use permazen::object::Migrate;
use permazen::{Permazen, PermazenObject, Tx, Validation};

use super::*;

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
struct Album {
    #[permazen(element(indexed))]
    labels: BTreeSet<String>,
    tracks: Vec<String>,
    places: BTreeMap<String, String>,
    /// May have null.
    guests: Vec<Option<String>>,
}

/// Stores a value that the struct cannot have.
type Put = fn(&Tx, ObjId) -> permazen::object::Result<()>;
const PUTS: [(&str, Put); 8] = [
    ("labels", |tx, id| labels(tx, id, true)),
    ("tracks", |tx, id| tx.core().list_view(id, "tracks", Migrate::No)?.push(&Value::Null)),
    ("tracks", |tx, id| {
        tx.core().list_view(id, "tracks", Migrate::No)?.set(0, &Value::Null).map(drop)
    }),
    ("tracks", |tx, id| tx.core().list_view(id, "tracks", Migrate::No)?.insert(0, &Value::Null)),
    ("tracks", |tx, id| {
        let list = tx.core().list_view(id, "tracks", Migrate::No)?;
        list.extend(&[text("b"), Value::Null]).map(drop)
    }),
    ("places", |tx, id| {
        tx.core().map_view(id, "places", Migrate::No)?.put(&Value::Null, &text("a")).map(drop)
    }),
    ("places", |tx, id| {
        tx.core().map_view(id, "places", Migrate::No)?.put(&text("new"), &Value::Null).map(drop)
    }),
    ("places", |tx, id| {
        tx.core().map_view(id, "places", Migrate::No)?.put(&text("a"), &Value::Null).map(drop)
    }),
];

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// Adds null to the labels, or removes it.
fn labels(tx: &Tx, id: ObjId, add: bool) -> permazen::object::Result<()> {
    let labels = tx.core().set_view(id, "labels", Migrate::No)?;
    if add { labels.add(&Value::Null).map(drop) } else { labels.remove(&Value::Null).map(drop) }
}

fn album() -> Album {
    Album {
        labels: ["a".to_owned()].into(),
        tracks: vec!["a".to_owned()],
        places: [("a".to_owned(), "b".to_owned())].into(),
        guests: vec![None],
    }
}

fn open(store: &Arc<MemoryStore>, validation: Validation) -> Permazen {
    let builder = Permazen::builder_shared(Arc::clone(store) as Arc<_>).model::<Album>();
    builder.validation(validation).build().unwrap()
}

fn required(violations: &Violations) -> Vec<String> {
    assert!(violations.iter().all(|it| it.rule == Rule::Required && it.cause.is_none()));
    violations.iter().map(|it| it.path.clone()).collect()
}

#[test]
fn null_inside_a_collection_is_a_violation() {
    let db = database::<Album>();
    let id = db.write(|tx| Ok(tx.create(album())?.id())).unwrap();
    for (field, put) in PUTS {
        let refused = violations(db.write(|tx| Ok(put(tx, id)?)));
        assert_eq!(required(&refused), [format!("Album.{field}")]);
        assert!(refused.to_string().contains("contains null"), "{refused}");
        let early = violations(db.write(|tx| {
            tx.set_validation(Validation::Early)?;
            violations(tx.core().atomic(|_| put(tx, id).map_err(Error::from)));
            assert_eq!(tx.get::<Album>(id)?.load()?, album());
            tx.set_validation(Validation::AtCommit)?;
            Ok(put(tx, id)?)
        }));
        assert_eq!(early.len(), 1);
    }
    assert_eq!(db.read(|tx| tx.get::<Album>(id)?.load()).unwrap(), album());
    // This type has null.
    db.write(|tx| Ok(tx.core().list_view(id, "guests", Migrate::No)?.push(&Value::Null)?)).unwrap();
}

#[test]
fn all_such_nulls_of_an_object_are_in_one_error() {
    let db = database::<Album>();
    let refused = db.write(|tx| {
        let id = tx.create(album())?.id();
        PUTS.iter().try_for_each(|(_, put)| Ok(put(tx, id)?))
    });
    let expected = ["Album.labels", "Album.places", "Album.tracks"];
    let mut found = required(&violations(refused));
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn null_that_is_gone_at_the_commit_is_no_violation() {
    let db = database::<Album>();
    db.write(|tx| {
        let album = tx.create(album())?;
        PUTS.iter().try_for_each(|(_, put)| put(tx, album.id()))?;
        labels(tx, album.id(), false)?;
        album.tracks()?.replace(["c"])?;
        album.places()?.clear()?;
        Ok(())
    })
    .unwrap();
    db.write(|tx| {
        let album = tx.create(album())?;
        PUTS.iter().try_for_each(|(_, put)| put(tx, album.id()))?;
        album.delete()
    })
    .unwrap();
    assert!(db.check_rules().unwrap().is_clean());
}

#[test]
fn older_null_is_found_by_asking_and_breaks_no_commit() {
    let store = Arc::new(MemoryStore::new());
    let off = open(&store, Validation::Off);
    let id = off.write(|tx| Ok(tx.create(album())?.id())).unwrap();
    off.write(|tx| Ok(labels(tx, id, true)?)).unwrap();
    let db = open(&store, Validation::AtCommit);
    assert_eq!(required(&db.check_rules().unwrap().violations), ["Album.labels"]);
    // Other fields can change, and so can the rest of the collection.
    db.write(|tx| {
        let album = tx.get::<Album>(id)?;
        album.tracks()?.push("b")?;
        album.labels()?.add("b")?;
        Ok(())
    })
    .unwrap();
    let asked = violations(db.write(|tx| tx.get::<Album>(id)?.revalidate()));
    assert_eq!(required(&asked), ["Album.labels"]);
    // A copy is a new object.
    let copied = db.write(|tx| {
        let copy = tx.any(id).copy_to(tx, Copy::new().clone_ids())?;
        assert_ne!(copy.id(), id);
        Ok(())
    });
    assert_eq!(required(&violations(copied)), ["Album.labels"]);
    db.write(|tx| Ok(labels(tx, id, false)?)).unwrap();
    assert!(db.check_rules().unwrap().is_clean());
    db.write(|tx| Ok(tx.any(id).copy_to(tx, Copy::new().clone_ids())?.id())).unwrap();
}

/// A whole object is copied over one that is there already.
#[test]
fn an_object_that_is_replaced_is_checked() {
    let db = database::<Album>();
    let id = db.write(|tx| Ok(tx.create(album())?.id())).unwrap();
    let other = database::<Album>();
    let refused = db.write(|tx| {
        let from = other.begin()?;
        tx.get::<Album>(id)?.copy_to(&from, Copy::new())?;
        labels(&from, id, true)?;
        from.get::<Album>(id)?.copy_to(tx, Copy::new())?;
        Ok(())
    });
    assert_eq!(required(&violations(refused)), ["Album.labels"]);
}

#[test]
fn reading_null_says_which_object_and_field_and_what_to_do() {
    let db = builder::<Album>().validation(Validation::Off).build().unwrap();
    let id = db.write(|tx| Ok(tx.create(album())?.id())).unwrap();
    db.write(|tx| PUTS.iter().try_for_each(|(_, put)| Ok(put(tx, id)?))).unwrap();
    let tx = db.begin_read().unwrap();
    let album = tx.get::<Album>(id).unwrap();
    let told = |field: &str, error: Error| {
        assert!(matches!(error, Error::NullInside { .. }), "{error:?}");
        let text = error.to_string();
        let start = format!("Album.{field} of object {id} contains null");
        assert!(text.starts_with(&start) && text.contains("`Option`"), "{text}");
    };
    told("labels", album.labels().unwrap().iter().collect::<Result<Vec<_>>>().unwrap_err());
    told("tracks", album.tracks().unwrap().load::<Vec<String>>().unwrap_err());
    told("places", album.places().unwrap().iter().collect::<Result<Vec<_>>>().unwrap_err());
    told("labels", album.load().unwrap_err());
}

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(validate = Band::check)]
struct Band {
    members: Vec<String>,
    founded: i32,
}

impl Band {
    fn check(&self) -> Result<(), String> {
        if self.members.is_empty() { Err("a band has members".to_owned()) } else { Ok(()) }
    }
}

#[test]
fn functions_that_check_objects_with_null_are_not_called() {
    let store = Arc::new(MemoryStore::new());
    let open = |validation| {
        let builder = Permazen::builder_shared(Arc::clone(&store) as Arc<_>).model::<Band>();
        builder.validation(validation).build().unwrap()
    };
    let put = |tx: &Tx, id| -> Result<()> {
        Ok(tx.core().list_view(id, "members", Migrate::No)?.push(&Value::Null)?)
    };
    let off = open(Validation::Off);
    let id = off.write(|tx| Ok(tx.create(Band::default())?.id())).unwrap();
    // The new null is the violation.
    let db = open(Validation::AtCommit);
    assert_eq!(required(&violations(db.write(|tx| put(tx, id)))), ["Band.members"]);
    off.write(|tx| put(tx, id)).unwrap();
    assert_eq!(required(&db.check_rules().unwrap().violations), ["Band.members"]);
    // An older one is not, but the function cannot be called.
    let refused = violations(db.write(|tx| tx.get::<Band>(id)?.set_founded(1)));
    let [violation] = refused.iter().collect::<Vec<_>>()[..] else { panic!("{refused}") };
    assert_eq!((&*violation.path, violation.rule), ("Band", Rule::Valid));
    assert!(matches!(violation.cause.as_deref(), Some(Error::NullInside { .. })), "{violation}");
}

/// Like `Album`, but each type may be null, so there is nothing to check.
#[derive(PermazenObject, Debug, Default, Clone)]
struct Free {
    tracks: Vec<Option<String>>,
    places: BTreeMap<Option<String>, Option<String>>,
}

#[test]
fn a_changed_collection_costs_no_operation_more() {
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let db = Permazen::builder(store).model::<Album>().model::<Free>().build().unwrap();
    let (album, free) = db
        .write(|tx| Ok((tx.create(album())?.to_ref(), tx.create(Free::default())?.to_ref())))
        .unwrap();
    db.write(|tx| tx.get(album)?.store(&Album::default())).unwrap();
    let cost = |change: &dyn Fn(&Tx) -> Result<()>| {
        let tx = db.begin().unwrap();
        change(&tx).unwrap();
        counter.take();
        tx.validate().unwrap();
        let checked = counter.take();
        assert_eq!((checked.reads(), checked.writes()), (0, 0), "{checked:?}");
        drop(tx);
        let tx = db.begin().unwrap();
        counter.take();
        change(&tx).unwrap();
        let cost = counter.take();
        (cost.gets, cost.seeks, cost.steps, cost.writes())
    };
    let required = cost(&|tx| tx.get(album)?.tracks()?.push("a"));
    let optional = cost(&|tx| tx.get(free)?.tracks()?.push(Some("a".to_owned())));
    assert_eq!(required, optional);
    let required = cost(&|tx| tx.get(album)?.places()?.insert("a", "b").map(drop));
    let optional = cost(&|tx| {
        tx.get(free)?.places()?.insert(Some("a".to_owned()), Some("b".to_owned())).map(drop)
    });
    assert_eq!(required, optional);
    // Only null lets the check read the object.
    let tx = db.begin().unwrap();
    tx.core().list_view(album.id(), "tracks", Migrate::No).unwrap().push(&Value::Null).unwrap();
    counter.take();
    violations(tx.validate());
    let checked = counter.take();
    assert_eq!(checked.seeks, 1, "{checked:?}");
}

/// A program in which the collections have other names.
mod renamed {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone)]
    pub(super) struct Album {
        #[permazen(was = "labels", element(indexed))]
        pub(super) tags: BTreeSet<String>,
        #[permazen(was = "tracks")]
        pub(super) songs: Vec<String>,
        #[permazen(was = "places")]
        pub(super) towns: BTreeMap<String, String>,
        pub(super) guests: Vec<Option<String>>,
    }
}

#[test]
fn null_under_the_former_name_of_a_collection_is_a_violation() {
    let store = Arc::new(MemoryStore::new());
    let id = open(&store, Validation::AtCommit).write(|tx| Ok(tx.create(album())?.id())).unwrap();
    let builder = Permazen::builder_shared(Arc::clone(&store) as Arc<_>);
    let db = builder.model::<renamed::Album>().build().unwrap();
    for (field, put) in PUTS {
        let name = match field {
            "labels" => "tags",
            "tracks" => "songs",
            _ => "towns",
        };
        let refused = violations(db.write(|tx| Ok(put(tx, id)?)));
        assert_eq!(required(&refused), [format!("Album.{name}")]);
    }
    // It is gone at the commit.
    db.write(|tx| {
        labels(tx, id, true)?;
        labels(tx, id, false)?;
        Ok(())
    })
    .unwrap();
    assert!(db.check_rules().unwrap().is_clean());
}
