//! Types of other crates as fields.

use permazen::encoding::number::{BigDecimal, BigInteger};
use permazen::encoding::textual::{Pattern, Uri};
use permazen::encoding::time::{
    Duration, Instant, LocalDate, LocalDateTime, LocalTime, OffsetDateTime, ZoneOffset,
    ZonedDateTime,
};
use permazen::encoding::{Encodable, FieldType, Uuid, Value};

/// A value of the other crate's type has the same bytes, text and dynamic value as ours, in both
/// directions.
fn same<T, O>(text: &str)
where
    T: FieldType + Encodable,
    O: FieldType + Encodable + PartialEq,
{
    let own = O::from_text(text).expect("a text of ours");
    let mut bytes = Vec::new();
    own.encode_to(&mut bytes).expect("storable");
    let other = T::decode_all(&bytes).expect("in the other's range");
    let mut again = Vec::new();
    other.encode_to(&mut again).expect("storable");
    assert_eq!(again, bytes, "{text}");
    assert_eq!(other.to_text(), own.to_text());
    assert_eq!(other.to_value(), own.to_value());
    assert_eq!(T::from_value(&own.to_value()).expect("of this type").to_value(), own.to_value());
    assert_eq!(T::from_text(text).expect("a text of ours").to_value(), own.to_value());
    assert_eq!(<T as FieldType>::encoding_id(), <O as FieldType>::encoding_id());
    assert_eq!(Option::<T>::decode_all(&[0xff]).map(|null| null.is_none()), Ok(true));
    assert!(T::decode_all(&[0xff]).is_err());
    T::skip_encoded(&mut permazen::encoding::Reader::new(&bytes)).expect("just written");
}

/// A value outside of the other type's range is refused, not changed.
fn refused<T: FieldType + Encodable, O: FieldType + Encodable>(text: &str) {
    let own = O::from_text(text).expect("a text of ours");
    let mut bytes = Vec::new();
    own.encode_to(&mut bytes).expect("storable");
    assert!(T::decode_all(&bytes).is_err(), "{text}");
    assert!(T::from_value(&own.to_value()).is_err(), "{text}");
}

/// A value that Java's type cannot hold is refused, not changed.
fn not_storable<T: FieldType + Encodable>(value: &T) {
    let mut bytes = Vec::new();
    assert!(value.encode_to(&mut bytes).is_err() && bytes.is_empty());
    assert!(T::encoding().encode_all(&value.to_value()).is_err());
}

#[test]
fn jiff_types() {
    for text in ["1970-01-01", "-0044-03-15", "9999-12-31", "2024-02-29"] {
        same::<jiff::civil::Date, LocalDate>(text);
    }
    refused::<jiff::civil::Date, LocalDate>("+10000-01-01");
    same::<jiff::civil::Time, LocalTime>("23:59:59.999999999");
    same::<jiff::civil::DateTime, LocalDateTime>("-0001-12-31T00:00:00.000000001");
    for text in ["1969-12-31T23:59:59.999999999Z", "2024-02-29T12:34:56.789Z"] {
        same::<jiff::Timestamp, Instant>(text);
    }
    refused::<jiff::Timestamp, Instant>("+1000000000-12-31T23:59:59Z");
    for text in ["PT-0.5S", "PT2562047788015215H30M7.999999999S", "PT-2562047788015215H-30M-8S"] {
        same::<jiff::SignedDuration, Duration>(text);
    }
    not_storable(&jiff::SignedDuration::MIN);
    same::<jiff::tz::Offset, ZoneOffset>("+05:30");
    same::<jiff::Zoned, ZonedDateTime>("2024-02-29T12:34:56+05:30");
}

#[test]
fn chrono_types() {
    use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
    for text in ["1970-01-01", "-0044-03-15", "+262000-12-31"] {
        same::<NaiveDate, LocalDate>(text);
    }
    refused::<NaiveDate, LocalDate>("+999999999-01-01");
    same::<NaiveTime, LocalTime>("23:59:59.999999999");
    same::<NaiveDateTime, LocalDateTime>("-0001-12-31T00:00:00.000000001");
    same::<DateTime<Utc>, Instant>("1969-12-31T23:59:59.999999999Z");
    same::<DateTime<FixedOffset>, OffsetDateTime>("2024-02-29T12:34:56.789-18:00");
    same::<FixedOffset, ZoneOffset>("-00:00:01");
    same::<TimeDelta, Duration>("PT-0.000000001S");
    refused::<TimeDelta, Duration>("PT2562047788015215H30M7.999999999S");
    let leap = NaiveTime::from_hms_nano_opt(23, 59, 59, 1_500_000_000).expect("a leap second");
    let mut out = Vec::new();
    assert!(leap.encode_to(&mut out).is_err() && out.is_empty());
    assert!(NaiveTime::encoding().encode_all(&leap.to_value()).is_err());
}

#[test]
fn time_types() {
    for text in ["1970-01-01", "-0044-03-15", "9999-12-31"] {
        same::<time::Date, LocalDate>(text);
    }
    refused::<time::Date, LocalDate>("+999999999-01-01");
    same::<time::Time, LocalTime>("23:59:59.999999999");
    same::<time::PrimitiveDateTime, LocalDateTime>("-0001-12-31T00:00:00.000000001");
    same::<time::UtcDateTime, Instant>("1969-12-31T23:59:59.999999999Z");
    same::<time::OffsetDateTime, OffsetDateTime>("2024-02-29T12:34:56.789+05:30");
    same::<time::UtcOffset, ZoneOffset>("-08:00");
    for text in ["PT-0.5S", "PT2562047788015215H30M7.999999999S", "PT-2562047788015215H-30M-8S"] {
        same::<time::Duration, Duration>(text);
    }
    not_storable(&time::Duration::MIN);
}

#[test]
fn numbers() {
    for text in ["0", "-1", "127", "128", "-129", "123456789012345678901234567890"] {
        same::<num_bigint::BigInt, BigInteger>(text);
    }
    for text in
        ["0", "0.00", "1.0", "1E+3", "-123.456", "1E-2000", "123456789012345678901234567890.5"]
    {
        same::<bigdecimal::BigDecimal, BigDecimal>(text);
    }
    for text in ["0", "0.00", "1.0", "-123.456", "79228162514264337593543950335"] {
        same::<rust_decimal::Decimal, BigDecimal>(text);
    }
    refused::<rust_decimal::Decimal, BigDecimal>("79228162514264337593543950336");
    refused::<rust_decimal::Decimal, BigDecimal>("1E-29");
    // The other crate has no negative scale: the digits are written out.
    let thousand =
        rust_decimal::Decimal::try_from(BigDecimal::from_text("1E+3").expect("a number"))
            .expect("in range");
    assert_eq!(thousand.to_text(), "1000");
}

#[test]
fn uuids_urls_and_patterns() {
    same::<uuid::Uuid, Uuid>("89b3ed7f-5a7e-4604-9d42-2072248c91e7");
    same::<url::Url, Uri>("https://example.com/a?b=c#d");
    refused::<url::Url, Uri>("relative/path");
    same::<regex::Regex, Pattern>("a*b");
    refused::<regex::Regex, Pattern>("(?<=a)b");
}

#[test]
fn networks_are_texts() {
    let net: ipnet::IpNet = "10.0.0.0/8".parse().expect("a network");
    let mut bytes = Vec::new();
    net.encode_to(&mut bytes).expect("storable");
    assert_eq!(bytes, b"10.0.0.0/8\0");
    assert_eq!(ipnet::IpNet::decode_all(&bytes), Ok(net));
    assert_eq!(net.to_value(), Value::from("10.0.0.0/8"));
    assert_eq!(net.to_value().get::<ipnet::IpNet>(), Ok(net));
    assert!(ipnet::Ipv6Net::decode_all(&bytes).is_err());
    assert_eq!(Option::<ipnet::IpNet>::decode_all(&[0xff]), Ok(None));
}
