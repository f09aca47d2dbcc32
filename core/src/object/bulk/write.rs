//! Writing the loaded objects, in the order of the keys.
//!
//! This takes many transactions, because a store keeps in memory the pairs that one transaction has
//! written. So that no reader takes a part for the whole, the first one puts
//! [`LOADING`](crate::layout::LOADING) in place of the format version: such a store is refused, by
//! Permazen for Java too. The last one puts the format version.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};

use permazen_kv::KvTransaction;

use super::buffer::read_len;
use super::loader::{LoadProgress, Loaded};
use super::unfinished::UnfinishedLoad;
use crate::object::{Error, Result};

/// A transaction has about this many bytes of pairs, or a part of the memory if that is less.
const SLICE: usize = 32 << 20;
const PART: usize = 4;

/// How many bytes of pairs are handed from the thread that merges to the one that writes.
const CHUNK: usize = 1 << 18;

/// Pairs in the order of their keys.
#[derive(Default)]
struct Chunk {
    /// Each key with its value after it.
    bytes: Vec<u8>,
    pairs: Vec<PairLen>,
}

/// The lengths of a pair. There are as many of them as pairs, which are often short.
struct PairLen {
    key: u32,
    /// Twice the length, and one more for a counter.
    value: u32,
}

impl PairLen {
    /// `None` for a pair that no store can have.
    fn new(key: usize, value: usize, is_counter: bool) -> Option<Self> {
        // The flag shares a number with the length, as in the records.
        let value = value.checked_mul(2)? + usize::from(is_counter);
        Some(PairLen { key: u32::try_from(key).ok()?, value: u32::try_from(value).ok()? })
    }
}

impl Chunk {
    fn add(&mut self, start: &[u8], end: &[u8], value: &[u8], is_counter: bool) -> Option<()> {
        self.pairs.push(PairLen::new(start.len() + end.len(), value.len(), is_counter)?);
        self.bytes.extend_from_slice(start);
        self.bytes.extend_from_slice(end);
        self.bytes.extend_from_slice(value);
        Some(())
    }

    fn put(&self, tx: &mut dyn KvTransaction) -> permazen_kv::Result<()> {
        let mut rest = &*self.bytes;
        for PairLen { key, value } in &self.pairs {
            let (key, after) = rest.split_at_checked(*key as usize).unwrap_or_default();
            let is_counter = value % 2 == 1;
            let (value, after) = after.split_at_checked(*value as usize / 2).unwrap_or_default();
            rest = after;
            match <[u8; 8]>::try_from(value) {
                // The store chooses the bytes of counters.
                Ok(count) if is_counter => {
                    let count = tx.encode_counter(i64::from_be_bytes(count));
                    tx.append(key, &count)?;
                }
                _ => tx.append(key, value)?,
            }
        }
        Ok(())
    }
}

impl Loaded {
    /// Puts all pairs, in several transactions. `tell` is called after each.
    pub(crate) fn write(
        &self,
        load: &UnfinishedLoad,
        tell: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadProgress> {
        let mut progress = self.progress;
        tell(progress);
        // A store can need several times the memory of the pairs that one transaction writes.
        let slice = SLICE.min(self.memory / PART);
        // Few chunks wait, so that merging does not run far ahead of writing.
        let (to, chunks) = sync_channel(2);
        std::thread::scope(|scope| {
            let merging = std::thread::Builder::new().name("permazen-merge".to_owned());
            let merging = merging.spawn_scoped(scope, move || self.merge(&to));
            let merging = merging.map_err(Error::temporary_file)?;
            let mut chunks = chunks.into_iter().peekable();
            // They are kept until they are committed, because the transaction may have to run
            // again.
            let mut kept: Vec<Chunk> = Vec::new();
            // A look at the next chunk tells whether another transaction is needed.
            while chunks.peek().is_some() {
                load.retrying(|mut tx| {
                    load.check(&*tx)?;
                    for chunk in &kept {
                        chunk.put(&mut *tx)?;
                    }
                    // A retry writes the kept chunks again and only then goes on.
                    while kept.iter().map(|chunk| chunk.bytes.len()).sum::<usize>() <= slice
                        && let Some(chunk) = chunks.next()
                    {
                        // The chunk is kept before its error counts, so that the next attempt has
                        // it.
                        let put = chunk.put(&mut *tx);
                        kept.push(chunk);
                        put?;
                    }
                    // If it is not known whether the commit took place, pairs may be there.
                    load.will_have_pairs();
                    Ok(tx.commit()?)
                })?;
                // The chunks are given up only after their commit.
                progress.written +=
                    kept.drain(..).map(|chunk| chunk.pairs.len() as u64).sum::<u64>();
                tell(progress);
            }
            match merging.join() {
                // A failed merge ends the chunks early, and its result is the only sign of that.
                Ok(merged) => merged.map_err(Error::temporary_file)?,
                Err(_) => return Err(Error::temporary_file(io::Error::other("a panic"))),
            }
            Ok(progress)
        })
    }

    /// Sends all pairs in the order of their keys, until the receiver has gone.
    fn merge(&self, to: &SyncSender<Chunk>) -> io::Result<()> {
        let mut chunk = Chunk::default();
        for (number, lane) in self.lanes.written().iter().enumerate() {
            let mut records = self.sorted.lane(number, lane.prefix.len())?;
            while let Some((key, content)) = records.next()? {
                if lane.of_objects {
                    each_pair(content, |rest, value, is_counter| {
                        chunk.add(key, rest, value, is_counter)
                    })
                } else {
                    chunk.add(key, &[], content, false)
                }
                .ok_or(io::ErrorKind::InvalidData)?;
                if chunk.bytes.len() >= CHUNK {
                    // The next chunk is about as large, so its memory is taken at once.
                    let full = Chunk {
                        bytes: Vec::with_capacity(chunk.bytes.len() + chunk.bytes.len() / 8),
                        pairs: Vec::with_capacity(chunk.pairs.len() + chunk.pairs.len() / 8),
                    };
                    if to.send(std::mem::replace(&mut chunk, full)).is_err() {
                        return Ok(());
                    }
                }
            }
        }
        // If the receiver has gone, it has another error, which is returned.
        let _ = to.send(chunk);
        Ok(())
    }
}

/// Shows the pairs of an object: the rest of the key after its ID, the value, and whether that is a
/// counter. `None` if this is no content of an object.
fn each_pair(
    mut content: &[u8],
    mut show: impl FnMut(&[u8], &[u8], bool) -> Option<()>,
) -> Option<()> {
    while !content.is_empty() {
        let (key, rest) = read_len(content)?;
        let (value_len, rest) = read_len(rest)?;
        let (after_id, rest) = rest.split_at_checked(key >> 1)?;
        let (value, rest) = rest.split_at_checked(value_len)?;
        show(after_id, value, key & 1 == 1)?;
        content = rest;
    }
    Some(())
}
