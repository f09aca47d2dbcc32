//! The rows of values that are written in parts, which are *streams* until a commit has them.

use std::ops::ControlFlow;

use permazen_kv::{Direction, KeySpan, KvRead, KvWrite};

use super::counts::Counts;
use super::page::Rows;
use super::pieces::PieceLookup;
use super::process::{HOLD, Hold, StreamId, StreamState, hold};
use super::sealed;
use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::ids::ProcessId;

pub(super) const STREAMED: u8 = 0x26;

/// A piece of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamedRow {
    pub(crate) digest: Digest,
    pub(crate) stream: StreamId,
    /// The stream has written it, and not found it stored.
    pub(crate) is_written: bool,
}

impl StreamedRow {
    /// The row with this key, without its first byte, and value.
    pub(super) fn parse(key: &[u8], value: &[u8]) -> Option<Self> {
        let (digest, stream) = key.split_at_checked(Digest::LEN)?;
        let (process, number) = stream.split_first_chunk()?;
        let number = u64::from_be_bytes(number.try_into().ok()?);
        let stream = StreamId { process: ProcessId(*process), number };
        let is_written = match value {
            [written @ 0..=1] => *written == 1,
            _ => return None,
        };
        Some(StreamedRow { digest: Digest::from_slice(digest)?, stream, is_written })
    }

    fn key(&self) -> Vec<u8> {
        let StreamId { process, number } = &self.stream;
        [&[STREAMED][..], &self.digest.0, &process.0, &number.to_be_bytes()].concat()
    }
}

fn stream_key(stream: &StreamId) -> Vec<u8> {
    [&[HOLD][..], &stream.process.0, &stream.number.to_be_bytes()].concat()
}

impl Rows {
    /// The state of a stream. `None` if it was given up, or is over.
    pub(crate) fn stream(&self, tx: &dyn KvRead, stream: &StreamId) -> Result<Option<StreamState>> {
        let key = stream_key(stream);
        let Some(value) = self.get(tx, &key)? else { return Ok(None) };
        match hold(&key[1..], &value) {
            Some(Hold::Stream(_, state)) => Ok(Some(state)),
            _ => Err(self.damaged(&key, "it is no stream")),
        }
    }

    pub(crate) fn put_stream(
        &self,
        tx: &mut dyn KvWrite,
        stream: &StreamId,
        state: StreamState,
    ) -> Result<()> {
        self.put(tx, &stream_key(stream), Hold::Stream(*stream, state).value())
    }

    pub(crate) fn remove_stream(&self, tx: &mut dyn KvWrite, stream: &StreamId) -> Result<()> {
        self.remove(tx, &stream_key(stream))
    }

    /// The streams of all processes.
    pub(crate) fn streams(&self, tx: &dyn KvRead) -> Result<Vec<(StreamId, StreamState)>> {
        let mut streams = Vec::new();
        self.visit_holds(tx, |hold| {
            if let Hold::Stream(stream, state) = hold {
                streams.push((stream, state));
            }
        })?;
        Ok(streams)
    }

    /// Writes a piece of a stream, unless it is stored. Returns whether it was written.
    pub(crate) fn add_streamed(
        &self,
        tx: &mut dyn KvWrite,
        stream: &StreamId,
        (kind, digest): (Kind, &Digest),
        bytes: &[u8],
        counts: &mut Counts,
    ) -> Result<bool> {
        let mut row = StreamedRow { digest: *digest, stream: *stream, is_written: false };
        // A value can have the same piece twice.
        if tx.get(&self.stored(&row.key()))?.is_some() {
            return Ok(false);
        }
        match self.look_up_piece(tx, (kind, digest), bytes)? {
            PieceLookup::Absent => {
                self.put_new_piece(tx, (kind, digest), bytes, counts)?;
                row.is_written = true;
            }
            PieceLookup::Same(number) if !counts.renews(number) => {}
            // The row that is written below keeps the piece from a running round, but only as long
            // as the stream: a lazy value that has the piece too needs no fetch then, and keeps it.
            PieceLookup::Same(_) | PieceLookup::Different => {
                self.put_piece(tx, (kind, digest), bytes, counts)?
            }
        }
        self.put_streamed(tx, &row)?;
        Ok(row.is_written)
    }

    fn put_streamed(&self, tx: &mut dyn KvWrite, row: &StreamedRow) -> Result<()> {
        self.put(tx, &row.key(), vec![u8::from(row.is_written)])
    }

    /// The row with this key and value.
    fn streamed(&self, key: &[u8], value: &[u8]) -> Result<StreamedRow> {
        StreamedRow::parse(key.get(1..).unwrap_or_default(), value)
            .ok_or_else(|| self.damaged(key, "it is no piece of a stream"))
    }

    /// Removes the row of a piece of a stream. Returns it, or `None` if there was no row.
    pub(crate) fn remove_streamed(
        &self,
        tx: &mut dyn KvWrite,
        row: &StreamedRow,
    ) -> Result<Option<StreamedRow>> {
        let key = row.key();
        let Some(value) = self.get(tx, &key)? else { return Ok(None) };
        self.remove(tx, &key)?;
        Ok(StreamedRow::parse(&key[1..], &value))
    }

    /// Records that a commit has this piece, so that it is not transient any more.
    pub(crate) fn settle_streamed(&self, tx: &mut dyn KvWrite, digest: &Digest) -> Result<()> {
        let mut written = Vec::new();
        self.visit(tx, &[&[STREAMED][..], &digest.0].concat(), |stream, value| {
            let row = self.streamed(&[&[STREAMED][..], &digest.0, stream].concat(), value)?;
            written.extend(row.is_written.then_some(row));
            Ok(())
        })?;
        for row in written {
            self.put_streamed(tx, &StreamedRow { is_written: false, ..row })?;
        }
        Ok(())
    }

    /// Whether a stream has this piece.
    pub(crate) fn is_streamed(&self, tx: &dyn KvRead, digest: &Digest) -> Result<bool> {
        let (min, max) = self.span(&[&[STREAMED][..], &digest.0].concat());
        Ok(tx.at_least(&min, max.as_deref())?.is_some())
    }

    /// Whether any stream has a piece.
    pub(crate) fn has_streamed(&self, tx: &dyn KvRead) -> Result<bool> {
        let (min, max) = self.span(&[STREAMED]);
        Ok(tx.at_least(&min, max.as_deref())?.is_some())
    }

    /// Calls `each` with the pieces of streams after this one, by their digests, until it breaks.
    pub(crate) fn visit_streamed(
        &self,
        tx: &dyn KvRead,
        after: Option<&StreamedRow>,
        mut each: impl FnMut(StreamedRow) -> ControlFlow<()>,
    ) -> Result<()> {
        let (mut min, max) = self.span(&[STREAMED]);
        if let Some(after) = after {
            // The least key after that of the row.
            min = self.stored(&after.key());
            min.push(0);
        }
        for pair in tx.scan(KeySpan::new(&min, max.as_deref()), Direction::Forward)? {
            let (key, row) = pair?;
            let key = key.get(self.all().0.len()..).unwrap_or_default();
            let value = sealed::open(self.number, key, &row)?;
            if each(self.streamed(key, value)?).is_break() {
                break;
            }
        }
        Ok(())
    }
}
