//! Changes over a store that stays as it is, with a record of what was read (kv §8.1).

pub(crate) mod branch;
pub(crate) mod conflict;
mod layers;
mod reading;
mod reads;
mod scan;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::{Arc, Mutex, PoisonError};

use self::conflict::conflicts;
use self::layers::Layers;
use self::reading::Reading;
use self::reads::Reads;
use crate::contract::pass_on::pass_on;
use crate::{Conflict, KeyRanges, KeySpan, KvError, KvRead, KvWrite, Result, SharedRead, Writes};

/// A view of a base store that can be changed: the changes are kept here as [`Writes`], the base
/// is never touched.
///
/// Unless it was made [`untracked`](MutableView::untracked), the view also records which keys and
/// gaps of the *base* its answers depend on, so that it can be told later whether changes made to
/// the base meanwhile matter ([`conflict_with`](MutableView::conflict_with)). What the view answers from
/// its own changes depends on nothing; a scan is recorded step by step, as far as it came. The
/// record may say more than was read but never less.
///
/// Adjusting a counter reads nothing: the sum is kept and added when somebody looks.
///
/// The base must not change under the view; give it a snapshot.
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
    /// A view of `base` that records what is read.
    pub fn new(base: B) -> Self {
        let mut view = Self::untracked(base);
        view.layers.reads = Some(Mutex::default());
        view
    }

    /// A view of `base` that does not record what is read.
    pub fn untracked(base: B) -> Self {
        let max_key_len = base.max_key_len();
        let layers = Layers { base, writes: Writes::default(), reads: None };
        MutableView { layers, max_key_len }
    }

    /// The store below.
    pub fn base(&self) -> &B {
        &self.layers.base
    }

    /// The changes made so far.
    pub fn writes(&self) -> &Writes {
        &self.layers.writes
    }

    /// What the answers given so far depend on; empty if nothing is recorded.
    ///
    /// Puts the record in order, which costs O(n log n) in the reads since the last time.
    pub fn reads(&self) -> KeyRanges {
        self.layers.record().map_or_else(KeyRanges::new, |mut reads| reads.ranges().clone())
    }

    /// Forgets what was read and records nothing from now on. There is no way back.
    pub fn disable_read_tracking(&mut self) {
        self.layers.reads = None;
    }

    /// The same view for reads that are not recorded: what they return may be outdated by the
    /// time of the commit, without anybody noticing.
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

    /// The first conflict of what was read with `writes` that others made to the base since.
    ///
    /// Writes never conflict with writes. Keys decide, not values: a put of the same value conflicts.
    /// Costs as [`reads`](MutableView::reads), and a search for each range read or each change,
    /// whichever are fewer.
    pub fn conflict_with(&self, writes: &Writes) -> Option<Conflict> {
        conflicts(self.layers.record()?.ranges(), writes).next()
    }

    /// The changes, without what was read.
    pub fn into_writes(self) -> Writes {
        self.layers.writes
    }

    /// The base, what was read of it, and the changes.
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

    /// A view of the same base with the same changes, which does not record what is read.
    pub(crate) fn copy_changes(&self) -> MutableView<B>
    where
        B: Clone,
    {
        let mut copy = MutableView::untracked(self.layers.base.clone());
        copy.layers.writes = self.layers.writes.clone();
        copy
    }

    /// Reads of this view, recorded if `track` and the view records.
    pub(crate) fn reading(&self, track: bool) -> Reading<'_, B> {
        Reading::new(&self.layers, track)
    }

    fn check_change(&self, key: &[u8]) -> Result<()> {
        if key.len() > self.max_key_len {
            return Err(KvError::key_too_long(key, self.max_key_len));
        }
        Ok(())
    }
}

impl MutableView<SharedRead> {
    /// What this view shows now, unaffected by what is done with it later. Costs a copy of the
    /// changes made so far.
    pub fn snapshot(&self) -> SharedRead {
        if self.layers.writes.is_empty() {
            return Arc::clone(&self.layers.base);
        }
        Arc::new(self.copy_changes())
    }
}

impl<B: KvRead> KvRead for MutableView<B> {
    pass_on!(self => self.reading(true); READS);
    pass_on!(self => self.layers.base; encode_counter, decode_counter);

    fn max_key_len(&self) -> usize {
        self.max_key_len
    }
}

impl<B: KvRead> KvWrite for MutableView<B> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_change(key)?;
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

    /// Reads nothing, so it does not conflict with others that adjust the same counter.
    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        if let Some(value) = self.layers.writes.puts.get_mut(key) {
            if let Ok(count) = self.layers.base.decode_counter(value) {
                *value = self.layers.base.encode_counter(count.wrapping_add(by)).to_vec();
            }
            return Ok(());
        }
        if self.layers.writes.removes.contains(key) {
            return Ok(());
        }
        let sum = by.wrapping_add(self.layers.writes.adjusts.get(key).copied().unwrap_or(0));
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

/// A [`MutableView`] read without a record.
struct WeakReads<'v, B>(&'v MutableView<B>);

impl<B: KvRead> KvRead for WeakReads<'_, B> {
    pass_on!(self => self.0.reading(false); READS);
    pass_on!(self => self.0; LIMITS);
}
