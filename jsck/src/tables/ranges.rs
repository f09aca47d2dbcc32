//! The key ranges that have a meaning in the recorded schemas.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::__internal::encoding::EncodingKind;
use permazen::__internal::layout::StorageIdKey;
use permazen::__internal::schema::{ResolvedKind, SchemaBundle, SubFieldRole};
use permazen::StorageId;
use permazen::encoding::Encoding;
use permazen::schema::{ResolvedField, ResolvedType};

/// The kind of data under a storage ID.
#[derive(Debug)]
pub(crate) enum Range {
    /// Objects of a type.
    Objects,
    /// Entries of an index.
    Index(IndexRange),
}

/// The entries of an index.
#[derive(Debug)]
pub(crate) struct IndexRange {
    /// The schema item: `Person.name`, `Person#nameAge`.
    pub(crate) item: String,
    pub(crate) key: StorageIdKey,
    pub(crate) columns: Vec<Arc<dyn Encoding>>,
    pub(crate) tail: Tail,
    /// Storage IDs of the indexed fields whose encoding is not registered. If an object stores no
    /// value for such a field, its index entry is not known. Elements, keys and values of
    /// collections are always stored, so they are not in this list.
    pub(crate) opaque_fields: Vec<StorageId>,
}

impl IndexRange {
    /// Whether an indexed value has an encoding that is not registered, so that its end is not
    /// known.
    pub(crate) fn is_opaque(&self) -> bool {
        self.columns.iter().any(|column| matches!(column.kind(), EncodingKind::Unknown))
    }
}

/// The bytes after the object ID in an index entry.
#[derive(Debug)]
pub(crate) enum Tail {
    Nothing,
    ListPosition,
    /// The key of a map. Maps of the same name may have keys of different encodings.
    MapKey(Vec<Arc<dyn Encoding>>),
}

/// Every storage ID that has a key range, in ascending order.
pub(crate) fn of_bundle(bundle: &SchemaBundle) -> BTreeMap<StorageId, Range> {
    let mut ranges = BTreeMap::new();
    for schema in bundle.schemas() {
        for object_type in &schema.types {
            ranges.insert(object_type.storage_id, Range::Objects);
            for field in object_type.all_fields().filter(|field| field.is_indexed()) {
                add_field(&mut ranges, object_type, field);
            }
            for index in &object_type.indexes {
                let columns = index.fields.iter().filter_map(|f| f.simple());
                let opaque = |field: &&Arc<ResolvedField>| {
                    field.simple().is_some_and(|simple| simple.is_opaque())
                };
                let opaque_fields = index.fields.iter().filter(opaque).map(|f| f.storage_id);
                ranges.entry(index.storage_id).or_insert_with(|| {
                    Range::Index(IndexRange {
                        item: format!("{}#{}", object_type.name, index.name),
                        key: index.key,
                        columns: columns.map(|simple| Arc::clone(&simple.encoding)).collect(),
                        tail: Tail::Nothing,
                        opaque_fields: opaque_fields.collect(),
                    })
                });
            }
        }
    }
    ranges
}

fn add_field(
    ranges: &mut BTreeMap<StorageId, Range>,
    object_type: &ResolvedType,
    field: &ResolvedField,
) {
    let Some(simple) = field.simple() else { return };
    let map_key = map_key_encoding(object_type, field);
    let range = ranges.entry(field.storage_id).or_insert_with(|| {
        Range::Index(IndexRange {
            item: format!("{}.{}", object_type.name, field.full_name),
            key: field.key,
            columns: vec![Arc::clone(&simple.encoding)],
            tail: match field.parent.as_ref().map(|parent| parent.role) {
                Some(SubFieldRole::ListElement) => Tail::ListPosition,
                Some(SubFieldRole::MapValue) => Tail::MapKey(Vec::new()),
                _ => Tail::Nothing,
            },
            opaque_fields: match field.parent {
                None if simple.is_opaque() => vec![field.storage_id],
                _ => Vec::new(),
            },
        })
    });
    if let (Range::Index(IndexRange { tail: Tail::MapKey(keys), .. }), Some(key)) = (range, map_key)
        && !keys.iter().any(|known| known.is_same(&*key))
    {
        keys.push(key);
    }
}

/// The encoding of the keys, if `field` is the value of a map.
fn map_key_encoding(
    object_type: &ResolvedType,
    field: &ResolvedField,
) -> Option<Arc<dyn Encoding>> {
    let parent = field.parent.as_ref()?;
    match &object_type.field(&parent.name)?.kind {
        ResolvedKind::Map { key, .. } => Some(Arc::clone(&key.simple()?.encoding)),
        _ => None,
    }
}
