//! A check of the whole database lists objects that cannot be checked, and continues.

use permazen::kv::{KvDatabase, KvDatabaseExt};
use permazen::{Obj, OldValues, PermazenObject, Ref};

use super::*;

mod before {
    use super::*;

    #[derive(PermazenObject, Default)]
    #[permazen(storage_id = 100)]
    pub(super) struct Person {
        pub(super) name: String,
    }

    #[derive(PermazenObject)]
    #[permazen(storage_id = 200)]
    pub(super) struct Note {
        pub(super) number: i32,
        #[permazen(allow_deleted, inverse_delete = "ignore")]
        pub(super) author: Option<Ref<Person>>,
    }
}

mod after {
    use super::*;

    #[derive(PermazenObject, Default)]
    #[permazen(storage_id = 100)]
    pub(super) struct Person {
        pub(super) name: String,
    }

    #[derive(PermazenObject)]
    #[permazen(storage_id = 200)]
    pub(super) struct Note {
        /// The name of the author, which has another type before.
        #[permazen(indexed, unique, upgrade_with = super::named)]
        pub(super) number: String,
        #[permazen(was = "author", element(inverse_delete = "remove"))]
        pub(super) authors: Vec<Ref<Person>>,
        pub(super) title: String,
    }

    /// A note whose author must have a name.
    #[derive(PermazenObject)]
    #[permazen(name = "Note", storage_id = 200, hooks)]
    pub(super) struct Named {
        pub(super) number: i32,
        #[permazen(allow_deleted, inverse_delete = "ignore")]
        pub(super) author: Option<Ref<Person>>,
    }

    #[permazen::hooks]
    impl Named {
        #[on_validate]
        fn has_an_author(this: Obj<'_, Named>) -> Result<()> {
            this.author()?.map(|author| author.name()).transpose().map(drop)
        }
    }
}

/// Follows a reference.
fn named(old: &OldValues<'_>) -> Result<String> {
    match old.get::<Option<Ref<after::Person>>>("author")? {
        Some(author) => {
            let name = old.object(author.id(), |author| author.get("name"))?;
            name.ok_or_else(|| missing(author.id()))
        }
        None => Ok(old.get::<i32>("number")?.to_string()),
    }
}

fn missing(id: ObjId) -> Error {
    let (type_name, attempted) = (None, "the author does not exist".to_owned());
    Error::Object(permazen::object::Error::DeletedObject { id, type_name, attempted })
}

#[test]
fn a_reference_to_a_missing_object() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let open = || Permazen::builder_shared(Arc::clone(&store));
    let old = open().model::<before::Person>().model::<before::Note>().build().unwrap();
    let notes = old
        .write(|tx| {
            let gone = tx.create(before::Person::default())?;
            let there = tx.create(before::Person { name: "Ann".into() })?;
            let mut notes = Vec::new();
            for author in [Some(gone.to_ref()), Some(there.to_ref()), Some(gone.to_ref()), None] {
                notes.push(tx.create(before::Note { number: 1, author })?.id());
            }
            assert!(gone.delete()?);
            Ok(notes)
        })
        .unwrap();
    let mut expected = vec![notes[0], notes[2]];
    expected.sort();
    let databases = [
        open().model::<after::Person>().model::<after::Named>().build().unwrap(),
        open().model::<after::Person>().model::<after::Note>().build().unwrap(),
    ];
    for db in databases {
        let report = db.check_rules().unwrap();
        let found = report.violations.iter().filter(|it| it.rule != Rule::Required);
        let found: std::collections::BTreeSet<ObjId> = found.map(|it| it.object).collect();
        assert!(found.iter().eq(&expected), "{}", report.violations);
    }
}

/// Damage of one object.
#[test]
fn an_object_whose_pairs_are_damaged() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let open = || Permazen::builder_shared(Arc::clone(&store));
    let db = open().model::<after::Person>().model::<after::Note>().build().unwrap();
    let ids = db
        .write(|tx| {
            (0..3)
                .map(|n| {
                    let note = after::Note {
                        number: n.to_string(),
                        authors: Vec::new(),
                        title: "a title".to_owned(),
                    };
                    Ok(tx.create(note)?.id())
                })
                .collect::<Result<Vec<_>>>()
        })
        .unwrap();
    store.write(|kv| kv.put(ids[1].as_bytes(), &[0x7f])).unwrap();
    let report = db.check_rules().unwrap();
    let unreadable = report.violations.iter().filter(|it| it.cause.is_some());
    let unreadable: Vec<ObjId> = unreadable.map(|it| it.object).collect();
    assert_eq!(unreadable, [ids[1]], "{}", report.violations);
}
