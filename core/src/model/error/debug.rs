//! Errors as `{:?}` shows them.

use std::error::Error as _;
use std::fmt;

use super::Error;

/// The text of the error, then the causes that it does not mention, as a `main` that returns the
/// error should print it. `{:#?}` shows the parts of the error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return parts(self, f);
        }
        let mut shown = self.to_string();
        f.write_str(&shown)?;
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !shown.contains(&text) {
                write!(f, "\n\nCaused by:\n    {text}")?;
            }
            shown = text;
            cause = error.source();
        }
        Ok(())
    }
}

fn parts(error: &Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        Error::Object(error) => f.debug_tuple("Object").field(error).finish(),
        Error::Encoding(error) => f.debug_tuple("Encoding").field(error).finish(),
        Error::Models(errors) => f.debug_tuple("Models").field(errors).finish(),
        Error::NotRegistered { type_name } => {
            f.debug_struct("NotRegistered").field("type_name", type_name).finish()
        }
        Error::WrongType { id, found, expected } => f
            .debug_struct("WrongType")
            .field("id", id)
            .field("found", found)
            .field("expected", expected)
            .finish(),
        Error::WrongTarget { field, id, schema, target, target_type, expected } => f
            .debug_struct("WrongTarget")
            .field("field", field)
            .field("id", id)
            .field("schema", schema)
            .field("target", target)
            .field("target_type", target_type)
            .field("expected", expected)
            .finish(),
        Error::NullInside { field, id } => {
            f.debug_struct("NullInside").field("field", field).field("id", id).finish()
        }
        Error::Decode { field, id, source } => f
            .debug_struct("Decode")
            .field("field", field)
            .field("id", id)
            .field("source", source)
            .finish(),
        Error::Encode { field, source } => {
            f.debug_struct("Encode").field("field", field).field("source", source).finish()
        }
        Error::Convert { field, source } => {
            f.debug_struct("Convert").field("field", field).field("source", source).finish()
        }
        Error::Upgrade { field, id, schema, value, source } => f
            .debug_struct("Upgrade")
            .field("field", field)
            .field("id", id)
            .field("schema", schema)
            .field("value", value)
            .field("source", source)
            .finish(),
        Error::LoadNotUndone { source, undo } => {
            f.debug_struct("LoadNotUndone").field("source", source).field("undo", undo).finish()
        }
        Error::Missing { field, id, schema, is_null, is_new } => f
            .debug_struct("Missing")
            .field("field", field)
            .field("id", id)
            .field("schema", schema)
            .field("is_null", is_null)
            .field("is_new", is_new)
            .finish(),
        Error::Refused(refusal) => f.debug_tuple("Refused").field(refusal).finish(),
        Error::WouldLose(report) => f.debug_tuple("WouldLose").field(report).finish(),
        Error::ChangedSince(changed) => f.debug_tuple("ChangedSince").field(changed).finish(),
        Error::Other(error) => f.debug_tuple("Other").field(error).finish(),
        // The text of the others has all their parts.
        other => f.debug_tuple("Error").field(&other.to_string()).finish(),
    }
}
