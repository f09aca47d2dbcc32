//! Values and names as a person types them.

use permazen::__internal::encoding::{EncodingKind, Primitive};
use permazen::encoding::{Encoding, EncodingId, JavaString, Value, ids};

use super::from_literal::value_of;
use super::quote::{hex, quoted, quoted_name};
use crate::parse::parse_literal;

/// The value as it can be typed in a statement: where a value of `encoding` is expected, it parses
/// to this value.
///
/// A value that has no such text form is written as the bytes it is stored as: `x'00ff'`. So is a
/// value that the encoding does not take; then it may be empty.
///
/// ```
/// use permazen::encoding::{EncodingRegistry, Value};
/// use permazen_query::text::literal;
///
/// let registry = EncodingRegistry::new();
/// let find = |alias: &str| registry.find_alias(alias).unwrap().unwrap();
/// assert_eq!(literal(&Value::Int(-3), &*find("int")), "-3");
/// assert_eq!(literal(&"a\u{202e}\"b".into(), &*find("String")), r#""a\u{202e}\"b""#);
/// assert_eq!(literal(&Value::Bytes([0, -1].into()), &*find("byte[]")), "x'00ff'");
/// ```
pub fn literal(value: &Value, encoding: &dyn Encoding) -> String {
    // In statements, the bytes of an array of bytes are its elements, and not its encoded form.
    if let Value::Bytes(bytes) = value {
        return hex(bytes.iter().map(|byte| byte.to_be_bytes()[0]));
    }
    if let Some(text) = built_in(value, encoding) {
        return text;
    }
    // Reading each value back costs more than printing it. For these types a test has done it.
    if reads_back(value, encoding)
        && let Some(text) = text_form(value, encoding)
    {
        return text;
    }
    let wanted = encoding.encode_all(value);
    let read_back = |text: String| {
        let literal = parse_literal(&text).ok()?;
        let value = value_of(&literal, encoding).ok()?;
        // Compared by the encoded form, because that is what would be stored.
        (encoding.encode_all(&value) == wanted).then_some(text)
    };
    match wanted.is_ok().then(|| text_form(value, encoding).and_then(read_back)).flatten() {
        Some(text) => text,
        None => hex(wanted.unwrap_or_default()),
    }
}

/// The literal of a value whose literal always reads back.
fn built_in(value: &Value, encoding: &dyn Encoding) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Byte(value) => value.to_string(),
        Value::Short(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Long(value) => value.to_string(),
        Value::Char(value) => quoted(&JavaString::from_units(&[value.0])),
        Value::String(text) => quoted(&text.as_str().into()),
        Value::Utf16(text) => quoted(text),
        Value::Enum(value) => quoted_name(value.name()),
        Value::Ref(id) => format!("@{id}"),
        Value::Bools(values) => list(values.iter().map(bool::to_string)),
        Value::Shorts(values) => list(values.iter().map(i16::to_string)),
        Value::Ints(values) => list(values.iter().map(i32::to_string)),
        Value::Longs(values) => list(values.iter().map(i64::to_string)),
        Value::Chars(values) => {
            list(values.iter().map(|value| quoted(&JavaString::from_units(&[value.0]))))
        }
        Value::Array(values) => match inner(encoding) {
            EncodingKind::Array(element) => {
                list(values.iter().map(|value| literal(value, &**element)))
            }
            // A value of another type than the encoding's is left to its stored form.
            _ => return None,
        },
        Value::Tuple(values) => match inner(encoding) {
            EncodingKind::Tuple(parts) if parts.len() == values.len() => {
                list(values.iter().zip(parts).map(|(value, part)| literal(value, &**part)))
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// The encodings whose text form can be read back for each value. A test tries many of them.
const READ_BACK: [EncodingId; 6] = [
    ids::UUID,
    ids::INSTANT,
    ids::LOCAL_DATE,
    ids::LOCAL_TIME,
    ids::LOCAL_DATE_TIME,
    ids::DURATION,
];

/// Whether it is known that the text form of a value can be read back.
pub(super) fn reads_back(value: &Value, encoding: &dyn Encoding) -> bool {
    match value {
        Value::Float(value) => value.is_finite() && is_float(encoding),
        Value::Double(value) => value.is_finite() && is_float(encoding),
        _ => encoding.id().is_some_and(|id| READ_BACK.contains(id)),
    }
}

fn is_float(encoding: &dyn Encoding) -> bool {
    let (EncodingKind::Primitive(primitive) | EncodingKind::Wrapper(primitive)) = inner(encoding)
    else {
        return false;
    };
    matches!(primitive, Primitive::Float | Primitive::Double)
}

/// The kind of an encoding, without null.
pub(super) fn inner<'e>(encoding: &'e dyn Encoding) -> EncodingKind<'e> {
    match encoding.kind() {
        EncodingKind::NullSafe(inner) => inner.kind(),
        kind => kind,
    }
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

fn text_form(value: &Value, encoding: &dyn Encoding) -> Option<String> {
    // Their text forms have escapes of their own. The string itself needs those of the language.
    if let Some(text) = string_form(value) {
        return Some(quoted(&text));
    }
    match value {
        Value::Floats(values) => {
            return Some(list(
                values.iter().map(|value| float(&format!("{value:?}"), f64::from(*value))),
            ));
        }
        Value::Doubles(values) => {
            return Some(list(values.iter().map(|value| float(&format!("{value:?}"), *value))));
        }
        _ => {}
    }
    let text = encoding.to_text(value).ok()?;
    let is_number = match value {
        Value::Float(value) => value.is_finite(),
        Value::Double(value) => value.is_finite(),
        Value::BigInteger(_) | Value::BigDecimal(_) => true,
        _ => false,
    };
    Some(if is_number { text } else { quoted(&text.into()) })
}

fn float(text: &str, value: f64) -> String {
    match text {
        // A literal has no word for these, so they are texts, as in a single field.
        "inf" => "\"Infinity\"".to_owned(),
        "-inf" => "\"-Infinity\"".to_owned(),
        _ if value.is_nan() => "\"NaN\"".to_owned(),
        _ => text.to_owned(),
    }
}

/// The string that a value of a type made of strings consists of.
pub(super) fn string_form(value: &Value) -> Option<JavaString> {
    Some(match value {
        Value::FilePath(path) => path.as_java().into_owned(),
        Value::Uri(uri) => uri.as_java().into_owned(),
        Value::Pattern(pattern) => pattern.as_java().into_owned(),
        Value::InternetAddress(address) => address.as_java().into_owned(),
        _ => return None,
    })
}
