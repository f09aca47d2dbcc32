//! File paths.

use std::borrow::Cow;

use super::string_type::string_type;
use crate::encoding::{JavaString, Result, Value};

/// The path of a file, as `java.io.File` has it on Unix: without double slashes, and without a
/// slash at the end.
///
/// It is only a string: the file need not exist, and `.` and `..` stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(JavaString);

impl FilePath {
    /// The path with this text.
    pub fn new(path: &str) -> Self {
        FilePath(normalize(path.into()))
    }

    /// The path with this text, which may be any string of Java's.
    ///
    /// # Errors
    /// None. It returns a `Result` like the other types that are stored as strings.
    pub fn from_java(path: JavaString) -> Result<Self> {
        Ok(FilePath(normalize(path)))
    }

    /// The path as a string.
    pub fn as_java(&self) -> Cow<'_, JavaString> {
        Cow::Borrowed(&self.0)
    }

    /// The path as text; `None` if it has unpaired surrogates.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_str()
    }
}

fn normalize(path: JavaString) -> JavaString {
    const SLASH: u16 = b'/' as u16;
    // Most paths are normal already, and these are kept without a list of units.
    let normal = path
        .as_str()
        .is_some_and(|text| !text.contains("//") && (text == "/" || !text.ends_with('/')));
    if normal {
        return path;
    }
    let mut units: Vec<u16> = Vec::new();
    for unit in path.units() {
        // Java joins slashes that follow each other.
        if unit != SLASH || units.last() != Some(&SLASH) {
            units.push(unit);
        }
    }
    // The root is one slash and keeps it.
    if units.len() > 1 && units.last() == Some(&SLASH) {
        units.pop();
    }
    JavaString::from_units(&units)
}

string_type!(FilePath, crate::encoding::ids::FILE);
