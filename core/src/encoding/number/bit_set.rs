//! Sets of bits.

use std::cmp::Ordering;
use std::fmt;

use permazen_kv::Hex;
use permazen_kv::key::parse_hex;

use crate::bytes::invalid;
use crate::encoding::text::text_impls;
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, Reader, Result, Value, ids, uint};

/// A set of bits, numbered from 0. It sorts as the unsigned number that has these bits.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct BitSet {
    /// Big-endian, without leading zero bytes.
    bytes: Box<[u8]>,
}

impl BitSet {
    /// The set of the bits that are 1 in a big-endian unsigned number.
    pub fn from_be_bytes(bytes: &[u8]) -> Self {
        BitSet { bytes: bytes.iter().copied().skip_while(|&byte| byte == 0).collect() }
    }

    /// The big-endian unsigned number with these bits, without leading zero bytes.
    pub fn as_be_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a bit is set.
    pub fn contains(&self, bit: usize) -> bool {
        self.bytes.iter().rev().nth(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// The bits that are set, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |(index, byte): (usize, u8)| {
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| index * 8 + bit)
        };
        self.bytes.iter().rev().copied().enumerate().flat_map(bits)
    }
}

impl FromIterator<usize> for BitSet {
    /// The set of these bits. Takes one byte of memory for every eight bits up to the largest one.
    fn from_iter<I: IntoIterator<Item = usize>>(bits: I) -> Self {
        let mut bytes = Vec::new();
        for bit in bits {
            if bytes.len() <= bit / 8 {
                bytes.resize(bit / 8 + 1, 0);
            }
            if let Some(byte) = bytes.get_mut(bit / 8) {
                *byte |= 1 << (bit % 8);
            }
        }
        bytes.reverse();
        Self::from_be_bytes(&bytes)
    }
}

impl PartialOrd for BitSet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BitSet {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes.len().cmp(&other.bytes.len()).then_with(|| self.bytes.cmp(&other.bytes))
    }
}

impl fmt::Display for BitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", Hex(&self.bytes))
    }
}

impl fmt::Debug for BitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Encodable for BitSet {
    const PREFIX_FF: bool = false;
    plain_value!(BitSet, ids::BIT_SET);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        // A clamped one is refused as well.
        let length = uint::check(i64::try_from(self.bytes.len()).unwrap_or(i64::MAX))?;
        uint::write(length, out);
        out.extend_from_slice(&self.bytes);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let length = uint::read(reader)?;
        reader.take(length as usize).map(Self::from_be_bytes)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        let length = uint::read(reader)?;
        reader.take(length as usize).map(drop)
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        let digits = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let in_lower_case =
            digits.filter(|digits| !digits.bytes().any(|byte| byte.is_ascii_uppercase()));
        match in_lower_case.map(parse_hex) {
            Some(Ok(bytes)) => Ok(Self::from_be_bytes(&bytes)),
            _ => invalid(format!(
                "invalid bit set {text:?}: pairs of lower-case hex digits in brackets expected"
            )),
        }
    }
}

text_impls!(BitSet);
