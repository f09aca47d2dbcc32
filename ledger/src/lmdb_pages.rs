//! An LMDB environment for each page.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{ErrorFamily, KvDatabase, KvError, Result};

use crate::host::PageDatabases;

/// An LMDB environment for each page, in directories that have the numbers of the pages as their names.
///
/// ```
/// use permazen_kv::lmdb::LmdbStore;
/// use permazen_ledger::{LmdbPages, PageId, Repository};
///
/// # let parent = tempfile::tempdir()?;
/// # let path = parent.path();
/// let host = LmdbStore::open_or_create(path.join("repository"))?;
/// let pages = LmdbPages::new(path.join("pages"));
/// let repository = Repository::builder(host).page_databases(std::sync::Arc::new(pages)).create()?;
/// let page = repository.create_page("films", PageId::ROOT)?;
/// assert!(path.join("pages/1/data.mdb").exists());
/// drop(page);
/// repository.delete_page("films", PageId::ROOT)?;
/// assert!(!path.join("pages/1").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LmdbPages {
    directory: PathBuf,
}

impl LmdbPages {
    /// The environments below this directory, which is made when the first page is.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        LmdbPages { directory: directory.into() }
    }

    fn of_page(&self, page: u64) -> PathBuf {
        self.directory.join(page.to_string())
    }
}

fn failed(error: io::Error) -> KvError {
    KvError::Other { family: ErrorFamily::Failure, source: Box::new(error) }
}

impl PageDatabases for LmdbPages {
    fn open(&self, page: u64) -> Result<Arc<dyn KvDatabase>> {
        fs::create_dir_all(&self.directory).map_err(failed)?;
        Ok(Arc::new(LmdbStore::open_or_create(self.of_page(page))?))
    }

    fn remove(&self, page: u64) -> Result<()> {
        match fs::remove_dir_all(self.of_page(page)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }
}
