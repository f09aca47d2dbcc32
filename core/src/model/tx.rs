//! Transactions of the typed layer.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use ref_cast::{RefCastCustom, ref_cast_custom};

use super::any_obj::AnyObj;
use super::binding::{Binding, Bindings, Models};
use super::error::{Error, Result};
use super::hook;
use super::index::{IndexOn, KnownViews, SeenObjects};
use super::load::ObjectWriter;
use super::obj::Obj;
use super::objects::{AHEAD, Objs};
use super::rules::{self, CommitError, RuleOptions, Validation};
use super::target::{Any, Handles, Model, PlainData, Ref, Target};
use super::values::EncodeAs;
use crate::encoding::EncodingError;
use crate::id::ObjId;
use crate::object::{self, IndexView, WatchedFields};
use crate::schema::{Schema, SchemaBundle};

/// An open transaction, as handles, queries and hooks see it. Objects are reached through it.
///
/// Every operation takes `&self`. A transaction can be sent to another thread, but not shared
/// between threads.
///
/// It is the transaction of the object layer, seen with the models.
#[derive(RefCastCustom)]
#[repr(transparent)]
pub struct Tx {
    pub(crate) core: object::Transaction,
}

/// What the typed layer keeps with a transaction of the object layer, beside the models.
#[derive(Default)]
struct State {
    seen_objects: RefCell<SeenObjects>,
    known_views: KnownViews,
    /// How rules are checked, if not as in other transactions.
    validation: Cell<Option<Validation>>,
}

impl fmt::Debug for Tx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tx").field(&self.core).finish()
    }
}

impl Tx {
    pub(super) fn new(core: object::Transaction, bindings: Arc<Bindings>) -> Self {
        Tx::attach(&core, bindings);
        Tx { core }
    }

    /// Lets a transaction of the object layer be seen with these models.
    pub(super) fn attach(core: &object::Transaction, bindings: Arc<Bindings>) {
        core.dirty_set.watch(bindings.watched());
        note_for(core, bindings.rule_options().validation);
        core.attach(
            bindings,
            |core, hook, event| hook::call(Tx::of(core), hook, event),
            |core| check_rules(Tx::of(core)),
            |core, bundle| watched_with(Tx::of(core), bundle),
            |core| Some(Arc::clone(Tx::of(core).bindings().ok()?.models()) as _),
        );
    }

    /// A transaction of the object layer, seen with the models that are attached to it.
    #[ref_cast_custom]
    pub(super) fn of<'t>(core: &'t object::Transaction) -> &'t Tx;

    fn state(&self) -> Result<&State> {
        self.core.kept().ok_or_else(without_models)
    }

    /// The transaction of the object layer, for access by name, storage ID and encoded value.
    pub fn core(&self) -> &object::Transaction {
        &self.core
    }

    /// The schema of the transaction.
    pub fn schema(&self) -> Arc<Schema> {
        self.core.schema()
    }

    pub(crate) fn models(&self) -> Result<&Models> {
        Ok(self.bindings()?.models())
    }

    pub(crate) fn bindings(&self) -> Result<&Bindings> {
        self.core.attached().ok_or_else(without_models)
    }

    pub(super) fn shared_bindings(&self) -> Result<Arc<Bindings>> {
        self.core.share_attached().ok_or_else(without_models)
    }

    pub(super) fn seen_objects(&self) -> Result<&RefCell<SeenObjects>> {
        Ok(&self.state()?.seen_objects)
    }

    pub(super) fn known_views(&self) -> Result<&KnownViews> {
        Ok(&self.state()?.known_views)
    }

    pub(crate) fn rule_options(&self) -> Result<RuleOptions> {
        let mut rules = self.bindings()?.rule_options();
        let changed = self.core.kept_so_far().and_then(|state: &State| state.validation.get());
        rules.validation = changed.unwrap_or(rules.validation);
        Ok(rules)
    }

    /// The models whose objects a reference to `T` can refer to.
    pub(crate) fn bindings_of<T: Target>(&self) -> Result<Vec<&Binding>> {
        self.models()?.of_target::<T>()
    }

    pub(crate) fn binding<M: Model>(&self) -> Result<&Binding> {
        self.models()?.of::<M>()
    }

    // ------------------------------------------------------------------ objects

    /// Creates an object with these values and a new ID. The value is a struct or a reference to
    /// one, so that a closure which runs again can create the object again.
    ///
    /// Cost: one get for each reference that may not dangle, one put for each stored pair, index
    /// entries included.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::Encode`] if a field cannot hold its value;
    /// [`Error::Object`] if a reference is to an object that does not exist, or if a hook deletes the
    /// object while it is created. Nothing is created in these cases. If a listener fails, its error is returned, but the object exists.
    pub fn create<M: Model>(&self, value: impl PlainData<M>) -> Result<Obj<'_, M>> {
        let binding = self.binding::<M>()?;
        let value = value.plain();
        let id = self.create_of(binding, &mut |content| value.write(content))?;
        Ok(Obj::new(self, binding, id))
    }

    /// Creates objects with these values and new IDs, all or none, and returns them in the order of
    /// the values. It does what [`create`](Tx::create) does for one after the other, and is faster for
    /// many. For more objects than fit into memory, call it several times; for a new database, see
    /// [`Permazen::loader`](super::Permazen::loader).
    ///
    /// ```
    /// # use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject)]
    /// # struct Person { name: String }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// db.write(|tx| {
    ///     let people = tx.create_many(["Ann", "Bob"].map(|name| Person { name: name.into() }))?;
    ///     assert_eq!(people[1].name()?, "Bob");
    ///     Ok(())
    /// })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// Cost: one get for each reference that may not dangle, one put for each stored pair, index
    /// entries included. All values are read before the first object is created, and are in memory
    /// in their encoded form until the last one is.
    ///
    /// # Errors
    /// The errors of [`create`](Tx::create), of the first value that has one. Nothing is created
    /// then, not even after the error of a listener. The objects are created together: the call also
    /// fails if a hook for one of them deletes another one, and with
    /// [`Validation::Early`](super::Validation::Early), rules are checked after the last one.
    pub fn create_many<M: Model, V: PlainData<M>>(
        &self,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Vec<Obj<'_, M>>> {
        let binding = self.binding::<M>()?;
        let mut objects = Vec::new();
        for value in values {
            match ObjectWriter::content(binding, value.plain()) {
                Ok(object) => objects.push(object),
                // If one before it has an error too, that is the first.
                Err(error) => {
                    return self.core.as_a_whole(|| {
                        self.core.create_many(&objects)?;
                        Err(error)
                    });
                }
            }
        }
        let ids = self.core.create_many(&objects)?;
        Ok(ids.into_iter().map(|id| Obj::new(self, binding, id)).collect())
    }

    /// The same without types, so that the compiler makes it once for all models.
    fn create_of(
        &self,
        binding: &Binding,
        write: &mut dyn FnMut(&mut ObjectWriter<'_>) -> Result<()>,
    ) -> Result<ObjId> {
        let data = ObjectWriter::content_of(binding, write)?;
        let created = self.core.create_with(None, &data)?;
        created.ok_or_else(|| Error::other("a new object was not created"))
    }

    /// Creates an object with these values and this ID, for example one that was exported. Returns
    /// `None`, and does nothing, if an object has the ID. Costs the same as [`create`](Tx::create), and one get.
    ///
    /// ```
    /// # use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject)]
    /// # struct Person { name: String }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// # db.write(|tx| {
    /// let ann = tx.create(Person { name: "Ann".into() })?;
    /// let (id, plain) = (ann.id(), ann.load()?);
    /// assert!(tx.create_with_id(id, &plain)?.is_none());
    /// ann.delete()?;
    /// let again = tx.create_with_id(id, &plain)?;
    /// assert_eq!(again, Some(ann));
    /// # Ok(()) })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`create`](Tx::create); [`Error::WrongType`] if the ID belongs to another type.
    pub fn create_with_id<M: Model>(
        &self,
        id: impl Into<Ref<M>>,
        value: impl PlainData<M>,
    ) -> Result<Option<Obj<'_, M>>> {
        let object = self.get(id)?;
        let data = ObjectWriter::content(self.binding::<M>()?, value.plain())?;
        let created = self.core.create_with(Some(object.id()), &data)?;
        Ok(created.map(|_| object))
    }

    /// Creates an object with default values and a new ID: those the model states (`default = …`),
    /// else those of the encodings. A `String` without a default is then null, and reading it fails
    /// until it is set. Hooks for creations are called before the stated values are set, and what they
    /// write to other fields stays. If all values are known, [`create`](Tx::create) is cheaper.
    ///
    /// Cost: two puts; one put for each counter, each indexed simple field and each
    /// composite index.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::Object`] if a hook deletes the object while it is created.
    pub fn create_default<M: Model>(&self) -> Result<Obj<'_, M>> {
        let binding = self.binding::<M>()?;
        let id = match binding.defaults()? {
            None => self.core.create(&binding.object_type.name)?,
            Some((data, stated)) => {
                let created = self.core.create_and_set(None, &data, &stated)?;
                created.ok_or_else(|| Error::other("a new object was not created"))?
            }
        };
        Ok(Obj::new(self, binding, id))
    }

    /// A handle on the object that a reference, an ID or a handle of another transaction names: an
    /// [`Obj`] for a model, the enum for a kind. The object need not exist. Reads nothing.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::WrongType`] if the ID belongs to another type.
    pub fn get<T: Target>(&self, object: impl Into<Ref<T>>) -> Result<T::Live<'_>> {
        T::live(Handles::one(self), object.into().id())
    }

    /// Reads all fields of these objects, in their order; one that comes twice is there twice.
    ///
    /// Cost: that of [`load`](Obj::load) for each. A store on a server is asked once for each 64 of them, where to load
    /// them one by one takes a round trip for each.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject, Debug, PartialEq)]
    /// # struct Person { name: String }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// # db.write(|tx| {
    /// let ann = tx.create(Person { name: "Ann".into() })?.to_ref();
    /// let bob = tx.create(Person { name: "Bob".into() })?.to_ref();
    /// let people: Vec<Person> = tx.load_all([bob, ann])?;
    /// assert_eq!(people[0].name, "Bob");
    /// # Ok(()) })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of [`load`](Obj::load) for the first object for which it fails, such as one that does not exist;
    /// [`Error::NotRegistered`]; [`Error::WrongType`] if an ID belongs to another type.
    pub fn load_all<M: Model>(
        &self,
        objects: impl IntoIterator<Item = impl Into<Ref<M>>>,
    ) -> Result<Vec<M>> {
        let ids: Vec<ObjId> = objects.into_iter().map(|object| object.into().id()).collect();
        let mut loaded = Vec::with_capacity(ids.len());
        for some in ids.chunks(AHEAD) {
            self.core.prefetch_objects(some);
            for id in some {
                loaded.push(self.get::<M>(*id)?.load()?);
            }
        }
        Ok(loaded)
    }

    /// Asks a store on a server for these objects, of any types, before they are used one by one: once for each 64,
    /// where their first uses take a round trip each. Objects that do not exist are passed over. An object that is
    /// damaged makes its use fail, not this. A transaction keeps about 32 MiB of what it has read.
    ///
    /// Cost: nothing on other stores. Where transactions are checked for conflicts by what they have read, as
    /// on etcd, these objects count as read.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, Ref, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject)]
    /// # struct Order { lines: Vec<Ref<Line>> }
    /// # #[derive(PermazenObject)]
    /// # struct Line { count: i32 }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Order>().model::<Line>().build()?;
    /// # db.write(|tx| {
    /// # let line = tx.create(Line { count: 2 })?.to_ref();
    /// # let order = tx.create(Order { lines: vec![line] })?.to_ref();
    /// let lines = tx.get(order)?.load()?.lines;
    /// tx.prefetch(&lines)?;
    /// let mut count = 0;
    /// for line in lines {
    ///     count += tx.get(line)?.count()?;
    /// }
    /// # assert_eq!(count, 2);
    /// # Ok(()) })
    /// # ; Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of the store.
    pub fn prefetch(&self, objects: impl IntoIterator<Item = impl Into<ObjId>>) -> Result<()> {
        if !self.core.prefetches() {
            return Ok(());
        }
        let ids: Vec<ObjId> = objects.into_iter().map(Into::into).collect();
        for some in ids.chunks(AHEAD) {
            self.core.fetch_objects(some)?;
        }
        Ok(())
    }

    /// A handle on any object. Reads nothing.
    pub fn any(&self, id: impl Into<ObjId>) -> AnyObj<'_> {
        AnyObj::new(self, id.into())
    }

    /// All objects of a model or kind by ascending ID, in whichever schema they are stored. Reads nothing.
    ///
    /// Cost of reading the set: one seek, then one step per pair of the objects. Objects with many
    /// pairs cost a seek each instead.
    ///
    /// # Errors
    /// [`Error::NotRegistered`].
    pub fn all<T: Target>(&self) -> Result<Objs<'_, T>> {
        if T::TYPES.is_none() {
            return Ok(Objs::new(self, self.core.all_objects()?));
        }
        let of_types = self.bindings_of::<T>()?.into_iter().map(Binding::storage_id);
        Ok(Objs::new(self, self.core.objects_of(of_types)?))
    }

    /// All objects in the database, also those of types that are not registered. Costs the same as
    /// [`all`](Tx::all).
    pub fn everything(&self) -> Result<Objs<'_, Any>> {
        Ok(Objs::new(self, self.core.all_objects()?))
    }

    /// All objects of types that are not registered. Costs the same as
    /// [`everything`](Tx::everything).
    pub fn untyped(&self) -> Result<Objs<'_, Any>> {
        let known = self.core.objects_of(self.bindings()?.storage_ids())?;
        Ok(Objs::new(self, self.core.all_objects()?.difference(&known)))
    }

    // ------------------------------------------------------------------ queries

    /// The index of a field, collection or composite index: `tx.index(Person::NAME)?`.
    ///
    /// Asking for an index that does not exist does not compile.
    ///
    /// Objects that are in another recorded schema have the index entries of that schema. If it has
    /// the same index, or one whose entries mean the same, they are found. Entries mean the same, for
    /// example, if only constants were added at the end of an enum, or if the field has another name
    /// now (`was`). Otherwise the index is incomplete, and the query is refused, unless it says what to
    /// do with the missing objects:
    /// [`Person::NAME.allow_partial()`](super::Field::allow_partial) or
    /// [`Person::NAME.complete_by_scan()`](super::Field::complete_by_scan). Whether the index is
    /// complete is found out when it is opened here.
    ///
    /// Cost: nothing if all recorded schemas with that type have the index. Otherwise one seek for
    /// each schema without it, once in a transaction; if objects would be missing, again after each
    /// write. A query that is refused counts the missing objects, up to 1,000, and tries whether the
    /// first one can move.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::PartialIndex`] if objects are in schemas without this
    /// index.
    pub fn index<I: IndexOn>(&self, on: I) -> Result<I::View<'_>> {
        on.open(self)
    }

    /// The index of a field or composite index by name, with dynamic values: exactly its entries,
    /// even if objects of other schemas have none in it. Reads nothing. See
    /// [`index_by_name`](object::Transaction::index_by_name) of the object layer.
    ///
    /// # Errors
    /// If there is no such index.
    pub fn index_by_name(&self, type_name: &str, name: &str) -> Result<IndexView<'_>> {
        Ok(self.core.index_by_name(type_name, name)?)
    }

    // ------------------------------------------------------------------ rules

    /// Sets when the rules of the models are checked in this transaction.
    /// [`Builder::validation`](super::Builder::validation) sets it for all.
    ///
    /// Changes that are made while rules are checked [manually](Validation::Manual) or
    /// [never](Validation::Off) are not checked later either.
    ///
    /// # Errors
    /// If the transaction has no models.
    pub fn set_validation(&self, validation: Validation) -> Result<()> {
        self.state()?.validation.set(Some(validation));
        note_for(&self.core, validation);
        Ok(())
    }

    /// Checks the rules of the models at once for all objects that have changed in this
    /// transaction, as the commit does. Objects that break a rule are checked again later, others
    /// only if they change again.
    ///
    /// Cost for each object: for each changed unique field, one get, one seek and one step (more if
    /// other objects have the value); for a new singleton, one seek and a step for each of its
    /// pairs; for own validation, a scan of the object's pairs. If objects in other recorded
    /// schemas may lack entries in the index of a unique field, a seek more for each such schema.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all objects that break rules.
    pub fn validate(&self) -> Result<()> {
        Ok(self.core.check_rules()?)
    }

    // ------------------------------------------------------------------ buffers

    /// Lends `body` the encoded form of a value, or the reason why it cannot be encoded.
    pub(crate) fn with_encoded<V, R>(
        &self,
        value: &impl EncodeAs<V>,
        body: impl FnOnce(Result<(), EncodingError>, &[u8]) -> R,
    ) -> R {
        let mut bytes = self.core.buffer();
        let result = value.encode_as(&mut bytes);
        body(result, &bytes)
    }
}

#[cold]
fn without_models() -> Error {
    Error::other("the transaction has no models")
}

/// Lets the object layer note what the rules need to know.
fn note_for(core: &object::Transaction, validation: Validation) {
    let paused = matches!(validation, Validation::Manual | Validation::Off);
    core.dirty_set.set(paused, validation == Validation::Early);
}

/// Checks the rules of the models.
fn check_rules(tx: &Tx) -> object::Result<()> {
    let checked = match tx.rule_options() {
        Ok(rules) if rules.validation == Validation::Off => Ok(()),
        _ => rules::check(tx),
    };
    checked.map_err(in_object_layer)
}

/// What must be noted for the rules of the models, with these recorded schemas.
fn watched_with(tx: &Tx, bundle: &SchemaBundle) -> object::Result<WatchedFields> {
    tx.bindings().and_then(|bindings| bindings.watched_with(bundle)).map_err(in_object_layer)
}

/// An error of the rules that passes through the object layer.
fn in_object_layer(error: Error) -> object::Error {
    match error {
        Error::Object(error) => error,
        error @ Error::Hook { .. } => object::Error::Hook(Box::new(error)),
        error => object::Error::RulesBroken(Box::new(error)),
    }
}

/// A transaction that can be committed. Dropping it rolls it back.
///
/// It keeps the database open and borrows nothing. Handles borrow it, so no handle outlives it.
#[derive(Debug)]
#[must_use = "dropping a transaction rolls it back"]
pub struct Transaction {
    tx: Tx,
}

impl Transaction {
    /// A transaction of the object layer to which models are attached.
    pub(super) fn new(core: object::Transaction) -> Self {
        Transaction { tx: Tx { core } }
    }

    /// Makes the changes durable and visible to others.
    ///
    /// # Errors
    /// [`Error::Invalid`] if objects break rules of their models; the error then gives the
    /// transaction back, still open. Changes that `before_commit` callbacks and the check have made
    /// stay in it. If the store or a `before_commit` callback fails, everything is rolled back,
    /// except that after `OutcomeUnknown` the commit may have taken place. If an `after_commit`
    /// callback fails, the data is committed. Some failures of the store are
    /// [retryable](Error::is_retryable).
    pub fn commit(self) -> Result<(), CommitError> {
        self.tx.core.commit_or_return().map_err(|refused| {
            let transaction =
                refused.transaction.map(|core| Transaction { tx: Tx { core: *core } });
            CommitError::new(refused.error.into(), transaction)
        })
    }

    /// Discards the changes.
    pub fn rollback(self) -> Result<()> {
        Ok(self.tx.core.rollback()?)
    }
}

impl Deref for Transaction {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}
