//! Pairs that a scan has read from the store and not returned yet.

use std::borrow::Cow;

use crate::object::error::{Error, Result};

/// A batch ends when its keys and values have this many bytes.
const BATCH_BYTES: usize = 256 * 1024;

/// The parts that a scan copies from each pair while the store is borrowed.
pub(crate) trait Keep {
    /// The kept part of a pair.
    type Kept: Copy + Default;

    /// The number of pairs in the first batch. It is small, because the caller may need fewer.
    const FIRST_BATCH: usize = 8;
    /// By which factor each batch is larger than the previous one.
    const GROWTH: usize = 4;
    /// The number of pairs in the largest batch.
    const LARGEST_BATCH: usize = 512;

    /// Copies from a pair. Parts that do not fit into the result can be appended to `bytes`.
    fn keep(&self, key: &[u8], value: &[u8], bytes: &mut Vec<u8>) -> Result<Self::Kept>;

    /// Does the same as [`Keep::keep`] if the key is enough and easy; otherwise `None`, and nothing
    /// is appended. It is called first, so it should be short.
    #[inline]
    fn keep_easy(&self, _key: &[u8], _bytes: &mut Vec<u8>) -> Option<Self::Kept> {
        None
    }

    /// The key of the pair. `bytes` is everything that was appended.
    fn key<'b>(&self, kept: Self::Kept, bytes: &'b [u8]) -> Cow<'b, [u8]>;
}

/// Keeps the keys and, if `with_values` is set, the values.
#[derive(Debug)]
pub(crate) struct Pairs {
    pub(in crate::object) with_values: bool,
}

/// The offsets of the key and value of a pair.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PairOffsets {
    start: usize,
    key_end: usize,
    end: usize,
}

impl Keep for Pairs {
    type Kept = PairOffsets;

    #[inline]
    fn keep(&self, key: &[u8], value: &[u8], bytes: &mut Vec<u8>) -> Result<PairOffsets> {
        let start = bytes.len();
        bytes.extend_from_slice(key);
        let key_end = bytes.len();
        if self.with_values {
            bytes.extend_from_slice(value);
        }
        Ok(PairOffsets { start, key_end, end: bytes.len() })
    }

    #[inline]
    fn key<'b>(&self, kept: PairOffsets, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        Cow::Borrowed(bytes.get(kept.start..kept.key_end).unwrap_or_default())
    }
}

/// The pairs that were read from the store.
#[derive(Debug)]
pub(in crate::object) struct Batch<K: Keep> {
    bytes: Vec<u8>,
    /// A place for each pair that the batch can have.
    kept: Vec<K::Kept>,
    /// How many pairs there are.
    len: usize,
    /// Why nothing could be kept of the pair after the last one.
    pub(in crate::object) fault: Option<Error>,
}

impl<K: Keep> Batch<K> {
    pub(in crate::object) fn new() -> Self {
        Batch { bytes: Vec::new(), kept: Vec::new(), len: 0, fault: None }
    }

    /// Empties the batch, and makes room for `pairs` pairs of about the same size.
    pub(in crate::object) fn clear_for(&mut self, pairs: usize) {
        // The next pairs are probably about as long as the last ones, so one allocation is enough.
        let bytes = self.bytes.len().div_ceil(self.len.max(1)) * pairs;
        self.bytes.clear();
        self.bytes.reserve(bytes.min(BATCH_BYTES));
        match self.kept.len() < pairs {
            true => self.kept = vec![K::Kept::default(); pairs],
            // Places beyond the wanted number would make the batch longer than was asked for.
            false => self.kept.truncate(pairs),
        }
        self.len = 0;
        self.fault = None;
    }

    #[inline]
    pub(in crate::object) fn len(&self) -> usize {
        self.len
    }

    /// Adds a pair. Returns `false` if the batch is now full, or if the pair could not be added.
    #[inline]
    pub(in crate::object) fn push(&mut self, keep: &K, key: &[u8], value: &[u8]) -> bool {
        // Most pairs take this path. It needs little, and less code is faster.
        let Some(place) = self.kept.get_mut(self.len) else { return false };
        let Some(kept) = keep.keep_easy(key, &mut self.bytes) else {
            return self.push_any(keep, key, value);
        };
        *place = kept;
        self.len += 1;
        // Long pairs end a batch early, so that it does not take much memory.
        self.len < self.kept.len() && self.bytes.len() < BATCH_BYTES
    }

    // Apart from `push`, so that its code stays short enough to be inlined.
    #[inline(never)]
    fn push_any(&mut self, keep: &K, key: &[u8], value: &[u8]) -> bool {
        let Some(place) = self.kept.get_mut(self.len) else { return false };
        match keep.keep(key, value, &mut self.bytes) {
            Ok(kept) => {
                *place = kept;
                self.len += 1;
                self.len < self.kept.len() && self.bytes.len() < BATCH_BYTES
            }
            Err(fault) => {
                // The pairs before this one are good. They are returned first, and the fault after
                // them.
                self.fault = Some(fault);
                false
            }
        }
    }

    /// Everything that was appended.
    #[inline]
    pub(in crate::object) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The kept part of a pair.
    #[inline]
    pub(in crate::object) fn kept(&self, at: usize) -> Option<K::Kept> {
        self.kept.get(..self.len)?.get(at).copied()
    }

    #[inline]
    pub(in crate::object) fn key(&self, keep: &K, at: usize) -> Option<Cow<'_, [u8]>> {
        Some(keep.key(self.kept(at)?, &self.bytes))
    }
}

impl Batch<Pairs> {
    #[inline]
    pub(in crate::object) fn pair(&self, at: usize) -> Option<(&[u8], &[u8])> {
        let PairOffsets { start, key_end, end } = self.kept(at)?;
        Some((self.bytes.get(start..key_end)?, self.bytes.get(key_end..end)?))
    }
}
