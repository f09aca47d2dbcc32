//! Reads a long value, or a part of it.

use bytes::Bytes;

use super::index::{Index, Part};
use super::reference::Reference;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};

/// Loads the pieces of values.
pub(crate) trait PieceStore {
    /// The bytes of a piece. The caller compares them with the digest.
    fn piece(&self, kind: Kind, digest: &Digest) -> Result<Bytes>;

    /// Adds to an error where the piece was needed.
    fn explain(&self, error: LedgerError) -> LedgerError {
        error
    }
}

impl<P: PieceStore + ?Sized> PieceStore for &P {
    fn piece(&self, kind: Kind, digest: &Digest) -> Result<Bytes> {
        P::piece(self, kind, digest)
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        P::explain(self, error)
    }
}

impl<P: PieceStore + ?Sized> PieceStore for std::sync::Arc<P> {
    fn piece(&self, kind: Kind, digest: &Digest) -> Result<Bytes> {
        P::piece(self, kind, digest)
    }

    fn explain(&self, error: LedgerError) -> LedgerError {
        P::explain(self, error)
    }
}

/// Reads the chunks of a value one after the other, from any position. Holds one chunk and one
/// index piece of each level.
#[derive(Debug)]
pub(crate) struct ChunkReader<P> {
    pieces: P,
    /// The index pieces from the top down, and the next part in each.
    path: Vec<(Index, usize)>,
    /// The first chunk to read, and how many of its bytes to leave out. `None` once it was read.
    first: Option<(Part, u64)>,
}

impl<P: PieceStore> ChunkReader<P> {
    /// At this position, which may be the end or after it.
    ///
    /// # Errors
    /// If an index piece on the way cannot be loaded, or is damaged.
    pub(crate) fn new(pieces: P, value: &Reference, mut position: u64) -> Result<Self> {
        let mut reader = ChunkReader { pieces, path: Vec::new(), first: None };
        if position >= value.len {
            return Ok(reader);
        }
        let mut part = Part { len: value.len, digest: value.top };
        for level in (0..value.levels).rev() {
            let index = reader.index(&part, level, level + 1 == value.levels)?;
            let mut at = 0;
            loop {
                let Some(next) = index.part(at) else {
                    let expected = format!("{position} more bytes below it");
                    let error =
                        LedgerError::integrity(Kind::Index, &part.digest, expected, "its end");
                    return Err(reader.pieces.explain(error));
                };
                at += 1;
                if position < next.len {
                    part = next;
                    break;
                }
                position -= next.len;
            }
            reader.path.push((index, at));
        }
        reader.first = Some((part, position));
        Ok(reader)
    }

    /// The next bytes of the value: the rest of a chunk. `None` at the end. Loads no index piece
    /// that the chunk does not need.
    ///
    /// # Errors
    /// If a piece cannot be loaded, or is damaged.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>> {
        let next = match self.first.take() {
            None => self.following()?.map(|part| (part, 0)),
            first => first,
        };
        let Some((part, skipped)) = next else { return Ok(None) };
        let bytes = self.pieces.piece(Kind::Chunk, &part.digest)?;
        check_chunk(&part, &bytes).map_err(|error| self.pieces.explain(error))?;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "it lies in the chunk, whose length is that of these bytes"
        )]
        let skipped = skipped as usize;
        Ok(Some(bytes.slice(skipped..)))
    }

    /// The chunk after the one that was returned last.
    fn following(&mut self) -> Result<Option<Part>> {
        loop {
            let Some((index, at)) = self.path.last_mut() else { return Ok(None) };
            let Some(part) = index.part(*at) else {
                self.path.pop();
                continue;
            };
            *at += 1;
            let level = index.level();
            if level == 0 {
                return Ok(Some(part));
            }
            let index = self.index(&part, level - 1, false)?;
            self.path.push((index, 0));
        }
    }

    fn index(&self, part: &Part, level: u8, is_top: bool) -> Result<Index> {
        let bytes = self.pieces.piece(Kind::Index, &part.digest)?;
        index(part, bytes, level, is_top).map_err(|error| self.pieces.explain(error))
    }
}

/// Checks an index piece against its reference.
///
/// # Errors
/// If the bytes are not that piece.
pub(crate) fn index(part: &Part, bytes: Bytes, level: u8, is_top: bool) -> Result<Index> {
    let index = Index::checked(&part.digest, bytes, level, part.len)?;
    if is_top && index.len() == 1 {
        let expected = "a top piece, which has several parts";
        return Err(LedgerError::integrity(Kind::Index, &part.digest, expected, "one part"));
    }
    Ok(index)
}

/// Checks the bytes of a chunk against its reference.
///
/// # Errors
/// If they are not that chunk.
pub(crate) fn check_chunk(part: &Part, bytes: &[u8]) -> Result<()> {
    let found = Kind::Chunk.digest(bytes);
    if found != part.digest {
        return Err(LedgerError::other_digest(Kind::Chunk, &part.digest, &found));
    }
    if bytes.len() as u64 != part.len {
        let (expected, found) = (format!("{} bytes", part.len), format!("{} bytes", bytes.len()));
        return Err(LedgerError::integrity(Kind::Chunk, &part.digest, expected, found));
    }
    Ok(())
}
