//! Scans of the base alone, and of the base and the changes as one.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::btree_map;
use std::ops::Bound::{Excluded, Included, Unbounded};

use super::layers::Layers;
use crate::{Direction, KeySpan, KvRead, Pair, Result, Scan};

/// The pairs of a span as a view shows them. Records the part of the base that each step has read.
pub(super) struct Merge<'a, B> {
    layers: &'a Layers<B>,
    direction: Direction,
    track: bool,
    /// The rest of the span. Forward, `min` rises; in reverse, `max` falls.
    min: Vec<u8>,
    max: Option<Vec<u8>>,
    /// The pairs of the base; `None` once no more of them can be visible.
    base: Option<Scan<'a>>,
    next_base: Option<Pair<'a>>,
    puts: btree_map::Range<'a, Vec<u8>, Vec<u8>>,
    next_put: Option<(&'a Vec<u8>, &'a Vec<u8>)>,
    scratch: Vec<u8>,
    finished: bool,
}

impl<'a, B: KvRead> Merge<'a, B> {
    pub(super) fn new(
        layers: &'a Layers<B>,
        span: KeySpan<'_>,
        direction: Direction,
        track: bool,
    ) -> Result<Self> {
        span.check()?;
        let end = span.max.map_or(Unbounded, Excluded);
        Ok(Merge {
            layers,
            direction,
            track,
            min: span.min.to_vec(),
            max: span.max.map(<[u8]>::to_vec),
            base: Some(layers.base.scan(span, direction)?),
            next_base: None,
            puts: layers.writes.puts.range::<[u8], _>((Included(span.min), end)),
            next_put: None,
            scratch: Vec::new(),
            finished: span.is_empty(),
        })
    }

    /// Finds the next pair of the base that is not removed.
    fn fill_base(&mut self) -> Result<()> {
        let removes = &self.layers.writes.removes;
        while self.next_base.is_none()
            && let Some(base) = &mut self.base
        {
            let Some(pair) = base.next().transpose()? else {
                self.base = None;
                return Ok(());
            };
            let removed = if removes.is_empty() { None } else { removes.find(&pair.0) };
            let Some(removed) = removed else {
                self.next_base = Some(pair);
                return Ok(());
            };
            // One step passes a single key; a new scan would cost a descent.
            if removed.is_single_key() {
                continue;
            }
            // Starts a new scan after the removed range, which may contain many pairs.
            let rest = match self.direction {
                Direction::Forward => removed.max.map(|min| KeySpan::new(min, self.max.as_deref())),
                Direction::Reverse => Some(KeySpan::new(&self.min, Some(removed.min))),
            };
            self.base = match rest {
                Some(rest) if !rest.is_empty() => {
                    Some(self.layers.base.scan(rest, self.direction)?)
                }
                _ => None,
            };
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<Pair<'a>>> {
        self.fill_base()?;
        if self.next_put.is_none() {
            self.next_put = match self.direction {
                Direction::Forward => self.puts.next(),
                Direction::Reverse => self.puts.next_back(),
            };
        }
        let put = self.next_put.map(|(key, _)| &key[..]);
        let order = match (&self.next_base, self.next_put) {
            (None, None) => {
                // At the end, the whole rest of the span was read.
                self.record(None, None);
                return Ok(None);
            }
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((key, _)), Some((put, _))) => match self.direction {
                Direction::Forward => (**key).cmp(put),
                Direction::Reverse => (**put).cmp(key),
            },
        };
        let pair = if order.is_lt() {
            self.next_base.take().map(|(key, value)| {
                let value = self.layers.adjusted(&key, value);
                (key, value)
            })
        } else {
            // The put replaces the pair of the base.
            if order.is_eq() {
                self.next_base = None;
            }
            self.next_put
                .take()
                .map(|(key, value)| (Cow::Borrowed(&key[..]), Cow::Borrowed(&value[..])))
        };
        if let Some((key, _)) = &pair {
            self.advance(key, put);
        }
        Ok(pair)
    }

    /// Records the span that was read to find `key`, and shortens the rest of the span.
    fn advance(&mut self, key: &[u8], put: Option<&[u8]>) {
        if !self.track {
            return;
        }
        match self.direction {
            Direction::Forward => {
                self.scratch.clear();
                self.scratch.extend_from_slice(key);
                self.scratch.push(0);
                self.record(Some(&self.scratch), put);
                std::mem::swap(&mut self.min, &mut self.scratch);
            }
            Direction::Reverse => {
                self.record(Some(key), put);
                let max = self.max.get_or_insert_default();
                max.clear();
                max.extend_from_slice(key);
            }
        }
    }

    /// Records the rest of the span up to `bound`.
    fn record(&self, bound: Option<&[u8]>, put: Option<&[u8]>) {
        if !self.track {
            return;
        }
        let (min, max) = match (self.direction, bound) {
            (_, None) => (&self.min[..], self.max.as_deref()),
            (Direction::Forward, Some(max)) => (&self.min[..], Some(max)),
            (Direction::Reverse, Some(min)) => (min, self.max.as_deref()),
        };
        self.layers.record_span(KeySpan::new(min, max), self.direction, put);
    }
}

impl<'a, B: KvRead> Iterator for Merge<'a, B> {
    type Item = Result<Pair<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let step = self.step();
        self.finished = !matches!(step, Ok(Some(_)));
        step.transpose()
    }
}

/// The pairs of a span of the base, where the view has no changes. Records how far the scan has
/// come.
pub(super) struct TrackedScan<'a, B: KvRead> {
    layers: &'a Layers<B>,
    base: Scan<'a>,
    min: Vec<u8>,
    max: Option<Vec<u8>>,
    direction: Direction,
    /// The number of this scan in the record, once the scan has come to a pair.
    number: Option<usize>,
}

impl<'a, B: KvRead> TrackedScan<'a, B> {
    pub(super) fn new(
        layers: &'a Layers<B>,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<Self> {
        Ok(TrackedScan {
            layers,
            base: layers.base.scan(span, direction)?,
            min: span.min.to_vec(),
            max: span.max.map(<[u8]>::to_vec),
            direction,
            number: None,
        })
    }

    fn note(&mut self, key: Option<&[u8]>) {
        let Some(mut record) = self.layers.record() else { return };
        let span = KeySpan::new(&self.min, self.max.as_deref());
        match (key, self.number) {
            (Some(key), Some(number)) => record.extend(number, self.direction, key),
            (Some(key), None) => self.number = Some(record.begin(span, self.direction, key)),
            (None, number) => {
                number.inspect(|number| record.end(*number));
                self.number = None;
                record.add(span);
            }
        }
    }
}

impl<'a, B: KvRead> Iterator for TrackedScan<'a, B> {
    type Item = Result<Pair<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.base.next();
        match &next {
            Some(Ok((key, _))) => self.note(Some(key)),
            Some(Err(_)) => {}
            None => self.note(None),
        }
        next
    }
}

impl<B: KvRead> Drop for TrackedScan<'_, B> {
    fn drop(&mut self) {
        if let Some(number) = self.number
            && let Some(mut record) = self.layers.record()
        {
            record.end(number);
        }
    }
}
