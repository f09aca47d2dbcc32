//! The whole content of one object outside of the store.

use std::borrow::Cow;
use std::sync::Arc;

use crate::encoding::{EncodingKind, Value};
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::collection::position_in;
use crate::object::describe::{damaged, unknown_field};
use crate::object::error::hex;
use crate::object::{Error, Result};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType, SubFieldRole};

/// The encoded values of all fields of an object, in one buffer.
///
/// It comes from loading an object, or from an [`ObjectBuilder`](crate::object::ObjectBuilder).
/// Values are decoded only on request, so damage in one field does not hide the others.
#[derive(Debug, Clone)]
pub struct ObjectData {
    /// The object from which this was loaded, if it was.
    pub(in crate::object) id: Option<ObjId>,
    pub(in crate::object) object_type: Arc<ResolvedType>,
    pub(in crate::object) bytes: Vec<u8>,
    pub(in crate::object) pairs: Vec<FieldPairAt>,
}

/// One stored pair: the field, the rest of the key after the field, and the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::object) struct FieldPairAt {
    pub(in crate::object) field: StorageId,
    pub(in crate::object) start: usize,
    pub(in crate::object) value: usize,
    pub(in crate::object) end: usize,
}

/// The value of a field, of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldValue {
    /// The value of a simple field.
    Simple(Value),
    /// The value of a counter.
    Counter(i64),
    /// The elements of a set, in order.
    Set(Vec<Value>),
    /// The elements of a list.
    List(Vec<Value>),
    /// The entries of a map, in order.
    Map(Vec<(Value, Value)>),
}

impl FieldValue {
    /// The kind of field that can have this value.
    pub(in crate::object) fn kind(&self) -> &'static str {
        match self {
            FieldValue::Simple(_) => "simple field",
            FieldValue::Counter(_) => "counter",
            FieldValue::Set(_) => "set",
            FieldValue::List(_) => "list",
            FieldValue::Map(_) => "map",
        }
    }
}

impl ObjectData {
    /// The same content, but with some fields as they are in `other`, which is of the same type.
    pub(in crate::object) fn with(
        &self,
        other: &ObjectData,
        is_other: impl Fn(StorageId) -> bool,
    ) -> ObjectData {
        let ours = self.all_pairs().filter(|(field, ..)| !is_other(*field));
        let mut pairs: Vec<_> =
            ours.chain(other.all_pairs().filter(|(field, ..)| is_other(*field))).collect();
        // The pairs of a field stay in their order.
        pairs.sort_by_key(|(field, ..)| *field);
        let mut data = ObjectData {
            id: self.id,
            object_type: Arc::clone(&self.object_type),
            bytes: Vec::with_capacity(self.bytes.len() + other.bytes.len()),
            pairs: Vec::with_capacity(pairs.len()),
        };
        for (field, rest, value) in pairs {
            let start = data.bytes.len();
            data.bytes.extend_from_slice(rest);
            let at = data.bytes.len();
            data.bytes.extend_from_slice(value);
            data.pairs.push(FieldPairAt { field, start, value: at, end: data.bytes.len() });
        }
        data
    }

    /// No content yet; `id` is that of the object, if it exists.
    pub(crate) fn new(id: Option<ObjId>, object_type: Arc<ResolvedType>) -> Self {
        ObjectData { id, object_type, bytes: Vec::new(), pairs: Vec::new() }
    }

    /// No content yet, of an object that will be loaded.
    pub(in crate::object) fn with_room(id: ObjId, object_type: &Arc<ResolvedType>) -> Self {
        // Most objects have about a pair for each field, and short values.
        let fields = object_type.fields.len();
        ObjectData {
            id: Some(id),
            object_type: Arc::clone(object_type),
            bytes: Vec::with_capacity(16 * fields),
            pairs: Vec::with_capacity(fields),
        }
    }

    /// The object from which this was loaded; `None` if it was not.
    pub fn id(&self) -> Option<ObjId> {
        self.id
    }

    /// The type that defines the fields.
    pub fn object_type(&self) -> &Arc<ResolvedType> {
        &self.object_type
    }

    // ------------------------------------------------------------------ reading

    /// The field with that name.
    ///
    /// # Errors
    /// [`Error::UnknownField`].
    pub fn field(&self, name: &str) -> Result<&Arc<ResolvedField>> {
        self.object_type.field(name).ok_or_else(|| unknown_field(&self.object_type, name))
    }

    fn of(&self, field: StorageId) -> &[FieldPairAt] {
        // The pairs are in the order of the fields, so those of one field are found by halves.
        let start = self.pairs.partition_point(|pair| pair.field < field);
        let rest = self.pairs.get(start..).unwrap_or_default();
        let len = rest.partition_point(|pair| pair.field == field);
        rest.get(..len).unwrap_or_default()
    }

    pub(in crate::object) fn key(&self, pair: &FieldPairAt) -> &[u8] {
        self.bytes.get(pair.start..pair.value).unwrap_or_default()
    }

    fn value(&self, pair: &FieldPairAt) -> &[u8] {
        self.bytes.get(pair.value..pair.end).unwrap_or_default()
    }

    /// The stored value of a simple field or counter; `None` if nothing is stored, which means the
    /// default.
    #[doc(hidden)]
    pub fn stored(&self, field: &ResolvedField) -> Option<&[u8]> {
        let field = field.storage_id;
        let first = self.pairs.get(self.pairs.partition_point(|pair| pair.field < field))?;
        // A key that is longer than the field's own is not part of the object.
        (first.field == field && first.start == first.value).then(|| self.value(first))
    }

    /// The encoded value of a simple field, which may be the default.
    ///
    /// # Errors
    /// [`Error::UnknownEncoding`] if nothing is stored and the default value is not known;
    /// [`Error::UnknownField`] if the field is of another kind.
    #[doc(hidden)]
    pub fn simple<'a>(&'a self, field: &'a ResolvedField) -> Result<&'a [u8]> {
        if let Some(stored) = self.stored(field) {
            return Ok(stored);
        }
        let Some(simple) = field.simple() else {
            return Err(unknown_field(&self.object_type, &field.full_name));
        };
        simple.default.as_deref().ok_or_else(|| {
            let of = format!("field {:?} of type {:?}", &*field.full_name, &*self.object_type.name);
            Error::unknown_default(of, simple)
        })
    }

    /// The encoded value of the simple field with this storage ID; `None` if the type has no such
    /// field, or nothing is stored and the default value is not known.
    pub(crate) fn simple_value(&self, field: StorageId) -> Option<&[u8]> {
        self.simple_or_default(self.object_type.field_by_storage_id(field)?)
    }

    /// The encoded value of a simple field; `None` if nothing is stored and the default value is
    /// not known.
    pub(crate) fn simple_or_default<'a>(&'a self, field: &'a ResolvedField) -> Option<&'a [u8]> {
        self.stored(field).or_else(|| field.simple()?.default.as_deref())
    }

    /// The encoded values of `part`, which is a field or a sub-field of it: the value itself, the
    /// elements, the keys or the values of a map. A simple field that is not stored has none.
    pub(crate) fn values_of<'a>(
        &'a self,
        field: &ResolvedField,
        part: &ResolvedField,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        use SubFieldRole::{ListElement, MapKey, MapValue, SetElement};
        let in_key = match part.parent.as_ref().map(|parent| parent.role) {
            Some(SetElement | MapKey) => true,
            Some(ListElement | MapValue) | None => false,
        };
        let pairs = self.of(field.storage_id).iter();
        pairs.map(move |pair| if in_key { self.key(pair) } else { self.value(pair) })
    }

    /// The stored pairs of a field in key order. Each pair has the rest of the key after the field,
    /// and the value. For a set these are the element and nothing; for a list, the encoded position
    /// and the element; for a map, the key and the value.
    #[doc(hidden)]
    pub fn pairs(
        &self,
        field: &ResolvedField,
    ) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + DoubleEndedIterator {
        self.pairs_of(field.storage_id)
    }

    /// The stored pairs of the field with this storage ID.
    pub(crate) fn pairs_of(
        &self,
        field: StorageId,
    ) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + DoubleEndedIterator {
        self.of(field).iter().map(|pair| (self.key(pair), self.value(pair)))
    }

    /// How many bytes the pairs have, without the object ID and the storage IDs of the fields.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// All stored pairs by field storage ID and key.
    pub(crate) fn all_pairs(&self) -> impl Iterator<Item = (StorageId, &[u8], &[u8])> {
        self.pairs.iter().map(|pair| (pair.field, self.key(pair), self.value(pair)))
    }

    /// Refuses values that their encodings would not write, and lists with gaps.
    pub(crate) fn check_values(&self) -> Result<()> {
        self.check_lists()?;
        for field in &self.object_type.fields {
            if matches!(field.kind, ResolvedKind::Counter) {
                self.counter(field)?;
            }
            for part in field.sub_fields().map(|part| &**part).chain([&**field]) {
                let Some(simple) = part.simple() else { continue };
                // The form of the values of an unknown encoding is not known.
                if matches!(simple.encoding.kind(), EncodingKind::Unknown) {
                    continue;
                }
                for bytes in self.values_of(field, part) {
                    let checked = simple.encoding.check_canonical(bytes);
                    checked.map_err(|error| self.damaged(part, &[], bytes, &error))?;
                }
            }
        }
        Ok(())
    }

    /// Refuses lists with gaps.
    pub(crate) fn check_lists(&self) -> Result<()> {
        for field in &self.object_type.fields {
            if !matches!(field.kind, ResolvedKind::List { .. }) {
                continue;
            }
            self.check_list(field)?;
        }
        Ok(())
    }

    /// Refuses a list with gaps.
    pub(crate) fn check_list(&self, field: &ResolvedField) -> Result<()> {
        for (expected, (key, value)) in (0..).zip(self.pairs(field)) {
            if self.position(field, key, value)? != expected {
                let reason = format!("there is no element at position {expected} before it");
                return Err(self.damaged(field, key, value, &reason));
            }
        }
        Ok(())
    }

    /// The position of a list element, from the rest of the key after its field.
    fn position(&self, field: &ResolvedField, key: &[u8], value: &[u8]) -> Result<u32> {
        position_in(key).map_err(|reason| {
            let reason = format!("no list position ({reason}); check and repair the database");
            self.damaged(field, key, value, &reason)
        })
    }

    /// The encoded elements of a list, in order.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for an element whose key is not that of a position.
    #[doc(hidden)]
    pub fn elements(
        &self,
        field: &ResolvedField,
    ) -> impl ExactSizeIterator<Item = Result<&[u8]>> + DoubleEndedIterator {
        self.pairs(field).map(|(key, value)| self.position(field, key, value).map(|_| value))
    }

    /// The value of a counter.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] if the stored bytes are not a counter.
    #[doc(hidden)]
    pub fn counter(&self, field: &ResolvedField) -> Result<i64> {
        match self.stored(field) {
            // A missing counter counts as 0, as when it is read from the store.
            None => Ok(0),
            Some(bytes) => <[u8; 8]>::try_from(bytes)
                .map(i64::from_be_bytes)
                .map_err(|_| self.damaged(field, &[], bytes, &"a counter has 8 bytes")),
        }
    }

    /// The decoded value of the field with that name.
    ///
    /// # Errors
    /// [`Error::UnknownField`]; [`Error::Inconsistent`] if stored bytes are not a value of the
    /// field; [`Error::UnknownEncoding`] if nothing is stored and the default value is not known.
    pub fn decode(&self, name: &str) -> Result<FieldValue> {
        let field = Arc::clone(self.field(name)?);
        self.decode_field(&field)
    }

    /// The decoded value of a field.
    ///
    /// # Errors
    /// The errors of [`decode`](Self::decode).
    #[doc(hidden)]
    pub fn decode_field(&self, field: &ResolvedField) -> Result<FieldValue> {
        Ok(match &field.kind {
            ResolvedKind::Simple(_) => {
                FieldValue::Simple(self.part(field, field, &[], self.simple(field)?)?)
            }
            ResolvedKind::Counter => FieldValue::Counter(self.counter(field)?),
            ResolvedKind::Set { element } => FieldValue::Set(
                self.pairs(field)
                    .map(|(key, _)| self.part(field, element, key, key))
                    .collect::<Result<_>>()?,
            ),
            ResolvedKind::List { element } => FieldValue::List(
                self.pairs(field)
                    .map(|(key, value)| {
                        self.position(field, key, value)?;
                        self.part(field, element, key, value)
                    })
                    .collect::<Result<_>>()?,
            ),
            ResolvedKind::Map { key: keys, value: values } => FieldValue::Map(
                self.pairs(field)
                    .map(|(key, value)| {
                        Ok((
                            self.part(field, keys, key, key)?,
                            self.part(field, values, key, value)?,
                        ))
                    })
                    .collect::<Result<_>>()?,
            ),
        })
    }

    /// Decodes a part of a field; `key` is the rest of the key after the field.
    fn part(
        &self,
        field: &ResolvedField,
        part: &ResolvedField,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<Value> {
        match part.simple() {
            Some(simple) => simple
                .encoding
                .decode_all(bytes)
                .map_err(|reason| self.damaged(field, key, bytes, &reason)),
            None => Err(self.damaged(field, key, bytes, &"a part of no simple kind")),
        }
    }

    fn damaged(
        &self,
        field: &ResolvedField,
        key: &[u8],
        bytes: &[u8],
        reason: &dyn std::fmt::Display,
    ) -> Error {
        match self.id {
            Some(id) => {
                let key = [&layout::FieldKey::new(id, &field.key)[..], key].concat();
                damaged(id, field, &key, bytes, reason)
            }
            None => Error::inconsistent(format!(
                "field {:?} of an object of type {:?}: {}: {reason}",
                &*field.full_name,
                &*self.object_type.name,
                hex(bytes, 64)
            )),
        }
    }

    /// Adds a pair in the form in which it is stored. It must follow the pairs added before.
    pub(crate) fn push_pair(&mut self, field: StorageId, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.pairs.push(FieldPairAt { field, start, value: at, end: self.bytes.len() });
    }

    /// Whether both have the same type, of the same schema, and the same stored pairs.
    pub(crate) fn is_same(&self, other: &ObjectData) -> bool {
        self.object_type.schema == other.object_type.schema
            && self.object_type.storage_id == other.object_type.storage_id
            && self.all_pairs().eq(other.all_pairs())
    }

    /// The same content with the counters of `other`, which must have the same type.
    pub(crate) fn with_counters_of(&self, other: &ObjectData) -> Cow<'_, Self> {
        let mut counters = self.object_type.fields.iter().filter(|field| field.is_counter());
        // The common case copies nothing.
        if counters.all(|field| self.stored(field) == other.stored(field)) {
            return Cow::Borrowed(self);
        }
        let mut new = ObjectData::new(self.id, Arc::clone(&self.object_type));
        // The pairs must stay in the order of the storage IDs.
        for field in self.object_type.fields_by_storage_id() {
            let of = if field.is_counter() { other } else { self };
            of.pairs(field).for_each(|(key, value)| new.push_pair(field.storage_id, key, value));
        }
        Cow::Owned(new)
    }

    // ------------------------------------------------------------------ index entries

    /// Visits the keys of all index entries of an object with this content, until the first error.
    pub(crate) fn each_entry(
        &self,
        id: ObjId,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut key = Vec::with_capacity(64);
        self.each_value(ResolvedField::is_indexed, |part, value, suffix| {
            key.clear();
            layout::append_index_key(&part.key, value, id, suffix, &mut key);
            visit(&key)
        })?;
        let mut values = Vec::new();
        for index in &self.object_type.indexes {
            values.clear();
            // A composite index also has the defaults, which have no pairs.
            for field in &index.fields {
                values.extend_from_slice(self.simple(field)?);
            }
            key.clear();
            layout::append_index_key(&index.key, &values, id, &[], &mut key);
            visit(&key)?;
        }
        Ok(())
    }

    /// Visits every encoded reference in the content, with its field or sub-field.
    pub(crate) fn each_reference(
        &self,
        mut visit: impl FnMut(&Arc<ResolvedField>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.each_value(ResolvedField::is_reference, |part, value, _| visit(part, value))
    }

    /// Visits every value of the wanted fields and sub-fields, including defaults, until the first
    /// error. Gives the field or sub-field, the value, and the bytes after the object ID in its
    /// index entry.
    fn each_value(
        &self,
        wanted: impl Fn(&ResolvedField) -> bool,
        mut visit: impl FnMut(&Arc<ResolvedField>, &[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for field in &self.object_type.fields {
            match &field.kind {
                // An unknown default is an error only if the value is wanted.
                ResolvedKind::Simple(_) if wanted(field) => {
                    visit(field, self.simple(field)?, &[])?;
                }
                ResolvedKind::Simple(_) | ResolvedKind::Counter => {}
                ResolvedKind::Set { element } if wanted(element) => {
                    self.pairs(field).try_for_each(|(value, _)| visit(element, value, &[]))?;
                }
                ResolvedKind::List { element } if wanted(element) => {
                    self.pairs(field)
                        .try_for_each(|(position, value)| visit(element, value, position))?;
                }
                ResolvedKind::Set { .. } | ResolvedKind::List { .. } => {}
                ResolvedKind::Map { key: keys, value: values } => {
                    let (keys_wanted, values_wanted) = (wanted(keys), wanted(values));
                    // The pairs of a map need not be looked at if neither half counts.
                    if !keys_wanted && !values_wanted {
                        continue;
                    }
                    for (key, value) in self.pairs(field) {
                        if keys_wanted {
                            visit(keys, key, &[])?;
                        }
                        if values_wanted {
                            visit(values, value, key)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// A list of keys in one buffer.
#[derive(Debug, Default)]
pub(crate) struct KeyList {
    bytes: Vec<u8>,
    spans: Vec<(usize, usize)>,
}

impl KeyList {
    /// The sorted keys of all index entries of an object with this content.
    pub(crate) fn entries(data: &ObjectData, id: ObjId) -> Result<Self> {
        // Room for the entries of most objects.
        let mut list = KeyList { bytes: Vec::with_capacity(128), spans: Vec::with_capacity(4) };
        data.each_entry(id, |key| {
            list.push(key);
            Ok(())
        })?;
        list.sort();
        Ok(list)
    }

    pub(crate) fn push(&mut self, key: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.spans.push((start, self.bytes.len()));
    }

    /// Adds the index entry of a value of `part`, if `part` has an index.
    pub(crate) fn add_entry(
        &mut self,
        part: &ResolvedField,
        value: &[u8],
        id: ObjId,
        suffix: &[u8],
    ) {
        if part.is_indexed() {
            let start = self.bytes.len();
            layout::append_index_key(&part.key, value, id, suffix, &mut self.bytes);
            self.spans.push((start, self.bytes.len()));
        }
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Removes the keys after the first `len`. They must not have been sorted.
    pub(crate) fn truncate(&mut self, len: usize) {
        if let Some(&(start, _)) = self.spans.get(len) {
            self.bytes.truncate(start);
        }
        self.spans.truncate(len);
    }

    /// Removes all keys.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Sorts the keys. Stores take keys fastest in order.
    pub(crate) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.spans.sort_unstable_by_key(|&(start, end)| bytes.get(start..end));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.spans.iter().map(|&(start, end)| self.bytes.get(start..end).unwrap_or_default())
    }
}

/// Visits the elements of two sorted sequences in order, and pairs equal ones.
pub(crate) fn differences<T>(
    old: impl Iterator<Item = T>,
    new: impl Iterator<Item = T>,
    compare: impl Fn(&T, &T) -> std::cmp::Ordering,
    mut visit: impl FnMut(Option<T>, Option<T>) -> Result<()>,
) -> Result<()> {
    use std::cmp::Ordering;
    let (mut old, mut new) = (old.peekable(), new.peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => compare(old, new),
        };
        match order {
            Ordering::Less => visit(old.next(), None)?,
            Ordering::Greater => visit(None, new.next())?,
            Ordering::Equal => visit(old.next(), new.next())?,
        }
    }
}
