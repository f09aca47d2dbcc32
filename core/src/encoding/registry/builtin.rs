//! The built-in encodings (docs/src/encodings.md).

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::bytes::invalid;
use crate::encoding::number::{
    BigDecimal, BigInteger, BitSet, DoubleSummaryStatistics, IntSummaryStatistics,
    LongSummaryStatistics,
};
use crate::encoding::textual::{FilePath, InternetAddress, Pattern, Uri};
use crate::encoding::time::{
    Date, Duration, Instant, LocalDate, LocalDateTime, LocalTime, MonthDay, OffsetDateTime,
    OffsetTime, Period, Year, YearMonth, ZoneId, ZoneOffset, ZonedDateTime,
};
use crate::encoding::uuid::Uuid;
use crate::encoding::{
    Encodable, Encoding, EncodingId, JavaChar, Reader, Result, StringEncoding, TypedEncoding,
    Value, ids,
};

/// The encodings of a primitive type: without null, with null, and of arrays.
fn primitive<T: Encodable>(encodings: &mut Vec<Arc<dyn Encoding>>) {
    encodings.push(Arc::new(TypedEncoding::<T>::not_null()));
    encodings.push(Arc::new(TypedEncoding::<T>::nullable()));
    encodings.push(Arc::new(TypedEncoding::<Box<[T]>>::nullable()));
}

fn nullable<T: Encodable>(encodings: &mut Vec<Arc<dyn Encoding>>) {
    encodings.push(Arc::new(TypedEncoding::<T>::nullable()));
}

pub(crate) fn all() -> Vec<Arc<dyn Encoding>> {
    let mut encodings = Vec::with_capacity(64);
    let list = &mut encodings;
    primitive::<bool>(list);
    primitive::<i8>(list);
    primitive::<i16>(list);
    primitive::<i32>(list);
    primitive::<i64>(list);
    primitive::<JavaChar>(list);
    primitive::<f32>(list);
    primitive::<f64>(list);
    nullable::<Void>(list);
    list.push(Arc::new(StringEncoding::nullable()));
    nullable::<BigDecimal>(list);
    nullable::<BigInteger>(list);
    nullable::<BitSet>(list);
    nullable::<Date>(list);
    nullable::<Uuid>(list);
    nullable::<IntSummaryStatistics>(list);
    nullable::<LongSummaryStatistics>(list);
    nullable::<DoubleSummaryStatistics>(list);
    nullable::<FilePath>(list);
    nullable::<Uri>(list);
    nullable::<Pattern>(list);
    nullable::<InternetAddress>(list);
    nullable::<Ipv4Addr>(list);
    nullable::<Ipv6Addr>(list);
    nullable::<IpAddr>(list);
    nullable::<Duration>(list);
    nullable::<Instant>(list);
    nullable::<LocalDate>(list);
    nullable::<LocalDateTime>(list);
    nullable::<LocalTime>(list);
    nullable::<MonthDay>(list);
    nullable::<OffsetDateTime>(list);
    nullable::<OffsetTime>(list);
    nullable::<Period>(list);
    nullable::<Year>(list);
    nullable::<YearMonth>(list);
    nullable::<ZoneOffset>(list);
    nullable::<ZoneId>(list);
    nullable::<ZonedDateTime>(list);
    encodings
}

/// The type of Java's `Void`: its only value is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Void {}

impl Encodable for Void {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;
    const SORTS_NATURALLY: bool = true;

    fn encoding_id() -> EncodingId {
        ids::VOID
    }

    fn write_to(&self, _out: &mut Vec<u8>) -> Result<()> {
        match *self {}
    }

    fn read_from(_reader: &mut Reader<'_>) -> Result<Self> {
        invalid("Void has no value but null")
    }

    fn to_text(&self) -> String {
        match *self {}
    }

    fn from_text(_text: &str) -> Result<Self> {
        invalid("Void has no value but null")
    }

    fn into_value(self) -> Value {
        match self {}
    }

    fn borrow_value(_value: &Value) -> Option<Cow<'_, Self>> {
        None
    }
}
