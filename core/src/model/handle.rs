//! Handles on objects: a transaction and an id, copied freely.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use super::binding::Binding;
use super::collections::{ListOf, MapOf, SetOf};
use super::counter::CounterOf;
use super::error::{Error, Result};
use super::fields::{CounterField, Field, ListField, MapField, SetField};
use super::load::{ObjectReader, ObjectWriter};
use super::target::{Accessors, Any, Model, Ref, Target};
use super::tx::Tx;
use super::values::EncodeAs;
use crate::encoding::{EncodingError, FieldType, Value};
use crate::id::ObjId;
use crate::object::{self, FieldValue, Migrate, ObjectData};
use crate::schema::{ResolvedField, ResolvedType, SchemaId};

/// An object in a transaction, as generated accessors see it.
#[derive(Clone, Copy)]
pub struct Handle<'t> {
    pub(crate) tx: &'t Tx,
    pub(crate) binding: &'t Binding,
    pub(crate) id: ObjId,
}

impl fmt::Debug for Handle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.binding.info.name, self.id)
    }
}

/// What generated accessors call; the number is the position of the field in the struct.
impl<'t> Handle<'t> {
    /// Reads a simple field. One get. If a value of an object of another schema is too long for an index of this one, the
    /// object cannot be moved; each read then takes two seeks, each with a scan of the object's pairs.
    ///
    /// # Errors
    /// If the object does not exist, or the stored value does not fit `V`.
    pub fn get<V: FieldType>(&self, position: usize) -> Result<V> {
        let field = self.binding.field(position)?;
        let read = self.tx.core.encoded().get(self.id, field, Migrate::Yes, V::decode_all);
        self.or_unmovable(read, |data| Ok(V::decode_all(data.simple(field)?)))?
            .map_err(|source| self.undecodable(field, source))
    }

    /// Sets a simple field.
    ///
    /// # Errors
    /// If the object does not exist, or the value is outside of what the field holds.
    pub fn set<V>(&self, position: usize, value: impl EncodeAs<V>) -> Result<()> {
        let field = self.binding.field(position)?;
        self.tx.with_encoded(&value, |result, bytes| {
            result.map_err(|source| self.unencodable(field, source))?;
            Ok(self.tx.core.encoded().set(self.id, field, bytes, Migrate::Yes)?)
        })
    }

    /// Reads a simple field whose struct type is converted from `D`.
    ///
    /// # Errors
    /// As [`Handle::get`], and those of the conversion.
    pub fn get_converted<D, V>(&self, position: usize) -> Result<V>
    where
        D: FieldType,
        V: TryFrom<D, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let value: D = self.get(position)?;
        V::try_from(value).map_err(|source| self.unconvertible(position, source))
    }

    /// Sets a simple field whose struct type is converted to `D`.
    ///
    /// # Errors
    /// As [`Handle::set`], and those of the conversion.
    pub fn set_converted<D, V>(&self, position: usize, value: V) -> Result<()>
    where
        D: FieldType + TryFrom<V, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let value = D::try_from(value).map_err(|source| self.unconvertible(position, source))?;
        self.set::<D>(position, value)
    }

    /// Reads a reference.
    ///
    /// # Errors
    /// As [`Handle::get`].
    pub fn reference<T: Target>(&self, position: usize) -> Result<Option<T::Live<'t>>> {
        let reference: Option<Ref<T>> = self.get(position)?;
        reference.map(|reference| T::live(self.tx, reference.id())).transpose()
    }

    /// Reads a reference that is never null.
    ///
    /// # Errors
    /// As [`Handle::get`].
    pub fn required_reference<T: Target>(&self, position: usize) -> Result<T::Live<'t>> {
        let reference: Ref<T> = self.get(position)?;
        T::live(self.tx, reference.id())
    }

    /// The counter. Reads nothing.
    pub fn counter(&self, position: usize) -> CounterOf<'t> {
        CounterOf::new(*self, position)
    }

    /// The live view of a set.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn set_of<E: FieldType>(&self, position: usize) -> Result<SetOf<'t, E>> {
        SetOf::new(*self, position)
    }

    /// The live view of a list.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn list_of<E: FieldType>(&self, position: usize) -> Result<ListOf<'t, E>> {
        ListOf::new(*self, position)
    }

    /// The live view of a map.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn map_of<K: FieldType, V: FieldType>(&self, position: usize) -> Result<MapOf<'t, K, V>> {
        MapOf::new(*self, position)
    }

    /// What was read after the object was moved to the transaction's schema. If it cannot be moved, because a value has
    /// too long an index entry there, what `read` finds in what it would hold.
    pub(crate) fn or_unmovable<R>(
        &self,
        moved: object::Result<R>,
        read: impl FnOnce(ObjectData) -> Result<R>,
    ) -> Result<R> {
        match moved {
            Err(object::Error::KeyTooLong { .. }) if !self.tx.core.is_current(self.id)? => {
                read(self.tx.core.load_unmovable(self.id)?)
            }
            moved => Ok(moved?),
        }
    }

    /// Moves the object to the transaction's schema, if it can be moved. If a value has too long an index entry there,
    /// collections are read and changed where they are.
    pub(crate) fn move_if_possible(&self) -> Result<()> {
        match self.tx.core.require_current(self.id) {
            Err(object::Error::KeyTooLong { .. }) if !self.tx.core.is_current(self.id)? => Ok(()),
            moved => Ok(moved?),
        }
    }

    pub(crate) fn undecodable(&self, field: &ResolvedField, source: EncodingError) -> Error {
        Error::Decode { field: self.binding.path(field), id: self.id, source }
    }

    pub(crate) fn unencodable(&self, field: &ResolvedField, source: EncodingError) -> Error {
        Error::Encode { field: self.binding.path(field), source }
    }

    fn unconvertible(
        &self,
        position: usize,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        match self.binding.field(position) {
            Ok(field) => Error::Convert { field: self.binding.path(field), source: source.into() },
            Err(error) => error,
        }
    }
}

/// An object of model `M` in a transaction.
///
/// A handle holds no data: it is a transaction and an id, and each access reads or writes the store. It may be copied,
/// compared and kept for as long as the transaction is borrowed. Whether the object exists shows when it is
/// accessed. The accessors of the model's fields are reached through it: `person.name()?`,
/// `person.set_name("Ann")?`. A field named like one of the methods below is reached by
/// [`fields`](Obj::fields): `person.fields().id()`.
pub struct Obj<'t, M: Model> {
    fields: M::Fields<'t>,
}

impl<'t, M: Model> Obj<'t, M> {
    pub(crate) fn new(tx: &'t Tx, binding: &'t Binding, id: ObjId) -> Self {
        Obj { fields: M::Fields::bind(Handle { tx, binding, id }) }
    }

    pub(crate) fn handle(&self) -> Handle<'t> {
        self.fields.handle()
    }

    /// The object id.
    pub fn id(&self) -> ObjId {
        self.handle().id
    }

    /// A reference to this object, which outlives the transaction.
    pub fn to_ref(&self) -> Ref<M> {
        Ref::new(self.id())
    }

    /// The transaction.
    pub fn tx(&self) -> &'t Tx {
        self.handle().tx
    }

    /// The generated accessors, for fields whose names are those of methods of `Obj`.
    pub fn fields(&self) -> M::Fields<'t> {
        self.fields
    }

    /// The object for access by name.
    pub fn any(&self) -> AnyObj<'t> {
        AnyObj { tx: self.tx(), id: self.id() }
    }

    /// Whether the object exists. One get, none if it is known in this transaction.
    ///
    /// # Errors
    /// Those of the store.
    pub fn exists(&self) -> Result<bool> {
        Ok(self.tx().core.exists(self.id())?)
    }

    /// Deletes the object, with all that this entails for what refers to it; false if it does not exist. For what it
    /// costs see [`delete`](crate::object::Transaction::delete) of the object layer.
    ///
    /// # Errors
    /// [`ReferencedObject`](crate::object::Error::ReferencedObject) if a reference to it forbids that; nothing has changed then.
    pub fn delete(&self) -> Result<bool> {
        Ok(self.tx().core.delete(self.id())?)
    }

    /// Creates the object anew with default values; false if it exists. Costs as [`Tx::create_default`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn recreate(&self) -> Result<bool> {
        Ok(self.tx().core.create_with_id(self.id())?)
    }

    /// Moves the object to the schema of the transaction, as every access to a field does; true if it was of
    /// another one. Nothing if it is of this one and known in the transaction; otherwise one seek, a scan of its pairs,
    /// and puts and deletes for what differs.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn migrate(&self) -> Result<bool> {
        Ok(self.tx().core.migrate(self.id())?)
    }

    /// The id of the schema the object is of.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn schema_id(&self) -> Result<SchemaId> {
        self.any().schema_id()
    }

    /// Reads all fields. One seek and a scan of the object's pairs.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject, Debug, Default, PartialEq)]
    /// # struct Person { name: Option<String>, age: i32 }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// # db.write(|tx| {
    /// let ann = tx.create(Person { name: Some("Ann".into()), age: 30 })?;
    /// ann.set_age(31)?;
    /// assert_eq!(ann.load()?, Person { name: Some("Ann".into()), age: 31 });
    /// # Ok(()) })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the object does not exist, or a stored value does not fit the struct.
    pub fn load(&self) -> Result<M> {
        let handle = self.handle();
        let data = handle.tx.core.load(handle.id, Migrate::Yes);
        let data = handle.or_unmovable(data, Ok)?;
        M::read(&mut ObjectReader::new(handle, &data))
    }

    /// Writes all fields, as one operation. What does not change is not written.
    ///
    /// Listeners are told of each change when all is written, and see all of the new content. What a listener changes
    /// stands; what is still to be told then says, as its old and new values, what the store did.
    ///
    /// Cost: one seek and a scan of the object's pairs; one put or delete for each pair that differs, index entries
    /// included; one get for each new reference to an object that is not known in the transaction.
    ///
    /// # Errors
    /// If the object does not exist, a value is outside of what its field holds, or a new reference is to an object that
    /// does not exist, or if a listener to schema changes fails; nothing has changed then. Errors of other listeners,
    /// after which all is stored.
    pub fn store(&self, value: &M) -> Result<()> {
        let handle = self.handle();
        let data = ObjectWriter::content(handle.binding, value)?;
        Ok(handle.tx.core.store_object(handle.id, &data, Migrate::Yes)?)
    }

    /// Reads a simple field. One get.
    ///
    /// # Errors
    /// As the generated accessors.
    pub fn get<V: FieldType, I>(&self, field: Field<M, V, I>) -> Result<V> {
        self.handle().get(field.position)
    }

    /// Sets a simple field: one put without an index, otherwise as [`set`](crate::object::Transaction::set) of the
    /// object layer.
    ///
    /// # Errors
    /// As the generated accessors.
    pub fn set<V: FieldType, I>(
        &self,
        field: Field<M, V, I>,
        value: impl EncodeAs<V>,
    ) -> Result<()> {
        self.handle().set::<V>(field.position, value)
    }

    /// A counter. Reads nothing.
    pub fn counter(&self, field: CounterField<M>) -> CounterOf<'t> {
        self.handle().counter(field.position)
    }

    /// A set.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn set_of<E: FieldType, I>(&self, field: SetField<M, E, I>) -> Result<SetOf<'t, E>> {
        self.handle().set_of(field.position)
    }

    /// A list.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn list_of<E: FieldType, I>(&self, field: ListField<M, E, I>) -> Result<ListOf<'t, E>> {
        self.handle().list_of(field.position)
    }

    /// A map.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn map_of<K: FieldType, V: FieldType, KI, VI>(
        &self,
        field: MapField<M, K, V, KI, VI>,
    ) -> Result<MapOf<'t, K, V>> {
        self.handle().map_of(field.position)
    }
}

impl<'t, M: Model> Deref for Obj<'t, M> {
    type Target = M::Fields<'t>;

    fn deref(&self) -> &M::Fields<'t> {
        &self.fields
    }
}

impl<M: Model> Clone for Obj<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Model> Copy for Obj<'_, M> {}

impl<M: Model> PartialEq for Obj<'_, M> {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id() && std::ptr::eq(self.tx(), other.tx())
    }
}

impl<M: Model> Eq for Obj<'_, M> {}

impl<M: Model> PartialOrd for Obj<'_, M> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<M: Model> Ord for Obj<'_, M> {
    fn cmp(&self, other: &Self) -> Ordering {
        let address = |object: &Self| std::ptr::from_ref(object.tx()) as usize;
        self.id().cmp(&other.id()).then_with(|| address(self).cmp(&address(other)))
    }
}

impl<M: Model> Hash for Obj<'_, M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl<M: Model> fmt::Debug for Obj<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", M::TYPE_NAME, self.id())
    }
}

/// Any object in a transaction, of a registered model or not, accessed by field name and [`Value`].
///
/// Unlike [`Obj`] it does not move objects to the transaction's schema: fields are those of the schema the object is
/// of.
#[derive(Clone, Copy)]
pub struct AnyObj<'t> {
    tx: &'t Tx,
    id: ObjId,
}

impl<'t> AnyObj<'t> {
    pub(crate) fn new(tx: &'t Tx, id: ObjId) -> Self {
        AnyObj { tx, id }
    }

    /// The object id.
    pub fn id(&self) -> ObjId {
        self.id
    }

    /// The transaction.
    pub fn tx(&self) -> &'t Tx {
        self.tx
    }

    /// A reference to this object, which outlives the transaction.
    pub fn to_ref(&self) -> Ref<Any> {
        Ref::new(self.id)
    }

    /// Whether the object exists. One get, none if it is known in this transaction.
    ///
    /// # Errors
    /// Those of the store.
    pub fn exists(&self) -> Result<bool> {
        Ok(self.tx.core.exists(self.id)?)
    }

    /// The object's type, as the object's own schema defines it. Costs as [`exists`](AnyObj::exists), as do the other
    /// questions about type and schema.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn object_type(&self) -> Result<Arc<ResolvedType>> {
        Ok(self.tx.core.object_type(self.id)?)
    }

    /// Name of the object's type.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn type_name(&self) -> Result<String> {
        Ok(self.object_type()?.name.to_string())
    }

    /// The id of the schema the object is of.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn schema_id(&self) -> Result<SchemaId> {
        Ok(self.tx.core.object_schema(self.id)?.id)
    }

    /// The object as one of model `M`, if it is of that type.
    pub fn downcast<M: Model>(&self) -> Option<Obj<'t, M>> {
        self.tx.get(Ref::<M>::new(self.id)).ok()
    }

    /// Reads a simple field by name. One get.
    ///
    /// # Errors
    /// If the object or the field does not exist.
    pub fn get(&self, field: &str) -> Result<Value> {
        Ok(self.tx.core.get(self.id, field, Migrate::No)?)
    }

    /// Sets a simple field by name. Costs as [`set`](crate::object::Transaction::set) of the object layer.
    ///
    /// # Errors
    /// If the object or the field does not exist, or the value is none of the field.
    pub fn set(&self, field: &str, value: &Value) -> Result<()> {
        Ok(self.tx.core.set(self.id, field, value, Migrate::No)?)
    }

    /// Reads all fields, in name order. One seek and a scan of the object's pairs.
    ///
    /// # Errors
    /// If the object does not exist or is damaged.
    pub fn fields(&self) -> Result<Vec<(String, FieldValue)>> {
        let object_type = self.object_type()?;
        let data = self.tx.core.load(self.id, Migrate::No)?;
        let decode =
            |field: &Arc<ResolvedField>| Ok((field.name.to_string(), data.decode_field(field)?));
        object_type.fields.iter().map(decode).collect()
    }

    /// Deletes the object; false if it does not exist.
    ///
    /// # Errors
    /// [`ReferencedObject`](crate::object::Error::ReferencedObject) if a reference to it forbids that.
    pub fn delete(&self) -> Result<bool> {
        Ok(self.tx.core.delete(self.id)?)
    }
}

impl PartialEq for AnyObj<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && std::ptr::eq(self.tx, other.tx)
    }
}

impl Eq for AnyObj<'_> {}

impl Hash for AnyObj<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for AnyObj<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyObj({})", self.id)
    }
}
