//! Restrictions of one index column, or of the keys of a set or map, to ranges of encoded values.
//!
//! Encoded values sort like the values, and no encoded value is a prefix of another. So everything
//! here compares plain bytes.

use std::ops::Bound;
use std::sync::Arc;

use permazen_kv::Direction;

use crate::object::store::{KeyBuffer, ShortKey, extend_to_after_prefix};

/// A range of encoded values: a lower and an upper bound.
pub(crate) type EncodedRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);
/// A borrowed [`EncodedRange`].
type BorrowedRange<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

/// A key span: its smallest key, and the first key after it, if there is one.
pub(crate) type OwnedSpan = (Vec<u8>, Option<Vec<u8>>);

/// Where a value is, as a filter sees it when walking in a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterPosition<'f> {
    /// The value is wanted.
    Inside,
    /// The next wanted values begin at this bound. It is the lower bound of a range when going
    /// forward, the upper bound when going backward.
    Ahead(Bound<&'f [u8]>),
    /// Nothing more is wanted in this direction.
    Past,
}

/// The wanted encoded values of one column: a union of ascending ranges that do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnFilter {
    /// Shared, because each restriction of a view and each set of IDs has the filters again.
    ranges: Arc<[EncodedRange]>,
}

/// Whether a range with these bounds is empty.
pub(crate) fn is_empty_range(lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> bool {
    match (lower, upper) {
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Included(lower), Bound::Excluded(upper))
        | (Bound::Excluded(lower), Bound::Included(upper))
        | (Bound::Excluded(lower), Bound::Excluded(upper)) => lower >= upper,
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
    }
}

/// Whether the bounds are in the wrong order: the lower one is above the upper one.
pub(crate) fn is_inverted<T: Ord>(lower: &Bound<T>, upper: &Bound<T>) -> bool {
    match (lower, upper) {
        (
            Bound::Included(lower) | Bound::Excluded(lower),
            Bound::Included(upper) | Bound::Excluded(upper),
            // Equal bounds are in order, even if both exclude: that range is empty, and no mistake.
        ) => lower > upper,
        _ => false,
    }
}

/// Whether `bytes` is at or above the lower bound.
fn above_lower(bytes: &[u8], lower: &Bound<Vec<u8>>) -> bool {
    match lower {
        Bound::Included(lower) => bytes >= &lower[..],
        Bound::Excluded(lower) => bytes > &lower[..],
        Bound::Unbounded => true,
    }
}

/// Whether `bytes` is at or below the upper bound.
fn below_upper(bytes: &[u8], upper: &Bound<Vec<u8>>) -> bool {
    match upper {
        Bound::Included(upper) => bytes <= &upper[..],
        Bound::Excluded(upper) => bytes < &upper[..],
        Bound::Unbounded => true,
    }
}

/// Encodes the value of a bound with `encode`.
pub(crate) fn encode_bound<T, E>(
    bound: Bound<T>,
    encode: impl FnOnce(T) -> Result<Vec<u8>, E>,
) -> Result<Bound<Vec<u8>>, E> {
    Ok(match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(value) => Bound::Included(encode(value)?),
        Bound::Excluded(value) => Bound::Excluded(encode(value)?),
    })
}

/// Whether `bytes` is in the range.
pub(crate) fn is_within(bytes: &[u8], range: &EncodedRange) -> bool {
    above_lower(bytes, &range.0) && below_upper(bytes, &range.1)
}

/// The higher of two lower bounds.
fn higher(a: Bound<Vec<u8>>, b: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match (&a, &b) {
        (Bound::Unbounded, _) => b,
        (_, Bound::Unbounded) => a,
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) => {
            // Of equal bounds, the one that excludes the value leaves less.
            if x > y || (x == y && matches!(a, Bound::Excluded(_))) { a } else { b }
        }
    }
}

/// The lower of two upper bounds.
fn lower(a: Bound<Vec<u8>>, b: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match (&a, &b) {
        (Bound::Unbounded, _) => b,
        (_, Bound::Unbounded) => a,
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) => {
            // As above: the one that excludes leaves less.
            if x < y || (x == y && matches!(a, Bound::Excluded(_))) { a } else { b }
        }
    }
}

/// The intersection of both ranges.
pub(crate) fn intersect_ranges(a: &EncodedRange, b: &EncodedRange) -> EncodedRange {
    (higher(a.0.clone(), b.0.clone()), lower(a.1.clone(), b.1.clone()))
}

impl ColumnFilter {
    /// The values between two bounds.
    pub(crate) fn range(lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> Self {
        match is_empty_range(&lower, &upper) {
            true => ColumnFilter { ranges: Arc::new([]) },
            false => ColumnFilter { ranges: Arc::new([(lower, upper)]) },
        }
    }

    /// Exactly one value.
    pub(crate) fn exactly(value: Vec<u8>) -> Self {
        let range = (Bound::Included(value.clone()), Bound::Included(value));
        ColumnFilter { ranges: Arc::new([range]) }
    }

    /// The values in any of the ranges. The ranges must ascend and not overlap.
    pub(crate) fn union(mut ranges: Vec<EncodedRange>) -> Self {
        // An empty range has no place in the order, and the search by halves needs one.
        ranges.retain(|(lower, upper)| !is_empty_range(lower, upper));
        ColumnFilter { ranges: ranges.into() }
    }

    /// The values that both filters want.
    pub(crate) fn intersect(&self, other: &ColumnFilter) -> ColumnFilter {
        let mut ranges = Vec::new();
        // Both ascend without overlaps, so the parts in common come out in ascending order too.
        for a in &*self.ranges {
            for b in &*other.ranges {
                ranges.push(intersect_ranges(a, b));
            }
        }
        Self::union(ranges)
    }

    /// Also wants the values from `lower` on, which must be above the values wanted so far.
    pub(crate) fn or_above(self, lower: Bound<Vec<u8>>) -> ColumnFilter {
        let ranges = self.ranges.iter().cloned();
        ColumnFilter { ranges: ranges.chain([(lower, Bound::Unbounded)]).collect() }
    }

    /// Whether nothing is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The wanted value, if exactly one is wanted.
    pub(crate) fn single(&self) -> Option<&[u8]> {
        match &self.ranges[..] {
            // Only this form means a single value: between two excluded bounds there can be any
            // number.
            [(Bound::Included(lower), Bound::Included(upper))] if lower == upper => Some(lower),
            _ => None,
        }
    }

    /// Whether this is one range. Then the bounds of a scan can express it.
    pub(crate) fn is_one_range(&self) -> bool {
        self.ranges.len() == 1
    }

    /// The lowest and the highest bound.
    pub(crate) fn hull(&self) -> Option<BorrowedRange<'_>> {
        Some((borrowed(&self.ranges.first()?.0), borrowed(&self.ranges.last()?.1)))
    }

    /// The key spans of the wanted values after `prefix`.
    pub(crate) fn each_span(&self, prefix: &[u8]) -> impl Iterator<Item = OwnedSpan> {
        let ranges = self.ranges.iter().cloned();
        ranges.filter_map(|(lower, upper)| span_of(prefix, &ColumnFilter::range(lower, upper)))
    }

    /// Whether the filter wants `bytes`.
    pub(crate) fn contains(&self, bytes: &[u8]) -> bool {
        self.locate(bytes, Direction::Forward) == FilterPosition::Inside
    }

    /// Where `bytes` is, when walking in `direction`.
    pub(crate) fn locate(&self, bytes: &[u8], direction: Direction) -> FilterPosition<'_> {
        match direction {
            Direction::Forward => {
                // The ranges ascend, so the first one that does not end before the value is the
                // only candidate.
                let at = self.ranges.partition_point(|(_, upper)| !below_upper(bytes, upper));
                match self.ranges.get(at) {
                    None => FilterPosition::Past,
                    Some((lower, _)) if above_lower(bytes, lower) => FilterPosition::Inside,
                    Some((lower, _)) => FilterPosition::Ahead(borrowed(lower)),
                }
            }
            Direction::Reverse => {
                // Backward, the last one that begins at or below the value is the only candidate.
                let at = self.ranges.partition_point(|(lower, _)| above_lower(bytes, lower));
                match at.checked_sub(1).and_then(|at| self.ranges.get(at)) {
                    None => FilterPosition::Past,
                    Some((_, upper)) if below_upper(bytes, upper) => FilterPosition::Inside,
                    Some((_, upper)) => FilterPosition::Ahead(borrowed(upper)),
                }
            }
        }
    }
}

/// Borrows the bound.
pub(crate) fn borrowed(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(|bytes| &bytes[..])
}

/// Extends `prefix` to the smallest key whose next column is not below `lower`. Returns `false` if
/// there is no such key.
pub(crate) fn push_lower(prefix: &mut impl KeyBuffer, lower: Bound<&[u8]>) -> bool {
    match lower {
        Bound::Unbounded => true,
        Bound::Included(bytes) => push(prefix, bytes, false),
        // All keys with this value begin with it, so the first other key comes after all of them.
        Bound::Excluded(bytes) => push(prefix, bytes, true),
    }
}

/// Extends `prefix` to the smallest key that is above all keys whose next column is not above
/// `upper`. Returns `false` if there is no such key.
pub(crate) fn push_upper(prefix: &mut impl KeyBuffer, upper: Bound<&[u8]>) -> bool {
    match upper {
        // Unbounded means this column only: the scan must not leave the prefix.
        Bound::Unbounded => extend_to_after_prefix(prefix),
        Bound::Excluded(bytes) => push(prefix, bytes, false),
        Bound::Included(bytes) => push(prefix, bytes, true),
    }
}

/// Extends `prefix` by `bytes`, or to the smallest key after all that begin with both. Returns
/// `false` if there is no such key.
fn push(prefix: &mut impl KeyBuffer, bytes: &[u8], after: bool) -> bool {
    prefix.append(bytes);
    !after || extend_to_after_prefix(prefix)
}

/// The key span of the values that `filter` wants, after `prefix`; `None` if it wants nothing.
pub(crate) fn span_of(prefix: &[u8], filter: &ColumnFilter) -> Option<OwnedSpan> {
    let (lower, upper) = filter.hull()?;
    let with_room = |bound: Bound<&[u8]>| {
        let more = match bound {
            Bound::Included(bytes) | Bound::Excluded(bytes) => bytes.len(),
            Bound::Unbounded => 0,
        };
        let mut key = Vec::with_capacity(prefix.len() + more);
        key.extend_from_slice(prefix);
        key
    };
    let mut min = with_room(lower);
    if !push_lower(&mut min, lower) {
        return None;
    }
    let mut max = with_room(upper);
    // A prefix of `ff` bytes has no key after it. Then the span has no end.
    Some((min, push_upper(&mut max, upper).then_some(max)))
}

/// Does the same as [`span_of`] for a span that is read once.
#[inline]
pub(crate) fn short_span_of(
    prefix: &[u8],
    filter: &ColumnFilter,
) -> Option<(ShortKey, Option<ShortKey>)> {
    let (lower, upper) = filter.hull()?;
    let (mut min, mut max) = (ShortKey::new(prefix), ShortKey::new(prefix));
    if !push_lower(&mut min, lower) {
        return None;
    }
    let bounded = push_upper(&mut max, upper);
    Some((min, bounded.then_some(max)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bound() -> impl Strategy<Value = Bound<u8>> {
        prop_oneof![
            Just(Bound::Unbounded),
            (0u8..12).prop_map(Bound::Included),
            (0u8..12).prop_map(Bound::Excluded),
        ]
    }

    fn bytes(bound: Bound<u8>) -> Bound<Vec<u8>> {
        bound.map(|value| vec![value])
    }

    proptest! {
        #[test]
        fn intersection_is_what_both_contain(
            a in (bound(), bound()), b in (bound(), bound()), probe in 0u8..12,
        ) {
            use std::ops::RangeBounds;
            let left = ColumnFilter::range(bytes(a.0), bytes(a.1));
            let right = ColumnFilter::range(bytes(b.0), bytes(b.1));
            let both = left.intersect(&right);
            prop_assert_eq!(left.contains(&[probe]), a.contains(&probe));
            prop_assert_eq!(both.contains(&[probe]), a.contains(&probe) && b.contains(&probe));
        }

        #[test]
        fn the_next_wanted_value_is_found(ranges in prop::collection::vec((0u8..40, 0u8..6), 0..5),
            probe in 0u8..60, reverse in any::<bool>()) {
            // disjoint ascending half-open ranges
            let mut wanted = Vec::new();
            let mut from = 0;
            for (gap, len) in ranges {
                let start = from + gap % 7;
                wanted.push((Bound::Included(vec![start]), Bound::Excluded(vec![start + len])));
                from = start + len;
            }
            let filter = ColumnFilter::union(wanted);
            let direction = if reverse { Direction::Reverse } else { Direction::Forward };
            let inside = |value: &u8| filter.contains(&[*value]);
            let next = if reverse { (0..=probe).rev().find(inside) } else { (probe..100).find(inside) };
            match filter.locate(&[probe], direction) {
                FilterPosition::Inside => prop_assert_eq!(next, Some(probe)),
                FilterPosition::Past => prop_assert_eq!(next, None),
                FilterPosition::Ahead(Bound::Included(at)) => prop_assert_eq!(next, Some(at[0])),
                FilterPosition::Ahead(Bound::Excluded(at)) => prop_assert_eq!(next.map(|n| n + 1), Some(at[0])),
                FilterPosition::Ahead(Bound::Unbounded) => prop_assert!(false),
            }
        }
    }
}
