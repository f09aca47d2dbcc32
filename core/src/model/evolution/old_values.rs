//! What own conversions work with: the values an object had, and those it gets.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::encoding::{Conversion, Encoding, EncodingError, EnumEncoding, FieldType, SchemaForm};
use crate::id::ObjId;
use crate::model::binding::Models;
use crate::model::error::{Error, Result};
use crate::model::fields::{CounterField, Field, ListField, MapField, SetField};
use crate::model::load::ObjectWriter;
use crate::model::target::{Model, Ref};
use crate::model::values::EncodeAs;
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
    objects: &'a dyn Objects,
    models: &'a Models,
    taken: RefCell<BTreeSet<String>>,
}

/// The objects of a transaction, as own conversions see them.
pub(super) trait Objects {
    fn load(&self, id: ObjId) -> object::Result<Option<(ObjectData, SchemaId)>>;
    fn create(&self, data: &ObjectData) -> object::Result<ObjId>;
}

impl Objects for Transaction {
    fn load(&self, id: ObjId) -> object::Result<Option<(ObjectData, SchemaId)>> {
        if !self.exists(id)? {
            return Ok(None);
        }
        let schema = self.object_schema(id)?.id;
        Ok(Some((Transaction::load(self, id, Migrate::No)?, schema)))
    }

    fn create(&self, data: &ObjectData) -> object::Result<ObjId> {
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
        models: &'a Models,
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
        read(&OldValues::new(&data, id, schema, self.objects, self.models)).map(Some)
    }

    /// Creates another object, for values that leave this one. If the move fails, the new object
    /// goes too.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; the errors of [`Tx::create`](crate::model::Tx::create).
    pub fn create<M: Model>(&self, value: &M) -> Result<Ref<M>> {
        let data = ObjectWriter::content(self.models.of::<M>()?, value)?;
        Ok(Ref::new(self.objects.create(&data)?))
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

/// The values that an object of model `M` gets when it moves to the schema of the models. An own
/// conversion sets some of them. They are not converted then.
pub struct NewValues<'a, 'w, M> {
    to: &'a mut ObjectWriter<'w>,
    model: PhantomData<fn() -> M>,
}

impl<M: Model> fmt::Debug for NewValues<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewValues<{}>", M::TYPE_NAME)
    }
}

impl<'a, 'w, M: Model> NewValues<'a, 'w, M> {
    /// For generated code.
    #[doc(hidden)]
    pub fn new(to: &'a mut ObjectWriter<'w>) -> Self {
        NewValues { to, model: PhantomData }
    }

    /// Sets a simple field.
    ///
    /// # Errors
    /// If the field cannot hold the value.
    pub fn set<V, I>(&mut self, field: Field<M, V, I>, value: impl EncodeAs<V>) -> Result<()> {
        self.to.rewrite(field.position, |to| to.encoded(field.position, |out| value.encode_as(out)))
    }

    /// Sets a counter.
    ///
    /// # Errors
    /// If the struct has no such field.
    pub fn set_counter(&mut self, field: CounterField<M>, count: i64) -> Result<()> {
        self.to.rewrite(field.position, |to| to.counter(field.position, count.into()))
    }

    /// Sets all elements of a set.
    ///
    /// # Errors
    /// If the field cannot hold an element.
    pub fn set_elements<E: FieldType, I>(
        &mut self,
        field: SetField<M, E, I>,
        elements: impl IntoIterator<Item = E>,
    ) -> Result<()> {
        let elements: Vec<E> = elements.into_iter().collect();
        self.to.rewrite(field.position, |to| to.elements(field.position, elements.iter()))
    }

    /// Sets all elements of a list.
    ///
    /// # Errors
    /// If the field cannot hold an element.
    pub fn set_list<E: FieldType, I>(
        &mut self,
        field: ListField<M, E, I>,
        elements: impl IntoIterator<Item = E>,
    ) -> Result<()> {
        let elements: Vec<E> = elements.into_iter().collect();
        self.to.rewrite(field.position, |to| to.elements(field.position, elements.iter()))
    }

    /// Sets all entries of a map.
    ///
    /// # Errors
    /// If the field cannot hold a key or a value.
    pub fn set_entries<K: FieldType, V: FieldType, KI, VI>(
        &mut self,
        field: MapField<M, K, V, KI, VI>,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<()> {
        let entries: Vec<(K, V)> = entries.into_iter().collect();
        self.to.rewrite(field.position, |to| to.entries(field.position, &mut entries.iter()))
    }
}
