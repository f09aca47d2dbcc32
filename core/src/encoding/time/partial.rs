//! Parts of dates, and spans of calendar time: `Year`, `YearMonth`, `MonthDay`, `Period`.

use std::fmt;

use super::calendar::{MAX_YEAR, month_length};
use super::scan::{Scanner, number, out_of_range, plain_text};
use crate::bytes::invalid;
use crate::encoding::text::text_impls;
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, Reader, Result, Value, ids, long, uint};

/// A year, within ±999 999 999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Year(i32);

impl Year {
    /// A year.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) outside ±999 999 999.
    pub fn new(year: i32) -> Result<Self> {
        if i64::from(year).abs() <= MAX_YEAR {
            Ok(Year(year))
        } else {
            out_of_range("year", year.into())
        }
    }

    /// The number.
    pub fn get(self) -> i32 {
        self.0
    }
}

impl Year {
    /// The text in a spelling that is read back: below −9999 with a minus sign.
    pub(crate) fn spelled(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        if self.0 > 9999 { self.to_string() } else { format!("{sign}{:04}", self.0.unsigned_abs()) }
    }
}

impl fmt::Display for Year {
    /// Prints the year as Java does. A year below −9999 gets a plus sign, so its text cannot be
    /// read back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.0 {
            _ if self.0.unsigned_abs() > 9999 => "+",
            ..0 => "-",
            _ => "",
        };
        write!(f, "{sign}{:04}", self.0.unsigned_abs())
    }
}

impl Encodable for Year {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(Year, ids::YEAR);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        long::write(self.0.into(), out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        #[allow(clippy::cast_possible_truncation, reason = "Java drops the upper bits too")]
        let year = long::read(reader)? as i32;
        Self::new(year)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        long::skip(reader)
    }

    plain_text!("year", |scanner| {
        // Java accepts either sign, with any number of digits.
        let negative = scanner.sign().unwrap_or(false);
        let year = i32::try_from(number(scanner.digits(9))?).ok()?;
        Some(Year(if negative { -year } else { year }))
    });
}

/// A month of a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct YearMonth {
    year: i32,
    month: u8,
}

impl YearMonth {
    /// A month (1 – 12) of a year.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if the year is outside
    /// ±999 999 999 or there is no such month.
    pub fn new(year: i32, month: u8) -> Result<Self> {
        Year::new(year)?;
        if (1..=12).contains(&month) {
            Ok(YearMonth { year, month })
        } else {
            out_of_range("month", month.into())
        }
    }

    /// The year.
    pub fn year(self) -> i32 {
        self.year
    }

    /// The month, 1 – 12.
    pub fn month(self) -> u8 {
        self.month
    }
}

impl YearMonth {
    /// The text in a spelling that is read back: above 9999 with a plus sign.
    pub(crate) fn spelled(self) -> String {
        if self.year > 9999 { format!("+{self}") } else { self.to_string() }
    }
}

impl fmt::Display for YearMonth {
    /// Prints the month as Java does. A year above 9999 gets no sign.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{:04}-{:02}",
            if self.year < 0 { "-" } else { "" },
            self.year.unsigned_abs(),
            self.month
        )
    }
}

impl Encodable for YearMonth {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(YearMonth, ids::YEAR_MONTH);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        long::write(self.year.into(), out);
        long::write(self.month.into(), out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        #[allow(clippy::cast_possible_truncation, reason = "Java drops the upper bits too")]
        let (year, month) = (long::read(reader)? as i32, long::read(reader)? as i32);
        match u8::try_from(month) {
            Ok(month) => Self::new(year, month),
            Err(_) => out_of_range("month", month.into()),
        }
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        long::skip(reader)?;
        long::skip(reader)
    }

    plain_text!("year and month", |scanner| {
        let year = scanner.year()?;
        scanner.eat(b'-')?;
        let month = scanner.two()?;
        Self::new(i32::try_from(year).ok()?, month).ok()
    });
}

/// A day of a month, in any year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonthDay {
    month: u8,
    day: u8,
}

/// Any leap year. In a leap year, February has all its days.
const LEAP_YEAR: i64 = 2000;

impl MonthDay {
    /// A day of a month (1 – 12).
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if no year has this day.
    pub fn new(month: u8, day: u8) -> Result<Self> {
        // A day without a year can be February 29.
        if (1..=month_length(LEAP_YEAR, month)).contains(&day) {
            Ok(MonthDay { month, day })
        } else {
            invalid(format!("there is no day {day} of month {month}"))
        }
    }

    /// The month, 1 – 12.
    pub fn month(self) -> u8 {
        self.month
    }

    /// The day of the month.
    pub fn day(self) -> u8 {
        self.day
    }
}

impl fmt::Display for MonthDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{:02}-{:02}", self.month, self.day)
    }
}

impl Encodable for MonthDay {
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(MonthDay, ids::MONTH_DAY);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        // Java stores both numbers in one, with five bits for the day.
        uint::write(u32::from(self.month - 1) << 5 | u32::from(self.day - 1), out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let number = uint::read(reader)?;
        match u8::try_from(number >> 5) {
            Ok(month) if month < 12 => Self::new(month + 1, (number & 31) as u8 + 1),
            _ => out_of_range("month", i64::from(number >> 5) + 1),
        }
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        uint::skip(reader)
    }

    plain_text!("month and day", |scanner| {
        scanner.eat(b'-')?;
        scanner.eat(b'-')?;
        let month = scanner.two()?;
        scanner.eat(b'-')?;
        Self::new(month, scanner.two()?).ok()
    });
}

/// A span of years, months and days, which are kept separately. It sorts by years, then months,
/// then days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Period {
    /// Years.
    pub years: i32,
    /// Months. The number need not be below 12.
    pub months: i32,
    /// Days. Any number is allowed.
    pub days: i32,
}

impl Period {
    fn scan(scanner: &mut Scanner<'_>) -> Option<Self> {
        let negated = scanner.sign().unwrap_or(false);
        scanner.eat(b'P')?;
        let mut count = 0;
        // Java reads a number before it negates it, so `-P2147483648D` is too large.
        let mut part = |scanner: &mut Scanner<'_>, unit: u8| -> Option<i32> {
            let mut ahead = scanner.clone();
            let negative = ahead.sign().unwrap_or(false);
            let digits = ahead.digits(usize::MAX);
            // The number may belong to the next unit.
            if digits.is_empty() || ahead.eat(unit).is_none() {
                return Some(0);
            }
            // The part is taken only now that its unit is known.
            *scanner = ahead;
            count += 1;
            let magnitude = number(digits)?;
            let number = i32::try_from(if negative { -magnitude } else { magnitude }).ok()?;
            if negated { number.checked_neg() } else { Some(number) }
        };
        let years = part(scanner, b'Y')?;
        let months = part(scanner, b'M')?;
        let weeks = part(scanner, b'W')?;
        let days = part(scanner, b'D')?.checked_add(weeks.checked_mul(7)?)?;
        (count > 0).then_some(Period { years, months, days })
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An empty period would have no part at all.
        if *self == Period::default() {
            return f.write_str("P0D");
        }
        f.write_str("P")?;
        for (number, unit) in [(self.years, 'Y'), (self.months, 'M'), (self.days, 'D')] {
            if number != 0 {
                write!(f, "{number}{unit}")?;
            }
        }
        Ok(())
    }
}

impl Encodable for Period {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    plain_value!(Period, ids::PERIOD);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        [self.years, self.months, self.days]
            .into_iter()
            .for_each(|part| long::write(part.into(), out));
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        #[allow(clippy::cast_possible_truncation, reason = "Java drops the upper bits too")]
        let mut part = || long::read(reader).map(|part| part as i32);
        Ok(Period { years: part()?, months: part()?, days: part()? })
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        (0..3).try_for_each(|_| long::skip(reader))
    }

    plain_text!("period", Self::scan);
}

text_impls!(Year, YearMonth, MonthDay, Period);
