//! The forms in which a database is stored.

use std::path::Path;
use std::sync::Arc;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KvDatabase, TxOptions, xml};
use permazen_tests::scratch::Scratch;
use permazen_tests::{files, on_page};

use crate::report::{Outcome, Stop};

type Opened = (Arc<dyn KvDatabase>, Option<Scratch>);

/// One form of storing databases.
pub struct Kind {
    pub name: &'static str,
    /// The file that identifies the form.
    file: &'static str,
    open: fn(&Path) -> Outcome<Opened>,
}

const KINDS: &[Kind] = &[
    Kind { name: "lmdb", file: "lmdb/data.mdb", open: lmdb },
    Kind { name: "sqlite", file: "sqlite.db", open: sqlite },
    Kind { name: "xml", file: "kv.xml", open: in_memory },
    // The same pairs on a page of a ledger.
    Kind { name: "page", file: "kv.xml", open: page },
];

/// The forms of the database in this folder.
pub fn kinds_in(folder: &Path) -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| files::find(folder, kind.file).is_some())
}

/// Whether a folder of this name is a form, and not a database of its own.
pub fn is_folder(name: &str) -> bool {
    KINDS.iter().any(|kind| kind.file.split_once('/').is_some_and(|(folder, _)| folder == name))
}

/// Whether a file of this name is a form, or a file that an engine leaves beside it.
pub fn is_file(name: &str) -> bool {
    KINDS.iter().any(|kind| {
        name.strip_prefix(kind.file).is_some_and(|rest| ["", "-wal", "-shm"].contains(&rest))
    })
}

/// The files that identify forms.
pub fn files() -> String {
    KINDS.iter().map(|kind| kind.file).collect::<Vec<_>>().join(", ")
}

impl Kind {
    /// Opens a fresh copy of the database in this folder.
    pub fn open(&self, folder: &Path) -> Form {
        let (store, scratch) = match (self.open)(folder) {
            Ok((store, scratch)) => (Ok(store), scratch),
            Err(stop) => (Err(stop), None),
        };
        Form { name: self.name, store, _scratch: scratch }
    }
}

/// A database in one of its forms, opened from a copy.
pub struct Form {
    pub name: &'static str,
    /// The opened copy, or why it could not be opened.
    store: Outcome<Arc<dyn KvDatabase>>,
    /// Must live longer than the store.
    _scratch: Option<Scratch>,
}

impl Form {
    /// The opened store.
    pub fn store(&self) -> Outcome<&Arc<dyn KvDatabase>> {
        match &self.store {
            Ok(store) => Ok(store),
            Err(Stop::Fail(text)) => Err(Stop::Fail(text.clone())),
            Err(Stop::Skip(text)) => Err(Stop::Skip(text.clone())),
        }
    }

    /// The opened store, to make a database of.
    pub fn shared(&self) -> Outcome<Arc<dyn KvDatabase>> {
        self.store().map(Arc::clone)
    }
}

fn lmdb(folder: &Path) -> Outcome<Opened> {
    let scratch = Scratch::lmdb(folder)?;
    Ok((Arc::new(LmdbStore::open(scratch.path())?), Some(scratch)))
}

fn sqlite(folder: &Path) -> Outcome<Opened> {
    let scratch = Scratch::sqlite(folder)?;
    Ok((Arc::new(SqliteStore::open(scratch.path())?), Some(scratch)))
}

/// The pairs of `kv.xml` in memory.
fn in_memory(folder: &Path) -> Outcome<Opened> {
    loaded(Arc::new(MemoryStore::new()), folder)
}

/// The pairs of `kv.xml` on a page.
fn page(folder: &Path) -> Outcome<Opened> {
    loaded(on_page::main_branch(&on_page::new_page()?)?, folder)
}

fn loaded(store: Arc<dyn KvDatabase>, folder: &Path) -> Outcome<Opened> {
    let mut tx = store.begin(&TxOptions::writing())?;
    xml::load(&mut *tx, &files::bytes(folder, "kv.xml")?[..])?;
    tx.commit()?;
    Ok((store, None))
}
