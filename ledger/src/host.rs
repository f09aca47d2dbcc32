//! Where the rows of pages lie: in the database of the repository, or in a database for each page.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use permazen_kv::__internal::check_can_begin;
use permazen_kv::{KvDatabase, TxOptions};

use crate::error::{LedgerError, Result};
use crate::rows::page::Rows;
use crate::rows::repository::{PageState, page_row};

/// A database for each page of a repository, by the number of the page. Numbers are never used
/// again.
///
/// With `LmdbPages` (feature `lmdb`), each is an LMDB environment in a directory. A database for
/// each page lets pages be written at the same time, and damage or the deletion of one does not
/// touch the others. Many small pages are better off in the one database of their repository.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::{Arc, Mutex};
///
/// use permazen_kv::{KvDatabase, memory::MemoryStore};
/// use permazen_ledger::{PageDatabases, PageId, Repository};
///
/// #[derive(Debug, Default)]
/// struct InMemory(Mutex<HashMap<u64, MemoryStore>>);
///
/// impl PageDatabases for InMemory {
///     fn make(&self, page: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>> {
///         Ok(Arc::new(self.0.lock().unwrap().entry(page).or_default().clone()))
///     }
///     fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>> {
///         Ok(self.0.lock().unwrap().get(&page).map(|store| Arc::new(store.clone()) as _))
///     }
///     fn remove(&self, page: u64) -> permazen_kv::Result<()> {
///         self.0.lock().unwrap().remove(&page);
///         Ok(())
///     }
///     fn list(&self) -> permazen_kv::Result<Vec<u64>> {
///         Ok(self.0.lock().unwrap().keys().copied().collect())
///     }
/// }
///
/// let builder = Repository::builder(MemoryStore::new());
/// let repository = builder.page_databases(Arc::new(InMemory::default())).open_or_create()?;
/// let page = repository.create_page("films", PageId::ROOT)?;
/// # drop(page);
/// # Ok::<(), permazen_ledger::LedgerError>(())
/// ```
pub trait PageDatabases: fmt::Debug + Send + Sync {
    /// Makes an empty database for a page, and opens it. An existing one is opened.
    ///
    /// # Errors
    /// If it cannot be made or opened.
    fn make(&self, page: u64) -> permazen_kv::Result<Arc<dyn KvDatabase>>;

    /// Opens the database of a page. `None` if there is none: it must not be created, because the
    /// page may have been deleted a moment ago. If this process has it open already, both handles
    /// share it.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open(&self, page: u64) -> permazen_kv::Result<Option<Arc<dyn KvDatabase>>>;

    /// Removes the database of a page, if there is one. Called when this process does not have it
    /// open.
    ///
    /// # Errors
    /// If it cannot be removed.
    fn remove(&self, page: u64) -> permazen_kv::Result<()>;

    /// The numbers of the pages that have databases.
    ///
    /// # Errors
    /// If they cannot be read.
    fn list(&self) -> permazen_kv::Result<Vec<u64>>;
}

/// Locks a mutex whose holder may wait for the write lock of this host.
///
/// # Errors
/// If the host reports that waiting would never end: this thread is within a write of the host, or
/// the process was forked.
pub(crate) fn lock_before<'m, T>(
    host: &dyn KvDatabase,
    mutex: &'m Mutex<T>,
) -> permazen_kv::Result<MutexGuard<'m, T>> {
    match mutex.try_lock() {
        Ok(locked) => return Ok(locked),
        Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => check_can_begin(host)?,
    }
    Ok(mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The databases of a repository.
pub(crate) struct Host {
    /// It has the rows of the repository.
    pub(crate) repository: Arc<dyn KvDatabase>,
    separate: Option<Separate>,
}

/// The pages have databases of their own.
struct Separate {
    databases: Arc<dyn PageDatabases>,
    /// The ID of the repository.
    id: [u8; 16],
}

impl Host {
    /// The databases of the repository with this ID.
    pub(crate) fn new(
        repository: Arc<dyn KvDatabase>,
        pages: Option<Arc<dyn PageDatabases>>,
        id: [u8; 16],
    ) -> Self {
        let separate = pages.map(|databases| Separate { databases, id });
        Host { repository, separate }
    }

    /// Whether pages have databases of their own.
    pub(crate) fn is_separate(&self) -> bool {
        self.separate.is_some()
    }

    /// The rows of a page, in [`of_page`](Host::of_page).
    pub(crate) fn rows(&self, page: u64) -> Rows {
        match self.separate {
            Some(_) => Rows::separate(page),
            None => Rows::under_prefix(page),
        }
    }

    /// The database with the rows of a page.
    ///
    /// # Errors
    /// If it cannot be opened, or it belongs to another page. If it is not there:
    /// [`LedgerError::PageGone`] unless the page is in use.
    pub(crate) fn of_page(&self, page: u64) -> Result<Arc<dyn KvDatabase>> {
        let Some(Separate { databases, id }) = &self.separate else {
            return Ok(Arc::clone(&self.repository));
        };
        let rows = self.rows(page);
        let Some(database) = databases.open(page)? else {
            let row = page_row(&*self.repository.begin(&TxOptions::reading())?, page)?;
            return Err(match row.map(|row| row.state) {
                Some(PageState::InUse) => rows.no_database(),
                _ => LedgerError::PageGone { page },
            });
        };
        rows.check_own(&database.begin(&TxOptions::reading())?, id)?;
        Ok(database)
    }

    /// The numbers of the pages that have databases of their own.
    pub(crate) fn databases(&self) -> Result<Vec<u64>> {
        self.separate.as_ref().map_or(Ok(Vec::new()), |separate| Ok(separate.databases.list()?))
    }

    /// Makes the database of a page, if pages have their own, and writes the row that names the
    /// page.
    pub(crate) fn make(&self, page: u64) -> Result<Arc<dyn KvDatabase>> {
        let Some(Separate { databases, id }) = &self.separate else {
            return Ok(Arc::clone(&self.repository));
        };
        let database = databases.make(page)?;
        let mut tx = database.begin(&TxOptions::writing())?;
        self.rows(page).put_own(&mut tx, id)?;
        tx.commit()?;
        Ok(database)
    }

    /// Removes the database of a page. Processes that have it open get [`LedgerError::PageGone`].
    ///
    /// # Errors
    /// If it cannot be marked as deleted or removed.
    pub(crate) fn remove(&self, page: u64) -> Result<()> {
        let Some(Separate { databases, .. }) = &self.separate else { return Ok(()) };
        let mark = |database: Arc<dyn KvDatabase>| -> Result<()> {
            let mut tx = database.begin(&TxOptions::writing())?;
            self.rows(page).force_mark_deleted(&mut tx)?;
            Ok(tx.commit()?)
        };
        match self.of_page(page).and_then(mark) {
            Ok(()) | Err(LedgerError::PageGone { .. }) => {}
            // A missing or damaged database needs no mark: nothing is read from it any more.
            Err(error) if error.is_unreadable() => {}
            // Without the mark, a process that has it open would go on using it.
            Err(error) => match databases.open(page) {
                // Another process has removed it meanwhile.
                Ok(None) => {}
                Ok(Some(_)) => return Err(error),
                // Making it may have been interrupted. It is made whole, to be marked.
                Err(_) => match databases.make(page) {
                    Ok(database) => mark(database)?,
                    Err(_) => return Err(error),
                },
            },
        }
        Ok(databases.remove(page)?)
    }
}
