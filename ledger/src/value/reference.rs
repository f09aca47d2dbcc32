//! References of leaves to long values.

use crate::digest::Digest;
use crate::node::items::{MAX_INLINE_LEN, REFERENCE_LEN};

/// The longest value of a page: 2⁴⁸ − 1 bytes.
pub(crate) const MAX_VALUE_LEN: u64 = (1 << 48) - 1;

/// A rest of a value with at most this number of bytes is one chunk.
pub(super) const MIN_CHUNK: usize = 4_096;

/// The longest chunk.
pub(crate) const MAX_CHUNK: usize = 65_536;

/// The most levels of index pieces of a value.
pub(crate) const MAX_LEVELS: u8 = 11;

/// A reference to a long value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The chunk, or the index piece above all others.
    pub(crate) top: Digest,
    /// How many index pieces are above each chunk.
    pub(crate) levels: u8,
    /// The length of the value in bytes.
    pub(crate) len: u64,
}

impl Reference {
    pub(crate) fn to_bytes(self) -> [u8; REFERENCE_LEN] {
        let mut bytes = [0; REFERENCE_LEN];
        bytes[..Digest::LEN].copy_from_slice(&self.top.0);
        bytes[Digest::LEN..].copy_from_slice(&self.len.to_be_bytes());
        bytes[Digest::LEN] = self.levels;
        bytes
    }

    /// The reference with these bytes, or the mistake in them.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let (top, rest) = bytes.split_at_checked(Digest::LEN).unwrap_or((bytes, &[]));
        let (Some(top), Ok([levels, len @ ..])) =
            (Digest::from_slice(top), <[u8; 8]>::try_from(rest))
        else {
            return Err("a reference that does not have 40 bytes");
        };
        let len = len.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let refused = match (levels, len) {
            (_, len) if len <= MAX_INLINE_LEN as u64 => {
                Some("a reference to a value that belongs into the leaf")
            }
            (_, len) if len > MAX_VALUE_LEN => Some("a reference to more than 2⁴⁸ − 1 bytes"),
            (0, len) if len > MAX_CHUNK as u64 => {
                Some("a reference to a chunk of more than 64 KiB")
            }
            (1.., len) if len <= MIN_CHUNK as u64 => {
                Some("a reference to an index piece of one chunk")
            }
            (levels, _) if levels > MAX_LEVELS => Some("a reference to more than 11 levels"),
            _ => None,
        };
        refused.map_or(Ok(Reference { top, levels, len }), Err)
    }
}
