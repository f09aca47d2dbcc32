//! Reads the parts of date and time texts.

use super::calendar::{MAX_YEAR, month_length};
use crate::bytes::{Result, invalid};
use crate::encoding::EncodingError;

/// A position in a text. Every method returns `None` if the text does not have the part that the
/// method reads.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'t> {
    rest: &'t [u8],
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Scanner { rest: text.as_bytes() }
    }

    pub(crate) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads one byte. A letter, given in upper case, may be in either case.
    pub(crate) fn eat(&mut self, wanted: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        // Java accepts letters in both cases in most of these texts.
        if !first.eq_ignore_ascii_case(&wanted) {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    /// Reads exactly two digits.
    pub(crate) fn two(&mut self) -> Option<u8> {
        match self.rest {
            [a @ b'0'..=b'9', b @ b'0'..=b'9', rest @ ..] => {
                self.rest = rest;
                Some((a - b'0') * 10 + (b - b'0'))
            }
            _ => None,
        }
    }

    /// Reads the digits here, at most `max` of them.
    pub(crate) fn digits(&mut self, max: usize) -> &'t [u8] {
        let count = self.rest.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits
    }

    /// Reads a sign if there is one; true for `-`.
    pub(crate) fn sign(&mut self) -> Option<bool> {
        let (negative, rest) = match self.rest {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => return None,
        };
        self.rest = rest;
        Some(negative)
    }

    /// Reads a year: four digits, or more after a sign. A plus sign is only allowed before more
    /// than four digits.
    pub(crate) fn year(&mut self) -> Option<i64> {
        let sign = self.sign();
        // A year of an instant has ten digits at most.
        let digits = self.digits(10);
        let number = number(digits)?;
        match sign {
            // These are Java's rules for years: a year of four digits has no plus sign, and a
            // longer one needs a sign.
            _ if digits.len() < 4 => None,
            None if digits.len() > 4 => None,
            Some(false) if digits.len() == 4 => None,
            // Java refuses `-0000`, which would be a second text for the year 0.
            Some(true) if number == 0 => None,
            Some(true) => Some(-number),
            _ => Some(number),
        }
    }

    /// Reads a date. Does not check the range of the year.
    pub(crate) fn date(&mut self) -> Option<(i64, u8, u8)> {
        let year = self.year()?;
        self.eat(b'-')?;
        let month = self.two()?;
        self.eat(b'-')?;
        let day = self.two()?;
        (1..=month_length(year, month)).contains(&day).then_some((year, month, day))
    }

    /// Reads a date whose year is in the range of dates.
    pub(crate) fn local_date(&mut self) -> Option<(i64, u8, u8)> {
        self.date().filter(|(year, ..)| (-MAX_YEAR..=MAX_YEAR).contains(year))
    }

    /// Reads nanoseconds: a point and up to nine digits, if there is a point.
    pub(crate) fn fraction(&mut self) -> i64 {
        if self.eat(b'.').is_none() { 0 } else { fraction(self.digits(9)) }
    }

    /// Reads hours, minutes, and possibly seconds and a fraction. The result is in nanoseconds.
    pub(crate) fn local_time(&mut self) -> Option<i64> {
        let hour = self.two().filter(|&hour| hour < 24)?;
        self.eat(b':')?;
        let minute = self.two().filter(|&minute| minute < 60)?;
        let minutes = i64::from(hour) * 60 + i64::from(minute);
        let mut nanos = 0;
        // Seconds may be missing.
        if self.eat(b':').is_some() {
            let second = self.two().filter(|&second| second < 60)?;
            nanos = i64::from(second) * 1_000_000_000 + self.fraction();
        }
        Some(minutes * 60_000_000_000 + nanos)
    }

    /// Reads `Z`, or a sign, hours, minutes and possibly seconds. The result is in seconds. If
    /// `lenient` is true, minutes may be missing.
    pub(crate) fn offset(&mut self, lenient: bool) -> Option<i64> {
        if self.eat(b'Z').is_some() {
            return Some(0);
        }
        let negative = self.sign()?;
        let hour = self.two().filter(|&hour| hour < 24)?;
        let (mut minute, mut second) = (0, 0);
        // Only some of Java's forms allow an hour alone.
        if self.peek() == Some(b':') || !lenient {
            self.eat(b':')?;
            minute = self.two().filter(|&minute| minute < 60)?;
            if self.eat(b':').is_some() {
                second = self.two().filter(|&second| second < 60)?;
            }
        }
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        Some(if negative { -seconds } else { seconds })
    }
}

/// The number with these digits; `None` if there are none or too many.
pub(crate) fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0i64, |number, digit| {
        number.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
    })
}

/// The nanoseconds of the digits after the point. There are at most nine digits.
pub(crate) fn fraction(digits: &[u8]) -> i64 {
    let value = digits.iter().fold(0, |nanos, digit| nanos * 10 + i64::from(digit - b'0'));
    // Fewer than nine digits are a fraction that ends with zeros.
    (digits.len()..9).fold(value, |nanos, _| nanos * 10)
}

/// The result of parsing; an error that quotes the text if there is none.
pub(crate) fn parsed<T>(what: &str, text: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| EncodingError::Invalid(format!("invalid {what} {text:?}")))
}

/// Parses all of a text.
pub(crate) fn parse_all<T>(
    what: &str,
    text: &str,
    parse: impl FnOnce(&mut Scanner<'_>) -> Option<T>,
) -> Result<T> {
    let mut scanner = Scanner::new(text);
    let value = parse(&mut scanner);
    parsed(what, text, value.filter(|_| scanner.at_end()))
}

/// The text form of a type: `Display` writes it, and `$scan` reads it.
macro_rules! plain_text {
    ($what:expr, $scan:expr) => {
        fn to_text(&self) -> String {
            self.to_string()
        }

        fn from_text(text: &str) -> crate::encoding::Result<Self> {
            crate::encoding::time::scan::parse_all($what, text, $scan)
        }
    };
}
pub(crate) use plain_text;

/// The error for a part outside its range.
pub(crate) fn out_of_range<T>(what: &str, value: i64) -> Result<T> {
    invalid(format!("{what} {value} is out of range"))
}

/// A year as dates print it: at least four digits, with `-` for years before 0 and `+` for years
/// above 9999.
pub(crate) fn print_year(year: i64) -> String {
    match year {
        ..0 => format!("-{:04}", -year),
        0..=9999 => format!("{year:04}"),
        _ => format!("+{year}"),
    }
}

/// A point and 3, 6 or 9 digits, as few as possible; nothing for 0.
pub(crate) fn print_fraction(nanos: u32) -> String {
    match nanos {
        0 => String::new(),
        _ if nanos.is_multiple_of(1_000_000) => format!(".{:03}", nanos / 1_000_000),
        _ if nanos.is_multiple_of(1000) => format!(".{:06}", nanos / 1000),
        _ => format!(".{nanos:09}"),
    }
}
