//! The `time` crate.

use super::{encode_as, not_held};
use crate::encoding::EncodingError;
use crate::encoding::time::{
    Duration, Instant, LocalDate, LocalDateTime, LocalTime, OffsetDateTime, ZoneOffset,
};

/// The Julian day of 1970-01-01.
const EPOCH_DAY: i64 = 2_440_588;

impl From<time::Date> for LocalDate {
    fn from(date: time::Date) -> Self {
        // The fallback is never used: the range of `time` is much smaller.
        Self::from_epoch_day(i64::from(date.to_julian_day()) - EPOCH_DAY).unwrap_or(Self::MIN)
    }
}

/// Fails for years outside the crate's range, which depends on its features.
impl TryFrom<LocalDate> for time::Date {
    type Error = EncodingError;

    fn try_from(date: LocalDate) -> Result<Self, EncodingError> {
        let held = i32::try_from(date.epoch_day() + EPOCH_DAY)
            .ok()
            .and_then(|day| time::Date::from_julian_day(day).ok());
        held.map_or_else(|| not_held(&date, "a date of the time crate"), Ok)
    }
}

impl From<time::Time> for LocalTime {
    fn from(time: time::Time) -> Self {
        let (hour, minute, second, nano) = time.as_hms_nano();
        Self::new(hour, minute, second, nano).unwrap_or_default()
    }
}

impl From<LocalTime> for time::Time {
    fn from(time: LocalTime) -> Self {
        let (hour, minute, second, nano) = time.to_hmsn();
        time::Time::from_hms_nano(hour, minute, second, nano).unwrap_or(time::Time::MIDNIGHT)
    }
}

impl From<time::PrimitiveDateTime> for LocalDateTime {
    fn from(date_time: time::PrimitiveDateTime) -> Self {
        Self::new(date_time.date().into(), date_time.time().into())
    }
}

/// Fails for years outside the crate's range, which depends on its features.
impl TryFrom<LocalDateTime> for time::PrimitiveDateTime {
    type Error = EncodingError;

    fn try_from(date_time: LocalDateTime) -> Result<Self, EncodingError> {
        Ok(time::PrimitiveDateTime::new(date_time.date().try_into()?, date_time.time().into()))
    }
}

impl From<time::UtcDateTime> for Instant {
    fn from(date_time: time::UtcDateTime) -> Self {
        Self::new(date_time.unix_timestamp(), date_time.nanosecond().into()).unwrap_or(Self::EPOCH)
    }
}

/// Fails for years outside the crate's range, which depends on its features.
impl TryFrom<Instant> for time::UtcDateTime {
    type Error = EncodingError;

    fn try_from(instant: Instant) -> Result<Self, EncodingError> {
        let nanos = i128::from(instant.epoch_second()) * 1_000_000_000 + i128::from(instant.nano());
        time::UtcDateTime::from_unix_timestamp_nanos(nanos)
            .or_else(|_| not_held(&instant, "a time of the time crate"))
    }
}

/// Fails for offsets above 18 hours in either direction.
impl TryFrom<time::UtcOffset> for ZoneOffset {
    type Error = EncodingError;

    fn try_from(offset: time::UtcOffset) -> Result<Self, EncodingError> {
        Self::from_seconds(offset.whole_seconds())
    }
}

impl TryFrom<ZoneOffset> for time::UtcOffset {
    type Error = EncodingError;

    fn try_from(offset: ZoneOffset) -> Result<Self, EncodingError> {
        time::UtcOffset::from_whole_seconds(offset.seconds())
            .or_else(|_| not_held(&offset, "an offset of the time crate"))
    }
}

/// Fails for offsets above 18 hours.
impl TryFrom<time::OffsetDateTime> for OffsetDateTime {
    type Error = EncodingError;

    fn try_from(date_time: time::OffsetDateTime) -> Result<Self, EncodingError> {
        let instant = Instant::new(date_time.unix_timestamp(), date_time.nanosecond().into())?;
        Self::new(instant, date_time.offset().try_into()?)
    }
}

/// Fails for years outside the crate's range, which depends on its features.
impl TryFrom<OffsetDateTime> for time::OffsetDateTime {
    type Error = EncodingError;

    fn try_from(date_time: OffsetDateTime) -> Result<Self, EncodingError> {
        let local: time::PrimitiveDateTime = date_time.local().try_into()?;
        Ok(local.assume_offset(date_time.offset().try_into()?))
    }
}

/// Fails below −2⁶³ seconds, which the fractions of the crate's smallest second reach.
impl TryFrom<time::Duration> for Duration {
    type Error = EncodingError;

    fn try_from(duration: time::Duration) -> Result<Self, EncodingError> {
        Self::new(duration.whole_seconds(), duration.subsec_nanoseconds().into())
    }
}

impl From<Duration> for time::Duration {
    fn from(duration: Duration) -> Self {
        time::Duration::new(duration.seconds(), duration.nanos().cast_signed())
    }
}

encode_as! {
    time::Date => LocalDate,
    time::Time => LocalTime,
    time::PrimitiveDateTime => LocalDateTime,
    time::UtcDateTime => Instant,
    time::OffsetDateTime => OffsetDateTime,
    time::UtcOffset => ZoneOffset,
    time::Duration => Duration,
}
