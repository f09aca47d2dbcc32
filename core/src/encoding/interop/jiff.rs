//! The `jiff` crate.

use jiff::civil;
use jiff::tz::{self, TimeZone};

use super::{encode_as, not_held};
use crate::encoding::EncodingError;
use crate::encoding::time::{
    Duration, Instant, LocalDate, LocalDateTime, LocalTime, ZoneId, ZoneOffset, ZonedDateTime,
};

impl From<civil::Date> for LocalDate {
    fn from(date: civil::Date) -> Self {
        // The fallback is never used: years have at most four digits, and the date exists.
        Self::new(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
            .unwrap_or(Self::MIN)
    }
}

/// Fails for years outside ±9999.
impl TryFrom<LocalDate> for civil::Date {
    type Error = EncodingError;

    fn try_from(date: LocalDate) -> Result<Self, EncodingError> {
        let (year, month, day) = date.to_ymd();
        let held = i16::try_from(year)
            .ok()
            .and_then(|year| civil::Date::new(year, month.cast_signed(), day.cast_signed()).ok());
        held.map_or_else(|| not_held(&date, "a date of the jiff crate"), Ok)
    }
}

impl From<civil::Time> for LocalTime {
    fn from(time: civil::Time) -> Self {
        let part = |part: i8| part.unsigned_abs();
        Self::new(
            part(time.hour()),
            part(time.minute()),
            part(time.second()),
            time.subsec_nanosecond().unsigned_abs(),
        )
        .unwrap_or_default()
    }
}

impl From<LocalTime> for civil::Time {
    fn from(time: LocalTime) -> Self {
        let (hour, minute, second, nano) = time.to_hmsn();
        let [hour, minute, second] = [hour, minute, second].map(u8::cast_signed);
        civil::Time::new(hour, minute, second, nano.cast_signed()).unwrap_or_default()
    }
}

impl From<civil::DateTime> for LocalDateTime {
    fn from(date_time: civil::DateTime) -> Self {
        Self::new(date_time.date().into(), date_time.time().into())
    }
}

/// Fails for years outside ±9999.
impl TryFrom<LocalDateTime> for civil::DateTime {
    type Error = EncodingError;

    fn try_from(date_time: LocalDateTime) -> Result<Self, EncodingError> {
        Ok(civil::DateTime::from_parts(date_time.date().try_into()?, date_time.time().into()))
    }
}

impl From<jiff::Timestamp> for Instant {
    fn from(timestamp: jiff::Timestamp) -> Self {
        // The fallback is never used: the range of timestamps is much smaller.
        Self::new(timestamp.as_second(), timestamp.subsec_nanosecond().into())
            .unwrap_or(Self::EPOCH)
    }
}

/// Fails for years outside ±9999.
impl TryFrom<Instant> for jiff::Timestamp {
    type Error = EncodingError;

    fn try_from(instant: Instant) -> Result<Self, EncodingError> {
        jiff::Timestamp::new(instant.epoch_second(), instant.nano().cast_signed())
            .or_else(|_| not_held(&instant, "a timestamp of the jiff crate"))
    }
}

/// Fails below −2⁶³ seconds, which the fractions of the crate's smallest second reach.
impl TryFrom<jiff::SignedDuration> for Duration {
    type Error = EncodingError;

    fn try_from(duration: jiff::SignedDuration) -> Result<Self, EncodingError> {
        Self::new(duration.as_secs(), duration.subsec_nanos().into())
    }
}

impl From<Duration> for jiff::SignedDuration {
    fn from(duration: Duration) -> Self {
        jiff::SignedDuration::new(duration.seconds(), duration.nanos().cast_signed())
    }
}

/// Fails for offsets above 18 hours in either direction.
impl TryFrom<tz::Offset> for ZoneOffset {
    type Error = EncodingError;

    fn try_from(offset: tz::Offset) -> Result<Self, EncodingError> {
        Self::from_seconds(offset.seconds())
    }
}

impl TryFrom<ZoneOffset> for tz::Offset {
    type Error = EncodingError;

    fn try_from(offset: ZoneOffset) -> Result<Self, EncodingError> {
        tz::Offset::from_seconds(offset.seconds())
            .or_else(|_| not_held(&offset, "an offset of the jiff crate"))
    }
}

/// Fails for zones that are neither offsets nor regions, and for local times outside the range.
impl TryFrom<jiff::Zoned> for ZonedDateTime {
    type Error = EncodingError;

    fn try_from(zoned: jiff::Zoned) -> Result<Self, EncodingError> {
        // A zone is stored by name if it has one: Java looks up the rules by the name.
        let zone = match (zoned.time_zone().iana_name(), zoned.time_zone().to_fixed_offset()) {
            (Some(name), _) => ZoneId::new(name)?,
            (None, Ok(offset)) => ZoneOffset::try_from(offset)?.into(),
            // A zone that is neither is a set of rules, for which Java has no form.
            (None, Err(_)) => return not_held(&zoned, "a zoned time without the name of its zone"),
        };
        Self::new(zoned.timestamp().into(), zone)
    }
}

/// Fails for regions that are not in `jiff`'s time zone database. The features of that crate say
/// where the database is.
impl TryFrom<ZonedDateTime> for jiff::Zoned {
    type Error = EncodingError;

    fn try_from(zoned: ZonedDateTime) -> Result<Self, EncodingError> {
        let zone = match zoned.zone().region() {
            // The region may be missing in the database of this system.
            Some(name) => TimeZone::get(name)
                .or_else(|_| not_held(&zoned, "a zoned time of the jiff crate"))?,
            None => tz::Offset::try_from(zoned.offset())?.to_time_zone(),
        };
        Ok(jiff::Timestamp::try_from(zoned.instant())?.to_zoned(zone))
    }
}

encode_as! {
    civil::Date => LocalDate,
    civil::Time => LocalTime,
    civil::DateTime => LocalDateTime,
    jiff::Timestamp => Instant,
    jiff::SignedDuration => Duration,
    tz::Offset => ZoneOffset,
    jiff::Zoned => ZonedDateTime,
}
