//! The record of reads.

use std::collections::HashSet;

use crate::{Direction, KeyRanges, KeySpan};

/// At most this many single keys are remembered, and as many ranges. If there are more, neighbours
/// become one range, which also has the keys between them. So the record takes a limited amount of
/// memory, however much the transaction reads, and a transaction that reads more may conflict with
/// writes to keys that it has not read.
const MOST: usize = 1 << 18;
/// How many neighbours become one range.
const TOGETHER: usize = 64;

/// The ranges that were read. They are sorted only when they are needed.
///
/// In most transactions, others have written nothing that could conflict. Then the record is never
/// used. So adding to it must be cheap, and sorting can wait.
#[derive(Debug, Clone)]
pub(super) struct Reads {
    /// How many single keys and how many ranges are remembered.
    most: usize,
    ranges: KeyRanges,
    /// Single keys.
    keys: HashSet<Vec<u8>>,
    /// The range that was read last. A range that touches it extends it.
    scanned: Option<Bounds>,
    /// How far the running scans have come, by the number of the scan.
    running: Vec<Option<Bounds>>,
}

type Bounds = (Vec<u8>, Option<Vec<u8>>);

impl Default for Reads {
    fn default() -> Self {
        Reads {
            most: MOST,
            ranges: KeyRanges::new(),
            keys: HashSet::new(),
            scanned: None,
            running: Vec::new(),
        }
    }
}

impl Reads {
    pub(super) fn add_key(&mut self, key: &[u8]) {
        if !self.keys.contains(key) {
            self.keys.insert(key.to_vec());
            self.limit();
        }
    }

    /// Forgets the gaps between neighbours if there are too many of them.
    fn limit(&mut self) {
        if self.keys.len().max(self.ranges.len()) <= self.most {
            return;
        }
        self.ranges();
        let all = std::mem::take(&mut self.ranges);
        let mut spans = all.iter();
        while let Some(first) = spans.next() {
            let last = spans.by_ref().take(TOGETHER - 1).last().unwrap_or(first);
            self.ranges.add(KeySpan::new(first.min, last.max));
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
            self.limit();
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

#[cfg(test)]
mod tests {
    use super::{Reads, TOGETHER};
    use crate::{KeyRanges, KeySpan};

    const MOST: usize = 5000;

    fn of_few() -> Reads {
        Reads { most: MOST, ..Reads::default() }
    }

    fn key(number: usize) -> Vec<u8> {
        (2 * number as u64).to_be_bytes().to_vec()
    }

    /// All of it is there, in few ranges.
    fn check(ranges: &KeyRanges, count: usize) {
        assert!((0..count).step_by(97).all(|number| ranges.contains(&key(number))));
        assert!(ranges.contains(&key(count - 1)));
        assert!(!ranges.contains(&key(count)));
    }

    #[test]
    fn few_reads_are_exact() {
        let mut reads = Reads::default();
        for number in 0..1000 {
            reads.add_key(&key(number));
        }
        assert_eq!(reads.into_ranges().len(), 1000);
    }

    #[test]
    fn many_keys_become_few_ranges() {
        let count = MOST + 1000;
        let mut reads = of_few();
        (0..count).for_each(|number| reads.add_key(&key(number)));
        let ranges = reads.into_ranges();
        assert!(ranges.len() <= MOST / TOGETHER + 1001, "{}", ranges.len());
        check(&ranges, count);
    }

    #[test]
    fn many_ranges_become_few() {
        let count = MOST + 1000;
        let mut reads = of_few();
        for number in 0..count {
            let min = key(number);
            reads.add(KeySpan::new(&min, Some(&crate::key::next_key(&min))));
        }
        let ranges = reads.into_ranges();
        assert!(ranges.len() <= MOST / TOGETHER + 1001, "{}", ranges.len());
        check(&ranges, count);
    }
}
