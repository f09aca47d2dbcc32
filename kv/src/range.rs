//! Ranges of keys (kv §7.1).

use std::cmp::Ordering;
use std::fmt;

use crate::{KeySpan, KvError, Result, key};

/// The keys in `[min, max)`; without a `max` the range has no end. `min == max` is a legal empty
/// range. Owned; the borrowed form is [`KeySpan`].
///
/// Ranges are ordered by `min`, then by `max`, no bound last.
///
/// ```
/// use permazen_kv::KeyRange;
/// let range = KeyRange::with_prefix(&[0x12, 0xff]);
/// assert!(range.contains(&[0x12, 0xff, 0x07]) && !range.contains(&[0x13]));
/// assert_eq!(range.to_string(), "[12ff*]");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    min: Vec<u8>,
    max: Option<Vec<u8>>,
}

impl KeyRange {
    /// The keys in `[min, max)`.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`] if `min > max`.
    pub fn new(min: impl Into<Vec<u8>>, max: Option<Vec<u8>>) -> Result<Self> {
        let range = KeyRange { min: min.into(), max };
        range.span().check()?;
        Ok(range)
    }

    /// Every key.
    pub fn full() -> Self {
        KeyRange { min: Vec::new(), max: None }
    }

    /// `key` alone.
    pub fn single(key: &[u8]) -> Self {
        KeyRange { min: key.to_vec(), max: Some(key::next_key(key)) }
    }

    /// Every key that starts with `prefix`.
    pub fn with_prefix(prefix: &[u8]) -> Self {
        KeyRange { min: prefix.to_vec(), max: key::after_prefix(prefix) }
    }

    /// The smallest key of the range.
    pub fn min(&self) -> &[u8] {
        &self.min
    }

    /// The first key after the range, if it has an end.
    pub fn max(&self) -> Option<&[u8]> {
        self.max.as_deref()
    }

    /// The same range, borrowed.
    pub fn span(&self) -> KeySpan<'_> {
        KeySpan::new(&self.min, self.max())
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.span().contains(key)
    }

    /// Whether `other` lies in this range. An empty range at its end counts as contained.
    pub fn contains_range(&self, other: &KeyRange) -> bool {
        self.min <= other.min && key::compare_max(other.max(), self.max()).is_le()
    }

    /// Whether the two have common keys. An empty range strictly inside counts as overlapping.
    pub fn overlaps(&self, other: &KeyRange) -> bool {
        key::below(&self.min, other.max()) && key::below(&other.min, self.max())
    }

    /// Where the range lies relative to `key`: [`Less`](Ordering::Less) if it ends at or before
    /// it, [`Greater`](Ordering::Greater) if it starts after it, else [`Equal`](Ordering::Equal).
    pub fn compare_key(&self, key: &[u8]) -> Ordering {
        if *self.min > *key {
            Ordering::Greater
        } else if key::below(key, self.max()) {
            Ordering::Equal
        } else {
            Ordering::Less
        }
    }

    /// Orders by `max`, no bound last, then by `min`.
    pub fn cmp_by_max(&self, other: &KeyRange) -> Ordering {
        key::compare_max(self.max(), other.max()).then_with(|| self.min.cmp(&other.min))
    }

    /// Whether this is every key.
    pub fn is_full(&self) -> bool {
        self.span().is_full()
    }

    /// Whether this is no key.
    pub fn is_empty(&self) -> bool {
        self.span().is_empty()
    }

    /// Whether this is exactly one key.
    pub fn is_single_key(&self) -> bool {
        self.span().is_single_key()
    }

    /// Whether these are the keys of one prefix, which then is [`min`](Self::min).
    pub fn is_prefix_range(&self) -> bool {
        self.max == key::after_prefix(&self.min)
    }

    /// The range of the same keys each preceded by `prefix`.
    #[must_use]
    pub fn prefixed_by(&self, prefix: &[u8]) -> KeyRange {
        let join = |bound: &[u8]| [prefix, bound].concat();
        KeyRange {
            min: join(&self.min),
            max: match self.max() {
                Some(max) => Some(join(max)),
                None => key::after_prefix(prefix),
            },
        }
    }

    /// The bounds.
    pub fn into_bounds(self) -> (Vec<u8>, Option<Vec<u8>>) {
        (self.min, self.max)
    }
}

impl TryFrom<KeySpan<'_>> for KeyRange {
    type Error = KvError;

    fn try_from(span: KeySpan<'_>) -> Result<Self> {
        KeyRange::new(span.min, span.max.map(<[u8]>::to_vec))
    }
}

impl Ord for KeyRange {
    fn cmp(&self, other: &Self) -> Ordering {
        self.min.cmp(&other.min).then_with(|| key::compare_max(self.max(), other.max()))
    }
}

impl PartialOrd for KeyRange {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.span().fmt(f)
    }
}
