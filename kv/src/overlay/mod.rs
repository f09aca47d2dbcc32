//! Changes over a store that stays as it is, with a record of what was read (kv §8.1).

mod branch;
pub(crate) mod conflict;
mod reads;
mod scan;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::branch::{Branch, MergeError};
use self::conflict::conflicts;
use self::reads::Reads;
use self::scan::{Merge, TrackedScan};
use crate::contract::pass_on::pass_on;
use crate::store_parts::lock::lock;
use crate::{
    Blob, Conflict, Direction, KeyRanges, KeySpan, KvError, KvRead, KvWrite, Pair, Result, Scan,
    SharedRead, Visitor, Writes,
};

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
    base: B,
    writes: Writes,
    reads: Option<Mutex<Reads>>,
    max_key_len: usize,
}

impl<B: KvRead> MutableView<B> {
    /// A view of `base` that records what is read.
    pub fn new(base: B) -> Self {
        MutableView { reads: Some(Mutex::default()), ..Self::untracked(base) }
    }

    /// A view of `base` that does not record what is read.
    pub fn untracked(base: B) -> Self {
        let max_key_len = base.max_key_len();
        MutableView { base, writes: Writes::default(), reads: None, max_key_len }
    }

    /// The store below.
    pub fn base(&self) -> &B {
        &self.base
    }

    /// The changes made so far.
    pub fn writes(&self) -> &Writes {
        &self.writes
    }

    /// What the answers given so far depend on; empty if nothing is recorded.
    ///
    /// Puts the record in order, which costs O(n log n) in the reads since the last time.
    pub fn reads(&self) -> KeyRanges {
        self.record().map_or_else(KeyRanges::new, |mut reads| reads.ranges().clone())
    }

    /// Forgets what was read and records nothing from now on. There is no way back.
    pub fn disable_read_tracking(&mut self) {
        self.reads = None;
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
        conflicts(self.record()?.ranges(), writes).next()
    }

    /// The changes, without what was read.
    pub fn into_writes(self) -> Writes {
        self.writes
    }

    /// The base, what was read of it, and the changes.
    pub fn into_parts(self) -> (B, KeyRanges, Writes) {
        let reads =
            self.reads.map(|reads| reads.into_inner().unwrap_or_else(PoisonError::into_inner));
        (self.base, reads.map_or_else(KeyRanges::new, Reads::into_ranges), self.writes)
    }

    /// A view of the same base with the same changes, which does not record what is read.
    pub(crate) fn copy_changes(&self) -> MutableView<B>
    where
        B: Clone,
    {
        MutableView { writes: self.writes.clone(), ..MutableView::untracked(self.base.clone()) }
    }

    fn record(&self) -> Option<MutexGuard<'_, Reads>> {
        let reads = self.reads.as_ref()?;
        Some(lock(reads))
    }

    /// Records that `span` of the base was looked at, less what removes hide at its start
    /// (forward) or end (reverse), and less its first key if that is `put`.
    fn record_span(&self, span: KeySpan<'_>, direction: Direction, put: Option<&[u8]>) {
        let Some(mut record) = self.record() else { return };
        let KeySpan { mut min, mut max } = span;
        let removes = &self.writes.removes;
        if !removes.is_empty() {
            match direction {
                Direction::Forward => {
                    if let Some(removed) = removes.find(min) {
                        let Some(end) = removed.max else { return };
                        min = end;
                    }
                }
                Direction::Reverse => {
                    if let Some(removed) = removes.find_below(max) {
                        max = Some(removed.min);
                    }
                }
            }
        }
        if max.is_some_and(|max| min >= max) {
            return;
        }
        if put == Some(min) {
            let after = crate::key::next_key(min);
            record.add(KeySpan::new(&after, max));
        } else {
            record.add(KeySpan::new(min, max));
        }
    }

    /// Reads of this view, recorded if `track` and the view records.
    pub(crate) fn reading(&self, track: bool) -> Reading<'_, B> {
        Reading { view: self, track: track && self.reads.is_some() }
    }

    /// A value of the base with what is to be added to it.
    fn adjusted<'a>(&self, key: &[u8], value: Blob<'a>) -> Blob<'a> {
        if !self.writes.adjusts.is_empty()
            && let Some(by) = self.writes.adjusts.get(key)
            && let Ok(count) = self.base.decode_counter(&value)
        {
            return Cow::Owned(self.base.encode_counter(count.wrapping_add(*by)).to_vec());
        }
        value
    }

    /// Records that `span` of the base was looked at up to the pair of key `last`, or to its end.
    fn record_up_to(&self, span: KeySpan<'_>, direction: Direction, last: Option<&[u8]>) {
        let Some(mut record) = self.record() else { return };
        match (last, direction) {
            (None, _) => record.add(span),
            (Some(key), Direction::Forward) => {
                record.add(KeySpan::new(span.min, Some(&crate::key::next_key(key))));
            }
            (Some(key), Direction::Reverse) => record.add(KeySpan::new(key, span.max)),
        }
    }

    fn check_change(&self, key: &[u8]) -> Result<()> {
        if key.len() > self.max_key_len {
            return Err(KvError::key_too_long(key, self.max_key_len));
        }
        Ok(())
    }
}

/// A visit to the base that is recorded when it ends, by whatever way.
struct TrackedVisit<'a, B: KvRead> {
    view: &'a MutableView<B>,
    span: KeySpan<'a>,
    direction: Direction,
    /// The key at which the visitor has broken off.
    last: Option<Vec<u8>>,
}

impl<B: KvRead> Drop for TrackedVisit<'_, B> {
    fn drop(&mut self) {
        self.view.record_up_to(self.span, self.direction, self.last.as_deref());
    }
}

impl MutableView<SharedRead> {
    /// What this view shows now, unaffected by what is done with it later. Costs a copy of the
    /// changes made so far.
    pub fn snapshot(&self) -> SharedRead {
        if self.writes.is_empty() {
            return Arc::clone(&self.base);
        }
        Arc::new(self.copy_changes())
    }
}

/// One read of a view.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'v, B> {
    view: &'v MutableView<B>,
    /// Whether it is recorded.
    track: bool,
}

impl<'v, B: KvRead> Reading<'v, B> {
    pub(crate) fn get(self, key: &[u8]) -> Result<Option<Blob<'v>>> {
        let Reading { view, track } = self;
        let writes = &view.writes;
        if !writes.puts.is_empty()
            && let Some(value) = writes.puts.get(key)
        {
            return Ok(Some(Cow::Borrowed(value)));
        }
        if !writes.removes.is_empty() && writes.removes.contains(key) {
            return Ok(None);
        }
        let value = view.base.get(key)?;
        if track && let Some(mut record) = view.record() {
            record.add_key(key);
        }
        Ok(value.map(|value| view.adjusted(key, value)))
    }

    pub(crate) fn scan(self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'v>> {
        let Reading { view, track } = self;
        if !view.writes.is_empty() {
            return Ok(Box::new(Merge::new(view, span, direction, track)?));
        }
        match track {
            true => Ok(Box::new(TrackedScan::new(view, span, direction)?)),
            false => view.base.scan(span, direction),
        }
    }

    pub(crate) fn visit(
        self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        let Reading { view, track } = self;
        if view.writes.is_empty() {
            if !track {
                return view.base.visit(span, direction, visitor);
            }
            span.check()?;
            let mut visit = TrackedVisit { view, span, direction, last: None };
            return view.base.visit(span, direction, &mut |key, value| {
                let flow = visitor(key, value);
                if flow.is_break() {
                    visit.last = Some(key.to_vec());
                }
                flow
            });
        }
        for pair in self.scan(span, direction)? {
            let (key, value) = pair?;
            if visitor(&key, &value).is_break() {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn at_least(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'v>>> {
        self.nearest(KeySpan::new(min, max), Direction::Forward)
    }

    pub(crate) fn at_most(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'v>>> {
        self.nearest(KeySpan::new(min, max), Direction::Reverse)
    }

    /// The first pair of `span` in the order of `direction`.
    fn nearest(self, span: KeySpan<'_>, direction: Direction) -> Result<Option<Pair<'v>>> {
        let Reading { view, track } = self;
        if span.is_empty() {
            return Ok(None);
        }
        if !view.writes.is_empty() {
            return Merge::new(view, span, direction, track)?.next().transpose();
        }
        let pair = match direction {
            Direction::Forward => view.base.at_least(span.min, span.max)?,
            Direction::Reverse => view.base.at_most(span.min, span.max)?,
        };
        if track {
            view.record_up_to(span, direction, pair.as_ref().map(|(key, _)| &key[..]));
        }
        Ok(pair)
    }
}

impl<B: KvRead> KvRead for MutableView<B> {
    pass_on!(self => self.reading(true); READS);
    pass_on!(self => self.base; encode_counter, decode_counter);

    fn max_key_len(&self) -> usize {
        self.max_key_len
    }
}

impl<B: KvRead> KvWrite for MutableView<B> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_change(key)?;
        if !self.writes.adjusts.is_empty() {
            self.writes.adjusts.remove(key);
        }
        self.writes.puts.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.writes.adjusts.remove(key);
        self.writes.puts.remove(key);
        self.writes.removes.add_key(key);
        Ok(())
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        span.check()?;
        if !span.is_empty() {
            remove_from(&mut self.writes.puts, span);
            remove_from(&mut self.writes.adjusts, span);
            self.writes.removes.add(span);
        }
        Ok(())
    }

    /// Reads nothing, so it does not conflict with others that adjust the same counter.
    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        if let Some(value) = self.writes.puts.get_mut(key) {
            if let Ok(count) = self.base.decode_counter(value) {
                *value = self.base.encode_counter(count.wrapping_add(by)).to_vec();
            }
            return Ok(());
        }
        if self.writes.removes.contains(key) {
            return Ok(());
        }
        let sum = by.wrapping_add(self.writes.adjusts.get(key).copied().unwrap_or(0));
        if sum == 0 {
            self.writes.adjusts.remove(key);
        } else {
            self.writes.adjusts.insert(key.to_vec(), sum);
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
            .field("writes", &self.writes.len())
            .field("tracking", &self.reads.is_some())
            .finish_non_exhaustive()
    }
}

/// A [`MutableView`] read without a record.
struct WeakReads<'v, B>(&'v MutableView<B>);

impl<B: KvRead> KvRead for WeakReads<'_, B> {
    pass_on!(self => self.0.reading(false); READS);
    pass_on!(self => self.0; LIMITS);
}
