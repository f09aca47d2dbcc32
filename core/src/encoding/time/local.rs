//! Dates and times without a zone: `LocalDate`, `LocalTime`, `LocalDateTime`.

use std::fmt;

use super::calendar::{
    DAY_NANOS, DAY_SECONDS, MAX_YEAR, SECOND_NANOS, date_of, day_of, month_length,
};
use super::duration::{Duration, read_seconds, write_seconds};
use super::scan::{Scanner, out_of_range, plain_text, print_fraction, print_year};
use crate::bytes::invalid;
use crate::encoding::text::text_impls;
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, Reader, Result, Value, ids, long};

/// A date in the Gregorian calendar, which is extended to the years ±999 999 999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalDate {
    epoch_day: i64,
}

impl LocalDate {
    /// The first date, in the year −999 999 999.
    pub const MIN: LocalDate = LocalDate { epoch_day: -365_243_219_162 };
    /// The last date, in the year 999 999 999.
    pub const MAX: LocalDate = LocalDate { epoch_day: 365_241_780_471 };

    /// The date of a day counted from 1970-01-01.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) outside
    /// [`MIN`](Self::MIN) … [`MAX`](Self::MAX).
    pub fn from_epoch_day(epoch_day: i64) -> Result<Self> {
        let date = LocalDate { epoch_day };
        if (Self::MIN..=Self::MAX).contains(&date) {
            Ok(date)
        } else {
            out_of_range("epoch day", epoch_day)
        }
    }

    /// A date from year, month (1 – 12) and day of the month.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if there is no such
    /// date.
    pub fn new(year: i32, month: u8, day: u8) -> Result<Self> {
        let year = i64::from(year);
        // Java's range of years is smaller than that of the number.
        if !(-MAX_YEAR..=MAX_YEAR).contains(&year)
            || !(1..=month_length(year, month)).contains(&day)
        {
            return invalid(format!("there is no date {year}-{month}-{day}"));
        }
        Ok(LocalDate { epoch_day: day_of(year, month.into(), day.into()) })
    }

    /// Days since 1970-01-01.
    pub fn epoch_day(self) -> i64 {
        self.epoch_day
    }

    /// Year, month (1 – 12) and day of the month.
    pub fn to_ymd(self) -> (i32, u8, u8) {
        let (year, month, day) = date_of(self.epoch_day);
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the years of dates are within ±999 999 999"
        )]
        let year = year as i32;
        (year, month, day)
    }

    fn scan(scanner: &mut Scanner<'_>) -> Option<Self> {
        let (year, month, day) = scanner.local_date()?;
        Some(LocalDate { epoch_day: day_of(year, month.into(), day.into()) })
    }
}

impl fmt::Display for LocalDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.epoch_day);
        write!(f, "{}-{month:02}-{day:02}", print_year(year))
    }
}

impl Encodable for LocalDate {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(LocalDate, ids::LOCAL_DATE);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        long::write(self.epoch_day, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        Self::from_epoch_day(long::read(reader)?)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        long::skip(reader)
    }

    plain_text!("date", Self::scan);
}

/// A time of day in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LocalTime {
    nano_of_day: i64,
}

impl LocalTime {
    /// The start of the day.
    pub const MIDNIGHT: LocalTime = LocalTime { nano_of_day: 0 };
    /// The last nanosecond of the day.
    pub const MAX: LocalTime = LocalTime { nano_of_day: DAY_NANOS - 1 };

    /// The time of a nanosecond counted from midnight.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) outside 0 … 86 399 999
    /// 999 999.
    pub fn from_nano_of_day(nano_of_day: i64) -> Result<Self> {
        if (0..DAY_NANOS).contains(&nano_of_day) {
            Ok(LocalTime { nano_of_day })
        } else {
            out_of_range("nanosecond of the day", nano_of_day)
        }
    }

    /// A time from hour, minute, second and nanosecond.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if one of them is
    /// outside its range.
    pub fn new(hour: u8, minute: u8, second: u8, nano: u32) -> Result<Self> {
        if hour > 23 || minute > 59 || second > 59 || i64::from(nano) >= SECOND_NANOS {
            return invalid(format!("there is no time {hour}:{minute}:{second}.{nano:09}"));
        }
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        Ok(LocalTime { nano_of_day: seconds * SECOND_NANOS + i64::from(nano) })
    }

    /// Nanoseconds since midnight.
    pub fn nano_of_day(self) -> i64 {
        self.nano_of_day
    }

    /// Hour, minute, second and nanosecond.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "each part is within its range, since the time is within the day"
    )]
    pub fn to_hmsn(self) -> (u8, u8, u8, u32) {
        let second = self.nano_of_day / SECOND_NANOS;
        (
            (second / 3600) as u8,
            (second / 60 % 60) as u8,
            (second % 60) as u8,
            (self.nano_of_day % SECOND_NANOS) as u32,
        )
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second, nano) = self.to_hmsn();
        write!(f, "{hour:02}:{minute:02}")?;
        // Java leaves out seconds that are zero.
        if second > 0 || nano > 0 {
            write!(f, ":{second:02}{}", print_fraction(nano))
        } else {
            Ok(())
        }
    }
}

impl Encodable for LocalTime {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(LocalTime, ids::LOCAL_TIME);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        long::write(self.nano_of_day, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        Self::from_nano_of_day(long::read(reader)?)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        long::skip(reader)
    }

    plain_text!("time", |scanner| {
        scanner.local_time().map(|nano_of_day| LocalTime { nano_of_day })
    });
}

/// A date and a time of day, without a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalDateTime {
    /// Seconds since 1970-01-01T00:00, as if in UTC.
    second: i64,
    nano: u32,
}

impl LocalDateTime {
    /// The first date and time.
    pub const MIN: LocalDateTime =
        LocalDateTime { second: LocalDate::MIN.epoch_day * DAY_SECONDS, nano: 0 };
    /// The last date and time.
    pub const MAX: LocalDateTime = LocalDateTime {
        second: LocalDate::MAX.epoch_day * DAY_SECONDS + DAY_SECONDS - 1,
        nano: 999_999_999,
    };

    /// A date and a time of day.
    pub fn new(date: LocalDate, time: LocalTime) -> Self {
        let (.., nano) = time.to_hmsn();
        LocalDateTime {
            second: date.epoch_day * DAY_SECONDS + time.nano_of_day / SECOND_NANOS,
            nano,
        }
    }

    /// The date and time at these seconds since 1970-01-01T00:00, as if in UTC, and nanoseconds (0
    /// – 999 999 999).
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) outside
    /// [`MIN`](Self::MIN) … [`MAX`](Self::MAX).
    pub fn from_epoch_second(second: i64, nano: i32) -> Result<Self> {
        if !(0..SECOND_NANOS).contains(&i64::from(nano)) {
            return out_of_range("nanosecond", nano.into());
        }
        let date_time = LocalDateTime { second, nano: nano.cast_unsigned() };
        if (Self::MIN..=Self::MAX).contains(&date_time) {
            Ok(date_time)
        } else {
            out_of_range("epoch second", second)
        }
    }

    /// Seconds since 1970-01-01T00:00, as if in UTC.
    pub fn epoch_second(self) -> i64 {
        self.second
    }

    /// Nanoseconds of the second.
    pub fn nano(self) -> u32 {
        self.nano
    }

    /// The date.
    pub fn date(self) -> LocalDate {
        // Times before 1970 are negative, and their day is the one before.
        LocalDate { epoch_day: self.second.div_euclid(DAY_SECONDS) }
    }

    /// The time of day.
    pub fn time(self) -> LocalTime {
        LocalTime {
            nano_of_day: self.second.rem_euclid(DAY_SECONDS) * SECOND_NANOS + i64::from(self.nano),
        }
    }

    pub(super) fn scan(scanner: &mut Scanner<'_>) -> Option<Self> {
        let date = LocalDate::scan(scanner)?;
        scanner.eat(b'T')?;
        let nano_of_day = scanner.local_time()?;
        Some(Self::new(date, LocalTime { nano_of_day }))
    }
}

impl fmt::Display for LocalDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date(), self.time())
    }
}

impl Encodable for LocalDateTime {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(LocalDateTime, ids::LOCAL_DATE_TIME);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        write_seconds(self.second, self.nano, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let (second, nano) = read_seconds(reader)?;
        Self::from_epoch_second(second, nano)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        Duration::skip_over(reader)
    }

    plain_text!("date and time", Self::scan);
}

text_impls!(LocalDate, LocalTime, LocalDateTime);
