//! Whole objects, from the stored pairs to a struct and back.

use std::sync::Arc;

use super::bound_fields::BoundFields;
use super::error::{Error, Result};
use super::reference::{Any, Ref};
use super::stored_as::StoredAs;
use super::values::Counter;
use crate::encoding::{Encodable, EncodingError, FieldType};
use crate::id::ObjId;
use crate::object::{ObjectBuilder, ObjectData};
use crate::schema::{ResolvedField, ResolvedKind, SchemaId};

/// The stored values of an object, from which a model struct is read. `position` is the position of
/// a field in the struct.
#[derive(Debug)]
pub struct ObjectReader<'a> {
    fields: &'a BoundFields,
    id: ObjId,
    /// The schema in which the object is.
    schema: SchemaId,
    data: &'a ObjectData,
    /// Where the fields of the mix-in begin that is read.
    start: usize,
}

impl<'a> ObjectReader<'a> {
    pub(crate) fn new(
        fields: &'a BoundFields,
        id: ObjId,
        schema: SchemaId,
        data: &'a ObjectData,
    ) -> Self {
        ObjectReader { fields, id, schema, data, start: 0 }
    }

    /// The values of a mix-in whose fields begin after `fields` others.
    #[must_use]
    pub fn after(&self, fields: usize) -> Self {
        let start = self.start + fields;
        ObjectReader { start, ..*self }
    }

    fn field(&self, position: usize) -> Result<&'a Arc<ResolvedField>> {
        self.fields.field(self.start + position)
    }

    fn decode<V: FieldType>(&self, field: &ResolvedField, bytes: &[u8]) -> Result<V> {
        V::decode_all(bytes)
            .map_err(|source| self.fields.undecodable(self.id, Some(self.schema), field, source))
    }

    /// The value of a simple field.
    ///
    /// # Errors
    /// If the value does not fit `V`.
    pub fn simple<V: FieldType>(&mut self, position: usize) -> Result<V> {
        let field = self.field(position)?;
        self.decode(field, self.data.simple(field)?)
    }

    /// The value of a simple field, converted from `D`.
    ///
    /// # Errors
    /// If the value does not fit `D`, or the conversion fails.
    pub fn converted<D: FieldType, V: StoredAs<D, H>, H>(&mut self, position: usize) -> Result<V> {
        let value: D = self.simple(position)?;
        let field = self.field(position)?;
        V::from_stored(value).map_err(|source| unconvertible(self.fields, field, source))
    }

    /// The value of a simple field, converted from `D` inside an `Option`.
    ///
    /// # Errors
    /// If the value does not fit `D`, or the conversion fails.
    pub fn converted_inside<D: Encodable, V: StoredAs<D, H>, H>(
        &mut self,
        position: usize,
    ) -> Result<Option<V>> {
        let value: Option<D> = self.simple(position)?;
        let field = self.field(position)?;
        let value = value.map(V::from_stored).transpose();
        value.map_err(|source| unconvertible(self.fields, field, source))
    }

    /// The value of a reference.
    ///
    /// # Errors
    /// If the value is damaged.
    pub fn reference<T>(&mut self, position: usize) -> Result<Option<Ref<T>>> {
        // References of all targets are alike, so the compiler makes this code once.
        match self.simple::<Option<Ref<Any>>>(position)? {
            Some(target) => Ok(Some(Ref::new(target.id()))),
            None => Ok(None),
        }
    }

    /// The value of a reference that is never null.
    ///
    /// # Errors
    /// If the value is damaged or null.
    pub fn required_reference<T>(&mut self, position: usize) -> Result<Ref<T>> {
        let target: Ref<Any> = self.simple(position)?;
        Ok(Ref::new(target.id()))
    }

    /// The value of a counter.
    ///
    /// # Errors
    /// If the value is damaged.
    pub fn counter(&mut self, position: usize) -> Result<Counter> {
        let field = self.field(position)?;
        Ok(Counter(self.data.counter(field)?))
    }

    /// The elements of a set or list.
    ///
    /// # Errors
    /// If an element does not fit `E`.
    pub fn elements<E: FieldType, C: FromIterator<E>>(&mut self, position: usize) -> Result<C> {
        let field = self.field(position)?;
        match field.kind {
            ResolvedKind::Set { .. } => {
                self.data.pairs(field).map(|(element, _)| self.decode(field, element)).collect()
            }
            _ => {
                let elements = self.data.elements(field);
                elements.map(|element| self.decode(field, element?)).collect()
            }
        }
    }

    /// The entries of a map.
    ///
    /// # Errors
    /// If a key or a value does not fit its type.
    pub fn entries<K: FieldType, V: FieldType, C: FromIterator<(K, V)>>(
        &mut self,
        position: usize,
    ) -> Result<C> {
        let field = self.field(position)?;
        let pairs = self.data.pairs(field);
        pairs
            .map(|(key, value)| Ok((self.decode(field, key)?, self.decode(field, value)?)))
            .collect()
    }
}

/// The values of an object that will be stored. A model struct writes its fields into it.
/// `position` is the position of a field in the struct.
#[derive(Debug)]
pub struct ObjectWriter<'a> {
    fields: &'a BoundFields,
    data: ObjectBuilder,
    /// The positions of the fields that were written.
    written: Vec<usize>,
    /// Where the fields of the mix-in begin that writes.
    start: usize,
}

impl<'a> ObjectWriter<'a> {
    /// The content of an object with the values that `write` writes. It has no types, so that the
    /// compiler makes it once for all models.
    pub(super) fn content_of(
        fields: &'a BoundFields,
        write: &mut dyn FnMut(&mut ObjectWriter<'_>) -> Result<()>,
    ) -> Result<ObjectData> {
        let mut writer = ObjectWriter::new(fields);
        write(&mut writer)?;
        Ok(writer.finish().0)
    }

    /// A writer that reuses the memory of an object that is no longer needed.
    pub(super) fn reusing(fields: &'a BoundFields, data: Option<ObjectData>) -> Self {
        let Some(data) = data else { return ObjectWriter::new(fields) };
        let data = ObjectBuilder::reusing(data, Arc::clone(&fields.object_type));
        let written = Vec::with_capacity(fields.len());
        ObjectWriter { fields, data, written, start: 0 }
    }

    /// A writer for an object of a model, without content yet.
    pub(super) fn new(fields: &'a BoundFields) -> Self {
        let data = ObjectBuilder::new(Arc::clone(&fields.object_type));
        let written = Vec::with_capacity(fields.len());
        ObjectWriter { fields, data, written, start: 0 }
    }

    /// Writes the content that the field at a position has in `data`, in which its definition is
    /// the same.
    pub(super) fn copy(&mut self, position: usize, data: &ObjectData) -> Result<()> {
        self.pairs(position, data.pairs(self.fields.field(position)?))
    }

    /// Writes a field with these stored pairs: what follows the field in a key, and the value.
    pub(super) fn pairs<'p>(
        &mut self,
        position: usize,
        pairs: impl Iterator<Item = (&'p [u8], &'p [u8])>,
    ) -> Result<()> {
        let field = self.field(position)?;
        pairs.for_each(|(key, value)| self.data.push_pair(field.storage_id, key, value));
        Ok(())
    }

    /// Calls `write` for a mix-in whose fields begin after `fields` others.
    ///
    /// # Errors
    /// The errors of `write`.
    pub fn after(
        &mut self,
        fields: usize,
        write: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.start += fields;
        let written = write(self);
        self.start -= fields;
        written
    }

    /// Whether the field at a position was written.
    pub(super) fn has_written(&self, position: usize) -> bool {
        self.written.contains(&position)
    }

    /// Whether no field was written.
    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// Writes a field with `write`, in place of the content that was written to it before. If
    /// `write` fails, the field is not written.
    pub(super) fn rewrite(
        &mut self,
        position: usize,
        write: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.forget(position)?;
        let written = write(self);
        if written.is_err() {
            self.forget(position)?;
        }
        written
    }

    /// Removes the content that was written to a field.
    pub(super) fn forget(&mut self, position: usize) -> Result<()> {
        self.data.forget(self.fields.field(position)?);
        self.written.retain(|written| *written != position);
        Ok(())
    }

    /// The written content, and the positions of the written fields.
    pub(super) fn finish(self) -> (ObjectData, Vec<usize>) {
        (self.data.finish(), self.written)
    }

    /// The field at a position, which is now written.
    fn field(&mut self, position: usize) -> Result<&'a Arc<ResolvedField>> {
        let position = self.start + position;
        let field = self.fields.field(position)?;
        self.written.push(position);
        Ok(field)
    }

    /// Writes a simple field with the encoded value that `write` appends.
    pub(super) fn encoded(
        &mut self,
        position: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError>,
    ) -> Result<()> {
        let field = self.field(position)?;
        self.data
            .write_simple(field, write)
            .map_err(|source| unencodable(self.fields, field, source))
    }

    /// Writes a simple field.
    ///
    /// # Errors
    /// If the field cannot hold the value.
    pub fn simple<V: FieldType>(&mut self, position: usize, value: &V) -> Result<()> {
        self.encoded(position, |out| value.encode_to(out))
    }

    /// Writes a simple field whose value is converted to `D`.
    ///
    /// # Errors
    /// If the conversion fails, or the field cannot hold the value.
    pub fn converted<D: FieldType, V: StoredAs<D, H>, H>(
        &mut self,
        position: usize,
        value: &V,
    ) -> Result<()> {
        let field = self.fields.field(self.start + position)?;
        let value = value.stored().map_err(|source| unconvertible(self.fields, field, source))?;
        self.simple(position, &value)
    }

    /// Writes a simple field whose value is converted to `D` inside an `Option`.
    ///
    /// # Errors
    /// If the conversion fails, or the field cannot hold the value.
    pub fn converted_inside<D: Encodable, V: StoredAs<D, H>, H>(
        &mut self,
        position: usize,
        value: &Option<V>,
    ) -> Result<()> {
        let field = self.fields.field(self.start + position)?;
        let value = value.as_ref().map(V::stored).transpose();
        let value = value.map_err(|source| unconvertible(self.fields, field, source))?;
        self.simple(position, &value)
    }

    /// Writes a reference.
    ///
    /// # Errors
    /// If the struct has no such field.
    pub fn reference<T>(&mut self, position: usize, value: Option<Ref<T>>) -> Result<()> {
        match value {
            Some(target) => self.simple(position, &Some(Ref::<Any>::new(target.id()))),
            None => self.simple::<Option<Ref<Any>>>(position, &None),
        }
    }

    /// Writes a reference that is never null.
    ///
    /// # Errors
    /// If the struct has no such field.
    pub fn required_reference<T>(&mut self, position: usize, value: Ref<T>) -> Result<()> {
        self.simple(position, &Ref::<Any>::new(value.id()))
    }

    /// Writes a counter.
    ///
    /// # Errors
    /// If the struct has no such field.
    pub fn counter(&mut self, position: usize, value: Counter) -> Result<()> {
        let field = self.field(position)?;
        self.data.write_counter(field, value.0);
        Ok(())
    }

    /// Writes the elements of a set or list.
    ///
    /// # Errors
    /// If the field cannot hold an element.
    pub fn elements<'e, E: FieldType>(
        &mut self,
        position: usize,
        elements: impl Iterator<Item = &'e E>,
    ) -> Result<()> {
        let field = self.field(position)?;
        let is_set = matches!(field.kind, ResolvedKind::Set { .. });
        for (element, at) in elements.zip(0u32..) {
            let written = if is_set {
                self.data.write_set_element(field, |out| element.encode_to(out))
            } else {
                self.data.write_list_element(field, at, |out| element.encode_to(out))
            };
            written.map_err(|source| unencodable(self.fields, field, source))?;
        }
        Ok(())
    }

    /// Writes the entries of a map.
    ///
    /// # Errors
    /// If the field cannot hold a key or a value.
    pub fn entries<'e, K: FieldType, V: FieldType, E: MapEntry<'e, K, V>>(
        &mut self,
        position: usize,
        entries: &mut dyn Iterator<Item = E>,
    ) -> Result<()> {
        let field = self.field(position)?;
        for entry in entries {
            let (key, value) = entry.parts();
            self.data
                .write_map_entry(field, |out| key.encode_to(out), |out| value.encode_to(out))
                .map_err(|source| unencodable(self.fields, field, source))?;
        }
        Ok(())
    }
}

/// An entry of a map, as the iterator of a plain map or of a list of pairs gives it.
pub trait MapEntry<'e, K, V> {
    /// The key and the value.
    fn parts(self) -> (&'e K, &'e V);
}

impl<'e, K, V> MapEntry<'e, K, V> for (&'e K, &'e V) {
    fn parts(self) -> (&'e K, &'e V) {
        self
    }
}

impl<'e, K, V> MapEntry<'e, K, V> for &'e (K, V) {
    fn parts(self) -> (&'e K, &'e V) {
        (&self.0, &self.1)
    }
}

fn unencodable(fields: &BoundFields, field: &ResolvedField, source: EncodingError) -> Error {
    Error::Encode { field: fields.path(field), source }
}

fn unconvertible(
    fields: &BoundFields,
    field: &ResolvedField,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::Convert { field: fields.path(field), source: source.into() }
}
