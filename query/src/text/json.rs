//! Values as JSON.

use permazen::encoding::{Encoding, EncodingKind, JavaString, Value};

use super::hidden::is_hidden;
use super::literal::{inner, string_form};
use super::quote::hex;

/// The value as JSON. The text is ASCII but for characters that can be seen.
///
/// | value | JSON |
/// |---|---|
/// | null, booleans | the same |
/// | `byte`, `short`, `int`, `long`, `float`, `double` | numbers; NaN and infinities as strings |
/// | strings, characters, constants of enums | strings; unpaired surrogates as `\ud83d` |
/// | references | strings of 16 hex digits |
/// | arrays | arrays; `byte[]` as a string such as `"x'00ff'"` |
/// | everything else | its text form as a string; without one, the stored bytes as `"x'00ff'"` |
pub fn json(value: &Value, encoding: &dyn Encoding) -> String {
    let list = |elements: Vec<String>| format!("[{}]", elements.join(","));
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Byte(value) => value.to_string(),
        Value::Short(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Long(value) => value.to_string(),
        Value::Float(value) if value.is_finite() => float(*value),
        Value::Double(value) if value.is_finite() => float(*value),
        Value::Char(value) => json_string(&JavaString::from_units(&[value.0])),
        Value::String(text) => json_string(&text.as_str().into()),
        Value::Utf16(text) => json_string(text),
        Value::Enum(value) => json_string(&value.name().into()),
        Value::Ref(id) => format!("\"{id}\""),
        Value::Bools(values) => list(values.iter().map(bool::to_string).collect()),
        Value::Bytes(bytes) => {
            format!("\"{}\"", hex(bytes.iter().map(|byte| byte.to_be_bytes()[0])))
        }
        Value::Shorts(values) => list(values.iter().map(i16::to_string).collect()),
        Value::Ints(values) => list(values.iter().map(i32::to_string).collect()),
        Value::Longs(values) => list(values.iter().map(i64::to_string).collect()),
        Value::Chars(values) => list(
            values.iter().map(|value| json_string(&JavaString::from_units(&[value.0]))).collect(),
        ),
        Value::Floats(values) => list(values.iter().map(|value| float(*value)).collect()),
        Value::Doubles(values) => list(values.iter().map(|value| float(*value)).collect()),
        Value::Array(values) => match inner(encoding) {
            EncodingKind::Array(element) => {
                list(values.iter().map(|value| json(value, &**element)).collect())
            }
            _ => text_or_bytes(value, encoding),
        },
        Value::Tuple(values) => match inner(encoding) {
            EncodingKind::Tuple(parts) => {
                list(values.iter().zip(parts).map(|(value, part)| json(value, &**part)).collect())
            }
            _ => text_or_bytes(value, encoding),
        },
        _ => text_or_bytes(value, encoding),
    }
}

/// A number; a string if it is none that JSON knows.
fn float<F: Into<f64> + std::fmt::Debug + Copy>(value: F) -> String {
    let double: f64 = value.into();
    match double {
        _ if double.is_nan() => "\"NaN\"".to_owned(),
        f64::INFINITY => "\"Infinity\"".to_owned(),
        f64::NEG_INFINITY => "\"-Infinity\"".to_owned(),
        _ => format!("{value:?}"),
    }
}

fn text_or_bytes(value: &Value, encoding: &dyn Encoding) -> String {
    if let Some(text) = string_form(value) {
        return json_string(&text);
    }
    let stored = encoding.encode_all(value);
    if matches!(inner(encoding), EncodingKind::Unknown) {
        return format!("\"{}\"", hex(stored.unwrap_or_default()));
    }
    let reads_back = |text: &String| {
        let again = encoding.from_text(text).and_then(|value| encoding.encode_all(&value));
        again.is_ok() && again == stored
    };
    match encoding.to_text(value).ok().filter(reads_back) {
        Some(text) => json_string(&text.into()),
        None => format!("\"{}\"", hex(stored.unwrap_or_default())),
    }
}

/// The text as a JSON string. [Hidden](is_hidden) characters and unpaired surrogates are escaped.
pub fn json_string(text: &JavaString) -> String {
    let mut out = String::from("\"");
    let mut units = [0; 2];
    for unit in char::decode_utf16(text.units()) {
        match unit {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok(c) if is_hidden(c) => {
                c.encode_utf16(&mut units).iter().for_each(|unit| push_unit(*unit, &mut out));
            }
            Ok(c) => out.push(c),
            Err(unpaired) => push_unit(unpaired.unpaired_surrogate(), &mut out),
        }
    }
    out.push('"');
    out
}

fn push_unit(unit: u16, out: &mut String) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.extend(char::from_digit(u32::from(unit >> shift & 15), 16));
    }
}
