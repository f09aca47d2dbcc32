//! Reads a value piece by piece.

use std::fmt;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;

use super::pinned_page::PinnedPage;
use super::whole_value::ValueLocation;
use crate::value::read::ChunkReader;
use crate::value::reference::Reference;

/// Reads a value from any position, and holds one chunk of at most 64 KiB of it.
///
/// Loads the chunks that it reads from, and the index pieces above them. Each read returns bytes of
/// one chunk. Errors of the page are inside of those of [`std::io`].
pub struct ValueReader {
    page: Arc<PinnedPage>,
    /// `None` if the value lies in its leaf.
    long: Option<(Reference, ValueLocation)>,
    len: u64,
    position: u64,
    /// A part of the value, and where it begins.
    part: (u64, Bytes),
    /// The reader of the following chunks.
    chunks: Option<ChunkReader<Arc<PinnedPage>>>,
}

impl fmt::Debug for ValueReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ValueReader { len, position, .. } = self;
        f.debug_struct("ValueReader")
            .field("len", len)
            .field("position", position)
            .finish_non_exhaustive()
    }
}

impl ValueReader {
    pub(super) fn inline(page: Arc<PinnedPage>, value: &[u8]) -> Self {
        let part = (0, Bytes::copy_from_slice(value));
        let len = value.len() as u64;
        ValueReader { page, long: None, len, position: 0, part, chunks: None }
    }

    pub(super) fn long(page: Arc<PinnedPage>, value: Reference, location: ValueLocation) -> Self {
        let (len, part) = (value.len, (0, Bytes::new()));
        ValueReader { page, long: Some((value, location)), len, position: 0, part, chunks: None }
    }

    /// The length of the value in bytes.
    pub fn value_len(&self) -> u64 {
        self.len
    }

    /// The bytes of the part from the position on, if it is in the part.
    fn rest(&self) -> &[u8] {
        let (begin, bytes) = &self.part;
        let at = self.position.checked_sub(*begin).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| bytes.get(at..)).unwrap_or_default()
    }

    /// Loads the part with the position, which is before the end.
    fn load(&mut self, value: &Reference) -> crate::Result<()> {
        let end = self.part.0 + self.part.1.len() as u64;
        let mut chunks = match self.chunks.take() {
            Some(chunks) if end == self.position => chunks,
            _ => ChunkReader::new(Arc::clone(&self.page), value, self.position)?,
        };
        self.part = (self.position, chunks.next()?.unwrap_or_default());
        self.chunks = Some(chunks);
        Ok(())
    }
}

impl Read for ValueReader {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        if to.is_empty() || self.position >= self.len {
            return Ok(0);
        }
        if self.rest().is_empty()
            && let Some((value, location)) = self.long.clone()
            && let Err(error) = self.load(&value)
        {
            return Err(Error::other(self.page.shared.absent(error, &location, &value)));
        }
        let rest = self.rest();
        let len = rest.len().min(to.len());
        to[..len].copy_from_slice(&rest[..len]);
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for ValueReader {
    /// Loads nothing. A position after the end is possible; nothing is read there.
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        let wrong = || Error::new(ErrorKind::InvalidInput, "a position before the value");
        self.position = position.ok_or_else(wrong)?;
        Ok(self.position)
    }
}
