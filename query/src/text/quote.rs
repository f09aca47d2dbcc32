//! Strings, bytes and names in quotes.

use permazen::encoding::JavaString;

use super::hidden::{is_hidden, push, push_code};
use crate::parse::{is_plain_word, is_word_of_language};

/// `x'00ff'`
pub(crate) fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    let mut out = String::from("x'");
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            out.extend(char::from_digit(digit.into(), 16));
        }
    }
    out.push('\'');
    out
}

/// The string in double quotes, as the language reads it. [Hidden](is_hidden) characters and
/// unpaired surrogates are written as `\u{d83d}`, so nothing is lost.
pub fn quoted(text: &JavaString) -> String {
    let mut out = String::from("\"");
    for unit in char::decode_utf16(text.units()) {
        match unit {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok(c) => push(c, &mut out),
            Err(unpaired) => push_code(unpaired.unpaired_surrogate().into(), &mut out),
        }
    }
    out.push('"');
    out
}

/// A name as the language reads it: as it is, or in backticks if it is a word of the language or
/// has characters that words cannot have.
pub fn quoted_name(name: &str) -> String {
    if is_plain_word(name) && !is_word_of_language(name) {
        return name.to_owned();
    }
    let mut out = String::from("`");
    for c in name.chars() {
        match c {
            '`' | '\\' => out.extend(['\\', c]),
            c if is_hidden(c) => push_code(u32::from(c), &mut out),
            c => out.push(c),
        }
    }
    out.push('`');
    out
}
