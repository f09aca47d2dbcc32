//! Copying objects within a transaction or into another one (docs/src/transactions.md#copies).

use std::borrow::Cow;
use std::sync::Arc;

use super::converter::Counters;
use super::data::ObjectData;
use super::replace::CollectionChanges;
use super::translate::{IdMap, translate};
use crate::id::ObjId;
use crate::object::reference::MissingTargets;
use crate::object::{Error, Migrate, Result, Transaction};
use crate::schema::Schema;

/// How to copy an object.
#[derive(Debug, Default)]
pub struct CopyOptions<'a> {
    migrate: Migrate,
    silent: bool,
    missing: Option<&'a mut MissingTargets>,
    ids: Option<&'a mut IdMap>,
}

impl<'a> CopyOptions<'a> {
    /// Copies the object as it is, with its ID. Listeners at the destination are called.
    pub fn new() -> Self {
        CopyOptions::default()
    }

    /// First moves the source object to the schema of its transaction.
    #[must_use]
    pub fn migrating(mut self, migrate: Migrate) -> Self {
        self.migrate = migrate;
        self
    }

    /// Does not call listeners to creation and changes at the destination. If an object moves to
    /// another schema for the copy, schema-change listeners still run, and listeners are called for
    /// their changes.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }

    /// Accepts references to objects that are missing at the destination, even in fields that allow
    /// no such references, and notes the missing objects in `missing`.
    #[must_use]
    pub fn noting_missing(mut self, missing: &'a mut MissingTargets) -> Self {
        self.missing = Some(missing);
        self
    }

    /// Gives objects other IDs at the destination, and replaces references to them; see [`IdMap`].
    /// Copy an object that is mapped to `None` before those that refer to it.
    #[must_use]
    pub fn mapping_ids(mut self, ids: &'a mut IdMap) -> Self {
        self.ids = Some(ids);
        self
    }
}

/// Copying objects.
impl Transaction {
    /// Copies all fields of an object to an object in another transaction or in this one: to the
    /// one with the same ID, or with the ID that the ID map gives. If that object does not exist,
    /// creates it and returns `true`. Otherwise replaces its content; if it has another schema,
    /// first moves it to the schema of the source. Copies only this one object.
    ///
    /// Listeners to creation are called for a new object while it has default values. Then the
    /// content of the source replaces what they wrote to it. At the end, listeners to fields are
    /// called for all changes.
    ///
    /// If an existing object moves, listeners to schema changes are called before it gets the new
    /// content, which also replaces their writes. They may move the object to yet another schema,
    /// for example by reading it with [`Migrate::Yes`]. Then the copy moves it back with the new
    /// content, and does not call them again. After these listeners, the copy checks references
    /// again. In a transaction of the typed layer, where values are converted, the object gets the
    /// new content at once with the move, and these listeners see it.
    ///
    /// Cost: as much as [`Transaction::load`] at the source, and [`Transaction::create_with`] or
    /// [`Transaction::store_object`] at the destination.
    ///
    /// # Errors
    /// After these errors, the destination has not changed:
    ///
    /// * [`Error::DeletedObject`], [`Error::UnknownType`] and [`Error::TypeNotInSchema`] about the
    ///   source;
    /// * [`Error::SchemaMismatch`] if the destination does not record the schema, or if the
    ///   destination ID is of another type;
    /// * [`Error::InvalidArgument`] if the ID map maps the target of a reference to `None`;
    /// * [`Error::DeletedObject`] and [`Error::InvalidValue`] for references that are not allowed
    ///   at the destination, before and after listeners were called;
    /// * errors of listeners to schema changes.
    ///
    /// If another listener fails, its error is returned, but the copy exists.
    pub fn copy_to(
        &self,
        source: ObjId,
        dest: &Transaction,
        options: &mut CopyOptions<'_>,
    ) -> Result<bool> {
        self.check_open()?;
        dest.check_open()?;
        let load = || self.load(source, options.migrate);
        // What this transaction writes depends on these reads. A copy into another one changes
        // nothing here, so whether they count is left to the caller.
        let data = match std::ptr::eq(self, dest) {
            true => self.store().tracked(load)?,
            false => load()?,
        };
        // A list with a gap would be copied as it is, so it is refused before anything is written.
        data.check_lists()?;
        let object_type = data.object_type();
        // Types are matched by name, because the two databases may have other storage IDs.
        let schema = self.object_schema(source)?;
        let mismatch = |what: String| Error::SchemaMismatch { what };
        let dest_schema =
            dest.bundle().schema_by_id(schema.id).map(Arc::clone).ok_or_else(|| {
                mismatch(format!(
                    "object {source} is of schema {}, which the destination does not record",
                    schema.id
                ))
            })?;
        let dest_type = dest_schema.object_type(&object_type.name).ok_or_else(|| {
            mismatch(format!("the destination has no object type {:?}", object_type.name))
        })?;
        let mapped = options.ids.as_ref().and_then(|ids| ids.get(&source).copied());
        let id = match mapped {
            Some(id) => id,
            None => Some(source),
        };
        // The storage ID in an object ID says its type, so an object cannot have an ID of another
        // one.
        if let Some(id) = id.filter(|id| id.storage_id() != dest_type.storage_id) {
            return Err(mismatch(format!(
                "object {source} of type {:?} cannot be copied to {id}, which is of another type there",
                object_type.name
            )));
        }
        let fresh = id.is_none();
        let id = match id {
            Some(id) => id,
            None => dest.free_id(dest_type.storage_id, &dest_type.name)?,
        };
        // This comes before the references are translated, because the object may refer to itself.
        if fresh && let Some(ids) = &mut options.ids {
            ids.insert(source, Some(id));
        }
        let remapped = options.ids.as_ref().is_some_and(|ids| !ids.is_empty());
        let result = translate(&data, dest_type, Some(source), options.ids.as_deref())
            .and_then(|new| dest.receive(id, &new, remapped, options));
        // If the copy failed, the source is not copied, so its new ID leaves the map. After an
        // error of a listener the copy exists and keeps its ID.
        if fresh
            && result.is_err()
            && !matches!(dest.exists(id), Ok(true))
            && let Some(ids) = &mut options.ids
        {
            ids.insert(source, None);
        }
        result
    }

    fn receive(
        &self,
        id: ObjId,
        data: &ObjectData,
        remapped: bool,
        options: &mut CopyOptions<'_>,
    ) -> Result<bool> {
        let receive = || {
            let (created, heard) = self.mutate(|| {
                self.with_copy_state(options, || {
                    let changes = if remapped {
                        CollectionChanges::ClearedAndFilled
                    } else {
                        CollectionChanges::Differences
                    };
                    // A creation checks the references itself.
                    // The references are checked before the first change, so that a refusal leaves
                    // no part of a copy.
                    if self.exists(id)? {
                        self.check_references(id, data)?;
                        self.replace_content(id, data, changes)?;
                        return Ok((false, Ok(())));
                    }
                    Ok((true, self.put_new(id, data, changes)?))
                })
                .map_err(|error| error.about(|| self.named(id)))
            })?;
            // Listeners may fail although the copy is made. Then it stays, and their error is
            // returned.
            heard.map(|()| created)
        };
        self.creating(receive, |created| created.then_some(id))
    }

    /// Runs `body`. If the options say so, notes missing objects meanwhile, and does not call
    /// listeners.
    fn with_copy_state<R>(
        &self,
        options: &mut CopyOptions<'_>,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let missing = options.missing.as_deref_mut();
        // The state before is kept, because a copy can run in a listener that another copy calls.
        let noted = self.missing.replace(missing.is_some().then(MissingTargets::new));
        let silent = self.notifier.set_silent(options.silent);
        let state = CopyState { tx: self, noted, silent };
        let result = body();
        // The caller only gets the missing objects of a copy that succeeded.
        if result.is_ok()
            && let (Some(missing), Some(found)) = (missing, self.missing.replace(None))
        {
            missing.extend(found);
        }
        drop(state);
        result
    }

    /// Makes `data` the content of an existing object. First moves the object to the schema of
    /// `data`. The references in `data` must be allowed.
    pub(in crate::object) fn replace_content(
        &self,
        id: ObjId,
        data: &ObjectData,
        changes: CollectionChanges,
    ) -> Result<()> {
        let mut data = Cow::Borrowed(data);
        if self.object_type(id)?.schema != data.object_type().schema {
            self.migrate_to_replace(id, &self.schema_of(&data)?, &data, Counters::Given)?;
            data = Cow::Owned(self.after_listeners(id, &data)?.into_owned());
            if self.object_type(id)?.schema != data.object_type().schema {
                // A listener has moved the object to another schema, as reading can do. If it were
                // called for each move back, this might never end.
                self.move_with(id, &self.schema_of(&data)?, &data)?;
            }
        }
        // Listeners may have changed the object, so its content is read again.
        let old = self.load(id, Migrate::No)?;
        self.change_content(id, &old, &data, changes)
    }

    /// Checks content for an object again after listeners were called. They may have recorded or
    /// removed schemas, and deleted or created objects to which the content refers.
    pub(in crate::object) fn after_listeners<'d>(
        &self,
        id: ObjId,
        data: &'d ObjectData,
    ) -> Result<Cow<'d, ObjectData>> {
        let data = self.as_recorded(data)?;
        // What was missing before the listeners ran may be there now, so it is noted anew.
        self.missing.clear();
        self.check_references(id, &data)?;
        Ok(data)
    }

    fn schema_of(&self, data: &ObjectData) -> Result<Arc<Schema>> {
        let index = data.object_type().schema;
        let schema = self.bundle().schema(index).map(Arc::clone);
        schema.ok_or_else(|| Error::inconsistent(format!("schema {index} is not recorded")))
    }

    /// Ends the special rules of a copy until the returned guard is dropped, while the copy calls
    /// listeners: their changes call other listeners, and they may not leave references to missing
    /// objects.
    pub(in crate::object) fn outside_of_copies(&self) -> impl Drop {
        let noted = self.missing.replace(None);
        CopyState { tx: self, noted, silent: self.notifier.set_silent(false) }
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// Makes `data` the content of the object with this ID. Creates the object if it does not
    /// exist, and returns `true`. If it has another schema than `data`, first moves it to that
    /// schema. Of the options, only [`silent`](CopyOptions::silent) and
    /// [`noting_missing`](CopyOptions::noting_missing) have an effect.
    ///
    /// Cost: as much as [`Transaction::create_with`] or [`Transaction::store_object`].
    ///
    /// # Errors
    /// After these errors, nothing has changed:
    ///
    /// * [`Error::UnknownType`] if the type of `data` is not recorded in this database;
    /// * [`Error::InvalidArgument`] if the ID is of another type, or not [in its shortest
    ///   form](ObjId::is_shortest);
    /// * [`Error::DeletedObject`] and [`Error::InvalidValue`] for references that are not allowed;
    /// * [`Error::KeyTooLong`];
    /// * errors of listeners to schema changes.
    ///
    /// If another listener fails, its error is returned, but the object has the new content.
    pub fn replace_object(
        &self,
        id: ObjId,
        data: &ObjectData,
        options: &mut CopyOptions<'_>,
    ) -> Result<bool> {
        self.check_open()?;
        data.check_lists()?;
        let data = self.as_recorded(data)?;
        // The ID decides where the object is found, so it must be one of the type.
        self.check_id_of(id, data.object_type())?;
        self.receive(id, &data, false, options)
    }
}

/// Restores the state of a transaction before a copy.
struct CopyState<'a> {
    tx: &'a Transaction,
    noted: Option<MissingTargets>,
    silent: bool,
}

impl Drop for CopyState<'_> {
    fn drop(&mut self) {
        self.tx.missing.replace(self.noted.take());
        self.tx.notifier.set_silent(self.silent);
    }
}
