//! The conflict between a value that was loaded earlier and the value that other transactions have
//! stored since.

use std::fmt;

use crate::id::ObjId;

/// Why a [`Versioned`](crate::model::Versioned) value is not stored: since it was loaded, another
/// transaction has changed a field that it changes too. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedSince {
    /// The object.
    pub id: ObjId,
    /// The name of its type.
    pub type_name: String,
    /// The fields, and the entries of maps, that both have changed.
    pub fields: Vec<ChangedField>,
}

/// A field that was changed in two ways. The values are texts, escaped and shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedField {
    /// The name of the field; for an entry of a map, also its key: `labels["en"]`.
    pub field: String,
    /// Its value when it was loaded; `None` if the field had another definition then, and it is not
    /// known what its value means now.
    pub loaded: Option<String>,
    /// Its present value.
    pub present: String,
    /// The value that it was to get.
    pub wanted: String,
}

impl fmt::Display for ChangedSince {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChangedSince { id, type_name, fields } = self;
        write!(
            f,
            "object {id} of type {type_name} is not stored, because it was changed since it was loaded: "
        )?;
        for (at, changed) in fields.iter().enumerate() {
            let between = if at > 0 { "; " } else { "" };
            let ChangedField { field, loaded, present, wanted } = changed;
            write!(f, "{between}field {field} ")?;
            match loaded {
                Some(loaded) => {
                    write!(f, "was {loaded}, is now {present}, and was to become {wanted}")?
                }
                None => write!(
                    f,
                    "had another definition when it was loaded, is now {present}, and was to become {wanted}"
                )?,
            }
        }
        f.write_str("; load the object again, and make the change on what it is now")
    }
}
