//! Normalised sets of key ranges (kv §7.2).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Excluded, Included, Unbounded};

use crate::codec::{self, Input};
use crate::filter::KeyFilter;
use crate::key;
use crate::{KeyRange, KeySpan, Result};

/// A set of keys made of ranges.
///
/// Always minimal: the ranges are sorted, not empty, and no two of them overlap or touch. Spans
/// passed in that are empty or reversed stand for no key. Finding, adding and removing cost
/// O(log n) plus the number of ranges merged or dropped.
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
    /// From the lower bounds to the upper ones.
    bounds: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl KeyRanges {
    /// No key.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every key.
    pub fn full() -> Self {
        KeyRanges { bounds: BTreeMap::from([(Vec::new(), None)]) }
    }

    /// Whether this is no key.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Whether this is every key.
    pub fn is_full(&self) -> bool {
        self.iter().next() == Some(KeySpan::FULL)
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.bounds.len()
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = KeySpan<'_>> + Clone {
        self.bounds.iter().map(to_span)
    }

    /// The smallest key of the set; none if it is empty.
    pub fn min(&self) -> Option<&[u8]> {
        self.iter().next().map(|span| span.min)
    }

    /// The first key after the set; none if it has no end or is empty.
    pub fn max(&self) -> Option<&[u8]> {
        self.iter().next_back().and_then(|span| span.max)
    }

    /// The range that contains `key`.
    pub fn find(&self, key: &[u8]) -> Option<KeySpan<'_>> {
        self.at_or_before(key).filter(|span| key::below(key, span.max))
    }

    /// The nearest range entirely left of `key`, and the nearest entirely right of it.
    pub fn neighbours(&self, key: &[u8]) -> (Option<KeySpan<'_>>, Option<KeySpan<'_>>) {
        let mut lower = self.bounds.range::<[u8], _>((Unbounded, Included(key))).map(to_span);
        let left = lower.rfind(|span| !key::below(key, span.max));
        (left, self.after(key))
    }

    /// Whether `key` is in the set.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.find(key).is_some()
    }

    /// Whether all keys of `span` are in the set; for an empty span, whether its bound is.
    pub fn contains_span(&self, span: KeySpan<'_>) -> bool {
        self.find(span.min).is_some_and(|found| key::compare_max(span.max, found.max).is_le())
    }

    /// Whether all keys of `other` are in this set.
    pub fn contains_all(&self, other: &KeyRanges) -> bool {
        other.iter().all(|span| self.contains_span(span))
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
        let extends = match before {
            Some(before) if key::compare_max(span.max, before.max).is_le() => return,
            Some(before) => before.max.is_none_or(|max| max >= span.min),
            None => false,
        };
        let mut max = span.max.map(Cow::Borrowed);
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

    /// Adds the keys of `other`.
    pub fn add_all(&mut self, other: &KeyRanges) {
        other.iter().for_each(|span| self.add(span));
    }

    /// Removes the keys of `span`.
    pub fn remove(&mut self, span: KeySpan<'_>) {
        if span.is_empty() {
            return;
        }
        let mut rest = None;
        while let Some(last) = self.last_below(span.max)
            && key::below(span.min, last.max)
        {
            if key::compare_max(last.max, span.max).is_gt() {
                rest = Some(last.max.map(<[u8]>::to_vec));
            }
            let min = last.min.to_vec();
            if *min < *span.min {
                self.bounds.insert(min, Some(span.min.to_vec()));
                break;
            }
            self.bounds.remove(&min);
        }
        if let (Some(rest), Some(max)) = (rest, span.max) {
            self.bounds.insert(max.to_vec(), rest);
        }
    }

    /// Removes the keys of `other`.
    pub fn remove_all(&mut self, other: &KeyRanges) {
        other.iter().for_each(|span| self.remove(span));
    }

    /// Keeps only the keys of `span`.
    pub fn intersect(&mut self, span: KeySpan<'_>) {
        if span.is_empty() {
            self.bounds.clear();
            return;
        }
        self.remove(KeySpan::new(&[], Some(span.min)));
        if let Some(max) = span.max {
            self.remove(KeySpan::new(max, None));
        }
    }

    /// Keeps only the keys of `other`.
    pub fn intersect_all(&mut self, other: &KeyRanges) {
        self.remove_all(&other.inverse());
    }

    /// The keys not in this set.
    #[must_use]
    pub fn inverse(&self) -> KeyRanges {
        let mut bounds = BTreeMap::new();
        let mut min = Some(&[][..]);
        for span in self.iter() {
            if let Some(min) = min.filter(|&min| min < span.min) {
                bounds.insert(min.to_vec(), Some(span.min.to_vec()));
            }
            min = span.max;
        }
        if let Some(min) = min {
            bounds.insert(min.to_vec(), None);
        }
        KeyRanges { bounds }
    }

    /// The set of the same keys each preceded by `prefix`.
    #[must_use]
    pub fn prefixed_by(&self, prefix: &[u8]) -> KeyRanges {
        let ranges = self.bounds.iter().map(|(min, max)| {
            let join = |bound: &[u8]| [prefix, bound].concat();
            let end = max.as_deref().map(join).or_else(|| key::after_prefix(prefix));
            (join(min), end)
        });
        KeyRanges { bounds: ranges.collect() }
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.bounds.clear();
    }

    /// Appends the serialized form (kv §4.1) to `out`.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`](crate::KvError::InvalidArgument) if a bound or the number of ranges exceeds 2³¹−1.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        codec::put_count(out, self.len())?;
        let mut previous = None;
        for span in self.iter() {
            codec::put_item(out, span.min, previous)?;
            codec::put_item(out, span.max.unwrap_or(span.min), Some(span.min))?;
            previous = span.max;
        }
        Ok(())
    }

    /// Reads the serialized form (kv §4.1) from the front of `input`, which is moved past it.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`](crate::KvError::InvalidArgument) if the bytes are cut short or malformed, or the ranges are not
    /// ascending or touch.
    pub fn decode(input: &mut &[u8]) -> Result<KeyRanges> {
        let mut reader = Input::new(input, "a set of key ranges");
        let ranges = Self::read(&mut reader)?;
        *input = reader.rest();
        Ok(ranges)
    }

    fn read(input: &mut Input<'_>) -> Result<KeyRanges> {
        let mut bounds: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
        for _ in 0..input.count()? {
            let previous = bounds.last_key_value().map(|(_, max)| max);
            let (min, max) = Self::read_range(input, previous)?;
            bounds.insert(min, max);
        }
        Ok(KeyRanges { bounds })
    }

    /// Reads a range of a serialized set; `previous` is the end of the one before it, if there is one.
    pub(crate) fn read_range(
        input: &mut Input<'_>,
        previous: Option<&Option<Vec<u8>>>,
    ) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let min = input.item(previous.and_then(Option::as_deref))?;
        if previous.is_some_and(|end| end.as_ref().is_none_or(|end| min <= *end)) {
            return Err(input.error("ranges are not ascending, or touch"));
        }
        let max = input.item(Some(&min))?;
        if max < min {
            return Err(input.error("a range ends before it starts"));
        }
        let max = (max > min).then_some(max);
        Ok((min, max))
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

impl KeyFilter for KeyRanges {
    fn contains(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn seek_higher<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if self.contains(key) {
            return Some(Cow::Borrowed(key));
        }
        self.after(key).map(|next| Cow::Borrowed(next.min))
    }

    fn seek_lower<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if key.is_empty() {
            let last = self.iter().next_back()?;
            return Some(Cow::Borrowed(last.max.unwrap_or_default()));
        }
        let last = self.at_or_before(key)?;
        Some(Cow::Borrowed(last.max.map_or(key, |max| max.min(key))))
    }
}

impl<'a> Extend<KeySpan<'a>> for KeyRanges {
    fn extend<I: IntoIterator<Item = KeySpan<'a>>>(&mut self, spans: I) {
        spans.into_iter().for_each(|span| self.add(span));
    }
}

impl<'a> FromIterator<KeySpan<'a>> for KeyRanges {
    fn from_iter<I: IntoIterator<Item = KeySpan<'a>>>(spans: I) -> Self {
        let mut ranges = KeyRanges::new();
        ranges.extend(spans);
        ranges
    }
}

impl From<KeyRange> for KeyRanges {
    fn from(range: KeyRange) -> Self {
        [range.span()].into_iter().collect()
    }
}

/// At most this many ranges are shown.
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
