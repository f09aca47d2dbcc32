//! Values from typed text.

use std::sync::LazyLock;

use permazen::__internal::encoding::{EncodingKind, Primitive};
use permazen::ObjId;
use permazen::encoding::textual::{FilePath, InternetAddress, Pattern, Uri};
use permazen::encoding::{
    Encoding, EncodingError, EncodingId, EncodingRegistry, JavaChar, JavaString, Value, ids,
};

use super::Mismatch;
use super::whole_number::{MOST_DIGITS, NotWhole, whole};
use crate::parse::parse_literal;
use crate::syntax::{Literal, LiteralKind};

/// The value of an encoding that a literal stands for, in encoded form.
///
/// # Errors
/// The errors of [`value_of`].
pub fn encoded(literal: &Literal, encoding: &dyn Encoding) -> Result<Vec<u8>, Mismatch> {
    let value = value_of(literal, encoding)?;
    encoding.encode_all(&value).map_err(|error| invalid(encoding, &error))
}

/// The value of an encoding that a literal stands for. A parameter stands for nothing here.
///
/// # Errors
/// [`Mismatch`] says why there is none.
pub fn value_of(literal: &Literal, encoding: &dyn Encoding) -> Result<Value, Mismatch> {
    let kind = &literal.kind;
    match (kind, encoding.kind()) {
        (LiteralKind::Null, _) if encoding.supports_null() => Ok(Value::Null),
        (LiteralKind::Null, _) => Err(Mismatch::Null { encoding: encoding.name().into_owned() }),
        // Null is dealt with above, so that only the encoding without null sees the other literals.
        (_, EncodingKind::NullSafe(inner)) => value_of(literal, &**inner),
        (_, EncodingKind::Primitive(primitive) | EncodingKind::Wrapper(primitive)) => {
            of_primitive(kind, primitive, encoding)
        }
        (LiteralKind::Text(text), EncodingKind::String) => Ok(string(text)),
        (LiteralKind::Word(word), EncodingKind::Enum(constants)) => constant(word, constants),
        // JSON has no words, so a constant can be given as a text too.
        (LiteralKind::Text(text), EncodingKind::Enum(constants)) => {
            constant(&text.to_string_lossy(), constants)
        }
        (LiteralKind::Id(id), EncodingKind::Reference(_)) => Ok(Value::Ref(*id)),
        // JSON has no IDs either.
        (LiteralKind::Text(text), EncodingKind::Reference(_)) => text
            .to_string_lossy()
            .parse::<ObjId>()
            .map(Value::Ref)
            .map_err(|error| invalid(encoding, &error)),
        // The bytes are the elements here, and not the encoded form as for all other encodings.
        (LiteralKind::Bytes(bytes), EncodingKind::PrimitiveArray(Primitive::Byte)) => {
            Ok(Value::Bytes(bytes.iter().map(|byte| i8::from_be_bytes([*byte])).collect()))
        }
        (LiteralKind::List(elements), EncodingKind::PrimitiveArray(primitive)) => {
            array(elements, primitive, encoding)
        }
        (LiteralKind::List(elements), EncodingKind::Array(element)) => elements
            .iter()
            .map(|literal| value_of(literal, &**element))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        (LiteralKind::List(elements), EncodingKind::Tuple(parts))
            if elements.len() == parts.len() =>
        {
            elements
                .iter()
                .zip(parts)
                .map(|(literal, part)| value_of(literal, &**part))
                .collect::<Result<_, _>>()
                .map(Value::Tuple)
        }
        // A value without a text form is shown as its stored bytes, and must be accepted in that
        // form.
        (LiteralKind::Bytes(bytes), _) => from_bytes(bytes, encoding),
        (
            LiteralKind::Text(text),
            EncodingKind::Plain
            | EncodingKind::PrimitiveArray(_)
            | EncodingKind::Array(_)
            | EncodingKind::Tuple(_),
        ) => from_text(text, encoding),
        // The text form of such an encoding is not known, so a text can only mean stored bytes.
        (LiteralKind::Text(text), EncodingKind::Unknown) => match bytes_in(text) {
            Some(bytes) => from_bytes(&bytes, encoding),
            None => Err(wrong(kind, encoding)),
        },
        // Types such as BigInteger have no kind of their own. Those that refuse `5.0` or `1e3` get
        // the digits of the whole number.
        (LiteralKind::Number(number), EncodingKind::Plain) => {
            let whole = || encoding.from_text(&whole(number, MOST_DIGITS).ok()?).ok();
            encoding.from_text(number).ok().or_else(whole).ok_or_else(|| wrong(kind, encoding))
        }
        _ => Err(wrong(kind, encoding)),
    }
}

fn string(text: &JavaString) -> Value {
    text.clone().into_string().map_or_else(Value::Utf16, Value::String)
}

fn constant(
    word: &str,
    constants: &permazen::__internal::encoding::EnumEncoding,
) -> Result<Value, Mismatch> {
    constants.by_name(word).map(Value::Enum).ok_or_else(|| Mismatch::NoSuchConstant {
        word: word.to_owned(),
        constants: constants.identifiers().iter().map(|name| name.to_string()).collect(),
    })
}

fn of_primitive(
    literal: &LiteralKind,
    primitive: Primitive,
    encoding: &dyn Encoding,
) -> Result<Value, Mismatch> {
    let out_of_range = |number: &str| Mismatch::OutOfRange {
        encoding: encoding.name().into_owned(),
        number: number.to_owned(),
    };
    match (literal, primitive) {
        (LiteralKind::Bool(value), Primitive::Boolean) => Ok(Value::Bool(*value)),
        (LiteralKind::Text(text), Primitive::Char) => {
            let mut units = text.units();
            // A `char` of Java is one unit, so a character above U+FFFF is none.
            match (units.next(), units.next()) {
                (Some(unit), None) => Ok(Value::Char(JavaChar(unit))),
                _ => Err(invalid(encoding, &"it must have exactly one UTF-16 unit")),
            }
        }
        (LiteralKind::Number(number), Primitive::Float | Primitive::Double) => {
            let value = encoding.from_text(number).map_err(|error| invalid(encoding, &error))?;
            match value {
                // A finite number is written. Infinity has a text of its own, and is not meant by
                // mistake.
                Value::Float(float) if !float.is_finite() => Err(out_of_range(number)),
                Value::Double(double) if !double.is_finite() => Err(out_of_range(number)),
                value => Ok(value),
            }
        }
        (LiteralKind::Text(text), Primitive::Float | Primitive::Double) => match text.as_str() {
            // Only these: other texts that Java reads as numbers would be a second way to write
            // them.
            Some(text @ ("NaN" | "Infinity" | "-Infinity")) => {
                encoding.from_text(text).map_err(|error| invalid(encoding, &error))
            }
            _ => Err(wrong(literal, encoding)),
        },
        (
            LiteralKind::Number(number),
            Primitive::Byte | Primitive::Short | Primitive::Int | Primitive::Long,
        ) => {
            // No whole number of 64 bits has more digits than 19.
            let digits = match whole(number, 19) {
                Ok(digits) => digits,
                Err(NotWhole::Fraction) => {
                    return Err(invalid(encoding, &format!("{number} is no whole number")));
                }
                Err(NotWhole::TooLong) => return Err(out_of_range(number)),
            };
            // Numbers of 19 digits can still be too large.
            let long: i64 = digits.parse().map_err(|_| out_of_range(number))?;
            let value = match primitive {
                Primitive::Byte => i8::try_from(long).ok().map(Value::Byte),
                Primitive::Short => i16::try_from(long).ok().map(Value::Short),
                Primitive::Int => i32::try_from(long).ok().map(Value::Int),
                _ => Some(Value::Long(long)),
            };
            value.ok_or_else(|| out_of_range(number))
        }
        (LiteralKind::Bytes(bytes), _) => from_bytes(bytes, encoding),
        _ => Err(wrong(literal, encoding)),
    }
}

/// The encodings of elements of arrays.
static ELEMENTS: LazyLock<EncodingRegistry> = LazyLock::new(EncodingRegistry::new);

/// An array of a primitive type. Its elements are read as values of that type.
fn array(
    elements: &[Literal],
    primitive: Primitive,
    encoding: &dyn Encoding,
) -> Result<Value, Mismatch> {
    let id = match primitive {
        Primitive::Boolean => ids::BOOLEAN,
        Primitive::Byte => ids::BYTE,
        Primitive::Short => ids::SHORT,
        Primitive::Int => ids::INT,
        Primitive::Long => ids::LONG,
        Primitive::Char => ids::CHAR,
        Primitive::Float => ids::FLOAT,
        Primitive::Double => ids::DOUBLE,
    };
    let Some(element) = ELEMENTS.get(&id) else {
        return Err(invalid(encoding, &"its elements have no encoding"));
    };
    let values: Vec<Value> =
        elements.iter().map(|literal| value_of(literal, &*element)).collect::<Result<_, _>>()?;
    macro_rules! collected {
        ($variant:ident, $element:ident) => {
            Value::$variant(
                values
                    .into_iter()
                    .filter_map(|value| match value {
                        Value::$element(value) => Some(value),
                        _ => None,
                    })
                    .collect(),
            )
        };
    }
    Ok(match primitive {
        Primitive::Boolean => collected!(Bools, Bool),
        Primitive::Byte => collected!(Bytes, Byte),
        Primitive::Short => collected!(Shorts, Short),
        Primitive::Int => collected!(Ints, Int),
        Primitive::Long => collected!(Longs, Long),
        Primitive::Char => collected!(Chars, Char),
        Primitive::Float => collected!(Floats, Float),
        Primitive::Double => collected!(Doubles, Double),
    })
}

fn from_text(text: &JavaString, encoding: &dyn Encoding) -> Result<Value, Mismatch> {
    let made = |error: EncodingError| invalid(encoding, &error);
    match encoding.id() {
        Some(id) if *id == ids::FILE => {
            return FilePath::from_java(text.clone()).map(Value::FilePath).map_err(made);
        }
        Some(id) if *id == ids::URI => {
            return Uri::from_java(text.clone()).map(Value::Uri).map_err(made);
        }
        Some(id) if *id == ids::PATTERN => {
            return Pattern::from_java(text.clone()).map(Value::Pattern).map_err(made);
        }
        Some(id) if *id == ids::INTERNET_ADDRESS => {
            return InternetAddress::from_java(text.clone())
                .map(Value::InternetAddress)
                .map_err(made);
        }
        _ => {}
    }
    // The text form comes first: stored bytes are only tried if the text is none.
    let error = match text.as_str().map(|text| encoding.from_text(text)) {
        Some(Ok(value)) => return Ok(value),
        Some(Err(error)) => error.to_string(),
        None => "the text has unpaired surrogates".to_owned(),
    };
    match (bytes_in(text), encoding.kind()) {
        // As in a statement: the bytes are the elements of the array.
        (Some(bytes), EncodingKind::PrimitiveArray(Primitive::Byte)) => {
            Ok(Value::Bytes(bytes.iter().map(|byte| i8::from_be_bytes([*byte])).collect()))
        }
        (Some(bytes), _) => from_bytes(&bytes, encoding),
        (None, _) => Err(invalid(encoding, &error)),
    }
}

/// The bytes of a text such as `x'00ff'`, which is how JSON holds bytes.
fn bytes_in(text: &JavaString) -> Option<Vec<u8>> {
    // Asked first, so that other texts, which can be long, are not parsed.
    let text = text.as_str().filter(|text| text.starts_with("x'"))?;
    match parse_literal(text).ok()?.kind {
        LiteralKind::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// The value that is stored as these bytes.
fn from_bytes(bytes: &[u8], encoding: &dyn Encoding) -> Result<Value, Mismatch> {
    let made = |error: EncodingError| invalid(encoding, &error);
    // Other bytes for the same value would get another index entry.
    encoding.check_canonical(bytes).map_err(made)?;
    encoding.decode_all(bytes).map_err(made)
}

fn invalid(encoding: &dyn Encoding, why: &dyn std::fmt::Display) -> Mismatch {
    let why = match example(encoding) {
        Some(example) => format!("{why}; it is written as {example}"),
        None => why.to_string(),
    };
    Mismatch::Invalid { encoding: encoding.name().into_owned(), why }
}

/// How times and days are written.
const EXAMPLES: [(EncodingId, &str); 13] = [
    (ids::DATE, "\"2024-02-29T12:30:00Z\""),
    (ids::DURATION, "\"PT1H30M\""),
    (ids::INSTANT, "\"2024-02-29T12:30:00Z\""),
    (ids::LOCAL_DATE, "\"2024-02-29\""),
    (ids::LOCAL_DATE_TIME, "\"2024-02-29T12:30:00\""),
    (ids::LOCAL_TIME, "\"12:30:00\""),
    (ids::MONTH_DAY, "\"--02-29\""),
    (ids::OFFSET_DATE_TIME, "\"2024-02-29T12:30:00+01:00\""),
    (ids::OFFSET_TIME, "\"12:30:00+01:00\""),
    (ids::PERIOD, "\"P1Y2M3D\""),
    (ids::YEAR, "\"2024\""),
    (ids::YEAR_MONTH, "\"2024-02\""),
    (ids::ZONED_DATE_TIME, "\"2024-02-29T12:30:00+01:00[Europe/Berlin]\""),
];

fn example(encoding: &dyn Encoding) -> Option<&'static str> {
    let id = encoding.id()?;
    EXAMPLES.iter().find(|(of, _)| *id == *of).map(|(_, example)| *example)
}

fn wrong(literal: &LiteralKind, encoding: &dyn Encoding) -> Mismatch {
    Mismatch::WrongType {
        encoding: encoding.name().into_owned(),
        found: found(literal),
        expected: match encoding.kind() {
            _ if example(encoding).is_some() => example(encoding).unwrap_or_default(),
            EncodingKind::Primitive(Primitive::Boolean)
            | EncodingKind::Wrapper(Primitive::Boolean) => "true or false",
            EncodingKind::Primitive(Primitive::Char) | EncodingKind::Wrapper(Primitive::Char) => {
                "one character in double quotes"
            }
            EncodingKind::Primitive(_) | EncodingKind::Wrapper(_) => "a number",
            EncodingKind::Enum(_) => "a constant",
            EncodingKind::Reference(_) => "an ID such as @1000000000000001",
            EncodingKind::PrimitiveArray(Primitive::Byte) => "bytes such as x'00ff'",
            EncodingKind::PrimitiveArray(_) | EncodingKind::Array(_) | EncodingKind::Tuple(_) => {
                "a list such as [1, 2]"
            }
            EncodingKind::Unknown => "the stored bytes, such as x'00ff'",
            _ => "a text in double quotes",
        },
    }
}

fn found(literal: &LiteralKind) -> &'static str {
    match literal {
        LiteralKind::Null => "null",
        LiteralKind::Bool(_) => "a boolean",
        LiteralKind::Number(_) => "a number",
        LiteralKind::Text(_) => "a text",
        LiteralKind::Bytes(_) => "a string of bytes",
        LiteralKind::Word(_) => "a name without quotes",
        LiteralKind::Id(_) => "an ID",
        LiteralKind::Parameter(_) => "a parameter",
        LiteralKind::List(_) => "a list",
        LiteralKind::Set(_) => "a set",
        LiteralKind::Map(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_values() {
        let registry = EncodingRegistry::new();
        for (id, example) in EXAMPLES {
            let encoding = registry.get(&id).unwrap();
            let value = value_of(&parse_literal(example).unwrap(), &*encoding);
            assert!(value.is_ok(), "{example}: {value:?}");
            let wrong = value_of(&parse_literal("\"1.2.24\"").unwrap(), &*encoding);
            let said = wrong.unwrap_err().to_string();
            assert!(said.ends_with(&format!("; it is written as {example}")), "{said}");
            let wrong = value_of(&parse_literal("true").unwrap(), &*encoding);
            assert!(wrong.unwrap_err().to_string().ends_with(&format!("; expected {example}")));
        }
    }
}
