//! Points in time: `Instant`, `Date`.

use std::fmt;
use std::time::SystemTime;

use super::calendar::{DAY_SECONDS, MAX_OFFSET, date_of, day_of, julian_date_of, julian_day_of};
use super::duration::{Duration, normalized, read_seconds, write_seconds};
use super::scan::{
    Scanner, number, out_of_range, parse_all, plain_text, print_fraction, print_year,
};
use crate::bytes::invalid;
use crate::encoding::text::text_impls;
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, EncodingError, Reader, Result, Value, ids, long};

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
        // A clock that is a thousand million years off says nothing.
        SystemTime::now().try_into().unwrap_or(Self::EPOCH)
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
        // Java has no offset of more than 18 hours.
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

/// A field of this type is stored `with = Instant`.
impl TryFrom<SystemTime> for Instant {
    type Error = EncodingError;

    fn try_from(time: SystemTime) -> Result<Self> {
        // A time before 1970 has both its seconds and its nanoseconds counted backwards.
        let (since, sign) = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => (since, 1),
            Err(before) => (before.duration(), -1),
        };
        // A number of seconds that is no i64 is far out of range.
        let second = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        Self::new(sign * second, sign * i64::from(since.subsec_nanos()))
    }
}

impl TryFrom<Instant> for SystemTime {
    type Error = EncodingError;

    /// # Errors
    /// [`EncodingError::Invalid`] if the time of the system does not reach that far.
    fn try_from(instant: Instant) -> Result<Self> {
        let seconds = std::time::Duration::from_secs(instant.second.unsigned_abs());
        let second = match instant.second {
            ..0 => SystemTime::UNIX_EPOCH.checked_sub(seconds),
            0.. => SystemTime::UNIX_EPOCH.checked_add(seconds),
        };
        let nanos = std::time::Duration::from_nanos(instant.nano.into());
        // Nanoseconds count forward, even before 1970.
        match second.and_then(|second| second.checked_add(nanos)) {
            Some(time) => Ok(time),
            None => out_of_range("epoch second", instant.second),
        }
    }
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
        write_seconds(self.second, self.nano, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let (second, nano) = read_seconds(reader)?;
        Self::new(second, nano.into())
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        Duration::skip_over(reader)
    }

    plain_text!("instant", Self::scan);
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
        // In 1582 ten days were left out, so the day decides in this year.
        let gregorian_counts = year > 1582 || (year == 1582 && gregorian >= GREGORIAN_START);
        Some(Date { millis: if gregorian_counts { gregorian } else { julian } })
    }
}

impl Date {
    /// The text in a spelling that is read back, if there is one. The text has four digits for the
    /// year and no era, but the reader carries parts outside their range over. So the years 0 and
    /// 9999 reach into the years next to them: `0000-00` is December of 2 BC, `9999-13` is January
    /// of 10000. Of such spellings, the one with the most months, days, hours and so on is taken.
    pub(crate) fn spelled(self) -> String {
        let (day, of_day) =
            (self.millis.div_euclid(DAY_MILLIS), self.millis.rem_euclid(DAY_MILLIS));
        let gregorian = self.millis >= GREGORIAN_START;
        let (year, month, _) = if gregorian { date_of(day) } else { julian_date_of(day) };
        // The year as written, and the month counted from its first.
        let (written, month) = match year {
            1..=9999 => return self.to_string(),
            ..1 => (0, (year * 12 + i64::from(month)).max(0)),
            _ => (9999, ((year - 9999) * 12 + i64::from(month)).min(99)),
        };
        let of_month = if gregorian { day_of } else { julian_day_of };
        let (years, months) = ((month - 1).div_euclid(12), (month - 1).rem_euclid(12));
        let days = day - of_month(written + years, months + 1, 1) + 1;
        // A day that does not fit into two digits is carried on into hours, minutes and seconds.
        let mut rest = days * DAY_MILLIS + of_day;
        let [day, hour, minute, second] = [DAY_MILLIS, 3_600_000, 60_000, 1000].map(|unit| {
            let count = (rest / unit).clamp(0, 99);
            rest -= count * unit;
            count
        });
        // The rest is still too large, so no spelling reaches this date.
        if !(0..1000).contains(&rest) {
            return self.to_string();
        }
        let fraction = if rest > 0 { format!(".{rest:03}") } else { String::new() };
        format!("{written:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
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

text_impls!(Instant, Date);
