//! Scans that stay valid while the transaction that they read is changed.
//!
//! A scan copies keys in batches during a short borrow of the store, so user code may write between
//! two steps. If something was written since a batch was read, the rest of that batch is dropped,
//! and reading continues after the last key returned. So keys that are removed ahead are not
//! returned, keys that are inserted ahead are, and no key is returned twice.

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use permazen_kv::key::after_prefix;
use permazen_kv::{Direction, KeySpan, KvRead, Visitor};

use super::batch::{Batch, Keep, Pairs};
use super::cell::Store;
use super::key_buffer::KeyBuffer;
use crate::object::error::Result;

/// The number of pairs in the batch after a write or a long jump.
const SMALL_BATCH: usize = 2;
/// The source of a [`LiveScan`]: a store that counts its changes and lends itself for reading.
pub(crate) trait ScanSource {
    /// A number that changes with every write.
    fn changes(&self) -> &Cell<u64>;

    /// Calls `read` with the store borrowed.
    fn with_read(&self, read: &mut dyn FnMut(&dyn KvRead) -> Result<()>) -> Result<()>;
}

/// The pairs that a scan shows instead of exactly those of the store.
pub(crate) trait ScanOverlay: Send + Sync {
    /// Visits the pairs of `span` in the order of `direction`, until `visitor` breaks.
    ///
    /// # Errors
    /// If the store fails, or the next pair cannot be shown. Those before it were visited.
    fn visit(
        &self,
        kv: &dyn KvRead,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()>;
}

impl ScanSource for Store {
    fn changes(&self) -> &Cell<u64> {
        Store::changes(self)
    }

    fn with_read(&self, read: &mut dyn FnMut(&dyn KvRead) -> Result<()>) -> Result<()> {
        self.read(read)
    }
}

/// Turns `prefix` into the smallest key above all keys that start with it. Returns `false` if there
/// is none. Does in place what [`after_prefix`] does.
pub(crate) fn extend_to_after_prefix(prefix: &mut impl KeyBuffer) -> bool {
    while let Some(last) = prefix.pop() {
        // A last byte `ff` cannot be raised, so it goes, and the byte before it is raised.
        if last < 0xff {
            prefix.append(&[last + 1]);
            return true;
        }
    }
    false
}

/// Whether a walk in this direction that is at `key` has reached the one from the other end, which
/// is at `other`.
pub(crate) fn has_met(direction: Direction, key: &[u8], other: &[u8]) -> bool {
    match direction {
        Direction::Forward => key >= other,
        Direction::Reverse => key <= other,
    }
}

/// A scan over a key span that allows writes between its steps.
///
/// Cost: one seek per batch and one step per pair. Batches grow; for keys fourfold, from 8 to 512
/// pairs.
pub(crate) struct LiveScan<'s, K: Keep = Pairs> {
    source: &'s dyn ScanSource,
    overlay: Option<Arc<dyn ScanOverlay>>,
    /// The span that has not been read yet: `[min, max)`.
    min: Vec<u8>,
    max: Option<Vec<u8>>,
    direction: Direction,
    keep: K,
    batch: Batch<K>,
    /// The index in the batch of the next pair.
    at: usize,
    /// Whether a pair was returned since the span was last narrowed.
    returned: bool,
    batch_size: usize,
    /// The change counter of the store, and its value when the batch was read.
    counter: &'s Cell<u64>,
    changes: u64,
    /// Whether the store has no pair after the current batch.
    drained: bool,
    done: bool,
}

impl<K: Keep> std::fmt::Debug for LiveScan<'_, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveScan")
            .field("min", &self.min)
            .field("max", &self.max)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

impl<'s> LiveScan<'s> {
    /// A scan over `[min, max)`, with the values if `with_values` is set. Reads nothing yet.
    pub(crate) fn new(
        source: &'s dyn ScanSource,
        min: Vec<u8>,
        max: Option<Vec<u8>>,
        direction: Direction,
        with_values: bool,
    ) -> Self {
        Self::keeping(Pairs { with_values }, source, min, max, direction)
    }

    /// A scan over every key that starts with `prefix`.
    pub(crate) fn of_prefix(
        source: &'s dyn ScanSource,
        prefix: &[u8],
        direction: Direction,
        with_values: bool,
    ) -> Self {
        Self::new(source, prefix.to_vec(), after_prefix(prefix), direction, with_values)
    }

    /// The pair that was returned last, if no other method was called after that.
    #[inline]
    pub(crate) fn current(&self) -> Option<(&[u8], &[u8])> {
        self.batch.pair(self.at.checked_sub(1)?)
    }

    /// The next key and value. The value is empty unless values were asked for. After the end or an
    /// error, there are no more pairs.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        Ok(if self.advance()? { self.current() } else { None })
    }
}

impl<'s, K: Keep> LiveScan<'s, K> {
    /// A scan over `[min, max)` that keeps the parts that `keep` copies. Reads nothing yet.
    pub(crate) fn keeping(
        keep: K,
        source: &'s dyn ScanSource,
        min: Vec<u8>,
        max: Option<Vec<u8>>,
        direction: Direction,
    ) -> Self {
        // Stores refuse an inverted span, so such a scan ends before it reads.
        let done = max.as_ref().is_some_and(|max| min >= *max);
        LiveScan {
            source,
            overlay: None,
            min,
            max,
            direction,
            keep,
            batch: Batch::new(),
            at: 0,
            returned: false,
            batch_size: K::FIRST_BATCH,
            counter: source.changes(),
            changes: source.changes().get(),
            drained: false,
            done,
        }
    }

    /// The same scan, which has not begun, through an overlay.
    pub(crate) fn through(mut self, overlay: Option<Arc<dyn ScanOverlay>>) -> Self {
        self.overlay = overlay;
        self
    }

    /// Reads this many pairs with the first seek. The scan must not have begun.
    pub(crate) fn read_at_once(&mut self, pairs: usize) {
        self.batch_size = pairs;
    }

    /// The direction of the scan.
    #[inline]
    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// The kept part of the next pair. After the end or an error, there are no more pairs.
    #[inline]
    pub(crate) fn next_kept(&mut self) -> Result<Option<K::Kept>> {
        Ok(if self.advance()? { self.batch.kept(self.at - 1) } else { None })
    }

    /// The kept part of the next pair, if it is in the batch. The scan stays where it is.
    #[inline]
    pub(crate) fn at_hand(&self) -> Option<K::Kept> {
        // After a write the batch may show what is gone, so the caller takes the way that reads
        // again.
        if self.counter.get() != self.changes || self.done {
            return None;
        }
        self.batch.kept(self.at)
    }

    /// Moves to the pair of [`LiveScan::at_hand`], which must have been one.
    #[inline]
    pub(crate) fn take_at_hand(&mut self) {
        self.at += 1;
        self.returned = true;
    }

    /// The value that decides which parts of pairs are kept.
    #[inline]
    pub(crate) fn keep(&self) -> &K {
        &self.keep
    }

    /// The bytes that were appended for the pairs of the batch.
    #[inline]
    pub(crate) fn kept_bytes(&self) -> &[u8] {
        self.batch.bytes()
    }

    /// Moves to the next pair. Returns `false` at the end.
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        if (self.at >= self.batch.len() || self.counter.get() != self.changes || self.done)
            && !self.more()?
        {
            return Ok(false);
        }
        self.at += 1;
        self.returned = true;
        Ok(true)
    }

    /// Makes the next pair available, and reads a batch if needed. Returns `false` at the end.
    #[cold]
    fn more(&mut self) -> Result<bool> {
        if self.done {
            return Ok(false);
        }
        let changed = self.counter.get() != self.changes;
        if changed || self.at >= self.batch.len() {
            // A caller that writes between steps will probably do so again, and then the rest is
            // dropped.
            if changed {
                self.batch_size = SMALL_BATCH;
            }
            // If this returns an error, or at the end, there are no more pairs.
            self.done = true;
            // After a change, the rest is read again, with its fault and its end.
            if !changed {
                if let Some(fault) = self.batch.fault.take() {
                    return Err(fault);
                }
                if self.drained {
                    return Ok(false);
                }
            }
            self.refill()?;
            if self.batch.len() == 0
                && let Some(fault) = self.batch.fault.take()
            {
                return Err(fault);
            }
        }
        self.done = self.at >= self.batch.len();
        Ok(!self.done)
    }

    /// The key of the pair that was returned last, if no other method was called after that.
    #[inline]
    pub(crate) fn current_key(&self) -> Option<Cow<'_, [u8]>> {
        self.batch.key(&self.keep, self.at.checked_sub(1)?)
    }

    /// Skips the keys before `key` in the direction of the scan: forward the keys below `key`,
    /// backward the keys at or above it. Never goes back. Cheap while `key` is within the batch.
    pub(crate) fn skip_to(&mut self, key: &[u8]) {
        if self.done {
            return;
        }
        let batch_at = self.at;
        match self.direction {
            Direction::Forward => {
                // A scan never goes back: a key could be returned twice.
                if self.returned_bound_is_past(key) {
                    return;
                }
                self.min.clear();
                self.min.extend_from_slice(key);
                // The batch is still good, so its pairs are skipped in memory.
                while self.batch.key(&self.keep, self.at).is_some_and(|next| *next < *key) {
                    self.at += 1;
                }
            }
            Direction::Reverse => {
                if self.returned_bound_is_past(key) {
                    return;
                }
                match &mut self.max {
                    Some(max) => {
                        max.clear();
                        max.extend_from_slice(key);
                    }
                    None => self.max = Some(key.to_vec()),
                }
                while self.batch.key(&self.keep, self.at).is_some_and(|next| *next >= *key) {
                    self.at += 1;
                }
            }
        }
        self.returned = false;
        if self.at >= self.batch.len() {
            // The pairs after the batch are read again, unless they are skipped.
            self.batch.fault = None;
            // The jump left the batch. More jumps are likely, so little is read ahead.
            if self.at > batch_at {
                self.batch_size = SMALL_BATCH;
            }
        }
        if self.max.as_ref().is_some_and(|max| self.min >= *max) {
            self.done = true;
        }
    }

    /// Begins anew, with another span.
    pub(crate) fn restart(&mut self, min: Vec<u8>, max: Option<Vec<u8>>) {
        self.done = max.as_ref().is_some_and(|max| min >= *max);
        (self.min, self.max) = (min, max);
        self.batch.clear_for(SMALL_BATCH);
        (self.at, self.returned, self.drained) = (0, false, false);
        (self.batch_size, self.changes) = (SMALL_BATCH, self.counter.get());
    }

    /// Ends the scan.
    pub(crate) fn finish(&mut self) {
        self.done = true;
    }

    /// Whether skipping to `key` would skip nothing.
    fn returned_bound_is_past(&self, key: &[u8]) -> bool {
        let bound = if self.returned {
            self.current_key()
        } else {
            // After a jump, the span itself says where the scan is: no pair was returned since.
            match self.direction {
                Direction::Forward => Some(Cow::Borrowed(&self.min[..])),
                Direction::Reverse => self.max.as_deref().map(Cow::Borrowed),
            }
        };
        match (self.direction, bound) {
            (_, None) => false,
            (Direction::Forward, Some(bound)) => *bound >= *key,
            (Direction::Reverse, Some(bound)) => (*bound).cmp(key) == Ordering::Less,
        }
    }

    /// Narrows the span to the keys after the last pair returned.
    fn narrow(&mut self) {
        // After a jump, the bound of the span is past the last pair already.
        if !self.returned {
            return;
        }
        let last = self.at.checked_sub(1).and_then(|last| self.batch.key(&self.keep, last));
        let Some(last) = last else { return };
        match self.direction {
            Direction::Forward => {
                self.min.clear();
                self.min.extend_from_slice(&last);
                // The smallest key after `last` is `last` with a zero byte.
                self.min.push(0);
            }
            Direction::Reverse => {
                let max = self.max.get_or_insert_default();
                max.clear();
                max.extend_from_slice(&last);
            }
        }
        self.returned = false;
    }

    fn refill(&mut self) -> Result<()> {
        self.narrow();
        self.batch.clear_for(self.batch_size);
        self.at = 0;
        self.drained = false;
        // It is taken before the read, so that a write after it makes the batch stale.
        self.changes = self.counter.get();
        // Nothing is left of the span.
        if self.max.as_ref().is_some_and(|max| self.min >= *max) {
            self.drained = true;
            return Ok(());
        }
        let LiveScan { source, overlay, min, max, direction, keep, batch, drained, .. } = self;
        source.with_read(&mut |kv| {
            // It is set first: the visit ends by itself only when the store has no more pairs.
            *drained = true;
            let span = KeySpan::new(min, max.as_deref());
            let mut add = |key: &[u8], value: &[u8]| {
                if batch.push(keep, key, value) {
                    return ControlFlow::Continue(());
                }
                *drained = false;
                ControlFlow::Break(())
            };
            match overlay {
                None => kv.visit(span, *direction, &mut add)?,
                // The pairs before one that cannot be shown are returned first.
                Some(overlay) => {
                    if let Err(fault) = overlay.visit(kv, span, *direction, &mut add) {
                        *drained = false;
                        batch.fault = Some(fault);
                    }
                }
            }
            Ok(())
        })?;
        // A scan that began with less than the first batch is not given much more than that at
        // once.
        let is_small = self.batch_size < K::FIRST_BATCH;
        let largest = if is_small { K::FIRST_BATCH } else { K::LARGEST_BATCH };
        self.batch_size = (self.batch_size * K::GROWTH).min(largest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use permazen_kv::{Blob, KvError, Scan};
    use proptest::prelude::*;

    use super::*;

    type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

    #[derive(Default)]
    struct Map {
        pairs: RefCell<Pairs>,
        changes: Cell<u64>,
        seeks: Cell<u64>,
    }

    impl Map {
        fn put(&self, key: &[u8]) {
            self.pairs.borrow_mut().insert(key.to_vec(), key.to_vec());
            self.changes.set(self.changes.get() + 1);
        }

        fn remove(&self, key: &[u8]) {
            self.pairs.borrow_mut().remove(key);
            self.changes.set(self.changes.get() + 1);
        }
    }

    struct MapRead<'m>(&'m Pairs);

    impl KvRead for MapRead<'_> {
        fn get(&self, key: &[u8]) -> permazen_kv::Result<Option<Blob<'_>>> {
            Ok(self.0.get(key).map(|value| Cow::Borrowed(&value[..])))
        }

        fn scan<'a>(
            &'a self,
            span: KeySpan<'_>,
            direction: Direction,
        ) -> permazen_kv::Result<Scan<'a>> {
            if span.max.is_some_and(|max| span.min > max) {
                return Err(KvError::InvalidArgument("inverted span".into()));
            }
            let (min, max) = (span.min.to_vec(), span.max.map(<[u8]>::to_vec));
            let inside = self
                .0
                .range(min..)
                .take_while(move |(key, _)| max.as_ref().is_none_or(|m| *key < m));
            let pairs = inside.map(|(k, v)| Ok((Cow::Borrowed(&k[..]), Cow::Borrowed(&v[..]))));
            Ok(match direction {
                Direction::Forward => Box::new(pairs),
                Direction::Reverse => Box::new(pairs.collect::<Vec<_>>().into_iter().rev()),
            })
        }
    }

    impl ScanSource for Map {
        fn changes(&self) -> &Cell<u64> {
            &self.changes
        }

        fn with_read(&self, read: &mut dyn FnMut(&dyn KvRead) -> Result<()>) -> Result<()> {
            self.seeks.set(self.seeks.get() + 1);
            read(&MapRead(&self.pairs.borrow()))
        }
    }

    fn keys(map: &Map, direction: Direction) -> Vec<Vec<u8>> {
        let mut scan = LiveScan::of_prefix(map, &[], direction, true);
        let mut found = Vec::new();
        while let Some((key, value)) = scan.next().unwrap() {
            assert_eq!(key, value);
            found.push(key.to_vec());
        }
        assert!(scan.next().unwrap().is_none());
        found
    }

    #[test]
    fn prefixes_end_in_place_where_they_end() {
        for prefix in [&[1, 2][..], &[1, 0xff, 0xff], &[0xff], &[]] {
            let mut after = prefix.to_vec();
            assert_eq!(extend_to_after_prefix(&mut after).then_some(after), after_prefix(prefix));
        }
    }

    #[test]
    fn reads_everything_both_ways_in_growing_batches() {
        let map = Map::default();
        for n in 0u16..2000 {
            map.put(&n.to_be_bytes());
        }
        let forward = keys(&map, Direction::Forward);
        assert_eq!(forward.len(), 2000);
        assert!(forward.is_sorted());
        // 8 + 32 + 128 + 512 = 680, 512 more twice, and the rest
        assert_eq!(map.seeks.get(), 7);
        let mut backward = keys(&map, Direction::Reverse);
        backward.reverse();
        assert_eq!(forward, backward);
    }

    #[test]
    fn writes_between_steps_are_seen() {
        let map = Map::default();
        for n in 0u8..20 {
            map.put(&[n * 10]);
        }
        let mut scan = LiveScan::of_prefix(&map, &[], Direction::Forward, false);
        let mut found = Vec::new();
        while let Some((key, _)) = scan.next().unwrap() {
            let n = key[0];
            found.push(n);
            if n == 30 {
                map.remove(&[30]);
                map.remove(&[50]);
                map.put(&[35]);
                map.put(&[25]);
            }
        }
        assert_eq!(
            found,
            [
                0, 10, 20, 30, 35, 40, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180,
                190
            ]
        );
    }

    #[derive(Debug, Clone)]
    enum Step {
        Next,
        Put(u8),
        Remove(u8),
        Skip(u8),
        Restart(u8, u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => Just(Step::Next),
            1 => any::<u8>().prop_map(Step::Put),
            1 => any::<u8>().prop_map(Step::Remove),
            1 => any::<u8>().prop_map(Step::Skip),
            1 => any::<(u8, u8)>().prop_map(|(min, max)| Step::Restart(min, max)),
        ];
        prop::collection::vec(step, 1..60)
    }

    proptest! {
        /// Compares with the simplest scan: a new look-up after the last key at each step.
        #[test]
        fn equals_a_fresh_seek_per_step(
            start in prop::collection::btree_set(any::<u8>(), 0..100),
            steps in steps(),
            reverse in any::<bool>(),
        ) {
            let map = Map::default();
            for key in start {
                map.put(&[key]);
            }
            let direction = if reverse { Direction::Reverse } else { Direction::Forward };
            let mut scan = LiveScan::of_prefix(&map, &[], direction, false);
            // The keys still to come are these, from the first to below the second.
            let (mut lower, mut upper) = (0, 256);
            let mut ended = false;
            for step in steps {
                match step {
                    Step::Next => {
                        let expected = {
                            let pairs = map.pairs.borrow();
                            let keys = pairs.keys().map(|key| i32::from(key[0]));
                            let mut left = keys.filter(|key| (lower..upper).contains(key));
                            if reverse { left.next_back() } else { left.next() }
                        };
                        // After its end, a scan does not begin again by itself.
                        let expected = expected.filter(|_| !ended);
                        let found = scan.next().unwrap().map(|(key, _)| i32::from(key[0]));
                        prop_assert_eq!(found, expected);
                        match found {
                            Some(found) if reverse => upper = found,
                            Some(found) => lower = found + 1,
                            None => ended = true,
                        }
                    }
                    Step::Put(key) => map.put(&[key]),
                    Step::Remove(key) => map.remove(&[key]),
                    Step::Skip(key) => {
                        scan.skip_to(&[key]);
                        if reverse { upper = upper.min(key.into()) } else { lower = lower.max(key.into()) }
                        // Nothing is left of the span, which ends the scan.
                        ended |= lower >= upper;
                    }
                    Step::Restart(min, max) => {
                        scan.restart(vec![min], Some(vec![max]));
                        (lower, upper, ended) = (min.into(), max.into(), false);
                    }
                }
            }
        }
    }
}
