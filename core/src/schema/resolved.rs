//! Recorded schemas with everything looked up: storage IDs, encodings, and which field belongs to
//! which type.
//!
//! Transactions work with these. They are immutable and shared. Finding an item by name or storage
//! ID takes a binary search and no allocation.

use std::sync::Arc;

use super::model::{DeleteAction, SchemaModel};
use super::schema_id::{ItemKind, SchemaId};
use crate::encoding::string::compare as utf16_cmp;
use crate::encoding::{Encoding, EncodingKind};
use crate::id::StorageId;
use crate::layout::{SchemaIndex, StorageIdKey};

/// A recorded schema, or the empty one.
#[derive(Debug)]
#[non_exhaustive]
pub struct Schema {
    /// The index it is recorded under; [`SchemaIndex::EMPTY`] for the empty schema.
    pub index: SchemaIndex,
    /// Its schema ID.
    pub id: SchemaId,
    /// Its model as recorded: it has only the storage IDs that were asked for.
    pub model: Arc<SchemaModel>,
    /// The object types in name order.
    pub types: Vec<Arc<ResolvedType>>,
    pub(super) by_storage_id: Vec<(StorageId, usize)>,
}

impl Schema {
    /// The object type with that name.
    pub fn object_type(&self, name: &str) -> Option<&Arc<ResolvedType>> {
        find_by_name(&self.types, name, |t| &t.name)
    }

    /// The object type with that storage ID.
    pub fn type_by_storage_id(&self, id: StorageId) -> Option<&Arc<ResolvedType>> {
        find_by_storage_id(&self.types, &self.by_storage_id, id)
    }
}

/// An object type of a recorded schema.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResolvedType {
    /// Its name.
    pub name: Arc<str>,
    /// Its storage ID.
    pub storage_id: StorageId,
    /// The storage ID in the form it has in keys. The object IDs of the type start with it.
    #[doc(hidden)]
    pub key: StorageIdKey,
    /// Its schema ID.
    pub schema_id: SchemaId,
    /// The index of the schema it belongs to.
    pub schema: SchemaIndex,
    /// The schema ID of the schema it belongs to.
    pub schema_of: SchemaId,
    /// The fields in name order.
    pub fields: Vec<Arc<ResolvedField>>,
    /// The composite indexes in name order.
    #[doc(hidden)]
    pub indexes: Vec<Arc<ResolvedIndex>>,
    pub(super) by_storage_id: Vec<(StorageId, usize)>,
}

impl ResolvedType {
    /// The field with that name.
    pub fn field(&self, name: &str) -> Option<&Arc<ResolvedField>> {
        find_by_name(&self.fields, name, |f| &f.name)
    }

    /// The position of the field with that storage ID in the list of fields. Sub-fields are not
    /// found.
    #[doc(hidden)]
    pub fn field_position(&self, id: StorageId) -> Option<usize> {
        let at = self.by_storage_id.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        self.by_storage_id.get(at).map(|&(_, position)| position)
    }

    /// The field with that storage ID. Sub-fields are not found.
    pub fn field_by_storage_id(&self, id: StorageId) -> Option<&Arc<ResolvedField>> {
        find_by_storage_id(&self.fields, &self.by_storage_id, id)
    }

    /// The fields in the order of their storage IDs. This is the order of their keys.
    pub fn fields_by_storage_id(&self) -> impl Iterator<Item = &Arc<ResolvedField>> {
        self.by_storage_id.iter().filter_map(|&(_, at)| self.fields.get(at))
    }

    /// The field at a position of [`ResolvedType::fields_by_storage_id`].
    pub(crate) fn field_by_order(&self, position: usize) -> Option<&Arc<ResolvedField>> {
        self.fields.get(self.by_storage_id.get(position)?.1)
    }

    /// The field with that name, or the sub-field if the name has a form such as `field.key`.
    pub fn field_or_sub_field(&self, full_name: &str) -> Option<&Arc<ResolvedField>> {
        // No name of a field has a full stop.
        match full_name.split_once('.') {
            None => self.field(full_name),
            Some((field, sub_field)) => self.field(field)?.sub_field(sub_field),
        }
    }

    /// The composite index with that name.
    #[doc(hidden)]
    pub fn index(&self, name: &str) -> Option<&Arc<ResolvedIndex>> {
        find_by_name(&self.indexes, name, |i| &i.name)
    }

    /// The composite indexes that a field is part of.
    #[doc(hidden)]
    pub fn indexes_of(&self, field: &ResolvedField) -> impl Iterator<Item = &Arc<ResolvedIndex>> {
        field.indexes.iter().filter_map(|&at| self.indexes.get(at))
    }

    /// All fields and sub-fields. A collection comes after its sub-fields.
    pub fn all_fields(&self) -> impl Iterator<Item = &Arc<ResolvedField>> {
        self.fields.iter().flat_map(|field| field.sub_fields().chain(std::iter::once(field)))
    }
}

/// A field or sub-field of a recorded schema.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResolvedField {
    /// Its name; `element`, `key` or `value` for a sub-field.
    pub name: Arc<str>,
    /// Its full name. For a sub-field, the name of the parent and a dot come first.
    pub full_name: Arc<str>,
    /// The name of the object type it belongs to.
    pub type_name: Arc<str>,
    /// Its storage ID.
    pub storage_id: StorageId,
    /// The storage ID in the form it has in keys. It comes after the object ID in the keys of the
    /// field, and first in the keys of its index.
    #[doc(hidden)]
    pub key: StorageIdKey,
    /// Its schema ID. Fields with the same schema ID have the same storage ID, kind and encoding.
    pub schema_id: SchemaId,
    /// For a sub-field, the field it is part of.
    #[doc(hidden)]
    pub parent: Option<Parent>,
    /// The composite indexes it is part of, as positions in the type's list.
    #[doc(hidden)]
    pub indexes: Vec<usize>,
    /// Its kind, with the properties of the kind.
    #[doc(hidden)]
    pub kind: ResolvedKind,
    /// Whether few pairs lie between the object's own pair and the one of this field, whatever the
    /// object holds.
    pub(crate) near: bool,
}

impl ResolvedField {
    /// The value of a field or sub-field of a simple kind.
    #[doc(hidden)]
    pub fn simple(&self) -> Option<&ResolvedSimple> {
        match &self.kind {
            ResolvedKind::Simple(simple) => Some(simple),
            _ => None,
        }
    }

    /// The encoding of its values; `None` for a counter or a collection, whose sub-fields have one.
    pub fn encoding(&self) -> Option<&Arc<dyn Encoding>> {
        self.simple().map(|simple| &simple.encoding)
    }

    /// The sub-fields in name order.
    pub fn sub_fields(&self) -> impl Iterator<Item = &Arc<ResolvedField>> {
        let (first, second) = match &self.kind {
            ResolvedKind::Set { element } | ResolvedKind::List { element } => (Some(element), None),
            ResolvedKind::Map { key, value } => (Some(key), Some(value)),
            ResolvedKind::Simple(_) | ResolvedKind::Counter => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The sub-field with that name.
    pub fn sub_field(&self, name: &str) -> Option<&Arc<ResolvedField>> {
        self.sub_fields().find(|sub_field| &*sub_field.name == name)
    }

    /// Whether it is of a simple kind and has an index.
    pub fn is_indexed(&self) -> bool {
        self.simple().is_some_and(|simple| simple.indexed)
    }

    /// Whether it is a counter.
    pub fn is_counter(&self) -> bool {
        matches!(self.kind, ResolvedKind::Counter)
    }

    /// Whether its values are references.
    pub fn is_reference(&self) -> bool {
        self.reference().is_some()
    }

    /// The properties of its values if they are references.
    pub(crate) fn reference(&self) -> Option<&ReferenceInfo> {
        self.simple()?.reference.as_ref()
    }

    /// Which kind of field it is.
    pub fn item_kind(&self) -> ItemKind {
        self.schema_id.kind()
    }
}

/// The field a sub-field is part of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Parent {
    /// Its name.
    pub name: Arc<str>,
    /// Its storage ID.
    pub storage_id: StorageId,
    /// The storage ID in the form it has in keys.
    pub key: StorageIdKey,
    /// The role of the sub-field in it.
    pub role: SubFieldRole,
}

/// The role of a sub-field in its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubFieldRole {
    /// The elements of a set.
    SetElement,
    /// The elements of a list.
    ListElement,
    /// The keys of a map.
    MapKey,
    /// The values of a map.
    MapValue,
}

/// The kind of a field, with its properties.
#[derive(Debug)]
pub enum ResolvedKind {
    /// One value.
    Simple(ResolvedSimple),
    /// A counter.
    Counter,
    /// A set.
    Set {
        /// Its elements.
        element: Arc<ResolvedField>,
    },
    /// A list.
    List {
        /// Its elements.
        element: Arc<ResolvedField>,
    },
    /// A map.
    Map {
        /// Its keys.
        key: Arc<ResolvedField>,
        /// Its values.
        value: Arc<ResolvedField>,
    },
}

/// The value of a field or sub-field of a simple kind.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResolvedSimple {
    /// The encoding of its values. The encoding of a reference allows every type: code that sets a
    /// value must check the type of the object.
    pub encoding: Arc<dyn Encoding>,
    /// Whether it has an index.
    pub indexed: bool,
    /// The encoded default value, which is not stored. `None` for a sub-field whose encoding has no
    /// default value, and for an encoding that is not registered.
    pub default: Option<Box<[u8]>>,
    /// The options of a reference.
    #[doc(hidden)]
    pub reference: Option<ReferenceInfo>,
    /// The identifiers of an enum or enum array.
    pub identifiers: Option<Arc<[String]>>,
}

impl ResolvedSimple {
    /// Whether these bytes are the default value.
    pub fn is_default(&self, bytes: &[u8]) -> bool {
        self.default.as_deref() == Some(bytes)
    }

    /// Whether the encoding is not registered. The values are then bytes without a known meaning
    /// ([`UnknownEncodings::Carry`](super::UnknownEncodings::Carry)).
    pub fn is_opaque(&self) -> bool {
        matches!(self.encoding.kind(), EncodingKind::Unknown)
    }
}

/// The options of a reference.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReferenceInfo {
    /// The storage IDs of the types it may refer to, ascending; `None` means every type.
    pub allowed: Option<Box<[StorageId]>>,
    /// The action on the referring object when the object it refers to is deleted.
    pub inverse_delete: DeleteAction,
    /// Whether the object that is referred to is deleted with the referring object.
    pub forward_delete: bool,
    /// Whether it may refer to objects that do not exist.
    pub allow_deleted: bool,
}

impl ReferenceInfo {
    /// Whether it may refer to objects of this type.
    pub fn allows(&self, type_storage_id: StorageId) -> bool {
        match &self.allowed {
            None => true,
            Some(allowed) => allowed.binary_search(&type_storage_id).is_ok(),
        }
    }
}

/// A composite index of a recorded schema.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResolvedIndex {
    /// Its name.
    pub name: Arc<str>,
    /// Its storage ID.
    pub storage_id: StorageId,
    /// The storage ID in the form it has in keys. The keys of the index start with it.
    #[doc(hidden)]
    pub key: StorageIdKey,
    /// Its schema ID.
    pub schema_id: SchemaId,
    /// The indexed fields in index order. All are of simple kinds.
    pub fields: Vec<Arc<ResolvedField>>,
}

fn find_by_name<'a, T>(
    items: &'a [Arc<T>],
    name: &str,
    name_of: impl Fn(&T) -> &str,
) -> Option<&'a Arc<T>> {
    // Names sort by UTF-16 units, as in Java, so the search must compare them in the same way.
    let at = items.binary_search_by(|item| utf16_cmp(name_of(item), name)).ok()?;
    items.get(at)
}

fn find_by_storage_id<'a, T>(
    items: &'a [Arc<T>],
    by_storage_id: &[(StorageId, usize)],
    id: StorageId,
) -> Option<&'a Arc<T>> {
    let at = by_storage_id.binary_search_by_key(&id, |&(id, _)| id).ok()?;
    by_storage_id.get(at).and_then(|&(_, at)| items.get(at))
}
