//! Moving objects to another schema (docs/src/schemas.md#evolution).

use std::borrow::Cow;
use std::sync::Arc;

use super::builder::ObjectBuilder;
use super::converter::{Counters, Given, Moving};
use super::data::ObjectData;
use super::entries::LateEntries;
use super::replace::CollectionChanges;
use crate::encoding::string::compare as utf16_cmp;
use crate::id::{ObjId, StorageId};
use crate::layout::{self, SchemaIndex};
use crate::object::info::ObjectInfo;
use crate::object::notify::{ByMove, ChangeKind, SchemaChange};
use crate::object::reference::target_of;
use crate::object::store::Undo;
use crate::object::{Error, Migrate, Result, Transaction};
use crate::schema::{
    ReferenceInfo, ResolvedField, ResolvedKind, ResolvedType, Schema, SchemaBundle,
};

impl Transaction {
    /// Moves an object to the schema of the transaction, which may be older or newer. Returns
    /// `false` if the object already has that schema.
    ///
    /// Fields with the same name and schema ID keep their content, even if their indexes and
    /// options differ. All others get the default value or become empty, because values are not
    /// converted here. References to types that the new schema no longer allows become null, or are
    /// removed from their collection. Listeners are called for these changes as for any other.
    /// Listeners to schema changes receive all old values.
    ///
    /// Cost: one seek and a forward scan; one put or delete for each pair that differs, including
    /// index entries; two puts and one delete.
    ///
    /// # Errors
    /// [`Error::DeletedObject`]; [`Error::UnknownType`]; [`Error::TypeNotInSchema`];
    /// [`Error::Inconsistent`] or [`Error::InvalidObjectVersion`] if the meta-data are damaged;
    /// [`Error::KeyTooLong`]. If a listener fails, its error is returned, but the object has moved.
    pub fn migrate(&self, id: ObjId) -> Result<bool> {
        let info = self.info(id)?;
        if info.schema == self.schema_index() {
            return Ok(false);
        }
        self.migrate_to(id, &self.schema())?;
        Ok(true)
    }

    /// Moves an object that was found in the schema `from` to the schema of the transaction.
    /// Returns how many bytes of content it had; `None` if it is no longer there, or no longer in
    /// that schema. Index entries are added to `late`, if it is given.
    pub(in crate::object) fn migrate_from(
        &self,
        id: ObjId,
        from: SchemaIndex,
        late: Option<&mut LateEntries>,
    ) -> Result<Option<usize>> {
        let old = match self.load_to_move(id) {
            Ok(old) => old,
            // Nothing can be read any more, and this is why.
            Err(error) if error.ends_transaction() => return Err(error),
            // The object may be gone, or damaged. Only the second one is an error.
            Err(error) => return self.find_info(id)?.map_or(Ok(None), |_| Err(error)),
        };
        // Another transaction or a listener may have moved it since it was found.
        if old.object_type().schema != from {
            return Ok(None);
        }
        self.migrate_loaded(id, old, &self.schema(), Given::Nothing, late).map(Some)
    }

    /// Moves an object from another schema to this one, and calls the listeners. They may have
    /// changed or deleted the object when this returns.
    pub(in crate::object) fn migrate_to(&self, id: ObjId, schema: &Arc<Schema>) -> Result<()> {
        self.migrate_giving(id, schema, Given::Nothing)
    }

    /// Moves an object to the schema of the transaction, if it has another one, so that the caller
    /// can change it there. It must exist.
    pub(crate) fn migrate_to_change(&self, id: ObjId) -> Result<()> {
        if !self.is_current(id)? {
            self.migrate_giving(id, &self.schema(), Given::Later)?;
            // A listener to the move may have moved or deleted the object.
            self.check_current(id)?;
        }
        Ok(())
    }

    /// Moves an object from another schema to this one, with the given content. Values that this
    /// replaces need no conversion and no index entries, which can be too long for the store.
    /// Listeners are called for the differences as changes of the fields.
    fn migrate_giving(&self, id: ObjId, schema: &Arc<Schema>, given: Given<'_>) -> Result<()> {
        let old = self.load_to_move(id).map_err(|error| moving(self, error, id))?;
        self.migrate_loaded(id, old, schema, given, None).map(drop)
    }

    /// Loads an object that moves next. These reads are tracked, because the move depends on them.
    pub(in crate::object) fn load_to_move(&self, id: ObjId) -> Result<ObjectData> {
        self.store().tracked(|| self.load(id, Migrate::No))
    }

    /// Moves an object whose content was just loaded to another schema, with the content `new`.
    /// Calls the listeners. Returns how many bytes the old content has.
    pub(in crate::object) fn migrate_with(
        &self,
        id: ObjId,
        old: ObjectData,
        schema: &Arc<Schema>,
        new: &ObjectData,
        late: Option<&mut LateEntries>,
    ) -> Result<usize> {
        self.migrate_loaded(id, old, schema, Given::All(new, Counters::Given), late)
    }

    /// Does the same with an object whose content was just loaded. Returns how many bytes that has.
    fn migrate_loaded(
        &self,
        id: ObjId,
        old: ObjectData,
        schema: &Arc<Schema>,
        given: Given<'_>,
        late: Option<&mut LateEntries>,
    ) -> Result<usize> {
        self.mutate_then(
            || {
                // An object that must move to be read also moves in a transaction for reading.
                // Values that the caller gives are a change.
                let reads = matches!(given, Given::Nothing);
                let _allowed = reads.then(|| self.allow_changes());
                self.move_giving(id, old, schema, given, late)
            },
            |change| self.tell_schema_changed(change),
        )
        .map_err(|error| moving(self, error, id))
        .map(|change| change.old.size())
    }

    /// Moves an object from another schema to this one with the content `new`. Listeners to schema
    /// changes are not called. Call it inside [`Transaction::mutate`].
    pub(in crate::object) fn move_with(
        &self,
        id: ObjId,
        schema: &Arc<Schema>,
        new: &ObjectData,
    ) -> Result<()> {
        let old = self.load(id, Migrate::No)?;
        self.move_giving(id, old, schema, Given::All(new, Counters::Given), None).map(drop)
    }

    /// Moves an object like [`Transaction::migrate_loaded`], but does not call listeners to schema
    /// changes.
    fn move_giving(
        &self,
        id: ObjId,
        old: ObjectData,
        schema: &Arc<Schema>,
        given: Given<'_>,
        late: Option<&mut LateEntries>,
    ) -> Result<SchemaChange> {
        let new_type = self.type_in(id, schema)?;
        let (old_index, old_schema) = (old.object_type().schema, old.object_type().schema_of);
        let kept = self.kept_in(id, &old, new_type, Queue::Changes)?;
        // If a single value is given, the caller has checked it.
        if let Given::All(new, _) = given {
            self.check_new_references(id, &kept, new)?;
        }
        // This fails if a value must not be lost. `write_differences` fails before its first write
        // if a key is too long. In both cases the object stays in its schema.
        let (converted, before) = self.converted_alone(id, &old, &kept, given)?;
        // Hooks are not told of values that only the move has changed.
        let by_move = match given {
            Given::Nothing | Given::Later => ByMove::All,
            Given::Field(field, _) => ByMove::AllBut(field),
            Given::All(..) => ByMove::None,
        };
        let replaced = match given {
            Given::Nothing | Given::Later => converted.map(Cow::Owned),
            Given::Field(field, value) => {
                let mut new = ObjectBuilder::of(converted.as_ref().unwrap_or(&kept));
                // The value that the caller gives comes last, so it counts.
                new.push_pair(field, &[], value);
                Some(Cow::Owned(new.finish()))
            }
            Given::All(new, Counters::Given) => Some(Cow::Borrowed(new)),
            Given::All(new, Counters::Kept) => {
                Some(new.with_counters_of(converted.as_ref().unwrap_or(&kept)))
            }
        };
        let replaced = replaced.as_deref();
        let new = replaced.unwrap_or(&kept);
        self.write_differences(id, &old, new, late)
            .map_err(|error| unmovable(error, id, schema))?;
        // No program changed an object that moves to be read, so it is not checked.
        match given {
            Given::Nothing => {}
            Given::Later => self.dirty_set.moved(id, &old, new),
            Given::Field(field, value) => {
                self.dirty_set.moved(id, &old, new);
                self.dirty_set.field(id, field, Some(value));
            }
            Given::All(..) => self.dirty_set.created(id, new),
        }
        // The own pair changes after the content: until the checks have passed, the object stays in
        // its schema.
        let (from, to) = (layout::object_info(old_index), layout::object_info(schema.index));
        self.store.put(id.as_bytes(), &to, Undo::Old(&from))?;
        self.store.remove_entry(&layout::object_schema_key(old_index, id))?;
        self.store.put_entry(&layout::object_schema_key(schema.index, id))?;
        self.note_put_in(schema.index);
        let object_type = Some(Arc::clone(new_type));
        self.remember(id, ObjectInfo { schema: schema.index, object_type });
        // Without new content, `kept_in` has queued all that listeners are told.
        if let Some(replaced) = replaced {
            self.notifier.queueing_move(by_move, || {
                let before = before.as_ref().unwrap_or(&kept);
                self.queue_differences(id, before, replaced, CollectionChanges::Differences)
            })?;
        }
        Ok(SchemaChange {
            id,
            old_schema,
            new_schema: schema.id,
            old,
            new_type: Arc::clone(new_type),
        })
    }

    /// Moves an object from another schema to this one, before it gets the content `new`. If values
    /// are converted, or if a value that will be replaced prevents the move, the object gets `new`
    /// at once.
    pub(in crate::object) fn migrate_to_replace(
        &self,
        id: ObjId,
        schema: &Arc<Schema>,
        new: &ObjectData,
        counters: Counters,
    ) -> Result<()> {
        let at_once = || self.migrate_giving(id, schema, Given::All(new, counters));
        // Own conversions must not run for values that are dropped, so the move gets the new
        // content.
        if self.gives_at_once() {
            return at_once();
        }
        match self.migrate_to(id, schema) {
            // If the object has moved, a listener failed after the move: return its error.
            Err(error)
                if keeps_from_moving(&error) && self.object_schema(id)?.index != schema.index =>
            {
                at_once()
            }
            moved => moved,
        }
    }

    /// The type of an object whose field will be set to a checked value: a simple field or a
    /// counter. If asked, the object is first moved to the transaction's schema. If values are
    /// converted, or if the value that will be replaced prevents the move, the object is moved with
    /// the new value.
    pub(in crate::object) fn type_for_setting(
        &self,
        id: ObjId,
        migrate: Migrate,
        value: impl FnOnce(&Arc<ResolvedType>) -> Result<(StorageId, Vec<u8>)>,
    ) -> Result<Arc<ResolvedType>> {
        let at_once = migrate == Migrate::Yes
            && self.gives_at_once()
            && self.find_info(id)?.is_some_and(|info| info.schema != self.schema_index());
        if !at_once {
            let error = match self.type_for_writing(id, migrate) {
                Err(error) if keeps_from_moving(&error) => error,
                known => return known,
            };
            // If the object has moved, a listener failed after the move: return its error.
            if self.is_current(id)? {
                return Err(error);
            }
        }
        // The value is checked against the type that the object will have.
        let schema = self.schema();
        let (field, value) = value(self.type_in(id, &schema)?)?;
        self.migrate_giving(id, &schema, Given::Field(field, &value))?;
        // A listener to the move may have moved the object on.
        self.check_current(id)?;
        self.object_type(id)
    }

    /// Everything that an object contains, before it is replaced by `new`. The object is first
    /// moved to the transaction's schema, as [`Transaction::migrate_to_replace`] does.
    pub(crate) fn load_to_replace(
        &self,
        id: ObjId,
        new: &ObjectData,
        counters: Counters,
    ) -> Result<ObjectData> {
        let schema = self.schema();
        // Content of another type or schema cannot be given with the move. The caller refuses it
        // later.
        let fits = new.object_type().schema == schema.index
            && new.object_type().storage_id == id.storage_id();
        let give = || {
            self.migrate_to_replace(id, &schema, new, counters)?;
            self.load(id, Migrate::No)
        };
        if fits && self.gives_at_once() && !self.is_current(id)? {
            return give();
        }
        match self.load(id, Migrate::Yes) {
            Err(error) if keeps_from_moving(&error) && fits && !self.is_current(id)? => give(),
            loaded => loaded,
        }
    }

    /// Whether an object that must move for a change gets its new values at once with the move.
    /// Then own conversions do not run for values that are dropped: the objects that they create
    /// would stay.
    ///
    /// Without a converter nothing is converted. Objects then move first and get new values after
    /// that, as in Java, so listeners to schema changes see objects with the values they had.
    fn gives_at_once(&self) -> bool {
        self.converter().is_some()
    }

    /// Whether an object has the transaction's schema.
    pub(crate) fn is_current(&self, id: ObjId) -> Result<bool> {
        Ok(self.info(id)?.schema == self.schema_index())
    }

    /// The content that an object from another schema would have in the transaction's schema, to
    /// which it cannot be moved. Changes nothing and calls no listeners.
    pub(crate) fn load_unmovable(&self, id: ObjId) -> Result<ObjectData> {
        let schema = self.schema();
        let old = self.load(id, Migrate::No)?;
        let kept = self.kept_in(id, &old, self.type_in(id, &schema)?, Queue::Nothing)?;
        // Own conversions may create objects. These must not stay.
        let converted = self.undone(|| self.converted(id, &old, &kept, Given::Nothing))?;
        Ok(converted.unwrap_or(kept))
    }

    /// The results of [`Transaction::converted`] and [`Transaction::before`]. Refuses a move if own
    /// conversions, or listeners to the objects that these create, move or change the object
    /// itself.
    fn converted_alone(
        &self,
        id: ObjId,
        old: &ObjectData,
        kept: &ObjectData,
        given: Given<'_>,
    ) -> Result<(Option<ObjectData>, Option<ObjectData>)> {
        // A conversion of this object moves the object itself, which would never end.
        if self.moving.borrow().contains(&id) {
            return Err(Error::ChangedAsMoved { id });
        }
        let before = self.store.changes().get();
        self.moving.borrow_mut().push(id);
        let converted = self
            .converted(id, old, kept, given)
            .and_then(|converted| Ok((converted, self.before(id, old, kept, given)?)));
        // The object leaves the list before an error is returned, or it could never move again.
        self.moving.borrow_mut().pop();
        let converted = converted?;
        // If nothing was written, the object need not be loaded again.
        if self.store.changes().get() != before {
            match self.load(id, Migrate::No) {
                // A conversion that wrote other objects is allowed.
                Ok(now) if now.is_same(old) => {}
                Ok(_) | Err(Error::DeletedObject { .. }) => {
                    return Err(Error::ChangedAsMoved { id });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(converted)
    }

    /// The content that an object gets when it moves; `None` if it is exactly what the object
    /// keeps. The values that the caller gives are not part of it.
    fn converted(
        &self,
        id: ObjId,
        old: &ObjectData,
        kept: &ObjectData,
        given: Given<'_>,
    ) -> Result<Option<ObjectData>> {
        match self.converter() {
            Some(converter) => converter.convert(self, &Moving { id, old, kept, given }),
            None => Ok(None),
        }
    }

    /// The content of an object before the caller gave it something, as listeners to changes get
    /// it; `None` if it is exactly what the object keeps.
    fn before(
        &self,
        id: ObjId,
        old: &ObjectData,
        kept: &ObjectData,
        given: Given<'_>,
    ) -> Result<Option<ObjectData>> {
        match self.converter() {
            Some(converter) if !given.is_own() && self.watches_content(kept.object_type()) => {
                converter.before(self, &Moving { id, old, kept, given })
            }
            _ => Ok(None),
        }
    }

    /// The type of an object in the schema to which it will be moved.
    pub(in crate::object) fn type_in<'s>(
        &self,
        id: ObjId,
        schema: &'s Schema,
    ) -> Result<&'s Arc<ResolvedType>> {
        match schema.type_by_storage_id(id.storage_id()) {
            Some(object_type) => Ok(object_type),
            None => {
                let type_name = self.type_name(id.storage_id())?.to_string();
                Err(Error::TypeNotInSchema { id, type_name, schema: schema.id })
            }
        }
    }

    /// The part of an object's content that it keeps in another schema.
    fn kept_in(
        &self,
        id: ObjId,
        old: &ObjectData,
        new_type: &Arc<ResolvedType>,
        queue: Queue,
    ) -> Result<ObjectData> {
        if let Some(kept) = old.all_kept_in(new_type) {
            return Ok(kept);
        }
        let bundle = self.bundle();
        let old_type = old.object_type();
        let mut new = ObjectBuilder::with_room_for(old, Arc::clone(new_type));
        let mut removed = Vec::new();
        // In the order of the stored pairs. The same definition has the same storage ID.
        for before in old_type.fields_by_storage_id() {
            // A field that the new type lacks goes. The converter decides whether it may.
            let Some(field) = new_type.field_by_storage_id(before.storage_id) else { continue };
            let mut tell = |kind| removed.push((before, kind));
            keep(&bundle, old, before, field, &mut new, &mut tell)?;
        }
        if queue == Queue::Changes {
            // Listeners get the changes in the order of names.
            removed.sort_by(|(a, _), (b, _)| utf16_cmp(&a.name, &b.name));
            self.notifier.queueing_move(ByMove::All, || {
                for (field, kind) in removed {
                    if self.is_monitored(old_type, field) {
                        self.queue_change(id, old_type, field, kind);
                    }
                }
            });
        }
        Ok(new.finish())
    }
}

/// Whether to queue for listeners the references that are removed from collections because their
/// type is no longer allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    Changes,
    Nothing,
}

/// Whether the object might move if it had another value: a value is too long for an index, or
/// cannot be converted.
fn keeps_from_moving(error: &Error) -> bool {
    matches!(error, Error::KeyTooLong { .. } | Error::MoveRefused(_))
}

/// Adds to an error which object was to move.
fn moving(tx: &Transaction, error: Error, id: ObjId) -> Error {
    error.about(|| format!("moving {} to another schema", tx.named(id)))
}

/// If an index entry's key is too long, adds to the error which object cannot be moved and what
/// would allow it.
fn unmovable(error: Error, id: ObjId, schema: &Schema) -> Error {
    match error {
        Error::KeyTooLong { of, key, len, limit } => Error::KeyTooLong {
            of: format!(
                "object {id} cannot be moved to schema {} before this value is replaced or the object is stored \
                 anew: {of}",
                schema.id
            ),
            key,
            len,
            limit,
        },
        error => error,
    }
}

/// The references that a field loses when its object moves to another schema, by the type they
/// refer to.
pub(crate) struct Narrowing<'a> {
    bundle: &'a SchemaBundle,
    old: Option<&'a ReferenceInfo>,
    new: Option<&'a ReferenceInfo>,
}

impl<'a> Narrowing<'a> {
    /// The narrowing between two definitions of the same field.
    pub(crate) fn new(
        bundle: &'a SchemaBundle,
        old: &'a ResolvedField,
        new: &'a ResolvedField,
    ) -> Self {
        Narrowing { bundle, old: old.reference(), new: new.reference() }
    }

    /// Whether this encoded reference was allowed and is no longer.
    fn refuses(&self, bytes: &[u8]) -> bool {
        self.refused(bytes).is_some()
    }

    /// The target of this encoded reference, if it was allowed and is no longer.
    pub(crate) fn refused(&self, bytes: &[u8]) -> Option<ObjId> {
        // Only a field that is a reference in both can lose references.
        let (old, new) = (self.old?, self.new?);
        // Damaged references are kept as they are.
        let target = target_of(bytes).ok()??;
        let of = target.storage_id();
        let was_allowed = match &old.allowed {
            // Without a list, every type that is recorded was allowed.
            Some(_) => old.allows(of),
            None => self.bundle.type_name(of).is_some(),
        };
        (was_allowed && !new.allows(of)).then_some(target)
    }
}

/// Copies the content of a field into the same field of another schema, without references to types
/// that are no longer allowed. Calls `tell` for each removal from collections.
fn keep(
    bundle: &SchemaBundle,
    old: &ObjectData,
    before: &ResolvedField,
    field: &ResolvedField,
    new: &mut ObjectBuilder,
    tell: &mut dyn FnMut(ChangeKind),
) -> Result<()> {
    let storage_id = field.storage_id;
    match (&before.kind, &field.kind) {
        (ResolvedKind::Set { element: was }, ResolvedKind::Set { element: is }) => {
            let narrowing = Narrowing::new(bundle, was, is);
            for (value, _) in old.pairs(before) {
                if narrowing.refuses(value) {
                    tell(ChangeKind::SetRemove { value: value.into() });
                } else {
                    new.push_pair(storage_id, value, &[]);
                }
            }
        }
        (ResolvedKind::List { element: was }, ResolvedKind::List { element: is }) => {
            let narrowing = Narrowing::new(bundle, was, is);
            let (mut index, mut gone) = (0, false);
            // If an element is removed, those after it move up. That needs positions without gaps.
            if old.pairs(before).any(|(_, value)| narrowing.refuses(value)) {
                old.check_list(before)?;
            }
            let mut left = old.pairs(before).len();
            for (position, value) in old.pairs(before) {
                if !narrowing.refuses(value) {
                    // Until an element was removed, keys stay as they are.
                    match gone {
                        false => new.push_pair(storage_id, position, value),
                        true => new.push_pair(storage_id, &layout::list_position(index), value),
                    }
                    index += 1;
                    left -= 1;
                    continue;
                }
                left -= 1;
                gone = true;
                // A list that becomes empty is told as cleared.
                tell(if index == 0 && left == 0 {
                    ChangeKind::ListClear
                } else {
                    ChangeKind::ListRemove { index, value: value.into() }
                });
            }
        }
        (
            ResolvedKind::Map { key: was_key, value: was_value },
            ResolvedKind::Map { key: is_key, value: is_value },
        ) => {
            let keys = Narrowing::new(bundle, was_key, is_key);
            let values = Narrowing::new(bundle, was_value, is_value);
            for (key, value) in old.pairs(before) {
                if keys.refuses(key) || values.refuses(value) {
                    tell(ChangeKind::MapRemove { key: key.into(), value: value.into() });
                } else {
                    new.push_pair(storage_id, key, value);
                }
            }
        }
        (ResolvedKind::Simple(_), ResolvedKind::Simple(_)) => {
            let narrowing = Narrowing::new(bundle, before, field);
            // A simple reference that is not allowed any more becomes null: it gets no pair.
            for (key, value) in old.pairs(before) {
                if !narrowing.refuses(value) {
                    new.push_pair(storage_id, key, value);
                }
            }
        }
        _ => {
            for (key, value) in old.pairs(before) {
                new.push_pair(storage_id, key, value);
            }
        }
    }
    Ok(())
}
