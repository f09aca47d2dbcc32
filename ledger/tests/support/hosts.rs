//! Where the repositories of tests lie: in memory, in LMDB or in SQLite, with the pages under
//! prefixes or in databases of their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::sqlite::{SqliteBuilder, SqliteStore};
use permazen_kv::{Durability, KvDatabase, Result};
use permazen_ledger::{LmdbPages, PageDatabases, Repository, RepositoryBuilder};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Memory,
    Lmdb,
    Sqlite,
}

/// Where the rows of pages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// In the database of the repository.
    Prefixes,
    /// Each page has a database.
    Separate,
}

/// Databases that can be opened again and again.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    store: Store,
    pages: Pages,
    folder: PathBuf,
    memory: MemoryStore,
    memory_pages: MemoryPages,
    /// Whether a crash of the machine loses nothing.
    is_durable: bool,
}

impl Location {
    pub(crate) fn new(store: Store, pages: Pages, folder: &Path) -> Self {
        let (memory, memory_pages) = (MemoryStore::new(), MemoryPages::default());
        let folder = folder.to_owned();
        Location { store, pages, folder, memory, memory_pages, is_durable: true }
    }

    /// The same for tests in which no machine crashes.
    pub(crate) fn fast(self) -> Self {
        Location { is_durable: false, ..self }
    }

    pub(crate) fn is_persistent(&self) -> bool {
        self.store != Store::Memory
    }

    /// A repository here.
    pub(crate) fn builder(&self) -> RepositoryBuilder {
        let (path, pages) = (self.folder.join("repository"), self.folder.join("pages"));
        let host: Arc<dyn KvDatabase> = match self.store {
            Store::Memory => Arc::new(self.memory.clone()),
            Store::Lmdb => Arc::new(self.lmdb(&path)),
            Store::Sqlite => Arc::new(self.sqlite(&path)),
        };
        let builder = Repository::shared_builder(host);
        if self.pages == Pages::Prefixes {
            return builder;
        }
        builder.page_databases(match self.store {
            Store::Memory => Arc::new(self.memory_pages.clone()),
            Store::Lmdb => Arc::new(LmdbPages::new(pages)),
            Store::Sqlite => Arc::new(SqlitePages { folder: pages, durability: self.durability() }),
        })
    }

    fn durability(&self) -> Durability {
        match self.is_durable {
            true => Durability::Full,
            false => Durability::MayLoseEverything,
        }
    }

    fn lmdb(&self, path: &Path) -> LmdbStore {
        LmdbStore::builder().create(true).durability(self.durability()).open(path).unwrap()
    }

    fn sqlite(&self, path: &Path) -> SqliteStore {
        SqliteStore::builder().create(true).durability(self.durability()).open(path).unwrap()
    }
}

/// A store in memory for each page.
#[derive(Debug, Clone, Default)]
struct MemoryPages(Arc<Mutex<BTreeMap<u64, MemoryStore>>>);

impl PageDatabases for MemoryPages {
    fn make(&self, page: u64) -> Result<Arc<dyn KvDatabase>> {
        Ok(Arc::new(self.0.lock().unwrap().entry(page).or_default().clone()))
    }

    fn open(&self, page: u64) -> Result<Option<Arc<dyn KvDatabase>>> {
        Ok(self.0.lock().unwrap().get(&page).map(|store| Arc::new(store.clone()) as _))
    }

    fn remove(&self, page: u64) -> Result<()> {
        self.0.lock().unwrap().remove(&page);
        Ok(())
    }

    fn list(&self) -> Result<Vec<u64>> {
        Ok(self.0.lock().unwrap().keys().copied().collect())
    }
}

/// A SQLite file for each page, in a directory of its own with the journal of SQLite.
#[derive(Debug)]
struct SqlitePages {
    folder: PathBuf,
    durability: Durability,
}

impl SqlitePages {
    fn of_page(&self, page: u64) -> PathBuf {
        self.folder.join(page.to_string())
    }

    fn file(&self, page: u64) -> PathBuf {
        self.of_page(page).join("page.sqlite")
    }

    fn builder(&self) -> SqliteBuilder {
        SqliteStore::builder().durability(self.durability)
    }
}

impl PageDatabases for SqlitePages {
    fn make(&self, page: u64) -> Result<Arc<dyn KvDatabase>> {
        std::fs::create_dir_all(self.of_page(page)).unwrap();
        Ok(Arc::new(self.builder().create(true).open(self.file(page))?))
    }

    fn open(&self, page: u64) -> Result<Option<Arc<dyn KvDatabase>>> {
        if !self.file(page).try_exists().unwrap() {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.builder().open(self.file(page))?)))
    }

    fn remove(&self, page: u64) -> Result<()> {
        match std::fs::remove_dir_all(self.of_page(page)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
            _ => Ok(()),
        }
    }

    fn list(&self) -> Result<Vec<u64>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.unwrap(),
        };
        Ok(entries
            .map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap())
            .collect())
    }
}
