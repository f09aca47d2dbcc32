//! Dates and times as in `java.time`, with the same ranges.
//!
//! The common Rust crates do not have all of Java's years, so this crate has its own types. The
//! features `jiff`, `chrono` and `time` add conversions.

mod calendar;
mod duration;
mod instant;
mod local;
mod offset;
mod partial;
mod scan;
mod zone;
mod zone_rules;

pub use duration::Duration;
pub use instant::{Date, Instant};
pub use local::{LocalDate, LocalDateTime, LocalTime};
pub use offset::{OffsetDateTime, OffsetTime, ZoneOffset};
pub use partial::{MonthDay, Period, Year, YearMonth};
pub use zone::{ZoneId, ZonedDateTime};
