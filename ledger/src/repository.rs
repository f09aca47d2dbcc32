//! Repositories: any number of pages in one database.

use std::fmt;
use std::sync::Arc;

use permazen_kv::{KeySpan, KvDatabase, KvWrite, TxOptions};

use crate::CommitTime;
use crate::error::{LedgerError, Result};
use crate::ids::{CommitId, PageId};
use crate::page::Page;
use crate::page::cache::NodeCache;
use crate::random::random;
use crate::rows::page::{Counts, Head, Parameters, Rows};
use crate::rows::repository as rows;
use crate::secret::Secret;

/// The branch that a page is made with.
pub const MAIN: &str = "main";

/// Pages in a database, which is the *host*.
///
/// A repository is cheap to clone; clones are the same repository. Several processes can have it open
/// if they can have the host open.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
/// use permazen_ledger::{MAIN, PageId, Repository};
///
/// let repository = Repository::create(MemoryStore::new())?;
/// let page = repository.create_page("contacts", PageId::ROOT)?;
/// let db = page.database(MAIN)?;
/// let mut tx = db.begin(&TxOptions::writing())?;
/// tx.put(b"Ann", b"555-0101")?;
/// tx.commit()?;
///
/// let first = page.head(MAIN)?;
/// let mut tx = db.begin(&TxOptions::writing())?;
/// tx.put(b"Ann", b"555-0199")?;
/// tx.commit()?;
///
/// // The old state is still there.
/// assert_eq!(page.snapshot(&first)?.get(b"Ann")?.as_deref(), Some(&b"555-0101"[..]));
/// assert_eq!(page.log(page.head(MAIN)?)?.count(), 2);
/// # Ok::<(), permazen_ledger::LedgerError>(())
/// ```
#[derive(Clone)]
pub struct Repository {
    pub(crate) host: Arc<dyn KvDatabase>,
    cache: Arc<NodeCache>,
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository").finish_non_exhaustive()
    }
}

/// How many bytes of nodes are kept in memory unless set.
const CACHE_BYTES: u64 = 64 << 20;

impl Repository {
    /// Makes a repository in an empty database. If it is one already, opens it.
    ///
    /// # Errors
    /// If the database has other data, or fails.
    pub fn create(host: impl KvDatabase + 'static) -> Result<Self> {
        Self::create_shared(Arc::new(host))
    }

    /// The same for a database that others use too.
    ///
    /// # Errors
    /// As [`create`](Repository::create).
    pub fn create_shared(host: Arc<dyn KvDatabase>) -> Result<Self> {
        let mut tx = host.begin(&TxOptions::writing())?;
        if !rows::is_there(&tx)? {
            rows::create(&mut tx, random()?, random()?)?;
            tx.commit()?;
        } else {
            tx.rollback();
        }
        Ok(Self::new(host))
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// If there is none, if it has another format, or if the database fails.
    pub fn open(host: impl KvDatabase + 'static) -> Result<Self> {
        let host: Arc<dyn KvDatabase> = Arc::new(host);
        let is_there = rows::is_there(&host.begin(&TxOptions::reading())?)?;
        if is_there { Ok(Self::new(host)) } else { Err(LedgerError::NoRepository) }
    }

    fn new(host: Arc<dyn KvDatabase>) -> Self {
        Repository { host, cache: Arc::new(NodeCache::new(CACHE_BYTES)) }
    }

    /// Makes a page with a random secret.
    ///
    /// # Errors
    /// If there is such a page, if the name of the ledger is empty or longer than 128 bytes, or if the
    /// host fails.
    pub fn create_page(&self, ledger: &str, id: PageId) -> Result<Page> {
        self.create_page_with(ledger, id, Secret::new(random()?))
    }

    /// Makes a page with the secret of a page elsewhere, so that equal contents of both have equal
    /// roots.
    ///
    /// # Errors
    /// As [`create_page`](Repository::create_page).
    pub fn create_page_with(&self, ledger: &str, id: PageId, secret: Secret) -> Result<Page> {
        rows::check_ledger(ledger)?;
        let mut tx = self.host.begin(&TxOptions::writing())?;
        if rows::page(&tx, ledger, &id)?.is_some() {
            return Err(LedgerError::Exists { what: "page", name: format!("{ledger} {id}") });
        }
        let page = Rows::new(rows::add_page(&mut tx, ledger, &id)?);
        let parameters = Parameters { secret };
        page.put_parameters(&mut tx, &parameters)?;
        page.put_counts(&mut tx, &Counts::default())?;
        let first = Head { id: CommitId::FIRST, time: CommitTime::default() };
        page.put_head(&mut tx, MAIN, &first)?;
        tx.commit()?;
        Ok(self.page_of(page, &parameters))
    }

    /// Opens a page. Pages can be open any number of times.
    ///
    /// # Errors
    /// If there is no such page, or the host fails.
    pub fn page(&self, ledger: &str, id: PageId) -> Result<Page> {
        let no_such = || LedgerError::NoSuch { what: "page", name: format!("{ledger} {id}") };
        let tx = self.host.begin(&TxOptions::reading())?;
        let rows = Rows::new(rows::page(&tx, ledger, &id)?.ok_or_else(no_such)?);
        let parameters = rows.parameters(&tx)?.ok_or_else(no_such)?;
        Ok(self.page_of(rows, &parameters))
    }

    fn page_of(&self, rows: Rows, parameters: &Parameters) -> Page {
        Page::new(Arc::clone(&self.host), Arc::clone(&self.cache), rows, parameters)
    }

    /// The pages with the names of their ledgers, in the order in which they were made.
    ///
    /// # Errors
    /// If the host fails.
    pub fn pages(&self) -> Result<Vec<(String, PageId)>> {
        rows::pages(&self.host.begin(&TxOptions::reading())?)
    }

    /// Deletes a page with all of its history. Whoever has it open gets errors.
    ///
    /// # Errors
    /// If there is no such page, or the host fails.
    pub fn delete_page(&self, ledger: &str, id: PageId) -> Result<()> {
        let mut tx = self.host.begin(&TxOptions::writing())?;
        let Some(number) = rows::page(&tx, ledger, &id)? else {
            return Err(LedgerError::NoSuch { what: "page", name: format!("{ledger} {id}") });
        };
        rows::remove_page(&mut tx, ledger, &id, number)?;
        let (min, max) = Rows::new(number).all();
        tx.remove_span(KeySpan::new(&min, max.as_deref()))?;
        Ok(tx.commit()?)
    }
}
