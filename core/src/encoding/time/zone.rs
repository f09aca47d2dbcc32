//! Time zones, and times in a zone: `ZoneId`, `ZonedDateTime`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::Write;

use super::scan::{parse_all, parsed};
use super::zone_rules::ZoneRules;
use super::{Instant, LocalDateTime, OffsetDateTime, ZoneOffset};
use crate::bytes::invalid;
use crate::encoding::text::{escape, text_impls, unescape};
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, Reader, Result, Value, ids, string};

/// A time zone: an offset, or a region of the time zone database.
///
/// A region that always has the same offset is the zone of that offset, as everywhere in Permazen:
/// `UTC` is `Z`.
#[derive(Clone)]
pub struct ZoneId(Zone);

#[derive(Clone)]
enum Zone {
    Offset(ZoneOffset),
    Region(ZoneRules),
}

impl PartialEq for ZoneId {
    fn eq(&self, other: &Self) -> bool {
        self.offset() == other.offset() && self.region() == other.region()
    }
}

impl Eq for ZoneId {}

impl Hash for ZoneId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.offset().hash(state);
        self.region().hash(state);
    }
}

impl fmt::Debug for ZoneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZoneId({self})")
    }
}

impl ZoneId {
    /// The zone UTC.
    pub const UTC: ZoneId = ZoneId(Zone::Offset(ZoneOffset::UTC));

    /// The zone with this ID. Accepts what Java's `ZoneId.of` accepts.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if the text is neither
    /// an offset (`+01:00`, `UTC+1`) nor the name of a region.
    pub fn new(id: &str) -> Result<Self> {
        parsed("time zone", id, Self::parse(id))
    }

    /// The offset, if the zone is an offset.
    pub fn offset(&self) -> Option<ZoneOffset> {
        match self.0 {
            Zone::Offset(offset) => Some(offset),
            Zone::Region(_) => None,
        }
    }

    /// The name of the region, if the zone is a region.
    pub fn region(&self) -> Option<&str> {
        match &self.0 {
            Zone::Offset(_) => None,
            Zone::Region(rules) => Some(rules.name()),
        }
    }

    /// The offset of the zone at a point in time.
    pub fn offset_at(&self, instant: Instant) -> ZoneOffset {
        match &self.0 {
            Zone::Offset(offset) => *offset,
            // A region has an offset at any time; without data, UTC is shown.
            Zone::Region(rules) => rules
                .offset_at(instant.epoch_second())
                .and_then(|seconds| ZoneOffset::from_seconds(seconds).ok())
                .unwrap_or_default(),
        }
    }

    fn parse(id: &str) -> Option<Self> {
        // Only offsets are this short or begin with a sign.
        if id.len() <= 1 || id.starts_with(['+', '-']) {
            return ZoneOffset::parse(id).map(Self::from);
        }
        // `UTC` begins with `UT`, so it is tried first.
        for prefix in ["UTC", "GMT", "UT"] {
            if let Some(rest) = id.strip_prefix(prefix) {
                match rest.as_bytes().first() {
                    None => return Some(Self::UTC),
                    Some(b'+' | b'-') => return ZoneOffset::parse(rest).map(Self::from),
                    // A region can begin with these letters too.
                    Some(_) => break,
                }
            }
        }
        let rules = ZoneRules::of(id)?;
        // Java and this crate must store one zone in one way.
        match rules.fixed_offset() {
            Some(seconds) => ZoneOffset::from_seconds(seconds).ok().map(Self::from),
            None => Some(ZoneId(Zone::Region(rules))),
        }
    }
}

impl From<ZoneOffset> for ZoneId {
    fn from(offset: ZoneOffset) -> Self {
        ZoneId(Zone::Offset(offset))
    }
}

impl fmt::Display for ZoneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Zone::Offset(offset) => offset.fmt(f),
            Zone::Region(rules) => f.write_str(rules.name()),
        }
    }
}

impl PartialOrd for ZoneId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ZoneId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl Encodable for ZoneId {
    const PREFIX_FF: bool = false;
    plain_value!(ZoneId, ids::ZONE_ID);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        match &self.0 {
            Zone::Offset(offset) => {
                // In an encoded string, ASCII characters stay as they are and 00 is the end.
                let _ = write!(out, "{offset}\0");
            }
            Zone::Region(rules) => string::write(rules.name(), out),
        }
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        Self::new(&string::read_cow(reader)?)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        string::skip(reader)
    }

    fn to_text(&self) -> String {
        escape(self.to_string().encode_utf16(), false)
    }

    fn from_text(text: &str) -> Result<Self> {
        // A zone has no unpaired surrogates, so replacing them only makes the text invalid.
        Self::new(&unescape(text)?.to_string_lossy())
    }
}

/// A point in time in a time zone. It sorts by the point in time, then by descending offset, then
/// by the ID of the zone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZonedDateTime {
    /// Its offset is the one that the zone has at that time.
    date_time: OffsetDateTime,
    zone: ZoneId,
}

impl ZonedDateTime {
    /// A point in time in a zone.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if the local time is
    /// outside the range of [`LocalDateTime`].
    pub fn new(instant: Instant, zone: ZoneId) -> Result<Self> {
        let date_time = OffsetDateTime::new(instant, zone.offset_at(instant))?;
        Ok(ZonedDateTime { date_time, zone })
    }

    /// The point in time.
    pub fn instant(&self) -> Instant {
        self.date_time.instant()
    }

    /// The offset at that time.
    pub fn offset(&self) -> ZoneOffset {
        self.date_time.offset()
    }

    /// The local time.
    pub fn local(&self) -> LocalDateTime {
        self.date_time.local()
    }

    /// The zone.
    pub fn zone(&self) -> &ZoneId {
        &self.zone
    }
}

impl fmt::Display for ZonedDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.date_time.fmt(f)?;
        match self.zone.region() {
            Some(name) => write!(f, "[{name}]"),
            None => Ok(()),
        }
    }
}

impl Encodable for ZonedDateTime {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;
    plain_value!(ZonedDateTime, ids::ZONED_DATE_TIME);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        self.date_time.write_to(out)?;
        self.zone.write_to(out)
    }

    /// The stored offset must be valid, but the result has the zone's offset.
    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        // The offset can differ from that of the zone's rules now, and the point in time counts.
        let stored = OffsetDateTime::read_from(reader)?;
        // `ff` would be a zone that is null.
        if reader.peek() == Some(0xff) {
            return invalid("a date and time without its time zone");
        }
        Self::new(stored.instant(), ZoneId::read_from(reader)?)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        OffsetDateTime::skip_over(reader)?;
        ZoneId::skip_over(reader)
    }

    /// In a region, any valid offset is accepted. The rules of regions change, so the right offset
    /// may have changed since the value was written.
    fn is_canonical(reader: &mut Reader<'_>) -> Option<Result<bool>> {
        let start = reader.rest();
        let check = |reader: &mut Reader<'_>| {
            let stored = OffsetDateTime::read_from(reader)?;
            let zone = ZoneId::read_from(reader)?;
            // An offset has no rules that change, so another stored offset is damage.
            if zone.offset().is_some_and(|offset| offset != stored.offset()) {
                return Ok(false);
            }
            let mut again = Vec::new();
            stored.write_to(&mut again)?;
            zone.write_to(&mut again)?;
            Ok(start.get(..start.len() - reader.rest().len()) == Some(&again))
        };
        Some(check(reader))
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        // A zone in brackets is a region; without it the offset is the zone.
        let (date_time, zone) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((date_time, zone)) => (date_time, Some(ZoneId::from_text(zone)?)),
            None => (text, None),
        };
        let date_time = parse_all("date and time with offset", date_time, OffsetDateTime::scan)?;
        Self::new(date_time.instant(), zone.unwrap_or_else(|| date_time.offset().into()))
    }
}

text_impls!(ZoneId, ZonedDateTime);
