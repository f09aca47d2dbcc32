//! A base store with the changes over it, and the record of the reads from it.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard};

use super::read_record::Reads;
use crate::store_parts::lock::lock;
use crate::{Blob, Direction, KeySpan, KvRead, Writes};

/// The parts of a view.
pub(super) struct Layers<B> {
    pub(super) base: B,
    pub(super) writes: Writes,
    /// `None` if reads are not recorded.
    pub(super) reads: Option<Mutex<Reads>>,
}

impl<B: KvRead> Layers<B> {
    pub(super) fn record(&self) -> Option<MutexGuard<'_, Reads>> {
        let reads = self.reads.as_ref()?;
        Some(lock(reads))
    }

    /// Records that `span` of the base was read. Leaves out the part that removes hide at its start
    /// (forward) or end (reverse), and leaves out its first key if that is `put`.
    pub(super) fn record_span(&self, span: KeySpan<'_>, direction: Direction, put: Option<&[u8]>) {
        let Some(mut record) = self.record() else { return };
        let KeySpan { mut min, mut max } = span;
        let removes = &self.writes.removes;
        if !removes.is_empty() {
            match direction {
                Direction::Forward => {
                    if let Some(removed) = removes.find(min) {
                        let Some(end) = removed.max else { return };
                        min = end;
                    }
                }
                Direction::Reverse => {
                    if let Some(removed) = removes.find_below(max) {
                        max = Some(removed.min);
                    }
                }
            }
        }
        // Nothing of the base was read.
        if max.is_some_and(|max| min >= max) {
            return;
        }
        if put == Some(min) {
            let after = crate::key::next_key(min);
            record.add(KeySpan::new(&after, max));
        } else {
            record.add(KeySpan::new(min, max));
        }
    }

    /// A value of the base, with the sum of its adjusts added.
    pub(super) fn adjusted<'a>(&self, key: &[u8], value: Blob<'a>) -> Blob<'a> {
        if !self.writes.adjusts.is_empty()
            && let Some(by) = self.writes.adjusts.get(key)
            && let Ok(count) = self.base.decode_counter(&value)
        {
            return Cow::Owned(self.base.encode_counter(count.wrapping_add(*by)).to_vec());
        }
        value
    }

    /// Records that `span` of the base was read up to the pair with the key `last`, or up to its
    /// end.
    pub(super) fn record_up_to(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        last: Option<&[u8]>,
    ) {
        let Some(mut record) = self.record() else { return };
        match (last, direction) {
            (None, _) => record.add(span),
            (Some(key), Direction::Forward) => {
                record.add(KeySpan::new(span.min, Some(&crate::key::next_key(key))));
            }
            (Some(key), Direction::Reverse) => record.add(KeySpan::new(key, span.max)),
        }
    }
}
