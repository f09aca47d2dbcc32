//! Characters that cannot be seen, or that change how the text around them is shown.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character must not reach a terminal as it is: a control character (C0, DEL, C1), a
/// character that sets the direction of writing or ends a line or a paragraph, or an invisible
/// character.
///
/// The selectors of variants (U+FE00 – U+FE0F) are not among them: emoji consist of them.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, marks of direction, Mongolian vowel separator.
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            // Zero width, direction, line and paragraph separators.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            // Joiners, invisible operators, isolates.
            | '\u{2060}'..='\u{206f}'
            // Invisible fillers.
            | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            // Format characters of scripts that set text in two dimensions.
            | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Tags.
            | '\u{e0000}'..='\u{e0fff}')
}

/// The text with `\u{9b}` for each [hidden](is_hidden) character. Everything else stays as it is, so
/// this is for people only: [`quoted`](super::quoted) can be read back.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        push(c, &mut out);
    }
    Cow::Owned(out)
}

pub(super) fn push(c: char, out: &mut String) {
    if is_hidden(c) { push_code(u32::from(c), out) } else { out.push(c) }
}

/// Appends `\u{9b}`.
pub(super) fn push_code(code: u32, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(out, "\\u{{{code:x}}}");
}
