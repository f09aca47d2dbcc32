//! Repositories: any number of pages in one database.

pub(crate) mod builder;

use std::fmt;
use std::sync::Arc;

use permazen_kv::{KvDatabase, KvWrite, TxOptions};

use crate::CommitTime;
use crate::collect::maintenance::Maintenance;
use crate::error::{LedgerError, Result};
use crate::host::Host;
use crate::ids::{CommitId, PageId};
use crate::lifecycle::deletion::{self, DeleteMode};
use crate::lifecycle::open_registry::{OpenRegistry, in_use};
use crate::page::Page;
use crate::page::cache::NodeCache;
use crate::page::open_pages::{Known, OpenPages};
use crate::page::shared::Shared;
use crate::policy::factory::MergeFactory;
use crate::policy::registry::{MergeFactoryRegistration, Merges};
use crate::process::lease::Process;
use crate::process::open_page::{OpenPage, OpenedBy};
use crate::random::random;
use crate::rows::counts::Counts;
use crate::rows::page::{Head, Rows};
use crate::rows::parameters::{Parameters, Retention};
use crate::rows::repository::{self as rows, PageRow, PageState};
use crate::secret::Secret;

/// The branch that a page is made with.
pub const MAIN: &str = crate::rows::page::MAIN;

/// Pages in a database, which is the *host*.
///
/// A repository is cheap to clone; clones are the same repository. Several processes can have it
/// open if they can have the host open.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
/// use permazen_ledger::{MAIN, PageId, Repository};
///
/// let repository = Repository::open_or_create(MemoryStore::new())?;
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
    host: Arc<Host>,
    cache: Arc<NodeCache>,
    longest_whole: u64,
    process: Arc<Process>,
    maintenance: Arc<Maintenance>,
    merges: Arc<Merges>,
    pages: Arc<OpenPages>,
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository").finish_non_exhaustive()
    }
}

impl Repository {
    /// Opens a repository, and creates it if the database is empty. Of several processes that do so
    /// at once, one creates it, and all open it.
    ///
    /// ```
    /// use permazen_kv::lmdb::LmdbStore;
    /// use permazen_ledger::{PageId, Repository};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("contacts.lmdb");
    /// let repository = Repository::open_or_create(LmdbStore::open_or_create(&path)?)?;
    /// let page = repository.page_or_create("contacts", PageId::ROOT)?;
    /// # drop(page);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the database has other data, or fails.
    pub fn open_or_create(host: impl KvDatabase + 'static) -> Result<Self> {
        Self::builder(host).open_or_create()
    }

    /// The same for a database in an `Arc`, which other code can use too.
    ///
    /// # Errors
    /// As [`open_or_create`](Repository::open_or_create).
    pub fn open_or_create_shared(host: Arc<dyn KvDatabase>) -> Result<Self> {
        Self::shared_builder(host).open_or_create()
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// If there is no repository, if it has another format, or if the database fails.
    pub fn open(host: impl KvDatabase + 'static) -> Result<Self> {
        Self::builder(host).open()
    }

    /// Maintains all open pages, as threads do every ten seconds: renews the lease and writes the
    /// pins of this process, [collects](Page::collect) where there is much garbage, and merges
    /// heads that other processes have made.
    ///
    /// # Errors
    /// The first error, after the rest was done.
    pub fn maintain(&self) -> Result<()> {
        self.maintenance.maintain()
    }

    /// Makes a page with a random secret.
    ///
    /// # Errors
    /// If there is such a page, if the name of the ledger is empty or longer than 128 bytes, or if
    /// the host fails.
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
        let parameters = Parameters { secret, retention: Retention::All };
        let row = PageRow { state: PageState::InUse, ledger: ledger.to_owned(), id };
        loop {
            let mut tx = self.database().begin(&TxOptions::writing())?;
            if let Some(number) = rows::page(&tx, ledger, &id)? {
                let there = rows::page_row(&tx, number)?;
                if there.is_none_or(|there| there.state != PageState::Deleting) {
                    return Err(LedgerError::page_exists(ledger, &id));
                }
                // A page of this name is being deleted. Its name is free after that.
                drop(tx);
                deletion::finish(&self.host, number)?;
                continue;
            }
            if self.host.is_separate() {
                drop(tx);
                return self.make_separate(row, &parameters);
            }
            let number = rows::add_page(&mut tx, &row)?;
            put_new(&mut tx, &self.host.rows(number), &parameters)?;
            tx.commit()?;
            return self.page_of(number);
        }
    }

    /// Makes a page with a database of its own. It gets its name when it is complete.
    fn make_separate(&self, row: PageRow, parameters: &Parameters) -> Result<Page> {
        let mut tx = self.database().begin(&TxOptions::writing())?;
        let making = PageState::Making(self.process.ensure_lease(&mut tx)?);
        let row = PageRow { state: making, ..row };
        let number = rows::add_page(&mut tx, &row)?;
        tx.commit()?;
        let made = self.host.make(number).and_then(|database| {
            let mut tx = database.begin(&TxOptions::writing())?;
            put_new(&mut tx, &self.host.rows(number), parameters)?;
            Ok(tx.commit()?)
        });
        let mut tx = self.database().begin(&TxOptions::writing())?;
        if rows::page_row(&tx, number)?.as_ref() != Some(&row) {
            let what = format!(
                "another process treated this one as ended while it created page {} {}",
                row.ledger, row.id
            );
            return Err(LedgerError::Busy { what });
        }
        // Another process may have made a page of this name meanwhile.
        let result = match rows::page(&tx, &row.ledger, &row.id)? {
            Some(_) => Err(LedgerError::page_exists(&row.ledger, &row.id)),
            None => made,
        };
        match result {
            Ok(()) => rows::name_page(&mut tx, number, &row)?,
            Err(_) => rows::begin_removal(&mut tx, number, &row)?,
        }
        tx.commit()?;
        match result {
            Ok(()) => self.page_of(number),
            Err(error) => {
                // The first error says more. Maintenance goes on with the removal.
                let _ = deletion::finish(&self.host, number);
                Err(error)
            }
        }
    }

    /// Opens a page. Pages can be open any number of times. A process that opens a page that it
    /// does not have open writes a row that says so; if the host cannot be written, before its
    /// first change of the page.
    ///
    /// # Errors
    /// If there is no such page, or the host fails.
    pub fn page(&self, ledger: &str, id: PageId) -> Result<Page> {
        let no_such = || LedgerError::no_page(ledger, &id);
        let number = || rows::page(&self.database().begin(&TxOptions::reading())?, ledger, &id);
        loop {
            let asked = number()?.ok_or_else(no_such)?;
            match self.page_of(asked) {
                // The page was deleted meanwhile.
                Err(LedgerError::PageGone { .. }) => return Err(no_such()),
                // The page was renamed meanwhile, so another one may have this name.
                Ok(_) if number()? != Some(asked) => {}
                page => return page,
            }
        }
    }

    /// Opens a page, and creates it if it does not exist.
    ///
    /// ```
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{PageId, Repository};
    ///
    /// let repository = Repository::open_or_create(MemoryStore::new())?;
    /// let page = repository.page_or_create("films", PageId::ROOT)?;
    /// assert_eq!(repository.pages()?, [("films".to_owned(), PageId::ROOT)]);
    /// # drop(page);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// If the name of the ledger is empty or longer than 128 bytes, or the host fails.
    /// [`LedgerError::PageGone`] if the page exists, but its own rows say that it does not.
    pub fn page_or_create(&self, ledger: &str, id: PageId) -> Result<Page> {
        self.opened_or(ledger, id, || self.create_page(ledger, id))
    }

    /// Opens a page, and creates it with this secret if it does not exist. So a program can begin
    /// on each device in the same way.
    ///
    /// ```
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{PageId, Repository, Secret};
    ///
    /// let secret = Secret::new([7; 32]);
    /// let repository = Repository::open_or_create(MemoryStore::new())?;
    /// let page = repository.page_or_create_with("films", PageId::ROOT, secret.clone())?;
    /// assert_eq!(page.secret(), &secret);
    /// # drop(page);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// As [`page_or_create`](Repository::page_or_create), and [`LedgerError::InvalidArgument`] if
    /// the page exists and has another secret.
    pub fn page_or_create_with(&self, ledger: &str, id: PageId, secret: Secret) -> Result<Page> {
        let make = || self.create_page_with(ledger, id, secret.clone());
        let page = self.opened_or(ledger, id, make)?;
        if *page.secret() != secret {
            let what = "exists with another secret, so it is not a copy of that page";
            let what =
                format!("page {ledger} {id} {what}: open it with `page`, or take another ID");
            return Err(LedgerError::InvalidArgument(what));
        }
        Ok(page)
    }

    fn opened_or(&self, ledger: &str, id: PageId, make: impl Fn() -> Result<Page>) -> Result<Page> {
        let mut there = None;
        loop {
            match self.page(ledger, id) {
                Err(LedgerError::NoSuch { .. }) => {}
                opened => return opened,
            }
            match make() {
                // Another process has created the page first, or has deleted it at once.
                Err(LedgerError::Exists { .. } | LedgerError::PageGone { .. }) => {}
                created => return created,
            }
            let number = rows::page(&self.database().begin(&TxOptions::reading())?, ledger, &id)?;
            match number {
                // A page that is deleted does not come back under its number. So this one is in
                // use, and its own rows say that it is not there.
                Some(page) if number == there => return Err(LedgerError::PageGone { page }),
                _ => there = number,
            }
        }
    }

    fn page_of(&self, number: u64) -> Result<Page> {
        let PageRow { ledger, id, .. } =
            in_use(&*self.database().begin(&TxOptions::reading())?, number)?;
        if let (Some(shared), Some(merging)) = self.known(number)? {
            return Ok(Page { shared, merging });
        }
        let opening = self.pages.opening(self.database())?;
        let (shared, known) = self.known(number)?;
        let shared = shared.map_or_else(|| self.open_page(number), Ok)?;
        let is_new = known.is_none();
        let merging = known.unwrap_or_else(|| self.merges.add(&shared, (&ledger, id)));
        self.pages.add(number, &shared, &merging);
        // Released before the factory is called, which may open pages.
        drop(opening);
        if is_new {
            merging.begin();
        }
        Ok(Page { shared, merging })
    }

    /// The shared state of a page, if this process has it open.
    fn known(&self, number: u64) -> Result<Known> {
        let (shared, merging) = self.pages.known(number);
        if let Some(shared) = shared.as_ref().filter(|_| self.host.is_separate()) {
            shared.open_again_if_marked()?;
        }
        Ok((shared, merging))
    }

    /// Opens a page that this process does not have open.
    fn open_page(&self, number: u64) -> Result<Arc<Shared>> {
        let maintenance = Arc::clone(&self.maintenance);
        let (database, rows) = (self.host.of_page(number)?, self.host.rows(number));
        let open_registry = maintenance.open_registry();
        let mut registration = open_registry.open(number, &*database)?;
        let read = || rows.parameters(&database.begin(&TxOptions::reading())?);
        let mut parameters = read()?;
        if parameters.is_none() && self.host.is_separate() {
            // Another process took this one for dead, and its eviction has left a mark. If it was
            // decided, the row of the page says so.
            registration = open_registry.open_anew(number, &*database)?;
            parameters = read()?;
        }
        let parameters = parameters.ok_or(LedgerError::PageGone { page: number })?;
        let process = match self.host.is_separate() {
            // The lease lies in the database that has the pins.
            true => OpenedBy::Own(Arc::new(self.process.again()?)),
            false => OpenedBy::Repository(Arc::clone(&self.process)),
        };
        let page_maintenance =
            maintenance.add_page(number, || OpenPage::new(database, rows, process))?;
        let cache = (Arc::clone(&self.cache), self.longest_whole);
        Ok(Arc::new(Shared::new(page_maintenance, cache, &parameters, (maintenance, registration))))
    }

    /// Adds a factory that chooses how the heads of branches are merged automatically, until the
    /// registration is dropped. If there are several, the first one is used. Until the first is
    /// added, the policy of all pages is
    /// [`MergePolicy::LastWriterWins`](crate::MergePolicy::LastWriterWins).
    ///
    /// Heads are merged on a thread of each page: after a commit of this process at once, after
    /// those of other processes within ten seconds.
    /// [`manual_maintenance`](crate::RepositoryBuilder::manual_maintenance) leaves it to
    /// [`maintain`](Repository::maintain) and
    /// [`Page::merge_by_policy`](crate::Page::merge_by_policy).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{MergeFactory, MergePolicy, PageId, Repository};
    ///
    /// /// Leaves all heads to the program.
    /// struct ByHand;
    ///
    /// impl MergeFactory for ByHand {
    ///     fn policy(&self, _ledger: &str, _page: &PageId) -> MergePolicy {
    ///         MergePolicy::None
    ///     }
    /// }
    ///
    /// let repository = Repository::open_or_create(MemoryStore::new())?;
    /// let registration = repository.add_merge_factory(Arc::new(ByHand));
    /// # drop(registration);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    pub fn add_merge_factory(&self, factory: Arc<dyn MergeFactory>) -> MergeFactoryRegistration {
        self.merges.register(factory)
    }

    /// The pages with the names of their ledgers, in the order in which they were created.
    ///
    /// # Errors
    /// If the host fails.
    pub fn pages(&self) -> Result<Vec<(String, PageId)>> {
        let rows = rows::page_rows(&self.database().begin(&TxOptions::reading())?)?;
        let in_use = rows.into_iter().filter(|(_, row)| row.state == PageState::InUse);
        Ok(in_use.map(|(_, row)| (row.ledger, row.id)).collect())
    }

    /// Deletes a page with all of its history.
    ///
    /// One transaction decides it; then the rows are removed in slices, so that other pages can be
    /// written in between. If the process ends in between, any process with the repository
    /// continues.
    ///
    /// ```
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{LedgerError, PageId, Repository};
    ///
    /// let repository = Repository::open_or_create(MemoryStore::new())?;
    /// let page = repository.create_page("films", PageId::ROOT)?;
    /// let refused = repository.delete_page("films", PageId::ROOT).unwrap_err();
    /// assert!(matches!(refused, LedgerError::PageInUse { .. }));
    /// drop(page);
    /// repository.delete_page("films", PageId::ROOT)?;
    /// assert!(repository.pages()?.is_empty());
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such page, if the host fails, and [`LedgerError::PageInUse`] if a handle of
    /// the page or of something in it (a database, a snapshot, a watcher) exists, in this process
    /// or another. Another process closes a page up to ten seconds after its last handle.
    pub fn delete_page(&self, ledger: &str, id: PageId) -> Result<()> {
        match deletion::begin(self.open_registry(), (ledger, id), DeleteMode::Always)? {
            Some(number) => deletion::finish(&self.host, number),
            None => Ok(()),
        }
    }

    pub(crate) fn open_registry(&self) -> &Arc<OpenRegistry> {
        self.maintenance.open_registry()
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// The database with the rows of the repository.
    fn database(&self) -> &dyn KvDatabase {
        &*self.host.repository
    }
}

/// Writes the first rows of a page.
fn put_new(tx: &mut dyn KvWrite, page: &Rows, parameters: &Parameters) -> Result<()> {
    page.put_parameters(tx, parameters)?;
    page.put_counts(tx, &Counts::default())?;
    let first = Head { id: CommitId::FIRST, time: CommitTime::default() };
    page.put_head(tx, MAIN, &first)
}
