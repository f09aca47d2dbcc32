//! Objects that do not take a change.

use std::fmt;
use std::sync::Arc;

use permazen::ObjId;
use permazen::schema::SchemaIndex;

use crate::syntax::Span;
use crate::text::escaped;

/// Why an object does not take a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotTaken {
    /// The object.
    pub id: ObjId,
    /// The name of its type.
    pub type_name: Arc<str>,
    /// The schema it is in.
    pub schema: SchemaIndex,
    /// The change, in the text of the statement.
    pub span: Span,
    /// Why, as one clause.
    pub what: String,
}

impl std::error::Error for NotTaken {}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotTaken { id, type_name, schema, what, .. } = self;
        write!(f, "{} @{id}, which is in schema {schema}: {what}", escaped(type_name))
    }
}
