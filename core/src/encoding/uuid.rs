//! Universally unique IDs.

use std::cmp::Ordering;
use std::fmt;

use super::text::{java_digit, text_impls};
use super::value::plain_value;
use super::{Encodable, Reader, Result, Value, ids};
use crate::bytes::invalid;

/// A universally unique ID.
///
/// As in Java, it sorts by its two halves as signed numbers. This is not the order of its bytes.
/// The feature `uuid` adds conversions to and from that crate's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Uuid(u128);

/// The top bit of each half. They are inverted in the stored form, so that signed numbers sort.
const SIGNS: u128 = 1 << 127 | 1 << 63;

impl Uuid {
    /// The ID with these bytes, in the usual order.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Uuid(u128::from_be_bytes(bytes))
    }

    /// The bytes, in the usual order.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The ID with this number.
    pub const fn from_u128(number: u128) -> Self {
        Uuid(number)
    }

    /// The ID as a number.
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl PartialOrd for Uuid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Uuid {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0 ^ SIGNS).cmp(&(other.0 ^ SIGNS))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uuid({self})")
    }
}

/// The length of the longest text form.
const MAX_TEXT: usize = 36;

impl Encodable for Uuid {
    const SORTS_NATURALLY: bool = true;
    plain_value!(Uuid, ids::UUID);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&(self.0 ^ SIGNS).to_be_bytes());
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        reader.array().map(|bytes| Uuid(u128::from_be_bytes(bytes) ^ SIGNS))
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    /// Accepts what Java accepts: five groups of hex digits. Only as many of the last digits count
    /// as the group can hold.
    fn from_text(text: &str) -> Result<Self> {
        // Java counts the length in UTF-16 units before it looks at the digits.
        let too_long = text.encode_utf16().nth(MAX_TEXT).is_some();
        let groups: Option<Vec<u64>> = text.split('-').map(parse_group).collect();
        match groups.as_deref() {
            Some(&[a, b, c, d, e]) if !too_long => {
                let number = [(a, 32), (b, 16), (c, 16), (d, 16), (e, 48)]
                    .into_iter()
                    .fold(0u128, |number, (group, bits)| {
                        number << bits | u128::from(group & ((1 << bits) - 1))
                    });
                Ok(Uuid(number))
            }
            _ => invalid(format!("invalid UUID {text:?}")),
        }
    }
}

/// Parses hex digits, possibly after a plus sign. The number must fit into a signed 64-bit number.
fn parse_group(group: &str) -> Option<u64> {
    let digits = group.strip_prefix('+').unwrap_or(group);
    if digits.is_empty() {
        return None;
    }
    digits.chars().try_fold(0u64, |number, digit| {
        let digit = u64::from(java_digit(digit, 16)?);
        // The sign bit must stay free, since Java reads each group as a signed number.
        (number >> 59 == 0).then_some(number << 4 | digit)
    })
}

text_impls!(Uuid);
