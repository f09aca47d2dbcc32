//! Java identifiers: which characters names and enum constants are made of (encodings §15, schema §2.2).

use super::identifier_table::{CONTINUE_ONLY, START};

/// Whether a text is a Java identifier other than `null`.
pub(crate) fn is_enum_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    text != "null"
        && chars.next().is_some_and(is_start)
        && chars.all(|c| is_continue(c) || is_ignorable_control(c))
}

/// Whether a character can begin an identifier: a letter, a letter number, a currency symbol or a
/// connecting punctuation character.
pub(crate) fn is_start(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '_' | '$' => true,
        '\0'..='\x7f' => false,
        _ => contains(&START, c),
    }
}

/// Whether a character other than an ASCII control character can follow: those that can begin an
/// identifier, digits, marks, and ignorable characters.
pub(crate) fn is_continue(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '_' | '$' | '0'..='9' => true,
        '\0'..='\x7f' => false,
        _ => contains(&START, c) || contains(&CONTINUE_ONLY, c),
    }
}

/// The ASCII control characters that may be in an identifier, though not in a name.
fn is_ignorable_control(c: char) -> bool {
    matches!(c, '\0'..='\x08' | '\x0e'..='\x1b' | '\x7f')
}

fn contains(boundaries: &[u32], c: char) -> bool {
    boundaries.partition_point(|&boundary| boundary <= u32::from(c)) % 2 == 1
}
