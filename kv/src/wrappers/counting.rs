//! A wrapper that counts the operations on a store, for tests of their costs.

use std::ops::Sub;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::contract::pass_on::pass_on;
use crate::store_parts::lock::lock;
use crate::wrappers::observed::{Observed, Observer, Operation};
use crate::{KvDatabase, KvTransaction, Result, Scan, TxOptions};

/// The number of operations, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operations {
    /// Transactions begun.
    pub begins: u64,
    /// Values read by their key.
    pub gets: u64,
    /// Searches in key order: scans begun, and first and last pairs read.
    pub seeks: u64,
    /// Pairs returned by scans.
    pub steps: u64,
    /// Values set.
    pub puts: u64,
    /// Keys removed singly.
    pub removes: u64,
    /// Spans removed.
    pub span_removes: u64,
    /// Counters adjusted.
    pub adjusts: u64,
    /// Snapshots taken.
    pub snapshots: u64,
    /// Transactions committed.
    pub commits: u64,
}

impl Operations {
    /// All operations that read.
    pub fn reads(&self) -> u64 {
        self.gets + self.seeks + self.steps
    }

    /// All operations that write.
    pub fn writes(&self) -> u64 {
        self.puts + self.removes + self.span_removes + self.adjusts
    }
}

/// The difference between two readings of a [`Counter`].
impl Sub for Operations {
    type Output = Operations;

    fn sub(self, earlier: Operations) -> Operations {
        Operations {
            begins: self.begins - earlier.begins,
            gets: self.gets - earlier.gets,
            seeks: self.seeks - earlier.seeks,
            steps: self.steps - earlier.steps,
            puts: self.puts - earlier.puts,
            removes: self.removes - earlier.removes,
            span_removes: self.span_removes - earlier.span_removes,
            adjusts: self.adjusts - earlier.adjusts,
            snapshots: self.snapshots - earlier.snapshots,
            commits: self.commits - earlier.commits,
        }
    }
}

/// The running counts of a [`CountingStore`]. Clones share them, so they can be read while a
/// transaction is open.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, TxOptions};
/// use permazen_kv::{counting::CountingStore, memory::MemoryStore};
///
/// let db = CountingStore::new(MemoryStore::new());
/// let counter = db.counter();
/// db.begin(&TxOptions::reading())?.get(b"key")?;
/// let operations = counter.take();
/// assert_eq!((operations.begins, operations.gets, operations.puts), (1, 1, 0));
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Counter {
    counts: Arc<Mutex<Operations>>,
}

impl Counter {
    /// The operations so far.
    pub fn read(&self) -> Operations {
        *self.counts()
    }

    /// The operations since the last call, or since the beginning.
    pub fn take(&self) -> Operations {
        std::mem::take(&mut self.counts())
    }

    fn counts(&self) -> MutexGuard<'_, Operations> {
        lock(&self.counts)
    }
}

/// A store whose operations are counted.
///
/// ```
/// use permazen_kv::counting::CountingStore;
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions, memory::MemoryStore};
///
/// let store = CountingStore::new(MemoryStore::new());
/// let mut tx = store.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"value")?;
/// tx.get(b"key")?;
/// let done = store.counter().read();
/// assert_eq!((done.puts, done.gets), (1, 1));
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CountingStore<D> {
    inner: D,
    counter: Counter,
}

impl<D> CountingStore<D> {
    /// Counts the operations on `inner` that are made through this wrapper.
    pub fn new(inner: D) -> Self {
        CountingStore { inner, counter: Counter::default() }
    }

    /// The running counts.
    pub fn counter(&self) -> Counter {
        self.counter.clone()
    }

    /// The wrapped store. Operations on it directly are not counted.
    pub fn inner(&self) -> &D {
        &self.inner
    }
}

impl<D: KvDatabase> KvDatabase for CountingStore<D> {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        let inner = self.inner.begin(options)?;
        self.counter.counts().begins += 1;
        Ok(Box::new(Observed::new(inner, self.counter())))
    }

    pass_on!(self => self.inner; STORE);
}

impl Observer for Counter {
    fn before(&self, operation: Operation) -> Result<()> {
        let mut counts = self.counts();
        let count = match operation {
            Operation::Get => &mut counts.gets,
            Operation::Seek => &mut counts.seeks,
            Operation::Put => &mut counts.puts,
            Operation::Remove => &mut counts.removes,
            Operation::RemoveSpan => &mut counts.span_removes,
            Operation::Adjust => &mut counts.adjusts,
            Operation::Snapshot => &mut counts.snapshots,
            Operation::Commit => &mut counts.commits,
        };
        *count += 1;
        Ok(())
    }

    fn steps<'a>(&'a self, scan: Scan<'a>) -> Scan<'a> {
        Box::new(scan.inspect(|_| self.counts().steps += 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use crate::optimistic::OptimisticDatabase;
    use crate::{Direction, KeySpan, KvRead, KvWrite};

    #[test]
    fn every_kind_is_counted_and_nothing_else() {
        let store = CountingStore::new(MemoryStore::new());
        let counter = store.counter();
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        for key in 0..5 {
            tx.put(&[key], &[0; 8]).unwrap();
        }
        tx.get(&[1]).unwrap();
        tx.adjust_counter(&[1], 5).unwrap();
        tx.remove(&[2]).unwrap();
        tx.remove_span(KeySpan::new(&[3], Some(&[4]))).unwrap();
        tx.at_least(&[0], None).unwrap();
        tx.at_most(&[0], None).unwrap();
        assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().take(2).count(), 2);
        let seen = counter.read();
        assert_eq!((seen.seeks, seen.steps, seen.gets, seen.puts), (3, 2, 1, 5));
        assert_eq!((seen.reads(), seen.writes()), (6, 8));
        let snapshot = tx.snapshot().unwrap();
        tx.commit().unwrap();
        snapshot.get(&[1]).unwrap();
        let after = counter.take() - seen;
        assert_eq!((after.snapshots, after.commits, after.gets), (1, 1, 1));
        assert_eq!(counter.read(), Operations::default());
    }

    #[test]
    fn reads_without_tracking_count_too() {
        let store = CountingStore::new(OptimisticDatabase::new(MemoryStore::new()));
        let tx = store.begin(&TxOptions::writing()).unwrap();
        let untracked = tx.untracked().unwrap();
        untracked.get(b"a").unwrap();
        assert_eq!(untracked.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 0);
        assert_eq!(store.counter().read().reads(), 2);
        let plain = CountingStore::new(MemoryStore::new());
        assert!(plain.begin(&TxOptions::writing()).unwrap().untracked().is_none());
    }
}
