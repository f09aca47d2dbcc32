//! An LMDB environment for each page.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use permazen_kv::lmdb::{LmdbBuilder, LmdbStore};
use permazen_kv::{ErrorFamily, KvDatabase, KvError, Result};

use crate::host::PageDatabases;

/// An LMDB environment for each page, in directories that have the numbers of the pages as their
/// names.
///
/// ```
/// use permazen_kv::lmdb::LmdbStore;
/// use permazen_ledger::{LmdbPages, PageId, Repository};
///
/// # let parent = tempfile::tempdir()?;
/// # let path = parent.path();
/// let host = LmdbStore::open_or_create(path.join("repository"))?;
/// let pages = LmdbPages::new(path.join("pages"));
/// let repository = Repository::builder(host).page_databases(std::sync::Arc::new(pages)).open_or_create()?;
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
    options: LmdbBuilder,
}

impl LmdbPages {
    /// The environments below this directory, which is made when the first page is.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        LmdbPages { directory: directory.into(), options: LmdbStore::builder() }
    }

    /// Opens each environment with these options, for example its size. The option to create one is
    /// ignored.
    ///
    /// A process with many pages open needs no option for that: its maps begin smaller, and grow
    /// ([`LmdbBuilder::first_map_size`]). Each environment also has a thread, and two files open.
    ///
    /// ```
    /// use permazen_kv::lmdb::LmdbStore;
    /// use permazen_ledger::LmdbPages;
    ///
    /// // No page becomes larger than a GiB.
    /// let pages = LmdbPages::new("pages").options(LmdbStore::builder().map_size(1 << 30));
    /// ```
    #[must_use]
    pub fn options(mut self, options: LmdbBuilder) -> Self {
        self.options = options;
        self
    }

    fn of_page(&self, page: u64) -> PathBuf {
        self.directory.join(page.to_string())
    }
}

fn failed(error: io::Error) -> KvError {
    KvError::Other { family: ErrorFamily::Failure, source: Box::new(error) }
}

impl PageDatabases for LmdbPages {
    fn make(&self, page: u64) -> Result<Arc<dyn KvDatabase>> {
        fs::create_dir_all(&self.directory).map_err(failed)?;
        Ok(Arc::new(self.options.clone().create(true).open(self.of_page(page))?))
    }

    fn open(&self, page: u64) -> Result<Option<Arc<dyn KvDatabase>>> {
        let path = self.of_page(page);
        let is_there = || path.join("data.mdb").try_exists().map_err(failed);
        if !is_there()? {
            return Ok(None);
        }
        match self.options.clone().create(false).open(&path) {
            Ok(store) => Ok(Some(Arc::new(store))),
            // Another process has removed it in between.
            Err(_) if !is_there()? => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn remove(&self, page: u64) -> Result<()> {
        match fs::remove_dir_all(self.of_page(page)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }

    fn list(&self) -> Result<Vec<u64>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut pages = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let number = name.to_str().and_then(|name| name.parse::<u64>().ok());
            // Not "007".
            pages.extend(number.filter(|number| *number.to_string() == *name));
        }
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_opened_as_the_options_say() {
        let folder = tempfile::tempdir().unwrap();
        let options = LmdbStore::builder().map_size(1 << 24);
        let pages = LmdbPages::new(folder.path().join("pages")).options(options);
        assert!(pages.open(7).unwrap().is_none());
        for page in [pages.make(7).unwrap(), pages.open(7).unwrap().unwrap()] {
            assert_eq!(page.statistics().unwrap().limit_bytes, Some(1 << 24));
        }
    }

    #[test]
    fn what_is_not_there_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let pages = LmdbPages::new(folder.path().join("pages"));
        assert_eq!(pages.list().unwrap(), []);
        assert!(pages.open(7).unwrap().is_none());
        assert!(!folder.path().join("pages").exists());
        drop(pages.make(7).unwrap());
        assert!(pages.open(7).unwrap().is_some());
        fs::create_dir(folder.path().join("pages/007")).unwrap();
        fs::create_dir(folder.path().join("pages/8")).unwrap();
        fs::write(folder.path().join("pages/notes"), "").unwrap();
        let mut list = pages.list().unwrap();
        list.sort_unstable();
        assert_eq!(list, [7, 8]);
        assert!(pages.open(8).unwrap().is_none());
        pages.remove(7).unwrap();
        pages.remove(7).unwrap();
        assert_eq!(pages.list().unwrap(), [8]);
    }
}
