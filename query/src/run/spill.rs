//! Sorted runs of records in a temporary file without a name.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};

use super::fail::Result;
use crate::error::QueryError;
use crate::limits::Limits;

/// How many bytes are written at once, and read at once of each run; fewer are read of many runs.
const AT_ONCE: usize = 64 << 10;
/// At least this number of bytes is read at once of each run.
const LEAST_AT_ONCE: usize = 4 << 10;

/// Sorted runs in a file. A record is its length in four bytes, and its bytes.
pub(super) struct Spill {
    file: File,
    /// Where each run begins and ends.
    runs: Vec<(u64, u64)>,
}

fn failed(error: std::io::Error) -> QueryError {
    QueryError::Temporary(error)
}

impl Spill {
    pub(super) fn new(limits: &Limits) -> Result<Self> {
        // The file is only for this user, and has no name: it is gone when the process ends.
        let file = match &limits.temporary {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        };
        Ok(Spill { file: file.map_err(failed)?, runs: Vec::new() })
    }

    /// Writes a run of records, which are in order.
    pub(super) fn write_run<'r>(&mut self, records: impl Iterator<Item = &'r [u8]>) -> Result<()> {
        let start = self.runs.last().map_or(0, |(_, end)| *end);
        let mut written = start;
        let write = || -> std::io::Result<()> {
            let mut out = BufWriter::with_capacity(AT_ONCE, &self.file);
            for record in records {
                // A length of 32 bits is written, so a longer record is refused rather than cut.
                let length = u32::try_from(record.len()).map_err(std::io::Error::other)?;
                out.write_all(&length.to_le_bytes())?;
                out.write_all(record)?;
                written += 4 + record.len() as u64;
            }
            // A buffer that is dropped hides its error, so it is flushed here.
            out.flush()
        };
        write().map_err(failed)?;
        self.runs.push((start, written));
        Ok(())
    }

    /// How many runs there are.
    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The records of all runs, in order.
    pub(super) fn merge(self, limits: &Limits) -> Result<Merge> {
        // The buffers of all runs together take the memory that the sort was allowed.
        let share = limits.sort_memory / self.runs.len().max(1);
        let at_once = share.clamp(LEAST_AT_ONCE, AT_ONCE);
        let runs = self.runs.iter().map(|(start, end)| Run {
            next: *start,
            end: *end,
            at_once,
            buffer: Vec::new(),
            at: 0,
        });
        let mut merge = Merge { file: self.file, runs: runs.collect(), heads: BinaryHeap::new() };
        // Each run has its first record in the heap from the start, since any of them can have the
        // least.
        for run in 0..merge.runs.len() {
            merge.refill(run)?;
        }
        Ok(merge)
    }
}

/// Runs that are read as one.
pub(crate) struct Merge {
    file: File,
    runs: Vec<Run>,
    /// The next record of each run that is not at its end.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

struct Run {
    /// The start of the part of the file that was not read yet.
    next: u64,
    end: u64,
    /// How many bytes are read at once.
    at_once: usize,
    buffer: Vec<u8>,
    at: usize,
}

impl Run {
    /// The bytes after those that were taken; reads more of the file if there are fewer.
    fn bytes(&mut self, file: &mut File, count: usize) -> std::io::Result<&[u8]> {
        if self.buffer.len() - self.at < count {
            // What was taken is dropped first, so that the buffer does not grow with the run.
            self.buffer.drain(..self.at);
            self.at = 0;
            let missing = count - self.buffer.len();
            // It only bounds what is read at once.
            let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
            let more = missing.max(self.at_once).min(left);
            let old = self.buffer.len();
            self.buffer.resize(old + more, 0);
            // All runs share the file, so its position is that of another run.
            file.seek(SeekFrom::Start(self.next))?;
            if let Some(new) = self.buffer.get_mut(old..) {
                file.read_exact(new)?;
            }
            self.next += more as u64;
        }
        let bytes = self.buffer.get(self.at..self.at + count);
        bytes.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
    }

    fn take(&mut self, file: &mut File) -> std::io::Result<Option<Vec<u8>>> {
        // A run ends where the next begins, so its end must be told by the position.
        if self.at == self.buffer.len() && self.next == self.end {
            return Ok(None);
        }
        let length = self.bytes(file, 4)?.first_chunk();
        let length = length.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let length = u32::from_le_bytes(*length) as usize;
        self.at += 4;
        let record = self.bytes(file, length)?.to_vec();
        self.at += length;
        Ok(Some(record))
    }
}

impl Merge {
    fn refill(&mut self, at: usize) -> Result<()> {
        let Some(run) = self.runs.get_mut(at) else { return Ok(()) };
        if let Some(record) = run.take(&mut self.file).map_err(failed)? {
            self.heads.push(Reverse((record, at)));
        }
        Ok(())
    }

    /// The next record, put into `record`. `false` at the end.
    pub(super) fn next(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        let Some(Reverse((first, run))) = self.heads.pop() else { return Ok(false) };
        *record = first;
        // The run that gave the record gives its next one, or a greater one would come first.
        self.refill(run)?;
        Ok(true)
    }
}
