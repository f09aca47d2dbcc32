//! Opens a repository, or creates it: what can be set before.

use std::fmt;
use std::sync::Arc;

use permazen_kv::{KvDatabase, KvDatabaseExt, TxOptions};

use super::Repository;
use crate::collect::maintenance::Maintenance;
use crate::error::{LedgerError, Result};
use crate::host::{Host, PageDatabases};
use crate::lifecycle::open_registry::OpenRegistry;
use crate::page::cache::NodeCache;
use crate::policy::registry::Merges;
use crate::process::clock::{Clock, SystemClock};
use crate::process::lease::Process;
use crate::random::random;
use crate::rows::repository::{self as rows, DatabaseContent};

/// The size of the node cache in bytes, unless set.
const CACHE_BYTES: u64 = 64 << 20;

/// The limit for whole values, unless set: 1 GiB.
const LONGEST_WHOLE: u64 = 1 << 30;

/// How a repository is opened.
///
/// ```
/// use permazen_kv::memory::MemoryStore;
/// use permazen_ledger::Repository;
///
/// let repository = Repository::builder(MemoryStore::new()).cache_bytes(8 << 20).open_or_create()?;
/// # assert!(repository.pages()?.is_empty());
/// # Ok::<(), permazen_ledger::LedgerError>(())
/// ```
#[derive(Clone)]
pub struct RepositoryBuilder {
    host: Arc<dyn KvDatabase>,
    cache_bytes: u64,
    longest_whole: u64,
    clock: Arc<dyn Clock>,
    is_exclusive: bool,
    is_manual: bool,
    tells_no_device: bool,
    pages: Option<Arc<dyn PageDatabases>>,
}

impl fmt::Debug for RepositoryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RepositoryBuilder { cache_bytes, is_exclusive, is_manual, pages, .. } = self;
        f.debug_struct("RepositoryBuilder")
            .field("cache_bytes", cache_bytes)
            .field("exclusive", is_exclusive)
            .field("manual_maintenance", is_manual)
            .field("page_databases", pages)
            .finish_non_exhaustive()
    }
}

impl RepositoryBuilder {
    /// The size of the node cache of all pages together, in bytes: 64 MiB unless set.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// The limit for whole values: the longest value in bytes that is returned in one piece, in
    /// memory. 1 GiB unless set. Where a longer one would be returned, by `get`, a scan, a fetch or
    /// a merge that reads it, the error is
    /// [`LedgerError::WholeValueTooLong`](crate::LedgerError::WholeValueTooLong). The limit exists
    /// because a few received pieces can encode a value of many terabytes.
    #[must_use]
    pub fn longest_whole_value(mut self, bytes: u64) -> Self {
        self.longest_whole = bytes;
        self
    }

    /// Promises that no other process has the repository open, or will open it while this process
    /// has. So commits that are not kept are removed at once, and not after a grace time of two
    /// minutes.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.is_exclusive = true;
        self
    }

    /// Starts no thread for [`maintain`](Repository::maintain), and no thread that merges heads.
    /// The program must call it, about every ten seconds.
    #[must_use]
    pub fn manual_maintenance(mut self) -> Self {
        self.is_manual = true;
        self
    }

    /// Makes commits that do not say on which device they were made. Otherwise each change has the
    /// fingerprint of the repository, 16 random bytes ([`Origin::Change`](crate::Origin::Change)).
    #[must_use]
    pub fn without_device(mut self) -> Self {
        self.tells_no_device = true;
        self
    }

    /// Takes the time from this clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Gives each page a database of its own, instead of a part of this one. A repository is opened
    /// in the way in which it was made.
    #[must_use]
    pub fn page_databases(mut self, pages: Arc<dyn PageDatabases>) -> Self {
        self.pages = Some(pages);
        self
    }

    /// Opens a repository, and creates it if the database is empty. Of several processes that do so
    /// at once, one creates it, and all open it.
    ///
    /// # Errors
    /// If the database has other data, or fails.
    pub fn open_or_create(self) -> Result<Repository> {
        let host = Arc::clone(&self.host);
        let (id, device) = (random()?, random()?);
        let found = host.write(|tx| {
            let found = rows::content(tx)?;
            if found == DatabaseContent::Nothing {
                rows::create(tx, (id, self.pages.is_some()), device)?;
            }
            Ok(found)
        })?;
        if found == DatabaseContent::Other { Err(no_repository(found)) } else { self.repository() }
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// If there is no repository, if it has another format, or if the database fails.
    pub fn open(self) -> Result<Repository> {
        let found = rows::content(&self.host.begin(&TxOptions::reading())?)?;
        if found == DatabaseContent::Repository {
            self.repository()
        } else {
            Err(no_repository(found))
        }
    }

    fn repository(self) -> Result<Repository> {
        let (id, is_separate, device) = {
            let tx = self.host.begin(&TxOptions::reading())?;
            let (id, is_separate) = rows::identity(&tx)?;
            let device = match self.tells_no_device {
                true => None,
                // A repository with a damaged device can still be read; `verify` reports the row.
                false => rows::device(&tx).ok().and_then(|device| device.first_chunk().copied()),
            };
            (id, is_separate, device.unwrap_or_default())
        };
        if is_separate != self.pages.is_some() {
            let what = match is_separate {
                true => "each page has a database of its own: say where with `page_databases`",
                false => {
                    "the pages are in the database of the repository: leave out `page_databases`"
                }
            };
            return Err(LedgerError::InvalidArgument(what.to_owned()));
        }
        let host = Arc::new(Host::new(self.host, self.pages, id));
        let process = Arc::new(Process::new(self.clock, self.is_exclusive, device)?);
        let open_registry = Arc::new(OpenRegistry::new(Arc::clone(&host), Arc::clone(&process)));
        let merges = Arc::new(Merges::new(self.is_manual));
        let extra_work = Arc::clone(&merges);
        let extra_work = Box::new(move || extra_work.maintain());
        let maintenance =
            Maintenance::new(open_registry, Arc::clone(&process), self.is_manual, extra_work);
        Ok(Repository {
            host,
            cache: Arc::new(NodeCache::new(self.cache_bytes)),
            longest_whole: self.longest_whole,
            process,
            maintenance: Arc::new(maintenance),
            merges,
            pages: Arc::default(),
        })
    }
}

impl Repository {
    /// Sets how a repository is opened in this database.
    pub fn builder(host: impl KvDatabase + 'static) -> RepositoryBuilder {
        Self::shared_builder(Arc::new(host))
    }

    /// The same for a database in an `Arc`, which other code can use too.
    pub fn shared_builder(host: Arc<dyn KvDatabase>) -> RepositoryBuilder {
        let (clock, cache_bytes) = (Arc::new(SystemClock), CACHE_BYTES);
        RepositoryBuilder {
            host,
            cache_bytes,
            longest_whole: LONGEST_WHOLE,
            clock,
            is_exclusive: false,
            is_manual: false,
            tells_no_device: false,
            pages: None,
        }
    }
}

fn no_repository(found: DatabaseContent) -> LedgerError {
    LedgerError::NoRepository { is_empty: found == DatabaseContent::Nothing }
}
