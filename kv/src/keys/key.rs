//! Arithmetic on keys.
//!
//! Keys are byte strings, ordered as unsigned bytes. A proper prefix sorts before its extensions.

use crate::{KvError, Result};

/// The smallest key greater than `key`: `key` and a zero byte.
///
/// ```
/// assert_eq!(permazen_kv::key::next_key(&[0x12, 0xff]), [0x12, 0xff, 0x00]);
/// ```
pub fn next_key(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}

/// Whether `next` is [`next_key`] of `key`.
pub fn is_next_key(key: &[u8], next: &[u8]) -> bool {
    next.strip_prefix(key) == Some(&[0])
}

/// The smallest key greater than every key that starts with `prefix`. `None` if there is no such
/// key, because `prefix` is empty or consists of `ff` bytes only.
///
/// ```
/// use permazen_kv::key::after_prefix;
/// assert_eq!(after_prefix(&[0x12, 0xff]), Some(vec![0x13]));
/// assert_eq!(after_prefix(&[0xff]), None);
/// ```
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut after = prefix.get(..=last)?.to_vec();
    *after.last_mut()? += 1;
    Some(after)
}

/// The bytes that `text` spells as hexadecimal digits, in either case. Nothing else is allowed in
/// `text`.
///
/// # Errors
/// [`KvError::InvalidArgument`] if a character is not a digit or the number of digits is odd.
pub fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err(KvError::InvalidArgument(format!(
            "{} hexadecimal digits; each byte needs two",
            digits.len()
        )));
    }
    let digit = |at: usize, byte: u8| {
        hex_digit(char::from(byte)).ok_or_else(|| {
            let shown = text.get(at..).and_then(|rest| rest.chars().next());
            KvError::InvalidArgument(format!(
                "{:?} at offset {at} is not a hexadecimal digit",
                shown.unwrap_or(char::REPLACEMENT_CHARACTER)
            ))
        })
    };
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for (pair, at) in digits.as_chunks::<2>().0.iter().zip((0..).step_by(2)) {
        bytes.push(digit(at, pair[0])? << 4 | digit(at + 1, pair[1])?);
    }
    Ok(bytes)
}

/// The value of a hexadecimal digit.
pub(crate) fn hex_digit(char: char) -> Option<u8> {
    u8::try_from(char.to_digit(16)?).ok()
}

/// Orders upper bounds. `None` means "no bound" and is the greatest.
pub(crate) fn compare_max(a: Option<&[u8]>, b: Option<&[u8]>) -> std::cmp::Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.cmp(b),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}

/// Whether `key` is below the upper bound `max`.
pub(crate) fn below(key: &[u8], max: Option<&[u8]>) -> bool {
    max.is_none_or(|max| key < max)
}
