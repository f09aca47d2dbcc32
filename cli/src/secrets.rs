//! Passwords: they are refused in arguments and shown nowhere.

use std::borrow::Cow;
use std::ffi::OsStr;

use crate::failure::Failure;

/// The password in a text of the form `scheme://user:password@server`: where it begins and ends.
fn password(text: &[u8]) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(at) = text.get(from..)?.windows(3).position(|three| three == b"://") {
        let start = from + at + 3;
        let rest = text.get(start..)?;
        let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b'#') || byte.is_ascii_whitespace();
        let server = rest.get(..rest.iter().position(ends).unwrap_or(rest.len()))?;
        // A password may have an `@` that should have been written as `%40`: take the last one.
        if let Some(end) = server.iter().rposition(|byte| *byte == b'@')
            && let Some(colon) = server.get(..end)?.iter().position(|byte| *byte == b':')
        {
            return Some((start + colon + 1, start + end));
        }
        from = start;
    }
    None
}

/// Refuses an argument that has a password in it: other users of the machine could see it.
pub(crate) fn refuse(argument: &OsStr) -> Result<(), Failure> {
    match password(argument.as_encoded_bytes()) {
        None => Ok(()),
        Some(_) => Err(Failure::new(
            "a password in an argument can be seen by others, and is refused: leave it out, and give \
             it by the environment, a file or the prompt",
        )),
    }
}

/// The text with `***` for each password in it.
pub(crate) fn hidden(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((start, end)) = password(rest.as_bytes()) {
        // Both are beside an ASCII character.
        shown.push_str(rest.get(..start).unwrap_or_default());
        shown.push_str("***");
        rest = rest.get(end..).unwrap_or_default();
    }
    if shown.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(shown + rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found() {
        assert_eq!(hidden("a postgres://me:se@cret@host/db b"), "a postgres://me:***@host/db b");
        assert_eq!(hidden("x://a:b@c x://d:e@f"), "x://a:***@c x://d:***@f");
        for text in ["postgres://me@host:5432/db", "lmdb:/a:b@c", "http://h/a:b@c", "a://", "://:@"]
        {
            assert_eq!(hidden(text).contains("***"), text == "://:@", "{text}");
        }
        assert!(refuse(OsStr::new("pg://u:p@h")).is_err());
        assert!(refuse(OsStr::new("./a:b")).is_ok());
    }
}
