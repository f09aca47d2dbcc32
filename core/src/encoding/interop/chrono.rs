//! The `chrono` crate.

use chrono::{
    DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone,
    Timelike, Utc,
};

use super::{encode_as, not_held};
use crate::encoding::EncodingError;
use crate::encoding::time::{
    Duration, Instant, LocalDate, LocalDateTime, LocalTime, OffsetDateTime, ZoneOffset,
};

/// Days from 0001-01-01, which is day 1 in `chrono`, to 1970-01-01.
const EPOCH_DAY: i64 = 719_163;

impl From<NaiveDate> for LocalDate {
    fn from(date: NaiveDate) -> Self {
        // The fallback is never used: the range of `chrono` is much smaller.
        Self::from_epoch_day(i64::from(date.num_days_from_ce()) - EPOCH_DAY).unwrap_or(Self::MIN)
    }
}

/// Fails for years outside about ±262 000.
impl TryFrom<LocalDate> for NaiveDate {
    type Error = EncodingError;

    fn try_from(date: LocalDate) -> Result<Self, EncodingError> {
        let held = i32::try_from(date.epoch_day() + EPOCH_DAY)
            .ok()
            .and_then(NaiveDate::from_num_days_from_ce_opt);
        held.map_or_else(|| not_held(&date, "a date of the chrono crate"), Ok)
    }
}

/// Fails for leap seconds.
impl TryFrom<NaiveTime> for LocalTime {
    type Error = EncodingError;

    fn try_from(time: NaiveTime) -> Result<Self, EncodingError> {
        let nanos = i64::from(time.num_seconds_from_midnight()) * 1_000_000_000
            + i64::from(time.nanosecond());
        // The crate shows a leap second as more than 1,000,000,000 nanoseconds.
        if time.nanosecond() >= 1_000_000_000 {
            return not_held(&time, "a time of day, which has no leap seconds");
        }
        Self::from_nano_of_day(nanos)
    }
}

impl From<LocalTime> for NaiveTime {
    fn from(time: LocalTime) -> Self {
        let (hour, minute, second, nano) = time.to_hmsn();
        NaiveTime::from_hms_nano_opt(hour.into(), minute.into(), second.into(), nano)
            .unwrap_or_default()
    }
}

/// Fails for leap seconds.
impl TryFrom<NaiveDateTime> for LocalDateTime {
    type Error = EncodingError;

    fn try_from(date_time: NaiveDateTime) -> Result<Self, EncodingError> {
        Ok(Self::new(date_time.date().into(), date_time.time().try_into()?))
    }
}

/// Fails for years outside about ±262 000.
impl TryFrom<LocalDateTime> for NaiveDateTime {
    type Error = EncodingError;

    fn try_from(date_time: LocalDateTime) -> Result<Self, EncodingError> {
        Ok(NaiveDateTime::new(date_time.date().try_into()?, date_time.time().into()))
    }
}

/// Fails for leap seconds.
impl TryFrom<DateTime<Utc>> for Instant {
    type Error = EncodingError;

    fn try_from(date_time: DateTime<Utc>) -> Result<Self, EncodingError> {
        if date_time.timestamp_subsec_nanos() >= 1_000_000_000 {
            return not_held(&date_time.timestamp(), "an instant, which has no leap seconds");
        }
        Self::new(date_time.timestamp(), date_time.timestamp_subsec_nanos().into())
    }
}

/// Fails for years outside about ±262 000.
impl TryFrom<Instant> for DateTime<Utc> {
    type Error = EncodingError;

    fn try_from(instant: Instant) -> Result<Self, EncodingError> {
        let held = DateTime::from_timestamp(instant.epoch_second(), instant.nano());
        held.map_or_else(|| not_held(&instant, "a time of the chrono crate"), Ok)
    }
}

/// Fails for offsets above 18 hours in either direction.
impl TryFrom<FixedOffset> for ZoneOffset {
    type Error = EncodingError;

    fn try_from(offset: FixedOffset) -> Result<Self, EncodingError> {
        Self::from_seconds(offset.local_minus_utc())
    }
}

impl TryFrom<ZoneOffset> for FixedOffset {
    type Error = EncodingError;

    fn try_from(offset: ZoneOffset) -> Result<Self, EncodingError> {
        FixedOffset::east_opt(offset.seconds())
            .map_or_else(|| not_held(&offset, "an offset of the chrono crate"), Ok)
    }
}

/// Fails for leap seconds and offsets above 18 hours.
impl TryFrom<DateTime<FixedOffset>> for OffsetDateTime {
    type Error = EncodingError;

    fn try_from(date_time: DateTime<FixedOffset>) -> Result<Self, EncodingError> {
        let offset = ZoneOffset::try_from(*date_time.offset())?;
        Self::new(date_time.with_timezone(&Utc).try_into()?, offset)
    }
}

/// Fails for years outside about ±262 000.
impl TryFrom<OffsetDateTime> for DateTime<FixedOffset> {
    type Error = EncodingError;

    fn try_from(date_time: OffsetDateTime) -> Result<Self, EncodingError> {
        let offset = FixedOffset::try_from(date_time.offset())?;
        let instant = date_time.instant();
        // An offset is fixed, so each instant has one local time.
        let held = offset.timestamp_opt(instant.epoch_second(), instant.nano()).single();
        held.map_or_else(|| not_held(&date_time, "a time of the chrono crate"), Ok)
    }
}

impl TryFrom<TimeDelta> for Duration {
    type Error = EncodingError;

    fn try_from(delta: TimeDelta) -> Result<Self, EncodingError> {
        Self::new(delta.num_seconds(), delta.subsec_nanos().into())
    }
}

/// Fails outside ±2⁶³ milliseconds.
impl TryFrom<Duration> for TimeDelta {
    type Error = EncodingError;

    fn try_from(duration: Duration) -> Result<Self, EncodingError> {
        let held = TimeDelta::new(duration.seconds(), duration.nanos());
        held.map_or_else(|| not_held(&duration, "a duration of the chrono crate"), Ok)
    }
}

encode_as! {
    NaiveDate => LocalDate,
    NaiveTime => LocalTime,
    NaiveDateTime => LocalDateTime,
    DateTime<Utc> => Instant,
    DateTime<FixedOffset> => OffsetDateTime,
    FixedOffset => ZoneOffset,
    TimeDelta => Duration,
}
