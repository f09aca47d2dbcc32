//! Values without quotes.

use std::fmt::Write;

use permazen::encoding::{Encoding, JavaString, Value};

use super::hidden::{escaped, push_code};
use super::literal::{literal, reads_back, string_form};

/// The text of a value for CSV and pipes: strings, characters and constants of enums exactly as
/// they are, null as the empty text, IDs without `@`, everything else as its
/// [literal](super::literal()) without quotes.
///
/// The text must not reach a terminal without [`escaped`]. An unpaired surrogate, which UTF-8 does
/// not have, is written as `\u{d83d}`. In a text that has such eight characters itself, or
/// `\u{5c}`, the backslash before them is written as `\u{5c}`, so different texts stay different.
pub fn raw(value: &Value, encoding: &dyn Encoding) -> String {
    let mut out = String::new();
    push_raw(value, encoding, &mut out);
    out
}

/// Appends the text of a value as [`raw`] gives it.
pub fn push_raw(value: &Value, encoding: &dyn Encoding, out: &mut String) {
    match value {
        Value::Null => {}
        Value::String(text) => push_text(text, out),
        Value::Enum(value) => out.push_str(value.name()),
        Value::Bool(value) => push(out, value),
        Value::Byte(value) => push(out, value),
        Value::Short(value) => push(out, value),
        Value::Int(value) => push(out, value),
        Value::Long(value) => push(out, value),
        Value::Ref(id) => push(out, id),
        Value::Utf16(text) => out.push_str(&lossless(text)),
        Value::Char(value) => out.push_str(&lossless(&JavaString::from_units(&[value.0]))),
        value => match string_form(value) {
            Some(text) => out.push_str(&lossless(&text)),
            None => {
                if reads_back(value, encoding)
                    && let Ok(text) = encoding.to_text(value)
                {
                    out.push_str(&text);
                    return;
                }
                let text = literal(value, encoding);
                match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                    // A literal in quotes is the text form, escaped. Without quotes it needs no
                    // escapes.
                    Some(_) => out.push_str(&encoding.to_text(value).unwrap_or(text)),
                    None => out.push_str(&text),
                }
            }
        },
    }
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = write!(out, "{value}");
}

/// The text of a value for tables and messages: as [`raw`], but with [hidden](super::is_hidden)
/// characters escaped, and `null` for null.
pub fn shown(value: &Value, encoding: &dyn Encoding) -> String {
    match value {
        Value::Null => "null".to_owned(),
        value => escaped(&raw(value, encoding)).into_owned(),
    }
}

/// The text, with the units that UTF-8 does not have escaped.
fn lossless(text: &JavaString) -> String {
    let mut out = String::new();
    let mut exact = String::new();
    for unit in char::decode_utf16(text.units()) {
        match unit {
            Ok(c) => exact.push(c),
            // The parts between are written first, so that an escape that they spell out is made
            // different.
            Err(unpaired) => {
                push_text(&exact, &mut out);
                exact.clear();
                push_code(unpaired.unpaired_surrogate().into(), &mut out);
            }
        }
    }
    push_text(&exact, &mut out);
    out
}

/// Appends a text. A part that looks like an escaped unit is made to look otherwise.
fn push_text(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        if is_after_backslash(after) {
            push_code(u32::from('\\'), out)
        } else {
            out.push('\\')
        }
        rest = after;
    }
    out.push_str(rest);
}

/// Whether a backslash before this text would begin an escape that [`raw`] writes.
fn is_after_backslash(text: &str) -> bool {
    let code = text.strip_prefix("u{").and_then(|text| text.split_once('}'));
    code.is_some_and(|(code, _)| {
        code == "5c"
            || code.len() == 4
                && u32::from_str_radix(code, 16).is_ok_and(|unit| (0xd800..0xe000).contains(&unit))
    })
}
