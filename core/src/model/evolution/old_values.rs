//! The input of own conversions: the values an object had.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::encoding::{Conversion, Encoding, EncodingError, EnumEncoding, FieldType, SchemaForm};
use crate::id::ObjId;
use crate::model::bound_fields::FieldsOfModels;
use crate::model::error::{Error, Result};
use crate::object::{self, FieldValue, Migrate, ObjectData, Transaction};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType, SchemaId};

/// The values of an object in the schema in which it is stored, for own conversions
/// (docs/src/evolution.md).
///
/// Fields are named as they are in that schema, whether the program still has them or not.
/// [`get`](OldValues::get) and the like only look at a value. [`take`](OldValues::take) and the
/// like also say that the value is carried over, so the field may go.
pub struct OldValues<'a> {
    data: &'a ObjectData,
    id: ObjId,
    schema: SchemaId,
    pub(super) objects: &'a dyn Objects,
    pub(super) models: &'a FieldsOfModels,
    taken: RefCell<BTreeSet<String>>,
}

/// The objects of a transaction, as own conversions see them.
pub(super) trait Objects {
    fn load(&self, id: ObjId) -> object::Result<Option<(ObjectData, SchemaId)>>;
    fn create(&self, data: &ObjectData) -> object::Result<ObjId>;
}

impl Objects for Transaction {
    fn load(&self, id: ObjId) -> object::Result<Option<(ObjectData, SchemaId)>> {
        // Asked first, because loading a missing object is an error, and for a conversion it is an
        // answer.
        if !self.exists(id)? {
            return Ok(None);
        }
        let schema = self.object_schema(id)?.id;
        Ok(Some((Transaction::load(self, id, Migrate::No)?, schema)))
    }

    fn create(&self, data: &ObjectData) -> object::Result<ObjId> {
        // With a drawn ID an object is always created, so `None` cannot be.
        let created = self.create_with(None, data)?;
        created.ok_or_else(|| object::Error::inconsistent("a new object was not created"))
    }
}

impl fmt::Debug for OldValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OldValues({}@{} in {})", self.data.object_type().name, self.id, self.schema)
    }
}

impl<'a> OldValues<'a> {
    pub(super) fn new(
        data: &'a ObjectData,
        id: ObjId,
        schema: SchemaId,
        objects: &'a dyn Objects,
        models: &'a FieldsOfModels,
    ) -> Self {
        OldValues { data, id, schema, objects, models, taken: RefCell::default() }
    }

    /// The object.
    pub fn id(&self) -> ObjId {
        self.id
    }

    /// The schema in which it is stored.
    pub fn schema_id(&self) -> SchemaId {
        self.schema
    }

    /// Its type in that schema.
    pub fn object_type(&self) -> &Arc<ResolvedType> {
        self.data.object_type()
    }

    /// Whether that schema has a field of this name.
    pub fn has(&self, field: &str) -> bool {
        self.object_type().field(field).is_some()
    }

    /// The value of a simple field, converted exactly to `V`. A field that is not stored has its
    /// default.
    ///
    /// # Errors
    /// If there is no such simple field, or its value has no exact counterpart in `V`.
    pub fn get<V: FieldType>(&self, field: &str) -> Result<V> {
        let field = self.field(field)?;
        let bytes = self.data.simple(field)?;
        self.converted(field, field, bytes)
    }

    /// The same as [`get`](OldValues::get), and carries the value over: the field may go.
    ///
    /// # Errors
    /// The errors of [`get`](OldValues::get).
    pub fn take<V: FieldType>(&self, field: &str) -> Result<V> {
        // The value counts as carried over only after it was read: an error must not let it go.
        let value = self.get(field)?;
        self.drop_field(field);
        Ok(value)
    }

    /// The number of a counter.
    ///
    /// # Errors
    /// If there is no such counter.
    pub fn counter(&self, field: &str) -> Result<i64> {
        Ok(self.data.counter(self.field(field)?)?)
    }

    /// The same as [`counter`](OldValues::counter), and carries the number over.
    ///
    /// # Errors
    /// The errors of [`counter`](OldValues::counter).
    pub fn take_counter(&self, field: &str) -> Result<i64> {
        let count = self.counter(field)?;
        self.drop_field(field);
        Ok(count)
    }

    /// The elements of a set or list, in order, each converted exactly to `E`.
    ///
    /// # Errors
    /// If there is no such set or list, or an element has no exact counterpart in `E`.
    pub fn elements<E: FieldType>(&self, field: &str) -> Result<Vec<E>> {
        let field = self.field(field)?;
        match &field.kind {
            ResolvedKind::Set { element } => {
                self.data.pairs(field).map(|(key, _)| self.converted(field, element, key)).collect()
            }
            ResolvedKind::List { element } => self
                .data
                .elements(field)
                .map(|value| self.converted(field, element, value?))
                .collect(),
            _ => Err(self.other_kind(field, "a set or list")),
        }
    }

    /// The same as [`elements`](OldValues::elements), and carries the elements over.
    ///
    /// # Errors
    /// The errors of [`elements`](OldValues::elements).
    pub fn take_elements<E: FieldType>(&self, field: &str) -> Result<Vec<E>> {
        let elements = self.elements(field)?;
        self.drop_field(field);
        Ok(elements)
    }

    /// The entries of a map, in order, with keys and values converted exactly.
    ///
    /// # Errors
    /// If there is no such map, or a key or value has no exact counterpart.
    pub fn entries<K: FieldType, V: FieldType>(&self, field: &str) -> Result<Vec<(K, V)>> {
        let field = self.field(field)?;
        let ResolvedKind::Map { key: keys, value: values } = &field.kind else {
            return Err(self.other_kind(field, "a map"));
        };
        let entry = |(key, value): (&[u8], &[u8])| {
            Ok((self.converted(field, keys, key)?, self.converted(field, values, value)?))
        };
        self.data.pairs(field).map(entry).collect()
    }

    /// The same as [`entries`](OldValues::entries), and carries the entries over.
    ///
    /// # Errors
    /// The errors of [`entries`](OldValues::entries).
    pub fn take_entries<K: FieldType, V: FieldType>(&self, field: &str) -> Result<Vec<(K, V)>> {
        let entries = self.entries(field)?;
        self.drop_field(field);
        Ok(entries)
    }

    /// The value of a field of any kind, in dynamic form.
    ///
    /// # Errors
    /// If there is no such field, or its value is damaged.
    pub fn value(&self, field: &str) -> Result<FieldValue> {
        Ok(self.data.decode(field)?)
    }

    /// Says that the value of a field is carried over, or may go.
    pub fn drop_field(&self, field: &str) {
        self.taken.borrow_mut().insert(field.to_owned());
    }

    /// The values of another object, of any type, in the schema in which that object is stored;
    /// `None` if it does not exist. Cost: a scan of its pairs.
    ///
    /// # Errors
    /// If the store fails or the object is damaged.
    pub fn object<R>(
        &self,
        id: impl Into<ObjId>,
        read: impl FnOnce(&OldValues<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let id = id.into();
        let Some((data, schema)) = self.objects.load(id)? else { return Ok(None) };
        // Values that are taken from another object say nothing about the losses of this one.
        read(&OldValues::new(&data, id, schema, self.objects, self.models)).map(Some)
    }

    /// The fields whose values were carried over or may go.
    pub(super) fn into_taken(self) -> BTreeSet<String> {
        self.taken.into_inner()
    }

    fn field(&self, name: &str) -> Result<&Arc<ResolvedField>> {
        Ok(self.data.field(name)?)
    }

    fn converted<V: FieldType>(
        &self,
        field: &ResolvedField,
        part: &ResolvedField,
        bytes: &[u8],
    ) -> Result<V> {
        let Some(simple) = part.simple() else { return Err(self.other_kind(field, "a value")) };
        let failed = |source: EncodingError| Error::Decode {
            field: format!("{}.{}", self.object_type().name, field.full_name),
            id: self.id,
            source,
        };
        let to = V::encoding();
        // A reference is the ID of its target in every encoding, so it is not converted.
        if simple.encoding.is_same(&*to) || simple.reference.is_some() {
            return V::decode_all(bytes).map_err(failed);
        }
        // The encoding of an enum type does not know its identifiers.
        let (to, renamed): (Arc<dyn Encoding>, &[(&str, &str)]) = match V::SCHEMA_FORM {
            SchemaForm::Enum { identifiers, dimensions: 0, renamed, .. } => {
                let constants = EnumEncoding::new(identifiers.iter().copied());
                (Arc::new(constants.map_err(failed)?), renamed)
            }
            _ => (to, &[]),
        };
        // Exact: a conversion that loses something must be written out by the program.
        let exact = Conversion::new(&*simple.encoding, &*to).renaming(renamed).exact(bytes);
        let bytes = exact.map_err(|inexact| failed(EncodingError::Invalid(inexact.to_string())))?;
        V::decode_all(&bytes).map_err(failed)
    }

    fn other_kind(&self, field: &ResolvedField, wanted: &str) -> Error {
        Error::Object(object::Error::UnknownField {
            type_name: Some(self.object_type().name.to_string()),
            field: format!("{:?} (asked for as {wanted})", &*field.full_name),
        })
    }
}
