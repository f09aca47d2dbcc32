//! Sets of key ranges in their smallest form.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Excluded, Included, Unbounded};

use super::{KeySpan, key};

/// A set of keys, made of ranges.
///
/// Always minimal: the ranges are sorted and not empty, and no two of them overlap or touch. An
/// empty or reversed span that is passed in contains no key. Finding, adding and removing cost
/// O(log n), plus the number of ranges merged or dropped.
///
/// ```
/// use permazen_kv::{KeyRanges, KeySpan};
/// let mut set = KeyRanges::new();
/// set.add(KeySpan::new(b"c", Some(b"e")));
/// set.add(KeySpan::new(b"e", Some(b"g")));
/// assert_eq!(set.to_string(), "[[63,67)]");
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct KeyRanges {
    /// From each lower bound to its upper bound.
    bounds: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl KeyRanges {
    /// The empty set.
    pub const fn new() -> Self {
        KeyRanges { bounds: BTreeMap::new() }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.bounds.len()
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = KeySpan<'_>> + Clone {
        self.bounds.iter().map(to_span)
    }

    /// The range that contains `key`.
    pub(crate) fn find(&self, key: &[u8]) -> Option<KeySpan<'_>> {
        self.at_or_before(key).filter(|span| key::below(key, span.max))
    }

    /// Whether `key` is in the set.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.find(key).is_some()
    }

    /// Whether a range of the set overlaps `span`.
    pub fn intersects(&self, span: KeySpan<'_>) -> bool {
        self.last_below(span.max).is_some_and(|last| key::below(span.min, last.max))
    }

    /// Adds the keys of `span`.
    pub fn add(&mut self, span: KeySpan<'_>) {
        if span.is_empty() {
            return;
        }
        let before = self.at_or_before(span.min);
        // A range that contains the span leaves nothing to do. A range that touches it grows.
        let extends = match before {
            Some(before) if key::compare_max(span.max, before.max).is_le() => return,
            Some(before) => before.max.is_none_or(|max| max >= span.min),
            None => false,
        };
        let mut max = span.max.map(Cow::Borrowed);
        // Absorbs the later ranges that the span overlaps or touches.
        while let Some(min) = self.after(span.min).map(|next| next.min)
            && max.as_ref().is_none_or(|max| min <= &**max)
        {
            let min = min.to_vec();
            if let Some(absorbed) = self.bounds.remove(&min)
                && key::compare_max(absorbed.as_deref(), max.as_deref()).is_gt()
            {
                max = absorbed.map(Cow::Owned);
            }
        }
        if extends {
            let below = (Unbounded, Included(span.min));
            if let Some((_, end)) = self.bounds.range_mut::<[u8], _>(below).next_back() {
                match (end, max) {
                    (Some(end), Some(Cow::Borrowed(max))) => max.clone_into(end),
                    (end, max) => *end = max.map(Cow::into_owned),
                }
            }
        } else {
            self.bounds.insert(span.min.to_vec(), max.map(Cow::into_owned));
        }
    }

    /// Adds `key` alone.
    pub fn add_key(&mut self, key: &[u8]) {
        if !self.contains(key) {
            self.add(KeySpan::new(key, Some(&key::next_key(key))));
        }
    }

    /// The parts of `span` that are in the set, in ascending order.
    pub fn overlapping<'a>(
        &'a self,
        span: KeySpan<'a>,
    ) -> impl DoubleEndedIterator<Item = KeySpan<'a>> {
        let first = self.find(span.min).map_or(span.min, |found| found.min);
        let end = match span.max {
            Some(max) => Excluded(max.max(first)),
            None => Unbounded,
        };
        self.bounds.range::<[u8], _>((Included(first), end)).map(to_span).map(move |found| {
            let max = if key::compare_max(found.max, span.max).is_lt() { found } else { span }.max;
            KeySpan::new(found.min.max(span.min), max)
        })
    }

    /// The range that contains the keys just below `max`.
    pub(crate) fn find_below(&self, max: Option<&[u8]>) -> Option<KeySpan<'_>> {
        self.last_below(max).filter(|last| key::compare_max(last.max, max).is_ge())
    }

    /// The last range that starts at or before `key`.
    fn at_or_before(&self, key: &[u8]) -> Option<KeySpan<'_>> {
        self.bounds.range::<[u8], _>((Unbounded, Included(key))).next_back().map(to_span)
    }

    /// The first range that starts after `key`.
    fn after(&self, key: &[u8]) -> Option<KeySpan<'_>> {
        self.bounds.range::<[u8], _>((Excluded(key), Unbounded)).next().map(to_span)
    }

    /// The last range that starts below `max`.
    fn last_below(&self, max: Option<&[u8]>) -> Option<KeySpan<'_>> {
        let end = max.map_or(Unbounded, Excluded);
        self.bounds.range::<[u8], _>((Unbounded, end)).next_back().map(to_span)
    }
}

fn to_span<'a>((min, max): (&'a Vec<u8>, &'a Option<Vec<u8>>)) -> KeySpan<'a> {
    KeySpan::new(min, max.as_deref())
}

impl<'a> FromIterator<KeySpan<'a>> for KeyRanges {
    fn from_iter<I: IntoIterator<Item = KeySpan<'a>>>(spans: I) -> Self {
        let mut ranges = KeyRanges::new();
        spans.into_iter().for_each(|span| ranges.add(span));
        ranges
    }
}

/// The largest number of ranges that are shown.
const SHOWN: usize = 32;

impl fmt::Display for KeyRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, span) in self.iter().take(SHOWN).enumerate() {
            f.write_str(if i == 0 { "" } else { "," })?;
            span.fmt(f)?;
        }
        f.write_str(if self.len() > SHOWN { "...]" } else { "]" })
    }
}

impl fmt::Debug for KeyRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRanges{self}")
    }
}
