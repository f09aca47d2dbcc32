//! The words of a command in a script.
//!
//! Blanks separate words. `'…'` takes everything as it is. In `"…"` and outside of quotes, a
//! backslash takes the next character as it is.

/// The words of the command at the beginning of `text`, and where it ends: at a `;`, a line end, or
/// the end of the text.
///
/// # Errors
/// The position of a quote that does not end, and the error.
pub(crate) fn words(text: &str) -> Result<(Vec<String>, usize), (usize, &'static str)> {
    let mut words = Vec::new();
    // The word that is being read. A word in quotes can be empty.
    let mut word: Option<String> = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            ';' | '\n' => {
                words.extend(word);
                return Ok((words, at));
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some((_, '\'')) => break,
                        Some((_, c)) => word.push(c),
                        None => return Err((at, "the quote that begins here does not end")),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some((_, '"')) => break,
                        Some((_, '\\')) => match chars.next() {
                            Some((_, c)) => word.push(c),
                            None => return Err((at, "the quote that begins here does not end")),
                        },
                        Some((_, c)) => word.push(c),
                        None => return Err((at, "the quote that begins here does not end")),
                    }
                }
            }
            '\\' => match chars.next() {
                Some((_, c)) if c != '\n' => word.get_or_insert_default().push(c),
                _ => return Err((at, "there must be a character after the backslash")),
            },
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok((words, text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        words(text).unwrap().0
    }

    #[test]
    fn words_and_quotes() {
        assert_eq!(split("kv get  00"), ["kv", "get", "00"]);
        assert_eq!(
            split(r#"a 'b "c\' "d\"e\\" f\ g "" "#),
            ["a", r#"b "c\"#, r#"d"e\"#, "f g", ""]
        );
        assert_eq!(split("a'b'\"c\"d"), ["abcd"]);
        assert_eq!(split(""), [""; 0]);
        assert_eq!(split("'a;\nb'"), ["a;\nb"]);
    }

    #[test]
    fn ends_and_mistakes() {
        assert_eq!(words("a b; c").unwrap().1, 3);
        assert_eq!(words("a b\nc").unwrap().1, 3);
        assert_eq!(words("a").unwrap().1, 1);
        assert_eq!(words("a 'b").unwrap_err().0, 2);
        assert_eq!(words("a \"b\\").unwrap_err().0, 2);
        assert_eq!(words("a \\").unwrap_err().0, 2);
        assert_eq!(words("a \\\nb").unwrap_err().0, 2);
    }
}
