//! [`Refusal`]: why an object is not moved to the schema of the models, and what a program can do.

use std::fmt;

use crate::id::ObjId;
use crate::schema::SchemaId;

/// Why an object does not move to the schema of the models: values would be lost. The object stays
/// in its schema, and everything that needs no move works there (docs/src/evolution.md).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The object.
    pub id: ObjId,
    /// The name of its type.
    pub type_name: String,
    /// The schema in which it is.
    pub from: SchemaId,
    /// The schema of the models.
    pub to: SchemaId,
    /// The values that would be lost.
    pub losses: Vec<Loss>,
}

/// A value that would be lost if its object moved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The name of the field in the schema in which the object is.
    pub field: String,
    /// The value as text, escaped and shortened.
    pub value: String,
    /// Why it would be lost.
    pub reason: String,
    /// The field has no successor in the model, so the model can only say that it may go.
    pub removed: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { id, type_name, from, to, losses } = self;
        write!(
            f,
            "object {id} of type {type_name} stays in schema {from}, because moving it to schema {to} would lose content of "
        )?;
        for (at, loss) in losses.iter().enumerate() {
            let between = if at > 0 { "; and " } else { "" };
            write!(f, "{between}{loss}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { field, value, reason, removed } = self;
        write!(f, "field {field:?} (value {value}): {reason}; ")?;
        WaysOn { field, removed: *removed }.fmt(f)
    }
}

/// The ways in which a program can handle a loss.
pub(super) struct WaysOn<'a> {
    /// The name of the field in the other schema.
    pub(super) field: &'a str,
    /// The model lacks the field.
    pub(super) removed: bool,
}

impl fmt::Display for WaysOn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field;
        if self.removed {
            write!(
                f,
                "keep the field, carry its value over (`was = {field:?}`, or `old.take({field:?})` in an own \
                 conversion), or say that it may go: `#[permazen(removed({field:?}))]` on the struct"
            )
        } else {
            f.write_str(
                "set another value where the object is (`tx.any(id).set(…)`, or `tx.core()` for a collection), convert \
                 it yourself (`upgrade_with` on the field, `on_schema_change` on the struct), or accept the loss with `upgrade = \"lossy\"` or `upgrade = \"reset\"` on the field",
            )
        }
    }
}
