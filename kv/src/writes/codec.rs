//! The integers and the lists of byte strings that serialized changes are made of.

use crate::{KvError, Result};

/// The longest byte string and the largest count that the format can hold.
const LIMIT: u32 = i32::MAX.cast_unsigned();

/// Values below this take a single byte.
const UINT_MULTI: u8 = 251;
const LONG_MIN: i64 = -118;
const LONG_MAX: i64 = 119;

/// Appends a count.
pub(super) fn put_count(out: &mut Vec<u8>, count: usize) -> Result<()> {
    put_uint(out, checked(count)?);
    Ok(())
}

fn checked(length: usize) -> Result<u32> {
    u32::try_from(length).ok().filter(|length| *length <= LIMIT).ok_or_else(|| {
        KvError::InvalidArgument(format!(
            "length {length} is over {LIMIT}, the longest that can be serialized"
        ))
    })
}

fn put_uint(out: &mut Vec<u8>, value: u32) {
    match u8::try_from(value) {
        Ok(value) if value < UINT_MULTI => out.push(value),
        _ => {
            let bytes = (value - u32::from(UINT_MULTI)).to_be_bytes();
            let skip = leading(&bytes, 0x00);
            out.push(0xfa + (4 - skip));
            out.extend(bytes.iter().skip(usize::from(skip)));
        }
    }
}

/// How many bytes at the beginning are this one, but for the last byte.
fn leading<const N: usize>(bytes: &[u8; N], byte: u8) -> u8 {
    bytes.iter().take(N - 1).take_while(|other| **other == byte).map(|_| 1).sum()
}

/// Appends a signed integer.
pub(super) fn put_long(out: &mut Vec<u8>, value: i64) {
    let (bytes, sign) = if value < LONG_MIN {
        ((value - LONG_MIN).to_be_bytes(), 0xff)
    } else if value > LONG_MAX {
        ((value - LONG_MAX - 1).to_be_bytes(), 0x00)
    } else {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0x09 to 0xf6, because the value is from LONG_MIN to LONG_MAX"
        )]
        let byte = (value + 127) as u8;
        out.push(byte);
        return;
    };
    let skip = leading(&bytes, sign);
    let length = 8 - skip;
    out.push(if sign == 0 { 0xf6 + length } else { 0x09 - length });
    out.extend(bytes.iter().skip(usize::from(skip)));
}

/// Appends an item of a list. If it shares its start with the `previous` item, appends only the
/// rest.
pub(super) fn put_item(out: &mut Vec<u8>, item: &[u8], previous: Option<&[u8]>) -> Result<()> {
    let length = checked(item.len())?;
    let previous = previous.unwrap_or_default();
    let common = item.iter().zip(previous).take_while(|(a, b)| a == b).count();
    // A negative number is the length of the shared start. Sharing one byte would save nothing.
    if common > 1 {
        put_long(out, !(i64::from(checked(common)?) - 2));
        put_uint(out, checked(item.len() - common)?);
    } else {
        put_long(out, i64::from(length));
    }
    out.extend(item.iter().skip(if common > 1 { common } else { 0 }));
    Ok(())
}

/// Bytes that are being read. Errors use `what` to name them.
pub(super) struct Input<'a> {
    rest: &'a [u8],
    total: usize,
    what: &'static str,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Input { rest: bytes, total: bytes.len(), what }
    }

    /// The bytes that were not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// An error at the current offset.
    pub(super) fn error(&self, why: &str) -> KvError {
        KvError::InvalidArgument(format!(
            "{} cannot be read at offset {}: {why}",
            self.what,
            self.total - self.rest.len()
        ))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(
                self.error(&format!("{length} bytes are needed and {} left", self.rest.len()))
            );
        };
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        self.take(1).map(|taken| taken.first().copied().unwrap_or_default())
    }

    fn big_endian(&mut self, length: u8, start: i64) -> Result<i64> {
        let bytes = self.take(usize::from(length))?;
        Ok(bytes.iter().fold(start, |value, &byte| value << 8 | i64::from(byte)))
    }

    /// A count.
    pub(super) fn count(&mut self) -> Result<usize> {
        match self.byte()? {
            0xff => Err(self.error("ff does not start an unsigned integer")),
            first @ ..0xfb => Ok(usize::from(first)),
            first => {
                let value = self.big_endian(first - 0xfa, 0)? + i64::from(UINT_MULTI);
                let count = usize::try_from(value).ok().filter(|_| value <= i64::from(LIMIT));
                count.ok_or_else(|| self.error("an unsigned integer is over 31 bits"))
            }
        }
    }

    /// A signed integer.
    pub(super) fn long(&mut self) -> Result<i64> {
        let (value, offset) = match self.byte()? {
            first @ (0x00 | 0xff) => {
                return Err(self.error(&format!("{first:02x} does not start a signed integer")));
            }
            first @ 0x01..=0x08 => (self.big_endian(0x09 - first, -1)?, LONG_MIN),
            first @ 0xf7..=0xfe => (self.big_endian(first - 0xf6, 0)?, LONG_MAX + 1),
            first => return Ok(i64::from(first) - 127),
        };
        // The offset has the sign that the value must have; eight bytes can say the other one.
        let value = value.checked_add(offset).filter(|_| value.is_negative() == (offset < 0));
        value.ok_or_else(|| self.error("a signed integer is over 64 bits"))
    }

    /// An item of a list.
    pub(super) fn item(&mut self, previous: Option<&[u8]>) -> Result<Vec<u8>> {
        let length = self.long()?;
        if let Ok(length) = usize::try_from(length) {
            return Ok(self.take(length)?.to_vec());
        }
        let common = usize::try_from(!length).ok().and_then(|common| common.checked_add(2));
        let shared = common.and_then(|common| previous?.get(..common)).ok_or_else(|| {
            self.error("an item shares more bytes with the one before it than that has")
        })?;
        let length = self.count()?;
        Ok([shared, self.take(length)?].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        crate::key::parse_hex(text).unwrap()
    }

    #[test]
    fn counts_have_the_bytes_of_the_format() {
        let rows = [
            (0, "00"),
            (250, "fa"),
            (251, "fb00"),
            (506, "fbff"),
            (507, "fc0100"),
            (66042, "fd0100ff"),
            (66043, "fd010100"),
            (LIMIT as usize, "fe7fffff04"),
        ];
        for (value, text) in rows {
            let mut out = Vec::new();
            put_count(&mut out, value).unwrap();
            assert_eq!(out, hex(text), "{value}");
            assert_eq!(Input::new(&out, "").count().unwrap(), value);
        }
        for text in ["", "ff", "fb", "fc01", "fe7fffff05", "feffffffff"] {
            assert!(Input::new(&hex(text), "").count().is_err(), "{text}");
        }
        assert!(put_count(&mut Vec::new(), LIMIT as usize + 1).is_err());
    }

    #[test]
    fn signed_integers_have_the_bytes_of_the_format() {
        let rows = [
            (0, "7f"),
            (1, "80"),
            (119, "f6"),
            (120, "f700"),
            (375, "f7ff"),
            (376, "f80100"),
            (-1, "7e"),
            (-118, "09"),
            (-119, "08ff"),
            (1_234_567_890, "fa4996025a"),
            (i64::MIN, "018000000000000076"),
            (i64::MAX, "fe7fffffffffffff87"),
        ];
        for (value, text) in rows {
            let mut out = Vec::new();
            put_long(&mut out, value);
            assert_eq!(out, hex(text), "{value}");
            assert_eq!(Input::new(&out, "").long().unwrap(), value);
        }
        for shift in 0..64 {
            for value in [1_i64 << shift, !(1_i64 << shift), (1_i64 << shift).wrapping_sub(1)] {
                let mut out = Vec::new();
                put_long(&mut out, value);
                assert_eq!(Input::new(&out, "").long().unwrap(), value);
            }
        }
        let wrong = ["", "00", "ff", "f7", "08", "018000000000000075", "fe7fffffffffffff88"];
        let other_sign = ["017fffffffffffffff", "010000000000000000", "fe8000000000000000"];
        for text in wrong.into_iter().chain(other_sign) {
            assert!(Input::new(&hex(text), "").long().is_err(), "{text}");
        }
    }

    #[test]
    fn items_have_the_bytes_of_the_format() {
        let rows = [
            ("", None, "7f"),
            ("01", None, "8001"),
            ("0123", Some("0124"), "810123"),
            ("012345", Some("0123"), "7e0145"),
            ("0123", Some("0123"), "7e00"),
            ("01234567", Some("012389"), "7e024567"),
        ];
        for (item, previous, text) in rows {
            let previous = previous.map(hex);
            let mut out = Vec::new();
            put_item(&mut out, &hex(item), previous.as_deref()).unwrap();
            assert_eq!(out, hex(text), "{item} after {previous:?}");
            assert_eq!(Input::new(&out, "").item(previous.as_deref()).unwrap(), hex(item));
        }
        let mut out = Vec::new();
        put_item(&mut out, &[5; 119], None).unwrap();
        assert_eq!((out[0], out[1], out.len()), (0xf6, 5, 120));
        out.clear();
        put_item(&mut out, &[5; 120], None).unwrap();
        assert_eq!((out[0], out[1], out[2], out.len()), (0xf7, 0, 5, 122));
        out.clear();
        put_item(&mut out, &[7; 300], Some(&[7; 300])).unwrap();
        assert_eq!(out, hex("084b00"));
    }

    #[test]
    fn items_that_cannot_be_are_errors() {
        let previous = hex("0123");
        for text in
            ["", "80", "8101", "7e", "7e01", "7d00", "018000000000000076", "fe7fffffffffffff87"]
        {
            assert!(Input::new(&hex(text), "").item(Some(&previous)).is_err(), "{text}");
        }
        assert!(Input::new(&hex("7e00"), "").item(None).is_err());
    }
}
