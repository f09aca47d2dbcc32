//! Names and paths of fields.

use permazen::StorageId;

use super::{Literal, Span};

/// The name of a type, field or index: `Person`, `` `order` ``, `#17`, `name#17`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Where it stands.
    pub span: Span,
    /// The name, without backticks and escapes. If it is `None`, there is a storage ID.
    pub text: Option<String>,
    /// The storage ID after `#`.
    pub storage_id: Option<StorageId>,
}

impl Name {
    /// The name with this text.
    pub fn of(text: impl Into<String>) -> Self {
        Name { span: Span::default(), text: Some(text.into()), storage_id: None }
    }
}

/// The path from an object to the value that a condition, order or column reads: `boss.name`,
/// `scores["a"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Where it stands.
    pub span: Span,
    /// The parts, at least one.
    pub parts: Vec<Part>,
}

/// One part of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A field or sub-field.
    Name(Name),
    /// The value of a map for a key, or the element of a list at a position: `["a"]`, `[0]`.
    Key(Literal),
    /// A property of every object. A field of that name is written in backticks.
    Special(Special),
}

/// A property of every object, besides its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Special {
    /// Its ID.
    Id,
    /// The name of its type.
    Type,
    /// The number of the schema it is in.
    Schema,
}

impl Special {
    /// All of them.
    pub const ALL: [Special; 3] = [Special::Id, Special::Type, Special::Schema];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Special::Id => "id",
            Special::Type => "type",
            Special::Schema => "schema",
        }
    }
}
