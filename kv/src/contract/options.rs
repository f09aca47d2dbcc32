//! How a transaction begins: the options that its caller can choose.

use std::time::Duration;

/// Options of a new transaction.
///
/// ```
/// use std::time::Duration;
///
/// use permazen_kv::{KvDatabase, TxOptions, memory::MemoryStore};
///
/// let store = MemoryStore::new();
/// let _writer = store.begin(&TxOptions::writing())?;
/// // The first transaction has the right to write, so one that does not wait for it fails.
/// let second = store.begin(&TxOptions::writing().with_wait(Duration::ZERO));
/// assert!(second.is_err_and(|error| error.is_retryable()));
/// assert!(store.begin(&TxOptions::reading())?.is_read_only());
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TxOptions {
    /// Begins a transaction that sees one state and does not take the right to write. It sees its
    /// own writes; `commit` discards them.
    pub read_only: bool,
    /// How long to wait for the right to write, where only one transaction can have it. Zero tries
    /// once; but if another process has the right, LMDB waits for up to 100 ms, and longer if the
    /// processors are too busy to find that out. `None` is 30 seconds, or 3 seconds on SQLite for a
    /// transaction that takes the right with its first write (`late_lock`). When the time is over,
    /// the error is retryable.
    pub wait: Option<Duration>,
    /// How long the transaction may be used, see
    /// [`KvTransaction::set_timeout`](crate::KvTransaction::set_timeout). `None` means no limit;
    /// with zero, already the first operation fails.
    pub timeout: Option<Duration>,
    /// How often this work was tried before and failed for a reason that may pass;
    /// [`Retry`](crate::Retry) counts it. A transaction that has failed five times gets its turn.
    /// On the optimistic engine, commits of other threads then wait until it ends, for at most
    /// their [`wait`](TxOptions::wait). Every second turn also takes the right to write to the
    /// underlying store, so that other processes and direct writers wait too. On SQLite with
    /// `late_lock`, it takes the right to write when it begins.
    pub failed: u32,
    /// The values that a read-only transaction reads can be relied on at once, and its `commit`
    /// cannot fail because of other transactions. In most stores this is always so. A store that
    /// may find a conflict of a transaction that only reads, such as PostgreSQL, delays the first
    /// read until no conflict is possible, for at most [`wait`](TxOptions::wait): until the
    /// transactions that write at that moment have ended. Good for long reads, such as checks and
    /// copies of the whole database. A store that cannot wait for that ignores it, and so does a
    /// transaction that writes.
    pub certain: bool,
    /// The transaction ends on the thread that begins it. In between, other threads may use it. On
    /// LMDB, a transaction that writes then begins and ends several times faster, because no other
    /// thread needs to be woken. If it ends on another thread nevertheless, it is rolled back, and
    /// its `commit` is [`KvError::IllegalState`](crate::KvError::IllegalState); others get the
    /// right to write when the first thread begins another transaction or ends. If the first thread
    /// ends before the transaction, operations in it and further steps of its iterators are
    /// [`KvError::Stale`](crate::KvError::Stale). Stores to which the thread does not matter ignore
    /// it.
    pub ends_here: bool,
    /// The transaction can be committed in a group with others that wait at the same time, so that
    /// one flush serves all. Set this only if the transaction is run again after a retryable error,
    /// as closures are, and is used on one thread. Only LMDB and SQLite make groups, of
    /// transactions that have not [`failed`](TxOptions::failed) before.
    ///
    /// Any operation of such a transaction, and its commit, can be
    /// [`KvError::Retry`](crate::KvError::Retry): it took longer than the others can wait (10 ms),
    /// or the store has no room for all of them. Its `commit`, and the end of one that fails, wait
    /// until the group is on the disk. It has no [`version`](crate::KvTransaction::version), unless
    /// it is the first of the group; all commits of a group add one to that number together.
    pub in_group: bool,
    /// It is the first attempt, although [`failed`](TxOptions::failed) makes it take its turn.
    pub(crate) is_first: bool,
}

/// How long a transaction waits for its turn to write, or for a store on another machine, if its
/// options do not say: 30 seconds.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(30);

/// After this many failures a transaction gets its turn.
pub(crate) const TURN_AFTER: u32 = 5;

impl TxOptions {
    /// A transaction that reads and writes.
    pub fn writing() -> Self {
        TxOptions::default()
    }

    /// A read-only transaction.
    pub fn reading() -> Self {
        TxOptions { read_only: true, ..TxOptions::default() }
    }

    /// Sets how long to wait for the right to write.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Sets how long the transaction may be used. With zero, already the first operation fails.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how often this work was tried before.
    #[must_use]
    pub fn with_failed(mut self, failed: u32) -> Self {
        self.failed = failed;
        self
    }

    /// The values read can be relied on at once, see [`certain`](TxOptions::certain).
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let tx = store.begin(&TxOptions::reading().with_certainty())?;
    /// assert!(tx.get(b"key")?.is_none());
    /// tx.commit()?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn with_certainty(mut self) -> Self {
        self.certain = true;
        self
    }

    /// The transaction ends on the thread that begins it, see [`ends_here`](TxOptions::ends_here).
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvTransaction, KvWrite, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut tx = store.begin(&TxOptions::writing().ending_here())?;
    /// tx.put(b"key", b"value")?;
    /// tx.commit()?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn ending_here(mut self) -> Self {
        self.ends_here = true;
        self
    }

    /// The transaction can be committed in a group, see [`in_group`](TxOptions::in_group).
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvTransaction, KvWrite, Retry, TxOptions};
    /// use permazen_kv::{KvError, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let options = TxOptions::writing().ending_here().in_group();
    /// Retry::default().run(
    ///     |failed| store.begin(&options.after_failures(failed)),
    ///     |mut tx| {
    ///         tx.put(b"key", b"value")?;
    ///         tx.commit()
    ///     },
    ///     KvError::is_retryable,
    /// )?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn in_group(mut self) -> Self {
        self.in_group = true;
        self
    }

    /// These options for another attempt, after `failed` more failures.
    #[must_use]
    pub fn after_failures(&self, failed: u32) -> Self {
        let failed = self.failed.saturating_add(failed);
        TxOptions { failed, ..self.clone() }
    }

    /// Whether the transaction has failed so often that it must get its turn.
    pub(crate) fn has_turn(&self) -> bool {
        !self.read_only && self.failed >= TURN_AFTER
    }

    /// Whether the transaction ends on the thread that begins it, so that this thread would wait
    /// for itself if it began another one while this one has the right to write.
    pub(crate) fn stays_here(&self) -> bool {
        self.ends_here || self.in_group
    }

    /// How long to wait for the right to write.
    pub(crate) fn writer_wait(&self) -> Duration {
        self.wait.unwrap_or(DEFAULT_WAIT)
    }
}
