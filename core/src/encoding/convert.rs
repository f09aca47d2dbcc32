//! Converts a value to another encoding as Java does (docs/src/encodings.md). Moving an object does
//! not call this: a program does, or `exact_conversion.rs`.

use super::text;
use super::{
    Encodable, Encoding, EncodingKind, JavaChar, JavaString, Primitive, TypedEncoding, Value,
};
use crate::bytes::{Result, invalid};

/// The value of `to` that corresponds to `value`, which is a value of `from`.
pub(crate) fn convert(to: &dyn Encoding, from: &dyn Encoding, value: &Value) -> Result<Value> {
    // Without the encoding, the meaning of the bytes is unknown.
    let unknown = [from, to].into_iter().find(|e| matches!(e.kind(), EncodingKind::Unknown));
    if let Some(unknown) = unknown
        && !from.is_same(to)
    {
        return invalid(format!(
            "nothing is converted to or from {}, which is not registered",
            unknown.name()
        ));
    }
    // Null has no text and no elements. Where `to` lacks it, the conversions below refuse it.
    if to.supports_null() && value.is_null() {
        return Ok(Value::Null);
    }
    match to.kind() {
        EncodingKind::NullSafe(inner) => convert(inner.as_ref(), from, value),
        EncodingKind::Primitive(target) | EncodingKind::Wrapper(target) => {
            to_primitive(target, to, from, value)
        }
        // The text form of characters has escapes and quotes. As strings, they must stay as they
        // are.
        EncodingKind::String => match value {
            Value::Char(char) => Ok(JavaString::from_units(&[char.0]).into()),
            Value::Chars(chars) => {
                let units: Vec<u16> = chars.iter().map(|char| char.0).collect();
                Ok(JavaString::from_units(&units).into())
            }
            _ => by_text(to, from, value),
        },
        EncodingKind::PrimitiveArray(target) => to_primitive_array(target, to, from, value),
        EncodingKind::Array(element) => {
            let Some((from_element, items)) = array_items(from, value)? else {
                return by_text(to, from, value);
            };
            let convert_item = |item: &Value| convert(element.as_ref(), from_element.get(), item);
            items.iter().map(convert_item).collect::<Result<_>>().map(Value::Array)
        }
        // A reference stays the same. Encoding it checks that `to` allows its type.
        EncodingKind::Reference(_) => {
            to.encode(value, &mut Vec::new())?;
            Ok(value.clone())
        }
        _ => by_text(to, from, value),
    }
}

/// The value itself if `to` accepts it, widened if necessary. Otherwise it is converted through its
/// text.
fn by_text(to: &dyn Encoding, from: &dyn Encoding, value: &Value) -> Result<Value> {
    let mut bytes = Vec::new();
    // Encoding and decoding again gives the variant that `to` uses, such as `Int` for a `Short`.
    if to.encode(value, &mut bytes).is_ok() {
        return to.decode_all(&bytes);
    }
    // Null has no text.
    if value.is_null() {
        return Err(to.refuse(value));
    }
    let text = from.to_text(value)?;
    if has_unpadded_base64(to, &text) {
        return invalid(format!("{text:?} is converted to no {}: it lacks padding", to.name()));
    }
    to.from_text(&text)
}

/// Whether the text of a numeric array is Base64 without padding.
///
/// Only [`Encoding::from_text`] accepts such text. Java never does, and a long number or a word
/// could look like it.
fn has_unpadded_base64(to: &dyn Encoding, text: &str) -> bool {
    match unwrap(to) {
        EncodingKind::PrimitiveArray(_) => {
            !text.ends_with('=') && !text.trim_start().starts_with('[')
        }
        EncodingKind::Array(element) => text::split_items(text).is_ok_and(|items| {
            items.iter().flatten().any(|item| has_unpadded_base64(element.as_ref(), item))
        }),
        _ => false,
    }
}

/// The number of a counter that replaces a field with this value; `None` if the value is not a
/// number.
pub(crate) fn to_counter(value: &Value) -> Option<i64> {
    match value {
        // Java's `boolean` and `char` are not numbers.
        Value::Bool(_) | Value::Char(_) => None,
        Value::BigInteger(number) => Some(number.low_bits()),
        Value::BigDecimal(number) => Some(number.low_bits()),
        _ => match Number::of(value)?.cast(Primitive::Long) {
            Value::Long(count) => Some(count),
            _ => None,
        },
    }
}

/// The kind of the encoding without the wrapper that adds null.
pub(crate) fn unwrap<'e>(encoding: &'e dyn Encoding) -> EncodingKind<'e> {
    match encoding.kind() {
        EncodingKind::NullSafe(inner) => inner.kind(),
        EncodingKind::Wrapper(primitive) => EncodingKind::Primitive(primitive),
        kind => kind,
    }
}

fn to_primitive(
    target: Primitive,
    to: &dyn Encoding,
    from: &dyn Encoding,
    value: &Value,
) -> Result<Value> {
    // A string of one unit becomes that character.
    if let (Primitive::Char, Some(units)) = (target, value.string_units())
        && let [unit] = units[..]
    {
        return Ok(Value::Char(JavaChar(unit)));
    }
    // Only primitive types are cast. Other numbers, such as `BigInteger`, are converted through
    // their text.
    if let EncodingKind::Primitive(_) = unwrap(from) {
        if value.is_null() {
            return invalid(format!(
                "null cannot be converted into the primitive type {}",
                target.name()
            ));
        }
        if let Some(number) = Number::of(value) {
            return Ok(number.cast(target));
        }
    }
    by_text(to, from, value)
}

/// Whether two values are the same number wherever both are numbers, and the same point in time
/// wherever both are; also inside arrays.
///
/// Converting a value and then converting back can give the first value again although the one
/// between is another. The largest `long` becomes 2⁶³ as `double`. A `Date` before 1582 is printed
/// in the Julian calendar, and an `Instant` is read in the Gregorian one.
pub(crate) fn same_meaning(a_is: &dyn Encoding, a: &Value, b_is: &dyn Encoding, b: &Value) -> bool {
    if let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) {
        return a.is_same(&b);
    }
    if let (Some(a), Some(b)) = (point_in_time(a), point_in_time(b)) {
        return a == b;
    }
    // Values of other kinds are not compared, since only casts and times can change a meaning.
    let (Ok(Some((a_is, a))), Ok(Some((b_is, b)))) = (array_items(a_is, a), array_items(b_is, b))
    else {
        return true;
    };
    a.iter().zip(&b).all(|(a, b)| same_meaning(a_is.get(), a, b_is.get(), b))
}

/// The nanoseconds since 1970 of a point in time.
fn point_in_time(value: &Value) -> Option<i128> {
    let instant = match value {
        Value::Date(date) => return Some(i128::from(date.millis) * 1_000_000),
        Value::Instant(time) => *time,
        Value::OffsetDateTime(time) => time.instant(),
        Value::ZonedDateTime(time) => time.instant(),
        _ => return None,
    };
    Some(i128::from(instant.epoch_second()) * 1_000_000_000 + i128::from(instant.nano()))
}

/// A primitive value: an integer, or a floating-point number.
enum Number {
    Integer(i64),
    Float(f64),
}

impl Number {
    fn of(value: &Value) -> Option<Number> {
        Some(match value {
            Value::Bool(value) => Number::Integer(i64::from(*value)),
            Value::Byte(value) => Number::Integer(i64::from(*value)),
            Value::Short(value) => Number::Integer(i64::from(*value)),
            Value::Int(value) => Number::Integer(i64::from(*value)),
            Value::Long(value) => Number::Integer(*value),
            Value::Char(value) => Number::Integer(i64::from(value.0)),
            Value::Float(value) => Number::Float(f64::from(*value)),
            Value::Double(value) => Number::Float(*value),
            _ => return None,
        })
    }

    /// Whether both are the same number, as far as casts can differ: two floating-point numbers
    /// count as the same.
    fn is_same(&self, other: &Number) -> bool {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a == b,
            (Number::Integer(integer), Number::Float(float))
            | (Number::Float(float), Number::Integer(integer)) => {
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "a larger number becomes the largest, which equals no 64-bit number"
                )]
                let whole = *float as i128;
                float.fract() == 0.0 && whole == i128::from(*integer)
            }
            (Number::Float(_), Number::Float(_)) => true,
        }
    }

    /// Casts a number as Java does.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "Java's casts drop upper bits and round"
    )]
    fn cast(&self, target: Primitive) -> Value {
        let long = || match *self {
            Number::Integer(number) => number,
            // Like Java's cast, Rust's cast stops at the smallest and largest number and turns NaN
            // into 0.
            Number::Float(number) => number as i64,
        };
        let int = || match *self {
            Number::Integer(number) => number as i32,
            Number::Float(number) => number as i32,
        };
        match target {
            Primitive::Boolean => Value::Bool(match *self {
                Number::Integer(number) => number != 0,
                Number::Float(number) => number != 0.0,
            }),
            Primitive::Byte => Value::Byte(int() as i8),
            Primitive::Short => Value::Short(int() as i16),
            Primitive::Int => Value::Int(int()),
            Primitive::Long => Value::Long(long()),
            Primitive::Char => Value::Char(JavaChar(int() as u16)),
            Primitive::Float => Value::Float(match *self {
                Number::Integer(number) => number as f32,
                Number::Float(number) => number as f32,
            }),
            Primitive::Double => Value::Double(match *self {
                Number::Integer(number) => number as f64,
                Number::Float(number) => number,
            }),
        }
    }
}

/// The encoding of an array's elements.
pub(crate) enum Element<'e> {
    Dynamic(&'e dyn Encoding),
    Primitive(Box<dyn Encoding>),
}

impl Element<'_> {
    pub(crate) fn get(&self) -> &dyn Encoding {
        match self {
            Element::Dynamic(encoding) => *encoding,
            Element::Primitive(encoding) => encoding.as_ref(),
        }
    }
}

/// The encoding of the elements; `None` if `array` is not an encoding of arrays.
pub(crate) fn element(array: &dyn Encoding) -> Option<Element<'_>> {
    match unwrap(array) {
        EncodingKind::Array(element) => Some(Element::Dynamic(element.as_ref())),
        EncodingKind::PrimitiveArray(primitive) => {
            Some(Element::Primitive(primitive_encoding(primitive)))
        }
        _ => None,
    }
}

/// The elements of an array, and their encoding; `None` if `from` is not an encoding of arrays.
fn array_items<'e>(
    from: &'e dyn Encoding,
    value: &Value,
) -> Result<Option<(Element<'e>, Vec<Value>)>> {
    // Something that is no array is converted through its text.
    let Some(element) = element(from) else { return Ok(None) };
    let items = match value {
        Value::Array(items) => items.to_vec(),
        Value::Bools(items) => items.iter().map(|&item| Value::Bool(item)).collect(),
        Value::Bytes(items) => items.iter().map(|&item| Value::Byte(item)).collect(),
        Value::Shorts(items) => items.iter().map(|&item| Value::Short(item)).collect(),
        Value::Ints(items) => items.iter().map(|&item| Value::Int(item)).collect(),
        Value::Longs(items) => items.iter().map(|&item| Value::Long(item)).collect(),
        Value::Chars(items) => items.iter().map(|&item| Value::Char(item)).collect(),
        Value::Floats(items) => items.iter().map(|&item| Value::Float(item)).collect(),
        Value::Doubles(items) => items.iter().map(|&item| Value::Double(item)).collect(),
        _ => return Err(from.refuse(value)),
    };
    Ok(Some((element, items)))
}

fn primitive_encoding(primitive: Primitive) -> Box<dyn Encoding> {
    match primitive {
        Primitive::Boolean => Box::new(TypedEncoding::<bool>::not_null()),
        Primitive::Byte => Box::new(TypedEncoding::<i8>::not_null()),
        Primitive::Short => Box::new(TypedEncoding::<i16>::not_null()),
        Primitive::Int => Box::new(TypedEncoding::<i32>::not_null()),
        Primitive::Long => Box::new(TypedEncoding::<i64>::not_null()),
        Primitive::Char => Box::new(TypedEncoding::<JavaChar>::not_null()),
        Primitive::Float => Box::new(TypedEncoding::<f32>::not_null()),
        Primitive::Double => Box::new(TypedEncoding::<f64>::not_null()),
    }
}

fn to_primitive_array(
    target: Primitive,
    to: &dyn Encoding,
    from: &dyn Encoding,
    value: &Value,
) -> Result<Value> {
    // A string becomes its characters.
    if let (Primitive::Char, Some(units)) = (target, value.string_units()) {
        return Ok(Value::Chars(units.into_iter().map(JavaChar).collect()));
    }
    let Some((from_element, items)) = array_items(from, value)? else {
        return by_text(to, from, value);
    };
    let element = primitive_encoding(target);
    let items: Vec<Value> = items
        .iter()
        .map(|item| convert(element.as_ref(), from_element.get(), item))
        .collect::<Result<_>>()?;
    fn collect<T: Encodable>(items: &[Value]) -> Result<Box<[T]>> {
        items.iter().map(|item| item.get::<T>()).collect()
    }
    Ok(match target {
        Primitive::Boolean => Value::Bools(collect(&items)?),
        Primitive::Byte => Value::Bytes(collect(&items)?),
        Primitive::Short => Value::Shorts(collect(&items)?),
        Primitive::Int => Value::Ints(collect(&items)?),
        Primitive::Long => Value::Longs(collect(&items)?),
        Primitive::Char => Value::Chars(collect(&items)?),
        Primitive::Float => Value::Floats(collect(&items)?),
        Primitive::Double => Value::Doubles(collect(&items)?),
    })
}
