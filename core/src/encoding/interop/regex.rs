//! The `regex` crate.

use super::{encode_as, not_held};
use crate::encoding::EncodingError;
use crate::encoding::textual::Pattern;

/// Fails for syntax that Java does not have.
impl TryFrom<regex::Regex> for Pattern {
    type Error = EncodingError;

    fn try_from(regex: regex::Regex) -> Result<Self, EncodingError> {
        Pattern::new(regex.as_str())
    }
}

/// Fails for syntax that the crate does not have.
impl TryFrom<Pattern> for regex::Regex {
    type Error = EncodingError;

    fn try_from(pattern: Pattern) -> Result<Self, EncodingError> {
        match pattern.as_str().map(regex::Regex::new) {
            Some(Ok(regex)) => Ok(regex),
            _ => not_held(&pattern, "a regular expression of the regex crate"),
        }
    }
}

encode_as!(regex::Regex => Pattern);
