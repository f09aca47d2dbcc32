//! Reads and fetches values that may be absent. `pieces.rs` fetches their pieces.

mod pieces;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use self::pieces::PartOfValue;
use super::Page;
use super::requests::Source;
use super::snapshot::PageSnapshot;
use super::whole_value::{ValueLocation, reference};
use crate::error::{LedgerError, Result};
use crate::node::items::REFERENCE;
use crate::source::PieceSource;
use crate::value::read::ChunkReader;
use crate::value::reference::Reference;

/// How often pieces are fetched again that a collection has removed meanwhile: a stored piece was
/// unreachable until the piece above it was fetched. Fetched pieces stay.
const ATTEMPTS: usize = 100;

/// The value of an entry.
struct Entry {
    /// `None` if the value lies in its leaf.
    long: Option<(Reference, ValueLocation)>,
    inline: Vec<u8>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Entry {
    fn len(&self) -> u64 {
        self.long.as_ref().map_or(self.inline.len() as u64, |(value, _)| value.len)
    }

    /// The first byte of a part, and the one after the last.
    fn part(&self, offset: i64, max: i64) -> (u64, u64) {
        let len = self.len();
        let begin = match u64::try_from(offset) {
            Ok(offset) => offset,
            // An offset before the beginning selects nothing; it is not moved to the beginning.
            Err(_) => len.checked_sub(offset.unsigned_abs()).unwrap_or(len),
        };
        let begin = begin.min(len);
        // A negative one is no limit.
        let most = u64::try_from(max).unwrap_or(u64::MAX);
        (begin, begin.saturating_add(most).min(len))
    }
}

impl Page {
    /// Sets where [`PageSnapshot::fetch`] gets absent pieces, and how long an answer may take.
    /// Holds for all handles of the page in this process, as long as there is one. Later fetches
    /// ask this source also for pieces that a former source has not sent.
    pub fn set_source(&self, source: Arc<dyn PieceSource>, limit: Duration) {
        let (page, number) = (self.merging.page_id(), self.shared.number());
        self.shared.requests.set_source(Some(Source::new(source, (page, number), limit)));
    }

    /// Removes the [source](Page::set_source). Running requests are not ended.
    pub fn remove_source(&self) {
        self.shared.requests.set_source(None);
    }
}

impl PageSnapshot {
    /// Whether all of a value is stored here. `false` if there is no such entry. Never asks the
    /// [source](Page::set_source).
    ///
    /// Loads one node of each level and the index pieces of the value, and looks up each chunk.
    ///
    /// # Errors
    /// If something cannot be loaded, or is damaged.
    pub fn has(&self, key: &[u8]) -> Result<bool> {
        let Some(entry) = self.entry(key)? else { return Ok(false) };
        match entry.long {
            None => Ok(true),
            Some((value, _)) => {
                let shared = &self.page.shared;
                let is_here = self.part_of(value, (0, value.len)).is_here().and_then(|is_here| {
                    // The rows of a deleted page are gone, which looks like absent pieces.
                    shared.open.rows.check_exists(&shared.read()?)?;
                    Ok(is_here)
                });
                is_here.map_err(|error| error.needed(|by| by.key = Some(key.to_vec())))
            }
        }
    }

    /// A part of a value: at most `max` bytes from `offset` on. `None` if there is no such entry.
    /// Never asks the [source](Page::set_source).
    ///
    /// An offset below 0 counts from the end. Outside of the value there are no bytes. If `max` is
    /// below 0, the part ends with the value. Loads the chunks of the part and the index pieces
    /// above them.
    ///
    /// # Errors
    /// [`LedgerError::NeedsFetch`] if a piece of this part is absent. If something cannot be
    /// loaded, or is damaged.
    pub fn get_partial(&self, key: &[u8], offset: i64, max: i64) -> Result<Option<Vec<u8>>> {
        let Some(entry) = self.entry(key)? else { return Ok(None) };
        self.read_part(&entry, entry.part(offset, max)).map(Some)
    }

    /// The value of a key; `None` if there is no such entry. Absent pieces of a lazy value are
    /// fetched from the [source](Page::set_source) of the page, and stay. Without a source this is
    /// the same as [`get`](permazen_kv::KvRead::get).
    ///
    /// Never requests a piece that is stored here or that another thread is fetching. A request is
    /// for at most 32 pieces, and at most five requests run at once.
    ///
    /// # Errors
    /// [`LedgerError::Network`] if an answer does not come in time; pieces that have arrived stay,
    /// so that another fetch gets the rest. [`LedgerError::NotAtSource`] if the source does not
    /// have a piece, and [`LedgerError::Integrity`] if it sends something else. Those of
    /// [`get`](permazen_kv::KvRead::get).
    pub fn fetch(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.fetch_partial(key, 0, -1)
    }

    /// A part of a value, as [`get_partial`](PageSnapshot::get_partial) returns it. Absent pieces
    /// of this part are fetched as by [`fetch`](PageSnapshot::fetch): its chunks and the index
    /// pieces above them, no others.
    ///
    /// # Errors
    /// Those of [`fetch`](PageSnapshot::fetch).
    pub fn fetch_partial(&self, key: &[u8], offset: i64, max: i64) -> Result<Option<Vec<u8>>> {
        let Some(entry) = self.entry(key)? else { return Ok(None) };
        let part = entry.part(offset, max);
        let mut result = self.read_part(&entry, part);
        for _ in 0..ATTEMPTS {
            let source = self.page.shared.requests.source();
            match (&result, source, &entry.long) {
                (Err(LedgerError::NeedsFetch { .. }), Some(source), Some((value, _))) => {
                    match self.part_of(*value, part).get(&source) {
                        Ok(()) | Err(LedgerError::Missing { .. }) => {}
                        Err(error) => return Err(error.needed(|by| by.key = Some(key.to_vec()))),
                    }
                    result = self.read_part(&entry, part);
                }
                _ => break,
            }
        }
        result.map(Some)
    }

    fn entry(&self, key: &[u8]) -> Result<Option<Entry>> {
        let Some((leaf, at)) = self.find(key)? else { return Ok(None) };
        let payload = leaf.payload(at);
        if payload.flags & REFERENCE == 0 {
            return Ok(Some(Entry { long: None, inline: payload.bytes.to_vec() }));
        }
        let location = ValueLocation::new(&self.commit, payload.flags, key);
        Ok(Some(Entry { long: Some((reference(payload)?, location)), inline: Vec::new() }))
    }

    fn part_of(&self, value: Reference, bytes: (u64, u64)) -> PartOfValue<'_> {
        PartOfValue { page: &self.page, commit: self.commit, value, bytes }
    }

    fn read_part(&self, entry: &Entry, (begin, end): (u64, u64)) -> Result<Vec<u8>> {
        let Some((value, location)) = &entry.long else {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "both lie in the value, which has at most 512 bytes"
            )]
            let part = begin as usize..end as usize;
            return Ok(entry.inline[part].to_vec());
        };
        let shared = &self.page.shared;
        let read = || {
            shared.check_whole(end - begin)?;
            let mut part = Vec::new();
            if begin == end {
                return Ok(part);
            }
            let mut chunks = ChunkReader::new(&*self.page, value, begin)?;
            while let left @ 1.. = (end - begin) - part.len() as u64 {
                let Some(bytes) = chunks.next()? else { break };
                // No more than there is of this chunk.
                let len = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                shared.append(&mut part, &bytes[..len], end - begin)?;
            }
            Ok(part)
        };
        let result = match read() {
            // Another thread may have fetched the piece in the middle of the read.
            Err(LedgerError::Missing { .. }) => read(),
            result => result,
        };
        result.map_err(|error| shared.absent(error, location, value))
    }
}
