//! Java's primitive types. An `Option` of one is Java's wrapper type.

use std::borrow::Cow;

use super::array::ArrayHooks;
use super::array::primitive::hooks;
use super::text::{escape, unescape};
use super::{Encodable, EncodingId, EncodingKind, JavaChar, Primitive, Reader, Result, Value, ids};
use super::{float, java::number_text, long};
use crate::bytes::invalid;

impl Primitive {
    /// All primitive types.
    pub const ALL: [Primitive; 8] = [
        Primitive::Boolean,
        Primitive::Byte,
        Primitive::Short,
        Primitive::Int,
        Primitive::Long,
        Primitive::Char,
        Primitive::Float,
        Primitive::Double,
    ];

    /// The name of the encoding without null. It is Java's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Primitive::Boolean => "boolean",
            Primitive::Byte => "byte",
            Primitive::Short => "short",
            Primitive::Int => "int",
            Primitive::Long => "long",
            Primitive::Char => "char",
            Primitive::Float => "float",
            Primitive::Double => "double",
        }
    }

    /// The ID of the encoding without null.
    pub fn id(self) -> EncodingId {
        match self {
            Primitive::Boolean => ids::BOOLEAN,
            Primitive::Byte => ids::BYTE,
            Primitive::Short => ids::SHORT,
            Primitive::Int => ids::INT,
            Primitive::Long => ids::LONG,
            Primitive::Char => ids::CHAR,
            Primitive::Float => ids::FLOAT,
            Primitive::Double => ids::DOUBLE,
        }
    }

    /// The ID of the encoding with null.
    pub fn wrapper_id(self) -> EncodingId {
        match self {
            Primitive::Boolean => ids::BOOLEAN_OR_NULL,
            Primitive::Byte => ids::BYTE_OR_NULL,
            Primitive::Short => ids::SHORT_OR_NULL,
            Primitive::Int => ids::INT_OR_NULL,
            Primitive::Long => ids::LONG_OR_NULL,
            Primitive::Char => ids::CHAR_OR_NULL,
            Primitive::Float => ids::FLOAT_OR_NULL,
            Primitive::Double => ids::DOUBLE_OR_NULL,
        }
    }

    /// The name of the encoding with null. It is the name of Java's wrapper class.
    pub fn wrapper_name(self) -> &'static str {
        match self {
            Primitive::Boolean => "Boolean",
            Primitive::Byte => "Byte",
            Primitive::Short => "Short",
            Primitive::Int => "Integer",
            Primitive::Long => "Long",
            Primitive::Char => "Character",
            Primitive::Float => "Float",
            Primitive::Double => "Double",
        }
    }
}

/// The code that all primitive types share.
macro_rules! primitive {
    ($type:ty, $primitive:ident, $variant:ident, $default:expr) => {
        const NULLABLE: bool = false;
        const SORTS_NATURALLY: bool = true;
        const KIND: EncodingKind<'static> = EncodingKind::Primitive(Primitive::$primitive);
        const ARRAY: Option<ArrayHooks<Self>> = Some(hooks(Primitive::$primitive));

        fn encoding_id() -> EncodingId {
            Primitive::$primitive.id()
        }

        fn nullable_id() -> Option<EncodingId> {
            Some(Primitive::$primitive.wrapper_id())
        }

        fn default_value() -> Option<Self> {
            Some($default)
        }

        fn into_value(self) -> Value {
            Value::$variant(self)
        }

        fn borrow_value(value: &Value) -> Option<Cow<'_, Self>> {
            match value {
                Value::$variant(value) => Some(Cow::Owned(*value)),
                _ => None,
            }
        }
    };
}

/// The integer types. They differ only in their range and in the types that convert to them.
macro_rules! integer {
    ($type:ty, $primitive:ident, $variant:ident, [$($narrower:ident),*]) => {
        impl Encodable for $type {
            const PREFIX_00: bool = false;
            const PREFIX_FF: bool = false;
            primitive!($type, $primitive, $variant, 0);

            #[inline]
            fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
                long::write(i64::from(*self), out);
                Ok(())
            }

            /// Drops the upper bits of numbers that are too large, as Java Permazen does.
            #[inline]
            #[allow(clippy::cast_possible_truncation, reason = "Java drops the upper bits too")]
            fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
                Ok(long::read(reader)? as $type)
            }

            fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
                long::skip(reader)
            }

            fn is_canonical(reader: &mut Reader<'_>) -> Option<Result<bool>> {
                // A number out of range is read as another number, which would be written as other
                // bytes.
                let number = long::read_canonical(reader);
                Some(number.map(|n| n.is_some_and(|n| <$type>::try_from(n).is_ok())))
            }

            fn to_text(&self) -> String {
                self.to_string()
            }

            #[allow(clippy::cast_possible_truncation, reason = "the parser has checked the range")]
            fn from_text(text: &str) -> Result<Self> {
                number_text::parse_integer(text, i64::from(<$type>::MIN), i64::from(<$type>::MAX)).map(|number| number as $type)
            }

            fn widen(value: &Value) -> Option<Self> {
                match value {
                    // Only types whose numbers all fit, so nothing is lost.
                    $(Value::$narrower(number) => Some(<$type>::from(*number)),)*
                    _ => None,
                }
            }
        }
    };
}

integer!(i8, Byte, Byte, []);
integer!(i16, Short, Short, [Byte]);
integer!(i32, Int, Int, [Byte, Short, Char]);
integer!(i64, Long, Long, [Byte, Short, Int, Char]);

impl From<JavaChar> for i32 {
    fn from(char: JavaChar) -> i32 {
        i32::from(char.0)
    }
}

impl From<JavaChar> for i64 {
    fn from(char: JavaChar) -> i64 {
        i64::from(char.0)
    }
}

impl Encodable for bool {
    const PREFIX_00: bool = true;
    const PREFIX_FF: bool = false;
    const FIXED_WIDTH: Option<usize> = Some(1);
    primitive!(bool, Boolean, Bool, false);

    #[inline]
    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        out.push(u8::from(*self));
        Ok(())
    }

    #[inline]
    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.byte()? {
            // A third byte would be a second form of one value, and an index must have one for
            // each.
            0 => Ok(false),
            1 => Ok(true),
            other => invalid(format!("invalid encoded boolean value 0x{other:02x}")),
        }
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        match text {
            // Case does not matter, as in Java.
            _ if text.eq_ignore_ascii_case("true") => Ok(true),
            _ if text.eq_ignore_ascii_case("false") => Ok(false),
            _ => invalid(format!("invalid boolean {text:?}")),
        }
    }
}

impl Encodable for JavaChar {
    const FIXED_WIDTH: Option<usize> = Some(2);
    primitive!(JavaChar, Char, Char, JavaChar(0));

    #[inline]
    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(())
    }

    #[inline]
    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        reader.array().map(|bytes| JavaChar(u16::from_be_bytes(bytes)))
    }

    fn to_text(&self) -> String {
        escape([self.0], true)
    }

    fn from_text(text: &str) -> Result<Self> {
        let string = unescape(text)?;
        let mut units = string.units();
        match (units.next(), units.next()) {
            // A character above U+FFFF has two units, so no `char` of Java can hold it.
            (Some(unit), None) => Ok(JavaChar(unit)),
            _ => invalid(format!("not exactly one character: {text:?}")),
        }
    }
}

impl Encodable for f32 {
    const FIXED_WIDTH: Option<usize> = Some(4);
    primitive!(f32, Float, Float, 0.0);

    #[inline]
    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&float::sort_bits_f32(*self).to_be_bytes());
        Ok(())
    }

    #[inline]
    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        reader.array().map(|bytes| float::from_sort_bits_f32(u32::from_be_bytes(bytes)))
    }

    fn to_text(&self) -> String {
        number_text::print_f32(*self)
    }

    fn from_text(text: &str) -> Result<Self> {
        number_text::parse_f32(text)
    }

    fn widen(value: &Value) -> Option<Self> {
        match value {
            Value::Byte(number) => Some(f32::from(*number)),
            Value::Short(number) => Some(f32::from(*number)),
            // Large numbers lose digits here. Java widens them in the same way.
            Value::Int(number) => Some(*number as f32),
            Value::Long(number) => Some(*number as f32),
            Value::Char(char) => Some(f32::from(char.0)),
            _ => None,
        }
    }
}

impl Encodable for f64 {
    const FIXED_WIDTH: Option<usize> = Some(8);
    primitive!(f64, Double, Double, 0.0);

    #[inline]
    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&float::sort_bits_f64(*self).to_be_bytes());
        Ok(())
    }

    #[inline]
    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        reader.array().map(|bytes| float::from_sort_bits_f64(u64::from_be_bytes(bytes)))
    }

    fn to_text(&self) -> String {
        number_text::print_f64(*self)
    }

    fn from_text(text: &str) -> Result<Self> {
        number_text::parse_f64(text)
    }

    fn widen(value: &Value) -> Option<Self> {
        match value {
            Value::Byte(number) => Some(f64::from(*number)),
            Value::Short(number) => Some(f64::from(*number)),
            Value::Int(number) => Some(f64::from(*number)),
            // A large number loses digits here. Java widens it in the same way.
            Value::Long(number) => Some(*number as f64),
            Value::Float(number) => Some(f64::from(*number)),
            Value::Char(char) => Some(f64::from(char.0)),
            _ => None,
        }
    }
}
