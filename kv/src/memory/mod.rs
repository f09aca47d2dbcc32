//! An in-memory store. The rest of the crate may call the public items here, [`MemoryStore`] and
//! [`MemorySnapshot`]; the tree in `tree.rs` and `tree/` is for this folder only.
//!
//! The content is one persistent B+tree. Transactions and snapshots hold the version they began
//! with, which costs one reference count. Readers never wait. One transaction at a time may write;
//! it has that right from [`begin`](KvDatabase::begin) to its end. So the values that it has read
//! cannot change, and all transactions are strictly serializable without conflicts. For concurrent
//! writers, use the optimistic engine over this store.
//!
//! Nothing is kept on disk.

mod tree;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use self::tree::Tree;
use crate::contract::WatchTracker;
use crate::contract::pass_on::pass_on;
use crate::contract::store_id::StoreId;
use crate::store_parts::deadline::Deadline;
use crate::store_parts::write_lock::{WriteLock, WritePermit};
use crate::{
    Blob, Capabilities, Counters, Direction, KeySpan, KeyWatch, KvDatabase, KvRead, KvTransaction,
    KvWrite, Near, Pair, Result, Scan, SharedRead, Statistics, TxOptions, Visitor,
};

/// A sorted byte map in memory. Clones share their content.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
///
/// let store = MemoryStore::new();
/// let mut tx = store.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"value")?;
/// tx.commit()?;
/// assert_eq!(store.begin(&TxOptions::reading())?.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<SharedStore>,
}

struct SharedStore {
    current: RwLock<CommittedTree>,
    writer: Arc<WriteLock>,
    watches: WatchTracker,
    id: StoreId,
}

impl Default for SharedStore {
    fn default() -> Self {
        SharedStore {
            current: RwLock::default(),
            writer: WriteLock::of("a store in memory"),
            watches: WatchTracker::default(),
            id: StoreId::new(),
        }
    }
}

/// The result of the last commit.
#[derive(Clone, Default)]
struct CommittedTree {
    tree: Tree,
    /// The number of commits that changed something.
    version: u64,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    /// The present content. Later changes do not affect the snapshot. Costs one reference count.
    pub fn snapshot(&self) -> MemorySnapshot {
        MemorySnapshot { tree: self.current().tree }
    }

    fn begin_apart(&self, options: &TxOptions) -> Result<MemoryTransaction> {
        let permit =
            if options.read_only { None } else { Some(self.shared.writer.acquire_for(options)?) };
        let CommittedTree { tree, version } = self.current();
        let writer = permit.map(|permit| Writer { permit, before: tree.clone() });
        let seen = MemorySnapshot { tree: tree.for_changes(version + 1) };
        let deadline = Deadline::new(options.timeout);
        Ok(MemoryTransaction { store: self.clone(), version, seen, writer, deadline })
    }

    fn current(&self) -> CommittedTree {
        // A state is replaced by one assignment, so it is whole even after a panic in another
        // thread.
        self.shared.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, state: CommittedTree) {
        let mut current = self.shared.current.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *current, state);
        drop(current);
        // Freeing the old state can take long, so it is not done under the lock.
        drop(old);
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("entries", &self.current().tree.len()).finish()
    }
}

impl KvDatabase for MemoryStore {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        let counts = self.shared.writer.counts();
        counts.begin(options, || Ok(Box::new(self.begin_apart(options)?)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut offered = Capabilities::none();
        offered.serializable = true;
        offered.snapshots = true;
        offered.watches = true;
        offered.timeouts = true;
        offered.read_only_switch = true;
        offered
    }

    fn statistics(&self) -> Result<Statistics> {
        let tree = self.current().tree;
        Ok(Statistics {
            entries: Some(tree.len() as u64),
            used_bytes: Some(tree.bytes() as u64),
            ..Statistics::default()
        })
    }

    fn counters(&self) -> Counters {
        self.shared.writer.counts().of_turns()
    }

    fn identity(&self) -> Option<StoreId> {
        Some(self.shared.id)
    }
}

/// A fixed state of a [`MemoryStore`].
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
///
/// let store = MemoryStore::new();
/// let before = store.snapshot();
/// let mut tx = store.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"value")?;
/// tx.commit()?;
/// assert!(before.get(b"key")?.is_none() && store.snapshot().get(b"key")?.is_some());
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Clone)]
pub struct MemorySnapshot {
    tree: Tree,
}

impl fmt::Debug for MemorySnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySnapshot").field("entries", &self.tree.len()).finish()
    }
}

impl KvRead for MemorySnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        Ok(self.tree.get(key).map(Cow::Borrowed))
    }

    fn get_near(&self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        let found = self.tree.get_near(key, near);
        Ok(found.map(|(value, near)| (Cow::Borrowed(value), near.map(Cow::Borrowed))))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        span.check()?;
        if span.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        let pairs: Option<Scan<'a>> = match direction {
            Direction::Forward => {
                let pairs = self.tree.ascend(span.min, span.max);
                pairs.map(|pairs| Box::new(pairs.map(|found| Ok(pair(found)))) as _)
            }
            Direction::Reverse => {
                let pairs = self.tree.descend(span.min, span.max);
                pairs.map(|pairs| Box::new(pairs.map(|found| Ok(pair(found)))) as _)
            }
        };
        Ok(pairs.unwrap_or_else(|| Box::new(std::iter::empty())))
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        span.check()?;
        if span.is_empty() {
            return Ok(());
        }
        // A visitor that breaks is no error.
        let _ = match direction {
            Direction::Forward => {
                self.tree.ascend(span.min, span.max).map(|pairs| pairs.show(visitor))
            }
            Direction::Reverse => {
                self.tree.descend(span.min, span.max).map(|pairs| pairs.show(visitor))
            }
        };
        Ok(())
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        let found = self.tree.at_least(min);
        Ok(found.filter(|(key, _)| max.is_none_or(|max| *key < max)).map(pair))
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        Ok(self.tree.below(max).filter(|(key, _)| *key >= min).map(pair))
    }
}

fn pair<'a>((key, value): (&'a [u8], &'a [u8])) -> Pair<'a> {
    (Cow::Borrowed(key), Cow::Borrowed(value))
}

/// A transaction: the version it began with, changed by its own writes.
struct MemoryTransaction {
    store: MemoryStore,
    /// The number of the version it began with.
    version: u64,
    seen: MemorySnapshot,
    /// `None` in a read-only transaction.
    writer: Option<Writer>,
    deadline: Deadline,
}

/// The state of a transaction that writes.
struct Writer {
    /// The right to write.
    permit: WritePermit,
    /// The version that the transaction began with. While it is held here, no node of it is changed
    /// in place.
    before: Tree,
}

impl MemoryTransaction {
    fn seen(&self) -> Result<&MemorySnapshot> {
        self.deadline.check()?;
        Ok(&self.seen)
    }

    fn tree(&mut self) -> Result<&mut Tree> {
        self.deadline.check()?;
        Ok(&mut self.seen.tree)
    }
}

impl KvRead for MemoryTransaction {
    pass_on!(self => self.seen()?; READS);
}

impl KvWrite for MemoryTransaction {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.tree()?.insert(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.tree()?.remove(key);
        Ok(())
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        let tree = self.tree()?;
        span.check()?;
        tree.remove_range(span.min, span.max);
        Ok(())
    }
}

impl KvTransaction for MemoryTransaction {
    fn is_read_only(&self) -> bool {
        self.writer.is_none()
    }

    /// Possible at any time. Gives up the right to write, so that others can have it.
    fn set_read_only(&mut self) -> Result<()> {
        self.deadline.check()?;
        self.writer = None;
        Ok(())
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.deadline.set(timeout)
    }

    fn version(&self) -> Option<u64> {
        Some(self.version)
    }

    fn snapshot(&self) -> Result<SharedRead> {
        Ok(Arc::new(self.seen()?.clone()))
    }

    fn watch(&mut self, key: &[u8]) -> Result<KeyWatch> {
        self.deadline.check()?;
        Ok(self.store.shared.watches.watch(key))
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.deadline.check()?;
        let MemoryTransaction { store, version, seen, writer, .. } = *self;
        let tree = &seen.tree;
        if let Some(Writer { permit, before }) = writer
            && !tree.same_as(&before)
        {
            store.publish(CommittedTree { tree: tree.clone(), version: version + 1 });
            let written = store.shared.watches.take_where(|key| tree.has_written(&before, key));
            // The commit is over: a waker that is called on this thread may write at once.
            drop(permit);
            written.tell();
            return store.shared.writer.counts().committed(Ok(()));
        }
        Ok(())
    }

    fn rollback(self: Box<Self>) {}
}
