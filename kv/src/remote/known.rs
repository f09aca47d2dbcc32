//! The part of the store that a transaction knows: pairs, and ranges in which there are no others.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::engine::{RangePage, RangeRead};
use crate::{Direction, KeyRanges, KeySpan, key};

/// If it takes more bytes than this, all of it is forgotten before the next answer. The store
/// answers the same again.
const MOST: usize = 32 << 20;

/// The memory of a pair besides its bytes.
const PAIR: usize = 80;

type Pairs = Arc<Vec<(Bytes, Bytes)>>;

/// Pairs and gaps that were read.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Adjacent pairs in ascending order, by the first key of each. No two of these overlap.
    runs: BTreeMap<Bytes, Pairs>,
    /// The keys of which it is known whether they are there.
    ranges: KeyRanges,
    bytes: usize,
}

impl Known {
    /// The value of a key, if it is known: `Some(None)` if it is absent.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&Bytes>> {
        self.ranges.contains(key).then(|| {
            let run = self.run_up_to(key)?;
            let at = run.binary_search_by(|(other, _)| (**other).cmp(key)).ok()?;
            run.get(at).map(|(_, value)| value)
        })
    }

    /// Whether the first key of a span is known, seen from where the direction begins. An empty
    /// span is known.
    pub(super) fn begins(&self, span: KeySpan<'_>, direction: Direction) -> bool {
        span.is_empty() || self.known_part(span, direction).is_some()
    }

    /// Whether all of a span is known.
    pub(super) fn contains(&self, span: KeySpan<'_>) -> bool {
        let whole = |range: KeySpan<'_>| key::compare_max(range.max, span.max).is_ge();
        span.is_empty() || self.ranges.find(span.min).is_some_and(whole)
    }

    /// The last run that begins with this key or before it.
    fn run_up_to(&self, key: &[u8]) -> Option<&Pairs> {
        self.runs.range::<[u8], _>((Unbounded, Included(key))).next_back().map(|(_, run)| run)
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

    /// The first pairs of a span, at most `most`, and the rest of the span after them. They can be
    /// fewer although more are known. `None` if the start of the span is not known.
    pub(super) fn take(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        most: usize,
    ) -> Option<(Taken, Rest)> {
        let part = self.known_part(span, direction)?;
        let after_part = || match (direction, part.max) {
            (Direction::Forward, Some(min)) => Rest::of(KeySpan::new(min, span.max)),
            (Direction::Forward, None) => Rest::empty(),
            (Direction::Reverse, _) => Rest::of(KeySpan::new(span.min, Some(part.min))),
        };
        let taken = self.first_run(part, direction).map(|run| run.at_most(most, direction));
        let Some(taken) = taken else { return Some((Taken::default(), after_part())) };
        let mut rest = Rest::of(span);
        match (direction, taken.pairs()) {
            (Direction::Forward, [.., (last, _)]) => rest.min = key::next_key(last),
            (Direction::Reverse, [(first, _), ..]) => rest.max = Some(first.to_vec()),
            (_, []) => {}
        }
        // This saves a question for a rest that is known to be empty.
        let is_more = match direction {
            Direction::Forward => match taken.after() {
                Some((next, _)) => key::below(next, part.max),
                None => {
                    let end = part.max.map_or(Unbounded, Excluded);
                    self.runs.range::<[u8], _>((Included(&rest.min[..]), end)).next().is_some()
                }
            },
            Direction::Reverse => {
                let left = KeySpan::new(part.min, rest.max.as_deref());
                self.first_run(left, direction).is_some()
            }
        };
        Some((taken, if is_more { rest } else { after_part() }))
    }

    /// The first pairs of a span, as far as they are in one run. `None` if there are none.
    fn first_run(&self, span: KeySpan<'_>, direction: Direction) -> Option<Taken> {
        if span.is_empty() {
            return None;
        }
        let end = span.max.map_or(Unbounded, Excluded);
        let of_span = |run: &Pairs| Some(Taken::of(run, span)).filter(|taken| !taken.is_empty());
        let after = match direction {
            Direction::Forward => match self.run_up_to(span.min).and_then(of_span) {
                Some(taken) => return Some(taken),
                None => self.runs.range::<[u8], _>((Excluded(span.min), end)).next(),
            },
            Direction::Reverse => self.runs.range::<[u8], _>((Unbounded, end)).next_back(),
        };
        after.and_then(|(_, run)| of_span(run))
    }

    /// Makes room for an answer.
    pub(super) fn make_room(&mut self) {
        if self.bytes > MOST {
            self.forget();
        }
    }

    /// Notes a page of an answer.
    pub(super) fn learn(&mut self, read: &RangeRead, page: RangePage) {
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
        let mut pairs = page.pairs;
        if read.direction == Direction::Reverse {
            pairs.reverse();
        }
        self.bytes +=
            pairs.iter().map(|(key, value)| key.len() + value.len() + PAIR).sum::<usize>();
        let (Some((first, _)), Some((last, _))) = (pairs.first(), pairs.last()) else { return };
        let is_known = |run: &Pairs, key: &[u8]| run.last().is_some_and(|(last, _)| key <= &**last);
        let overlaps = self.run_up_to(last).is_some_and(|run| is_known(run, first));
        if !overlaps {
            self.add_run(pairs);
            return;
        }
        // The pairs of a run are all that there are between its first and its last one. Others come
        // between runs.
        let mut new = Vec::new();
        for pair in pairs {
            match self.run_up_to(&pair.0).is_some_and(|run| is_known(run, &pair.0)) {
                true => self.add_run(std::mem::take(&mut new)),
                false => new.push(pair),
            }
        }
        self.add_run(new);
    }

    fn add_run(&mut self, pairs: Vec<(Bytes, Bytes)>) {
        if let Some((first, _)) = pairs.first() {
            self.runs.insert(first.clone(), Arc::new(pairs));
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

/// Pairs of a run.
#[derive(Debug, Default)]
pub(super) struct Taken {
    run: Pairs,
    places: Range<usize>,
}

impl Taken {
    /// The pairs of a run that are in a span.
    fn of(run: &Pairs, span: KeySpan<'_>) -> Self {
        let mut places = 0..run.len();
        if run.first().is_some_and(|(first, _)| **first < *span.min) {
            places.start = run.partition_point(|(key, _)| **key < *span.min);
        }
        if run.last().is_some_and(|(last, _)| !key::below(last, span.max)) {
            places.end = run.partition_point(|(key, _)| key::below(key, span.max));
        }
        Taken { run: Arc::clone(run), places }
    }

    fn at_most(mut self, most: usize, direction: Direction) -> Self {
        match direction {
            Direction::Forward => {
                self.places.end = self.places.end.min(self.places.start.saturating_add(most));
            }
            Direction::Reverse => {
                self.places.start = self.places.start.max(self.places.end.saturating_sub(most));
            }
        }
        self
    }

    /// The pairs, in ascending order.
    pub(super) fn pairs(&self) -> &[(Bytes, Bytes)] {
        self.run.get(self.places.clone()).unwrap_or_default()
    }

    /// The pair that comes after them in the run.
    fn after(&self) -> Option<&(Bytes, Bytes)> {
        self.run.get(self.places.end)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs().is_empty()
    }

    /// The next pair in this direction.
    pub(super) fn next(&mut self, direction: Direction) -> Option<&(Bytes, Bytes)> {
        let at = match direction {
            Direction::Forward => self.places.next(),
            Direction::Reverse => self.places.next_back(),
        };
        self.run.get(at?)
    }
}

/// The rest of a span.
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
