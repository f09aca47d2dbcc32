//! Spans of time, and how seconds and nanoseconds are stored.

use std::fmt;

use super::calendar::{DAY_SECONDS, SECOND_NANOS};
use super::scan::{Scanner, fraction, number, out_of_range, plain_text};
use crate::encoding::text::text_impls;
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, Reader, Result, Value, ids, long};

/// Adds nanoseconds beyond a second to the seconds.
pub(super) fn normalized(second: i64, nano: i64) -> Option<(i64, u32)> {
    let second = second.checked_add(nano.div_euclid(SECOND_NANOS))?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a remainder is less than 10⁹, and not negative"
    )]
    let nano = nano.rem_euclid(SECOND_NANOS) as u32;
    Some((second, nano))
}

pub(super) fn write_seconds(second: i64, nano: u32, out: &mut Vec<u8>) {
    // Each part is a `long` of Java, so that spans sort by seconds and then by nanoseconds.
    long::write(second, out);
    long::write(nano.into(), out);
}

/// Reads seconds and nanoseconds. The number of nanoseconds is cut to 32 bits.
pub(super) fn read_seconds(reader: &mut Reader<'_>) -> Result<(i64, i32)> {
    let second = long::read(reader)?;
    #[allow(clippy::cast_possible_truncation, reason = "Java drops the upper bits too")]
    let nano = long::read(reader)? as i32;
    Ok((second, nano))
}

/// A span of time in nanoseconds, up to ±2⁶³ seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration {
    second: i64,
    nano: u32,
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration { second: 0, nano: 0 };

    /// The span of these seconds plus any number of nanoseconds.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if the seconds do not
    /// fit into 64 bits.
    pub fn new(second: i64, nano: i64) -> Result<Self> {
        match normalized(second, nano) {
            Some((second, nano)) => Ok(Duration { second, nano }),
            None => out_of_range("second", second),
        }
    }

    /// Seconds, rounded down.
    pub fn seconds(self) -> i64 {
        self.second
    }

    /// The nanoseconds of the second, 0 – 999 999 999. They are added even if the seconds are
    /// negative.
    pub fn nanos(self) -> u32 {
        self.nano
    }

    fn scan(scanner: &mut Scanner<'_>) -> Option<Self> {
        let negated = scanner.sign().unwrap_or(false);
        scanner.eat(b'P')?;
        let mut parts = Parts::default();
        parts.next(scanner, b'D', DAY_SECONDS)?;
        let marker = scanner.peek();
        if scanner.eat(b'T').is_some() {
            let before = parts.count;
            parts.next(scanner, b'H', 3600)?;
            parts.next(scanner, b'M', 60)?;
            parts.next(scanner, b'S', 1)?;
            // Java allows a `t` with nothing after it, but not a `T`.
            if parts.count == before && marker == Some(b'T') {
                return None;
            }
        }
        // Java accepts no `P` alone.
        if parts.count == 0 || !scanner.at_end() {
            return None;
        }
        // Java adds seconds and nanoseconds before it negates them, each in 64 bits.
        let plain = Self::new(i64::try_from(parts.seconds).ok()?, parts.nanos).ok()?;
        // The negation is done in 128 bits, since the largest span has no counterpart in 64 bits.
        if !negated {
            return Some(plain);
        }
        let total = -(i128::from(plain.second) * i128::from(SECOND_NANOS) + i128::from(plain.nano));
        let second = i64::try_from(total.div_euclid(SECOND_NANOS.into())).ok()?;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a remainder is less than 10⁹, and not negative"
        )]
        let nano = total.rem_euclid(SECOND_NANOS.into()) as u32;
        Some(Duration { second, nano })
    }
}

/// The parts of a duration's text that were read so far.
#[derive(Default)]
struct Parts {
    count: usize,
    seconds: i128,
    nanos: i64,
}

impl Parts {
    /// Reads a number with this unit, if there is one; `None` if it is malformed or too large.
    fn next(&mut self, scanner: &mut Scanner<'_>, unit: u8, seconds: i64) -> Option<()> {
        let mut ahead = scanner.clone();
        let negative = ahead.sign().unwrap_or(false);
        let digits = ahead.digits(usize::MAX);
        // Another unit may follow, so a missing number is no error.
        if digits.is_empty() {
            return Some(());
        }
        let mut nanos = 0;
        // Java accepts a comma in place of the point.
        if unit == b'S' && (ahead.eat(b'.').is_some() || ahead.eat(b',').is_some()) {
            nanos = fraction(ahead.digits(9));
        }
        // The number can belong to the next unit, which is tried at the same place.
        if ahead.eat(unit).is_none() {
            return Some(());
        }
        *scanner = ahead;
        // The number is read negative, since the smallest `long` has no positive counterpart.
        let magnitude = i128::from(number_up_to_min(digits, negative)?) * i128::from(seconds);
        // Java multiplies in 64 bits and refuses what does not fit.
        i64::try_from(magnitude).ok()?;
        self.count += 1;
        self.seconds += magnitude;
        self.nanos += if negative { -nanos } else { nanos };
        Some(())
    }
}

/// The signed number with these digits. The smallest 64-bit number is allowed.
fn number_up_to_min(digits: &[u8], negative: bool) -> Option<i64> {
    if !negative {
        return number(digits);
    }
    digits.iter().try_fold(0i64, |number, digit| {
        number.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))
    })
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ZERO {
            return f.write_str("PT0S");
        }
        // Every part of the text has the sign, so the fraction of a negative duration counts from
        // the second above it.
        let towards_zero = self.second < 0 && self.nano > 0;
        let seconds = if towards_zero { self.second + 1 } else { self.second };
        let nanos =
            if towards_zero { SECOND_NANOS - i64::from(self.nano) } else { self.nano.into() };
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        f.write_str("PT")?;
        if hours != 0 {
            write!(f, "{hours}H")?;
        }
        if minutes != 0 {
            write!(f, "{minutes}M")?;
        }
        // Java leaves the seconds out if a greater part stands for all of it.
        if rest == 0 && nanos == 0 {
            return Ok(());
        }
        // Minus zero has no sign of its own.
        if rest == 0 && self.second < 0 {
            f.write_str("-")?;
        }
        write!(f, "{rest}")?;
        if nanos > 0 {
            write!(f, ".{}", format!("{nanos:09}").trim_end_matches('0'))?;
        }
        f.write_str("S")
    }
}

impl Encodable for Duration {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(Duration, ids::DURATION);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        write_seconds(self.second, self.nano, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let (second, nano) = read_seconds(reader)?;
        Self::new(second, nano.into())
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        long::skip(reader)?;
        long::skip(reader)
    }

    plain_text!("duration", Self::scan);
}

text_impls!(Duration);
