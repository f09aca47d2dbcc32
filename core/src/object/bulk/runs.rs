//! Sorted records in a file, and reading them merged.
//!
//! A run is the content of a buffer when it was full. Its records are in the file lane by lane.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::buffer::{Buffer, Record, head, read_record, write_len};
use super::temporary;

/// All runs, in one file.
pub(super) struct Runs {
    file: File,
    len: u64,
    /// For each lane, where its records begin and end in each run that has some.
    lanes: Vec<Vec<(u64, u64)>>,
}

/// How many bytes are written at a time.
const WRITTEN: usize = 1 << 18;

impl Runs {
    pub(super) fn new(file: File, lanes: usize) -> Self {
        Runs { file, len: 0, lanes: vec![Vec::new(); lanes] }
    }

    /// Appends the records of a sorted buffer as a run.
    pub(super) fn add(&mut self, buffer: &Buffer) -> io::Result<()> {
        // Large writes keep the disk busy while the next buffer is filled.
        let mut out = BufWriter::with_capacity(WRITTEN, &self.file);
        let mut lens = Vec::with_capacity(20);
        // A run has its lanes one after the other, so that each lane can be read alone.
        for (number, runs) in self.lanes.iter_mut().enumerate() {
            let start = self.len;
            let mut at = 0;
            while let Some((key, content)) = buffer.record(number, at) {
                lens.clear();
                write_len(key.len(), &mut lens);
                write_len(content.len(), &mut lens);
                out.write_all(&lens)?;
                out.write_all(key)?;
                out.write_all(content)?;
                self.len += (lens.len() + key.len() + content.len()) as u64;
                at += 1;
            }
            // A lane without records has no part in this run.
            if at > 0 {
                runs.push((start, self.len));
            }
        }
        // A dropped writer would hide its error.
        out.flush()
    }

    /// The records of a lane in the order of their keys. `memory` is about how many bytes are read
    /// ahead.
    pub(super) fn lane(&self, lane: usize, common: usize, memory: usize) -> io::Result<Merged<'_>> {
        let spans = self.lanes.get(lane).map(Vec::as_slice).unwrap_or_default();
        // The memory is shared by the runs that are read at the same time.
        let ahead = (memory / spans.len().max(1)).clamp(LEAST_AHEAD, MOST_AHEAD);
        let mut merged =
            Merged { runs: Vec::with_capacity(spans.len()), heap: Vec::new(), begun: false };
        for &(at, end) in spans {
            let mut run = Run { file: &self.file, at, end, common, ..Run::empty(&self.file) };
            // The bytes that are read ahead need not be all.
            run.bytes.reserve(usize::try_from(end - at).map_or(ahead, |all| ahead.min(all)));
            run.ahead = ahead;
            if run.read()? {
                merged.runs.push(run);
            }
        }
        // All runs begin in the heap, and then the heap is put in order at once.
        merged.heap = (0..merged.runs.len()).collect();
        for at in (0..merged.heap.len() / 2).rev() {
            merged.sift_down(at);
        }
        Ok(merged)
    }
}

const LEAST_AHEAD: usize = 1 << 12;
const MOST_AHEAD: usize = 1 << 20;

/// The part of a run that has one lane, read from front to back.
struct Run<'f> {
    file: &'f File,
    /// Where the next bytes are in the file, and where the part ends.
    at: u64,
    end: u64,
    ahead: usize,
    common: usize,
    /// The bytes that were read.
    bytes: Vec<u8>,
    /// Where the present record is in it: its key, its content, and what follows.
    key: usize,
    content: usize,
    next: usize,
    head: u64,
}

impl<'f> Run<'f> {
    fn empty(file: &'f File) -> Self {
        let (bytes, ahead) = (Vec::new(), LEAST_AHEAD);
        Run { file, at: 0, end: 0, ahead, common: 0, bytes, key: 0, content: 0, next: 0, head: 0 }
    }

    /// Goes to the next record. Returns whether there is one.
    fn read(&mut self) -> io::Result<bool> {
        loop {
            let rest = self.bytes.get(self.next..).unwrap_or_default();
            if let Some(((key, content), len)) = read_record(rest) {
                self.head = head(key, self.common);
                self.content = self.next + len - content.len();
                self.key = self.content - key.len();
                self.next += len;
                return Ok(true);
            }
            if self.at == self.end {
                // Bytes of half a record at the end mean that the file was cut.
                let is_whole = rest.is_empty();
                return if is_whole { Ok(false) } else { Err(io::ErrorKind::InvalidData.into()) };
            }
            // The bytes of the records that were given are dropped before more are read.
            self.bytes.drain(..self.next);
            self.next = 0;
            let begun = self.bytes.len();
            // A record that is longer is read with the next attempts.
            let more =
                usize::try_from(self.end - self.at).map_or(self.ahead, |all| all.min(self.ahead));
            self.bytes.resize(begun + more, 0);
            let into = self.bytes.get_mut(begun..).unwrap_or_default();
            // Another process cannot reach the file, so a shorter one is an error of the disk.
            if temporary::read_at(self.file, into, self.at)? < more {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.at += more as u64;
        }
    }

    fn key(&self) -> &[u8] {
        self.bytes.get(self.key..self.content).unwrap_or_default()
    }

    fn content(&self) -> &[u8] {
        self.bytes.get(self.content..self.next).unwrap_or_default()
    }
}

/// The records of several runs in the order of their keys.
pub(super) struct Merged<'f> {
    runs: Vec<Run<'f>>,
    /// The runs that have records left, by number, as a heap: the first one has the least key.
    heap: Vec<usize>,
    /// Whether the record of the first run was returned.
    begun: bool,
}

impl Merged<'_> {
    /// The next record; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        // The last record is borrowed until now, so its run goes on only with the next call.
        if self.begun
            && let Some(&first) = self.heap.first()
        {
            let has_more = match self.runs.get_mut(first) {
                Some(run) => run.read()?,
                None => false,
            };
            if !has_more {
                // An ended run leaves the heap, and the last one takes its place.
                self.heap.swap_remove(0);
            }
            self.sift_down(0);
        }
        self.begun = true;
        let first = self.heap.first().and_then(|first| self.runs.get(*first));
        Ok(first.map(|run| (run.key(), run.content())))
    }

    fn is_less(&self, a: usize, b: usize) -> bool {
        let run = |at: usize| self.heap.get(at).and_then(|run| self.runs.get(*run));
        match (run(a), run(b)) {
            (Some(a), Some(b)) => a.head.cmp(&b.head).then_with(|| a.key().cmp(b.key())).is_lt(),
            _ => false,
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if self.is_less(child, least) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }
}
