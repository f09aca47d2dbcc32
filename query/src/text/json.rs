//! Values as JSON.

use std::fmt::Write;

use permazen::__internal::encoding::EncodingKind;
use permazen::encoding::{Encoding, JavaString, Value};

use super::hidden::is_hidden;
use super::literal::{inner, reads_back, string_form};
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
    let mut out = String::new();
    push_json(value, encoding, &mut out);
    out
}

/// Appends the value as [`json`].
pub fn push_json(value: &Value, encoding: &dyn Encoding, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => push(out, value),
        Value::Byte(value) => push(out, value),
        Value::Short(value) => push(out, value),
        Value::Int(value) => push(out, value),
        Value::Long(value) => push(out, value),
        // JSON has no number for NaN and infinities. Those go to the last arm, as texts.
        Value::Float(value) if value.is_finite() => out.push_str(&float(*value)),
        Value::Double(value) if value.is_finite() => out.push_str(&float(*value)),
        Value::Char(value) => out.push_str(&json_string(&JavaString::from_units(&[value.0]))),
        Value::String(text) => push_json_text(text, out),
        Value::Utf16(text) => out.push_str(&json_string(text)),
        Value::Enum(value) => push_json_text(value.name(), out),
        Value::Ref(id) => {
            out.push('"');
            push(out, id);
            out.push('"');
        }
        Value::Bools(values) => list(out, values, |value, out| push(out, value)),
        Value::Bytes(bytes) => {
            out.push('"');
            out.push_str(&hex(bytes.iter().map(|byte| byte.to_be_bytes()[0])));
            out.push('"');
        }
        Value::Shorts(values) => list(out, values, |value, out| push(out, value)),
        Value::Ints(values) => list(out, values, |value, out| push(out, value)),
        Value::Longs(values) => list(out, values, |value, out| push(out, value)),
        Value::Chars(values) => list(out, values, |value, out| {
            out.push_str(&json_string(&JavaString::from_units(&[value.0])));
        }),
        Value::Floats(values) => list(out, values, |value, out| out.push_str(&float(*value))),
        Value::Doubles(values) => list(out, values, |value, out| out.push_str(&float(*value))),
        Value::Array(values) => match inner(encoding) {
            EncodingKind::Array(element) => {
                list(out, values, |value, out| push_json(value, &**element, out));
            }
            _ => out.push_str(&text_or_bytes(value, encoding)),
        },
        Value::Tuple(values) => match inner(encoding) {
            EncodingKind::Tuple(parts) => {
                let values: Vec<_> = values.iter().zip(parts).collect();
                list(out, &values, |(value, part), out| push_json(value, &***part, out));
            }
            _ => out.push_str(&text_or_bytes(value, encoding)),
        },
        _ => out.push_str(&text_or_bytes(value, encoding)),
    }
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = write!(out, "{value}");
}

fn list<T>(out: &mut String, values: &[T], push: impl Fn(&T, &mut String)) {
    out.push('[');
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push(value, out);
    }
    out.push(']');
}

/// Appends a text as a JSON string, like [`json_string`].
pub fn push_json_text(text: &str, out: &mut String) {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    // Nearly all texts are plain ASCII, and are copied as they are.
    if text.bytes().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&json_string(&text.into()));
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
    if reads_back(value, encoding)
        && let Ok(text) = encoding.to_text(value)
    {
        return json_string(&text.into());
    }
    let stored = encoding.encode_all(value);
    // Its text would be hex digits, which are no bytes when they are read back.
    if matches!(inner(encoding), EncodingKind::Unknown) {
        return format!("\"{}\"", hex(stored.unwrap_or_default()));
    }
    let reads_this_back = |text: &String| {
        let again = encoding.from_text(text).and_then(|value| encoding.encode_all(&value));
        again.is_ok() && again == stored
    };
    match encoding.to_text(value).ok().filter(reads_this_back) {
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
                // JSON escapes units, so a character above U+FFFF takes two escapes.
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
