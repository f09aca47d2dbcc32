//! External merge sort of byte strings.
//!
//! Objects require index entries in the order of the objects, but entries are compared in the order
//! of their keys. So the entries are collected here: in memory up to a limit, beyond it in sorted
//! runs in unnamed temporary files.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom};

use crate::entries::temporary_items::{self, Next};

/// Collects byte strings in any order and returns them sorted, each once.
#[derive(Debug)]
pub(crate) struct Sorter {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    limit: usize,
    runs: Vec<File>,
}

impl Sorter {
    /// A sorter that keeps up to about `limit` bytes in memory.
    pub(crate) fn new(limit: usize) -> Self {
        Sorter { bytes: Vec::new(), ends: Vec::new(), limit, runs: Vec::new() }
    }

    /// Adds a byte string.
    pub(crate) fn push(&mut self, item: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(item);
        self.ends.push(self.bytes.len());
        if self.bytes.len() + self.ends.len() * size_of::<Entry>() > self.limit {
            self.spill().map_err(temporary_items::explained)?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let entries = self.sorted_entries();
        let mut run = BufWriter::with_capacity(1 << 18, tempfile::tempfile()?);
        for entry in entries {
            temporary_items::write_item(&mut run, Some(entry.of(&self.bytes)))?;
        }
        let mut file = run.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        self.runs.push(file);
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }

    fn sorted_entries(&self) -> Vec<Entry> {
        let mut start = 0;
        let mut entries: Vec<Entry> = self
            .ends
            .iter()
            .map(|&end| {
                let entry = Entry::new(&self.bytes, start, end);
                start = end;
                entry
            })
            .collect();
        entries.sort_unstable_by(|a, b| {
            a.head.cmp(&b.head).then_with(|| a.of(&self.bytes).cmp(b.of(&self.bytes)))
        });
        entries.dedup_by(|a, b| a.head == b.head && a.of(&self.bytes) == b.of(&self.bytes));
        entries
    }

    /// Everything that was pushed, in order and each once.
    pub(crate) fn finish(mut self) -> io::Result<Sorted> {
        if self.runs.is_empty() {
            let entries = self.sorted_entries();
            return Ok(Sorted::Memory { bytes: self.bytes, entries, next: 0 });
        }
        if !self.ends.is_empty() {
            self.spill().map_err(temporary_items::explained)?;
        }
        let mut runs = Vec::with_capacity(self.runs.len());
        let mut heads = BinaryHeap::with_capacity(self.runs.len());
        for (number, file) in self.runs.into_iter().enumerate() {
            let mut run = BufReader::with_capacity(1 << 16, file);
            let mut item = Vec::new();
            if read_item(&mut run, &mut item)? {
                heads.push(Reverse((item, number)));
            }
            runs.push(run);
        }
        Ok(Sorted::Runs { runs, heads, current: None })
    }
}

/// The place of a byte string, with its first bytes as a number: most comparisons are decided by
/// these.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    head: u128,
    start: usize,
    end: usize,
}

impl Entry {
    fn new(bytes: &[u8], start: usize, end: usize) -> Self {
        let mut head = [0; 16];
        let len = (end - start).min(16);
        head[..len].copy_from_slice(&bytes[start..start + len]);
        Entry { head: u128::from_be_bytes(head), start, end }
    }

    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.end]
    }
}

/// Sorted byte strings, read one after the other.
#[derive(Debug)]
pub(crate) enum Sorted {
    /// Everything fitted into memory.
    Memory { bytes: Vec<u8>, entries: Vec<Entry>, next: usize },
    /// Merged from sorted runs.
    Runs {
        runs: Vec<BufReader<File>>,
        heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
        current: Option<Vec<u8>>,
    },
}

impl Sorted {
    /// The next byte string in order; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        match self {
            Sorted::Memory { bytes, entries, next } => {
                let Some(entry) = entries.get(*next) else { return Ok(None) };
                *next += 1;
                Ok(Some(entry.of(bytes)))
            }
            Sorted::Runs { runs, heads, current } => {
                loop {
                    let Some(Reverse((item, number))) = heads.pop() else { return Ok(None) };
                    // Several runs may have the same item.
                    let is_new = current.as_ref() != Some(&item);
                    let mut refill = current.replace(item).unwrap_or_default();
                    if read_item(&mut runs[number], &mut refill)? {
                        heads.push(Reverse((refill, number)));
                    }
                    if is_new {
                        break;
                    }
                }
                Ok(current.as_deref())
            }
        }
    }
}

/// Reads the next byte string of a run; tells whether there is one.
fn read_item(run: &mut BufReader<File>, item: &mut Vec<u8>) -> io::Result<bool> {
    Ok(temporary_items::read_item(run, item).map_err(temporary_items::explained)? == Next::Item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(items: &[Vec<u8>], limit: usize) -> Vec<Vec<u8>> {
        let mut sorter = Sorter::new(limit);
        for item in items {
            sorter.push(item).unwrap();
        }
        let mut sorted = sorter.finish().unwrap();
        let mut result = Vec::new();
        while let Some(item) = sorted.next().unwrap() {
            result.push(item.to_vec());
        }
        result
    }

    #[test]
    fn sorts_in_memory_and_through_files_alike_and_gives_each_once() {
        let mut state = 1u64;
        let items: Vec<Vec<u8>> = (0..5000)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let len = (state >> 58) as usize % 40;
                (0..len).map(|i| ((state >> 32) as usize >> (i % 3)) as u8 % 3).collect()
            })
            .collect();
        let mut expected = items.clone();
        expected.sort();
        expected.dedup();
        assert!(expected.len() < items.len());
        assert_eq!(sorted(&items, usize::MAX), expected);
        assert_eq!(sorted(&items, 4096), expected);
    }

    #[test]
    fn of_nothing_is_nothing() {
        assert!(sorted(&[], 100).is_empty());
    }
}
