//! Reads of the base and the changes as one.

use std::borrow::Cow;

use super::layers::Layers;
use super::scan::{Merge, TrackedScan};
use crate::{Blob, Direction, KeySpan, KvRead, Pair, Result, Scan, Visitor};

/// One read of a view.
#[derive(Clone, Copy)]
pub(crate) struct MergedRead<'v, B> {
    layers: &'v Layers<B>,
    /// Whether the read is recorded.
    track: bool,
}

impl<'v, B: KvRead> MergedRead<'v, B> {
    /// Recorded if `track` is true and the layers have a record.
    pub(super) fn new(layers: &'v Layers<B>, track: bool) -> Self {
        MergedRead { layers, track: track && layers.reads.is_some() }
    }

    pub(crate) fn get(self, key: &[u8]) -> Result<Option<Blob<'v>>> {
        let MergedRead { layers, track } = self;
        let writes = &layers.writes;
        if !writes.puts.is_empty()
            && let Some(value) = writes.puts.get(key)
        {
            return Ok(Some(Cow::Borrowed(value)));
        }
        if !writes.removes.is_empty() && writes.removes.contains(key) {
            return Ok(None);
        }
        let value = layers.base.get(key)?;
        if track && let Some(mut record) = layers.record() {
            record.add_key(key);
        }
        Ok(value.map(|value| layers.adjusted(key, value)))
    }

    pub(crate) fn scan(self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'v>> {
        let MergedRead { layers, track } = self;
        if !layers.writes.is_empty() {
            return Ok(Box::new(Merge::new(layers, span, direction, track)?));
        }
        match track {
            true => Ok(Box::new(TrackedScan::new(layers, span, direction)?)),
            false => layers.base.scan(span, direction),
        }
    }

    pub(crate) fn visit(
        self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        let MergedRead { layers, track } = self;
        if layers.writes.is_empty() {
            if !track {
                return layers.base.visit(span, direction, visitor);
            }
            span.check()?;
            // A visit that fails or panics has shown pairs too, so a drop records it.
            let mut visit = TrackedVisit { layers, span, direction, last: None };
            return layers.base.visit(span, direction, &mut |key, value| {
                let flow = visitor(key, value);
                if flow.is_break() {
                    visit.last = Some(key.to_vec());
                }
                flow
            });
        }
        for pair in self.scan(span, direction)? {
            let (key, value) = pair?;
            if visitor(&key, &value).is_break() {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn at_least(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'v>>> {
        self.nearest(KeySpan::new(min, max), Direction::Forward)
    }

    pub(crate) fn at_most(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'v>>> {
        self.nearest(KeySpan::new(min, max), Direction::Reverse)
    }

    /// The first pair of `span` in the order of `direction`.
    fn nearest(self, span: KeySpan<'_>, direction: Direction) -> Result<Option<Pair<'v>>> {
        let MergedRead { layers, track } = self;
        if span.is_empty() {
            return Ok(None);
        }
        if !layers.writes.is_empty() {
            return Merge::new(layers, span, direction, track)?.next().transpose();
        }
        let pair = match direction {
            Direction::Forward => layers.base.at_least(span.min, span.max)?,
            Direction::Reverse => layers.base.at_most(span.min, span.max)?,
        };
        if track {
            layers.record_up_to(span, direction, pair.as_ref().map(|(key, _)| &key[..]));
        }
        Ok(pair)
    }
}

/// A visit to the base. It is recorded when it is dropped, so also if the visit ends early or
/// panics.
struct TrackedVisit<'a, B: KvRead> {
    layers: &'a Layers<B>,
    span: KeySpan<'a>,
    direction: Direction,
    /// The key at which the visitor broke.
    last: Option<Vec<u8>>,
}

impl<B: KvRead> Drop for TrackedVisit<'_, B> {
    fn drop(&mut self) {
        self.layers.record_up_to(self.span, self.direction, self.last.as_deref());
    }
}
