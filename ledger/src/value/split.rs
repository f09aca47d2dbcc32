//! Cuts a value into chunks, and lists them in index pieces.

use bytes::{Bytes, BytesMut};

use super::index::{IndexWriter, Part};
use super::reference::{MAX_CHUNK, MAX_VALUE_LEN, MIN_CHUNK, Reference};
use crate::digest::Kind;
use crate::error::{LedgerError, Result};
use crate::node::items::MAX_INLINE_LEN;
use crate::secret::{BoundaryHash, Gear, Secret};

const MEAN_CHUNK: usize = 16_384;

/// Where a chunk can end before the mean length, and after it.
const MASK_SHORT: u64 = 0x0000_d90f_0353_0000;
const MASK_LONG: u64 = 0x0000_d903_0353_0000;

/// The length of the first chunk of these bytes, which are the rest of a value, or more than a
/// chunk can have.
pub(super) fn cut(gear: &Gear, bytes: &[u8]) -> usize {
    let (_, len) = fastcdc::v2020::cut_gear(
        bytes,
        MIN_CHUNK,
        MEAN_CHUNK,
        MAX_CHUNK,
        MASK_SHORT,
        MASK_LONG,
        MASK_SHORT << 1,
        MASK_LONG << 1,
        &gear.table,
        &gear.shifted,
    );
    len
}

/// A piece of a value.
#[derive(Debug, Clone)]
pub(crate) struct NewPiece {
    pub(crate) kind: Kind,
    pub(crate) part: Part,
    pub(crate) bytes: Bytes,
}

/// Cuts a value that arrives in portions. Holds at most 64 KiB and a portion of it, and one group
/// of children for each level of index pieces.
#[derive(Debug)]
pub(crate) struct Splitter {
    gear: Gear,
    hash: BoundaryHash,
    buffer: BytesMut,
    len: u64,
    chunks: u64,
    last_chunk: Option<Part>,
    indexes: Vec<IndexWriter>,
}

impl Splitter {
    pub(crate) fn new(secret: &Secret) -> Self {
        Splitter {
            gear: secret.gear(),
            hash: secret.boundary_hash(),
            buffer: BytesMut::new(),
            len: 0,
            chunks: 0,
            last_chunk: None,
            indexes: Vec::new(),
        }
    }

    /// Adds bytes, and passes complete pieces to `to`.
    ///
    /// # Errors
    /// Those of `to`, and if the value is longer than a value can be.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        to: &mut dyn FnMut(NewPiece) -> Result<()>,
    ) -> Result<()> {
        self.len += bytes.len() as u64;
        if self.len > MAX_VALUE_LEN {
            return Err(LedgerError::ValueTooLong);
        }
        self.buffer.extend_from_slice(bytes);
        // The length of a chunk depends on no more than this many bytes.
        while self.buffer.len() >= MAX_CHUNK {
            self.chunk(to)?;
        }
        Ok(())
    }

    /// The value so far, if it fits into a leaf.
    pub(crate) fn inline(&self) -> Option<&[u8]> {
        (self.len <= MAX_INLINE_LEN as u64).then_some(&self.buffer[..])
    }

    /// Completes the value.
    ///
    /// # Errors
    /// Those of `to`, and if the value has no bytes.
    pub(crate) fn finish(
        mut self,
        to: &mut dyn FnMut(NewPiece) -> Result<()>,
    ) -> Result<Reference> {
        while !self.buffer.is_empty() {
            self.chunk(to)?;
        }
        let len = self.len;
        let Some(last_chunk) = self.last_chunk else {
            return Err(LedgerError::InvalidArgument("a value in pieces has bytes".to_owned()));
        };
        if self.chunks == 1 {
            return Ok(Reference { top: last_chunk.digest, levels: 0, len });
        }
        let mut level = 0;
        loop {
            // The last group of a level may be complete already. Then nothing is left to write.
            let writer = &mut self.indexes[level];
            if let Some((part, bytes)) = writer.end() {
                let made = writer.made;
                to(NewPiece { kind: Kind::Index, part, bytes })?;
                if made > 1 {
                    self.list(level + 1, part, to)?;
                }
            }
            // A level with one piece is the top. A level with more has listed them in the next one.
            match self.indexes[level] {
                IndexWriter { made: 1, last: Some(top), .. } => {
                    #[allow(
                        clippy::cast_possible_truncation,
                        reason = "a value has at most 11 levels"
                    )]
                    let levels = level as u8 + 1;
                    return Ok(Reference { top: top.digest, levels, len });
                }
                _ => level += 1,
            }
        }
    }

    /// Cuts the next chunk off the buffer.
    fn chunk(&mut self, to: &mut dyn FnMut(NewPiece) -> Result<()>) -> Result<()> {
        let len = cut(&self.gear, &self.buffer);
        let bytes = self.buffer.split_to(len).freeze();
        let part = Part { len: len as u64, digest: Kind::Chunk.digest(&bytes) };
        to(NewPiece { kind: Kind::Chunk, part, bytes })?;
        self.chunks += 1;
        self.last_chunk = Some(part);
        self.list(0, part, to)
    }

    /// Lists a part at a level of index pieces, and the piece that this completes above it.
    fn list(
        &mut self,
        mut level: usize,
        mut part: Part,
        to: &mut dyn FnMut(NewPiece) -> Result<()>,
    ) -> Result<()> {
        loop {
            if self.indexes.len() == level {
                #[allow(clippy::cast_possible_truncation, reason = "a value has at most 11 levels")]
                let writer = IndexWriter::new(level as u8);
                self.indexes.push(writer);
            }
            let Some((made, bytes)) = self.indexes[level].push(&self.hash, part) else {
                return Ok(());
            };
            to(NewPiece { kind: Kind::Index, part: made, bytes })?;
            (level, part) = (level + 1, made);
        }
    }
}
