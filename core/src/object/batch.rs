//! What a scan has taken from the store and not yet given out.

use std::borrow::Cow;

use super::error::{Error, Result};

/// A batch ends once its keys and values take this many bytes.
pub(super) const BATCH_BYTES: usize = 256 * 1024;

/// What a scan takes from each pair while the store is borrowed.
pub(crate) trait Keep {
    /// What is kept.
    type Kept: Copy;

    /// Takes it from a pair and appends it to `kept`; what has no place in it can be appended to `bytes`.
    fn keep(
        &self,
        key: &[u8],
        value: &[u8],
        bytes: &mut Vec<u8>,
        kept: &mut Vec<Self::Kept>,
    ) -> Result<()>;

    /// The key of the pair, from all that was appended.
    fn key<'b>(&self, kept: Self::Kept, bytes: &'b [u8]) -> Cow<'b, [u8]>;
}

/// Keeps the keys, and the values if asked to.
#[derive(Debug)]
pub(crate) struct Pairs {
    pub(super) with_values: bool,
}

/// Where key and value of a pair lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairAt {
    start: usize,
    key_end: usize,
    end: usize,
}

impl Keep for Pairs {
    type Kept = PairAt;

    #[inline]
    fn keep(
        &self,
        key: &[u8],
        value: &[u8],
        bytes: &mut Vec<u8>,
        kept: &mut Vec<PairAt>,
    ) -> Result<()> {
        let start = bytes.len();
        bytes.extend_from_slice(key);
        let key_end = bytes.len();
        if self.with_values {
            bytes.extend_from_slice(value);
        }
        kept.push(PairAt { start, key_end, end: bytes.len() });
        Ok(())
    }

    #[inline]
    fn key<'b>(&self, kept: PairAt, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        Cow::Borrowed(bytes.get(kept.start..kept.key_end).unwrap_or_default())
    }
}

/// What was taken from the store.
#[derive(Debug)]
pub(super) struct Batch<K: Keep> {
    pub(super) bytes: Vec<u8>,
    pub(super) kept: Vec<K::Kept>,
    /// Why nothing could be kept of the pair behind them.
    pub(super) fault: Option<Error>,
}

impl<K: Keep> Batch<K> {
    pub(super) fn new() -> Self {
        Batch { bytes: Vec::new(), kept: Vec::new(), fault: None }
    }

    /// Makes room for a batch of `pairs` like those of this one.
    pub(super) fn clear_for(&mut self, pairs: usize) {
        let bytes = self.bytes.len().div_ceil(self.kept.len().max(1)) * pairs;
        self.bytes.clear();
        self.bytes.reserve(bytes.min(BATCH_BYTES));
        self.kept.clear();
        self.kept.reserve(pairs);
        self.fault = None;
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether it could be taken.
    #[inline]
    pub(super) fn push(&mut self, keep: &K, key: &[u8], value: &[u8]) -> bool {
        match keep.keep(key, value, &mut self.bytes, &mut self.kept) {
            Ok(()) => true,
            Err(error) => {
                self.fault = Some(error);
                false
            }
        }
    }

    #[inline]
    pub(super) fn key(&self, keep: &K, at: usize) -> Option<Cow<'_, [u8]>> {
        Some(keep.key(*self.kept.get(at)?, &self.bytes))
    }
}

impl Batch<Pairs> {
    #[inline]
    pub(super) fn pair(&self, at: usize) -> Option<(&[u8], &[u8])> {
        let PairAt { start, key_end, end } = *self.kept.get(at)?;
        Some((self.bytes.get(start..key_end)?, self.bytes.get(key_end..end)?))
    }
}
