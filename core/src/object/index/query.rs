//! Finding indexes.

use std::cell::Cell;
use std::sync::Arc;

use super::selection::IndexSource;
use super::shape::{IndexKind, IndexShape};
use super::view::IndexView;
use crate::encoding::Encoding;
use crate::id::{ObjId, StorageId};
use crate::object::error::{Error, Result};
use crate::object::store::ScanSource;
use crate::object::transaction::Transaction;
use crate::schema::{
    ResolvedField, ResolvedIndex, ResolvedKind, ResolvedPart, ResolvedType, SchemaBundle,
    SubFieldRole,
};

impl IndexShape {
    /// The index with this storage ID: on a field or sub-field that any recorded schema indexes, or
    /// a composite index. `None` if there is none.
    pub fn find(bundle: &SchemaBundle, storage_id: StorageId) -> Option<IndexShape> {
        let item = bundle.item(storage_id)?;
        let occurrence = item.occurrences.iter().find(|occurrence| match &occurrence.part {
            // Other schemas may have the field without an index. The entries of one that has it are
            // there.
            ResolvedPart::Field(field) => field.is_indexed(),
            ResolvedPart::Index(_) => true,
            ResolvedPart::ObjectType => false,
        })?;
        match &occurrence.part {
            ResolvedPart::Field(field) => Self::of_field(bundle, &occurrence.object_type, field),
            ResolvedPart::Index(index) => Some(Self::of_index(&occurrence.object_type, index)),
            ResolvedPart::ObjectType => None,
        }
    }

    /// The index on a field or sub-field, if this type indexes it.
    pub fn of_field(
        bundle: &SchemaBundle,
        object_type: &ResolvedType,
        field: &ResolvedField,
    ) -> Option<IndexShape> {
        let simple = field.simple().filter(|simple| simple.indexed)?;
        let kind = match field.parent.as_ref().map(|parent| parent.role) {
            None => IndexKind::Field,
            Some(SubFieldRole::SetElement) => IndexKind::SetElement,
            Some(SubFieldRole::ListElement) => IndexKind::ListElement,
            Some(SubFieldRole::MapKey) => IndexKind::MapKey,
            Some(SubFieldRole::MapValue) => IndexKind::MapValue,
        };
        let map_keys = match kind {
            // Only these entries end with a key of the map.
            IndexKind::MapValue => map_key_encodings(bundle, field.storage_id),
            _ => Vec::new(),
        };
        Some(IndexShape::new(
            field.storage_id,
            format!("{}.{}", object_type.name, field.full_name),
            kind,
            vec![simple.encoding.clone()],
            map_keys,
        ))
    }

    /// A composite index of a type.
    pub fn of_index(object_type: &ResolvedType, index: &ResolvedIndex) -> IndexShape {
        // The fields of an index are simple, so none is left out.
        let encoding = |field: &Arc<ResolvedField>| Some(field.simple()?.encoding.clone());
        IndexShape::new(
            index.storage_id,
            format!("{}#{}", object_type.name, index.name),
            IndexKind::Composite,
            index.fields.iter().filter_map(encoding).collect(),
            Vec::new(),
        )
    }
}

/// The different key encodings of the maps whose indexed values have this storage ID. Maps with the
/// same name and value encoding share the index of their values, even if their keys differ.
fn map_key_encodings(bundle: &SchemaBundle, value: StorageId) -> Vec<Arc<dyn Encoding>> {
    let mut encodings: Vec<Arc<dyn Encoding>> = Vec::new();
    for occurrence in bundle.item(value).iter().flat_map(|item| &item.occurrences) {
        let ResolvedPart::Field(field) = &occurrence.part else { continue };
        // Maps that do not index their values have no entries, so their keys do not matter.
        if !field.is_indexed() {
            continue;
        }
        // Equal encodings need no look at the object to tell them apart.
        if let Some(encoding) = map_key_of(&occurrence.object_type, value)
            && !encodings.iter().any(|known| known.is_same(&**encoding))
        {
            encodings.push(encoding.clone());
        }
    }
    encodings
}

/// The key encoding of the map in this type whose values have this storage ID.
pub(crate) fn map_key_of(
    object_type: &ResolvedType,
    value_id: StorageId,
) -> Option<&Arc<dyn Encoding>> {
    object_type.fields.iter().find_map(|field| match &field.kind {
        ResolvedKind::Map { key, value } if value.storage_id == value_id => {
            key.simple().map(|simple| &simple.encoding)
        }
        _ => None,
    })
}

impl ScanSource for Transaction {
    fn changes(&self) -> &Cell<u64> {
        self.store().changes()
    }

    fn with_read(
        &self,
        read: &mut dyn FnMut(&dyn permazen_kv::KvRead) -> Result<()>,
    ) -> Result<()> {
        self.store().read(read)
    }
}

impl IndexSource for Transaction {
    fn map_key_encoding(&self, id: ObjId, value: StorageId) -> Result<Arc<dyn Encoding>> {
        let object_type = self.object_type(id)?;
        map_key_of(&object_type, value).cloned().ok_or_else(|| {
            Error::inconsistent(format!(
                "object {id} stands in the index with storage id {value} of the values of a map it \
                 does not have"
            ))
        })
    }

    fn as_scan_source(&self) -> &dyn ScanSource {
        self.store()
    }
}

/// Index queries. All views are live and contain the entries of all types and schemas that share
/// the index. Making a view reads nothing.
impl Transaction {
    /// An index of a type by name, restricted to objects of that type. The name is that of a field
    /// (`name`), of a sub-field (`tags.element`, or only `tags` for sets and lists), or of a
    /// composite index (`byName`).
    ///
    /// The type and the field are searched first in the schema of the transaction, then in the
    /// other recorded schemas, newest first.
    ///
    /// # Errors
    /// [`Error::UnknownType`], [`Error::UnknownField`], [`Error::UnknownIndex`], [`Error::Ended`].
    pub fn index_by_name(&self, type_name: &str, name: &str) -> Result<IndexView<'_>> {
        self.check_open()?;
        let bundle = self.bundle();
        let Some(type_id) = bundle.type_storage_id(type_name) else {
            return Err(Error::UnknownType { name: format!("{type_name:?}"), schema: None });
        };
        let mut field_known = false;
        let own = self.schema();
        // Older objects have entries in indexes that the schema of the transaction lacks.
        // The schema of the transaction comes first: in others, the name may be that of another
        // field.
        for schema in std::iter::once(&own).chain(bundle.schemas().iter().rev()) {
            let Some(object_type) = schema.object_type(type_name) else { continue };
            let shape = match object_type.index(name) {
                Some(index) => Some(IndexShape::of_index(object_type, index)),
                None => object_type.field_or_sub_field(name).and_then(|field| {
                    field_known = true;
                    let field = match &field.kind {
                        // They have one part, so its name can be left out. Of a map, either part
                        // could be meant.
                        ResolvedKind::Set { element } | ResolvedKind::List { element } => element,
                        _ => field,
                    };
                    IndexShape::of_field(&bundle, object_type, field)
                }),
            };
            if let Some(shape) = shape {
                return Ok(self.index_view(Arc::new(shape))?.of_types([type_id]));
            }
        }
        // A field without an index is told apart from a name that does not exist.
        if field_known {
            return Err(Error::UnknownIndex { name: format!("{type_name}.{name}") });
        }
        Err(Error::UnknownField { type_name: Some(type_name.to_owned()), field: name.to_owned() })
    }

    fn index_of_kind(&self, storage_id: StorageId, kind: IndexKind) -> Result<IndexView<'_>> {
        let view = self.index(storage_id)?;
        if view.shape().kind() == kind { Ok(view) } else { Err(unknown_index(storage_id)) }
    }

    fn check_simple(&self, storage_id: StorageId) -> Result<()> {
        self.check_open()?;
        let bundle = self.bundle();
        let field = bundle.item(storage_id).and_then(|item| item.field());
        if field.is_some_and(|field| field.simple().is_some()) {
            return Ok(());
        }
        Err(Error::UnknownField { type_name: None, field: format!("#{storage_id}") })
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// The index with this storage ID, of any kind, with all its columns.
    ///
    /// # Errors
    /// [`Error::UnknownIndex`] if there is none; [`Error::Ended`]; [`Error::UnknownEncoding`] if
    /// its entries cannot be split into columns. That is so if a value with an encoding that is not
    /// registered is followed by more than the object ID.
    pub fn index(&self, storage_id: StorageId) -> Result<IndexView<'_>> {
        self.check_open()?;
        let shape = self.schemas.index(storage_id).ok_or_else(|| unknown_index(storage_id))?;
        self.index_view(shape)
    }

    /// A view of an index that was found before, with all its columns.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::UnknownEncoding`] in the same cases as
    /// [`index`](Transaction::index).
    pub fn index_view(&self, shape: Arc<IndexShape>) -> Result<IndexView<'_>> {
        self.check_open()?;
        shape.check_divisible()?;
        let columns = shape.columns();
        Ok(IndexView::new(self, shape, columns))
    }

    /// The index on a field or sub-field, with two columns: value and object. Each object is
    /// returned once per value.
    ///
    /// # Errors
    /// [`Error::UnknownField`] if the storage ID does not belong to a simple field or sub-field;
    /// [`Error::UnknownIndex`] if no schema indexes it; [`Error::Ended`].
    pub fn simple_index(&self, storage_id: StorageId) -> Result<IndexView<'_>> {
        self.check_simple(storage_id)?;
        let view = self.index(storage_id)?;
        Ok(view.distinct(2))
    }

    /// The index on a list's elements, with three columns: element, object and position.
    ///
    /// # Errors
    /// The errors of [`simple_index`](Transaction::simple_index); [`Error::UnknownIndex`] if the
    /// index is not on the elements of a list.
    pub fn list_element_index(&self, storage_id: StorageId) -> Result<IndexView<'_>> {
        self.check_simple(storage_id)?;
        self.index_of_kind(storage_id, IndexKind::ListElement)
    }

    /// The index on a map's values, with three columns: value, object and map key.
    ///
    /// # Errors
    /// The errors of [`simple_index`](Transaction::simple_index); [`Error::UnknownIndex`] if the
    /// index is not on the values of a map.
    pub fn map_value_index(&self, storage_id: StorageId) -> Result<IndexView<'_>> {
        self.check_simple(storage_id)?;
        self.index_of_kind(storage_id, IndexKind::MapValue)
    }

    /// A composite index on `fields` fields: one column for each field, and one for the object.
    ///
    /// # Errors
    /// [`Error::UnknownIndex`] if there is none or its number of fields differs; [`Error::Ended`].
    pub fn composite_index(&self, storage_id: StorageId, fields: usize) -> Result<IndexView<'_>> {
        let view = self.index_of_kind(storage_id, IndexKind::Composite)?;
        // A caller that expects other columns would take values for IDs.
        if view.shape().id_column() != fields {
            return Err(unknown_index(storage_id));
        }
        Ok(view)
    }
}

fn unknown_index(storage_id: StorageId) -> Error {
    Error::UnknownIndex { name: format!("#{storage_id}") }
}
