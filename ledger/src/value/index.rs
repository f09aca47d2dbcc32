//! Index pieces: lists of the parts of a value.

use bytes::Bytes;

use super::reference::MAX_LEVELS;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::secret::BoundaryHash;

/// The least number of children at which a group can be cut.
const MIN_CHILDREN: usize = 16;

/// The number of children at which a group is cut.
const MAX_CHILDREN: usize = 1_024;

/// The bytes of a child: how many bytes of the value it has, and its digest.
const CHILD_LEN: usize = 8 + Digest::LEN;

/// A part of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) len: u64,
    pub(crate) digest: Digest,
}

/// An index piece whose bytes were checked.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    bytes: Bytes,
}

impl Index {
    /// The index piece with this digest, level and length of its part of the value.
    ///
    /// # Errors
    /// If the bytes are not such a piece.
    pub(crate) fn checked(digest: &Digest, bytes: Bytes, level: u8, len: u64) -> Result<Self> {
        let found = Kind::Index.digest(&bytes);
        if found != *digest {
            return Err(LedgerError::other_digest(Kind::Index, digest, &found));
        }
        let refused = |found| LedgerError::refused(Kind::Index, digest, found);
        let index = Index::parse(bytes).map_err(refused)?;
        if index.level() != level || index.total() != Some(len) {
            let words = |level, len| format!("level {level} and {len} bytes below it");
            let (expected, found) =
                (words(level, len), words(index.level(), index.total().unwrap_or_default()));
            return Err(LedgerError::integrity(Kind::Index, digest, expected, found));
        }
        Ok(index)
    }

    /// The index piece with these bytes, or the mistake in them.
    pub(crate) fn parse(bytes: Bytes) -> std::result::Result<Self, &'static str> {
        let Some((level, children)) = bytes.split_first() else { return Err("no bytes") };
        if *level >= MAX_LEVELS {
            return Err("the level is above 10");
        }
        let count = children.len() / CHILD_LEN;
        if children.is_empty() || children.len() % CHILD_LEN != 0 {
            return Err("no children, or half a child");
        }
        if count > MAX_CHILDREN {
            return Err("more than 1,024 children");
        }
        let index = Index { bytes };
        if (0..count).any(|at| index.part(at).is_none_or(|part| part.len == 0)) {
            return Err("a part without bytes");
        }
        index.total().ok_or("the parts are longer than a value can be")?;
        Ok(index)
    }

    fn total(&self) -> Option<u64> {
        (0..self.len()).try_fold(0_u64, |sum, at| sum.checked_add(self.part(at)?.len))
    }

    /// 0 if the parts are chunks.
    pub(crate) fn level(&self) -> u8 {
        self.bytes[0]
    }

    /// The number of parts.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / CHILD_LEN
    }

    /// The part at a position. `None` if there are fewer.
    pub(crate) fn part(&self, at: usize) -> Option<Part> {
        let child = self.bytes.get(1 + at * CHILD_LEN..1 + (at + 1) * CHILD_LEN)?;
        let (len, digest) = child.split_first_chunk()?;
        Some(Part { len: u64::from_be_bytes(*len), digest: Digest::from_slice(digest)? })
    }
}

/// Whether a group of `count` parts is cut after its last one.
pub(super) fn ends_group(hash: &BoundaryHash, level: u8, count: usize, last: &Digest) -> bool {
    count >= MAX_CHILDREN || count >= MIN_CHILDREN && hash.of_part(level, last) < 1 << 56
}

/// Collects the parts of one level into index pieces.
#[derive(Debug)]
pub(crate) struct IndexWriter {
    level: u8,
    group: Vec<u8>,
    /// How many bytes of the value are in the group.
    len: u64,
    /// How many pieces it has made.
    pub(crate) made: u64,
    /// The last of them.
    pub(crate) last: Option<Part>,
}

impl IndexWriter {
    pub(crate) fn new(level: u8) -> Self {
        IndexWriter { level, group: vec![level], len: 0, made: 0, last: None }
    }

    /// Adds a part. Returns the piece, if this is the end of a group.
    pub(crate) fn push(&mut self, hash: &BoundaryHash, part: Part) -> Option<(Part, Bytes)> {
        self.group.extend_from_slice(&part.len.to_be_bytes());
        self.group.extend_from_slice(&part.digest.0);
        self.len += part.len;
        let count = self.group.len() / CHILD_LEN;
        if ends_group(hash, self.level, count, &part.digest) { self.end() } else { None }
    }

    /// Returns the piece with the parts of the group, if there are any.
    pub(crate) fn end(&mut self) -> Option<(Part, Bytes)> {
        if self.group.len() == 1 {
            return None;
        }
        let bytes = Bytes::from(std::mem::replace(&mut self.group, vec![self.level]));
        let digest = Kind::Index.digest(&bytes);
        let part = Part { len: std::mem::take(&mut self.len), digest };
        self.made += 1;
        self.last = Some(part);
        Some((part, bytes))
    }
}
