//! Creating objects and loading them whole (docs/src/objects.md#creating-reading-changing).

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use permazen_kv::KeySpan;

use super::builder::ObjectBuilder;
use super::data::ObjectData;
use super::replace::Told;
use super::translate::translate;
use crate::encoding::uint;
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::describe::{describe, describe_entry, describe_stored};
use crate::object::error::hex;
use crate::object::info::{Migrate, ObjectInfo};
use crate::object::notify::ChangeKind;
use crate::object::store::{Undo, visit_pairs};
use crate::object::{Error, Result, Transaction};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType, Schema, SchemaId};

/// How many random IDs are tried.
const ATTEMPTS: u32 = 64;

/// Creating and loading objects.
impl Transaction<'_> {
    // ------------------------------------------------------------------ IDs

    /// An ID that no object has, for an object of the type with that name in any recorded schema.
    /// The ID is not reserved. Cost: one get.
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::NoFreeId`] after 64 attempts.
    pub fn generate_id(&self, type_name: &str) -> Result<ObjId> {
        let storage_id = self.type_storage_id(type_name)?;
        self.free_id(storage_id, type_name)
    }

    /// The storage ID of the type with that name in any recorded schema.
    ///
    /// # Errors
    /// [`Error::UnknownType`].
    pub fn type_storage_id(&self, type_name: &str) -> Result<StorageId> {
        self.check_open()?;
        self.bundle()
            .type_storage_id(type_name)
            .ok_or_else(|| Error::UnknownType { name: format!("{type_name:?}"), schema: None })
    }

    /// The storage ID of a field of a type, by their names. Listeners, paths and indexes need it.
    /// Sub-fields are named `tags.element`, `scores.key`, `scores.value`. The field is searched
    /// first in the schema of the transaction, then in the other recorded schemas, newest first.
    ///
    /// # Errors
    /// [`Error::UnknownType`], [`Error::UnknownField`], [`Error::Ended`].
    pub fn field_storage_id(&self, type_name: &str, field: &str) -> Result<StorageId> {
        self.type_storage_id(type_name)?;
        let (own, bundle) = (self.schema(), self.bundle());
        std::iter::once(&own)
            .chain(bundle.schemas().iter().rev())
            .filter_map(|schema| schema.object_type(type_name))
            .find_map(|object_type| object_type.field_or_sub_field(field))
            .map(|field| field.storage_id)
            .ok_or_else(|| Error::UnknownField {
                type_name: Some(type_name.to_owned()),
                field: format!("{field:?}"),
            })
    }

    /// The name of the type with this storage ID in any recorded schema.
    ///
    /// # Errors
    /// [`Error::UnknownType`].
    pub fn type_name(&self, storage_id: StorageId) -> Result<Arc<str>> {
        self.bundle()
            .type_name(storage_id)
            .map(Arc::clone)
            .ok_or_else(|| Error::UnknownType { name: format!("#{storage_id}"), schema: None })
    }

    /// The key of an object's own pair. All keys of the object begin with it. The object need not
    /// exist.
    ///
    /// # Errors
    /// [`Error::UnknownType`].
    pub fn object_key(&self, id: ObjId) -> Result<[u8; 8]> {
        self.type_name(id.storage_id())?;
        Ok(id.to_bytes())
    }

    pub(in crate::object) fn free_id(
        &self,
        storage_id: StorageId,
        type_name: &str,
    ) -> Result<ObjId> {
        for _ in 0..ATTEMPTS {
            let id = self.shared.random_id(storage_id)?;
            let taken = self.store.contains(id.as_bytes());
            if !taken.map_err(|error| error.about(|| format!("new object {id}")))? {
                return Ok(id);
            }
        }
        Err(Error::NoFreeId { type_name: type_name.to_owned(), attempts: ATTEMPTS })
    }

    // ------------------------------------------------------------------ creating

    /// Creates an object of the transaction's schema with a random ID and default values.
    ///
    /// Cost: one get; two puts; one put for each counter, each indexed simple field and each
    /// composite index.
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::NoFreeId`]; [`Error::UnknownEncoding`] if an indexed field
    /// has a default value that is not known. An error of a create listener: then the object
    /// exists.
    pub fn create(&self, type_name: &str) -> Result<ObjId> {
        self.create_in(type_name, &self.schema())
    }

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
        let id = self.free_id(object_type.storage_id, type_name)?;
        self.create_default(id, object_type)?;
        Ok(id)
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
        self.create_default(id, object_type)?;
        Ok(true)
    }

    /// Creates an object with all its values. The ID is random if none is given. Returns `None`,
    /// and does nothing, if an object already has the ID.
    ///
    /// The object gets the schema of the type in `data`. This database must have recorded that
    /// schema; the data may come from another database. Listeners are told as if the object had
    /// been created with default values and then all other values had been set. Listeners to
    /// creation see default values, and what they write is replaced.
    ///
    /// Cost: one get for the ID, one get for each reference that may not dangle, and one put for
    /// each stored pair, including index entries.
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::InvalidArgument`] if the ID is of another type or not [in
    /// its shortest form](ObjId::is_shortest); [`Error::DeletedObject`] and [`Error::InvalidValue`]
    /// for references that are not allowed; [`Error::KeyTooLong`]. Errors of listeners: then the
    /// object exists.
    pub fn create_with(&self, id: Option<ObjId>, data: &ObjectData) -> Result<Option<ObjId>> {
        self.check_open()?;
        data.check_lists()?;
        let data = &*self.as_recorded(data)?;
        let object_type = Arc::clone(data.object_type());
        let id = match id {
            None => self.free_id(object_type.storage_id, &object_type.name)?,
            Some(id) => {
                self.check_id_of(id, &object_type)?;
                if self.operation(|| self.exists(id))? {
                    return Ok(None);
                }
                id
            }
        };
        self.mutate(|| {
            self.put_new_telling(id, data, Told::Differences)
                .map_err(|error| error.about(|| format!("new object {id}")))
        })??;
        Ok(Some(id))
    }

    pub(in crate::object) fn check_id_of(
        &self,
        id: ObjId,
        object_type: &ResolvedType,
    ) -> Result<()> {
        if id.storage_id() == object_type.storage_id {
            return Ok(());
        }
        Err(Error::invalid_argument(format!(
            "object id {id} is not of type {:?}, whose storage id is {}",
            object_type.name, object_type.storage_id
        )))
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
            .filter(|schema| !schema.index.is_empty_schema())
            .map(Arc::clone)
            .ok_or_else(|| Error::invalid_argument(format!("schema {id} is not recorded")))
    }

    /// The content of an object, with the type as this database has it. The type of `data` may come
    /// from another database, or from a schema that was removed and recorded again. The schema
    /// decides what its fields are, but neither their storage IDs nor the schema index. Counters
    /// that are missing, which is damage, become 0.
    pub(in crate::object) fn as_recorded<'d>(
        &self,
        data: &'d ObjectData,
    ) -> Result<Cow<'d, ObjectData>> {
        let given = data.object_type();
        let bundle = self.bundle();
        let known = bundle
            .schema_by_id(given.schema_of)
            .and_then(|schema| schema.object_type(&given.name))
            .ok_or_else(|| Error::UnknownType {
                name: format!("{:?} (as given)", &*given.name),
                schema: Some(given.schema_of),
            })?;
        let counts = |field: &Arc<ResolvedField>| {
            !matches!(field.kind, ResolvedKind::Counter) || data.stored(field).is_some()
        };
        if Arc::ptr_eq(known, given) && given.fields.iter().all(counts) {
            return Ok(Cow::Borrowed(data));
        }
        translate(data, known, data.id(), None).map(Cow::Owned)
    }

    /// Writes an object with default values, and calls the listeners to creation. The object must
    /// not exist.
    fn create_default(&self, id: ObjId, object_type: &Arc<ResolvedType>) -> Result<()> {
        let data = ObjectBuilder::new(Arc::clone(object_type)).finish();
        self.operation(|| self.put_object(id, &data))
            .map_err(|error| error.about(|| format!("new object {id}")))?;
        self.tell_created(id)
    }

    /// Writes an object, and queues the changes for listeners. The object must not exist. Call it
    /// inside [`Transaction::mutate`].
    ///
    /// If there are listeners to the creation, the object is created with default values and they
    /// are called. Then the object gets its content, whatever they wrote. The error of a listener
    /// is returned in the inner result; then the object exists.
    pub(in crate::object) fn put_new_telling(
        &self,
        id: ObjId,
        data: &ObjectData,
        told: Told,
    ) -> Result<Result<()>> {
        self.check_references(id, data)?;
        let object_type = data.object_type();
        if !self.notifier.watches_creation(id.storage_id()) {
            self.put_object(id, data)?;
            if self.watches_content(object_type) {
                self.queue_content(id, data)?;
            }
            return Ok(Ok(()));
        }
        self.check_keys(id, data)?;
        self.put_object(id, &ObjectBuilder::new(Arc::clone(object_type)).finish())?;
        let heard = self.tell_created(id);
        let data = &*self.after_listeners(id, data)?;
        self.replace_content(id, data, told)?;
        Ok(heard)
    }

    /// Whether listeners watch any field of objects of this type.
    pub(in crate::object) fn watches_content(&self, object_type: &ResolvedType) -> bool {
        self.notifier.watches_any_field(object_type)
    }

    /// Refuses content with keys or index entries that the store cannot hold.
    fn check_keys(&self, id: ObjId, data: &ObjectData) -> Result<()> {
        let object_type = data.object_type();
        data.each_entry(id, |key| {
            let checked = self.store.check_key(key);
            checked.map_err(|error| error.about(|| describe_entry(id, object_type, key)))
        })?;
        self.check_content_keys(id, data)
    }

    /// Puts all pairs of an object. The object must not exist.
    fn put_object(&self, id: ObjId, data: &ObjectData) -> Result<()> {
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
        let info = layout::object_info(object_type.schema);
        self.store.put(id.as_bytes(), &info, Undo::Absent)?;
        let mut key = self.buffer();
        for (field, rest, value) in data.all_pairs() {
            key.clear();
            layout::write_content_key(id, field, rest, &mut key);
            let mut count = [0; 8];
            let value = self.stored_form(object_type, field, value, &mut count)?;
            self.store
                .put(&key, value, Undo::Absent)
                .map_err(|error| error.about(|| describe_stored(id, object_type, field)))?;
        }
        self.store.put_entry(&layout::object_schema_key(object_type.schema, id))?;
        self.note_put_in(object_type.schema);
        data.each_entry(id, |key| self.store.put_entry(key))?;
        let info =
            ObjectInfo { schema: object_type.schema, object_type: Some(Arc::clone(object_type)) };
        self.remember(id, info);
        Ok(())
    }

    /// Refuses pairs of an object with keys that are too long for the store.
    pub(in crate::object) fn check_content_keys(&self, id: ObjId, data: &ObjectData) -> Result<()> {
        for (field, rest, _) in data.all_pairs() {
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
                    if let Some(new) = data.stored(field) {
                        let old = simple
                            .default
                            .clone()
                            .ok_or_else(|| Error::unknown_default(describe(id, field), simple))?;
                        queue(ChangeKind::Simple { old, new: new.into() });
                    }
                }
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

    // ------------------------------------------------------------------ loading

    /// Everything that an object contains. Cost: one seek and a forward scan of its pairs.
    ///
    /// # Errors
    /// The errors of [`Transaction::visit`].
    pub fn load(&self, id: ObjId, migrate: Migrate) -> Result<ObjectData> {
        let mut data = None;
        self.visit(id, migrate, |object_type, pair| {
            match (&mut data, pair) {
                (None, _) => data = Some(ObjectData::with_room(id, object_type)),
                (Some(data), Some((field, rest, value))) => {
                    data.push_pair(field.storage_id, rest, value);
                }
                (Some(_), None) => {}
            }
            Ok(())
        })?;
        data.ok_or_else(|| Error::deleted(id))
    }

    /// Visits everything that is stored for an object, while its bytes are borrowed. First comes
    /// its type, without a pair. Then comes each stored pair, by field storage ID and key: the
    /// field, what follows the field in the key, and the value. What follows the field is the
    /// element of a set, the encoded position in a list, or the key of a map; otherwise it is
    /// empty.
    ///
    /// Fields with default values have no pair. Counters have eight bytes, most significant first,
    /// in every store. `visit` must not change anything. With [`Migrate::Yes`] an object in another
    /// schema is first moved to the transaction's schema. Cost: one seek and a forward scan.
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::DeletedObject`]; [`Error::TypeNotInSchema`] with
    /// [`Migrate::Yes`]; [`Error::Inconsistent`] or [`Error::InvalidObjectVersion`] if the
    /// meta-data are damaged; errors of `visit`.
    pub fn visit(
        &self,
        id: ObjId,
        migrate: Migrate,
        mut visit: impl FnMut(
            &Arc<ResolvedType>,
            Option<(&Arc<ResolvedField>, &[u8], &[u8])>,
        ) -> Result<()>,
    ) -> Result<()> {
        self.check_open()?;
        if migrate == Migrate::Yes {
            let known = self.known_info(id, |info| info.schema);
            // For an object that is not known yet, the scan below checks the schema.
            if known.is_some_and(|schema| schema != self.schema_index()) {
                self.migrate_for_good(id)?;
            }
        }
        match self.scan_object(id, migrate, &mut visit)? {
            true => Ok(()),
            false => {
                self.migrate_for_good(id)?;
                self.scan_object(id, Migrate::No, &mut visit).map(|_| ())
            }
        }
    }

    /// Returns `false` if nothing was visited because the object must be migrated first.
    fn scan_object(
        &self,
        id: ObjId,
        migrate: Migrate,
        visit: &mut impl FnMut(
            &Arc<ResolvedType>,
            Option<(&Arc<ResolvedField>, &[u8], &[u8])>,
        ) -> Result<()>,
    ) -> Result<bool> {
        // No ID begins with ff, so there is a next one.
        let end = u64::from_be_bytes(id.to_bytes()).wrapping_add(1).to_be_bytes();
        let span = KeySpan::new(id.as_bytes(), Some(&end));
        let mut known = self.known_info(id, ObjectInfo::clone);
        self.store
            .read(|kv| {
                let mut object: Option<Arc<ResolvedType>> = None;
                let mut outdated = false;
                let mut position = 0;
                visit_pairs(kv, span, |key, value| {
                    let Some(object_type) = &object else {
                        // The first key is the object's own pair. Without it there is no object.
                        if *key != *id.as_bytes() {
                            return Ok(ControlFlow::Break(()));
                        }
                        let info = known.take().map_or_else(|| self.info_from(id, value), Ok)?;
                        if migrate == Migrate::Yes && info.schema != self.schema_index() {
                            outdated = true;
                            return Ok(ControlFlow::Break(()));
                        }
                        let object_type = object.insert(self.type_of_info(id, info)?);
                        visit(object_type, None)?;
                        return Ok(ControlFlow::Continue(()));
                    };
                    let content = key.get(ObjId::LEN..).unwrap_or_default();
                    while let Some(field) = object_type.field_by_order(position) {
                        if let Some(rest) = content.strip_prefix(&field.key[..]) {
                            let kind = &field.kind;
                            let single =
                                matches!(kind, ResolvedKind::Simple(_) | ResolvedKind::Counter);
                            if single && !rest.is_empty() {
                                // This key is longer than the field's own key, so it is not part of
                                // the object.
                                break;
                            }
                            let count = self.counter_out(field, value)?;
                            let value = count.as_ref().map_or(value, |count| &count[..]);
                            visit(object_type, Some((field, rest, value)))?;
                            break;
                        }
                        if content < &field.key[..] {
                            // This key belongs to no field, so it is not part of the object.
                            break;
                        }
                        position += 1;
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                if outdated {
                    return Ok(false);
                }
                if object.is_none() {
                    self.type_name(id.storage_id())?;
                    return Err(Error::deleted(id));
                }
                Ok(true)
            })
            .map_err(|error| error.about(|| format!("object {id}")))
    }

    // ------------------------------------------------------------------ counters

    /// The value of a counter in the form of [`ObjectData`]: eight bytes, most significant first.
    /// `None` if this is not a counter, or if it is damaged.
    fn counter_out(&self, field: &ResolvedField, value: &[u8]) -> Result<Option<[u8; 8]>> {
        match field.kind {
            ResolvedKind::Counter => Ok(self.store.decode_counter(value)?.map(i64::to_be_bytes)),
            _ => Ok(None),
        }
    }

    /// A value in the form of the store, from that of [`ObjectData`]. They differ for counters:
    /// these are put into `count`.
    pub(in crate::object) fn stored_form<'v>(
        &self,
        object_type: &ResolvedType,
        field: StorageId,
        value: &'v [u8],
        count: &'v mut [u8; 8],
    ) -> Result<&'v [u8]> {
        if let Ok(of) = <[u8; 8]>::try_from(value)
            && let Some(field) = object_type.field_by_storage_id(field)
            && matches!(field.kind, ResolvedKind::Counter)
        {
            *count = self.store.encode_counter(i64::from_be_bytes(of))?;
            return Ok(count);
        }
        Ok(value)
    }
}
