//! The contract of a store: a database, and the transactions that are begun on it.

use std::fmt;
use std::time::Duration;

use super::capabilities::{Capabilities, Statistics};
use super::counters::Counters;
use super::options::TxOptions;
use super::pairs::{KvRead, KvWrite, SharedRead};
use super::space::Space;
use super::store_id::StoreId;
use crate::{KeySpan, KeyWatch, KvError, Result, Writes};

/// A transaction. Dropping it rolls back.
///
/// Transactions are strictly serializable unless the [`Capabilities`] of the store say otherwise.
/// Do not rely on values that you have read until `commit` has succeeded.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
///
/// let store = MemoryStore::new();
/// let mut tx = store.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"value")?;
/// let snapshot = tx.snapshot()?;
/// tx.rollback();
/// assert!(snapshot.get(b"key")?.is_some());
/// assert!(store.begin(&TxOptions::reading())?.get(b"key")?.is_none());
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
pub trait KvTransaction: KvWrite {
    /// Whether `commit` discards writes. Free.
    fn is_read_only(&self) -> bool;

    /// Makes this a read-only transaction from now on: `commit` will discard everything that is
    /// written in it, before or after this call. Free. In some stores, the transaction gives up the
    /// right to write with this call. Then another transaction can take that right before this one
    /// ends.
    ///
    /// # Errors
    /// [`KvError::IllegalState`] if the store cannot switch after the first access; the transaction
    /// stays usable.
    fn set_read_only(&mut self) -> Result<()>;

    /// Limits how long the transaction may be used, counted from its beginning. `None` means no
    /// limit. Accesses after that time fail with [`KvError::Timeout`]; with a limit of zero, all of
    /// them do. Free; but with a limit, each access looks at the clock. A transaction whose time is
    /// over stays so.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the store has no time-outs, [`KvError::Timeout`] if the time is
    /// over already.
    fn set_timeout(&mut self, _timeout: Option<Duration>) -> Result<()> {
        Err(KvError::Unsupported("a transaction time-out"))
    }

    /// A consistent view of the state that this transaction sees now, with its own writes. Later
    /// changes do not affect the view, and it outlives the transaction. Costs a reference count,
    /// and a copy of the writes if the transaction keeps them in memory (read-only and optimistic
    /// ones). On LMDB, the view takes a reader slot until it is dropped, and its reads from several
    /// threads take turns.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the store cannot do it: transactions of LMDB and SQLite that
    /// write.
    fn snapshot(&self) -> Result<SharedRead> {
        Err(KvError::Unsupported("a snapshot of a transaction"))
    }

    /// The number of the committed state that this transaction reads. If two transactions of one
    /// store return the same number, they see the same pairs, apart from their own writes. So
    /// several threads can read one state, each in its own transaction, and compare the numbers to
    /// be sure of it. A commit that puts or removes a pair adds one to the number; a commit that
    /// finds nothing to change does not. Transactions that are committed as a group
    /// ([`TxOptions::in_group`]) add one together. Free.
    ///
    /// If other programs write to the same files, LMDB counts their commits in the same way. SQLite
    /// does not count: its numbers have a meaning only for the store object that returned them.
    /// Commits of others, also through other store objects, add at least one between two
    /// transactions of that object, however many they are.
    ///
    /// `None` if the store cannot tell, and in a transaction that has joined the group of another
    /// one.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Begins to watch `key`: the [`KeyWatch`] ends when a later commit writes the key. It does not
    /// end with the transaction, even if that is rolled back. Costs O(log n) in the number of
    /// watches, here and for the commit that writes the key.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the store has no watches.
    fn watch(&mut self, _key: &[u8]) -> Result<KeyWatch> {
        Err(KvError::Unsupported("watching a key"))
    }

    /// Reads the state that this transaction sees, without the risk of a conflict: if another
    /// transaction changes values that were read in this way, this one does not fail.
    ///
    /// Free. Its reads cost as much as reads of the transaction, without the tracking.
    ///
    /// `None` if the store does not track reads, so that there is no difference.
    fn untracked(&self) -> Option<&dyn KvRead> {
        None
    }

    /// The writes of this transaction that are not committed yet, and the content that they change.
    /// For tools that show the changes before they are committed. Free. Reading the content costs
    /// as much as reading [`snapshot`](Self::snapshot), and is not tracked, except by a server that
    /// tracks each request ([`Capabilities::lazy_begin`]).
    ///
    /// `None` if the store does not keep the writes apart from the content: transactions of LMDB,
    /// SQLite and the store in memory that write. Transactions of the optimistic engine do keep
    /// them, and so do read-only transactions of LMDB and SQLite. Transactions of a store on a
    /// server keep up to 64 MiB of them.
    ///
    /// ```
    /// use permazen_kv::memory::MemoryStore;
    /// use permazen_kv::optimistic::OptimisticDatabase;
    /// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
    ///
    /// let db = OptimisticDatabase::new(MemoryStore::new());
    /// let mut tx = db.begin(&TxOptions::writing())?;
    /// tx.put(b"key", b"value")?;
    /// let pending = tx.pending().unwrap();
    /// assert_eq!(pending.writes.puts.len(), 1);
    /// assert!(pending.base.get(b"key")?.is_none());
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn pending(&self) -> Option<Pending<'_>> {
        None
    }

    /// Makes the changes visible to others, and durable as far as the options of the store promise
    /// it. A read-only transaction discards its writes. Costs the work that the store needs to keep
    /// the changes, and nothing if there are no changes.
    ///
    /// # Errors
    /// [`KvError::Conflict`] if transactions are checked when they commit, [`KvError::Full`],
    /// [`KvError::Timeout`], and failures of the store. After any error except
    /// [`KvError::OutcomeUnknown`], the transaction is rolled back.
    fn commit(self: Box<Self>) -> Result<()>;

    /// Discards the changes. Never fails. Dropping the transaction does the same. Costs at most a
    /// step for each change.
    fn rollback(self: Box<Self>);
}

/// The writes of a transaction that are not committed: see [`KvTransaction::pending`].
#[derive(Clone)]
pub struct Pending<'t> {
    /// The changes so far. Made in [`base`](Self::base), they lead to the state that the
    /// transaction sees.
    pub writes: &'t Writes,
    /// The content that they change: the state that the transaction saw when it began. It outlives
    /// the transaction; only the content of a store on a server ends with the commit of a
    /// transaction that writes.
    pub base: SharedRead,
}

impl fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("writes", &self.writes.len()).finish_non_exhaustive()
    }
}

/// A database, on which transactions can be begun.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, Result, TxOptions, memory::MemoryStore};
///
/// /// Works on any store.
/// fn greet(db: &dyn KvDatabase) -> Result<()> {
///     let mut tx = db.begin(&TxOptions::writing())?;
///     tx.put(b"greeting", b"hello")?;
///     tx.commit()
/// }
///
/// let store = MemoryStore::new();
/// greet(&store)?;
/// assert_eq!(store.statistics()?.entries, Some(1));
/// assert!(store.capabilities().snapshots);
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
pub trait KvDatabase: Send + Sync {
    /// Begins a transaction. Reads no pairs.
    ///
    /// The transaction borrows nothing: it shares its resources with the database. If the database
    /// is dropped first, the store stays open until the transaction ends.
    ///
    /// In stores with one writer at a time, a transaction that writes waits here for the right to
    /// write (see [`TxOptions::wait`]), unless it takes that right with its first write
    /// (`late_lock` of SQLite). On the optimistic engine, only a transaction that gets its turn
    /// (see [`TxOptions::failed`]) can wait here.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvRead, TxOptions, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let tx = store.begin(&TxOptions::reading())?;
    /// drop(store);
    /// assert!(tx.get(b"key")?.is_none());
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    ///
    /// # Errors
    /// Retryable if the right to write was not free in time. [`KvError::ReadersFull`] if there are
    /// too many readers.
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>>;

    /// The operations that this store offers beyond the basic ones. Free.
    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }

    /// Checks the structure of the store below the pairs. Returns a description of each defect; an
    /// empty list if there is none. Reads the whole store.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the store has no such check.
    fn verify(&self) -> Result<Vec<String>> {
        Err(KvError::Unsupported("checking the structure of the store"))
    }

    /// The space that the pairs of each of `spans` take in the file of the store. The spans ascend,
    /// and none overlaps another one. Reads all pairs in the file.
    ///
    /// ```
    /// use permazen_kv::{KeySpan, KvDatabase, KvDatabaseExt, KvWrite, lmdb::LmdbStore};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let store = LmdbStore::open_or_create(directory.path())?;
    /// store.write(|tx| tx.put(b"key", b"value"))?;
    /// let space = store.space(&[KeySpan::FULL])?[0];
    /// assert_eq!((space.pairs, space.pair_bytes), (1, 8));
    /// assert!(space.fill() < 0.02, "one small pair in a page");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the store does not know, [`KvError::InvalidArgument`] if the
    /// spans are in another order, and [`KvError::Damaged`].
    fn space(&self, spans: &[KeySpan<'_>]) -> Result<Vec<Space>> {
        let _ = spans;
        Err(KvError::Unsupported("what pairs take in the file"))
    }

    /// Figures about the present state of the store. Reads no pairs.
    ///
    /// # Errors
    /// [`KvError::Unsupported`] if the store has none.
    fn statistics(&self) -> Result<Statistics> {
        Err(KvError::Unsupported("statistics"))
    }

    /// Counts of the operations on this store since this process opened it. Nothing is counted
    /// unless the store says so. Clones of a store count together, and so do stores that share an
    /// open environment. Free; asks no server.
    ///
    /// ```
    /// use permazen_kv::{KvDatabase, KvDatabaseExt, KvWrite, memory::MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// store.write(|tx| tx.put(b"key", b"value"))?;
    /// println!("{:?}", store.counters());
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// The identity of this store. Clones of a store have the same, and so have all openings of one
    /// file or environment in this process, and a wrapper and what it wraps. Free.
    ///
    /// `None` if other stores of this process may share its content and cannot be told from those
    /// that do not, as on servers, which have several addresses.
    #[doc(hidden)]
    fn identity(&self) -> Option<StoreId> {
        None
    }
}
