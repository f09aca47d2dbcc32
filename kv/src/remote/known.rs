//! What a transaction knows of the store: pairs, and ranges in which there are no others.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use bytes::Bytes;

use super::engine::{Page, RangeRead};
use crate::{Direction, KeyRanges, KeySpan, key};

/// If it takes more bytes than this, all of it is forgotten. The store answers the same again.
const MOST: usize = 32 << 20;

/// What a pair takes beside its bytes.
const PAIR: usize = 128;

/// Pairs and gaps that were read.
#[derive(Debug, Default)]
pub(super) struct Known {
    pairs: BTreeMap<Bytes, Bytes>,
    /// Of each key in here it is known whether it is there.
    ranges: KeyRanges,
    bytes: usize,
}

impl Known {
    /// The value of a key, if it is known: `Some(None)` if it is absent.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<Bytes>> {
        self.ranges.contains(key).then(|| self.pairs.get(key).cloned())
    }

    /// Whether the first key of a span is known, seen from where the direction begins. An empty span is known.
    pub(super) fn begins(&self, span: KeySpan<'_>, direction: Direction) -> bool {
        span.is_empty() || self.known_part(span, direction).is_some()
    }

    /// Whether all of a span is known.
    pub(super) fn contains(&self, span: KeySpan<'_>) -> bool {
        let whole = |range: KeySpan<'_>| key::compare_max(range.max, span.max).is_ge();
        span.is_empty() || self.ranges.find(span.min).is_some_and(whole)
    }

    /// The part of a span that is known from its start.
    fn known_part<'s>(&'s self, span: KeySpan<'s>, direction: Direction) -> Option<KeySpan<'s>> {
        match direction {
            Direction::Forward => {
                let max = self.ranges.find(span.min)?.max;
                let is_shorter = key::compare_max(max, span.max).is_lt();
                Some(KeySpan::new(span.min, if is_shorter { max } else { span.max }))
            }
            Direction::Reverse => {
                let min = self.ranges.find_below(span.max)?.min;
                Some(KeySpan::new(min.max(span.min), span.max))
            }
        }
    }

    /// The first pairs of a span whose start is known, at most `most`, and what of the span comes after them.
    pub(super) fn take(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        most: usize,
    ) -> (Vec<(Bytes, Bytes)>, Rest) {
        let Some(part) = self.known_part(span, direction) else {
            return (Vec::new(), Rest::of(span));
        };
        let end = part.max.map_or(Unbounded, Excluded);
        let range = self.pairs.range::<[u8], _>((Included(part.min), end));
        let owned = |(key, value): (&Bytes, &Bytes)| (key.clone(), value.clone());
        let taken: Vec<_> = match direction {
            Direction::Forward => range.take(most).map(owned).collect(),
            Direction::Reverse => range.rev().take(most).map(owned).collect(),
        };
        let last = taken.last().filter(|_| taken.len() == most).map(|(key, _)| key);
        let rest = match (direction, last) {
            (Direction::Forward, Some(last)) => {
                Rest::of(KeySpan::new(&key::next_key(last), span.max))
            }
            (Direction::Reverse, Some(last)) => Rest::of(KeySpan::new(span.min, Some(last))),
            (Direction::Forward, None) => match part.max {
                Some(min) => Rest::of(KeySpan::new(min, span.max)),
                None => Rest::empty(),
            },
            (Direction::Reverse, None) => Rest::of(KeySpan::new(span.min, Some(part.min))),
        };
        (taken, rest)
    }

    /// Notes an answer.
    pub(super) fn learn(&mut self, read: &RangeRead, page: Page) {
        if self.bytes > MOST {
            self.forget();
        }
        let span = read.span();
        match (page.pairs.last(), read.direction) {
            (Some((last, _)), _) if !page.is_last => {
                let after = key::next_key(last);
                self.ranges.add(match read.direction {
                    Direction::Forward => KeySpan::new(span.min, Some(&after)),
                    Direction::Reverse => KeySpan::new(last, span.max),
                });
            }
            (None, _) if !page.is_last => {}
            _ => self.ranges.add(span),
        }
        for (key, value) in page.pairs {
            self.bytes += key.len() + value.len() + PAIR;
            self.pairs.insert(key, value);
        }
    }

    /// Notes that there are no pairs in a span of which nothing is known.
    pub(super) fn learn_gap(&mut self, span: KeySpan<'_>) {
        self.ranges.add(span);
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        *self = Known::default();
    }
}

/// What is left of a span.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    pub(super) min: Vec<u8>,
    pub(super) max: Option<Vec<u8>>,
}

impl Rest {
    pub(super) fn of(span: KeySpan<'_>) -> Self {
        Rest { min: span.min.to_vec(), max: span.max.map(<[u8]>::to_vec) }
    }

    fn empty() -> Self {
        Rest { min: Vec::new(), max: Some(Vec::new()) }
    }

    pub(super) fn span(&self) -> KeySpan<'_> {
        KeySpan::new(&self.min, self.max.as_deref())
    }
}
