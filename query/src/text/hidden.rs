//! Characters that cannot be seen, or that change how the text around them is shown.

use std::borrow::Cow;
use std::fmt::Write;

use permazen::__internal::escape::needs_escape;

/// Whether a character must not reach a terminal as it is: a control character (C0, DEL, C1), a
/// character that sets the direction of writing or ends a line or a paragraph, or an invisible
/// character. The rule is that of `permazen`, in `core/src/escape.rs`.
pub fn is_hidden(c: char) -> bool {
    needs_escape(c)
}

/// The text with `\u{9b}` for each [hidden](is_hidden) character. Everything else stays as it is,
/// so this is for people only: [`quoted`](super::quoted) can be read back.
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
