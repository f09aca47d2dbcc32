//! A change of a field, as listeners get it (docs/src/listeners.md).

use std::sync::Arc;

use crate::encoding::Value;
use crate::id::ObjId;
use crate::object::describe::describe;
use crate::object::error::hex;
use crate::object::{Error, Result};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType};

/// One change of one field of one object.
///
/// The values are those at the moment of the change, encoded. [`FieldChange::decode`] gives them as
/// [`Value`]s.
#[derive(Clone)]
pub struct FieldChange {
    pub(crate) id: ObjId,
    pub(crate) object_type: Arc<ResolvedType>,
    pub(crate) field: Arc<ResolvedField>,
    pub(crate) kind: ChangeKind,
}

/// The kind of a change, with its values. Values are encoded; defaults and nulls are included.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind<V = Box<[u8]>> {
    /// A simple field got another value.
    Simple {
        /// The old value.
        old: V,
        /// The new value.
        new: V,
    },
    /// An element was added to a set.
    SetAdd {
        /// The element.
        value: V,
    },
    /// An element was removed from a set.
    SetRemove {
        /// The element.
        value: V,
    },
    /// A set that had elements became empty.
    SetClear,
    /// An element was inserted into a list.
    ListAdd {
        /// Its new position.
        index: u32,
        /// The element.
        value: V,
    },
    /// An element was removed from a list.
    ListRemove {
        /// The position that it had. If `remove_range`, or other content for the object, removes
        /// several elements, that is before all of them went: the first two of three have 0 and 1.
        /// Otherwise each removal is reported as if it were made alone, after the removals reported
        /// before it. So the same two have 0 and 0. This is so for `retain`, for a deletion of the
        /// objects to which the elements refer, and for a move to a schema that does not allow such
        /// references.
        index: u32,
        /// The element.
        value: V,
    },
    /// An element of a list was replaced.
    ListReplace {
        /// Its position.
        index: u32,
        /// The old element.
        old: V,
        /// The new element.
        new: V,
    },
    /// A list that had elements became empty.
    ListClear,
    /// An entry was added to a map.
    MapAdd {
        /// The key.
        key: V,
        /// The value.
        value: V,
    },
    /// An entry was removed from a map.
    MapRemove {
        /// The key.
        key: V,
        /// The value.
        value: V,
    },
    /// The value of a map entry was replaced.
    MapReplace {
        /// The key.
        key: V,
        /// The old value.
        old: V,
        /// The new value.
        new: V,
    },
    /// A map that had entries became empty.
    MapClear,
}

impl std::fmt::Debug for FieldChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FieldChange")
            .field("id", &self.id)
            .field("object_type", &self.object_type.name)
            .field("field", &self.field.full_name)
            .field("kind", &self.kind)
            .finish()
    }
}

impl FieldChange {
    /// The changed object.
    pub fn id(&self) -> ObjId {
        self.id
    }

    /// The object's type, in the object's own schema.
    pub fn object_type(&self) -> &Arc<ResolvedType> {
        &self.object_type
    }

    /// The changed field, as the object's own schema defines it.
    pub fn field(&self) -> &Arc<ResolvedField> {
        &self.field
    }

    /// The change, encoded.
    pub fn kind(&self) -> &ChangeKind {
        &self.kind
    }

    /// The change, decoded.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] if old values, which are stored bytes, are not values of the field.
    pub fn decode(&self) -> Result<ChangeKind<Value>> {
        let (keys, values) = match &self.field.kind {
            ResolvedKind::Simple(_) | ResolvedKind::Counter => (&self.field, &self.field),
            ResolvedKind::Set { element } | ResolvedKind::List { element } => (element, element),
            ResolvedKind::Map { key, value } => (key, value),
        };
        let element = |bytes: &[u8]| self.value_of(values, bytes);
        let key = |bytes: &[u8]| self.value_of(keys, bytes);
        Ok(match &self.kind {
            ChangeKind::Simple { old, new } => {
                ChangeKind::Simple { old: element(old)?, new: element(new)? }
            }
            ChangeKind::SetAdd { value } => ChangeKind::SetAdd { value: element(value)? },
            ChangeKind::SetRemove { value } => ChangeKind::SetRemove { value: element(value)? },
            ChangeKind::SetClear => ChangeKind::SetClear,
            ChangeKind::ListAdd { index, value } => {
                ChangeKind::ListAdd { index: *index, value: element(value)? }
            }
            ChangeKind::ListRemove { index, value } => {
                ChangeKind::ListRemove { index: *index, value: element(value)? }
            }
            ChangeKind::ListReplace { index, old, new } => {
                ChangeKind::ListReplace { index: *index, old: element(old)?, new: element(new)? }
            }
            ChangeKind::ListClear => ChangeKind::ListClear,
            ChangeKind::MapAdd { key: k, value } => {
                ChangeKind::MapAdd { key: key(k)?, value: element(value)? }
            }
            ChangeKind::MapRemove { key: k, value } => {
                ChangeKind::MapRemove { key: key(k)?, value: element(value)? }
            }
            ChangeKind::MapReplace { key: k, old, new } => {
                ChangeKind::MapReplace { key: key(k)?, old: element(old)?, new: element(new)? }
            }
            ChangeKind::MapClear => ChangeKind::MapClear,
        })
    }

    fn value_of(&self, part: &ResolvedField, bytes: &[u8]) -> Result<Value> {
        let damaged = |reason: &dyn std::fmt::Display| {
            // The bytes were stored, so they can be damaged. That is no mistake of the listener.
            Error::inconsistent(format!(
                "{}: {}: {reason}",
                describe(self.id, part),
                hex(bytes, 64)
            ))
        };
        match part.simple() {
            Some(simple) => simple.encoding.decode_all(bytes).map_err(|reason| damaged(&reason)),
            None => Err(damaged(&"a value of no simple field")),
        }
    }
}
