//! The record of what was read.

use std::collections::HashSet;

use crate::{Direction, KeyRanges, KeySpan};

/// The ranges that were read. They are sorted only when they are needed.
///
/// In most transactions, others have written nothing that could conflict. Then the record is never
/// looked at. So adding to it must be cheap, and sorting can wait.
#[derive(Debug, Clone, Default)]
pub(super) struct Reads {
    ranges: KeyRanges,
    /// Single keys.
    keys: HashSet<Vec<u8>>,
    /// The range that was read last. A range that touches it extends it.
    scanned: Option<Bounds>,
    /// How far the running scans have come, by the number of the scan.
    running: Vec<Option<Bounds>>,
}

type Bounds = (Vec<u8>, Option<Vec<u8>>);

impl Reads {
    pub(super) fn add_key(&mut self, key: &[u8]) {
        if !self.keys.contains(key) {
            self.keys.insert(key.to_vec());
        }
    }

    pub(super) fn add(&mut self, span: KeySpan<'_>) {
        if span.is_empty() {
            return;
        }
        if let Some((min, max)) = &mut self.scanned {
            // A forward step extends the last range at its end.
            if max.as_deref() == Some(span.min) {
                match (max, span.max) {
                    (Some(max), Some(end)) => end.clone_into(max),
                    (max, _) => *max = None,
                }
                return;
            }
            // A reverse step extends it at its start.
            if span.max == Some(&min[..]) {
                span.min.clone_into(min);
                return;
            }
            self.ranges.add(KeySpan::new(min, max.as_deref()));
        }
        self.scanned = Some((span.min.to_vec(), span.max.map(<[u8]>::to_vec)));
    }

    /// Notes that a scan of `span` has come to `key`. Returns a number for its further steps.
    pub(super) fn begin(&mut self, span: KeySpan<'_>, direction: Direction, key: &[u8]) -> usize {
        let bounds = match direction {
            Direction::Forward => (span.min.to_vec(), Some(crate::key::next_key(key))),
            Direction::Reverse => (key.to_vec(), span.max.map(<[u8]>::to_vec)),
        };
        let number = self.running.iter().position(Option::is_none).unwrap_or(self.running.len());
        match self.running.get_mut(number) {
            Some(free) => *free = Some(bounds),
            None => self.running.push(Some(bounds)),
        }
        number
    }

    /// Notes that a running scan has come to `key`.
    pub(super) fn extend(&mut self, number: usize, direction: Direction, key: &[u8]) {
        let Some(Some((min, max))) = self.running.get_mut(number) else { return };
        match direction {
            Direction::Forward => {
                let max = max.get_or_insert_default();
                max.clear();
                max.reserve(key.len() + 1);
                max.extend_from_slice(key);
                max.push(0);
            }
            Direction::Reverse => key.clone_into(min),
        }
    }

    /// Notes that a scan takes no more steps. Its number can then be used for another scan.
    pub(super) fn end(&mut self, number: usize) {
        if let Some((min, max)) = self.running.get_mut(number).and_then(Option::take) {
            self.add(KeySpan::new(&min, max.as_deref()));
        }
    }

    /// Everything read so far.
    pub(super) fn ranges(&mut self) -> &KeyRanges {
        for (min, max) in self.running.iter().flatten() {
            self.ranges.add(KeySpan::new(min, max.as_deref()));
        }
        if let Some((min, max)) = self.scanned.take() {
            self.ranges.add(KeySpan::new(&min, max.as_deref()));
        }
        let mut keys: Vec<Vec<u8>> = self.keys.drain().collect();
        keys.sort_unstable();
        keys.iter().for_each(|key| self.ranges.add_key(key));
        &self.ranges
    }

    pub(super) fn into_ranges(mut self) -> KeyRanges {
        self.ranges();
        self.ranges
    }
}
