//! One change.

use std::sync::Arc;

use permazen::ObjId;
use permazen::schema::SchemaIndex;

use crate::rows::Cell;

/// One change, compared with the committed content. It displays as a line:
///
/// ```text
/// Person @1000000000000001 created in schema 2
/// Person @1000000000000001 name: -> "Eve"
/// Person @1000000000000002 age: 30 -> 31
/// Person @1000000000000002 tags: remove "x"
/// Person @1000000000000002 scores["a"]: 1 -> 2
/// Person @1000000000000002 visits: 5 -> 7 (+2)
/// Pet @2000000000000001 deleted, was in schema 1
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChangeRow {
    /// The object and the name of its type; `None` if the change is about a pair that belongs to no
    /// object.
    pub object: Option<(ObjId, Arc<str>)>,
    /// The change.
    pub changed: Changed,
}

/// The kind of a change. A value that is not there is [`Cell::Absent`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Changed {
    /// The object is new. Rows for its fields follow, without those that have their default.
    Created {
        /// The schema it is in.
        schema: SchemaIndex,
    },
    /// The object is gone. Rows for its fields follow, without those that had their default.
    Deleted {
        /// The schema it was in.
        schema: SchemaIndex,
    },
    /// The object is in another schema. Rows follow for the fields that have other values.
    Moved {
        /// The schema it was in.
        from: SchemaIndex,
        /// The schema it is in.
        to: SchemaIndex,
    },
    /// A single value, a counter or a list.
    Value {
        /// The name of the field.
        field: Arc<str>,
        /// The old value.
        old: Cell,
        /// The new value.
        new: Cell,
    },
    /// An element is new in a set.
    Added {
        /// The name of the field.
        field: Arc<str>,
        /// The element.
        element: Cell,
    },
    /// An element is gone from a set.
    Removed {
        /// The name of the field.
        field: Arc<str>,
        /// The element.
        element: Cell,
    },
    /// An entry of a map.
    Entry {
        /// The name of the field.
        field: Arc<str>,
        /// The key.
        key: Cell,
        /// The value that it had.
        old: Cell,
        /// The value that it has.
        new: Cell,
    },
    /// A pair that is neither content of an object nor an index entry: a recorded schema, the
    /// user's own meta-data, or damage.
    Pair {
        /// The key.
        key: Box<[u8]>,
        /// The value that it had, if there was one.
        old: Option<Box<[u8]>>,
        /// The value that it has, if there is one.
        new: Option<Box<[u8]>>,
    },
}
