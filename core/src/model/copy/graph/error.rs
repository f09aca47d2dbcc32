//! Why a graph is refused.

use std::fmt;

use crate::id::ObjId;

/// Why a [`Graph`](super::Graph) cannot be exported or imported: the object, the place in it, the
/// value there, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphError {
    /// The object, with its ID in the graph.
    pub object: ObjId,
    /// The name of its type.
    pub type_name: String,
    /// The field, the element `friends[2]`, or the key or value of an entry, `phones[0].key`;
    /// `None` for the object itself.
    pub place: Option<String>,
    /// The value there as it would be written, shortened; `None` if it is not about a value.
    pub value: Option<String>,
    /// The problem, and the remedy.
    pub reason: String,
}

impl std::error::Error for GraphError {}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {} of type {:?}", self.object, self.type_name)?;
        if let Some(place) = &self.place {
            write!(f, ", field {place:?}")?;
        }
        if let Some(value) = &self.value {
            write!(f, ", value {value}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// A problem within an object; [`GraphError`] adds which object it is.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) place: Option<String>,
    pub(super) value: Option<String>,
    pub(super) reason: String,
}

impl Wrong {
    /// Something about a whole object.
    pub(super) fn object(reason: impl Into<String>) -> Wrong {
        Wrong { place: None, value: None, reason: reason.into() }
    }

    /// Something about a place.
    pub(super) fn at(place: impl Into<String>, reason: impl Into<String>) -> Wrong {
        Wrong { place: Some(place.into()), value: None, reason: reason.into() }
    }

    /// Something about a value.
    pub(super) fn value(
        place: impl Into<String>,
        value: impl fmt::Display,
        reason: impl Into<String>,
    ) -> Wrong {
        Wrong { value: Some(value.to_string()), ..Wrong::at(place, reason) }
    }

    pub(super) fn of(self, object: ObjId, type_name: &str) -> GraphError {
        let Wrong { place, value, reason } = self;
        GraphError { object, type_name: shortened(type_name), place, value, reason }
    }
}

/// A text that is not longer than messages should be.
pub(super) fn shortened(text: &str) -> String {
    const SHOWN: usize = 64;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
