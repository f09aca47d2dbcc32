//! The compressed form in which schemas are recorded (docs/src/format.md#schema-table).

use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::xml::MAX_XML_BYTES;

/// Java reads compressed input in blocks of this size. It fails if only the end of the stream lies
/// in another block.
const JAVA_BLOCK: usize = 512;
/// How long that end is when Java fails. The upper limit of 8 is on the safe side.
const UNREADABLE_TAILS: std::ops::RangeInclusive<usize> = 1..=8;
/// An empty deflate block. It adds five bytes, but no content.
const EMPTY_BLOCK: [u8; 5] = [0, 0, 0, 0xff, 0xff];
const ZLIB_HEADER_LEN: usize = 2;

/// Why a recorded schema could not be inflated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InflateError {
    /// The bytes are not a complete zlib stream.
    #[error("not a zlib stream, or a damaged one: {0}")]
    Damaged(String),
    /// More bytes follow the stream.
    #[error("{0} bytes follow the zlib stream")]
    TrailingBytes(usize),
    /// The content is longer than that of any schema.
    #[error("the content is longer than {MAX_XML_BYTES} bytes")]
    TooLong,
}

/// Compresses a schema document. Avoids the lengths that Java cannot read back.
pub fn deflate(xml: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(xml.len() / 4 + 64), Compression::best());
    // Writing to a vector cannot fail.
    let mut bytes = match encoder.write_all(xml).and_then(|()| encoder.finish()) {
        Ok(bytes) => bytes,
        Err(_) => stored(xml),
    };
    // Two blocks, since one adds five bytes only: a tail of 1 would become one of 6.
    if !java_can_read_length(bytes.len()) {
        let blocks = [EMPTY_BLOCK, EMPTY_BLOCK].concat();
        bytes.splice(ZLIB_HEADER_LEN..ZLIB_HEADER_LEN, blocks);
    }
    bytes
}

/// Whether Java can read a compressed schema of this length.
pub(super) fn java_can_read_length(len: usize) -> bool {
    len <= JAVA_BLOCK || !UNREADABLE_TAILS.contains(&(len % JAVA_BLOCK))
}

/// Inflates a recorded schema.
///
/// # Errors
/// [`InflateError`] unless `bytes` are exactly one complete stream whose content is not too long.
/// Memory is limited by what the input can inflate to and by the longest document allowed.
pub fn inflate(bytes: &[u8]) -> Result<Vec<u8>, InflateError> {
    let mut decoder = ZlibDecoder::new(bytes);
    let mut xml = Vec::new();
    // One byte more than is allowed, to see that there is more.
    let limit = MAX_XML_BYTES as u64 + 1;
    decoder
        .by_ref()
        .take(limit)
        .read_to_end(&mut xml)
        .map_err(|error| InflateError::Damaged(error.to_string()))?;
    if xml.len() > MAX_XML_BYTES {
        return Err(InflateError::TooLong);
    }
    // Java overlooks bytes after the stream. Here they are damage that should be seen.
    match decoder.into_inner().len() {
        0 => Ok(xml),
        rest => Err(InflateError::TrailingBytes(rest)),
    }
}

/// Makes a zlib stream of blocks that are not compressed.
fn stored(xml: &[u8]) -> Vec<u8> {
    // This header says that the content is compressed little, which fits any deflate stream.
    let mut bytes = vec![0x78, 0x01];
    for block in xml.chunks(0xffff) {
        #[allow(clippy::cast_possible_truncation, reason = "a block has at most 65,535 bytes")]
        let len = block.len() as u16;
        bytes.push(0);
        bytes.extend(len.to_le_bytes());
        bytes.extend((!len).to_le_bytes());
        bytes.extend_from_slice(block);
    }
    // An empty last block ends the stream also if there is no content.
    bytes.extend([1, 0, 0, 0xff, 0xff]);
    let (mut a, mut b) = (1u32, 0u32);
    for &byte in xml {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    bytes.extend((b << 16 | a).to_be_bytes());
    bytes
}
