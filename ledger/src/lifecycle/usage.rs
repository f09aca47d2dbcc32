//! When pages were used last, and their eviction.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use permazen_kv::TxOptions;

use super::deletion::{self, DeleteMode};
use super::eviction_obstacle::EvictionObstacle;
use super::open_registry::in_use;
use crate::error::{LedgerError, Result};
use crate::ids::PageId;
use crate::repository::Repository;
use crate::rows::opened;
use crate::rows::repository::{PageState, page, page_rows};

/// A page, and when it was used last.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageUsage {
    /// The name of its ledger.
    pub ledger: String,
    /// The ID of the page.
    pub id: PageId,
    /// Whether a process has it open. This can be one that has ended: others notice within eleven
    /// minutes after the end of its lease, which lasts an hour.
    pub is_open: bool,
    /// When it was closed last. `None` if it is open.
    pub closed: Option<SystemTime>,
}

/// The result of [`Repository::evict_unused`].
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "pages can have failed"]
pub struct Evictions {
    /// The pages that were removed.
    pub evicted: Vec<(String, PageId)>,
    /// The pages that cannot be removed because of an error, such as damage.
    pub failed: Vec<(String, PageId, LedgerError)>,
}

impl Repository {
    /// The pages with the time at which they were closed last: first those that are closed, the
    /// least recently closed one first, then those that are open.
    ///
    /// A page is closed within ten seconds after its last handle is dropped, by
    /// [`maintain`](Repository::maintain).
    ///
    /// ```
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{PageId, Repository};
    ///
    /// let repository = Repository::open_or_create(MemoryStore::new())?;
    /// repository.create_page("films", PageId::random()?)?;
    /// let books = repository.create_page("books", PageId::ROOT)?;
    /// repository.maintain()?;
    /// let usage = repository.usage()?;
    /// assert_eq!((&*usage[0].ledger, usage[0].is_open), ("films", false));
    /// assert_eq!((&*usage[1].ledger, usage[1].is_open), ("books", true));
    /// # drop(books);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// If the host fails.
    pub fn usage(&self) -> Result<Vec<PageUsage>> {
        let tx = self.host().repository.begin(&TxOptions::reading())?;
        let mut usage = Vec::new();
        for (number, row) in page_rows(&tx)? {
            if row.state != PageState::InUse {
                continue;
            }
            let is_open = !opened::opened_by(&tx, number)?.is_empty();
            let closed = opened::closed(&tx, number)?.filter(|_| !is_open);
            let closed =
                closed.and_then(|time| UNIX_EPOCH.checked_add(Duration::from_millis(time)));
            usage.push((PageUsage { ledger: row.ledger, id: row.id, is_open, closed }, number));
        }
        usage.sort_by_key(|(page, number)| (page.is_open, page.closed, *number));
        Ok(usage.into_iter().map(|(page, _)| page).collect())
    }

    /// Removes a page that no process has open, if nothing is lost by that. Returns whether it was
    /// removed.
    ///
    /// Nothing is lost if the page has neither commits nor tags. Nothing is lost either if it is
    /// attached to a [remote](crate::PageRemote) and all of its commits and pieces are there, it
    /// has no tag and no branch but `main`, and no branch of it was ever reset, squashed or
    /// removed: a remote does not have these.
    ///
    /// Of several calls that evict a page at once, one returns `true`.
    ///
    /// # Errors
    /// If there is no such page, also because another process is removing it, or the host fails.
    pub fn evict(&self, ledger: &str, id: PageId) -> Result<bool> {
        self.open_registry().maintain()?;
        match deletion::begin(self.open_registry(), (ledger, id), DeleteMode::IfNothingLost) {
            Ok(Some(number)) => deletion::finish(self.host(), number).map(|()| true),
            Ok(None) | Err(LedgerError::PageInUse { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Why a page is not [evicted](Repository::evict). `None` if it would be. Costs a few gets, and
    /// a step for each local piece of a stream without a commit.
    ///
    /// ```
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_ledger::{EvictionObstacle, PageId, Repository};
    ///
    /// let repository = Repository::open_or_create(MemoryStore::new())?;
    /// let page = repository.create_page("films", PageId::ROOT)?;
    /// assert_eq!(repository.eviction_obstacle("films", PageId::ROOT)?, Some(EvictionObstacle::IsOpen));
    /// drop(page);
    /// assert_eq!(repository.eviction_obstacle("films", PageId::ROOT)?, None);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such page, or the host fails.
    pub fn eviction_obstacle(&self, ledger: &str, id: PageId) -> Result<Option<EvictionObstacle>> {
        self.open_registry().maintain()?;
        let no_such = |error| match error {
            LedgerError::PageGone { .. } => LedgerError::no_page(ledger, &id),
            error => error,
        };
        let number = {
            let tx = self.host().repository.begin(&TxOptions::reading())?;
            let number =
                page(&tx, ledger, &id)?.ok_or_else(|| LedgerError::no_page(ledger, &id))?;
            in_use(&tx, number).map_err(no_such)?;
            if !opened::opened_by(&tx, number)?.is_empty() {
                return Ok(Some(EvictionObstacle::IsOpen));
            }
            number
        };
        let database = self.host().of_page(number).map_err(no_such)?;
        deletion::eviction_obstacle(
            &database.begin(&TxOptions::reading())?,
            &self.host().rows(number),
        )
    }

    /// Removes every page that was closed at least `closed_for` ago and can be
    /// [evicted](Repository::evict). An error of a page does not keep the others; it is in
    /// [`Evictions::failed`], also if the host failed.
    ///
    /// # Errors
    /// If the host fails before a page is tried.
    pub fn evict_unused(&self, closed_for: Duration) -> Result<Evictions> {
        self.open_registry().maintain()?;
        let now = Duration::from_millis(self.open_registry().now());
        let (mut evicted, mut failed) = (Vec::new(), Vec::new());
        for page in self.usage()? {
            let since = page.closed.and_then(|closed| closed.duration_since(UNIX_EPOCH).ok());
            if since.is_none_or(|since| now.saturating_sub(since) < closed_for) {
                continue;
            }
            match self.evict(&page.ledger, page.id) {
                Ok(true) => evicted.push((page.ledger, page.id)),
                // Another process has deleted it.
                Ok(false) | Err(LedgerError::NoSuch { .. }) => {}
                Err(error) => failed.push((page.ledger, page.id, error)),
            }
        }
        Ok(Evictions { evicted, failed })
    }

    /// Removes the least recently closed page that can be [evicted](Repository::evict), and returns
    /// its name. `None` if there is none.
    ///
    /// # Errors
    /// If none was removed, the first error of a page.
    pub fn evict_least_recently_closed(&self) -> Result<Option<(String, PageId)>> {
        self.open_registry().maintain()?;
        let mut failed = Ok(());
        for page in self.usage()? {
            match self.evict(&page.ledger, page.id) {
                Ok(true) => return Ok(Some((page.ledger, page.id))),
                // Another process has deleted it.
                Ok(false) | Err(LedgerError::NoSuch { .. }) => {}
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed.map(|()| None)
    }
}
