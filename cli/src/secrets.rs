//! Passwords: they are refused in arguments and shown nowhere.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::ops::Range;

use permazen::__internal::escape::{PASSWORD_REFUSED, password_in};

use crate::failure::Failure;

/// Refuses an argument that has a password in it: other users of the machine could see it.
pub(crate) fn refuse(argument: &OsStr) -> Result<(), Failure> {
    match password_in(argument.as_encoded_bytes()) {
        None => Ok(()),
        Some(_) => Err(Failure::new(PASSWORD_REFUSED)),
    }
}

/// The text with `***` for each password in it.
pub(crate) fn hidden(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(Range { start, end }) = password_in(rest.as_bytes()) {
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
