//! The changes of objects and fields: values before and after, encoded.

use std::sync::Arc;

use crate::id::ObjId;
use crate::schema::{ResolvedField, ResolvedType};

/// One thing that writes change, compared with the snapshot that they are on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NetChange {
    /// An object.
    Object(NetObject),
    /// A pair that is neither content of an object nor an index entry: a recorded schema, the
    /// user's own meta-data, or damage.
    Pair(NetPair),
}

/// The change of an object.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NetObject {
    /// The object.
    pub id: ObjId,
    /// Its type, in the schema in which it was; `None` if it was created.
    pub before: Option<Arc<ResolvedType>>,
    /// Its type, in the schema in which it is; `None` if it was deleted.
    pub after: Option<Arc<ResolvedType>>,
    /// The fields whose content differs, in the order of their names. Of a created or deleted
    /// object, those whose content is not the default.
    pub fields: Vec<NetField>,
}

impl NetObject {
    /// The object's type, in the newest schema in which it was.
    pub fn object_type(&self) -> Option<&Arc<ResolvedType>> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// Whether the object is new.
    pub fn is_created(&self) -> bool {
        self.before.is_none()
    }

    /// Whether the object is gone.
    pub fn is_deleted(&self) -> bool {
        self.after.is_none()
    }

    /// Whether the object was moved to another schema.
    pub fn is_moved(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => before.schema_of != after.schema_of,
            _ => false,
        }
    }
}

/// The change of a field.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NetField {
    /// The field as it was; `None` if the object was created, or its former schema lacks the field.
    pub before: Option<Arc<ResolvedField>>,
    /// The field as it is; `None` if the object was deleted, or its new schema lacks the field. If
    /// the object was moved, the field can have another encoding than before.
    pub after: Option<Arc<ResolvedField>>,
    /// The old and the new content. Old values are of the encoding of `before`, new ones of that of
    /// `after`.
    pub content: NetContent,
}

impl NetField {
    /// The field, in the newest schema in which it was.
    pub fn field(&self) -> Option<&Arc<ResolvedField>> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

/// The old and the new content of a field. All values are encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetContent {
    /// A simple field.
    Simple {
        /// The old value; `None` if there was no such field, or the default of its encoding is not
        /// known.
        old: Option<Box<[u8]>>,
        /// The new value; `None` if there is no such field, or the default of its encoding is not
        /// known.
        new: Option<Box<[u8]>>,
    },
    /// A counter. Without a stored number, it counts as 0.
    Counter {
        /// The old number.
        old: i64,
        /// The new number.
        new: i64,
    },
    /// A set.
    Set {
        /// The elements that are gone, in order.
        removed: Vec<Box<[u8]>>,
        /// The elements that are new, in order.
        added: Vec<Box<[u8]>>,
    },
    /// A list.
    List {
        /// All elements that it had.
        old: Vec<Box<[u8]>>,
        /// All elements that it has.
        new: Vec<Box<[u8]>>,
    },
    /// A map.
    Map {
        /// The entries that are gone, new, or have another value, in the order of their keys. If
        /// the map has other keys than before because the object was moved, those that are gone
        /// come first.
        entries: Vec<NetMapEntry>,
    },
}

impl NetContent {
    /// By how much a counter has changed; the difference wraps around. `None` for other fields.
    pub fn counted(&self) -> Option<i64> {
        match self {
            NetContent::Counter { old, new } => Some(new.wrapping_sub(*old)),
            _ => None,
        }
    }
}

/// An entry of a map that is gone, new, or has another value. All values are encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetMapEntry {
    /// The key.
    pub key: Box<[u8]>,
    /// The value that the key had; `None` if the key is new.
    pub old: Option<Box<[u8]>>,
    /// The value that it has; `None` if the key is gone.
    pub new: Option<Box<[u8]>>,
}

/// A pair that is neither content of an object nor an index entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetPair {
    /// The key.
    pub key: Box<[u8]>,
    /// The value that it had; `None` if the key is new.
    pub old: Option<Box<[u8]>>,
    /// The value that it has; `None` if the key is gone.
    pub new: Option<Box<[u8]>>,
}
