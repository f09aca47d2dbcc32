//! Integers of any size.

use std::cmp::Ordering;
use std::fmt;

use crate::bytes::invalid;
use crate::encoding::java::radix::convert;
use crate::encoding::text::{java_digit, text_impls};
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, Reader, Result, Value, ids, long};

/// The largest number of bytes of an encoded integer.
const MAX_BYTES: i64 = 1 << 28;

/// The number of decimal digits that are handled at once, and that power of ten.
const CHUNK_DIGITS: usize = 9;
const CHUNK: u64 = 1_000_000_000;

/// The radix of 32-bit digits.
const BINARY: u64 = 1 << 32;

/// An integer of any size.
///
/// This type does not calculate: use the feature `num-bigint` for that.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BigInteger {
    /// The shortest two's complement form: big-endian, never empty, without redundant leading
    /// bytes.
    bytes: Box<[u8]>,
}

impl BigInteger {
    /// The number with these big-endian two's complement bytes. No bytes mean 0.
    pub fn from_signed_bytes(bytes: &[u8]) -> Self {
        let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
        let fill = if negative { 0xff } else { 0x00 };
        let mut rest = bytes;
        // A leading byte is redundant if it only repeats the sign of the byte after it.
        while let [first, after @ ..] = rest
            && *first == fill
            && after.first().is_some_and(|next| (next & 0x80 != 0) == negative)
        {
            rest = after;
        }
        BigInteger { bytes: if rest.is_empty() { [0].into() } else { rest.into() } }
    }

    /// The shortest big-endian two's complement form.
    pub fn to_signed_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the number is below 0.
    pub fn is_negative(&self) -> bool {
        self.bytes.first().is_some_and(|first| first & 0x80 != 0)
    }

    /// Whether the number is 0.
    pub fn is_zero(&self) -> bool {
        *self.bytes == [0]
    }

    /// The number; `None` if it does not fit.
    pub fn to_i128(&self) -> Option<i128> {
        if self.bytes.len() > 16 {
            return None;
        }
        let sign = if self.is_negative() { -1 } else { 0 };
        Some(self.bytes.iter().fold(sign, |number, &byte| number << 8 | i128::from(byte)))
    }

    /// The lowest 64 bits.
    pub(crate) fn low_bits(&self) -> i64 {
        let sign = if self.is_negative() { -1 } else { 0 };
        let low = self.bytes.rchunks(8).next().unwrap_or_default();
        low.iter().fold(sign, |number, &byte| number << 8 | i64::from(byte))
    }

    /// The absolute value in 32-bit digits, least significant first.
    fn magnitude(&self) -> Vec<u32> {
        let (invert, mut carry) = if self.is_negative() { (0xff, 1) } else { (0, 0) };
        let mut digits = Vec::with_capacity(self.bytes.len() / 4 + 1);
        for group in self.bytes.rchunks(4) {
            let fill = if self.is_negative() { u32::MAX } else { 0 };
            let digit = group.iter().fold(fill, |digit, &byte| digit << 8 | u32::from(byte));
            let digit = if invert == 0 { digit } else { !digit };
            let (digit, overflow) = digit.overflowing_add(carry);
            carry = u32::from(overflow);
            digits.push(digit);
        }
        if carry > 0 {
            digits.push(carry);
        }
        digits
    }

    fn from_magnitude(negative: bool, digits: &[u32]) -> Self {
        // A leading 0 byte keeps the highest bit free for the sign.
        let mut bytes: Vec<u8> = std::iter::once(0)
            .chain(digits.iter().rev().flat_map(|digit| digit.to_be_bytes()))
            .collect();
        if negative {
            let mut carry = true;
            for byte in bytes.iter_mut().rev() {
                (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
            }
        }
        Self::from_signed_bytes(&bytes)
    }
}

impl From<i128> for BigInteger {
    fn from(number: i128) -> Self {
        Self::from_signed_bytes(&number.to_be_bytes())
    }
}

impl From<i64> for BigInteger {
    fn from(number: i64) -> Self {
        Self::from_signed_bytes(&number.to_be_bytes())
    }
}

impl PartialOrd for BigInteger {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BigInteger {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.bytes.len().cmp(&other.bytes.len());
        match (self.is_negative(), other.is_negative()) {
            (false, false) => by_length.then_with(|| self.bytes.cmp(&other.bytes)),
            // If two negative numbers differ in length, the longer one is smaller.
            (true, true) => by_length.reverse().then_with(|| self.bytes.cmp(&other.bytes)),
            (self_negative, _) => {
                if self_negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }
}

impl fmt::Display for BigInteger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chunks = convert::<BINARY, CHUNK>(&self.magnitude());
        if self.is_negative() {
            f.write_str("-")?;
        }
        write!(f, "{}", chunks.pop().unwrap_or(0))?;
        chunks.iter().rev().try_for_each(|chunk| write!(f, "{chunk:0CHUNK_DIGITS$}"))
    }
}

impl fmt::Debug for BigInteger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BigInteger({self})")
    }
}

impl Encodable for BigInteger {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(BigInteger, ids::BIG_INTEGER);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        if self.is_zero() {
            long::write(0, out);
            return Ok(());
        }
        // A clamped one is refused as well.
        let length = i64::try_from(self.bytes.len()).unwrap_or(i64::MAX);
        if length > MAX_BYTES {
            return invalid(format!("an integer of {length} bytes is too large to be stored"));
        }
        long::write(if self.is_negative() { -length } else { length }, out);
        out.extend_from_slice(&self.bytes);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let flag = read_length(reader)?;
        let bytes = reader.take(length(flag)?)?;
        match bytes.first() {
            Some(first) if (first & 0x80 != 0) != (flag < 0) => {
                invalid("the sign of an encoded integer contradicts its bytes")
            }
            _ => Ok(Self::from_signed_bytes(bytes)),
        }
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        let flag = read_length(reader)?;
        reader.take(length(flag)?).map(drop)
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        let (negative, body) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let digits = body.chars().map(|digit| u8::try_from(java_digit(digit, 10)?).ok());
        let parsed: Option<Vec<u8>> = digits.collect();
        let decimal = match parsed {
            Some(decimal) if !decimal.is_empty() => decimal,
            _ => return invalid(format!("invalid integer {text:?}")),
        };
        let chunks: Vec<u32> = decimal
            .rchunks(CHUNK_DIGITS)
            .map(|chunk| chunk.iter().fold(0, |number, &digit| number * 10 + u32::from(digit)))
            .collect();
        Ok(Self::from_magnitude(negative, &convert::<CHUNK, BINARY>(&chunks)))
    }
}

/// The number of bytes that a flag says.
fn length(flag: i64) -> Result<usize> {
    usize::try_from(flag.unsigned_abs())
        .or_else(|_| invalid(format!("an integer of {flag} bytes does not fit into memory")))
}

/// Reads the number of bytes. It is negative for a negative number.
fn read_length(reader: &mut Reader<'_>) -> Result<i64> {
    let flag = long::read(reader)?;
    if flag.unsigned_abs() > MAX_BYTES as u64 {
        invalid(format!("invalid length {flag} of an encoded integer"))
    } else {
        Ok(flag)
    }
}

text_impls!(BigInteger);
