//! An object in a transaction. It is a transaction and an ID, and can be copied freely.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use super::any_obj::AnyObj;
use super::binding::Binding;
use super::collection::{ListOf, MapOf, SetOf};
use super::counter::CounterOf;
use super::error::Result;
use super::fields::{CounterField, Field, ListField, MapField, SetField};
use super::handle::{Accessors, Handle};
use super::load::{ObjectReader, ObjectWriter};
use super::object_type::Model;
use super::reference::Ref;
use super::tx::Tx;
use super::values::EncodeAs;
use crate::encoding::FieldType;
use crate::id::ObjId;
use crate::schema::SchemaId;

/// An object of model `M` in a transaction.
///
/// A handle holds no data. It is a transaction and an ID, and each access reads or writes the
/// store. It can be copied, compared and kept while the transaction is borrowed. The object need
/// not exist; access to its fields then fails.
///
/// The accessors of the model's fields are methods of the handle: `person.name()?`,
/// `person.set_name("Ann")?`. A field cannot have accessors with the name of one of the methods
/// below: the derive refuses it, and says how to name them (`#[permazen(accessor = "…")]`).
pub struct Obj<'t, M: Model> {
    fields: M::Fields<'t>,
    /// The last field says whether a struct has a size. So the compiler need not look at the
    /// accessors for it, and says nothing more if a model has none, because it flattens a type that
    /// is no mix-in.
    _sized: (),
}

impl<'t, M: Model> Obj<'t, M> {
    pub(crate) fn new(tx: &'t Tx, binding: &'t Binding, id: ObjId) -> Self {
        Obj { fields: M::Fields::bind(Handle { tx, binding, id }), _sized: () }
    }

    /// The object with this ID, if it is of the model.
    ///
    /// # Errors
    /// If the model is not registered.
    pub(crate) fn of(tx: &'t Tx, id: ObjId) -> Result<Option<Self>> {
        let binding = tx.binding::<M>()?;
        Ok((id.storage_id() == binding.storage_id()).then(|| Obj::new(tx, binding, id)))
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

    /// The generated accessors.
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
            Some((data, stated)) => Ok(core.create_and_set(Some(id), &data, &stated)?.is_some()),
        }
    }

    /// Moves the object to the schema of the transaction. Returns true if it was in another schema.
    ///
    /// Objects move by themselves when they must: when a field is read or set that their schema
    /// defines differently, and when a field is set that their schema lacks. Everything else works
    /// where the object is (docs/src/evolution.md). [`Evolution::AsJava`](super::Evolution::AsJava)
    /// moves an object at each access to a field.
    ///
    /// This move alone is no change for the rules (docs/src/rules.md): an object that could not
    /// move would be missing in the indexes of the new schema, and while an index lacks entries, no
    /// object can get another value in a unique field.
    /// [`Permazen::check_rules`](super::Permazen::check_rules) finds objects that break a rule
    /// afterwards; [`Obj::revalidate`] has the transaction check this object.
    ///
    /// Cost: nothing if the object is in this schema and known in the transaction; otherwise one
    /// seek, a scan of the object's pairs, and one put or delete for each pair that differs.
    ///
    /// # Errors
    /// If the object does not exist. [`Error::Refused`](super::Error::Refused) if values would be
    /// lost, and [`Error::Upgrade`](super::Error::Upgrade) if an own conversion fails; the object
    /// then stays in its schema.
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

    /// Reads all fields. Cost: a scan of the object's pairs.
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
        M::read(&mut ObjectReader::new(&handle.binding.fields, handle.id, schema, &data))
    }

    /// Writes all fields but counters as one operation. Pairs that do not change are not written.
    /// Values that another transaction has written to the other fields since `value` was loaded are
    /// replaced; [`load_versioned`](Obj::load_versioned) notices that. Counters keep their numbers:
    /// others may have added to them. Set them with their own methods.
    ///
    /// An object of another schema is changed where it is, if the fields that differ have the same
    /// definition there; otherwise it moves. A field that its schema lacks reads as its default, so
    /// storing the default does not move it.
    ///
    /// Listeners run when everything is written, so they see all of the new content. A listener may
    /// change the object; its changes stay. The old and new values that later listeners receive are
    /// still those of this operation.
    ///
    /// Cost: a scan of the object's pairs; one put or delete for each pair that
    /// differs, index entries included; one get for each new reference to an object that is not
    /// known in the transaction.
    ///
    /// # Errors
    /// If the object does not exist, a field cannot hold its value, a new reference is to an object
    /// that does not exist, or a listener to schema changes fails. Nothing has then changed. If
    /// another listener fails, its error is returned, but everything is stored.
    pub fn store(&self, value: &M) -> Result<()> {
        let handle = self.handle();
        handle.store_content(&ObjectWriter::content(&handle.binding.fields, value)?)
    }

    /// Has all rules checked for this object, as if it were new: when the transaction commits, or
    /// at the next [`Tx::validate`]. Use it for rules that depend on other objects than those that
    /// have changed. Does nothing if rules are [never](super::Validation::Off) checked.
    ///
    /// Cost: as much as [`exists`](Obj::exists).
    ///
    /// # Errors
    /// If the object does not exist.
    pub fn revalidate(&self) -> Result<()> {
        self.any().revalidate()
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

impl<M: Model> From<Obj<'_, M>> for ObjId {
    fn from(object: Obj<'_, M>) -> ObjId {
        object.id()
    }
}

impl<'t> AnyObj<'t> {
    /// The object as an object of model `M`, if it has that type.
    pub fn downcast<M: Model>(&self) -> Option<Obj<'t, M>> {
        Obj::of(self.tx(), self.id()).ok().flatten()
    }
}
