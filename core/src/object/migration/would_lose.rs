//! Why an object is not moved: what it would lose.

use std::fmt;

use crate::id::ObjId;
use crate::schema::SchemaId;

/// Why [`Transaction::migrate_exactly`](crate::object::Transaction::migrate_exactly) does not move
/// an object. It is the cause of an [`Error::MoveRefused`](crate::object::Error::MoveRefused).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WouldLose {
    /// The object.
    pub id: ObjId,
    /// The name of its type.
    pub type_name: String,
    /// The schema in which it is.
    pub from: SchemaId,
    /// The schema to which it was to move.
    pub to: SchemaId,
    /// The values that would be lost, at least one.
    pub losses: Vec<LostValue>,
}

/// A value that would be lost if its object moved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostValue {
    /// The name of the field; with that of the sub-field, if the value is a reference in a
    /// collection.
    pub field: String,
    /// The value as text, escaped and shortened.
    pub value: String,
    /// Why it would be lost.
    pub reason: String,
}

impl LostValue {
    /// Whether it is of this field, or of a part of it.
    pub(super) fn is_of(&self, field: &str) -> bool {
        let rest = self.field.strip_prefix(field);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl std::error::Error for WouldLose {}

impl fmt::Display for WouldLose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WouldLose { id, type_name, from, to, losses } = self;
        write!(
            f,
            "object {id} of type {type_name:?} stays in schema {from}, because moving it to schema {to} would lose "
        )?;
        for (at, loss) in losses.iter().enumerate() {
            let between = if at > 0 { ", and " } else { "" };
            write!(f, "{between}{loss}")?;
        }
        f.write_str("; give it another value there first, or let it stay")
    }
}

impl fmt::Display for LostValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LostValue { field, value, reason } = self;
        write!(f, "the value {value} of field {field:?} ({reason})")
    }
}
