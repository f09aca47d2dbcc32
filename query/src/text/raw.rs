//! Values without quotes.

use permazen::encoding::{Encoding, JavaString, Value};

use super::hidden::{escaped, push_code};
use super::literal::{literal, string_form};

/// The text of a value for CSV and pipes: strings, characters and constants of enums exactly as they
/// are, null as the empty text, IDs without `@`, everything else as its
/// [literal](super::literal()) without quotes.
///
/// The text must not reach a terminal without [`escaped`]. An unpaired surrogate, which UTF-8 does not
/// have, is written as `\u{d83d}`.
pub fn raw(value: &Value, encoding: &dyn Encoding) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Utf16(text) => lossless(text),
        Value::Char(value) => lossless(&JavaString::from_units(&[value.0])),
        Value::Enum(value) => value.name().to_owned(),
        Value::Ref(id) => id.to_string(),
        value => match string_form(value) {
            Some(text) => lossless(&text),
            None => {
                let text = literal(value, encoding);
                match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                    Some(_) => encoding.to_text(value).unwrap_or(text),
                    None => text,
                }
            }
        },
    }
}

/// The text of a value for tables and messages: as [`raw`], but with [hidden](super::is_hidden)
/// characters escaped, and `null` for null.
pub fn shown(value: &Value, encoding: &dyn Encoding) -> String {
    match value {
        Value::Null => "null".to_owned(),
        value => escaped(&raw(value, encoding)).into_owned(),
    }
}

fn lossless(text: &JavaString) -> String {
    let mut out = String::new();
    for unit in char::decode_utf16(text.units()) {
        match unit {
            Ok(c) => out.push(c),
            Err(unpaired) => push_code(unpaired.unpaired_surrogate().into(), &mut out),
        }
    }
    out
}
