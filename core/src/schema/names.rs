//! The rules for names.

use crate::encoding::java::identifier;

/// Whether `name` can name an object type, a field or a composite index.
pub fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(identifier::is_start) && chars.all(identifier::is_continue)
}

/// Whether `text` can be an identifier of an enum.
///
/// The rule is the one for names, with two exceptions: ASCII control characters are allowed after
/// the first character, and `null` is not allowed. Not every identifier can be recorded: see
/// [`identifier_can_be_stored`].
pub fn is_enum_identifier(text: &str) -> bool {
    identifier::is_enum_identifier(text)
}

/// Whether a valid identifier stays the same when it is written to schema XML and read again.
///
/// The recorded form escapes ASCII control characters and characters above U+FFFF, but nothing
/// reverses that. A schema with such an identifier could not be opened again.
pub fn identifier_can_be_stored(identifier: &str) -> bool {
    identifier.chars().all(|c| ('\u{20}'..='\u{ffff}').contains(&c) && c != '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["Foo", "_", "$x", "€", "é", "中文", "𝒳", "Ⅰ", "null", "class", "a\u{80}"]
        {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "1a", "a b", "a-b", "a.b", "\u{300}", "a\u{1}", "a\u{7f}"] {
            assert!(!is_name(name), "{name:?}");
        }
        assert!(is_enum_identifier("a\u{1}") && !identifier_can_be_stored("a\u{1}"));
        assert!(!is_enum_identifier("null") && !is_enum_identifier("\u{1}a"));
    }
}
