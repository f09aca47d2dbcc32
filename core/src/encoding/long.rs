//! The variable-length code of signed 64-bit numbers.
//!
//! A number takes one to nine bytes, and few bytes near zero. The code tells its own length, sorts
//! like the numbers, and starts with neither `00` nor `ff`.

use super::{EncodingError, Reader};
use crate::bytes::{Result, invalid};

/// The smallest number that takes one byte.
const MIN_SHORT: i64 = -118;
/// The largest number that takes one byte.
const MAX_SHORT: i64 = 119;

/// Appends `value`.
#[inline]
pub fn write(value: i64, out: &mut Vec<u8>) {
    // Numbers near zero are the most frequent, so they take one byte.
    if (MIN_SHORT..=MAX_SHORT).contains(&value) {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is from 9 to 246"
        )]
        out.push((value + 127) as u8);
    } else {
        write_multi(value, out);
    }
}

fn write_multi(value: i64, out: &mut Vec<u8>) {
    #[allow(clippy::cast_possible_truncation, reason = "a number has at most 8 bytes")]
    let (first, rest) = if value < MIN_SHORT {
        let rest = value - MIN_SHORT;
        // The first byte tells the length; a longer negative number has a smaller one.
        (9 - byte_count(!rest) as u8, rest)
    } else {
        let rest = value - MAX_SHORT - 1;
        (0xf6 + byte_count(rest) as u8, rest)
    };
    let count = usize::from(if first < 9 { 9 - first } else { first - 0xf6 });
    out.push(first);
    let bytes = rest.to_be_bytes();
    if let Some(bytes) = bytes.get(8 - count..) {
        out.extend_from_slice(bytes);
    }
}

/// How many bytes [`write()`] appends.
pub fn len(value: i64) -> usize {
    match value {
        MIN_SHORT..=MAX_SHORT => 1,
        ..MIN_SHORT => 1 + byte_count(!(value - MIN_SHORT)),
        _ => 1 + byte_count(value - MAX_SHORT - 1),
    }
}

/// The length of the code that starts with the byte `first`.
///
/// # Errors
/// [`EncodingError::Invalid`] for `00` and `ff`, which start no code.
#[inline]
pub fn len_from_first(first: u8) -> Result<usize> {
    match len_after_first(first) {
        0 => invalid(format!("invalid number starting with 0x{first:02x}")),
        len => Ok(usize::from(len)),
    }
}

/// Does the same as [`len_from_first`], but returns 0 for bytes that start no code.
#[inline]
pub(crate) const fn len_after_first(first: u8) -> u8 {
    match first {
        0x00 | 0xff => 0,
        ..0x09 => 10 - first,
        0xf7.. => first - 0xf5,
        _ => 1,
    }
}

/// Reads one number.
///
/// Forms that are longer than necessary are accepted, and eight-byte forms wrap around, as in Java
/// Permazen.
///
/// # Errors
/// [`EncodingError::Truncated`] at the end of the input; [`EncodingError::Invalid`] if the first
/// byte is `00` or `ff`.
#[inline]
pub fn read(reader: &mut Reader<'_>) -> Result<i64> {
    let first = reader.byte()?;
    if (0x09..=0xf6).contains(&first) {
        return Ok(i64::from(first) - 127);
    }
    // The bytes after the first one are those of the number without the range of one byte.
    let count = len_from_first(first)? - 1;
    let (start, bias) = if first < 0x09 { (-1, MIN_SHORT) } else { (0, MAX_SHORT + 1) };
    let rest =
        reader.take(count)?.iter().fold(start, |number: i64, &byte| number << 8 | i64::from(byte));
    Ok(rest.wrapping_add(bias))
}

/// Reads one number; `None` if its bytes are not those that [`write()`] gives.
///
/// # Errors
/// The errors of [`read`].
pub(crate) fn read_canonical(reader: &mut Reader<'_>) -> Result<Option<i64>> {
    let start = reader.rest();
    let number = read(reader)?;
    // A longer form has the same number but more bytes.
    let used = start.len() - reader.rest().len();
    // If an eight-byte form wrapped around, the sign of the number does not match the first byte.
    let starts_negative = start.first().is_some_and(|&first| first < 127);
    Ok((used == len(number) && starts_negative == (number < 0)).then_some(number))
}

/// Skips one number.
///
/// # Errors
/// The errors of [`read`].
#[inline]
pub fn skip(reader: &mut Reader<'_>) -> Result<()> {
    let first = reader.peek().ok_or(EncodingError::Truncated)?;
    reader.take(len_from_first(first)?).map(drop)
}

/// Reads a number that takes up all of `bytes`.
///
/// # Errors
/// The errors of [`read`]; [`EncodingError::Invalid`] if bytes are left over.
pub fn decode(bytes: &[u8]) -> Result<i64> {
    let mut reader = Reader::new(bytes);
    let value = read(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// The number of bytes for a number that is not negative; at least one.
fn byte_count(rest: i64) -> usize {
    (8 - rest.leading_zeros() as usize / 8).max(1)
}
