//! Items: everything in a schema that has a storage ID.

use std::fmt;

use super::model::{CompositeIndex, Field, ObjectType, SchemaModel, SubField};
use crate::id::StorageId;

/// An object type, field, sub-field or composite index inside a schema model.
///
/// Displays as its path: `Person`, `Person.name`, `Person.friends.element`, `Person#byName`.
#[derive(Debug, Clone, Copy)]
pub struct Item<'m> {
    /// The object type that it is or belongs to.
    pub object_type: &'m ObjectType,
    /// Which part of the object type it is.
    pub part: Part<'m>,
}

/// Which part of an object type an [`Item`] is.
#[derive(Debug, Clone, Copy)]
pub enum Part<'m> {
    /// The object type itself.
    ObjectType,
    /// A field.
    Field(&'m Field),
    /// A sub-field of a set, list or map.
    SubField {
        /// The set, list or map.
        parent: &'m Field,
        /// `element`, `key` or `value`.
        name: &'static str,
        /// The sub-field.
        sub_field: &'m SubField,
    },
    /// A composite index.
    Index(&'m CompositeIndex),
}

impl<'m> Item<'m> {
    /// The name of the item alone.
    pub fn name(&self) -> &'m str {
        match self.part {
            Part::ObjectType => self.object_type.name(),
            Part::Field(field) => field.name(),
            Part::SubField { name, .. } => name,
            Part::Index(index) => index.name(),
        }
    }

    /// The storage ID that the item asks for; `None` if the database assigns one.
    pub fn storage_id(&self) -> Option<StorageId> {
        match self.part {
            Part::ObjectType => self.object_type.storage_id(),
            Part::Field(field) => field.storage_id(),
            Part::SubField { sub_field, .. } => sub_field.storage_id(),
            Part::Index(index) => index.storage_id(),
        }
    }

    /// Whether this is an object type that asks for the largest storage ID. Java cannot list the
    /// objects of such a type, because it ends their range with the storage ID after it.
    pub(super) fn asks_for_too_large_an_id(&self) -> bool {
        let largest = |id: StorageId| id.get() == StorageId::MAX;
        // Only types are listed by a range of storage IDs. Fields and indexes can have the largest
        // one.
        matches!(self.part, Part::ObjectType) && self.storage_id().is_some_and(largest)
    }

    /// Where the item is, for people: `ObjectType "Person" / field "friends" / element`.
    pub fn location(&self) -> String {
        let object_type = format!("ObjectType {}", shown(self.object_type.name()));
        match self.part {
            Part::ObjectType => object_type,
            Part::Field(field) => format!("{object_type} / field {}", shown(field.name())),
            Part::SubField { parent, name, .. } => {
                format!("{object_type} / field {} / {name}", shown(parent.name()))
            }
            Part::Index(index) => {
                format!("{object_type} / composite index {}", shown(index.name()))
            }
        }
    }
}

/// A name in quotes, for messages. Only the beginning of a very long name is shown.
pub(super) fn shown(name: &str) -> String {
    const SHOWN: usize = 100;
    match name.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{:?}…", name.get(..at).unwrap_or_default()),
        None => format!("{name:?}"),
    }
}

impl fmt::Display for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.object_type.name())?;
        match self.part {
            Part::ObjectType => Ok(()),
            Part::Field(field) => write!(f, ".{}", field.name()),
            Part::SubField { parent, name, .. } => write!(f, ".{}.{name}", parent.name()),
            // A field and a composite index can have the same name.
            Part::Index(index) => write!(f, "#{}", index.name()),
        }
    }
}

impl SchemaModel {
    /// All items in visit order: each object type, then its fields, each with its sub-fields, then
    /// its composite indexes. Types, fields and indexes are in name order.
    #[doc(hidden)]
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> {
        self.object_types().iter().flat_map(|object_type| {
            let item = move |part| Item { object_type, part };
            let fields = object_type.fields().iter().flat_map(move |field| {
                let sub_fields = field.sub_fields().map(move |(name, sub_field)| {
                    item(Part::SubField { parent: field, name, sub_field })
                });
                std::iter::once(item(Part::Field(field))).chain(sub_fields)
            });
            let indexes = object_type.indexes().iter().map(move |index| item(Part::Index(index)));
            std::iter::once(item(Part::ObjectType)).chain(fields).chain(indexes)
        })
    }

    /// The same model, but each item asks for the storage ID that `assign` returns for it.
    #[must_use]
    #[doc(hidden)]
    pub fn with_storage_ids(
        &self,
        mut assign: impl FnMut(&Item<'_>) -> Option<StorageId>,
    ) -> SchemaModel {
        let ids: Vec<_> = self.items().map(|item| assign(&item)).collect();
        let mut model = self.clone();
        model.set_storage_ids(ids);
        model
    }
}
