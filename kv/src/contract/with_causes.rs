//! The text of an error together with the texts of its causes.
//!
//! The text of an error of this project is complete: it has the texts of its causes, and its
//! `source` returns none of these again. So a program that prints an error alone and one that
//! prints the chain of its sources print the same. The causes themselves are in the fields of the
//! error.

use std::error::Error;
use std::fmt;

/// Shows an error, and its sources as far as their texts are not in it already:
/// `cannot read: disk error`.
#[derive(Debug)]
pub struct WithCauses<'e>(pub &'e (dyn Error + 'static));

impl fmt::Display for WithCauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(mut cause) = self.0.source() else { return fmt::Display::fmt(self.0, f) };
        let mut shown = self.0.to_string();
        loop {
            let text = cause.to_string();
            if !says(&shown, &text) {
                shown = format!("{shown}: {text}");
            }
            match cause.source() {
                Some(next) => cause = next,
                None => return f.write_str(&shown),
            }
        }
    }
}

/// Whether `part` is in a text, and not only within another word or number.
fn says(text: &str, part: &str) -> bool {
    let within_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    text.match_indices(part).any(|(at, _)| {
        let (before, after) = (text.get(..at), text.get(at + part.len()..));
        let before = before.and_then(|before| before.chars().next_back());
        !within_word(before) && !within_word(after.and_then(|after| after.chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Nested(&'static str, Option<Box<Nested>>);

    impl fmt::Display for Nested {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Nested {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn each_cause_is_shown_once() {
        let of = |texts: [&'static str; 3]| {
            let nested = texts
                .into_iter()
                .rev()
                .fold(None, |cause, text| Some(Box::new(Nested(text, cause))));
            WithCauses(&*nested.expect("three")).to_string()
        };
        assert_eq!(of(["a", "b", "c"]), "a: b: c");
        assert_eq!(of(["cannot read: lock", "lock", "held"]), "cannot read: lock: held");
        assert_eq!(of(["x: y: z", "y: z", "z"]), "x: y: z");
        assert_eq!(of(["key 12 is wrong", "2", "disk"]), "key 12 is wrong: 2: disk");
    }
}
