//! Creating objects (docs/src/objects.md#creating-reading-changing).

use std::sync::Arc;

use super::builder::ObjectBuilder;
use super::data::ObjectData;
use super::generate_id::NewId;
use super::replace::CollectionChanges;
use crate::encoding::uint;
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::describe::{describe, describe_entry, describe_stored};
use crate::object::error::hex;
use crate::object::info::ObjectInfo;
use crate::object::notify::{ChangeKind, Happened};
use crate::object::store::Undo;
use crate::object::{Error, Migrate, Result, Transaction};
use crate::schema::{ResolvedKind, ResolvedType, Schema, SchemaId};

/// Creating objects.
impl Transaction {
    /// Creates an object of the transaction's schema with a random ID and default values.
    ///
    /// Cost: two puts; one put for each counter, each indexed simple field and each
    /// composite index.
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::NoFreeId`]; [`Error::UnknownEncoding`] if an indexed field
    /// has a default value that is not known. An error of a create listener: then the object
    /// exists.
    pub fn create(&self, type_name: &str) -> Result<ObjId> {
        self.create_in(type_name, &self.schema())
    }

    /// Creates an object with all its values. The ID is random if none is given. Returns `None`,
    /// and does nothing, if an object already has the ID.
    ///
    /// The object gets the schema of the type in `data`. This database must have recorded that
    /// schema; the data may come from another database. Listeners are called as if the object had
    /// been created with default values and then all other values had been set. Listeners to
    /// creation see default values, and their writes are replaced.
    ///
    /// Cost: one get for a given ID, one get for each reference that may not dangle, and one put
    /// for each stored pair, including index entries.
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::InvalidArgument`] if the ID is of another type or not [in
    /// its shortest form](ObjId::is_shortest); [`Error::DeletedObject`] and [`Error::InvalidValue`]
    /// for references that are not allowed; [`Error::KeyTooLong`]. Errors of listeners: then the
    /// object exists.
    pub fn create_with(&self, id: Option<ObjId>, data: &ObjectData) -> Result<Option<ObjId>> {
        self.create_keeping(id, data, None)
    }

    /// The same, but with default values, of which these fields are then set to their values in
    /// `data`. Values that creation listeners write to other fields stay.
    pub(crate) fn create_and_set(
        &self,
        id: Option<ObjId>,
        data: &ObjectData,
        set: &[StorageId],
    ) -> Result<Option<ObjId>> {
        self.create_keeping(id, data, Some(set))
    }

    fn create_keeping(
        &self,
        id: Option<ObjId>,
        data: &ObjectData,
        set: Option<&[StorageId]>,
    ) -> Result<Option<ObjId>> {
        self.check_open()?;
        data.check_lists()?;
        let data = &*self.as_recorded(data)?;
        let object_type = Arc::clone(data.object_type());
        let id = match id {
            // The put finds out whether a drawn ID is free. A look before it would cost a get.
            None => NewId::Drawn(self.shared.random_id(object_type.storage_id)?),
            Some(id) => {
                self.check_id_of(id, &object_type)?;
                // An operation always tracks its reads, and what is written depends on this one.
                if self.operation(|| self.exists(id))? {
                    return Ok(None);
                }
                NewId::Absent(id)
            }
        };
        let create = || {
            self.mutate(|| {
                self.put_new_keeping(id, data, CollectionChanges::Differences, set)
                    .map_err(|error| error.about(|| format!("new {}", self.named(id.get()))))
            })?
        };
        self.creating(create, |id| Some(*id)).map(Some)
    }

    /// The schema with that ID: a recorded one, or the transaction's own, which may be the empty
    /// one.
    fn recorded_schema(&self, id: SchemaId) -> Result<Arc<Schema>> {
        let own = self.schema();
        if own.id == id {
            return Ok(own);
        }
        self.bundle()
            .schema_by_id(id)
            // The empty schema is not recorded. It counts only as that of the transaction.
            .filter(|schema| !schema.index.is_empty_schema())
            .map(Arc::clone)
            .ok_or_else(|| Error::invalid_argument(format!("schema {id} is not recorded")))
    }

    /// Writes an object with default values, and calls the listeners to creation.
    fn create_default(&self, id: NewId, object_type: &Arc<ResolvedType>) -> Result<ObjId> {
        let data = ObjectBuilder::new(Arc::clone(object_type)).finish();
        let create = || {
            self.operation_told(
                || {
                    let put = self.put_object(id, &data);
                    put.map_err(|error| error.about(|| format!("new {}", self.named(id.get()))))
                },
                |id| self.tell_created(*id),
            )
        };
        self.creating(create, |id| Some(*id))
    }

    /// Writes an object, and queues the changes for listeners. The object must not exist. Call it
    /// inside [`Transaction::mutate`].
    ///
    /// If there are listeners to the creation, the object is created with default values and they
    /// are called. Then the object gets its content, whatever they wrote. The error of a listener
    /// is returned in the inner result; then the object exists. The error of a hook is returned in
    /// the outer one.
    pub(in crate::object) fn put_new(
        &self,
        id: ObjId,
        data: &ObjectData,
        changes: CollectionChanges,
    ) -> Result<Result<()>> {
        Ok(self.put_new_keeping(NewId::Absent(id), data, changes, None)?.map(drop))
    }

    /// The same; but of the content, only these fields replace the values that listeners wrote, if
    /// any are named.
    fn put_new_keeping(
        &self,
        id: NewId,
        data: &ObjectData,
        changes: CollectionChanges,
        set: Option<&[StorageId]>,
    ) -> Result<Result<ObjId>> {
        // All references are checked before the first write, so that a refusal leaves nothing.
        self.check_references(id.get(), data)?;
        let object_type = data.object_type();
        if !self.notifier.watches_creation(object_type.storage_id) {
            let id = self.put_object(id, data)?;
            if self.watches_content(object_type) {
                self.queue_content(id, data)?;
            }
            return Ok(Ok(id));
        }
        // A key that is too long must refuse the creation before listeners are told of it.
        self.check_keys(id.get(), data)?;
        // Listeners to creation see an object with default values, as in Java.
        let id = self.put_object(id, &ObjectBuilder::new(Arc::clone(object_type)).finish())?;
        let heard = match self.tell_created(id) {
            // The object is not created.
            Err(error @ Error::Hook(_)) => return Err(error),
            heard => heard,
        };
        let kept = match set {
            Some(set) => Some(self.load(id, Migrate::No)?.with(data, |field| set.contains(&field))),
            None => None,
        };
        // The listeners may have deleted objects to which the content refers.
        let data = &*self.after_listeners(id, kept.as_ref().unwrap_or(data))?;
        self.replace_content(id, data, changes)?;
        Ok(heard.map(|()| id))
    }

    /// Whether listeners watch any field of objects of this type.
    pub(in crate::object) fn watches_content(&self, object_type: &ResolvedType) -> bool {
        self.notifier.watches_any_field(object_type)
    }

    /// Refuses content with keys or index entries that the store cannot hold.
    pub(super) fn check_keys(&self, id: ObjId, data: &ObjectData) -> Result<()> {
        let object_type = data.object_type();
        data.each_entry(id, |key| {
            let checked = self.store.check_key(key);
            checked.map_err(|error| error.about(|| describe_entry(id, object_type, key)))
        })?;
        self.check_content_keys(id, data)
    }

    /// Puts all pairs of an object, and returns its ID.
    fn put_object(&self, new: NewId, data: &ObjectData) -> Result<ObjId> {
        let id = new.get();
        // An object with such an ID would not be found with those of its type, whose keys are
        // elsewhere.
        if !id.is_shortest() {
            let storage_id = id.storage_id();
            return Err(Error::invalid_argument(format!(
                "an object of id {id}: its storage id {storage_id} takes more bytes than it needs, an id \
                 of that type begins with {}",
                hex(&storage_id.prefix(), 8)
            )));
        }
        self.check_keys(id, data)?;
        let object_type = data.object_type();
        // The own pair goes first: putting it decides which ID the object gets.
        let id = self.put_own_pair(new, object_type)?;
        self.put_content(id, data)?;
        self.store.put_entry(&layout::object_schema_key(object_type.schema, id))?;
        self.note_put_in(object_type.schema);
        data.each_entry(id, |key| self.store.put_entry(key))?;
        self.note_new(id, data);
        Ok(id)
    }

    /// Puts the pairs of the fields of a new object.
    pub(super) fn put_content(&self, id: ObjId, data: &ObjectData) -> Result<()> {
        let object_type = data.object_type();
        let mut key = self.buffer();
        for (field, rest, value) in data.all_pairs() {
            key.clear();
            layout::append_content_key(id, field, rest, &mut key);
            let mut count = [0; 8];
            // A counter has the bytes of the store, which may not be those of the content.
            let value = self.stored_form(object_type, field, value, &mut count)?;
            self.store
                .put(&key, value, Undo::Absent)
                .map_err(|error| error.about(|| describe_stored(id, object_type, field)))?;
        }
        Ok(())
    }

    /// Notes that an object was created, which now has all its pairs.
    pub(super) fn note_new(&self, id: ObjId, data: &ObjectData) {
        let object_type = Some(Arc::clone(data.object_type()));
        // The object is known now, so that the next access to it reads nothing.
        self.remember(id, ObjectInfo { schema: data.object_type().schema, object_type });
        self.dirty_set.created(id, data);
        self.note_happened(id, Happened::Created);
    }

    /// Refuses pairs of an object with keys that are too long for the store.
    pub(in crate::object) fn check_content_keys(&self, id: ObjId, data: &ObjectData) -> Result<()> {
        for (field, rest, _) in data.all_pairs() {
            // The key is only made for the error.
            if self.store.fits(ObjId::LEN + uint::len(field.get()) + rest.len()) {
                continue;
            }
            self.store
                .check_key(&layout::content_key(id, field, rest))
                .map_err(|error| error.about(|| describe_stored(id, data.object_type(), field)))?;
        }
        Ok(())
    }

    /// Queues the changes that come from setting all values of a new object.
    pub(in crate::object) fn queue_content(&self, id: ObjId, data: &ObjectData) -> Result<()> {
        let object_type = data.object_type();
        for field in &object_type.fields {
            if !self.is_monitored(object_type, field) {
                continue;
            }
            let queue = |kind| self.queue_change(id, object_type, field, kind);
            match &field.kind {
                ResolvedKind::Simple(simple) => {
                    // A field without a pair has its default value, which is no change of a new
                    // object.
                    if let Some(new) = data.stored(field) {
                        let old = simple
                            .default
                            .clone()
                            .ok_or_else(|| Error::unknown_default(describe(id, field), simple))?;
                        queue(ChangeKind::Simple { old, new: new.into() });
                    }
                }
                // As in Java, counters have no listeners.
                ResolvedKind::Counter => {}
                ResolvedKind::Set { .. } => {
                    data.pairs(field)
                        .for_each(|(value, _)| queue(ChangeKind::SetAdd { value: value.into() }));
                }
                ResolvedKind::List { .. } => {
                    for (index, (_, value)) in (0..).zip(data.pairs(field)) {
                        queue(ChangeKind::ListAdd { index, value: value.into() });
                    }
                }
                ResolvedKind::Map { .. } => data.pairs(field).for_each(|(key, value)| {
                    queue(ChangeKind::MapAdd { key: key.into(), value: value.into() });
                }),
            }
        }
        Ok(())
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// Creates an object like [`Transaction::create`], but with another recorded schema.
    ///
    /// # Errors
    /// The errors of [`Transaction::create`]; [`Error::InvalidArgument`] if the schema is not
    /// recorded.
    pub fn create_in(&self, type_name: &str, schema: &Schema) -> Result<ObjId> {
        self.check_open()?;
        let schema = self.recorded_schema(schema.id)?;
        let object_type = schema.object_type(type_name).ok_or_else(|| Error::UnknownType {
            name: format!("{type_name:?}"),
            schema: Some(schema.id),
        })?;
        let id = NewId::Drawn(self.shared.random_id(object_type.storage_id)?);
        self.create_default(id, object_type)
    }

    /// Creates an object of the transaction's schema with this ID and default values. Returns
    /// `false`, and does nothing, if the object already exists in any schema. Costs as much as
    /// [`Transaction::create`].
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::InvalidArgument`] if the ID is not [in its shortest
    /// form](ObjId::is_shortest). An error of a create listener: then the object exists.
    pub fn create_with_id(&self, id: ObjId) -> Result<bool> {
        self.create_with_id_in(id, self.schema().id)
    }

    /// Creates an object like [`Transaction::create_with_id`], but with another recorded schema.
    ///
    /// # Errors
    /// The errors of [`Transaction::create_with_id`]; [`Error::InvalidArgument`] if the schema is
    /// not recorded.
    pub fn create_with_id_in(&self, id: ObjId, schema: SchemaId) -> Result<bool> {
        if self.operation(|| self.exists(id))? {
            return Ok(false);
        }
        let schema = self.recorded_schema(schema)?;
        let object_type = schema.type_by_storage_id(id.storage_id()).ok_or_else(|| {
            Error::UnknownType { name: format!("#{}", id.storage_id()), schema: Some(schema.id) }
        })?;
        self.create_default(NewId::Absent(id), object_type)?;
        Ok(true)
    }
}
