//! Waiting for a key to change.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::store_parts::lock::lock;
use crate::{KvError, Result, Writes};

/// How many watches there can be.
const CAPACITY: usize = 10_000;

/// Waits once for a committed transaction that writes a key. It is also a future.
///
/// Any commit that touches the key counts: a put, even of the same value; an adjust; a remove, even
/// if the key was not there. A watch outlives the transaction it was made in, whether that commits
/// or not. Dropping the watch ends it.
///
/// ```
/// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
///
/// let store = MemoryStore::new();
/// let watch = store.begin(&TxOptions::reading())?.watch(b"key")?;
/// assert!(!watch.is_changed()?);
/// let mut tx = store.begin(&TxOptions::writing())?;
/// tx.put(b"key", b"value")?;
/// tx.commit()?;
/// watch.wait()?;
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[must_use = "a watch that is dropped is given up"]
pub struct KeyWatch {
    key: Vec<u8>,
    id: u64,
    slot: Arc<Slot>,
    table: Weak<Mutex<Table>>,
}

impl KeyWatch {
    /// The key that is watched.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether the key was written.
    ///
    /// # Errors
    /// [`KvError::Stale`] if the database was stopped before the key was written.
    pub fn is_changed(&self) -> Result<bool> {
        match self.slot.lock().end {
            None => Ok(false),
            Some(end) => end.result().map(|()| true),
        }
    }

    /// Waits until the key is written.
    ///
    /// # Errors
    /// [`KvError::Stale`] once the database is stopped.
    pub fn wait(&self) -> Result<()> {
        let mut state = self.slot.lock();
        loop {
            match state.end {
                Some(end) => return end.result(),
                None => {
                    state = self.slot.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Waits until the key is written, for at most `timeout`. Returns whether it was written.
    ///
    /// # Errors
    /// [`KvError::Stale`] once the database is stopped.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        let begun = Instant::now();
        let mut state = self.slot.lock();
        loop {
            if let Some(end) = state.end {
                return end.result().map(|()| true);
            }
            let Some(left) = timeout.checked_sub(begun.elapsed()) else { return Ok(false) };
            let waited = self.slot.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Future for KeyWatch {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut state = self.slot.lock();
        match state.end {
            Some(end) => Poll::Ready(end.result()),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for KeyWatch {
    fn drop(&mut self) {
        if let Some(table) = self.table.upgrade() {
            lock(&table).forget(&self.key, self.id);
        }
    }
}

impl fmt::Debug for KeyWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyWatch({}, {:?})", crate::Hex(&self.key), self.slot.lock().end)
    }
}

/// The watches of a database, which its store gets with the first of them
/// ([`AtomicKvStore::watched`](crate::AtomicKvStore::watched)): the database knows its own writes,
/// and its store reports the writes of others.
///
/// It does not keep the database open. Clones are the same watches.
#[derive(Clone)]
pub struct Watches {
    table: Weak<Mutex<Table>>,
}

impl Watches {
    /// Ends the watches of all keys that `writes` touches; the values do not matter. Costs a search
    /// for each change or for each watched key, whichever are fewer.
    pub fn note_others(&self, writes: &Writes) {
        self.take_written(writes).tell();
    }

    /// The watches of all keys that `writes` touches, which are no longer kept here. Their owners
    /// learn of it with [`tell`](WrittenWatches::tell), so that a store can find them under a lock
    /// of its own, and tell them without it. Costs as much as [`note_others`](Self::note_others).
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use permazen_kv::{Watches, Writes};
    ///
    /// fn others_wrote(told: &Mutex<u64>, watches: &Watches, version: u64, writes: &Writes) {
    ///     let mut told = told.lock().unwrap();
    ///     let written = watches.take_written(writes);
    ///     *told = version;
    ///     drop(told);
    ///     written.tell();
    /// }
    /// ```
    pub fn take_written(&self, writes: &Writes) -> WrittenWatches {
        let slots = self.table.upgrade().map(|table| take(&table, |table| table.touched(writes)));
        WrittenWatches { slots: slots.unwrap_or_default() }
    }

    /// How many watches there are; 0 once the database is dropped or stopped.
    pub fn len(&self) -> usize {
        self.table.upgrade().map_or(0, |table| lock(&table).by_age.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether these are the watches of the same database.
    pub fn is_same(&self, other: &Watches) -> bool {
        self.table.ptr_eq(&other.table)
    }
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watches({})", self.len())
    }
}

/// Watches that have ended and whose owners do not know it yet.
#[must_use = "the owners wait until they are told"]
pub struct WrittenWatches {
    slots: Vec<Arc<Slot>>,
}

impl WrittenWatches {
    /// Wakes the owners. Call it without a lock: an owner may do anything at once.
    pub fn tell(self) {
        complete(self.slots.iter(), End::Written);
    }
}

impl fmt::Debug for WrittenWatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WrittenWatches({})", self.slots.len())
    }
}

/// Keeps the watches of a database.
///
/// Holds at most 10,000 watches. If there are more, the oldest one ends as if its key had been
/// written, although it was not. Its owner then looks at the key, and watches it again if
/// necessary. Apart from that, a watch lasts until its key is written or the watch is dropped; then
/// it takes no room any more. Dropping the tracker ends them with an error.
///
/// ```
/// use permazen_kv::{Writes, remote::WatchTracker};
///
/// let tracker = WatchTracker::default();
/// let watch = tracker.watch(b"key");
/// let puts = [(b"key".to_vec(), Vec::new())].into();
/// tracker.notify(&Writes { puts, ..Writes::default() });
/// assert!(watch.is_changed()?);
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Default)]
pub struct WatchTracker {
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    by_key: BTreeMap<Vec<u8>, Vec<(u64, Arc<Slot>)>>,
    /// The keys by the age of their watches.
    by_age: BTreeMap<u64, Vec<u8>>,
    next_id: u64,
    closed: bool,
}

#[derive(Default)]
struct Slot {
    state: Mutex<WatchState>,
    changed: Condvar,
}

#[derive(Default)]
struct WatchState {
    end: Option<End>,
    waker: Option<Waker>,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Written,
    Stopped,
}

impl End {
    fn result(self) -> Result<()> {
        match self {
            End::Written => Ok(()),
            End::Stopped => Err(KvError::Stale("database was stopped".to_owned())),
        }
    }
}

impl WatchTracker {
    /// Begins to watch `key`. Costs O(log n) in the number of watches.
    pub fn watch(&self, key: &[u8]) -> KeyWatch {
        let slot = Arc::new(Slot::default());
        let mut table = lock(&self.table);
        let id = table.next_id;
        table.next_id += 1;
        let mut evicted = None;
        if table.closed {
            slot.complete(End::Stopped);
        } else {
            if table.by_age.len() >= CAPACITY
                && let Some((oldest, key)) = table.by_age.pop_first()
            {
                evicted = table.forget(&key, oldest);
            }
            table.by_age.insert(id, key.to_vec());
            table.by_key.entry(key.to_vec()).or_default().push((id, Arc::clone(&slot)));
        }
        // The lock is given up first, because completing a watch wakes its owner.
        drop(table);
        if let Some(evicted) = evicted {
            evicted.complete(End::Written);
        }
        KeyWatch { key: key.to_vec(), id, slot, table: Arc::downgrade(&self.table) }
    }

    /// Ends the watches of all keys that `writes` touches. Costs a search for each change or for
    /// each watched key, whichever are fewer.
    pub fn notify(&self, writes: &Writes) {
        self.take_written(writes).tell();
    }

    /// Ends the watches of all keys for which `written` is true. Calls `written` once for each
    /// watched key.
    pub fn notify_where(&self, written: impl Fn(&[u8]) -> bool) {
        self.take_where(written).tell();
    }

    /// The watches that [`notify`](Self::notify) ends, to be told when the caller has given up its
    /// locks.
    pub(crate) fn take_written(&self, writes: &Writes) -> WrittenWatches {
        WrittenWatches { slots: take(&self.table, |table| table.touched(writes)) }
    }

    /// The watches that [`notify_where`](Self::notify_where) ends, to be told when the caller has
    /// given up its locks.
    pub(crate) fn take_where(&self, written: impl Fn(&[u8]) -> bool) -> WrittenWatches {
        let find = |table: &Table| {
            table.by_key.keys().filter(|key| written(key)).cloned().collect::<Vec<_>>()
        };
        WrittenWatches { slots: take(&self.table, find) }
    }

    /// The watches, for a store that reports the writes of others.
    pub(crate) fn watches(&self) -> Watches {
        Watches { table: Arc::downgrade(&self.table) }
    }

    /// Ends all watches with an error, also watches that are made later.
    pub fn close(&self) {
        let mut table = lock(&self.table);
        table.closed = true;
        table.by_age.clear();
        let told = std::mem::take(&mut table.by_key);
        drop(table);
        complete(told.values().flatten().map(|(_, slot)| slot), End::Stopped);
    }

    /// How many watches there are.
    pub fn len(&self) -> usize {
        lock(&self.table).by_age.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Takes out the watches of the keys that `find` returns. They are told without the lock of the
/// table: a thread that is woken may drop a watch at once, which needs that lock.
fn take(table: &Mutex<Table>, find: impl FnOnce(&Table) -> Vec<Vec<u8>>) -> Vec<Arc<Slot>> {
    let mut table = lock(table);
    let mut taken = Vec::new();
    if table.by_key.is_empty() {
        return taken;
    }
    for key in find(&table) {
        for (id, slot) in table.by_key.remove(&key).unwrap_or_default() {
            table.by_age.remove(&id);
            taken.push(slot);
        }
    }
    taken
}

/// Completes watches. If the program panics when it is woken, it does so after all of them are
/// complete.
fn complete<'s>(slots: impl Iterator<Item = &'s Arc<Slot>>, end: End) {
    let mut panic = None;
    for slot in slots {
        if let Err(first) = catch_unwind(AssertUnwindSafe(|| slot.complete(end))) {
            panic.get_or_insert(first);
        }
    }
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl Drop for WatchTracker {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for WatchTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WatchTracker({} watches)", self.len())
    }
}

impl Table {
    /// The watched keys that `writes` touches.
    fn touched(&self, writes: &Writes) -> Vec<Vec<u8>> {
        if self.by_key.len() <= writes.len() {
            return self.by_key.keys().filter(|key| writes.touches(key)).cloned().collect();
        }
        let removed = writes.removes.iter().flat_map(|span| {
            let bounds = (Included(span.min), span.max.map_or(Unbounded, Excluded));
            self.by_key.range::<[u8], _>(bounds).map(|(key, _)| key)
        });
        removed.chain(writes.puts.keys()).chain(writes.adjusts.keys()).cloned().collect()
    }

    fn forget(&mut self, key: &[u8], id: u64) -> Option<Arc<Slot>> {
        self.by_age.remove(&id);
        let slots = self.by_key.get_mut(key)?;
        let at = slots.iter().position(|(slot, _)| *slot == id)?;
        let (_, slot) = slots.swap_remove(at);
        if slots.is_empty() {
            self.by_key.remove(key);
        }
        Some(slot)
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        lock(&self.state)
    }

    fn complete(&self, end: End) {
        let mut state = self.lock();
        state.end.get_or_insert(end);
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeySpan;

    fn put(keys: impl IntoIterator<Item = u8>) -> Writes {
        let puts = keys.into_iter().map(|key| (vec![key], vec![])).collect();
        Writes { puts, ..Writes::default() }
    }

    #[test]
    fn the_oldest_of_too_many_is_told_wrongly() {
        let tracker = WatchTracker::default();
        let watches: Vec<KeyWatch> = (0..=CAPACITY).map(|_| tracker.watch(b"key")).collect();
        assert_eq!(tracker.len(), CAPACITY);
        assert!(watches[0].is_changed().unwrap());
        assert!(!watches[1].is_changed().unwrap());
        drop(watches);
        assert_eq!(tracker.len(), 0);
    }

    #[test]
    fn a_watch_that_is_dropped_or_told_leaves_nothing_behind() {
        let tracker = WatchTracker::default();
        for round in 0..100_u8 {
            let (kept, dropped) = (tracker.watch(b"key"), tracker.watch(&[round]));
            assert_eq!(tracker.len(), 2);
            drop(dropped);
            assert_eq!(tracker.len(), 1);
            tracker.notify_where(|key| key == b"key");
            assert!(kept.is_changed().unwrap());
            assert_eq!(tracker.len(), 0);
            let table = lock(&tracker.table);
            assert!(table.by_key.is_empty() && table.by_age.is_empty());
        }
    }

    #[test]
    fn few_changes_and_many_find_the_same_watches() {
        for filler in [0, 100] {
            let tracker = WatchTracker::default();
            let watches = [1, 2, 3, 4, 5].map(|key| tracker.watch(&[key]));
            let mut writes = put((100..100 + filler).chain([2]));
            writes.removes.add(KeySpan::new(&[4], Some(&[5])));
            writes.adjusts.insert(vec![5], 1);
            tracker.notify(&writes);
            let told: Vec<bool> = watches.iter().map(|watch| watch.is_changed().unwrap()).collect();
            assert_eq!(told, [false, true, false, true, true]);
            assert_eq!(tracker.len(), 2);
        }
    }

    /// Panics when it is woken.
    struct Panics;

    impl std::task::Wake for Panics {
        #[allow(clippy::panic)]
        fn wake(self: Arc<Self>) {
            panic!("the program panics, as the test wants");
        }
    }

    #[test]
    fn a_program_that_panics_when_it_is_woken_loses_no_other_watch() {
        let tracker = WatchTracker::default();
        let mut watches: Vec<_> = (0..3).map(|_| Box::pin(tracker.watch(b"key"))).collect();
        let waker = Waker::from(Arc::new(Panics));
        for watch in &mut watches {
            assert!(watch.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let told = catch_unwind(AssertUnwindSafe(|| tracker.notify_where(|_| true)));
        assert!(told.is_err());
        assert!(watches.iter().all(|watch| watch.is_changed().unwrap()));
    }

    #[test]
    fn closing_ends_watches_present_and_future() {
        let tracker = WatchTracker::default();
        let watches = [tracker.watch(b"a"), tracker.watch(b"b")];
        tracker.notify(&Writes { puts: [(b"a".to_vec(), vec![])].into(), ..Writes::default() });
        tracker.close();
        assert!(watches[0].wait().is_ok());
        assert!(watches[1].wait_timeout(Duration::from_secs(9)).is_err());
        assert!(tracker.watch(b"c").is_changed().is_err());
        drop(tracker);
        drop(watches);
    }

    #[test]
    fn waiting_in_vain_ends() {
        let tracker = WatchTracker::default();
        assert!(!tracker.watch(b"a").wait_timeout(Duration::from_millis(2)).unwrap());
    }
}
