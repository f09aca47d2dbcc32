//! The pieces of a text that is being typed. It need not be right, and is mostly not complete.

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'t> {
    /// Where it begins.
    pub(super) start: usize,
    pub(super) text: &'t str,
}

impl<'t> Token<'t> {
    /// The name that it is, without backticks.
    pub(super) fn name(self) -> &'t str {
        self.text.trim_matches('`')
    }

    /// Whether more characters could belong to it.
    pub(super) fn can_grow(self) -> bool {
        let Some(first) = self.text.chars().next() else { return false };
        let is_open = self.text.len() == 1 || !self.text.ends_with(first);
        first == '@' || is_of_word(first) || (matches!(first, '"' | '`') && is_open)
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// The pieces of the last statement or command of a text. Comments are left out.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        let same = |belongs: fn(char) -> bool| {
            let after = rest.char_indices().skip(1).find(|(_, c)| !belongs(*c));
            after.map_or(rest.len(), |(at, _)| at)
        };
        let length = match first {
            _ if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '"' | '`' => quoted(rest, first),
            '@' => same(|c| c.is_ascii_hexdigit()),
            '<' | '>' | '=' | '!' | '+' | '-' => same(|c| matches!(c, '<' | '>' | '=' | '!')),
            '.' => same(|c| c == '.'),
            c if is_of_word(c) => same(is_of_word),
            c => c.len_utf8(),
        };
        let token = Token { start: at, text: rest.get(..length).unwrap_or_default() };
        match first {
            ';' => tokens.clear(),
            c if c.is_whitespace() => {}
            _ if rest.starts_with("--") => {}
            _ => tokens.push(token),
        }
        at += length;
    }
    tokens
}

/// The length of the text that begins with this quote, up to the other quote or the end.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|token| token.text).collect()
    }

    #[test]
    fn pieces() {
        assert_eq!(texts("find Pers"), ["find", "Pers"]);
        assert_eq!(texts("info; find a.b>=\"x;\\\"y"), ["find", "a", ".", "b", ">=", "\"x;\\\"y"]);
        assert_eq!(
            texts("find @10,`a b` -- c\n in \"A\"..\"C\""),
            ["find", "@10", ",", "`a b`", "in", "\"A\"", "..", "\"C\""]
        );
        assert_eq!(texts(""), [""; 0]);
    }

    #[test]
    fn what_can_grow() {
        let last = |text| tokens(text).last().is_some_and(|token| token.can_grow());
        for text in ["fi", "a.b", "= \"An", "= \"", "@", "`a"] {
            assert!(last(text), "{text}");
        }
        for text in ["a =", "= \"Ann\"", "a.", "`a`", "("] {
            assert!(!last(text), "{text}");
        }
    }
}
