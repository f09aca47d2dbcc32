//! Offsets from UTC, and times with an offset: `ZoneOffset`, `OffsetDateTime`, `OffsetTime`.

use std::cmp::Ordering;
use std::fmt;

use super::calendar::{DAY_NANOS, MAX_OFFSET, SECOND_NANOS};
use super::scan::{Scanner, out_of_range, parsed, plain_text};
use super::{Instant, LocalDateTime, LocalTime};
use crate::bytes::invalid;
use crate::encoding::text::text_impls;
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, Reader, Result, Value, ids, long};

/// How far local time is ahead of UTC, up to ±18 hours. As in Java, it sorts by descending offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ZoneOffset {
    seconds: i32,
}

impl ZoneOffset {
    /// No offset.
    pub const UTC: ZoneOffset = ZoneOffset { seconds: 0 };

    /// An offset in seconds, positive east of Greenwich.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) above 18 hours in either
    /// direction.
    pub fn from_seconds(seconds: i32) -> Result<Self> {
        if i64::from(seconds).abs() <= MAX_OFFSET {
            Ok(ZoneOffset { seconds })
        } else {
            out_of_range("zone offset", seconds.into())
        }
    }

    /// Seconds ahead of UTC.
    pub fn seconds(self) -> i32 {
        self.seconds
    }

    /// Parses the texts that Java's `ZoneOffset.of` accepts.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == "Z" {
            return Some(Self::UTC);
        }
        let (first, digits) = text.as_bytes().split_first()?;
        let two = |at: usize| match digits.get(at..at + 2)? {
            &[a @ b'0'..=b'9', b @ b'0'..=b'9'] => {
                Some(i32::from(a - b'0') * 10 + i32::from(b - b'0'))
            }
            _ => None,
        };
        let colon = |at: usize| (digits.get(at) == Some(&b':')).then_some(());
        // The length tells the form, since Java accepts each of them.
        let (hours, minutes, seconds) = match digits.len() {
            1 => (char::from(*digits.first()?).to_digit(10)?.cast_signed(), 0, 0),
            2 => (two(0)?, 0, 0),
            4 => (two(0)?, two(2)?, 0),
            5 => (two(0)?, colon(2).and_then(|()| two(3))?, 0),
            6 => (two(0)?, two(2)?, two(4)?),
            8 => (two(0)?, colon(2).and_then(|()| two(3))?, colon(5).and_then(|()| two(6))?),
            _ => return None,
        };
        let total = hours * 3600 + minutes * 60 + seconds;
        // The hours are not looked at here: an offset of more than 18 hours is refused below.
        if minutes > 59 || seconds > 59 {
            return None;
        }
        match first {
            b'+' => Self::from_seconds(total).ok(),
            b'-' => Self::from_seconds(-total).ok(),
            _ => None,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        // The negated offset is stored, because offsets sort in descending order.
        #[allow(clippy::cast_possible_truncation, reason = "Java drops the upper bits too")]
        let negated = long::read(reader)? as i32;
        // The smallest number has no counterpart, and wraps around to itself in Java.
        Self::from_seconds(negated.wrapping_neg())
    }

    pub(super) fn scan(scanner: &mut Scanner<'_>, lenient: bool) -> Option<Self> {
        Self::from_seconds(i32::try_from(scanner.offset(lenient)?).ok()?).ok()
    }
}

impl PartialOrd for ZoneOffset {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ZoneOffset {
    fn cmp(&self, other: &Self) -> Ordering {
        other.seconds.cmp(&self.seconds)
    }
}

impl fmt::Display for ZoneOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seconds == 0 {
            return f.write_str("Z");
        }
        let (sign, seconds) = (if self.seconds < 0 { '-' } else { '+' }, self.seconds.abs());
        write!(f, "{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60)?;
        if seconds % 60 > 0 { write!(f, ":{:02}", seconds % 60) } else { Ok(()) }
    }
}

impl Encodable for ZoneOffset {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(ZoneOffset, ids::ZONE_OFFSET);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        long::write(-i64::from(self.seconds), out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        Self::read(reader)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        long::skip(reader)
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        parsed("zone offset", text, Self::parse(text))
    }
}

/// A point in time, and the offset it is shown with. It sorts by the point in time, then by
/// descending offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OffsetDateTime {
    instant: Instant,
    offset: ZoneOffset,
}

impl OffsetDateTime {
    /// A point in time that is shown with an offset.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if the local time is
    /// outside the range of [`LocalDateTime`].
    pub fn new(instant: Instant, offset: ZoneOffset) -> Result<Self> {
        let value = OffsetDateTime { instant, offset };
        // Near the ends of the range, the local time can be outside even if the instant is not.
        value.checked_local()?;
        Ok(value)
    }

    /// A local time and its offset.
    pub fn from_local(local: LocalDateTime, offset: ZoneOffset) -> Self {
        let second = local.epoch_second() - i64::from(offset.seconds);
        // The fallback is never used: the range of instants is a year longer at each end.
        let instant = Instant::new(second, local.nano().into()).unwrap_or(Instant::EPOCH);
        OffsetDateTime { instant, offset }
    }

    /// The point in time.
    pub fn instant(self) -> Instant {
        self.instant
    }

    /// The offset.
    pub fn offset(self) -> ZoneOffset {
        self.offset
    }

    /// The local time.
    pub fn local(self) -> LocalDateTime {
        // The fallback is never used: the value was checked when it was made.
        self.checked_local().unwrap_or(LocalDateTime::MIN)
    }

    fn checked_local(self) -> Result<LocalDateTime> {
        let second = self.instant.epoch_second() + i64::from(self.offset.seconds);
        LocalDateTime::from_epoch_second(second, self.instant.nano().cast_signed())
    }

    pub(super) fn scan(scanner: &mut Scanner<'_>) -> Option<Self> {
        let local = LocalDateTime::scan(scanner)?;
        Some(Self::from_local(local, ZoneOffset::scan(scanner, true)?))
    }
}

impl fmt::Display for OffsetDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.local(), self.offset)
    }
}

impl Encodable for OffsetDateTime {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(OffsetDateTime, ids::OFFSET_DATE_TIME);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        self.instant.write_to(out)?;
        self.offset.write_to(out)
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let instant = Instant::read_from(reader)?;
        Self::new(instant, ZoneOffset::read(reader)?)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        (0..3).try_for_each(|_| long::skip(reader))
    }

    plain_text!("date and time with offset", Self::scan);
}

/// A time of day and its offset. It sorts by the time in UTC, which may be on the day before or
/// after, then by descending offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OffsetTime {
    /// The nanoseconds of the local time of day minus those of the offset.
    utc_nanos: i64,
    offset: ZoneOffset,
}

impl OffsetTime {
    /// A time of day and its offset.
    pub fn new(time: LocalTime, offset: ZoneOffset) -> Self {
        OffsetTime {
            utc_nanos: time.nano_of_day() - i64::from(offset.seconds) * SECOND_NANOS,
            offset,
        }
    }

    /// The local time of day.
    pub fn time(self) -> LocalTime {
        // The fallback is never used: the value was checked when it was made.
        LocalTime::from_nano_of_day(self.local_nanos()).unwrap_or_default()
    }

    /// The offset.
    pub fn offset(self) -> ZoneOffset {
        self.offset
    }

    fn local_nanos(self) -> i64 {
        // A stored number can be anything, so a sum that wraps is refused after the addition.
        self.utc_nanos.wrapping_add(i64::from(self.offset.seconds) * SECOND_NANOS)
    }
}

impl fmt::Display for OffsetTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.time(), self.offset)
    }
}

impl Encodable for OffsetTime {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(OffsetTime, ids::OFFSET_TIME);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        long::write(self.utc_nanos, out);
        self.offset.write_to(out)
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let value =
            OffsetTime { utc_nanos: long::read(reader)?, offset: ZoneOffset::read(reader)? };
        let nanos = value.local_nanos();
        if (0..DAY_NANOS).contains(&nanos) {
            Ok(value)
        } else {
            invalid(format!("nanosecond of the day {nanos} is out of range"))
        }
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        long::skip(reader)?;
        long::skip(reader)
    }

    plain_text!("time with offset", |scanner| {
        let time = LocalTime::from_nano_of_day(scanner.local_time()?).ok()?;
        Some(Self::new(time, ZoneOffset::scan(scanner, false)?))
    });
}

text_impls!(ZoneOffset, OffsetDateTime, OffsetTime);
