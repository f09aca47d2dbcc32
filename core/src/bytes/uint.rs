//! The variable-length code of unsigned numbers (docs/src/format.md#numbers).
//!
//! The code covers `0 ..= 2³¹−1` in one to five bytes. A coded number tells its own length, codes
//! sort like the numbers, and no code starts with `ff`. Storage IDs, list positions, enum ordinals
//! and the UTF-16 units of strings are written with it.

use super::{EncodingError, Reader, Result, invalid};

/// The largest number that can be written.
pub const MAX: u32 = i32::MAX as u32;

const BIAS: u32 = 251;

/// Checks that a number can be written.
///
/// # Errors
/// [`EncodingError::Invalid`] if it is negative or above [`MAX`].
pub fn check(value: i64) -> Result<u32> {
    match u32::try_from(value) {
        Ok(value) if value <= MAX => Ok(value),
        _ if value < 0 => invalid(format!("negative value {value}")),
        _ => invalid(format!("value {value} exceeds {MAX}")),
    }
}

/// Appends `value`, which must not exceed [`MAX`]. Readers refuse the bytes of larger numbers (see
/// [`check`]).
#[inline]
pub fn write(value: u32, out: &mut Vec<u8>) {
    if value < BIAS {
        #[allow(clippy::cast_possible_truncation, reason = "it is below 251")]
        out.push(value as u8);
        return;
    }
    let (bytes, len) = to_array(value);
    if let Some(bytes) = bytes.get(..len) {
        out.extend_from_slice(bytes);
    }
}

/// The bytes that [`write()`] appends, and their number. The rest of the array is zero.
pub(crate) fn to_array(value: u32) -> ([u8; 5], usize) {
    if value < BIAS {
        #[allow(clippy::cast_possible_truncation, reason = "it is below 251")]
        let byte = value as u8;
        return ([byte, 0, 0, 0, 0], 1);
    }
    let rest = value - BIAS;
    let count = byte_count(rest);
    let [a, b, c, d] = (rest << (32 - 8 * count)).to_be_bytes();
    #[allow(clippy::cast_possible_truncation, reason = "it is at most 4")]
    let first = 0xfa + count as u8;
    ([first, a, b, c, d], 1 + count)
}

/// How many bytes [`write()`] appends.
pub fn len(value: u32) -> usize {
    if value < BIAS { 1 } else { 1 + byte_count(value - BIAS) }
}

/// The length of the code that starts with the byte `first`.
///
/// # Errors
/// [`EncodingError::Invalid`] for `ff`, which starts no code.
pub fn len_from_first(first: u8) -> Result<usize> {
    match first {
        0xff => invalid("invalid unsigned number starting with 0xff"),
        0xfb.. => Ok(usize::from(first) - 249),
        _ => Ok(1),
    }
}

/// Reads one number.
///
/// Forms that are longer than necessary are accepted, as in Java Permazen. So are the five-byte
/// forms that wrap around to 0 – 250.
///
/// # Errors
/// [`EncodingError::Truncated`] at the end of the input; [`EncodingError::Invalid`] for `ff` and
/// for numbers above [`MAX`].
#[inline]
pub fn read(reader: &mut Reader<'_>) -> Result<u32> {
    let first = reader.byte()?;
    if u32::from(first) < BIAS {
        return Ok(u32::from(first));
    }
    let count = len_from_first(first)? - 1;
    let rest = reader.take(count)?.iter().fold(0u32, |number, &byte| number << 8 | u32::from(byte));
    // Java adds in 32 bits, so the largest five-byte forms mean 0 to 250.
    let value = rest.wrapping_add(BIAS);
    if value > MAX { invalid("unsigned number above 2147483647") } else { Ok(value) }
}

/// Skips one number.
///
/// # Errors
/// [`EncodingError::Truncated`] at the end of the input; [`EncodingError::Invalid`] for `ff`.
/// Numbers above [`MAX`] are not refused.
#[inline]
pub fn skip(reader: &mut Reader<'_>) -> Result<()> {
    let first = reader.peek().ok_or(EncodingError::Truncated)?;
    reader.take(len_from_first(first)?).map(drop)
}

/// Reads a number that takes up all of `bytes`.
///
/// # Errors
/// The errors of [`read`]; [`EncodingError::Invalid`] if bytes are left over.
pub fn decode(bytes: &[u8]) -> Result<u32> {
    let mut reader = Reader::new(bytes);
    let value = read(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// Reads a number as [`decode`] does, but accepts only the form that [`write()`] gives. A search
/// would not find a key with another form.
///
/// # Errors
/// The errors of [`decode`]; [`EncodingError::Invalid`] for a number in more bytes than it needs.
#[inline]
pub fn decode_shortest(bytes: &[u8]) -> Result<u32> {
    let value = decode(bytes)?;
    if len(value) == bytes.len() {
        Ok(value)
    } else {
        invalid(format!(
            "number {value} in {} bytes, of which it needs {}",
            bytes.len(),
            len(value)
        ))
    }
}

fn byte_count(rest: u32) -> usize {
    (4 - rest.leading_zeros() as usize / 8).max(1)
}
