//! Dates and times as `java.time` has them, with the ranges it has (encodings §12).
//!
//! The common Rust crates do not reach Java's years, so these are types of their own; features `jiff`, `chrono` and
//! `time` add conversions.

mod calendar;
mod instant;
mod local;
mod offset;
mod partial;
mod scan;
mod zone;
mod zone_rules;

pub use instant::{Date, Duration, Instant};
pub use local::{LocalDate, LocalDateTime, LocalTime};
pub use offset::{OffsetDateTime, OffsetTime, ZoneOffset};
pub use partial::{MonthDay, Period, Year, YearMonth};
pub use zone::{ZoneId, ZonedDateTime};
