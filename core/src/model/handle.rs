//! Handles on objects. A handle is a transaction and an ID, and can be copied freely.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use super::any_obj::AnyObj;
use super::binding::Binding;
use super::collections::{ListOf, MapOf, SetOf};
use super::counter::CounterOf;
use super::error::{Error, Result};
use super::fields::{CounterField, Field, ListField, MapField, SetField};
use super::load::{ObjectReader, ObjectWriter};
use super::target::{Accessors, Model, Ref, Target};
use super::tx::Tx;
use super::values::EncodeAs;
use crate::encoding::{EncodingError, FieldType};
use crate::id::ObjId;
use crate::object::{self, Migrate, ObjectData};
use crate::schema::{ResolvedField, SchemaId};

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

/// The methods that generated accessors call. `position` is the position of the field in the
/// struct.
impl<'t> Handle<'t> {
    /// Reads a simple field. Cost: one get.
    ///
    /// # Errors
    /// If the object does not exist, or the stored value does not fit `V`. For an object of another
    /// schema that must move, the errors of [`Obj::migrate`].
    pub fn get<V: FieldType>(&self, position: usize) -> Result<V> {
        let field = self.binding.field(position)?;
        let found = self.tx.core.encoded().find(self.id, field, self.access(), V::decode_all);
        let read = match found {
            Ok(Some(read)) => read,
            Ok(None) => self.get_elsewhere(position, field)?,
            Err(error) => {
                self.or_unmovable(Err(error), |data| Ok(V::decode_all(data.simple(field)?)))?
            }
        };
        read.map_err(|source| self.undecodable(field, source))
    }

    /// Reads a simple field of an object whose own schema lacks this definition of it.
    fn get_elsewhere<V: FieldType>(
        &self,
        position: usize,
        field: &ResolvedField,
    ) -> Result<Result<V, EncodingError>> {
        if self.is_missing(position)? {
            return Ok(V::decode_all(self.binding.default_of(position)?.simple(field)?));
        }
        let read = self.tx.core.encoded().get(self.id, field, Migrate::Yes, V::decode_all);
        self.or_unmovable(read, |data| Ok(V::decode_all(data.simple(field)?)))
    }

    /// Sets a simple field.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold the value. For an object of another
    /// schema that must move, the errors of [`Obj::migrate`].
    pub fn set<V>(&self, position: usize, value: impl EncodeAs<V>) -> Result<()> {
        let field = self.binding.field(position)?;
        self.tx.with_encoded(&value, |result, bytes| {
            result.map_err(|source| self.unencodable(field, source))?;
            let set = |migrate| self.tx.core.encoded().set(self.id, field, bytes, migrate);
            if self.access() == Migrate::Yes || !self.tx.core.encoded().defines(self.id, field)? {
                return Ok(set(Migrate::Yes)?);
            }
            match set(Migrate::No) {
                // The schema of the models may allow it. The value that is replaced does not keep
                // the object from moving.
                Err(error) if self.may_depend_on_schema(&error)? => Ok(set(Migrate::Yes)?),
                set => Ok(set?),
            }
        })
    }

    /// Reads a simple field whose type in the struct is converted from `D`.
    ///
    /// # Errors
    /// If the object does not exist, the stored value does not fit `D`, or the conversion fails.
    pub fn get_converted<D, V>(&self, position: usize) -> Result<V>
    where
        D: FieldType,
        V: TryFrom<D, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let value: D = self.get(position)?;
        V::try_from(value).map_err(|source| self.unconvertible(position, source))
    }

    /// Sets a simple field whose type in the struct is converted to `D`.
    ///
    /// # Errors
    /// If the object does not exist, the conversion fails, or the field cannot hold the value.
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
    /// If the object does not exist, the stored value is no reference, or it refers to another type
    /// than `T`.
    pub fn reference<T: Target>(&self, position: usize) -> Result<Option<T::Live<'t>>> {
        let reference: Option<Ref<T>> = self.get(position)?;
        reference.map(|reference| T::live(self.tx, reference.id())).transpose()
    }

    /// Reads a reference that is never null.
    ///
    /// # Errors
    /// If the object does not exist, the stored value is null or no reference, or it refers to
    /// another type than `T`.
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

    /// Returns `moved`, the result of moving an object to the transaction's schema and reading it.
    /// If the object could not be moved because an index entry would be too long, returns instead
    /// what `read` reads from the content that the object would have there.
    pub(crate) fn or_unmovable<R>(
        &self,
        moved: object::Result<R>,
        read: impl FnOnce(ObjectData) -> Result<R>,
    ) -> Result<R> {
        match moved {
            // A current object needs no move, so its error has another cause.
            Err(object::Error::KeyTooLong { .. }) if !self.tx.core.is_current(self.id)? => {
                read(self.tx.core.load_unmovable(self.id)?)
            }
            moved => Ok(moved?),
        }
    }

    /// Whether an access to the object moves it to the transaction's schema in any case.
    pub(crate) fn access(&self) -> Migrate {
        self.tx.access()
    }

    /// Whether the object's own schema lacks the field, and a value need not be made from others.
    /// The field then reads as its default where the object is.
    pub(crate) fn is_missing(&self, position: usize) -> Result<bool> {
        let plan = self.binding.plan(&*self.tx.core.object_type(self.id)?);
        Ok(self.binding.is_missing(&plan, position))
    }

    /// Whether the object's own schema lacks the field, so that nothing is stored in it, and the
    /// model states no default for it.
    pub(crate) fn is_empty_there(&self, position: usize) -> Result<bool> {
        let field = self.binding.field(position)?;
        let decl = self.binding.info.fields.get(position);
        Ok(self.access() == Migrate::No
            && decl.is_some_and(|decl| !decl.has_default())
            && !self.tx.core.encoded().defines(self.id, field)?
            && self.is_missing(position)?)
    }

    /// Prepares an object for a look at a collection. The object moves if its own schema defines
    /// the field differently, or if the model states a default for a field that the schema lacks.
    pub(crate) fn prepare_to_read(&self, position: usize) -> Result<()> {
        let core = &self.tx.core;
        let field = self.binding.field(position)?;
        if self.access() == Migrate::No
            && (core.encoded().defines(self.id, field)? || self.is_empty_there(position)?)
        {
            return Ok(());
        }
        match core.require_current(self.id) {
            // The object stays, because an index entry would be too long. A collection of the same
            // definition is used where it is, and one that it lacks is empty.
            Err(object::Error::KeyTooLong { .. })
                if !core.is_current(self.id)?
                    && (core.encoded().defines(self.id, field)?
                        || self.is_empty_there(position)?) =>
            {
                Ok(())
            }
            moved => Ok(moved?),
        }
    }

    /// Changes a field. The object moves first if its own schema lacks this definition of the
    /// field, or refuses the change.
    pub(crate) fn change<R>(
        &self,
        position: usize,
        mut change: impl FnMut() -> object::Result<R>,
    ) -> Result<R> {
        let core = &self.tx.core;
        let field = self.binding.field(position)?;
        let changed = if core.encoded().defines(self.id, field)? {
            change()
        } else {
            // If the change fails, the object does not move.
            core.mutate(|| {
                core.require_current(self.id)?;
                change()
            })
        };
        match changed {
            Err(error) => self.after_moving(error, change),
            changed => Ok(changed?),
        }
    }

    /// Tries a change again that failed in the object's own schema, after the object has moved to
    /// that of the transaction: it may allow other references there, or have no index.
    fn after_moving<R>(
        &self,
        error: object::Error,
        mut change: impl FnMut() -> object::Result<R>,
    ) -> Result<R> {
        if !self.may_depend_on_schema(&error)? {
            return Err(error.into());
        }
        let core = &self.tx.core;
        let moved = core.mutate(|| {
            core.require_current(self.id)?;
            change()
        });
        match moved {
            // Most programs do not allow such references, so this error says what is wrong.
            Err(object::Error::MoveRefused(_) | object::Error::KeyTooLong { .. })
                if matches!(error, object::Error::DeletedObject { .. }) =>
            {
                Err(error.into())
            }
            moved => Ok(moved?),
        }
    }

    /// Whether a change that failed in the object's own schema may succeed in that of the
    /// transaction.
    pub(super) fn may_depend_on_schema(&self, error: &object::Error) -> Result<bool> {
        let may_depend = match error {
            object::Error::InvalidValue { .. } | object::Error::KeyTooLong { .. } => true,
            // A reference to an object that does not exist may be allowed there.
            object::Error::DeletedObject { id, .. } => *id != self.id,
            _ => false,
        };
        Ok(may_depend && !self.tx.core.is_current(self.id)?)
    }

    /// The content of the object as the model sees it, and the schema in which the object is.
    pub(super) fn content(&self) -> Result<(ObjectData, SchemaId)> {
        let (core, current) = (&self.tx.core, &self.binding.object_type);
        if self.access() == Migrate::No {
            let data = core.load(self.id, Migrate::No)?;
            if data.object_type().schema == current.schema {
                return Ok((data, current.schema_of));
            }
            let plan = self.binding.plan(data.object_type());
            if self.binding.fits_in_place(&plan) {
                return Ok((self.binding.seen(&data, &plan)?, data.object_type().schema_of));
            }
        }
        let moved = self.or_unmovable(core.load(self.id, Migrate::Yes), Ok)?;
        Ok((moved, current.schema_of))
    }

    pub(crate) fn undecodable(&self, field: &ResolvedField, source: EncodingError) -> Error {
        let schema = self.tx.core.object_schema(self.id).map(|schema| schema.id);
        self.binding.undecodable(self.id, schema.ok(), field, source)
    }

    /// Writes all fields but counters.
    fn store<M: Model>(&self, value: &M) -> Result<()> {
        self.store_content(&ObjectWriter::content(self.binding, value)?)
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
/// A handle holds no data. It is a transaction and an ID, and each access reads or writes the
/// store. It can be copied, compared and kept while the transaction is borrowed. The object need
/// not exist; access to its fields then fails.
///
/// The accessors of the model's fields are methods of the handle: `person.name()?`,
/// `person.set_name("Ann")?`. If a field has the name of one of the methods below, use
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

    /// The object ID.
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

    /// The generated accessors, for fields that have the name of a method of `Obj`.
    pub fn fields(&self) -> M::Fields<'t> {
        self.fields
    }

    /// The same object, for access by name.
    pub fn any(&self) -> AnyObj<'t> {
        AnyObj::new(self.tx(), self.id())
    }

    /// Whether the object exists. Cost: one get, or none if the object is known in this
    /// transaction.
    pub fn exists(&self) -> Result<bool> {
        Ok(self.tx().core.exists(self.id())?)
    }

    /// Deletes the object. The fields that refer to it say what happens to these references.
    /// Returns false if the object does not exist. For the cost see
    /// [`delete`](crate::object::Transaction::delete) of the object layer.
    ///
    /// # Errors
    /// [`ReferencedObject`](crate::object::Error::ReferencedObject) if a reference to it forbids
    /// the deletion. Nothing has then changed.
    pub fn delete(&self) -> Result<bool> {
        Ok(self.tx().core.delete(self.id())?)
    }

    /// Creates the object anew with default values. Returns false if it exists. Costs the same as
    /// [`Tx::create_default`].
    pub fn recreate(&self) -> Result<bool> {
        let (core, id) = (&self.tx().core, self.id());
        match self.handle().binding.defaults()? {
            None => Ok(core.create_with_id(id)?),
            Some(data) => Ok(core.create_with(Some(id), &data)?.is_some()),
        }
    }

    /// Moves the object to the schema of the transaction. Returns true if it was in another schema.
    ///
    /// Objects move by themselves when they must: when a field is read or set that their schema
    /// defines differently, and when a field is set that their schema lacks. Everything else works
    /// where the object is (docs/src/evolution.md). [`Evolution::AsJava`](super::Evolution::AsJava)
    /// moves an object at each access to a field.
    ///
    /// Cost: nothing if the object is in this schema and known in the transaction; otherwise one
    /// seek, a scan of the object's pairs, and one put or delete for each pair that differs.
    ///
    /// # Errors
    /// If the object does not exist. [`Error::Refused`] if values would be lost, and
    /// [`Error::Upgrade`] if an own conversion fails; the object then stays in its schema.
    pub fn migrate(&self) -> Result<bool> {
        Ok(self.tx().core.migrate(self.id())?)
    }

    /// The ID of the object's schema.
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn schema_id(&self) -> Result<SchemaId> {
        self.any().schema_id()
    }

    /// Reads all fields. Cost: one seek and a scan of the object's pairs.
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
        let (data, schema) = handle.content()?;
        M::read(&mut ObjectReader::new(handle.binding, handle.id, schema, &data))
    }

    /// Writes all fields but counters as one operation. Pairs that do not change are not written.
    /// What another transaction has written to the other fields since `value` was loaded is replaced;
    /// [`load_versioned`](Obj::load_versioned) notices that. Counters keep their numbers: others may
    /// have added to them. Set them with their own methods.
    ///
    /// Listeners run when everything is written, so they see all of the new content. A listener may
    /// change the object; its changes stay. The old and new values that later listeners receive are
    /// still those of this operation.
    ///
    /// Cost: one seek and a scan of the object's pairs; one put or delete for each pair that
    /// differs, index entries included; one get for each new reference to an object that is not
    /// known in the transaction.
    ///
    /// # Errors
    /// If the object does not exist, a field cannot hold its value, a new reference is to an object
    /// that does not exist, or a listener to schema changes fails. Nothing has then changed. If
    /// another listener fails, its error is returned, but everything is stored.
    pub fn store(&self, value: &M) -> Result<()> {
        self.handle().store(value)
    }

    /// Reads a simple field. Cost: one get.
    ///
    /// # Errors
    /// If the object does not exist, or the stored value does not fit `V`.
    pub fn get<V: FieldType, I>(&self, field: Field<M, V, I>) -> Result<V> {
        self.handle().get(field.position)
    }

    /// Sets a simple field. Cost: one put without an index; otherwise see
    /// [`set`](crate::object::Transaction::set) of the object layer.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold the value.
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
