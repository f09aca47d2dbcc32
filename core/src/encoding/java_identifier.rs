//! Identifiers of enum constants (encodings §15).

/// Whether a text is a Java identifier other than `null`.
pub(crate) fn is_enum_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next();
    text != "null"
        && first.is_some_and(|char| char.is_alphabetic() || matches!(char, '_' | '$'))
        && chars.all(|char| char.is_alphanumeric() || matches!(char, '_' | '$'))
}
