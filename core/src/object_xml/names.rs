//! Which names can be names of elements.

/// Whether an object type or field with this name gets an element with this name.
///
/// Java writes more names than it can read back, depending on its version. This function accepts
/// the names that all Java versions write and read and that every edition of XML allows. Other
/// names are written as `<object type="…">` and `<field name="…">`, which every reader understands.
pub(super) fn is_element_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(is_start) && chars.all(|c| is_start(c) || is_inner(c))
}

fn is_start(c: char) -> bool {
    matches!(c,
        '_' | 'A'..='Z' | 'a'..='z'
        // Latin letters
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{131}'
        | '\u{134}'..='\u{13e}' | '\u{141}'..='\u{148}' | '\u{14a}'..='\u{17e}'
        | '\u{180}'..='\u{1c3}' | '\u{1cd}'..='\u{1f0}' | '\u{1f4}'..='\u{1f5}'
        | '\u{1fa}'..='\u{217}' | '\u{250}'..='\u{2a8}'
        | '\u{1e00}'..='\u{1e9b}' | '\u{1ea0}'..='\u{1ef9}'
        // Hiragana, Katakana, Chinese characters, Hangul
        | '\u{3041}'..='\u{3094}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fa5}'
        | '\u{ac00}'..='\u{d7a3}')
}

fn is_inner(c: char) -> bool {
    matches!(c, '0'..='9' | '\u{b7}')
}

#[cfg(test)]
mod tests {
    use super::is_element_name;

    #[test]
    fn names() {
        for name in ["a", "_x1", "Été", "名前", "Ünal_2"] {
            assert!(is_element_name(name), "{name}");
        }
        for name in
            ["", "1", "A$b", "$", "Ω", "имя", "\u{fb00}", "\u{1d4b3}", "\u{2c00}", "\u{d7f}"]
        {
            assert!(!is_element_name(name), "{name}");
        }
    }
}
