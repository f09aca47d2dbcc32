//! Regular expressions.

use std::borrow::Cow;

use super::string_type::string_type;
use crate::bytes::invalid;
use crate::encoding::java::pattern_syntax;
use crate::encoding::{JavaString, Result, Value};

/// A regular expression in Java's syntax.
///
/// The text stays as it is. It is checked that Java compiles it, but names of Unicode properties
/// are not checked. The feature `regex` adds conversions to and from that crate's type, whose
/// syntax differs in details.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern(JavaString);

impl Pattern {
    /// The regular expression with this text.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if Java would not
    /// compile it.
    pub fn new(pattern: &str) -> Result<Self> {
        Self::from_java(pattern.into())
    }

    /// The regular expression with this text, which may be any string of Java's.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if Java would not
    /// compile it.
    pub fn from_java(pattern: JavaString) -> Result<Self> {
        let units: Vec<u16> = pattern.units().collect();
        match pattern_syntax::check(&units) {
            Ok(()) => Ok(Pattern(pattern)),
            Err(reason) => invalid(format!("invalid regular expression {pattern:?}: {reason}")),
        }
    }

    /// The regular expression as a string.
    pub fn as_java(&self) -> Cow<'_, JavaString> {
        Cow::Borrowed(&self.0)
    }

    /// The regular expression as text; `None` if it has unpaired surrogates.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_str()
    }
}

string_type!(Pattern, crate::encoding::ids::PATTERN);
