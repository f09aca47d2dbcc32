//! Dynamic values: what tools, migrations and the untyped API read and write.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::float;
use super::string::{self, JavaString};
use super::{EncodingId, Result};
use crate::id::ObjId;

/// A value of any encoding.
///
/// Which variant an encoding takes follows from its type: `int` and `Integer` take [`Value::Int`], the latter also
/// [`Value::Null`]. Values of one encoding compare as their encoded forms do; null comes last. Values of different
/// encodings compare in an unspecified, but consistent, order.
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
    /// `String` with unpaired surrogates; without them it equals the [`Value::String`] of the same text.
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
    /// An array of anything else, elements possibly null.
    Array(Box<[Value]>),
    /// The components of a composite index.
    Tuple(Box<[Value]>),
    /// A value of an encoding that is not built in, as its encoded form.
    Custom(CustomValue),
    /// No value.
    Null,
}

/// A UTF-16 unit, as Java's `char` has it: any 16-bit number, surrogates included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct JavaChar(pub u16);

impl JavaChar {
    /// The character, unless the unit is a surrogate.
    pub fn to_char(self) -> Option<char> {
        char::from_u32(u32::from(self.0))
    }
}

impl TryFrom<char> for JavaChar {
    type Error = std::num::TryFromIntError;

    /// Fails for characters above U+FFFF, which take two units.
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

/// A constant of an enum field: its name and its position in the schema's list, which must agree to be written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumValue {
    name: Arc<str>,
    ordinal: u32,
}

impl EnumValue {
    /// A constant of this name and position, counted from 0.
    pub fn new(name: impl Into<Arc<str>>, ordinal: u32) -> Self {
        EnumValue { name: name.into(), ordinal }
    }

    /// The identifier.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Position in the list of identifiers.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }
}

impl fmt::Display for EnumValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.ordinal)
    }
}

/// A value of an encoding that is not built in: the id of the encoding and the encoded form.
///
/// That form is all a program needs that does not know the encoding; one that does decodes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomValue {
    encoding: EncodingId,
    bytes: Box<[u8]>,
}

impl CustomValue {
    /// The value `encoding` has these bytes for.
    pub fn new(encoding: EncodingId, bytes: impl Into<Box<[u8]>>) -> Self {
        CustomValue { encoding, bytes: bytes.into() }
    }

    /// Id of the encoding.
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

    /// The text of a string; `None` for anything else and for strings with unpaired surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            Value::Utf16(text) => text.as_str(),
            _ => None,
        }
    }

    /// A string as UTF-16 units.
    pub(crate) fn string_units(&self) -> Option<Vec<u16>> {
        match self {
            Value::String(text) => Some(text.encode_utf16().collect()),
            Value::Utf16(text) => Some(text.units().collect()),
            _ => None,
        }
    }

    /// The value as a type that fields can have.
    ///
    /// # Errors
    /// [`EncodingError`](super::EncodingError) if the value is of another type.
    pub fn get<T: super::FieldType>(&self) -> Result<T> {
        T::from_value(self)
    }

    /// What kind of value this is, for messages.
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
            Value::Array(_) => "array",
            Value::Tuple(_) => "tuple",
            Value::Null => "null",
            Value::Custom(value) => return Cow::Owned(value.encoding.alias().to_owned()),
        };
        Cow::Borrowed(name)
    }

    /// Position of the variant in the order among values of different encodings.
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
            Value::Array(_) => 19,
            Value::Tuple(_) => 20,
            Value::Custom(_) => 254,
            Value::Null => 255,
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        use Value::*;
        match (self, other) {
            (Bool(a), Bool(b)) => a.cmp(b),
            (Byte(a), Byte(b)) => a.cmp(b),
            (Short(a), Short(b)) => a.cmp(b),
            (Int(a), Int(b)) => a.cmp(b),
            (Long(a), Long(b)) => a.cmp(b),
            (Char(a), Char(b)) => a.cmp(b),
            (Float(a), Float(b)) => float::compare_f32(*a, *b),
            (Double(a), Double(b)) => float::compare_f64(*a, *b),
            (String(a), String(b)) => string::compare(a, b),
            (Utf16(a), Utf16(b)) => a.cmp(b),
            (String(a), Utf16(b)) => a.encode_utf16().cmp(b.units()),
            (Utf16(a), String(b)) => a.units().cmp(b.encode_utf16()),
            (Enum(a), Enum(b)) => a.ordinal.cmp(&b.ordinal).then_with(|| a.name.cmp(&b.name)),
            (Ref(a), Ref(b)) => a.cmp(b),
            (Bools(a), Bools(b)) => a.cmp(b),
            (Bytes(a), Bytes(b)) => a.cmp(b),
            (Shorts(a), Shorts(b)) => a.cmp(b),
            (Ints(a), Ints(b)) => a.cmp(b),
            (Longs(a), Longs(b)) => a.cmp(b),
            (Chars(a), Chars(b)) => a.cmp(b),
            (Floats(a), Floats(b)) => a
                .iter()
                .map(|x| float::sort_bits_f32(*x))
                .cmp(b.iter().map(|x| float::sort_bits_f32(*x))),
            (Doubles(a), Doubles(b)) => a
                .iter()
                .map(|x| float::sort_bits_f64(*x))
                .cmp(b.iter().map(|x| float::sort_bits_f64(*x))),
            (Array(a), Array(b)) | (Tuple(a), Tuple(b)) => a.cmp(b),
            (Custom(a), Custom(b)) => a.cmp(b),
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
        self.rank().hash(state);
        match self {
            Value::Bool(value) => value.hash(state),
            Value::Byte(value) => value.hash(state),
            Value::Short(value) => value.hash(state),
            Value::Int(value) => value.hash(state),
            Value::Long(value) => value.hash(state),
            Value::Char(value) => value.hash(state),
            Value::Float(value) => float::sort_bits_f32(*value).hash(state),
            Value::Double(value) => float::sort_bits_f64(*value).hash(state),
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
