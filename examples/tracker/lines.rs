//! The output of a version: one line for each field of each object, sorted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use permazen::{Error, Model, Obj, Result};

/// The text for a field that the program cannot read, because the object is of another version.
pub const ELSEWHERE: &str = "(in another version)";

/// The lines. Object IDs are not shown, so that databases can be compared that were filled or
/// upgraded separately.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Lines {
    lines: BTreeMap<String, String>,
    elsewhere: BTreeSet<String>,
}

impl Lines {
    /// Notes whether an object is in the schema of another version, before its fields are read.
    /// Returns its name.
    pub fn object<M: Model>(&mut self, object: Obj<'_, M>, name: String) -> Result<String> {
        if object.schema_id()? != object.tx().schema().model.schema_id() {
            self.elsewhere.insert(name.clone());
        }
        Ok(name)
    }

    /// Whether an object is in the schema of another version.
    pub fn is_elsewhere(&self, object: &str) -> bool {
        self.elsewhere.contains(object)
    }

    /// Adds a field of an object.
    pub fn add(&mut self, object: &str, field: &str, value: Result<impl fmt::Debug>) -> Result<()> {
        let value = match value {
            Ok(value) => format!("{value:?}"),
            Err(Error::Refused(_) | Error::Missing { .. } | Error::Upgrade { .. }) => {
                ELSEWHERE.to_owned()
            }
            Err(error) => return Err(error),
        };
        match self.lines.insert(format!("{object}: {field}"), value) {
            None => Ok(()),
            Some(_) => Err(Error::other(format!("two objects are named {object}"))),
        }
    }

    /// The lines: object and field, and the value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().map(|(what, value)| (&**what, &**value))
    }

    /// The value of a line.
    pub fn get(&self, what: &str) -> Option<&str> {
        self.lines.get(what).map(String::as_str)
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|(what, value)| writeln!(f, "{what} = {value}"))
    }
}
