//! The inputs of the check of a statement, besides the catalog.

use std::collections::BTreeMap;

use permazen::schema::SchemaIndex;

use crate::syntax::Literal;

/// The values of parameters such as `$x`, and the schema in which `create` makes objects.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    values: BTreeMap<String, Literal>,
    schema: Option<SchemaIndex>,
}

impl Parameters {
    /// No parameters, and the newest schema that has the type.
    pub fn new() -> Self {
        Parameters::default()
    }

    /// Gives `$name` a value.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Literal) -> Self {
        self.values.insert(name.into(), value);
        self
    }

    /// Lets `create` make objects in this schema.
    #[must_use]
    pub fn creating_in(mut self, schema: SchemaIndex) -> Self {
        self.schema = Some(schema);
        self
    }

    /// The value of `$name`.
    pub fn get(&self, name: &str) -> Option<&Literal> {
        self.values.get(name)
    }

    /// The names of all parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The schema in which `create` makes objects; `None` is the newest one that has the type.
    pub fn schema(&self) -> Option<SchemaIndex> {
        self.schema
    }
}
