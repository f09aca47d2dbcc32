//! Checked `create`, `set`, `delete` and `migrate`. Values are encoded, for each version of a type.

use std::sync::Arc;

use permazen::StorageId;
use permazen::encoding::Value;
use permazen::schema::{ResolvedField, ResolvedType, SchemaIndex};

use super::query::CheckedQuery;
use crate::mistake::Mistake;
use crate::syntax::Span;

/// `create`
#[derive(Debug, Clone)]
pub(crate) struct CheckedCreate {
    /// The type, as the schema defines it in which the object will be.
    pub(crate) object_type: Arc<ResolvedType>,
    /// The fields that get a value, each once.
    pub(crate) fields: Vec<(Arc<ResolvedField>, Content)>,
}

/// The whole value of a field, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// The value of a simple field.
    Simple(Vec<u8>),
    /// The value of a counter.
    Counter(i64),
    /// The elements of a set, in order, each once.
    Set(Vec<Vec<u8>>),
    /// The elements of a list.
    List(Vec<Vec<u8>>),
    /// The pairs of a map, in the order of their keys, each key once.
    Map(Vec<(Vec<u8>, Vec<u8>)>),
}

/// `set`
#[derive(Debug, Clone)]
pub(crate) struct CheckedSet {
    /// Which objects.
    pub(crate) query: CheckedQuery,
    /// The changes, at least one. They are made one after the other.
    pub(crate) assignments: Vec<CheckedAssignment>,
}

/// One change of a field.
#[derive(Debug, Clone)]
pub(crate) struct CheckedAssignment {
    /// Where it stands.
    pub(crate) span: Span,
    /// The name of the field.
    pub(crate) field: Arc<str>,
    /// The change for objects of each type in each schema, by ascending type and schema index. At
    /// least one can take it. An object without an entry has no field of that name.
    pub(crate) versions: Vec<((StorageId, SchemaIndex), Result<FieldChange, Mistake>)>,
}

impl CheckedAssignment {
    /// The change of an object of this type in this schema; `None` if it has no such field.
    pub(crate) fn of(
        &self,
        object_type: StorageId,
        schema: SchemaIndex,
    ) -> Option<&Result<FieldChange, Mistake>> {
        let wanted = (object_type, schema);
        let at = self.versions.binary_search_by_key(&wanted, |(version, _)| *version).ok()?;
        self.versions.get(at).map(|(_, change)| change)
    }
}

/// A change of a field, as one version of a type takes it.
#[derive(Debug, Clone)]
pub(crate) struct FieldChange {
    /// The field.
    pub(crate) field: Arc<ResolvedField>,
    /// The change.
    pub(crate) change: ChangeTo,
}

/// A change of a field. Values, elements and keys are encoded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChangeTo {
    /// The whole value.
    Assign(Content),
    /// The value of a map for a key: `[KEY] = VALUE` and `put KEY: VALUE`.
    PutKey {
        /// The key.
        key: Vec<u8>,
        /// The value.
        value: Vec<u8>,
    },
    /// The element of a list at a position: `[POSITION] = VALUE`.
    ReplaceAt {
        /// The position.
        position: u32,
        /// The element.
        element: Vec<u8>,
    },
    /// Adds to a counter; `-=` adds the negative number.
    Count(i64),
    /// Adds to a number, `+=`. The value is one of the field's encoding.
    Increase(Value),
    /// Takes away from a number, `-=`. The value is one of the field's encoding.
    Decrease(Value),
    /// Adds an element to a set, or to the end of a list.
    Add(Vec<u8>),
    /// Removes an element of a set, all equal elements of a list, or a key of a map.
    Remove(Vec<u8>),
    /// Inserts into a list.
    InsertAt {
        /// The position.
        position: u32,
        /// The element.
        element: Vec<u8>,
    },
}

/// `delete`
#[derive(Debug, Clone)]
pub(crate) struct CheckedDelete {
    /// Which objects.
    pub(crate) query: CheckedQuery,
}

/// `migrate`
#[derive(Debug, Clone)]
pub(crate) struct CheckedMigrate {
    /// Which objects.
    pub(crate) query: CheckedQuery,
    /// The schema to which they move. Not all of their types need to be in it.
    pub(crate) schema: SchemaIndex,
    /// Whether objects also move that lose something by that.
    pub(crate) lossy: bool,
}
