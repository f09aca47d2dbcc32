//! Types, fields and indexes by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::__internal::object::IndexKind;
use permazen::__internal::schema::{ResolvedIndex, SchemaBundle, SubFieldRole};
use permazen::StorageId;
use permazen::schema::{ResolvedField, ResolvedType, SchemaIndex};

/// An object type, in all schemas that have it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TypeEntry {
    /// Its name.
    pub name: Arc<str>,
    /// Its storage ID, with which the IDs of its objects begin.
    pub storage_id: StorageId,
    /// The type as each schema defines it, by ascending schema index; never empty.
    pub versions: Vec<Arc<ResolvedType>>,
}

impl TypeEntry {
    /// The type in the schema with this index.
    pub fn version(&self, schema: SchemaIndex) -> Option<&Arc<ResolvedType>> {
        let at = self.versions.binary_search_by_key(&schema, |version| version.schema).ok()?;
        self.versions.get(at)
    }

    /// The type in the newest schema that has it.
    pub fn newest(&self) -> Option<&Arc<ResolvedType>> {
        self.versions.last()
    }

    /// Its fields. Those of newer schemas come first, and those of one schema in the order of their
    /// storage IDs.
    pub fn fields(&self) -> Vec<FieldEntry> {
        let mut fields: Vec<FieldEntry> = Vec::new();
        for version in self.versions.iter().rev() {
            for field in version.fields_by_storage_id() {
                let entry = match fields.iter().position(|entry| entry.name == field.name) {
                    Some(at) => fields.get_mut(at),
                    None => {
                        let name = Arc::clone(&field.name);
                        fields.push(FieldEntry { name, versions: Vec::new() });
                        fields.last_mut()
                    }
                };
                if let Some(entry) = entry {
                    entry.versions.insert(0, (version.schema, Arc::clone(field)));
                }
            }
        }
        fields
    }

    /// Its indexes: those of fields and sub-fields, then the composite ones, by name.
    pub fn indexes(&self) -> Vec<IndexEntry> {
        let mut found: BTreeMap<(bool, Arc<str>, StorageId), IndexEntry> = BTreeMap::new();
        let mut add = |name: &Arc<str>, storage_id, kind, fields: Vec<_>, schema| {
            let key = (kind == IndexKind::Composite, Arc::clone(name), storage_id);
            let entry = found.entry(key).or_insert_with(|| IndexEntry {
                name: Arc::clone(name),
                storage_id,
                kind,
                fields,
                schemas: Vec::new(),
            });
            entry.schemas.push(schema);
        };
        for version in &self.versions {
            for field in version.all_fields().filter(|field| field.is_indexed()) {
                let fields = vec![Arc::clone(field)];
                add(&field.full_name, field.storage_id, kind_of(field), fields, version.schema);
            }
            for index in &version.indexes {
                let ResolvedIndex { name, storage_id, fields, .. } = &**index;
                add(name, *storage_id, IndexKind::Composite, fields.clone(), version.schema);
            }
        }
        found.into_values().collect()
    }
}

/// The field or fields of a field's index.
pub(crate) fn kind_of(field: &ResolvedField) -> IndexKind {
    match field.parent.as_ref().map(|parent| parent.role) {
        None => IndexKind::Field,
        Some(SubFieldRole::SetElement) => IndexKind::SetElement,
        Some(SubFieldRole::ListElement) => IndexKind::ListElement,
        Some(SubFieldRole::MapKey) => IndexKind::MapKey,
        Some(SubFieldRole::MapValue) => IndexKind::MapValue,
    }
}

/// The fields of one name of an object type.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FieldEntry {
    /// The name.
    pub name: Arc<str>,
    /// The field in each schema in which the type has one of this name, by ascending schema index.
    /// They can have different storage IDs, kinds and encodings.
    pub versions: Vec<(SchemaIndex, Arc<ResolvedField>)>,
}

/// An index of an object type.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IndexEntry {
    /// The full name of the field or sub-field, or the name of the composite index.
    pub name: Arc<str>,
    /// The storage ID with which the keys of the index begin. Other types can have the same index.
    pub storage_id: StorageId,
    /// Its field or fields.
    #[doc(hidden)]
    pub kind: IndexKind,
    /// The indexed fields; one unless it is composite.
    pub fields: Vec<Arc<ResolvedField>>,
    /// The schemas in which the type has the index, ascending. Objects in other schemas are not in
    /// it.
    pub schemas: Vec<SchemaIndex>,
}

/// The types of all schemas, in the order of their names.
pub(super) fn types_of(bundle: &SchemaBundle) -> Vec<TypeEntry> {
    let mut types: BTreeMap<Arc<str>, TypeEntry> = BTreeMap::new();
    for object_type in bundle.schemas().iter().flat_map(|schema| &schema.types) {
        let entry = types.entry(Arc::clone(&object_type.name)).or_insert_with(|| TypeEntry {
            name: Arc::clone(&object_type.name),
            storage_id: object_type.storage_id,
            versions: Vec::new(),
        });
        entry.versions.push(Arc::clone(object_type));
    }
    types.into_values().collect()
}
