//! The IDs of the built-in encodings.

use super::EncodingId;

/// The ID of a built-in encoding.
macro_rules! id {
    ($name:literal) => {
        EncodingId::known(concat!("urn:fdc:permazen.io:2020:", $name))
    };
}

/// `boolean`
pub const BOOLEAN: EncodingId = id!("boolean");
/// `byte`
pub const BYTE: EncodingId = id!("byte");
/// `char`
pub const CHAR: EncodingId = id!("char");
/// `short`
pub const SHORT: EncodingId = id!("short");
/// `int`
pub const INT: EncodingId = id!("int");
/// `long`
pub const LONG: EncodingId = id!("long");
/// `float`
pub const FLOAT: EncodingId = id!("float");
/// `double`
pub const DOUBLE: EncodingId = id!("double");
/// `Boolean`
pub const BOOLEAN_OR_NULL: EncodingId = id!("Boolean");
/// `Byte`
pub const BYTE_OR_NULL: EncodingId = id!("Byte");
/// `Character`
pub const CHAR_OR_NULL: EncodingId = id!("Character");
/// `Short`
pub const SHORT_OR_NULL: EncodingId = id!("Short");
/// `Integer`
pub const INT_OR_NULL: EncodingId = id!("Integer");
/// `Long`
pub const LONG_OR_NULL: EncodingId = id!("Long");
/// `Float`
pub const FLOAT_OR_NULL: EncodingId = id!("Float");
/// `Double`
pub const DOUBLE_OR_NULL: EncodingId = id!("Double");
/// `Void`
pub const VOID: EncodingId = id!("Void");
/// `boolean[]`
pub const BOOLEAN_ARRAY: EncodingId = id!("boolean[]");
/// `byte[]`
pub const BYTE_ARRAY: EncodingId = id!("byte[]");
/// `char[]`
pub const CHAR_ARRAY: EncodingId = id!("char[]");
/// `short[]`
pub const SHORT_ARRAY: EncodingId = id!("short[]");
/// `int[]`
pub const INT_ARRAY: EncodingId = id!("int[]");
/// `long[]`
pub const LONG_ARRAY: EncodingId = id!("long[]");
/// `float[]`
pub const FLOAT_ARRAY: EncodingId = id!("float[]");
/// `double[]`
pub const DOUBLE_ARRAY: EncodingId = id!("double[]");
/// `String`
pub const STRING: EncodingId = id!("String");
/// `BigDecimal`
pub const BIG_DECIMAL: EncodingId = id!("BigDecimal");
/// `BigInteger`
pub const BIG_INTEGER: EncodingId = id!("BigInteger");
/// `BitSet`
pub const BIT_SET: EncodingId = id!("BitSet");
/// `Date`
pub const DATE: EncodingId = id!("Date");
/// `UUID`
pub const UUID: EncodingId = id!("UUID");
/// `IntSummaryStatistics`
pub const INT_SUMMARY_STATISTICS: EncodingId = id!("IntSummaryStatistics");
/// `LongSummaryStatistics`
pub const LONG_SUMMARY_STATISTICS: EncodingId = id!("LongSummaryStatistics");
/// `DoubleSummaryStatistics`
pub const DOUBLE_SUMMARY_STATISTICS: EncodingId = id!("DoubleSummaryStatistics");
/// `File`
pub const FILE: EncodingId = id!("File");
/// `URI`
pub const URI: EncodingId = id!("URI");
/// `Pattern`
pub const PATTERN: EncodingId = id!("Pattern");
/// `InternetAddress`
pub const INTERNET_ADDRESS: EncodingId = id!("InternetAddress");
/// `Inet4Address`
pub const INET4_ADDRESS: EncodingId = id!("Inet4Address");
/// `Inet6Address`
pub const INET6_ADDRESS: EncodingId = id!("Inet6Address");
/// `InetAddress`
pub const INET_ADDRESS: EncodingId = id!("InetAddress");
/// `Duration`
pub const DURATION: EncodingId = id!("Duration");
/// `Instant`
pub const INSTANT: EncodingId = id!("Instant");
/// `LocalDate`
pub const LOCAL_DATE: EncodingId = id!("LocalDate");
/// `LocalDateTime`
pub const LOCAL_DATE_TIME: EncodingId = id!("LocalDateTime");
/// `LocalTime`
pub const LOCAL_TIME: EncodingId = id!("LocalTime");
/// `MonthDay`
pub const MONTH_DAY: EncodingId = id!("MonthDay");
/// `OffsetDateTime`
pub const OFFSET_DATE_TIME: EncodingId = id!("OffsetDateTime");
/// `OffsetTime`
pub const OFFSET_TIME: EncodingId = id!("OffsetTime");
/// `Period`
pub const PERIOD: EncodingId = id!("Period");
/// `Year`
pub const YEAR: EncodingId = id!("Year");
/// `YearMonth`
pub const YEAR_MONTH: EncodingId = id!("YearMonth");
/// `ZoneOffset`
pub const ZONE_OFFSET: EncodingId = id!("ZoneOffset");
/// `ZoneId`
pub const ZONE_ID: EncodingId = id!("ZoneId");
/// `ZonedDateTime`
pub const ZONED_DATE_TIME: EncodingId = id!("ZonedDateTime");
