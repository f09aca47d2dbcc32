//! Days and dates, in the Gregorian calendar for all years, and in the Julian calendar.

/// The largest offset from UTC, in seconds.
pub(super) const MAX_OFFSET: i64 = 18 * 3600;

/// Days from 0000-03-01 (Gregorian) to 1970-01-01.
const GREGORIAN_SHIFT: i64 = 719_468;
/// Days from 0000-03-01 (Julian) to 1970-01-01.
const JULIAN_SHIFT: i64 = 719_470;

/// Seconds in a day.
pub(crate) const DAY_SECONDS: i64 = 86_400;
/// Nanoseconds in a second.
pub(crate) const SECOND_NANOS: i64 = 1_000_000_000;
/// Nanoseconds in a day.
pub(crate) const DAY_NANOS: i64 = DAY_SECONDS * SECOND_NANOS;
/// The largest year of a date. The smallest is its negative.
pub(crate) const MAX_YEAR: i64 = 999_999_999;

/// The day since 1970-01-01 of a date in the Gregorian calendar. The day may be after the end of
/// the month.
pub(crate) fn day_of(year: i64, month: i64, day: i64) -> i64 {
    // A year from March has its leap day at the end, so that months have the same lengths each
    // year.
    let (year, day_of_year) = from_march(year, month, day);
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - GREGORIAN_SHIFT
}

/// The day since 1970-01-01 of a date in the Julian calendar. The day may be after the end of the
/// month.
pub(crate) fn julian_day_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, day_of_year) = from_march(year, month, day);
    year * 365 + year.div_euclid(4) + day_of_year - JULIAN_SHIFT
}

/// The year, month and day in the Gregorian calendar of a day since 1970-01-01.
pub(crate) fn date_of(day: i64) -> (i64, u8, u8) {
    let shifted = day + GREGORIAN_SHIFT;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    // A leap day at the end of 4, 100 and 400 years would be counted as a year of its own.
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    to_january(year_of_era + era * 400, day_of_year)
}

/// The year, month and day in the Julian calendar of a day since 1970-01-01.
pub(crate) fn julian_date_of(day: i64) -> (i64, u8, u8) {
    let shifted = day + JULIAN_SHIFT;
    let (era, day_of_era) = (shifted.div_euclid(1461), shifted.rem_euclid(1461));
    let year_of_era = (day_of_era - day_of_era / 1460) / 365;
    to_january(year_of_era + era * 4, day_of_era - 365 * year_of_era)
}

/// The year that starts in March, and the day in it.
fn from_march(year: i64, month: i64, day: i64) -> (i64, i64) {
    let year = if month <= 2 { year - 1 } else { year };
    // From March on, five months have 153 days, and the pattern repeats.
    (year, (153 * ((month + 9) % 12) + 2) / 5 + day - 1)
}

fn to_january(year: i64, day_of_year: i64) -> (i64, u8, u8) {
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a month is at most 12, a day at most 31"
    )]
    let (month, day) = (month as u8, day as u8);
    (if month <= 2 { year + 1 } else { year }, month, day)
}

pub(crate) fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// The number of days of a month; 0 if there is no such month.
pub(crate) fn month_length(year: i64, month: u8) -> u8 {
    match month {
        2 => 28 + u8::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}
