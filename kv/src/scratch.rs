//! Writes of a read-only transaction: kept in memory, seen by its reads, dropped at its end.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Bound;

use crate::{Blob, Direction, KeySpan, KvRead, Pair, Result, Scan};

/// Keys that were written, with their value, or with none if they were removed.
///
/// Removing a span notes every pair the store has in it, which suits the few writes that read-only
/// transactions make.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    writes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Scratch {
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.writes.insert(key.to_vec(), Some(value.to_vec()));
    }

    pub(crate) fn remove(&mut self, key: &[u8]) {
        self.writes.insert(key.to_vec(), None);
    }

    pub(crate) fn remove_span(&mut self, base: &dyn KvRead, span: KeySpan<'_>) -> Result<()> {
        for pair in base.scan(span, Direction::Forward)? {
            self.writes.insert(pair?.0.into_owned(), None);
        }
        if !span.is_empty() {
            for (_, value) in self.writes.range_mut::<[u8], _>(bounds(span)) {
                *value = None;
            }
        }
        Ok(())
    }

    /// The value of `key`: `None` if it was not written here.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<Blob<'_>>> {
        self.writes.get(key).map(|value| value.as_deref().map(Cow::Borrowed))
    }

    /// The first pair of `[min, max)` in `base` as the writes have changed it.
    pub(crate) fn at_least<'a>(
        &'a self,
        base: &'a dyn KvRead,
        min: &[u8],
        max: Option<&[u8]>,
    ) -> Result<Option<Pair<'a>>> {
        let span = KeySpan::new(min, max);
        if span.is_empty() {
            return Ok(None);
        }
        self.scan(base, span, Direction::Forward)?.next().transpose()
    }

    /// The last pair of `[min, max)` in `base` as the writes have changed it.
    pub(crate) fn at_most<'a>(
        &'a self,
        base: &'a dyn KvRead,
        min: &[u8],
        max: Option<&[u8]>,
    ) -> Result<Option<Pair<'a>>> {
        let span = KeySpan::new(min, max);
        if span.is_empty() {
            return Ok(None);
        }
        self.scan(base, span, Direction::Reverse)?.next().transpose()
    }

    /// The pairs of `base` in `span` as the writes have changed them.
    pub(crate) fn scan<'a>(
        &'a self,
        base: &'a dyn KvRead,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<Scan<'a>> {
        let below = base.scan(span, direction)?;
        if span.is_empty() {
            return Ok(below);
        }
        let writes = self.writes.range::<[u8], _>(bounds(span));
        let above: Box<dyn Iterator<Item = Write<'a>> + 'a> = match direction {
            Direction::Forward => Box::new(writes),
            Direction::Reverse => Box::new(writes.rev()),
        };
        Ok(Box::new(Merge { below, pending: None, above: above.peekable(), direction }))
    }
}

fn bounds<'k>(span: KeySpan<'k>) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (Bound::Included(span.min), span.max.map_or(Bound::Unbounded, Bound::Excluded))
}

type Write<'a> = (&'a Vec<u8>, &'a Option<Vec<u8>>);

/// The pairs of a store with writes laid over them.
struct Merge<'a> {
    below: Scan<'a>,
    /// The pair of the store that comes next, once it has been fetched.
    pending: Option<Pair<'a>>,
    above: Peekable<Box<dyn Iterator<Item = Write<'a>> + 'a>>,
    direction: Direction,
}

impl<'a> Iterator for Merge<'a> {
    type Item = Result<Pair<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.pending.is_none() {
                match self.below.next() {
                    Some(Ok(pair)) => self.pending = Some(pair),
                    Some(Err(error)) => return Some(Err(error)),
                    None => {}
                }
            }
            let order = match (self.above.peek(), &self.pending) {
                (None, _) => return self.pending.take().map(Ok),
                (Some(_), None) => Ordering::Less,
                (Some((key, _)), Some((below, _))) => match self.direction {
                    Direction::Forward => key.as_slice().cmp(below),
                    Direction::Reverse => below.as_ref().cmp(key),
                },
            };
            if order.is_gt() {
                return self.pending.take().map(Ok);
            }
            if order.is_eq() {
                self.pending = None;
            }
            if let Some((key, Some(value))) = self.above.next() {
                return Some(Ok((Cow::Borrowed(key), Cow::Borrowed(value))));
            }
        }
    }
}
