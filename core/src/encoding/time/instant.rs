//! Points in time and spans of time: `Instant`, `Duration`, `Date`.

use std::fmt;

use super::calendar::{
    DAY_SECONDS, MAX_OFFSET, SECOND_NANOS, date_of, day_of, julian_date_of, julian_day_of,
};
use super::scan::{
    Scanner, fraction, number, out_of_range, parse_all, plain_text, print_fraction, print_year,
};
use crate::bytes::invalid;
use crate::encoding::text::text_impls;
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, Reader, Result, Value, ids, long};

/// A point in time in nanoseconds, within about a billion years of 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    second: i64,
    nano: u32,
}

impl Instant {
    /// The first point in time.
    pub const MIN: Instant = Instant { second: -31_557_014_167_219_200, nano: 0 };
    /// The last point in time.
    pub const MAX: Instant = Instant { second: 31_556_889_864_403_199, nano: 999_999_999 };
    /// 1970-01-01T00:00:00Z
    pub const EPOCH: Instant = Instant { second: 0, nano: 0 };

    /// The point at these seconds since 1970-01-01T00:00:00Z plus any number of nanoseconds.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) outside
    /// [`MIN`](Self::MIN) … [`MAX`](Self::MAX).
    pub fn new(second: i64, nano: i64) -> Result<Self> {
        let instant = normalized(second, nano).map(|(second, nano)| Instant { second, nano });
        match instant.filter(|instant| (Self::MIN..=Self::MAX).contains(instant)) {
            Some(instant) => Ok(instant),
            None => out_of_range("epoch second", second),
        }
    }

    /// The present time of the system's clock.
    pub fn now() -> Self {
        let (second, nano) =
            match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
                Ok(since) => (since.as_secs() as i64, i64::from(since.subsec_nanos())),
                Err(before) => (
                    -(before.duration().as_secs() as i64),
                    -i64::from(before.duration().subsec_nanos()),
                ),
            };
        Self::new(second, nano).unwrap_or(Self::EPOCH)
    }

    /// Seconds since 1970-01-01T00:00:00Z, rounded down.
    pub fn epoch_second(self) -> i64 {
        self.second
    }

    /// Nanoseconds of the second, 0 – 999 999 999.
    pub fn nano(self) -> u32 {
        self.nano
    }

    fn scan(scanner: &mut Scanner<'_>) -> Option<Self> {
        let (year, month, day) = scanner.date()?;
        scanner.eat(b'T')?;
        let hour = scanner.two()?;
        scanner.eat(b':')?;
        let minute = scanner.two()?;
        scanner.eat(b':')?;
        let second = scanner.two()?;
        let nano = scanner.fraction();
        let offset = scanner.offset(false).filter(|offset| offset.abs() <= MAX_OFFSET)?;
        let second = match (hour, minute, second) {
            // 24:00 is the end of the day.
            (24, 0, 0) if nano == 0 => DAY_SECONDS,
            // A leap second counts as the second before it.
            (23, 59, 60) => DAY_SECONDS - 1,
            (0..24, 0..60, 0..60) => {
                (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second)
            }
            _ => return None,
        };
        Self::new(day_of(year, month.into(), day.into()) * DAY_SECONDS + second - offset, nano).ok()
    }
}

/// Adds nanoseconds beyond a second to the seconds.
fn normalized(second: i64, nano: i64) -> Option<(i64, u32)> {
    let second = second.checked_add(nano.div_euclid(SECOND_NANOS))?;
    Some((second, nano.rem_euclid(SECOND_NANOS) as u32))
}

/// Reads seconds and nanoseconds. The number of nanoseconds is cut to 32 bits.
fn read_parts(reader: &mut Reader<'_>) -> Result<(i64, i64)> {
    let second = long::read(reader)?;
    Ok((second, long::read(reader)?))
}

fn skip_parts(reader: &mut Reader<'_>) -> Result<()> {
    long::skip(reader)?;
    long::skip(reader)
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.second.div_euclid(DAY_SECONDS));
        let second = self.second.rem_euclid(DAY_SECONDS);
        write!(f, "{}-{month:02}-{day:02}T", print_year(year))?;
        write!(
            f,
            "{:02}:{:02}:{:02}{}Z",
            second / 3600,
            second / 60 % 60,
            second % 60,
            print_fraction(self.nano)
        )
    }
}

impl Encodable for Instant {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(Instant, ids::INSTANT);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        long::write(self.second, out);
        long::write(self.nano.into(), out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let (second, nano) = read_parts(reader)?;
        Self::new(second, i64::from(nano as i32))
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        skip_parts(reader)
    }

    plain_text!("instant", Self::scan);
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
        if parts.count == 0 || !scanner.at_end() {
            return None;
        }
        // Java adds seconds and nanoseconds before it negates them, each in 64 bits.
        let plain = Self::new(i64::try_from(parts.seconds).ok()?, parts.nanos).ok()?;
        if !negated {
            return Some(plain);
        }
        let total = -(i128::from(plain.second) * i128::from(SECOND_NANOS) + i128::from(plain.nano));
        let second = i64::try_from(total.div_euclid(SECOND_NANOS.into())).ok()?;
        Some(Duration { second, nano: total.rem_euclid(SECOND_NANOS.into()) as u32 })
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
        if digits.is_empty() {
            return Some(());
        }
        let mut nanos = 0;
        if unit == b'S' && (ahead.eat(b'.').is_some() || ahead.eat(b',').is_some()) {
            nanos = fraction(ahead.digits(9));
        }
        if ahead.eat(unit).is_none() {
            return Some(());
        }
        *scanner = ahead;
        let magnitude = i128::from(number_up_to_min(digits, negative)?) * i128::from(seconds);
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
        if rest == 0 && nanos == 0 {
            return Ok(());
        }
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
        long::write(self.second, out);
        long::write(self.nano.into(), out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let (second, nano) = read_parts(reader)?;
        Self::new(second, i64::from(nano as i32))
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        skip_parts(reader)
    }

    plain_text!("duration", Self::scan);
}

/// A point in time in milliseconds, as `java.util.Date` has it.
///
/// The text form uses the Julian calendar before 1582-10-15, and does not show the era. Therefore,
/// as in Java, the text of a year before 1 or after 9999 is not read back as the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub millis: i64,
}

/// Milliseconds of 1582-10-15, when the Gregorian calendar starts.
const GREGORIAN_START: i64 = -12_219_292_800_000;
const DAY_MILLIS: i64 = DAY_SECONDS * 1000;

impl Date {
    /// The point that is this many milliseconds after 1970-01-01T00:00:00Z.
    pub fn from_millis(millis: i64) -> Self {
        Date { millis }
    }

    fn scan(scanner: &mut Scanner<'_>) -> Option<Self> {
        let digits = scanner.digits(4);
        let year = number(digits).filter(|_| digits.len() == 4)?;
        let part = |scanner: &mut Scanner<'_>, before: u8| {
            // Unlike elsewhere, letters must be in upper case.
            (scanner.peek() == Some(before)).then(|| scanner.eat(before))?;
            scanner.two().map(i64::from)
        };
        let month = part(scanner, b'-')?;
        let day = part(scanner, b'-')?;
        let hour = part(scanner, b'T')?;
        let minute = part(scanner, b':')?;
        let second = part(scanner, b':')?;
        let mut millis = ((hour * 60 + minute) * 60 + second) * 1000;
        if scanner.eat(b'.').is_some() {
            let digits = scanner.digits(3);
            millis += number(digits).filter(|_| digits.len() == 3)?;
        }
        if scanner.peek() == Some(b'Z') {
            scanner.eat(b'Z')?;
        }
        // Parts outside their range carry over. The year as written decides the calendar.
        let (carried_year, carried_month) =
            (year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
        let gregorian = (day_of(carried_year, carried_month, 1) + day - 1) * DAY_MILLIS + millis;
        let julian =
            (julian_day_of(carried_year, carried_month, 1) + day - 1) * DAY_MILLIS + millis;
        let gregorian_counts = year > 1582 || (year == 1582 && gregorian >= GREGORIAN_START);
        Some(Date { millis: if gregorian_counts { gregorian } else { julian } })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, millis) =
            (self.millis.div_euclid(DAY_MILLIS), self.millis.rem_euclid(DAY_MILLIS));
        let (year, month, day) =
            if self.millis >= GREGORIAN_START { date_of(day) } else { julian_date_of(day) };
        // The year before 1 is 1 BC. It is printed as 1.
        let year = if year <= 0 { 1 - year } else { year };
        let second = millis / 1000;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
            second / 3600,
            second / 60 % 60,
            second % 60
        )?;
        if millis % 1000 > 0 { write!(f, ".{:03}Z", millis % 1000) } else { f.write_str("Z") }
    }
}

impl Encodable for Date {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(Date, ids::DATE);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        long::write(self.millis, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        long::read(reader).map(Self::from_millis)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        long::skip(reader)
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        match parse_all("date", text, Self::scan) {
            Ok(date) => Ok(date),
            Err(_) => invalid(format!("malformed date string {text:?}")),
        }
    }
}

text_impls!(Instant, Duration, Date);
