//! The words of names, and what can be a name. The shell, which writes structs for a schema, has
//! the same rules; it cannot call a macro crate, but one of its tests includes this file and
//! compares.

/// The words of a name in any case style, in lower case. `HTTPServer2` has the words `http`,
/// `server2`.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    // Underscores at both ends, and several in a row, separate no words.
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let chars: Vec<char> = part.chars().collect();
        let mut word = String::new();
        for (at, &c) in chars.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| chars.get(at));
            let starts_word = c.is_uppercase()
                && before.is_some_and(|before| {
                    !before.is_uppercase()
                        // The last capital of several begins a word if a small letter follows:
                        // `HTTPServer`.
                        || chars.get(at + 1).is_some_and(|next| next.is_lowercase())
                });
            if starts_word {
                words.push(std::mem::take(&mut word));
            }
            word.extend(c.to_lowercase());
        }
        words.push(word);
    }
    words
}

/// A word with a capital letter first.
pub(crate) fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A name in camel case.
pub(crate) fn camel_case(name: &str) -> String {
    let words = words(name);
    let mut rest = words.iter();
    let first = rest.next().cloned().unwrap_or_default();
    first + &rest.map(|word| capitalized(word)).collect::<String>()
}

/// A name in upper case with underscores between its words.
pub(crate) fn screaming_snake_case(name: &str) -> String {
    words(name).join("_").to_uppercase()
}

/// Whether `name` can name a type, field, index or enum identifier.
pub(crate) fn is_valid(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}
