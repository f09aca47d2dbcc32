//! Ranges of keys for conditions.

use std::ops::Bound;

use permazen::__internal::layout::prefix_end;
use permazen::encoding::Encoding;

use super::physical::{EntryShape, Span};
use crate::check::{CheckedIndex, Matcher};
use crate::text;

/// A range of encoded values.
pub(super) use crate::check::Bounds as Range;

/// The values that are in both ranges.
pub(super) fn intersection(one: Range, other: Range) -> Range {
    (greater(one.0, other.0), less(one.1, other.1))
}

fn greater(one: Bound<Vec<u8>>, other: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    let rank = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Unbounded => None,
        Bound::Included(value) => Some((value.clone(), false)),
        Bound::Excluded(value) => Some((value.clone(), true)),
    };
    // An excluded bound begins later than an included one of the same value.
    if rank(&one) >= rank(&other) { one } else { other }
}

fn less(one: Bound<Vec<u8>>, other: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    let rank = |bound: &Bound<Vec<u8>>| match bound {
        // No value is as great as this, so the other bound is always the less one.
        Bound::Unbounded => (true, Vec::new(), false),
        Bound::Excluded(value) => (false, value.clone(), false),
        Bound::Included(value) => (false, value.clone(), true),
    };
    // An excluded bound ends earlier than an included one of the same value.
    if rank(&one) <= rank(&other) { one } else { other }
}

/// The keys that begin with a prefix and continue with a value of the range; `None` if there are
/// none.
pub(super) fn span(prefix: &[u8], range: &Range) -> Option<Span> {
    let with = |value: &[u8]| [prefix, value].concat();
    let min = match &range.0 {
        Bound::Unbounded => prefix.to_vec(),
        Bound::Included(value) => with(value),
        // No encoded value is the beginning of another one.
        // If no key follows the value, the range is empty.
        Bound::Excluded(value) => prefix_end(&with(value))?,
    };
    let max = match &range.1 {
        // Bounded by the prefix: other keys of the index follow it.
        Bound::Unbounded => prefix_end(prefix),
        Bound::Excluded(value) => Some(with(value)),
        Bound::Included(value) => prefix_end(&with(value)),
    };
    // Stores refuse an inverted range, and an empty one need not be read.
    (max.as_ref().is_none_or(|max| min < *max)).then_some(Span { min, max })
}

/// All keys that begin with a prefix.
pub(crate) fn all(prefix: &[u8]) -> Span {
    Span { min: prefix.to_vec(), max: prefix_end(prefix) }
}

/// A range in words of the language: `"A".."C"`.
pub(super) fn shown(range: &Range, encoding: &dyn Encoding) -> String {
    let value = |bytes: &[u8]| match encoding.decode_all(bytes) {
        Ok(value) => text::literal(&value, encoding),
        Err(_) => text::hex(bytes.iter().copied()),
    };
    if let (Bound::Included(lower), Bound::Excluded(upper)) = range
        // `starts` becomes the range of all keys that begin with the encoded text without its end.
        && prefix_end(lower).as_ref() == Some(upper)
        && encoding.decode_all(lower).is_err()
        && let Ok(beginning) = encoding.decode_all(&[&lower[..], &[0]].concat())
    {
        return format!("starts {}", text::literal(&beginning, encoding));
    }
    let is_null = |bytes: &[u8]| {
        let null = encoding.encode_all(&permazen::encoding::Value::Null);
        null.is_ok_and(|null| null == bytes)
    };
    if let (Bound::Included(lower), Bound::Included(upper)) = range
        && lower == upper
    {
        // A range of one value reads best as that value.
        return value(lower);
    }
    let lower = match &range.0 {
        Bound::Unbounded => String::new(),
        Bound::Included(bytes) => value(bytes),
        Bound::Excluded(bytes) => format!("after {} ", value(bytes)),
    };
    match &range.1 {
        Bound::Unbounded => format!("{lower}.."),
        // A range without an upper bound ends before null, which is in no range.
        Bound::Excluded(bytes) if is_null(bytes) => format!("{lower}.."),
        Bound::Excluded(bytes) => format!("{lower}..{}", value(bytes)),
        Bound::Included(bytes) => format!("{lower}..={}", value(bytes)),
    }
}

/// Values in words of the language.
pub(super) fn shown_values(matcher: &Matcher, encoding: &dyn Encoding) -> String {
    let value = |bytes: &Vec<u8>| match encoding.decode_all(bytes) {
        Ok(value) => text::literal(&value, encoding),
        Err(_) => text::hex(bytes.iter().copied()),
    };
    match matcher {
        Matcher::Equal(one) | Matcher::NotEqual(one) => value(one),
        // A long list would fill the line of the plan.
        Matcher::OneOf(values) if values.len() <= 5 => {
            format!("{{{}}}", values.iter().map(value).collect::<Vec<_>>().join(", "))
        }
        Matcher::OneOf(values) => format!("{} values", values.len()),
        Matcher::Within(lower, upper) => shown(&(lower.clone(), upper.clone()), encoding),
        Matcher::Decimal(matcher) => shown_values(matcher, encoding),
    }
}

/// The keys that `index` reads, if there can be any, and the columns that must be compared with
/// their bounds.
pub(crate) fn index_span<'i>(
    index: &'i CheckedIndex,
    shape: &EntryShape,
) -> (Option<Span>, Vec<(usize, &'i Matcher)>) {
    let mut prefix = shape.key.to_vec();
    let mut bounds = index.bounds.iter().enumerate();
    // Only columns before the first range form a prefix; those after it are compared one by one.
    for (column, matcher) in bounds.by_ref() {
        match matcher {
            Matcher::Equal(value) => prefix.extend_from_slice(value),
            Matcher::Within(lower, upper) => {
                let range = (lower.clone(), upper.clone());
                return (span(&prefix, &range), bounds.collect());
            }
            // These are no range of keys, so the span only has room for them, and the entries are
            // compared.
            Matcher::NotEqual(_) | Matcher::OneOf(_) | Matcher::Decimal(_) => {
                let span = match matcher.bounds() {
                    Some((_, range)) => span(&prefix, &range),
                    None => Some(all(&prefix)),
                };
                return (span, std::iter::once((column, matcher)).chain(bounds).collect());
            }
        }
    }
    (Some(all(&prefix)), Vec::new())
}
