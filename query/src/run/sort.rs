//! Sorting records, in memory as far as allowed, else in temporary files.

use std::collections::BinaryHeap;

use super::fail::Result;
use super::spill::{Merge, Spill};
use crate::limits::Limits;

/// Sorts records, which are compared by their bytes.
pub(crate) struct Sorter<'l> {
    limits: &'l Limits,
    records: Records,
    spill: Option<Spill>,
    /// How many of the first records are wanted, and what is known of them.
    first: Option<First>,
}

/// Records in memory.
#[derive(Default)]
pub(crate) struct Records {
    bytes: Vec<u8>,
    /// Where each record begins and ends.
    at: Vec<(usize, usize)>,
}

impl Records {
    fn memory(&self) -> usize {
        self.bytes.capacity() + self.at.capacity() * size_of::<(usize, usize)>()
    }

    fn push(&mut self, record: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.at.push((start, self.bytes.len()));
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        self.at.get(at).and_then(|(start, end)| self.bytes.get(*start..*end))
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let record = |(start, end): (usize, usize)| bytes.get(start..end).unwrap_or_default();
        self.at.sort_unstable_by(|one, other| record(*one).cmp(record(*other)));
    }
}

/// The first records that were seen so far, if only so many are wanted.
struct First {
    most: usize,
    heap: BinaryHeap<Box<[u8]>>,
    bytes: usize,
}

impl<'l> Sorter<'l> {
    /// A sorter of all records, or of the first `most`.
    pub(crate) fn new(limits: &'l Limits, most: Option<u64>) -> Self {
        let most = most.and_then(|most| usize::try_from(most).ok());
        let first = most.map(|most| First { most, heap: BinaryHeap::new(), bytes: 0 });
        Sorter { limits, records: Records::default(), spill: None, first }
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<()> {
        let Some(first) = &mut self.first else { return self.add(record) };
        if first.heap.len() >= first.most {
            match first.heap.peek() {
                Some(last) if **last > *record => {
                    first.bytes -= last.len();
                    first.heap.pop();
                }
                _ => return Ok(()),
            }
        }
        first.bytes += record.len();
        first.heap.push(record.into());
        if first.bytes + first.heap.len() * size_of::<Box<[u8]>>() > self.limits.sort_memory {
            // Too many are wanted to keep them all in memory.
            let heap = std::mem::take(&mut first.heap);
            self.first = None;
            for record in heap {
                self.add(&record)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, record: &[u8]) -> Result<()> {
        let grown = self.records.memory() + record.len();
        if grown > self.limits.sort_memory && !self.records.at.is_empty() {
            self.records.sort();
            let spill = match &mut self.spill {
                Some(spill) => spill,
                none => none.insert(Spill::new(self.limits)?),
            };
            let records = &self.records;
            spill.write_run((0..records.at.len()).filter_map(|at| records.get(at)))?;
            self.records.bytes.clear();
            self.records.at.clear();
        }
        self.records.push(record);
        Ok(())
    }

    /// The records in order.
    pub(crate) fn finish(mut self) -> Result<Sorted> {
        if let Some(first) = self.first.take() {
            for record in first.heap.into_sorted_vec() {
                self.records.push(&record);
            }
            return Ok(Sorted::Memory(self.records, 0));
        }
        self.records.sort();
        let Some(mut spill) = self.spill.take() else {
            return Ok(Sorted::Memory(self.records, 0));
        };
        let records = std::mem::take(&mut self.records);
        spill.write_run((0..records.at.len()).filter_map(|at| records.get(at)))?;
        drop(records);
        Ok(Sorted::Files(spill.merge()?))
    }
}

/// Sorted records.
pub(crate) enum Sorted {
    /// In memory, from this one on.
    Memory(Records, usize),
    /// In files.
    Files(Merge),
}

impl Sorted {
    /// The next record, put into `record`. `false` at the end.
    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        match self {
            Sorted::Memory(records, at) => {
                let Some(next) = records.get(*at) else { return Ok(false) };
                *at += 1;
                record.clear();
                record.extend_from_slice(next);
                Ok(true)
            }
            Sorted::Files(merge) => merge.next(record),
        }
    }
}
