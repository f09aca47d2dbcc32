//! How a comparison ends, and where two texts begin to differ.

use std::fmt::Debug;

/// Why a case did not pass.
#[derive(Debug)]
pub enum Stop {
    /// It gave another result than recorded; the text shows the first difference.
    Fail(String),
    /// It cannot be run; the text says why.
    Skip(String),
}

/// How a case ended.
pub type Outcome<T = ()> = Result<T, Stop>;

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Stop {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        Stop::Fail(text)
    }
}

/// A failure with this text.
pub fn fail(text: impl Into<String>) -> Stop {
    Stop::Fail(text.into())
}

/// A skip with this reason.
pub fn skip(reason: impl Into<String>) -> Stop {
    Stop::Skip(reason.into())
}

/// Fails, showing both, unless `found` equals `expected`.
pub fn same<T: PartialEq<U> + Debug, U: Debug>(what: &str, found: T, expected: U) -> Outcome {
    if found == expected {
        return Ok(());
    }
    Err(fail(format!("{what}: {}", difference(&format!("{found:?}"), &format!("{expected:?}")))))
}

/// Fails, and shows where they begin to differ, unless the text `found` equals `expected`.
pub fn same_text(what: &str, found: &str, expected: &str) -> Outcome {
    if found == expected {
        return Ok(());
    }
    Err(fail(format!("{what}: {}", difference(found, expected))))
}

/// Short texts in full; long ones from a little before the place where they begin to differ.
fn difference(found: &str, expected: &str) -> String {
    const SHORT: usize = 160;
    if found.len() <= SHORT && expected.len() <= SHORT {
        return format!("found {found}, expected {expected}");
    }
    let at = found.chars().zip(expected.chars()).take_while(|(a, b)| a == b).count();
    let window = |text: &str| -> String {
        text.chars().skip(at.saturating_sub(40)).take(SHORT).collect::<String>()
    };
    format!("at character {at}: found …{}…, expected …{}…", window(found), window(expected))
}
