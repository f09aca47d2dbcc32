//! The rules for every value, and random values of the types that need more than their bits.

use std::cmp::Ordering;
use std::net::Ipv6Addr;

use permazen::encoding::number::{BigDecimal, BigInteger};
use permazen::encoding::time::{
    Instant, LocalDate, LocalDateTime, LocalTime, OffsetDateTime, ZoneId, ZoneOffset, ZonedDateTime,
};
use permazen::encoding::{Encodable, FieldType, JavaString, Reader, Uuid, Value};
use proptest::collection::vec;
use proptest::prelude::*;

/// How many random values are tried. `PERMAZEN_TEXTS` sets this.
pub(crate) fn cases(default: u32) -> u32 {
    let wanted = std::env::var("PERMAZEN_TEXTS").ok();
    wanted.map_or(default, |text| text.parse().expect("PERMAZEN_TEXTS is a number"))
}

pub(crate) fn encoded<T: FieldType>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode_to(&mut out).expect("storable");
    out
}

/// The rules for every value. It is read back from its bytes, its text and its dynamic form. Every
/// way of writing it gives the same bytes.
pub(crate) fn check_value<T: Encodable + PartialEq>(value: &T) {
    let bytes = encoded(value);
    assert_eq!(&T::decode_all(&bytes).expect("just written"), value);
    assert_eq!(encoded(&Some(value.clone())).last(), bytes.last());
    let mut reader = Reader::new(&bytes);
    T::skip_encoded(&mut reader).expect("just written");
    assert!(reader.is_empty());
    for end in 0..bytes.len() {
        assert!(T::decode_all(&bytes[..end]).is_err(), "{value:?} cut to {end}");
        assert!(
            T::skip_encoded(&mut Reader::new(&bytes[..end])).is_err(),
            "{value:?} skipped when cut to {end}"
        );
    }

    let encoding = T::encoding();
    let dynamic = value.to_value();
    assert_eq!(encoding.encode_all(&dynamic).expect("storable"), bytes);
    assert_eq!(encoding.decode_all(&bytes).expect("just written"), dynamic);
    encoding.check_canonical(&bytes).expect("just written");
    assert_eq!(&T::from_value(&dynamic).expect("of this type"), value);
    assert_eq!(&dynamic.get::<T>().expect("of this type"), value);
    assert_eq!(encoding.to_text(&dynamic).expect("not null"), value.to_text());
    let mut reader = Reader::new(&bytes);
    encoding.skip(&mut reader).expect("just written");
    assert!(reader.is_empty());
}

pub(crate) fn check_text<T: Encodable + PartialEq>(value: &T) {
    let text = value.to_text();
    assert_eq!(&T::from_text(&text).expect("just printed"), value, "{text:?}");
}

/// Two values have the same order as their bytes, and null comes last.
pub(crate) fn check_order<T: Encodable>(a: &T, b: &T, order: Ordering) {
    assert_eq!(encoded(a).cmp(&encoded(b)), order, "{a:?} and {b:?}");
    assert_eq!(a.to_value().cmp(&b.to_value()), order, "{a:?} and {b:?}");
    assert!(encoded(&Some(a.clone())) < encoded(&None::<T>));
    assert!(a.to_value() < Value::Null);
}

pub(crate) fn any_string() -> impl Strategy<Value = JavaString> {
    let unit = prop_oneof![0u16..0x300, any::<u16>(), 0xd7f0u16..0xe010, 0xfff0u16..=0xffff];
    vec(unit, 0..12).prop_map(|units| JavaString::from_units(&units))
}

pub(crate) fn any_long() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        -400i64..400,
        (0u32..64, any::<i64>()).prop_map(|(shift, number)| number >> shift)
    ]
}

pub(crate) fn any_integer() -> impl Strategy<Value = BigInteger> {
    prop_oneof![
        any_long().prop_map(BigInteger::from),
        vec(any::<u8>(), 0..40).prop_map(|bytes| BigInteger::from_signed_bytes(&bytes))
    ]
}

pub(crate) fn any_decimal() -> impl Strategy<Value = BigDecimal> {
    let storable = |decimal: &BigDecimal| !decimal.is_zero() || decimal.scale() >= 0;
    (any_integer(), prop_oneof![-20i32..20, -100_000i32..100_000])
        .prop_map(|(unscaled, scale)| BigDecimal::new(&unscaled, scale))
        .prop_filter("zero with a negative scale cannot be stored", storable)
}

pub(crate) fn any_instant() -> impl Strategy<Value = Instant> {
    let seconds = prop_oneof![
        Instant::MIN.epoch_second()..=Instant::MAX.epoch_second(),
        -100_000_000_000i64..100_000_000_000
    ];
    (seconds, 0i64..1_000_000_000)
        .prop_map(|(second, nano)| Instant::new(second, nano).expect("in range"))
}

pub(crate) fn any_local_date() -> impl Strategy<Value = LocalDate> {
    prop_oneof![LocalDate::MIN.epoch_day()..=LocalDate::MAX.epoch_day(), -1_000_000i64..1_000_000]
        .prop_map(|day| LocalDate::from_epoch_day(day).expect("in range"))
}

pub(crate) fn any_local_time() -> impl Strategy<Value = LocalTime> {
    let unit = prop_oneof![
        Just(1i64),
        Just(1000),
        Just(1_000_000),
        Just(1_000_000_000),
        Just(60_000_000_000)
    ];
    (0..=LocalTime::MAX.nano_of_day(), unit)
        .prop_map(|(nano, unit)| LocalTime::from_nano_of_day(nano / unit * unit).expect("in range"))
}

pub(crate) fn any_local_date_time() -> impl Strategy<Value = LocalDateTime> {
    (any_local_date(), any_local_time()).prop_map(|(date, time)| LocalDateTime::new(date, time))
}

pub(crate) fn any_offset() -> impl Strategy<Value = ZoneOffset> {
    prop_oneof![-64_800i32..=64_800, (-72i32..=72).prop_map(|quarter| quarter * 900)]
        .prop_map(|seconds| ZoneOffset::from_seconds(seconds).expect("in range"))
}

pub(crate) fn any_offset_date_time() -> impl Strategy<Value = OffsetDateTime> {
    (any_local_date_time(), any_offset())
        .prop_map(|(local, offset)| OffsetDateTime::from_local(local, offset))
}

pub(crate) fn any_zone() -> impl Strategy<Value = ZoneId> {
    let region = prop::sample::select(vec![
        "America/New_York",
        "Europe/Vienna",
        "Asia/Kathmandu",
        "Australia/Lord_Howe",
        "UTC",
        "Etc/GMT+5",
    ]);
    prop_oneof![
        any_offset().prop_map(ZoneId::from),
        region.prop_map(|id| ZoneId::new(id).expect("in the database"))
    ]
}

pub(crate) fn any_zoned() -> impl Strategy<Value = ZonedDateTime> {
    let seconds = -62_000_000_000i64..250_000_000_000;
    (seconds, 0i64..1_000_000_000, any_zone()).prop_map(|(second, nano, zone)| {
        ZonedDateTime::new(Instant::new(second, nano).expect("in range"), zone).expect("in range")
    })
}

pub(crate) fn any_uuid() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

pub(crate) fn any_ints() -> impl Strategy<Value = Box<[i32]>> {
    vec(any::<i32>(), 0..4).prop_map(Into::into)
}

pub(crate) fn any_ipv6() -> impl Strategy<Value = Ipv6Addr> {
    let segments = prop::array::uniform8(prop_oneof![Just(0u16), any::<u16>()]);
    segments.prop_map(Ipv6Addr::from).prop_filter("mapped addresses cannot be stored", |address| {
        address.to_ipv4_mapped().is_none()
    })
}
