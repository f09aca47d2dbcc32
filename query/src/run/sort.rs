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
    /// Whether a record can be added without taking more than `most` bytes of memory.
    fn has_room(&self, record: &[u8], most: usize) -> bool {
        // The memory that the vectors will take counts, not what they hold now.
        let bytes = grown(self.bytes.len() + record.len(), self.bytes.capacity());
        let at = grown(self.at.len() + 1, self.at.capacity());
        // Memory that was allocated already is used again and again.
        (bytes, at) == (self.bytes.capacity(), self.at.capacity())
            || bytes + at * size_of::<(usize, usize)>() <= most
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
        // Equal records are the same object, so a stable sort would change nothing.
        self.at.sort_unstable_by(|one, other| record(*one).cmp(record(*other)));
    }
}

/// The capacity of a vector that has `wanted` elements and had this capacity before.
fn grown(wanted: usize, capacity: usize) -> usize {
    if wanted <= capacity { capacity } else { wanted.max(2 * capacity) }
}

/// The first records that were seen so far, if only a number of them is wanted.
struct First {
    most: usize,
    heap: BinaryHeap<Box<[u8]>>,
    bytes: usize,
}

impl<'l> Sorter<'l> {
    /// A sorter of all records, or of the first `most`.
    pub(crate) fn new(limits: &'l Limits, most: Option<u64>) -> Self {
        // A limit beyond the address space is no limit.
        let most = most.and_then(|most| usize::try_from(most).ok());
        let first = most.map(|most| First { most, heap: BinaryHeap::new(), bytes: 0 });
        Sorter { limits, records: Records::default(), spill: None, first }
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<()> {
        let Some(first) = &mut self.first else { return self.add(record) };
        if first.heap.len() >= first.most {
            match first.heap.peek() {
                // The greatest of the kept records gives way to a lesser one.
                Some(last) if **last > *record => {
                    first.bytes -= last.len();
                    first.heap.pop();
                }
                // This record comes after all that are wanted.
                _ => return Ok(()),
            }
        }
        first.bytes += record.len();
        first.heap.push(record.into());
        if first.bytes + first.heap.len() * size_of::<Box<[u8]>>() > self.limits.sort_memory {
            // Too many are wanted to keep them all in memory.
            let heap = std::mem::take(&mut first.heap);
            // From here on the sorter is one of all records; the consumer ends at the limit.
            self.first = None;
            for record in heap {
                self.add(&record)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, record: &[u8]) -> Result<()> {
        let has_room = self.records.has_room(record, self.limits.sort_memory);
        // A record that is larger than the allowed memory is kept alone, since it must be
        // somewhere.
        if !has_room && !self.records.at.is_empty() {
            self.records.sort();
            let spill = match &mut self.spill {
                Some(spill) => spill,
                none => none.insert(Spill::new(self.limits)?),
            };
            let records = &self.records;
            spill.write_run((0..records.at.len()).filter_map(|at| records.get(at)))?;
            // The memory is kept and used again for the next run.
            self.records.bytes.clear();
            self.records.at.clear();
        }
        self.records.push(record);
        Ok(())
    }

    /// The records in order.
    pub(crate) fn finish(mut self) -> Result<Sorted> {
        // The records fit into memory, so the heap has them all.
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
        // The merge needs the memory for its buffers.
        drop(records);
        Ok(Sorted::Files(spill.merge(self.limits)?))
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Sorter;
    use crate::limits::Limits;
    use crate::run::id_sorter::IdSorter;
    use permazen::{ObjId, StorageId};

    /// Numbers in no order.
    fn numbers(count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn few_runs_for_many_records() {
        let limits = Limits { sort_memory: 64 << 10, ..Limits::default() };
        let mut sorter = Sorter::new(&limits, None);
        let mut bytes = 0;
        for number in numbers(20_000) {
            let record = [&number.to_be_bytes()[..], &[0; 24]].concat();
            bytes += record.len() + 16;
            sorter.push(&record).unwrap();
        }
        let runs = sorter.spill.as_ref().map_or(0, |spill| spill.runs());
        assert!(runs > 1 && runs <= 4 * bytes / limits.sort_memory, "{runs} runs");
        let mut sorted = sorter.finish().unwrap();
        let (mut record, mut count, mut last) = (Vec::new(), 0, Vec::new());
        while sorted.next(&mut record).unwrap() {
            assert!(last < record);
            last.clone_from(&record);
            count += 1;
        }
        assert_eq!(count, 20_000);
    }

    #[test]
    fn few_runs_for_many_ids() {
        let limits = Limits { sort_memory: 64 << 10, ..Limits::default() };
        let mut sorter = IdSorter::new(&limits);
        let of = ObjId::min(StorageId::new(1).unwrap()).to_bytes();
        for number in numbers(40_000) {
            let mut bytes = of;
            bytes[2..].copy_from_slice(&number.to_be_bytes()[..6]);
            sorter.push(ObjId::from_bytes(bytes).unwrap()).unwrap();
        }
        let runs = sorter.runs();
        assert!(runs > 1 && runs <= 4 * 40_000 * ObjId::LEN / limits.sort_memory, "{runs} runs");
        let ids: Vec<_> = sorter.finish().unwrap().map(|id| id.unwrap()).collect();
        assert!(ids.is_sorted_by(|one, other| one < other));
        assert_eq!(ids.len(), 40_000);
    }
}
