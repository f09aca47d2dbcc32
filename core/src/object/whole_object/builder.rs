//! Building the content of an object.

use std::sync::Arc;

use super::data::{FieldPairAt, FieldValue, ObjectData};
use crate::encoding::{EncodingError, Value, uint};
use crate::id::StorageId;
use crate::object::describe::unknown_field;
use crate::object::{Error, Result};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType};

/// Collects the values of an object, in any order.
///
/// Fields that are not given have their default value or are empty. [`set`](ObjectBuilder::set)
/// takes fields by name, with [`Value`]s. The other methods take encoded values. They refuse bytes
/// that are not the encoding of any value of the field.
///
/// ```
/// use permazen::encoding::Value;
/// use permazen::object::{FieldValue, ObjectBuilder, Result, Transaction};
///
/// fn add_person(tx: &Transaction) -> Result<permazen::ObjId> {
///     let schema = tx.schema();
///     let person = schema.object_type("Person").expect("in the schema");
///     let mut object = ObjectBuilder::new(person.clone());
///     object.set("name", &FieldValue::Simple(Value::from("Ada")))?;
///     object.set("nicknames", &FieldValue::Set(vec![Value::from("A. A. L.")]))?;
///     Ok(tx.create_with(None, &object.finish())?.expect("the id is a new one"))
/// }
/// ```
#[derive(Debug)]
pub struct ObjectBuilder {
    data: ObjectData,
    in_order: bool,
}

impl ObjectBuilder {
    /// An object of this type with default values and empty collections.
    pub fn new(object_type: Arc<ResolvedType>) -> Self {
        ObjectBuilder { data: ObjectData::new(None, object_type), in_order: true }
    }

    /// Reuses the memory of an object that is no longer needed.
    #[doc(hidden)]
    pub fn reusing(mut data: ObjectData, object_type: Arc<ResolvedType>) -> Self {
        data.id = None;
        data.object_type = object_type;
        data.bytes.clear();
        data.pairs.clear();
        ObjectBuilder { data, in_order: true }
    }

    /// An object of this type, with room for the content of another one.
    pub(crate) fn with_room_for(other: &ObjectData, object_type: Arc<ResolvedType>) -> Self {
        let mut data = ObjectData::new(None, object_type);
        data.bytes.reserve(other.bytes.len());
        data.pairs.reserve(other.pairs.len());
        ObjectBuilder { data, in_order: true }
    }

    /// An object with the content of another one, which can be changed.
    pub(crate) fn of(data: &ObjectData) -> Self {
        ObjectBuilder { data: data.clone(), in_order: true }
    }

    /// The type of the object.
    pub fn object_type(&self) -> &Arc<ResolvedType> {
        &self.data.object_type
    }

    /// Sets the field with that name, of any kind. This replaces the value that was given for the
    /// field before.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; [`Error::InvalidValue`] if the field is of another kind or cannot
    /// hold a value. Then nothing is given for the field.
    pub fn set(&mut self, name: &str, value: &FieldValue) -> Result<()> {
        let object_type = Arc::clone(&self.data.object_type);
        let field = object_type.field(name).ok_or_else(|| unknown_field(&object_type, name))?;
        // The value replaces an earlier one, and the pairs of a collection could be fewer now.
        self.forget(field);
        let given = self.write_value(field, value);
        given.map_err(|source| {
            // A collection may have been written in part.
            self.forget(field);
            let field = format!("field {:?} of an object of type {:?}", name, &*object_type.name);
            Error::InvalidValue { field, source }
        })
    }

    /// Takes back the value that was given for a field.
    pub(crate) fn forget(&mut self, field: &ResolvedField) {
        self.data.pairs.retain(|pair| pair.field != field.storage_id);
    }

    fn write_value(
        &mut self,
        field: &ResolvedField,
        value: &FieldValue,
    ) -> Result<(), EncodingError> {
        match (value, &field.kind) {
            (FieldValue::Simple(value), ResolvedKind::Simple(_)) => {
                self.write_simple(field, encoded(field, value))
            }
            (FieldValue::Counter(count), ResolvedKind::Counter) => {
                self.write_counter(field, *count);
                Ok(())
            }
            (FieldValue::Set(values), ResolvedKind::Set { element }) => values
                .iter()
                .try_for_each(|value| self.write_set_element(field, encoded(element, value))),
            (FieldValue::List(values), ResolvedKind::List { element }) => {
                (0..).zip(values).try_for_each(|(position, value)| {
                    self.write_list_element(field, position, encoded(element, value))
                })
            }
            (FieldValue::Map(entries), ResolvedKind::Map { key: keys, value: values }) => {
                entries.iter().try_for_each(|(key, value)| {
                    self.write_map_entry(field, encoded(keys, key), encoded(values, value))
                })
            }
            (value, _) => not_a(field, value.kind()),
        }
    }

    /// Sets a simple field to the encoded value that `write` appends.
    ///
    /// # Errors
    /// The errors of `write`; [`EncodingError::Invalid`] if the bytes that it appends are not a
    /// value of the field, or if the field is of another kind. Then nothing is added.
    #[doc(hidden)]
    pub fn write_simple(
        &mut self,
        field: &ResolvedField,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError>,
    ) -> Result<(), EncodingError> {
        self.whole(|builder| {
            let start = builder.data.bytes.len();
            builder.append(field, write)?;
            builder.push(field.storage_id, start, start);
            Ok(())
        })
    }

    /// Sets a counter.
    #[doc(hidden)]
    pub fn write_counter(&mut self, field: &ResolvedField, value: i64) {
        let start = self.data.bytes.len();
        self.data.bytes.extend_from_slice(&value.to_be_bytes());
        self.push(field.storage_id, start, start);
    }

    /// Adds an element to a set. `write` appends it. Elements can be added in any order; equal ones
    /// count once.
    ///
    /// # Errors
    /// The errors of [`write_simple`](ObjectBuilder::write_simple).
    #[doc(hidden)]
    pub fn write_set_element(
        &mut self,
        field: &ResolvedField,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError>,
    ) -> Result<(), EncodingError> {
        let ResolvedKind::Set { element } = &field.kind else { return not_a(field, "set") };
        self.whole(|builder| {
            let start = builder.data.bytes.len();
            builder.append(element, write)?;
            builder.push(field.storage_id, start, builder.data.bytes.len());
            Ok(())
        })
    }

    /// Adds the element at `position` to a list. `write` appends it. All positions from 0 on must
    /// be given: an object with a gap in a list is refused when it is stored.
    ///
    /// # Errors
    /// The errors of [`write_simple`](ObjectBuilder::write_simple).
    #[doc(hidden)]
    pub fn write_list_element(
        &mut self,
        field: &ResolvedField,
        position: u32,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError>,
    ) -> Result<(), EncodingError> {
        let ResolvedKind::List { element } = &field.kind else { return not_a(field, "list") };
        self.whole(|builder| {
            let start = builder.data.bytes.len();
            uint::write(position, &mut builder.data.bytes);
            let value = builder.data.bytes.len();
            builder.append(element, write)?;
            builder.push(field.storage_id, start, value);
            Ok(())
        })
    }

    /// Adds an entry to a map. `key` and `value` append the two parts. Entries can be added in any
    /// order; of entries with equal keys the last one counts.
    ///
    /// # Errors
    /// The errors of [`write_simple`](ObjectBuilder::write_simple).
    #[doc(hidden)]
    pub fn write_map_entry(
        &mut self,
        field: &ResolvedField,
        key: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError>,
        value: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError>,
    ) -> Result<(), EncodingError> {
        let ResolvedKind::Map { key: keys, value: values } = &field.kind else {
            return not_a(field, "map");
        };
        self.whole(|builder| {
            let start = builder.data.bytes.len();
            builder.append(keys, key)?;
            let at = builder.data.bytes.len();
            builder.append(values, value)?;
            builder.push(field.storage_id, start, at);
            Ok(())
        })
    }

    /// Runs `add`. If it fails, removes the bytes that it has appended.
    fn whole(
        &mut self,
        add: impl FnOnce(&mut Self) -> Result<(), EncodingError>,
    ) -> Result<(), EncodingError> {
        let start = self.data.bytes.len();
        add(self).inspect_err(|_| self.data.bytes.truncate(start))
    }

    /// Appends a value of `part`, and checks it.
    fn append(
        &mut self,
        part: &ResolvedField,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError>,
    ) -> Result<(), EncodingError> {
        let start = self.data.bytes.len();
        write(&mut self.data.bytes)?;
        let Some(simple) = part.simple() else { return not_a(part, "simple field") };
        simple.encoding.check_canonical(self.data.bytes.get(start..).unwrap_or_default())
    }

    fn push(&mut self, field: StorageId, start: usize, value: usize) {
        let pair = FieldPairAt { field, start, value, end: self.data.bytes.len() };
        // The pairs of most objects are given in order, and then need no sorting.
        self.in_order &= match self.data.pairs.last() {
            None => true,
            Some(last) if last.field != field => last.field < field,
            Some(last) => self.data.key(last) < self.data.key(&pair),
        };
        self.data.pairs.push(pair);
    }

    /// Adds a pair in the form in which it is stored.
    pub(crate) fn push_pair(&mut self, field: StorageId, key: &[u8], value: &[u8]) {
        let start = self.data.bytes.len();
        self.data.bytes.extend_from_slice(key);
        let at = self.data.bytes.len();
        self.data.bytes.extend_from_slice(value);
        self.push(field, start, at);
    }

    /// Returns the object. Values that equal defaults are left out. Counters that were not given
    /// are 0.
    pub fn finish(mut self) -> ObjectData {
        // A counter always has a pair, also if it is 0.
        let counters = self.data.object_type.fields.iter();
        let counters: Vec<_> = counters
            .filter(|field| matches!(field.kind, ResolvedKind::Counter))
            .filter(|field| !self.data.pairs.iter().any(|pair| pair.field == field.storage_id))
            .map(Arc::clone)
            .collect();
        for counter in counters {
            self.write_counter(&counter, 0);
        }
        let ObjectData { id, object_type, bytes, mut pairs } = self.data;
        if !self.in_order {
            let key = |pair: &FieldPairAt| bytes.get(pair.start..pair.value);
            // If several pairs have the same key, the last one given now comes first, and is kept.
            pairs.reverse();
            pairs.sort_by(|a, b| a.field.cmp(&b.field).then_with(|| key(a).cmp(&key(b))));
            pairs.dedup_by(|b, a| a.field == b.field && key(a) == key(b));
        }
        // Default values are not stored.
        pairs.retain(|pair| {
            object_type.field_by_storage_id(pair.field).is_some_and(|field| match &field.kind {
                ResolvedKind::Simple(simple) => {
                    !bytes.get(pair.value..pair.end).is_some_and(|bytes| simple.is_default(bytes))
                }
                _ => true,
            })
        });
        ObjectData { id, object_type, bytes, pairs }
    }
}

impl ObjectData {
    /// The same content in another schema, if that certainly keeps all of it: the types have the
    /// same fields, and nothing needs to be looked at more closely. These are references, counters
    /// without a pair, and stored default values.
    pub(in crate::object) fn all_kept_in(&self, new_type: &Arc<ResolvedType>) -> Option<Self> {
        let mut left = &self.pairs[..];
        let mut old_fields = self.object_type.fields_by_storage_id();
        for field in new_type.fields_by_storage_id() {
            if old_fields.next()?.storage_id != field.storage_id {
                return None;
            }
            // The pairs of a field follow each other, in the order of the fields.
            let len = left.iter().take_while(|pair| pair.field == field.storage_id).count();
            let (pairs, rest) = left.split_at_checked(len)?;
            left = rest;
            let value =
                |pair: &FieldPairAt| self.bytes.get(pair.value..pair.end).unwrap_or_default();
            let is_kept = match &field.kind {
                ResolvedKind::Simple(simple) => {
                    // A reference may not be allowed any more, and a default value is not stored:
                    // both need a closer look.
                    simple.reference.is_none()
                        && !pairs.iter().any(|pair| simple.is_default(value(pair)))
                }
                // A counter without a pair gets one with the move.
                ResolvedKind::Counter => !pairs.is_empty(),
                _ => !field.sub_fields().any(|part| part.is_reference()),
            };
            if !is_kept {
                return None;
            }
        }
        // Pairs of fields that the new type lacks would be lost.
        let is_all = left.is_empty() && old_fields.next().is_none();
        is_all.then(|| ObjectData {
            id: None,
            object_type: Arc::clone(new_type),
            bytes: self.bytes.clone(),
            pairs: self.pairs.clone(),
        })
    }

    /// Whether both certainly have the same pairs.
    pub(in crate::object) fn has_pairs_of(&self, other: &ObjectData) -> bool {
        self.pairs == other.pairs && self.bytes == other.bytes
    }
}

/// A closure that appends a value of `part`.
fn encoded(
    part: &ResolvedField,
    value: &Value,
) -> impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError> {
    move |out| match part.simple() {
        Some(simple) => simple.encoding.encode(value, out),
        None => not_a(part, "simple field"),
    }
}

fn not_a(field: &ResolvedField, kind: &str) -> Result<(), EncodingError> {
    Err(EncodingError::Invalid(format!("field {:?} is no {kind}", &*field.full_name)))
}
