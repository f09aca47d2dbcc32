//! Connections: transactions and watchers of one client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::{KvTransaction, TxOptions};

use super::branching::BranchingDatabase;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::page::Page;
use crate::page::snapshot::PageSnapshot;
use crate::watch::subscription::is_told;
use crate::watch::unanswered::Unanswered;
use crate::watch::{Connected, Watcher};

/// How long a transaction waits for watchers, unless set.
const WAIT: Duration = Duration::from_secs(1);

/// A client of a branch that can have several heads: a [`BranchingDatabase`] with watchers that
/// follow the same path. [`Page::connect`] makes one.
///
/// A transaction begins when the program has handled all notifications of the connection's
/// watchers. While it is open, watchers notify of nothing newer than its base, and snapshots are of
/// the base. So a transaction begins with the state that the client has seen.
pub struct Connection {
    handle: BranchingDatabase,
    unanswered: Arc<Unanswered>,
    wait: Duration,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("handle", &self.handle).finish_non_exhaustive()
    }
}

impl Page {
    /// Connects a client with a branch. It begins at the oldest head.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use permazen_kv::{KvRead, KvTransaction, KvWrite, memory::MemoryStore};
    /// use permazen_ledger::{MAIN, PageId, Repository};
    ///
    /// let page = Repository::open_or_create(MemoryStore::new())?.create_page("phones", PageId::ROOT)?;
    /// let connection = page.connect(MAIN)?;
    /// let mut watcher = connection.watch(b"")?;
    /// let mut tx = connection.start()?;
    /// tx.put(b"Ann", b"555-0101")?;
    /// // Snapshots are of the base until the transaction ends.
    /// assert!(connection.snapshot()?.get(b"Ann")?.is_none());
    /// assert!(watcher.next(Duration::ZERO)?.is_none());
    /// tx.commit()?;
    /// assert!(connection.snapshot()?.get(b"Ann")?.is_some());
    /// assert_eq!(watcher.next(Duration::from_secs(60))?.expect("a change").updates.len(), 1);
    /// # Ok::<(), permazen_ledger::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such branch, or the host fails.
    pub fn connect(&self, branch: &str) -> Result<Connection> {
        let (handle, unanswered) = (self.branching_database(branch)?, Arc::default());
        Ok(Connection { handle, unanswered, wait: WAIT })
    }
}

impl Connection {
    /// Sets how long [`start`](Connection::start) waits for watchers: a second unless set.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Starts a transaction. Its commit never fails because of others: if they have committed
    /// meanwhile, it makes a further head.
    ///
    /// Waits until the notifications of this connection are handled, but no longer than
    /// [`with_wait`](Connection::with_wait) says; then it starts anyway. Within a function that
    /// handles a notification it does not wait at all.
    ///
    /// # Errors
    /// [`LedgerError::TransactionInProgress`] if this connection has one already. If the branch was
    /// removed, or the host fails.
    pub fn start(&self) -> Result<Box<dyn KvTransaction + Send>> {
        let Some(tx) = self.handle.try_begin(&TxOptions::writing())? else {
            let (page, branch) = (self.handle.page(), self.handle.branch().to_owned());
            return Err(LedgerError::TransactionInProgress { page, branch });
        };
        if !is_told() {
            self.unanswered.wait(self.wait);
        }
        Ok(Box::new(tx))
    }

    /// Whether there is a transaction on this connection.
    pub fn is_in_transaction(&self) -> bool {
        self.handle.is_writing()
    }

    /// The commit at which the connection stands: that of its last transaction or snapshot.
    pub fn commit(&self) -> CommitId {
        self.handle.commit()
    }

    /// The state that the connection sees: the base while there is a transaction.
    ///
    /// # Errors
    /// If the branch was removed, or the host fails.
    pub fn snapshot(&self) -> Result<PageSnapshot> {
        self.handle.snapshot()
    }

    /// Watches the state that the connection sees: the watcher notifies of changes from here on in
    /// the entries whose keys start with `prefix`, by this connection or by others, as soon as the
    /// connection gets there.
    ///
    /// # Errors
    /// If the branch was removed, a thread cannot be started, or the host fails.
    pub fn watch(&self, prefix: &[u8]) -> Result<Watcher> {
        let (position, jumps) = self.handle.advance()?;
        let (handle, unanswered) = (self.handle.clone(), Arc::clone(&self.unanswered));
        let of = Some(Connected { handle, jumps, unanswered });
        let (shared, branch) = (self.handle.shared(), self.handle.branch());
        Watcher::new(shared, (branch, prefix), position, of)
    }

    /// The same path as a database, for example for objects. Its transactions are those of the
    /// connection, but they wait for no watchers.
    pub fn database(&self) -> &BranchingDatabase {
        &self.handle
    }
}
