//! The kinds of file that both sides read and write.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use permazen::kv::lmdb::{Durability, LmdbStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KeySpan, KvDatabase, TxOptions, xml};
use permazen_tests::outcome::Outcome;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A dump of all pairs. Between reading and writing it we work in memory.
    Xml,
    /// An environment.
    Lmdb,
    /// A database file.
    Sqlite,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Xml, Kind::Lmdb, Kind::Sqlite];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Xml => "xml",
            Kind::Lmdb => "lmdb",
            Kind::Sqlite => "sqlite",
        }
    }
}

/// A store of ours, and the file it is in or comes from.
pub struct Store {
    pub kind: Kind,
    path: PathBuf,
    kv: Arc<dyn KvDatabase>,
}

impl Store {
    /// Opens the file that Java has written. Without a file, the store is empty.
    pub fn open(kind: Kind, path: &Path) -> Outcome<Store> {
        // Commits need not survive a power failure here.
        let durability = Durability::MayLoseEverything;
        let kv: Arc<dyn KvDatabase> = match kind {
            Kind::Lmdb => {
                Arc::new(LmdbStore::builder().create(true).durability(durability).open(path)?)
            }
            Kind::Sqlite => {
                Arc::new(SqliteStore::builder().create(true).durability(durability).open(path)?)
            }
            Kind::Xml => {
                let store = MemoryStore::new();
                if path.exists() {
                    let mut kv = store.begin(&TxOptions::writing())?;
                    xml::load(&mut *kv, File::open(path)?)?;
                    kv.commit()?;
                }
                Arc::new(store)
            }
        };
        Ok(Store { kind, path: path.to_owned(), kv })
    }

    pub fn kv(&self) -> &Arc<dyn KvDatabase> {
        &self.kv
    }

    /// Closes it. Java then reads the file.
    pub fn close(self) -> Outcome<PathBuf> {
        if self.kind == Kind::Xml {
            let kv = self.kv.begin(&TxOptions::reading())?;
            xml::dump(&*kv, KeySpan::FULL, xml::Style::Plain, File::create(&self.path)?)?;
        }
        Ok(self.path)
    }
}
