//! Java identifiers: the characters that names and enum constants may have.

use super::identifier_table::{CONTINUE_ONLY, START};

/// Whether a text is a Java identifier, and not `null`.
pub(crate) fn is_enum_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    // Java refuses this word as the name of a constant.
    text != "null"
        && chars.next().is_some_and(is_start)
        && chars.all(|c| is_continue(c) || is_ignorable_control(c))
}

/// Whether an identifier can begin with this character: a letter, a letter number, a currency
/// symbol or connecting punctuation.
pub(crate) fn is_start(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '_' | '$' => true,
        // The table is for characters beyond ASCII only.
        '\0'..='\x7f' => false,
        _ => contains(&START, c),
    }
}

/// Whether this character can follow in an identifier: it can begin one, or is a digit, a mark or
/// an ignorable character. ASCII control characters are not included.
pub(crate) fn is_continue(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '_' | '$' | '0'..='9' => true,
        '\0'..='\x7f' => false,
        _ => contains(&START, c) || contains(&CONTINUE_ONLY, c),
    }
}

/// The ASCII control characters that may be in an identifier, but not in a name.
fn is_ignorable_control(c: char) -> bool {
    matches!(c, '\0'..='\x08' | '\x0e'..='\x1b' | '\x7f')
}

fn contains(boundaries: &[u32], c: char) -> bool {
    // The boundaries are in turn the first character of a range and the first after it.
    boundaries.partition_point(|&boundary| boundary <= u32::from(c)) % 2 == 1
}
