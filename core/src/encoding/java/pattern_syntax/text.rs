//! The text of a regular expression, read character by character.

use std::collections::HashSet;

/// Why a text is not a regular expression.
pub(crate) type Reason = &'static str;

/// The characters. Unpaired surrogates stay as they are.
fn code_points(units: &[u16]) -> Vec<u32> {
    // Java keeps unpaired surrogates as characters.
    char::decode_utf16(units.iter().copied())
        .map(|decoded| {
            decoded.map_or_else(|error| u32::from(error.unpaired_surrogate()), u32::from)
        })
        .collect()
}

pub(super) const fn code(char: char) -> u32 {
    char as u32
}

pub(super) fn is_ascii(point: u32, test: impl Fn(&u8) -> bool) -> bool {
    u8::try_from(point).is_ok_and(|byte| byte.is_ascii() && test(&byte))
}

/// Replaces the text between `\Q` and `\E` by escaped characters.
fn without_quotes(text: Vec<u32>) -> Vec<u32> {
    const BACKSLASH: u32 = code('\\');
    let mut out = Vec::with_capacity(text.len());
    let mut quoted = false;
    let mut begins = false;
    let mut at = 0;
    while let Some(&point) = text.get(at) {
        let next = text.get(at + 1).copied();
        at += 1;
        if quoted {
            if point == BACKSLASH && next == Some(code('E')) {
                quoted = false;
                at += 1;
            } else {
                if begins && is_ascii(point, u8::is_ascii_digit) {
                    // The digit must not become part of an escape sequence before the quote.
                    out.extend("\\x3".chars().map(code));
                } else if is_ascii(point, |byte| !byte.is_ascii_alphanumeric()) {
                    out.push(BACKSLASH);
                }
                out.push(point);
            }
            begins = false;
        } else if point == BACKSLASH && next == Some(code('Q')) {
            quoted = true;
            begins = true;
            at += 1;
        } else {
            out.push(point);
            // An escaped backslash does not begin a quote.
            if point == BACKSLASH
                && let Some(next) = next
            {
                out.push(next);
                at += 1;
            }
        }
    }
    out
}

/// Expressions that people write do not nest so deeply.
pub(super) const MAX_DEPTH: usize = 200;

/// The reason why checking stops at [`MAX_DEPTH`].
pub(super) const TOO_DEEP: Reason = "nested too deeply";

/// The text of an expression, and the position that checking has reached.
pub(super) struct Parser {
    pub(super) text: Vec<u32>,
    pub(super) at: usize,
    /// Whether the flag `x` is set: white space and comments are ignored.
    pub(super) comments: bool,
    pub(super) names: HashSet<Vec<u32>>,
    pub(super) depth: usize,
}

impl Parser {
    pub(super) fn new(units: &[u16]) -> Self {
        Parser {
            text: without_quotes(code_points(units)),
            at: 0,
            comments: false,
            names: HashSet::new(),
            depth: 0,
        }
    }

    pub(super) fn raw(&self) -> Option<u32> {
        self.text.get(self.at).copied()
    }

    /// The next character that is not ignored.
    pub(super) fn peek(&mut self) -> Option<u32> {
        while self.comments {
            match self.raw() {
                Some(point)
                    // This kind of white space is not in Rust's list of ASCII white space.
                    if is_ascii(point, |byte| byte.is_ascii_whitespace() || *byte == 0x0b) =>
                {
                    self.at += 1
                }
                // A comment ends with any line break that Java knows.
                Some(point) if point == code('#') => {
                    while self
                        .raw()
                        .is_some_and(|point| !matches!(point, 0x0a | 0x0d | 0x85 | 0x2028 | 0x2029))
                    {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
        self.raw()
    }

    pub(super) fn peek_is(&mut self, wanted: char) -> bool {
        self.peek() == Some(code(wanted))
    }

    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek_is(wanted);
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_raw(&mut self, wanted: char) -> bool {
        let found = self.raw() == Some(code(wanted));
        self.at += usize::from(found);
        found
    }

    pub(super) fn next_raw(&mut self) -> Option<u32> {
        let next = self.raw()?;
        self.at += 1;
        Some(next)
    }
}
