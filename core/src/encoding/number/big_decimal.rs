//! Decimal numbers of any size.

use std::cmp::Ordering;
use std::fmt;

use super::BigInteger;
use crate::bytes::invalid;
use crate::encoding::text::{java_digit, text_impls};
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, EncodingError, Reader, Result, Value, ids, long, uint};

const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 3;

/// A decimal number: digits · 10^(−scale), with any number of digits.
///
/// The scale is part of the value: 1.0 and 1.00 differ, and 1.0 sorts directly before 1.00. This
/// type does not calculate: use the features `bigdecimal` or `rust_decimal` for that.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BigDecimal {
    negative: bool,
    /// 0 – 9, most significant first, without a leading 0. The number 0 has no digits.
    digits: Box<[u8]>,
    scale: i32,
}

impl BigDecimal {
    /// The number unscaled · 10^(−scale).
    ///
    /// Zero with a negative scale, and numbers with extreme scales, cannot be stored.
    pub fn new(unscaled: &BigInteger, scale: i32) -> Self {
        let text = unscaled.to_string();
        let digits = text.trim_start_matches('-').bytes().map(|digit| digit - b'0').collect();
        Self::from_digits(unscaled.is_negative(), digits, scale)
    }

    fn from_digits(negative: bool, digits: Vec<u8>, scale: i32) -> Self {
        let digits: Box<[u8]> = digits.into_iter().skip_while(|&digit| digit == 0).collect();
        BigDecimal { negative: negative && !digits.is_empty(), digits, scale }
    }

    /// The number without its scale.
    pub fn unscaled(&self) -> BigInteger {
        let sign = if self.negative { "-" } else { "" };
        BigInteger::from_text(&format!("{sign}{}", self.digit_text()))
            .unwrap_or_else(|_| 0i64.into())
    }

    /// How many of the digits come after the point. If negative, how many zeros follow the digits.
    pub fn scale(&self) -> i32 {
        self.scale
    }

    /// Whether the number is below 0.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether the number is 0.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// The lowest 64 bits of the integer part.
    pub(crate) fn low_bits(&self) -> i64 {
        // With a negative scale, there is no fraction.
        let fraction = usize::try_from(self.scale).unwrap_or(0).min(self.digits.len());
        let whole =
            self.digits.iter().take(self.digits.len() - fraction).fold(0i64, |number, &digit| {
                number.wrapping_mul(10).wrapping_add(i64::from(digit))
            });
        // More factors change nothing: the lowest 64 bits of 10^64 are 0.
        let zeros = self.scale.min(0).unsigned_abs().min(64);
        let shifted = (0..zeros).fold(whole, |number, _| number.wrapping_mul(10));
        if self.negative { shifted.wrapping_neg() } else { shifted }
    }

    fn digit_text(&self) -> String {
        if self.is_zero() {
            "0".to_owned()
        } else {
            self.digits.iter().map(|digit| char::from(b'0' + digit)).collect()
        }
    }

    /// The power of ten of the first digit.
    fn exponent(&self) -> i64 {
        #[allow(clippy::cast_possible_wrap, reason = "no digits fill half of the address space")]
        let digits = self.digits.len().max(1) as i64;
        digits - 1 - i64::from(self.scale)
    }
}

impl PartialOrd for BigDecimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BigDecimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let class = |number: &Self| {
            if number.is_zero() {
                ZERO
            } else if number.negative {
                NEGATIVE
            } else {
                POSITIVE
            }
        };
        let magnitude =
            || self.exponent().cmp(&other.exponent()).then_with(|| self.digits.cmp(&other.digits));
        class(self).cmp(&class(other)).then_with(|| match class(self) {
            // Zeros have no digits. They sort by scale: 0 before 0.0.
            ZERO => self.scale.cmp(&other.scale),
            NEGATIVE => magnitude().reverse(),
            _ => magnitude(),
        })
    }
}

impl fmt::Display for BigDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        let digits = self.digit_text();
        let exponent = self.exponent();
        if self.scale == 0 {
            return f.write_str(&digits);
        }
        // Java uses an exponent for very small numbers and for negative scales.
        if self.scale > 0 && exponent >= -6 {
            let scale = self.scale.unsigned_abs() as usize;
            return match digits.len().checked_sub(scale) {
                Some(before) if before > 0 => {
                    write!(f, "{}.{}", &digits[..before], &digits[before..])
                }
                // A format limits the width, but a scale may be larger.
                _ => write!(f, "0.{}{digits}", "0".repeat(scale - digits.len())),
            };
        }
        f.write_str(&digits[..1])?;
        if digits.len() > 1 {
            write!(f, ".{}", &digits[1..])?;
        }
        if exponent == 0 { Ok(()) } else { write!(f, "E{exponent:+}") }
    }
}

impl fmt::Debug for BigDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BigDecimal({self})")
    }
}

/// Reads digits up to a half byte of 0. Each is a half byte that is one higher than the digit.
fn read_digits(reader: &mut Reader<'_>, invert: u8, mut found: impl FnMut(u8)) -> Result<()> {
    loop {
        let byte = reader.byte()? ^ invert;
        for half in [byte >> 4, byte & 15] {
            match half {
                0 => return Ok(()),
                1..=10 => found(half - 1),
                _ => return invalid("invalid digit of an encoded decimal number"),
            }
        }
    }
}

impl Encodable for BigDecimal {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(BigDecimal, ids::BIG_DECIMAL);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        if self.is_zero() {
            if self.scale < 0 {
                return invalid(format!("{self}: zero with a negative scale cannot be stored"));
            }
            out.push(ZERO);
            uint::write(self.scale.unsigned_abs(), out);
            return Ok(());
        }
        let exponent = self.exponent();
        if exponent.abs() > i64::from(i32::MAX) {
            return invalid(format!("{self}: the exponent is too large to be stored"));
        }
        out.push(if self.negative { NEGATIVE } else { POSITIVE });
        // For negative numbers, exponent and digits are inverted, so that larger magnitudes sort
        // first.
        long::write(if self.negative { -exponent } else { exponent }, out);
        let invert = if self.negative { 0xff } else { 0 };
        let (pairs, rest) = self.digits.as_chunks();
        for [high, low] in pairs {
            out.push(((high + 1) << 4 | (low + 1)) ^ invert);
        }
        let last = rest.first().map_or(0, |digit| (digit + 1) << 4);
        out.push(last ^ invert);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let flag = reader.byte()?;
        match flag {
            ZERO => Ok(BigDecimal {
                negative: false,
                digits: [].into(),
                // It is at most `i32::MAX`.
                scale: uint::read(reader)?.cast_signed(),
            }),
            NEGATIVE | POSITIVE => {
                let negative = flag == NEGATIVE;
                let exponent = long::read(reader)?;
                let limit = i64::from(i32::MAX);
                if !(-limit..=limit).contains(&exponent) {
                    return invalid("exponent of an encoded decimal number is out of range");
                }
                let exponent = if negative { -exponent } else { exponent };
                let mut digits = Vec::new();
                read_digits(reader, if negative { 0xff } else { 0 }, |digit| digits.push(digit))?;
                if digits.is_empty() {
                    return invalid("encoded decimal number without digits");
                }
                #[allow(
                    clippy::cast_possible_wrap,
                    reason = "no digits fill half of the address space"
                )]
                let scale = digits.len() as i64 - 1 - exponent;
                match i32::try_from(scale) {
                    Ok(scale) if scale != i32::MIN => {
                        Ok(Self::from_digits(negative, digits, scale))
                    }
                    _ => invalid("scale of an encoded decimal number is out of range"),
                }
            }
            _ => invalid(format!("invalid encoded decimal number starting with 0x{flag:02x}")),
        }
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        let flag = reader.byte()?;
        match flag {
            ZERO => uint::skip(reader),
            NEGATIVE | POSITIVE => {
                long::skip(reader)?;
                read_digits(reader, if flag == NEGATIVE { 0xff } else { 0 }, drop)
            }
            _ => invalid(format!("invalid encoded decimal number starting with 0x{flag:02x}")),
        }
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        parse(text)
            .ok_or_else(|| EncodingError::Invalid(format!("invalid decimal number {text:?}")))
    }
}

fn parse(text: &str) -> Option<BigDecimal> {
    let negative = text.starts_with('-');
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], parse_exponent(&body[at + 1..])?),
        None => (body, 0),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = before
        .chars()
        .chain(after.chars())
        .map(|digit| java_digit(digit, 10).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    if digits.is_empty() {
        return None;
    }
    let scale = i64::try_from(after.chars().count()).ok()? - i64::from(exponent);
    Some(BigDecimal::from_digits(negative, digits, i32::try_from(scale).ok()?))
}

fn parse_exponent(text: &str) -> Option<i32> {
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    let number = digits.chars().try_fold(0i64, |number, digit| {
        let digit = java_digit(digit, 10)?;
        // Too large an exponent stays too large, and does not overflow.
        Some((number * 10 + i64::from(digit)).min(1 << 40))
    })?;
    i32::try_from(if negative { -number } else { number }).ok()
}

text_impls!(BigDecimal);
