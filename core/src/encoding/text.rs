//! Text forms: escapes, quotes, and the list form of arrays and tuples.

use super::string::JavaString;
use crate::bytes::{Result, invalid};

/// Escapes UTF-16 units so that only characters remain that XML allows. If `tabs` is true, also
/// escapes tab, LF and CR.
pub(crate) fn escape(units: impl IntoIterator<Item = u16>, tabs: bool) -> String {
    let mut text = String::new();
    for unit in units {
        match unit {
            0x5c => text.push_str("\\\\"),
            0x08 => text.push_str("\\b"),
            0x0c => text.push_str("\\f"),
            // XML allows these three as they are. In a list and for a single character, Java
            // escapes them.
            0x09 if tabs => text.push_str("\\t"),
            0x0a if tabs => text.push_str("\\n"),
            0x0d if tabs => text.push_str("\\r"),
            _ => match char::from_u32(u32::from(unit)) {
                Some(char) if is_xml_unit(char) => text.push(char),
                _ => text.push_str(&format!("\\u{unit:04x}")),
            },
        }
    }
    text
}

/// Whether a UTF-16 unit alone is a character that XML allows.
fn is_xml_unit(char: char) -> bool {
    matches!(char, '\u{9}' | '\u{a}' | '\u{d}' | '\u{20}'..='\u{fffd}')
}

/// The string that an escaped text means.
pub(crate) fn unescape(text: &str) -> Result<JavaString> {
    // Nearly all texts are plain ASCII without escapes, and mean themselves.
    if text.bytes().all(|byte| (0x20..0x80).contains(&byte) && byte != b'\\') {
        return Ok(text.into());
    }
    let mut units = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        // A text form escapes such a character, so this text is none.
        if !is_xml_unit(char) {
            return invalid(format!("character {char:?} must be escaped"));
        }
        if char != '\\' {
            units.push(char as u16);
            continue;
        }
        units.push(match chars.next() {
            Some('\\') => 0x5c,
            Some('b') => 0x08,
            Some('f') => 0x0c,
            Some('t') => 0x09,
            Some('n') => 0x0a,
            Some('r') => 0x0d,
            Some('u') => {
                let mut unit = 0;
                for _ in 0..4 {
                    let Some(digit) = chars.next().and_then(|digit| java_digit(digit, 16)) else {
                        return invalid("\\u must be followed by four hex digits");
                    };
                    #[allow(clippy::cast_possible_truncation, reason = "it is below 16")]
                    let digit = digit as u16;
                    unit = unit << 4 | digit;
                }
                unit
            }
            Some(other) => return invalid(format!("unknown escape sequence \\{other}")),
            None => return invalid("backslash at the end of the text"),
        });
    }
    Ok(JavaString::from_units(&units))
}

/// The first character of each run of ten decimal digits that Java knows, without ASCII.
const DIGIT_ZEROS: [u32; 36] = [
    0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66,
    0x0de6, 0x0e50, 0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
    0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
];

/// The value of a digit, as Java sees it, in a radix up to 16. Decimal digits of any script and
/// full-width letters count.
pub(crate) fn java_digit(char: char, radix: u32) -> Option<u32> {
    let digit = match char {
        '0'..='9' | 'a'..='f' | 'A'..='F' => char.to_digit(16)?,
        '\u{ff21}'..='\u{ff26}' => u32::from(char) - 0xff21 + 10,
        '\u{ff41}'..='\u{ff46}' => u32::from(char) - 0xff41 + 10,
        _ => {
            let code = u32::from(char);
            // The runs are ascending, so the last one that begins before the character is the only
            // candidate.
            let zero = *DIGIT_ZEROS.iter().rev().find(|&&zero| zero <= code)?;
            Some(code - zero).filter(|&digit| digit < 10)?
        }
    };
    (digit < radix).then_some(digit)
}

/// The list form: `[ "a", null ]`.
pub(crate) fn join_items(items: impl IntoIterator<Item = Option<String>>) -> String {
    let mut text = String::from("[");
    for (index, item) in items.into_iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        match item {
            Some(item) => {
                text.push('"');
                text.push_str(&escape(item.encode_utf16(), true).replace('"', "\\\""));
                text.push('"');
            }
            None => text.push_str("null"),
        }
    }
    // An empty list is `[]`, without spaces, as Java prints it.
    text.push_str(if text.len() == 1 { "]" } else { " ]" });
    text
}

/// The items of a text in list form.
pub(crate) fn split_items(text: &str) -> Result<Vec<Option<String>>> {
    let mut items = Vec::new();
    let Some(mut rest) = text.trim_start_matches(is_java_space).strip_prefix('[') else {
        return list_error(text, "`[` expected");
    };
    rest = rest.trim_start_matches(is_java_space);
    if !rest.starts_with(']') {
        // After a comma an item must follow, so the end is looked for only before the first item.
        loop {
            let (item, after) = split_item(rest)?;
            items.push(item);
            rest = after.trim_start_matches(is_java_space);
            match rest.strip_prefix(',') {
                Some(after) => rest = after.trim_start_matches(is_java_space),
                None => break,
            }
        }
    }
    match rest.strip_prefix(']') {
        None => list_error(rest, "`]` or `,` expected"),
        // Java skips white space around the list.
        Some(after) if after.chars().all(is_java_space) => Ok(items),
        Some(after) => list_error(after, "trailing garbage after the list"),
    }
}

fn split_item(text: &str) -> Result<(Option<String>, &str)> {
    if let Some(rest) = text.strip_prefix("null")
        // `nullable` is no null. Java ends the word in the same way.
        && !rest.starts_with(|next: char| {
            next.is_ascii_alphanumeric()
                || next == '_'
                || (!next.is_ascii() && next.is_alphanumeric())
        })
    {
        return Ok((None, rest));
    }
    let Some(body) = text.strip_prefix('"') else {
        return list_error(text, "`null` or a quoted item expected");
    };
    let mut raw = String::new();
    let mut chars = body.chars();
    loop {
        match chars.next() {
            None => return list_error("", "closing quote expected"),
            Some('"') => break,
            Some('\\') => match chars.next() {
                Some('"') => raw.push('"'),
                // Digits of other scripts are not allowed inside lists.
                Some('u') if !chars.as_str().bytes().take(4).all(|c| c.is_ascii_hexdigit()) => {
                    return list_error(chars.as_str(), "four hex digits expected after \\u");
                }
                // Other escapes are taken apart together, after the item is known to be whole.
                Some(other) => raw.extend(['\\', other]),
                None => return list_error("", "closing quote expected"),
            },
            Some(other) => raw.push(other),
        }
    }
    match unescape(&raw)?.into_string() {
        Ok(item) => Ok((Some(item), chars.as_str())),
        // An item is given to an encoding as Rust text.
        Err(_) => invalid("unpaired surrogate in a quoted item"),
    }
}

/// White space as Java's `Character.isWhitespace` defines it: separators that break, and control
/// characters that separate.
fn is_java_space(char: char) -> bool {
    match char {
        '\u{9}'..='\u{d}' | '\u{1c}'..='\u{20}' => true,
        // Spaces that do not break are not white space. U+0085 is a control character.
        '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => false,
        _ => char.is_whitespace(),
    }
}

fn list_error<T>(rest: &str, detail: &str) -> Result<T> {
    if rest.is_empty() {
        return invalid(format!("parse error at end of input: {detail}"));
    }
    let mut shown: String = rest.chars().take(16).collect();
    if shown.chars().count() > 15 {
        shown = shown.chars().take(12).chain("...".chars()).collect();
    }
    invalid(format!("parse error starting with {shown:?}: {detail}"))
}

/// Makes `parse` read the text form.
macro_rules! text_impls {
    ($($type:ty),*) => {
        $(impl std::str::FromStr for $type {
            type Err = crate::encoding::EncodingError;

            fn from_str(text: &str) -> crate::encoding::Result<Self> {
                <Self as crate::encoding::Encodable>::from_text(text)
            }
        })*
    };
}
pub(crate) use text_impls;
