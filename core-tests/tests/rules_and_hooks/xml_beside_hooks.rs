//! Object XML that is read by a program with newer models, which have hooks and rules.

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::object::{Database, TransactionConfig};
use permazen::object_xml::{ObjectXmlReader, ObjectXmlWriter};
use permazen::{Error, Permazen};

mod old {
    #[derive(permazen::PermazenObject)]
    pub(crate) struct Member {
        #[permazen(indexed)]
        pub email: String,
        pub loans: i64,
    }
}

mod new {
    use permazen::{Obj, PermazenObject, Result};

    #[derive(PermazenObject)]
    #[permazen(hooks)]
    pub(crate) struct Member {
        #[permazen(indexed, unique)]
        pub email: String,
        pub loans: i64,
        pub changes: i64,
    }

    #[permazen::hooks]
    impl Member {
        #[on_change(fields(loans))]
        fn count(this: Obj<'_, Self>) -> Result<()> {
            this.set_changes(this.changes()? + 1)
        }
    }
}

/// All objects of an old database, the members of which have these addresses.
fn document(emails: &[&str]) -> Vec<u8> {
    let db = Permazen::builder(MemoryStore::new()).model::<old::Member>().build().unwrap();
    db.write(|tx| {
        for email in emails {
            tx.create(old::Member { email: (*email).to_owned(), loans: 3 })?;
        }
        Ok(())
    })
    .unwrap();
    let mut document = Vec::new();
    ObjectXmlWriter::new().write(db.begin_read().unwrap().core(), &mut document).unwrap();
    document
}

/// Reads them into a database of newer models.
fn read(document: &[u8], reader: ObjectXmlReader<'_>) -> Result<Permazen, Error> {
    let db =
        Permazen::builder_shared(Arc::new(MemoryStore::new())).model::<new::Member>().build()?;
    let tx = db.begin()?;
    reader.read(tx.core(), document).unwrap();
    tx.commit()?;
    Ok(db)
}

/// The number of changes that hooks have counted, and whether the object is in the newer schema.
fn only(db: &Permazen) -> (i64, bool) {
    db.read(|tx| {
        let member = tx.all::<new::Member>()?.first()?.unwrap();
        assert_eq!(member.loans()?, 3);
        Ok((member.changes()?, member.schema_id()? == tx.core().schema().id))
    })
    .unwrap()
}

#[test]
fn hooks_change_what_is_read_unless_it_is_silent() {
    let document = document(&["ann@example.org"]);
    assert_eq!(only(&read(&document, ObjectXmlReader::new()).unwrap()), (1, true));
    assert_eq!(only(&read(&document, ObjectXmlReader::new().silent()).unwrap()), (0, false));
}

/// Rules hold whether it is silent or not. The object layer knows none.
#[test]
fn a_database_that_breaks_rules_is_read_without_models() {
    let document = document(&["ann@example.org", "ann@example.org"]);
    for reader in [ObjectXmlReader::new(), ObjectXmlReader::new().silent()] {
        let refused = read(&document, reader);
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    let db = Database::new(Arc::new(MemoryStore::new()));
    let tx = db.begin(&TransactionConfig::without_schema()).unwrap();
    assert_eq!(ObjectXmlReader::new().read(&tx, &*document).unwrap().count, 2);
    tx.commit().unwrap();
}
