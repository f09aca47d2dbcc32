//! Values that are unique among the objects of all models with a mix-in.

use permazen::kv::memory::MemoryStore;
use permazen::{Error, ObjId, Permazen, PermazenFields, PermazenObject, Violation};

#[derive(PermazenFields, Debug, Clone, Default)]
#[permazen(composite(name = "place", fields(shelf, row), unique))]
struct Stored {
    #[permazen(indexed, unique, exclude(nulls))]
    code: Option<String>,
    shelf: i32,
    row: i32,
}

#[derive(PermazenObject, Debug, Clone, Default)]
struct Book {
    #[permazen(flatten)]
    stored: Stored,
    /// Unique among books only.
    #[permazen(indexed, unique)]
    title: i32,
}

#[derive(PermazenObject, Debug, Clone, Default)]
struct Record {
    #[permazen(indexed, unique)]
    title: i32,
    #[permazen(flatten)]
    stored: Stored,
}

/// A model that has the same fields without the mix-in.
#[derive(PermazenObject, Debug, Clone, Default)]
struct Map {
    #[permazen(indexed)]
    code: Option<String>,
}

fn stored(code: Option<&str>, row: i32) -> Stored {
    Stored { code: code.map(str::to_owned), shelf: 1, row }
}

fn violations(error: Error) -> Vec<(ObjId, String, Vec<ObjId>)> {
    let Error::Invalid(violations) = error else { panic!("{error}") };
    let of = |violation: &Violation| {
        (violation.object, violation.path.to_string(), violation.others.clone())
    };
    violations.iter().map(of).collect()
}

#[test]
fn in_all_models_that_have_the_mixin() {
    let store = MemoryStore::new();
    let db = Permazen::builder(store).model::<Book>().model::<Record>().model::<Map>();
    let db = db.build().unwrap();
    let book = db
        .write(|tx| {
            let book = tx.create(Book { stored: stored(Some("a"), 1), title: 1 })?;
            tx.create(Record { stored: stored(None, 2), title: 1 })?;
            tx.create(Book { stored: stored(None, 3), title: 2 })?;
            tx.create(Map { code: Some("a".into()) })?;
            Ok(book.id())
        })
        .unwrap();
    // The code of a book and of a record.
    let mut record = None;
    let refused = db.write(|tx| {
        let object = tx.create(Record { stored: stored(Some("a"), 4), title: 2 })?;
        record = Some(object.id());
        Ok(())
    });
    let found = violations(refused.unwrap_err());
    assert_eq!(found, [(record.unwrap(), "Record.code".to_owned(), vec![book])]);
    // The place of a book and of a record.
    let refused = db.write(|tx| {
        let object = tx.create(Record { stored: stored(None, 1), title: 3 })?;
        record = Some(object.id());
        Ok(())
    });
    let found = violations(refused.unwrap_err());
    assert_eq!(found, [(record.unwrap(), "Record#place".to_owned(), vec![book])]);
    // The title of a book and of a book.
    let refused = db.write(|tx| tx.create(Book { stored: stored(None, 5), title: 1 }).map(drop));
    assert_eq!(violations(refused.unwrap_err()).len(), 1);
    // The refused objects are not there.
    db.read(|tx| {
        assert_eq!((tx.all::<Book>()?.count()?, tx.all::<Record>()?.count()?), (2, 1));
        assert_eq!(tx.index(Stored::CODE)?.get("a")?.count()?, 1);
        Ok(())
    })
    .unwrap();
}
