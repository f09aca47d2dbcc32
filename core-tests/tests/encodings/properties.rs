//! Properties that all encodings have, on random values, and the typed side.

use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, LazyLock};

use permazen::encoding::number::{
    BigDecimal, BigInteger, BitSet, DoubleSummaryStatistics, IntSummaryStatistics,
    LongSummaryStatistics,
};
use permazen::encoding::textual::{FilePath, InternetAddress, Pattern, Uri};
use permazen::encoding::time::{
    Date, Duration, Instant, LocalDate, LocalDateTime, LocalTime, MonthDay, OffsetDateTime,
    OffsetTime, Period, Year, YearMonth, ZoneId, ZoneOffset, ZonedDateTime,
};
use permazen::encoding::{
    ByteArray, Encodable, Encoding, EncodingRegistry, JavaChar, JavaString, Reader, Uuid, Value,
    string,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::catalogue;
use super::support::{
    any_decimal, any_instant, any_integer, any_ints, any_ipv6, any_local_date, any_local_date_time,
    any_local_time, any_long, any_offset, any_offset_date_time, any_string, any_uuid, any_zone,
    any_zoned, cases, check_order, check_text, check_value, encoded,
};

macro_rules! properties {
    ($($name:ident: $type:ty = $strategy:expr, text $text:literal;)*) => {
        mod ordered {
            use super::*;
            proptest! {
                $(#[test]
                fn $name(a in $strategy, b in $strategy) {
                    let (a, b): ($type, $type) = (a, b);
                    check_value(&a);
                    check_order(&a, &b, a.cmp(&b));
                    check_order(&a, &a, Ordering::Equal);
                    if $text {
                        check_text(&a);
                    }
                })*
            }
        }
    };
}

properties! {
    booleans: bool = any::<bool>(), text true;
    bytes: i8 = any::<i8>(), text true;
    shorts: i16 = any::<i16>(), text true;
    ints: i32 = any_long().prop_map(|number| number as i32), text true;
    longs: i64 = any_long(), text true;
    chars: JavaChar = any::<u16>().prop_map(JavaChar), text true;
    strings: JavaString = any_string(), text true;
    boolean_arrays: Box<[bool]> = vec(any::<bool>(), 0..12).prop_map(Into::into), text true;
    byte_arrays: Box<[i8]> = vec(any::<i8>(), 0..40).prop_map(Into::into), text true;
    unsigned_byte_arrays: ByteArray = vec(any::<u8>(), 0..40).prop_map(Into::into), text true;
    short_arrays: Box<[i16]> = vec(any::<i16>(), 0..24).prop_map(Into::into), text true;
    int_arrays: Box<[i32]> = vec(any_long().prop_map(|number| number as i32), 0..24).prop_map(Into::into), text true;
    long_arrays: Box<[i64]> = vec(any_long(), 0..24).prop_map(Into::into), text true;
    char_arrays: Box<[JavaChar]> = vec(any::<u16>().prop_map(JavaChar), 0..8).prop_map(Into::into), text true;
    big_integers: BigInteger = any_integer(), text true;
    big_decimals: BigDecimal = any_decimal(), text true;
    bit_sets: BitSet = vec(0usize..200, 0..10).prop_map(|bits| bits.into_iter().collect()), text true;
    uuids: Uuid = any_uuid(), text true;
    int_statistics: IntSummaryStatistics = (any_long(), 0i64..9, any::<i32>(), any::<i32>())
        .prop_map(|(sum, count, a, b)| IntSummaryStatistics::new(sum, count, a.min(b), a.max(b)).expect("valid")), text true;
    long_statistics: LongSummaryStatistics = (any_long(), 0i64..9, any_long(), any_long())
        .prop_map(|(sum, count, a, b)| LongSummaryStatistics::new(sum, count, a.min(b), a.max(b)).expect("valid")), text true;
    double_statistics: DoubleSummaryStatistics = (any::<f64>(), 0i64..9, any::<f64>(), any::<f64>())
        .prop_map(|(sum, count, a, b)| DoubleSummaryStatistics::new(sum, count, a.min(b), a.max(b)).unwrap_or(DoubleSummaryStatistics::EMPTY)),
        text true;
    // Years before 1 and after 9999 are printed as texts that are read back as other years.
    java_dates: Date = any_long().prop_map(Date::from_millis), text false;
    recent_java_dates: Date = (-62_135_000_000_000i64..253_402_000_000_000).prop_map(Date::from_millis), text true;
    instants: Instant = any_instant(), text true;
    durations: Duration = (any_long(), 0i64..1_000_000_000).prop_map(|(second, nano)| Duration::new(second, nano).expect("in range")), text true;
    local_dates: LocalDate = any_local_date(), text true;
    local_times: LocalTime = any_local_time(), text true;
    local_date_times: LocalDateTime = any_local_date_time(), text true;
    month_days: MonthDay = (1u8..=12, 1u8..=29).prop_map(|(month, day)| MonthDay::new(month, day).expect("exists")), text true;
    years: Year = (-9999i32..999_999_999).prop_map(|year| Year::new(year).expect("in range")), text true;
    year_months: YearMonth = (-999_999_999i32..=9999, 1u8..=12).prop_map(|(year, month)| YearMonth::new(year, month).expect("in range")), text true;
    periods: Period = any::<[i32; 3]>().prop_map(|[years, months, days]| Period { years, months, days }), text true;
    zone_offsets: ZoneOffset = any_offset(), text true;
    zones: ZoneId = any_zone(), text true;
    offset_times: OffsetTime = (any_local_time(), any_offset()).prop_map(|(time, offset)| OffsetTime::new(time, offset)), text true;
    offset_date_times: OffsetDateTime = any_offset_date_time(), text true;
    zoned_date_times: ZonedDateTime = any_zoned(), text true;
    ipv4: Ipv4Addr = any::<u32>().prop_map(Ipv4Addr::from), text true;
    ipv6: Ipv6Addr = any_ipv6(), text true;
    ip: IpAddr = prop_oneof![any::<u32>().prop_map(|bits| IpAddr::V4(bits.into())), any_ipv6().prop_map(IpAddr::V6)], text true;
    files: FilePath = "[a-z./ ]{0,12}".prop_map(|path| FilePath::new(&path)), text true;
    uris: Uri = "[a-z]{1,4}:(//[a-z.]{1,8})?(/[a-z%é]{0,3}41)?(\\?[a-z=&]{0,5})?".prop_filter_map("a URI", |uri| Uri::new(&uri).ok()), text true;
    patterns: Pattern = "[a-c.*+?|()\\[\\]]{0,6}".prop_filter_map("a pattern", |pattern| Pattern::new(&pattern).ok()), text true;
    addresses: InternetAddress = "([A-Z][a-z .]{0,8} )?<[a-z.]{1,5}@[a-z.]{1,5}>"
        .prop_filter_map("an address", |address| InternetAddress::new(&address).ok()), text true;
}

fn nullable<T: Encodable>(
    item: impl Strategy<Value = T>,
) -> impl Strategy<Value = Box<[Option<T>]>> {
    vec(prop::option::of(item), 0..5).prop_map(Into::into)
}

/// Arrays compare element by element, with null last. A shorter array comes before those that begin
/// with it.
fn check_arrays<T: Encodable + Ord>(a: Box<[Option<T>]>, b: Box<[Option<T>]>) {
    check_value(&a);
    check_text(&a);
    let null_last = |array: &[Option<T>]| -> Vec<(bool, Option<T>)> {
        array.iter().map(|item| (item.is_none(), item.clone())).collect()
    };
    check_order(&a, &b, null_last(&a).cmp(&null_last(&b)));
}

proptest! {
    #[test]
    fn string_arrays(a in nullable(any_string()), b in nullable(any_string())) {
        check_arrays(a, b);
    }

    #[test]
    fn date_arrays(a in nullable(any_local_date()), b in nullable(any_local_date())) {
        check_arrays(a, b);
    }

    #[test]
    fn uuid_arrays(a in nullable(any_uuid()), b in nullable(any_uuid())) {
        check_arrays(a, b);
    }

    #[test]
    fn int_array_arrays(a in nullable(any_ints()), b in nullable(any_ints())) {
        check_arrays(a, b);
    }

    #[test]
    fn string_array_arrays(a in nullable(nullable(any_string()))) {
        check_value(&a);
        check_text(&a);
    }

    #[test]
    fn floats(a in any::<f32>(), b in any::<f32>()) {
        check_value(&a);
        check_text(&a);
        check_order(&a, &b, a.total_cmp(&b));
    }

    #[test]
    fn doubles(a in any::<f64>(), b in any::<f64>()) {
        check_value(&a);
        check_text(&a);
        check_order(&a, &b, a.total_cmp(&b));
    }

    #[test]
    fn float_arrays(items in vec(any::<f64>(), 0..24)) {
        let narrow: Box<[f32]> = items.iter().map(|&item| item as f32).collect();
        check_value(&narrow);
        check_text(&narrow);
        let items: Box<[f64]> = items.into();
        check_value(&items);
        check_text(&items);
    }

    /// Rust texts and Java strings have the same encoding.
    #[test]
    fn texts(text in any::<String>()) {
        check_value(&text);
        check_text(&text);
        let mut bytes = encoded(&text);
        prop_assert_eq!(&bytes, &encoded(&JavaString::from(text.as_str())));
        let borrowed = string::read_cow(&mut Reader::new(&bytes)).expect("just written");
        prop_assert_eq!(borrowed.as_ref(), text.as_str());
        bytes.truncate(bytes.len() - 1);
        prop_assert!(string::read_cow(&mut Reader::new(&bytes)).is_err());
    }

    #[test]
    fn text_order(a in any::<String>(), b in any::<String>()) {
        check_order(&a, &b, string::compare(&a, &b));
    }
}

/// Whether a value is a time in a region, or has one among its parts.
fn is_in_region(value: &Value) -> bool {
    match value {
        Value::ZonedDateTime(time) => time.zone().region().is_some(),
        Value::Array(items) | Value::Tuple(items) => items.iter().any(is_in_region),
        _ => false,
    }
}

/// Every registered encoding, arrays of them, and encodings that schemas build.
static ALL: LazyLock<Vec<Arc<dyn Encoding>>> = LazyLock::new(catalogue::all_encodings);

#[test]
fn the_catalogue_is_complete() {
    let count = EncodingRegistry::new().ids().len();
    assert_eq!(count, 55, "a new encoding also needs a line in `properties!`");
    assert_eq!(ALL.len(), 55 * 3 - 9 * 2 + 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(700)))]

    /// Any bytes are refused, or read as a value that is then written and read back as the same
    /// value.
    #[test]
    fn any_bytes(bytes in prop_oneof![vec(any::<u8>(), 0..40), vec(prop_oneof![Just(0u8), Just(1), Just(0x7f), Just(0xff), any::<u8>()], 0..16)]) {
        for encoding in &*ALL {
            let mut reader = Reader::new(&bytes);
            let read = encoding.decode(&mut reader);
            let used = bytes.len() - reader.rest().len();
            let mut skipper = Reader::new(&bytes);
            let skipped = encoding.skip(&mut skipper);
            let Ok(value) = read else { continue };
            prop_assert!(skipped.is_ok(), "{} does not skip {:?}", encoding.name(), value);
            prop_assert_eq!(bytes.len() - skipper.rest().len(), used, "{} skips {:?}", encoding.name(), value);
            prop_assert!(used > 0);
            // A few values can be read but not written. All of them are zero with a negative scale,
            // or similar.
            let Ok(canonical) = encoding.encode_all(&value) else { continue };
            prop_assert_eq!(encoding.decode_all(&canonical).expect("just written"), value.clone());
            let is_canonical = encoding.check_canonical(&bytes[..used]).is_ok();
            // A time in a region may keep an offset from an older edition of the region's rules.
            prop_assert!(is_canonical == (canonical == bytes[..used]) || is_canonical && is_in_region(&value));
            prop_assert_eq!(encoding.to_text(&value).is_err(), value.is_null());
        }
    }

    /// Any text is refused or read as a value.
    #[test]
    fn any_text(text in prop_oneof![any::<String>(), "[-+0-9:.TZPYMDHS\\[\\]\", nulE/@\\\\(){}]{0,24}"]) {
        for encoding in &*ALL {
            let Ok(value) = encoding.from_text(&text) else { continue };
            let Ok(bytes) = encoding.encode_all(&value) else { continue };
            prop_assert_eq!(encoding.decode_all(&bytes).expect("just written"), value);
        }
    }
}
