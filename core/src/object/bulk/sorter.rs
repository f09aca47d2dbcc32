//! External sorting: records in any order, then in the order of their keys.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use super::buffer::{Buffer, Record};
use super::runs::{Merged, Runs};
use super::temporary;

/// Collects records. While it gets some, a thread sorts those it got before and writes them to a
/// file.
pub(super) struct Sorter {
    buffer: Buffer,
    /// How large the buffer may become.
    limit: usize,
    lanes: usize,
    directory: PathBuf,
    worker: Option<Worker>,
    /// How many pairs were sorted.
    sorted: u64,
    /// Whether records are lost: the thread has ended early, or there was no place for one.
    has_failed: bool,
}

/// How large a buffer may become. One is filled while another one is sorted, and positions in a
/// buffer have 32 bits.
fn limit(memory: usize) -> usize {
    // Two buffers of two fifths leave a fifth for the rest.
    (memory / 5 * 2).min(u32::MAX as usize / 2)
}

struct Worker {
    full: SyncSender<Buffer>,
    sorted: Receiver<(Buffer, u64)>,
    thread: JoinHandle<io::Result<Runs>>,
}

impl Sorter {
    /// Records of this many lanes, which take about this many bytes of memory. The file is in
    /// `directory`.
    pub(super) fn new(lanes: usize, memory: usize, directory: PathBuf) -> Self {
        let limit = limit(memory);
        let buffer = Buffer::new(lanes);
        let (worker, sorted, has_failed) = (None, 0, false);
        Sorter { buffer, limit, lanes, directory, worker, sorted, has_failed }
    }

    pub(super) fn set_memory(&mut self, memory: usize) {
        self.limit = limit(memory);
    }

    pub(super) fn set_directory(&mut self, directory: PathBuf) {
        self.directory = directory;
    }

    /// Adds a record. If there is no such lane, it is lost, and all that follows fails.
    pub(super) fn add(&mut self, lane: usize, key: &[u8], content: &[u8]) -> io::Result<()> {
        self.buffer.add(lane, key, content).ok_or_else(|| self.failure())
    }

    /// Makes room for more records, if there is none.
    pub(super) fn make_room(&mut self) -> io::Result<()> {
        // An object larger than the limit must still find room.
        let has_room = self.buffer.size() < self.limit || self.buffer.records() == 0;
        if has_room { Ok(()) } else { self.spill() }
    }

    /// Notes how many pairs the records have that were added last.
    pub(super) fn note_pairs(&mut self, pairs: u64) {
        self.buffer.note_pairs(pairs);
    }

    /// How many pairs were sorted.
    pub(super) fn sorted(&self) -> u64 {
        self.sorted
    }

    fn spill(&mut self) -> io::Result<()> {
        let next = match &self.worker {
            // After a failure the lost records cannot be brought back.
            None if self.has_failed => return Err(self.failure()),
            None => {
                // The thread starts with the first full buffer: a small load needs neither thread
                // nor file.
                self.worker = Some(self.begin()?);
                Buffer::new(self.lanes)
            }
            // The emptied buffer comes back, so that two of them are used in turn.
            Some(worker) => match worker.sorted.recv() {
                Ok((buffer, pairs)) => {
                    self.sorted += pairs;
                    buffer
                }
                Err(_) => return Err(self.failure()),
            },
        };
        let full = std::mem::replace(&mut self.buffer, next);
        // A send fails only if the thread has ended, and its result says why.
        let sent = self.worker.as_ref().map(|worker| worker.full.send(full));
        if matches!(sent, Some(Ok(()))) { Ok(()) } else { Err(self.failure()) }
    }

    fn begin(&self) -> io::Result<Worker> {
        let mut runs = Runs::new(temporary::file(&self.directory)?, self.lanes);
        let (full, to_sort) = sync_channel::<Buffer>(1);
        // One buffer waits while another is sorted, so the program is slowed down rather than
        // memory used up.
        let (done, sorted) = sync_channel(1);
        let thread = Builder::new().name("permazen-sort".to_owned()).spawn(move || {
            for mut buffer in to_sort {
                buffer.sort();
                runs.add(&buffer)?;
                let pairs = buffer.pairs();
                buffer.clear();
                // No thread waits for the last one.
                let _ = done.send((buffer, pairs));
            }
            Ok(runs)
        })?;
        Ok(Worker { full, sorted, thread })
    }

    /// Why the thread has ended early.
    fn failure(&mut self) -> io::Error {
        self.has_failed = true;
        match self.worker.take().map(Worker::end) {
            Some(Err(error)) => error,
            _ => io::Error::other("sorting has failed before"),
        }
    }

    /// All records, sorted. `limit` is about how many bytes of memory reading them may take.
    pub(super) fn finish(mut self) -> io::Result<Sorted> {
        // All records fit into memory, so no file is written.
        if self.worker.is_none() && !self.has_failed {
            self.buffer.sort();
            return Ok(Sorted::Memory(self.buffer));
        }
        // The last buffer becomes a run as well, so that there is one form of reading.
        self.spill()?;
        // Its memory is needed for reading ahead.
        self.buffer = Buffer::new(0);
        match self.worker.take() {
            Some(worker) => Ok(Sorted::Runs(worker.end()?, self.limit / 2)),
            None => Err(io::Error::other("sorting has failed before")),
        }
    }
}

impl Worker {
    fn end(self) -> io::Result<Runs> {
        // Without a sender the thread comes to its end, and the join can return.
        drop(self.full);
        drop(self.sorted);
        match self.thread.join() {
            Ok(runs) => runs,
            Err(_) => Err(io::Error::other("the thread that sorts has panicked")),
        }
    }
}

/// Sorted records.
pub(super) enum Sorted {
    /// All are in memory.
    Memory(Buffer),
    /// They are in a file, of which this many bytes are read ahead.
    Runs(Runs, usize),
}

impl Sorted {
    /// The records of a lane in the order of their keys.
    pub(super) fn lane(&self, lane: usize, common: usize) -> io::Result<Records<'_>> {
        match self {
            Sorted::Memory(buffer) => Ok(Records::Memory { buffer, lane, next: 0 }),
            Sorted::Runs(runs, ahead) => Ok(Records::Runs(runs.lane(lane, common, *ahead)?)),
        }
    }
}

/// The records of one lane.
pub(super) enum Records<'s> {
    Memory { buffer: &'s Buffer, lane: usize, next: usize },
    Runs(Merged<'s>),
}

impl Records<'_> {
    /// The next record; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        match self {
            Records::Memory { buffer, lane, next } => {
                *next += 1;
                Ok(buffer.record(*lane, *next - 1))
            }
            Records::Runs(merged) => merged.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type OwnedRecord = (Vec<u8>, Vec<u8>);

    /// Records in two lanes, sorted within this many bytes of memory.
    fn sorted(count: u64, memory: usize) -> (Vec<OwnedRecord>, bool) {
        let mut sorter = Sorter::new(2, memory, std::env::temp_dir());
        let mut state = 1_u64;
        for number in 0..count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let len = (state >> 58) as usize;
            let key: Vec<u8> = (0..len).map(|at| (state >> (at % 40)) as u8 & 3).collect();
            // Some are longer than one read.
            let content = vec![number as u8; if number % 97 == 0 { 9000 } else { len }];
            sorter.make_room().unwrap();
            sorter.add((state >> 40) as usize & 1, &key, &content).unwrap();
        }
        let sorted = sorter.finish().unwrap();
        let mut all = Vec::new();
        for lane in 0..2 {
            let mut records = sorted.lane(lane, 0).unwrap();
            let start = all.len();
            while let Some((key, content)) = records.next().unwrap() {
                all.push((key.to_vec(), content.to_vec()));
            }
            assert!(records.next().unwrap().is_none());
            assert!(all[start..].is_sorted_by_key(|(key, _)| key.clone()));
        }
        (all, matches!(sorted, Sorted::Runs(..)))
    }

    #[test]
    fn sorts_in_memory_and_through_a_file_alike() {
        let (mut in_memory, spilled) = sorted(5000, usize::MAX);
        assert!(!spilled);
        assert_eq!(in_memory.len(), 5000);
        in_memory.sort();
        for memory in [0, 1 << 12, 1 << 16, 1 << 20] {
            let (mut through_file, spilled) = sorted(5000, memory);
            assert!(spilled, "{memory}");
            through_file.sort();
            assert!(through_file == in_memory, "{memory}");
        }
        assert!(sorted(0, 0).0.is_empty());
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let mut sorter = Sorter::new(1, 0, "/no/such/directory".into());
        sorter.add(0, b"key", b"").unwrap();
        assert!(sorter.make_room().is_err());
        sorter.add(0, b"key", b"").unwrap();
        assert!(sorter.make_room().is_err());
    }

    #[test]
    fn a_record_without_a_place_fails_the_sorting() {
        for spills in [false, true] {
            let memory = if spills { 0 } else { usize::MAX };
            let mut sorter = Sorter::new(1, memory, std::env::temp_dir());
            for _ in 0..3 {
                sorter.make_room().unwrap();
                sorter.add(0, b"key", b"").unwrap();
            }
            assert!(sorter.add(1, b"key", b"").is_err());
            assert!(sorter.finish().is_err());
        }
    }
}
