//! The forms in which a database is stored.

use std::path::Path;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions, xml};
use permazen_tests::files::{self, FileError};
use permazen_tests::scratch::Scratch;

use crate::report::{Outcome, Stop};

/// A database in one of its forms, opened from a copy.
pub struct Form {
    /// `lmdb`, `sqlite`, `xml`.
    pub name: &'static str,
    /// The opened copy, or why it could not be opened.
    pub store: Outcome<Box<dyn KvDatabase>>,
    /// What must outlive the store.
    _scratch: Option<Scratch>,
}

impl Form {
    /// The opened store.
    pub fn store(&self) -> Outcome<&dyn KvDatabase> {
        match &self.store {
            Ok(store) => Ok(&**store),
            Err(Stop::Fail(text)) => Err(Stop::Fail(text.clone())),
            Err(Stop::Skip(text)) => Err(Stop::Skip(text.clone())),
        }
    }
}

/// All forms found in the folder of a database.
pub fn of(folder: &Path) -> Vec<Form> {
    let mut forms = Vec::new();
    if files::find(&folder.join("lmdb"), "data.mdb").is_some() {
        forms.push(opened("lmdb", Scratch::lmdb(folder), |path| Ok(LmdbStore::open(path)?)));
    }
    if files::find(folder, "kv.xml").is_some() {
        let store = in_memory(folder).map(|store| Box::new(store) as Box<dyn KvDatabase>);
        forms.push(Form { name: "xml", store, _scratch: None });
    }
    forms
}

fn opened<S: KvDatabase + 'static>(
    name: &'static str,
    scratch: Result<Scratch, FileError>,
    open: impl FnOnce(&Path) -> Outcome<S>,
) -> Form {
    match scratch {
        Ok(scratch) => {
            let store = open(scratch.path()).map(|store| Box::new(store) as Box<dyn KvDatabase>);
            Form { name, store, _scratch: Some(scratch) }
        }
        Err(error) => Form { name, store: Err(error.into()), _scratch: None },
    }
}

/// The pairs of `kv.xml` in memory.
fn in_memory(folder: &Path) -> Outcome<MemoryStore> {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing())?;
    xml::load(&mut *tx, &files::bytes(folder, "kv.xml")?[..])?;
    tx.commit()?;
    Ok(store)
}
