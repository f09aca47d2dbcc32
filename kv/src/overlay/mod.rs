//! Changes over a store that stays as it is, with a record of the reads. The rest of the crate may
//! call [`MutableView`], `branch.rs` (edits that outlive a transaction) and `conflict.rs` (whether
//! changes affect reads). `layers.rs` holds base, changes and record; `merged_read.rs` and
//! `scan.rs` read base and changes as one; `read_record.rs` is the record.

pub(crate) mod branch;
pub(crate) mod conflict;
mod layers;
mod merged_read;
mod read_record;
mod scan;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::{Arc, Mutex, PoisonError};

use self::conflict::conflicts;
use self::layers::Layers;
use self::merged_read::MergedRead;
use self::read_record::Reads;
use crate::contract::pass_on::pass_on;
use crate::{
    Conflict, KeyRanges, KeySpan, KvError, KvRead, KvWrite, Pending, Result, SharedRead, Writes,
};

/// A view of a base store that can be changed. The view keeps the changes as [`Writes`]; it never
/// changes the base.
///
/// Unless it was made by [`untracked`](MutableView::untracked), the view also records on which keys
/// and gaps of the *base* its answers depend. So it can say later whether changes that others made
/// to the base matter ([`conflict_with`](MutableView::conflict_with)). Answers from the view's own
/// changes depend on nothing. A scan is recorded step by step, as far as it came. The record may
/// contain more than was read, but never less: of more than 262,144 single keys, neighbours become
/// one range.
///
/// Adjusting a counter reads nothing: the view keeps the sum, and adds it when the counter is
/// read.
///
/// The base must not change while the view exists: give it a snapshot.
///
/// ```
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, memory::MemoryStore, overlay::MutableView};
///
/// let store = MemoryStore::new();
/// let mut view = MutableView::new(store.snapshot());
/// view.put(&[0x20], b"new")?;
/// assert!(view.get(&[0x20])?.is_some());
/// assert!(view.get(&[0x30])?.is_none());
/// assert_eq!(view.reads().to_string(), "[[30]]");
/// assert_eq!(view.writes().puts.len(), 1);
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
pub struct MutableView<B> {
    layers: Layers<B>,
    max_key_len: usize,
}

impl<B: KvRead> MutableView<B> {
    /// A view of `base` that records reads.
    pub fn new(base: B) -> Self {
        let mut view = Self::untracked(base);
        view.layers.reads = Some(Mutex::default());
        view
    }

    /// A view of `base` that does not record reads.
    pub fn untracked(base: B) -> Self {
        let max_key_len = base.max_key_len();
        let layers = Layers { base, writes: Writes::default(), reads: None };
        MutableView { layers, max_key_len }
    }

    /// The base store.
    pub fn base(&self) -> &B {
        &self.layers.base
    }

    /// The changes made so far.
    pub fn writes(&self) -> &Writes {
        &self.layers.writes
    }

    /// The ranges on which the answers so far depend. Empty if nothing is recorded.
    ///
    /// Sorts the record, which costs O(n log n) in the reads since the last call.
    pub fn reads(&self) -> KeyRanges {
        self.layers.record().map_or_else(KeyRanges::new, |mut reads| reads.ranges().clone())
    }

    /// Forgets the recorded reads, and records nothing from now on. This cannot be undone.
    pub fn disable_read_tracking(&mut self) {
        self.layers.reads = None;
    }

    /// The same view for reads that are not recorded. Their results may be outdated when the
    /// transaction commits, and the commit does not notice.
    ///
    /// ```
    /// use permazen_kv::{KvRead, memory::MemoryStore, overlay::MutableView};
    ///
    /// let view = MutableView::new(MemoryStore::new().snapshot());
    /// view.weak().get(b"key")?;
    /// assert!(view.reads().is_empty());
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    pub fn weak(&self) -> impl KvRead + '_ {
        WeakReads(self)
    }

    /// The first conflict between the recorded reads and the `writes` that others have made to the
    /// base since.
    ///
    /// Writes never conflict with writes. Keys decide, not values: a put of the same value
    /// conflicts. Costs as much as [`reads`](MutableView::reads), and a search for each range read
    /// or for each change, whichever are fewer.
    pub fn conflict_with(&self, writes: &Writes) -> Option<Conflict> {
        conflicts(self.layers.record()?.ranges(), writes).next()
    }

    /// The changes, without the recorded reads.
    pub fn into_writes(self) -> Writes {
        self.layers.writes
    }

    /// The base, the recorded reads from it, and the changes.
    pub fn into_parts(self) -> (B, KeyRanges, Writes) {
        let reads = self
            .layers
            .reads
            .map(|reads| reads.into_inner().unwrap_or_else(PoisonError::into_inner));
        (
            self.layers.base,
            reads.map_or_else(KeyRanges::new, Reads::into_ranges),
            self.layers.writes,
        )
    }

    /// A view of the same base with the same changes, which does not record reads.
    pub(crate) fn copy_changes(&self) -> MutableView<B>
    where
        B: Clone,
    {
        let mut copy = MutableView::untracked(self.layers.base.clone());
        copy.layers.writes = self.layers.writes.clone();
        copy
    }

    /// Reads of this view. They are recorded if `track` is true and the view records reads.
    pub(crate) fn reading(&self, track: bool) -> MergedRead<'_, B> {
        MergedRead::new(&self.layers, track)
    }

    fn check_change(&self, key: &[u8]) -> Result<()> {
        if key.len() > self.max_key_len {
            return Err(KvError::key_too_long(key, self.max_key_len));
        }
        Ok(())
    }
}

impl MutableView<SharedRead> {
    /// The present content of this view; later changes do not affect it. Costs a copy of the
    /// changes made so far.
    pub fn snapshot(&self) -> SharedRead {
        // Without changes the base itself is the snapshot.
        if self.layers.writes.is_empty() {
            return Arc::clone(&self.layers.base);
        }
        Arc::new(self.copy_changes())
    }

    /// The changes made so far, with the base.
    pub fn pending(&self) -> Pending<'_> {
        Pending { writes: self.writes(), base: Arc::clone(self.base()) }
    }
}

impl<B: KvRead> KvRead for MutableView<B> {
    pass_on!(self => self.reading(true); get, scan, visit, at_least, at_most);
    pass_on!(self => self.layers.base; encode_counter, decode_counter, prefetch);

    fn max_key_len(&self) -> usize {
        self.max_key_len
    }

    fn content_name(&self) -> Option<[u8; 48]> {
        // With a change it is another content, which has no name.
        self.writes().is_empty().then(|| self.layers.base.content_name()).flatten()
    }
}

impl<B: KvRead> KvWrite for MutableView<B> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_change(key)?;
        // A put overrides earlier additions.
        if !self.layers.writes.adjusts.is_empty() {
            self.layers.writes.adjusts.remove(key);
        }
        self.layers.writes.puts.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.layers.writes.adjusts.remove(key);
        self.layers.writes.puts.remove(key);
        self.layers.writes.removes.add_key(key);
        Ok(())
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        span.check()?;
        if !span.is_empty() {
            remove_from(&mut self.layers.writes.puts, span);
            remove_from(&mut self.layers.writes.adjusts, span);
            self.layers.writes.removes.add(span);
        }
        Ok(())
    }

    /// Reads nothing, so it does not conflict with other adjusts of the same counter.
    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        // Adds to a value that was put here: the base need not be read.
        if let Some(value) = self.layers.writes.puts.get_mut(key) {
            if let Ok(count) = self.layers.base.decode_counter(value) {
                *value = self.layers.base.encode_counter(count.wrapping_add(by)).to_vec();
            }
            return Ok(());
        }
        // The key is absent in this view, and an absent counter stays absent.
        if self.layers.writes.removes.contains(key) {
            return Ok(());
        }
        let sum = by.wrapping_add(self.layers.writes.adjusts.get(key).copied().unwrap_or(0));
        // A sum of zero changes nothing.
        if sum == 0 {
            self.layers.writes.adjusts.remove(key);
        } else {
            self.layers.writes.adjusts.insert(key.to_vec(), sum);
        }
        Ok(())
    }
}

fn remove_from<V>(map: &mut BTreeMap<Vec<u8>, V>, span: KeySpan<'_>) {
    if !map.is_empty() {
        let max = span.max.map_or(Unbounded, |max| Excluded(max.to_vec()));
        map.extract_if((Included(span.min.to_vec()), max), |_, _| true).for_each(drop);
    }
}

impl<B> fmt::Debug for MutableView<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutableView")
            .field("writes", &self.layers.writes.len())
            .field("tracking", &self.layers.reads.is_some())
            .finish_non_exhaustive()
    }
}

/// Reads of a [`MutableView`] that are not recorded.
struct WeakReads<'v, B>(&'v MutableView<B>);

impl<B: KvRead> KvRead for WeakReads<'_, B> {
    pass_on!(self => self.0.reading(false); get, scan, visit, at_least, at_most);
    pass_on!(self => self.0; LIMITS);
}
