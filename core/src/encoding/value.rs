//! Dynamic values: tools, migrations and the untyped API read and write them.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::float;
use super::number::{
    BigDecimal, BigInteger, BitSet, DoubleSummaryStatistics, IntSummaryStatistics,
    LongSummaryStatistics,
};
use super::string::{self, JavaString};
use super::textual::{FilePath, InternetAddress, Pattern, Uri};
use super::time::{
    Date, Duration, Instant, LocalDate, LocalDateTime, LocalTime, MonthDay, OffsetDateTime,
    OffsetTime, Period, Year, YearMonth, ZoneId, ZoneOffset, ZonedDateTime,
};
use super::uuid::Uuid;
use super::{EncodingId, Result};
use crate::id::ObjId;

/// A value of any encoding.
///
/// The type of an encoding decides which variant it takes: `int` and `Integer` take [`Value::Int`],
/// and `Integer` also takes [`Value::Null`]. Values of one encoding compare as their encoded forms
/// do; null comes last. Values of different encodings compare in an unspecified but consistent
/// order.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Value {
    /// `boolean`, `Boolean`
    Bool(bool),
    /// `byte`, `Byte`
    Byte(i8),
    /// `short`, `Short`
    Short(i16),
    /// `int`, `Integer`
    Int(i32),
    /// `long`, `Long`, and counters
    Long(i64),
    /// `char`, `Character`
    Char(JavaChar),
    /// `float`, `Float`
    Float(f32),
    /// `double`, `Double`
    Double(f64),
    /// `String`
    String(String),
    /// `String` with unpaired surrogates. Without them, it equals the [`Value::String`] with the
    /// same text.
    Utf16(JavaString),
    /// A constant of an enum field.
    Enum(EnumValue),
    /// A reference to an object.
    Ref(ObjId),
    /// `boolean[]`
    Bools(Box<[bool]>),
    /// `byte[]`
    Bytes(Box<[i8]>),
    /// `short[]`
    Shorts(Box<[i16]>),
    /// `int[]`
    Ints(Box<[i32]>),
    /// `long[]`
    Longs(Box<[i64]>),
    /// `char[]`
    Chars(Box<[JavaChar]>),
    /// `float[]`
    Floats(Box<[f32]>),
    /// `double[]`
    Doubles(Box<[f64]>),
    /// `BigInteger`
    BigInteger(BigInteger),
    /// `BigDecimal`
    BigDecimal(BigDecimal),
    /// `BitSet`
    BitSet(BitSet),
    /// `UUID`
    Uuid(Uuid),
    /// `Date`
    Date(Date),
    /// `Instant`
    Instant(Instant),
    /// `Duration`
    Duration(Duration),
    /// `LocalDate`
    LocalDate(LocalDate),
    /// `LocalTime`
    LocalTime(LocalTime),
    /// `LocalDateTime`
    LocalDateTime(LocalDateTime),
    /// `OffsetDateTime`
    OffsetDateTime(OffsetDateTime),
    /// `OffsetTime`
    OffsetTime(OffsetTime),
    /// `ZonedDateTime`
    ZonedDateTime(ZonedDateTime),
    /// `ZoneId`
    ZoneId(ZoneId),
    /// `ZoneOffset`
    ZoneOffset(ZoneOffset),
    /// `Year`
    Year(Year),
    /// `YearMonth`
    YearMonth(YearMonth),
    /// `MonthDay`
    MonthDay(MonthDay),
    /// `Period`
    Period(Period),
    /// `IntSummaryStatistics`
    IntSummaryStatistics(IntSummaryStatistics),
    /// `LongSummaryStatistics`
    LongSummaryStatistics(LongSummaryStatistics),
    /// `DoubleSummaryStatistics`
    DoubleSummaryStatistics(DoubleSummaryStatistics),
    /// `File`
    FilePath(FilePath),
    /// `URI`
    Uri(Uri),
    /// `Pattern`
    Pattern(Pattern),
    /// `InternetAddress`
    InternetAddress(InternetAddress),
    /// `Inet4Address`, `InetAddress`
    Inet4Address(Ipv4Addr),
    /// `Inet6Address`, `InetAddress`
    Inet6Address(Ipv6Addr),
    /// An array of anything else. Elements may be null.
    Array(Box<[Value]>),
    /// The components of a composite index.
    Tuple(Box<[Value]>),
    /// The encoded form of a value whose encoding is not built in.
    Custom(CustomValue),
    /// No value.
    Null,
}

/// A UTF-16 unit, as Java's `char` is: any 16-bit number, including surrogates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct JavaChar(pub u16);

impl JavaChar {
    /// The character; `None` if the unit is a surrogate.
    pub fn to_char(self) -> Option<char> {
        char::from_u32(u32::from(self.0))
    }
}

impl TryFrom<char> for JavaChar {
    type Error = std::num::TryFromIntError;

    /// Fails for characters above U+FFFF, because they take two units.
    fn try_from(value: char) -> std::result::Result<Self, Self::Error> {
        u16::try_from(u32::from(value)).map(JavaChar)
    }
}

impl fmt::Debug for JavaChar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_char() {
            Some(char) => fmt::Debug::fmt(&char, f),
            None => write!(f, "'\\u{{{:x}}}'", self.0),
        }
    }
}

/// A constant of an enum field: its name and its position in the schema's list. A value can be
/// written only if both agree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumValue {
    name: Arc<str>,
    ordinal: u32,
}

impl EnumValue {
    /// The constant with this name and position, counted from 0.
    pub fn new(name: impl Into<Arc<str>>, ordinal: u32) -> Self {
        EnumValue { name: name.into(), ordinal }
    }

    /// The identifier.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The position in the list of identifiers.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }
}

impl fmt::Display for EnumValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.ordinal)
    }
}

/// A value whose encoding is not built in: the ID of the encoding and the encoded form.
///
/// A program that does not know the encoding needs nothing else. A program that knows it decodes
/// the encoded form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomValue {
    encoding: EncodingId,
    bytes: Box<[u8]>,
}

impl CustomValue {
    /// The value that `encoding` writes as these bytes.
    pub fn new(encoding: EncodingId, bytes: impl Into<Box<[u8]>>) -> Self {
        CustomValue { encoding, bytes: bytes.into() }
    }

    /// The ID of the encoding.
    pub fn encoding(&self) -> &EncodingId {
        &self.encoding
    }

    /// The encoded form.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Value {
    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The text of a string; `None` for strings with unpaired surrogates and for all other values.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            Value::Utf16(text) => text.as_str(),
            _ => None,
        }
    }

    /// The UTF-16 units of a string; `None` for other values.
    pub(crate) fn string_units(&self) -> Option<Vec<u16>> {
        match self {
            // Java counts a string in units.
            Value::String(text) => Some(text.encode_utf16().collect()),
            Value::Utf16(text) => Some(text.units().collect()),
            _ => None,
        }
    }

    /// Converts the value to a type that fields can have.
    ///
    /// # Errors
    /// [`EncodingError`](super::EncodingError) if the value has another type.
    pub fn get<T: super::FieldType>(&self) -> Result<T> {
        T::from_value(self)
    }

    /// The number of a counter that replaces a field with this value when a schema changes. Numbers
    /// are cast to 64 bits as in Java. `None` if the value is not a number.
    pub fn to_counter(&self) -> Option<i64> {
        super::convert::to_counter(self)
    }

    /// The kind of the value, for messages.
    pub fn type_name(&self) -> Cow<'static, str> {
        let name = match self {
            Value::Bool(_) => "boolean",
            Value::Byte(_) => "byte",
            Value::Short(_) => "short",
            Value::Int(_) => "int",
            Value::Long(_) => "long",
            Value::Char(_) => "char",
            Value::Float(_) => "float",
            Value::Double(_) => "double",
            Value::String(_) | Value::Utf16(_) => "String",
            Value::Enum(_) => "enum",
            Value::Ref(_) => "reference",
            Value::Bools(_) => "boolean[]",
            Value::Bytes(_) => "byte[]",
            Value::Shorts(_) => "short[]",
            Value::Ints(_) => "int[]",
            Value::Longs(_) => "long[]",
            Value::Chars(_) => "char[]",
            Value::Floats(_) => "float[]",
            Value::Doubles(_) => "double[]",
            Value::BigInteger(_) => "BigInteger",
            Value::BigDecimal(_) => "BigDecimal",
            Value::BitSet(_) => "BitSet",
            Value::Uuid(_) => "UUID",
            Value::Date(_) => "Date",
            Value::Instant(_) => "Instant",
            Value::Duration(_) => "Duration",
            Value::LocalDate(_) => "LocalDate",
            Value::LocalTime(_) => "LocalTime",
            Value::LocalDateTime(_) => "LocalDateTime",
            Value::OffsetDateTime(_) => "OffsetDateTime",
            Value::OffsetTime(_) => "OffsetTime",
            Value::ZonedDateTime(_) => "ZonedDateTime",
            Value::ZoneId(_) => "ZoneId",
            Value::ZoneOffset(_) => "ZoneOffset",
            Value::Year(_) => "Year",
            Value::YearMonth(_) => "YearMonth",
            Value::MonthDay(_) => "MonthDay",
            Value::Period(_) => "Period",
            Value::IntSummaryStatistics(_) => "IntSummaryStatistics",
            Value::LongSummaryStatistics(_) => "LongSummaryStatistics",
            Value::DoubleSummaryStatistics(_) => "DoubleSummaryStatistics",
            Value::FilePath(_) => "File",
            Value::Uri(_) => "URI",
            Value::Pattern(_) => "Pattern",
            Value::InternetAddress(_) => "InternetAddress",
            Value::Inet4Address(_) => "Inet4Address",
            Value::Inet6Address(_) => "Inet6Address",
            Value::Array(_) => "array",
            Value::Tuple(_) => "tuple",
            Value::Null => "null",
            Value::Custom(value) => return Cow::Owned(value.encoding.alias().to_owned()),
        };
        Cow::Borrowed(name)
    }

    /// The position of the variant in the order of values of different encodings.
    fn rank(&self) -> u8 {
        match self {
            Value::Bool(_) => 0,
            Value::Byte(_) => 1,
            Value::Short(_) => 2,
            Value::Int(_) => 3,
            Value::Long(_) => 4,
            Value::Char(_) => 5,
            Value::Float(_) => 6,
            Value::Double(_) => 7,
            // Values of both variants can be equal, so their rank, which is hashed, is the same.
            Value::String(_) | Value::Utf16(_) => 8,
            Value::Enum(_) => 9,
            Value::Ref(_) => 10,
            Value::Bools(_) => 11,
            Value::Bytes(_) => 12,
            Value::Shorts(_) => 13,
            Value::Ints(_) => 14,
            Value::Longs(_) => 15,
            Value::Chars(_) => 16,
            Value::Floats(_) => 17,
            Value::Doubles(_) => 18,
            Value::BigInteger(_) => 30,
            Value::BigDecimal(_) => 31,
            Value::BitSet(_) => 32,
            Value::Uuid(_) => 33,
            Value::Date(_) => 34,
            Value::Instant(_) => 35,
            Value::Duration(_) => 36,
            Value::LocalDate(_) => 37,
            Value::LocalTime(_) => 38,
            Value::LocalDateTime(_) => 39,
            Value::OffsetDateTime(_) => 40,
            Value::OffsetTime(_) => 41,
            Value::ZonedDateTime(_) => 42,
            Value::ZoneId(_) => 43,
            Value::ZoneOffset(_) => 44,
            Value::Year(_) => 45,
            Value::YearMonth(_) => 46,
            Value::MonthDay(_) => 47,
            Value::Period(_) => 48,
            Value::IntSummaryStatistics(_) => 49,
            Value::LongSummaryStatistics(_) => 50,
            Value::DoubleSummaryStatistics(_) => 51,
            Value::FilePath(_) => 52,
            Value::Uri(_) => 53,
            Value::Pattern(_) => 54,
            Value::InternetAddress(_) => 55,
            Value::Inet4Address(_) => 56,
            Value::Inet6Address(_) => 57,
            Value::Array(_) => 19,
            Value::Tuple(_) => 20,
            Value::Custom(_) => 254,
            // Null sorts last, also among the elements of arrays and tuples.
            Value::Null => 255,
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        use Value as V;
        match (self, other) {
            (V::Bool(a), V::Bool(b)) => a.cmp(b),
            (V::Byte(a), V::Byte(b)) => a.cmp(b),
            (V::Short(a), V::Short(b)) => a.cmp(b),
            (V::Int(a), V::Int(b)) => a.cmp(b),
            (V::Long(a), V::Long(b)) => a.cmp(b),
            (V::Char(a), V::Char(b)) => a.cmp(b),
            // `f32` has no total order. This one is that of the encoded form, and all NaNs are
            // equal in it.
            (V::Float(a), V::Float(b)) => float::compare_f32(*a, *b),
            (V::Double(a), V::Double(b)) => float::compare_f64(*a, *b),
            // The bytes of UTF-8 sort in another way than UTF-16 units, which the encoded form has.
            (V::String(a), V::String(b)) => string::compare(a, b),
            (V::Utf16(a), V::Utf16(b)) => a.cmp(b),
            // A `Utf16` may have no unpaired surrogate. Then it must equal the `String` with its
            // text.
            (V::String(a), V::Utf16(b)) => a.encode_utf16().cmp(b.units()),
            (V::Utf16(a), V::String(b)) => a.units().cmp(b.encode_utf16()),
            // The encoded form has the position only. The name keeps constants of two schemas
            // apart.
            (V::Enum(a), V::Enum(b)) => a.ordinal.cmp(&b.ordinal).then_with(|| a.name.cmp(&b.name)),
            (V::Ref(a), V::Ref(b)) => a.cmp(b),
            (V::Bools(a), V::Bools(b)) => a.cmp(b),
            (V::Bytes(a), V::Bytes(b)) => a.cmp(b),
            (V::Shorts(a), V::Shorts(b)) => a.cmp(b),
            (V::Ints(a), V::Ints(b)) => a.cmp(b),
            (V::Longs(a), V::Longs(b)) => a.cmp(b),
            (V::Chars(a), V::Chars(b)) => a.cmp(b),
            (V::Floats(a), V::Floats(b)) => a
                .iter()
                .map(|x| float::sort_bits_f32(*x))
                .cmp(b.iter().map(|x| float::sort_bits_f32(*x))),
            (V::Doubles(a), V::Doubles(b)) => a
                .iter()
                .map(|x| float::sort_bits_f64(*x))
                .cmp(b.iter().map(|x| float::sort_bits_f64(*x))),
            (V::BigInteger(a), V::BigInteger(b)) => a.cmp(b),
            (V::BigDecimal(a), V::BigDecimal(b)) => a.cmp(b),
            (V::BitSet(a), V::BitSet(b)) => a.cmp(b),
            (V::Uuid(a), V::Uuid(b)) => a.cmp(b),
            (V::Date(a), V::Date(b)) => a.cmp(b),
            (V::Instant(a), V::Instant(b)) => a.cmp(b),
            (V::Duration(a), V::Duration(b)) => a.cmp(b),
            (V::LocalDate(a), V::LocalDate(b)) => a.cmp(b),
            (V::LocalTime(a), V::LocalTime(b)) => a.cmp(b),
            (V::LocalDateTime(a), V::LocalDateTime(b)) => a.cmp(b),
            (V::OffsetDateTime(a), V::OffsetDateTime(b)) => a.cmp(b),
            (V::OffsetTime(a), V::OffsetTime(b)) => a.cmp(b),
            (V::ZonedDateTime(a), V::ZonedDateTime(b)) => a.cmp(b),
            (V::ZoneId(a), V::ZoneId(b)) => a.cmp(b),
            (V::ZoneOffset(a), V::ZoneOffset(b)) => a.cmp(b),
            (V::Year(a), V::Year(b)) => a.cmp(b),
            (V::YearMonth(a), V::YearMonth(b)) => a.cmp(b),
            (V::MonthDay(a), V::MonthDay(b)) => a.cmp(b),
            (V::Period(a), V::Period(b)) => a.cmp(b),
            (V::IntSummaryStatistics(a), V::IntSummaryStatistics(b)) => a.cmp(b),
            (V::LongSummaryStatistics(a), V::LongSummaryStatistics(b)) => a.cmp(b),
            (V::DoubleSummaryStatistics(a), V::DoubleSummaryStatistics(b)) => a.cmp(b),
            (V::FilePath(a), V::FilePath(b)) => a.cmp(b),
            (V::Uri(a), V::Uri(b)) => a.cmp(b),
            (V::Pattern(a), V::Pattern(b)) => a.cmp(b),
            (V::InternetAddress(a), V::InternetAddress(b)) => a.cmp(b),
            (V::Inet4Address(a), V::Inet4Address(b)) => a.cmp(b),
            (V::Inet6Address(a), V::Inet6Address(b)) => a.cmp(b),
            // Elements are compared one by one, and null after all values, as in the encoded form.
            (V::Array(a), V::Array(b)) | (V::Tuple(a), V::Tuple(b)) => a.cmp(b),
            (V::Custom(a), V::Custom(b)) => a.cmp(b),
            // Of two values of one variant, only nulls come to this arm.
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Values of different variants differ, and so should their hashes.
        self.rank().hash(state);
        match self {
            Value::Bool(value) => value.hash(state),
            Value::Byte(value) => value.hash(state),
            Value::Short(value) => value.hash(state),
            Value::Int(value) => value.hash(state),
            Value::Long(value) => value.hash(state),
            Value::Char(value) => value.hash(state),
            // The hash is of what is compared: all NaNs have the same one, and -0.0 and 0.0 do not.
            Value::Float(value) => float::sort_bits_f32(*value).hash(state),
            Value::Double(value) => float::sort_bits_f64(*value).hash(state),
            // Unit by unit in both variants, so that equal texts have equal hashes.
            Value::String(text) => text.encode_utf16().for_each(|unit| unit.hash(state)),
            Value::Utf16(text) => text.units().for_each(|unit| unit.hash(state)),
            Value::Enum(value) => value.hash(state),
            Value::Ref(id) => id.hash(state),
            Value::Bools(values) => values.hash(state),
            Value::Bytes(values) => values.hash(state),
            Value::Shorts(values) => values.hash(state),
            Value::Ints(values) => values.hash(state),
            Value::Longs(values) => values.hash(state),
            Value::Chars(values) => values.hash(state),
            Value::Floats(values) => {
                values.iter().for_each(|value| float::sort_bits_f32(*value).hash(state))
            }
            Value::Doubles(values) => {
                values.iter().for_each(|value| float::sort_bits_f64(*value).hash(state))
            }
            Value::BigInteger(value) => value.hash(state),
            Value::BigDecimal(value) => value.hash(state),
            Value::BitSet(value) => value.hash(state),
            Value::Uuid(value) => value.hash(state),
            Value::Date(value) => value.hash(state),
            Value::Instant(value) => value.hash(state),
            Value::Duration(value) => value.hash(state),
            Value::LocalDate(value) => value.hash(state),
            Value::LocalTime(value) => value.hash(state),
            Value::LocalDateTime(value) => value.hash(state),
            Value::OffsetDateTime(value) => value.hash(state),
            Value::OffsetTime(value) => value.hash(state),
            Value::ZonedDateTime(value) => value.hash(state),
            Value::ZoneId(value) => value.hash(state),
            Value::ZoneOffset(value) => value.hash(state),
            Value::Year(value) => value.hash(state),
            Value::YearMonth(value) => value.hash(state),
            Value::MonthDay(value) => value.hash(state),
            Value::Period(value) => value.hash(state),
            Value::IntSummaryStatistics(value) => value.hash(state),
            Value::LongSummaryStatistics(value) => value.hash(state),
            Value::DoubleSummaryStatistics(value) => value.hash(state),
            Value::FilePath(value) => value.hash(state),
            Value::Uri(value) => value.hash(state),
            Value::Pattern(value) => value.hash(state),
            Value::InternetAddress(value) => value.hash(state),
            Value::Inet4Address(value) => value.hash(state),
            Value::Inet6Address(value) => value.hash(state),
            Value::Array(values) | Value::Tuple(values) => values.hash(state),
            Value::Custom(value) => value.hash(state),
            Value::Null => {}
        }
    }
}

impl<T: super::FieldType> From<T> for Value {
    fn from(value: T) -> Self {
        value.to_value()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl From<EnumValue> for Value {
    fn from(value: EnumValue) -> Self {
        Value::Enum(value)
    }
}

impl From<ObjId> for Value {
    fn from(id: ObjId) -> Self {
        Value::Ref(id)
    }
}

/// The methods of [`Encodable`](super::Encodable) for a type with its own variant.
macro_rules! plain_value {
    ($variant:ident, $id:expr) => {
        fn into_value(self) -> Value {
            Value::$variant(self)
        }

        fn borrow_value(value: &Value) -> Option<std::borrow::Cow<'_, Self>> {
            match value {
                Value::$variant(value) => Some(std::borrow::Cow::Borrowed(value)),
                _ => None,
            }
        }

        fn encoding_id() -> crate::encoding::EncodingId {
            $id
        }
    };
}
pub(crate) use plain_value;
