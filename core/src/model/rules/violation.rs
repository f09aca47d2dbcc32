//! Violations of rules.

use std::fmt;

use crate::id::ObjId;
use crate::model::error::Error;
use crate::model::index::lacking;

/// A rule of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Rule {
    /// No other object has the same value (`unique`).
    Unique,
    /// There is at most one object of the type (`singleton`).
    Singleton,
    /// The field has a value, because it is no `Option` in the struct. Neither are the elements,
    /// keys and values of a collection null if their type is no `Option`.
    Required,
    /// A function of the model finds nothing wrong (`validate = …`, `#[on_validate]`).
    Valid,
}

/// An object that breaks a rule, or for which the rule could not be checked.
#[derive(Debug)]
#[non_exhaustive]
pub struct Violation {
    /// The object.
    pub object: ObjId,
    /// The subject of the rule: `Person.email`, `Person#byName`, the type, or the hook that has
    /// found something wrong, `Person::check`.
    pub path: String,
    /// The rule.
    pub rule: Rule,
    /// The value as text, escaped and shortened. Those of several columns have commas between them.
    pub value: Option<String>,
    /// The first five other objects concerned: those that have the same value, or the other objects
    /// of a singleton type.
    pub others: Vec<ObjId>,
    /// The message of a function of the model, or the reason why a required value is missing, if it
    /// is not null.
    pub message: Option<String>,
    /// Why the rule could not be checked: the object cannot be read, or an index lacks objects. An
    /// error [about versions](Error::is_about_versions) that a function of the program has got is
    /// listed only by [`check_rules`](crate::Permazen::check_rules); a commit fails with it.
    pub cause: Option<Box<Error>>,
}

/// How many other objects a violation names.
pub(super) const OTHERS: usize = 5;

impl Violation {
    pub(super) fn new(object: ObjId, path: impl Into<String>, rule: Rule) -> Self {
        let (path, others) = (path.into(), Vec::new());
        Violation { object, path, rule, value: None, others, message: None, cause: None }
    }

    /// A rule that could not be checked.
    pub(super) fn unchecked(
        object: ObjId,
        path: impl Into<String>,
        rule: Rule,
        cause: Error,
    ) -> Self {
        Violation { cause: Some(Box::new(cause)), ..Violation::new(object, path, rule) }
    }

    /// Why the rule could not be checked, in words.
    fn cause_text(&self) -> Option<String> {
        let cause = self.cause.as_deref()?;
        // A program that only writes has made no query, so the words of a query would not help it.
        let of_unique = (self.rule == Rule::Unique).then(|| described_for_unique(cause)).flatten();
        Some(of_unique.unwrap_or_else(|| cause.to_string()))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { object, path, value, .. } = self;
        write!(f, "{path} of object {object}")?;
        // The rule may not be broken at all, so its own words would be wrong.
        if let Some(cause) = self.cause_text() {
            return write!(f, " cannot be checked: {cause}");
        }
        let others = Others(&self.others);
        match self.rule {
            Rule::Unique => {
                let value = value.as_deref().unwrap_or_default();
                write!(f, ": {value} must be unique, and is also that of {others}")
            }
            Rule::Singleton => {
                write!(f, ": there may be only one object of the type, and there is also {others}")
            }
            Rule::Required => match &self.message {
                Some(message) => write!(f, " {message}"),
                None => f.write_str(
                    " is null or contains null, and the model requires values: set a value or remove the null, or \
                     declare an `Option`",
                ),
            },
            Rule::Valid => write!(f, ": {}", self.message.as_deref().unwrap_or_default()),
        }
    }
}

/// The description of the partial index of a unique rule, for the program that wrote to it.
fn described_for_unique(error: &Error) -> Option<String> {
    let Error::PartialIndex { index, type_name, missing, schemas, immovable } = error else {
        return None;
    };
    let lacking = lacking(index, type_name, *missing, schemas, immovable.as_deref());
    Some(format!(
        "{lacking}; with `Builder::unique_among_indexed`, only the objects that are in the index are compared"
    ))
}

/// `object a, b and others`
struct Others<'a>(&'a [ObjId]);

impl fmt::Display for Others<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, id) in self.0.iter().enumerate() {
            let before = if at == 0 { "object " } else { ", " };
            write!(f, "{before}{id}")?;
        }
        Ok(())
    }
}

/// Everything that breaks rules, in the order of the object IDs.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct Violations(pub(super) Vec<Violation>);

/// How many violations are shown as text.
const SHOWN: usize = 10;

impl Violations {
    /// The violations, one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Violation> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no violations.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = std::slice::Iter<'a, Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown(f, "; ", 0)
    }
}

impl Violations {
    /// Writes the first ones, and how many more there are besides those that are not listed.
    pub(super) fn shown(
        &self,
        f: &mut fmt::Formatter<'_>,
        between: &str,
        not_listed: u64,
    ) -> fmt::Result {
        for (at, violation) in self.0.iter().take(SHOWN).enumerate() {
            let before = if at == 0 { "" } else { between };
            write!(f, "{before}{violation}")?;
        }
        // It is only shown.
        let more = u64::try_from(self.0.len().saturating_sub(SHOWN)).unwrap_or(u64::MAX);
        match more.saturating_add(not_listed) {
            0 => Ok(()),
            more => write!(f, "{between}and {more} more"),
        }
    }
}

/// IDs and the cause as text.
#[cfg(feature = "serde")]
impl serde::Serialize for Violation {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;

        let Violation { object, path, rule, value, others, message, .. } = self;
        let others: Vec<_> = others.iter().map(ToString::to_string).collect();
        let mut to = to.serialize_struct("Violation", 7)?;
        to.serialize_field("object", &object.to_string())?;
        to.serialize_field("path", path)?;
        to.serialize_field("rule", rule)?;
        to.serialize_field("value", value)?;
        to.serialize_field("others", &others)?;
        to.serialize_field("message", message)?;
        to.serialize_field("cause", &self.cause_text())?;
        to.end()
    }
}
