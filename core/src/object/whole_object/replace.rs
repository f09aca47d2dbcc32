//! Replacing the whole content of an object: writes only the differences, and queues them for
//! listeners.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use super::converter::Counters;
use super::data::{KeyList, ObjectData, differences};
use super::entries::LateEntries;
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::describe::{describe, describe_entry};
use crate::object::notify::ChangeKind;
use crate::object::reference::check_reference_type;
use crate::object::store::Undo;
use crate::object::{Migrate, Result, Transaction};
use crate::schema::{ResolvedField, ResolvedKind};

/// Which changes listeners get for a set or map whose content was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::object) enum CollectionChanges {
    /// The removals and the additions.
    Differences,
    /// For a collection with references: that it was cleared, and then each element or entry as
    /// added. For others: the differences.
    ClearedAndFilled,
}

type Pair<'a> = (StorageId, &'a [u8], &'a [u8]);

impl Transaction {
    /// Gives an object other content. Only the differences are written.
    ///
    /// Listeners are called for:
    ///
    /// * each simple field that changed;
    /// * each element that was added to or removed from a set;
    /// * each element of a list that was replaced, removed at the end or appended;
    /// * each map entry that was added, removed or replaced.
    ///
    /// Listeners are called when everything is written, so they see all of the new content. Changes
    /// by listeners stay. The remaining listeners still get the old and new values of this
    /// operation.
    ///
    /// Cost: one seek and a forward scan; one get for each new reference that may not dangle,
    /// unless its object is known in this transaction; one put or delete for each pair that
    /// differs, including index entries.
    ///
    /// # Errors
    /// [`Error::DeletedObject`](crate::object::Error::DeletedObject);
    /// [`Error::SchemaMismatch`](crate::object::Error::SchemaMismatch) if the object has another
    /// type than `data` or, without [`Migrate::Yes`], another schema; errors for references that
    /// are not allowed and for keys that are too long. If a listener to schema changes fails, the
    /// operation is refused. If a listener to fields fails, its error is returned, but the object
    /// has the new content.
    pub fn store_object(&self, id: ObjId, data: &ObjectData, migrate: Migrate) -> Result<()> {
        self.store_with(id, data, migrate, Counters::Given)
    }

    /// Gives an object other content, except for its counters.
    pub(crate) fn store_but_counters(
        &self,
        id: ObjId,
        data: &ObjectData,
        migrate: Migrate,
    ) -> Result<()> {
        self.store_with(id, data, migrate, Counters::Kept)
    }

    fn store_with(
        &self,
        id: ObjId,
        data: &ObjectData,
        migrate: Migrate,
        counters: Counters,
    ) -> Result<()> {
        self.mutate(|| {
            data.check_lists()?;
            let data = self.as_recorded(data)?;
            let old = match migrate {
                // A value that will be replaced cannot prevent the move.
                Migrate::Yes => self.load_to_replace(id, &data, counters)?,
                Migrate::No => self.load(id, migrate)?,
            };
            // Listeners to the move may have recorded or removed schemas.
            let data = &*self.as_recorded(&data)?;
            let (is, wanted) = (old.object_type(), data.object_type());
            // Listeners may also have moved the object to another schema.
            if is.storage_id != wanted.storage_id || is.schema != wanted.schema {
                return Err(crate::object::Error::SchemaMismatch {
                    what: format!(
                        "object {id} is of type {:?} in schema {}, its new content of type {:?} in \
                         schema {}",
                        is.name, is.schema, wanted.name, wanted.schema
                    ),
                });
            }
            self.check_new_references(id, &old, data)?;
            let data = match counters {
                Counters::Given => Cow::Borrowed(data),
                Counters::Kept => data.with_counters_of(&old),
            };
            self.change_content(id, &old, &data, CollectionChanges::Differences)
        })
        .map_err(|error| error.about(|| self.named(id)))
    }

    /// Refuses content with references that are not allowed. Does not check references that `old`
    /// has in the same place. `old` must have the same type.
    pub(in crate::object) fn check_new_references(
        &self,
        id: ObjId,
        old: &ObjectData,
        new: &ObjectData,
    ) -> Result<()> {
        let check = |part: &Arc<ResolvedField>, bytes: &[u8]| {
            self.check_reference_exists(id, part, bytes)?;
            check_reference_type(id, part, bytes)
        };
        differences(old.all_pairs(), new.all_pairs(), by_place, |before, after| {
            let Some((field, key, value)) = after else { return Ok(()) };
            // A key that belongs to no field is carried along as it is.
            let Some(field) = new.object_type().field_by_storage_id(field) else { return Ok(()) };
            let (new_key, new_value) =
                (before.is_none(), before.is_none_or(|before| before.2 != value));
            // Only the parts that are new are checked: others may refer to objects that are missing
            // by now.
            match &field.kind {
                ResolvedKind::Simple(_) if new_value => check(field, value),
                ResolvedKind::List { element } if new_value => check(element, value),
                ResolvedKind::Set { element } if new_key => check(element, key),
                ResolvedKind::Map { key: keys, value: values } if new_value => {
                    // The key was there before, so only the value is new.
                    if new_key {
                        check(keys, key)?;
                    }
                    check(values, value)
                }
                _ => Ok(()),
            }
        })
    }

    /// Refuses content with references that are not allowed.
    pub(crate) fn check_references(&self, id: ObjId, data: &ObjectData) -> Result<()> {
        data.each_reference(|field, bytes| {
            self.check_reference_exists(id, field, bytes)?;
            check_reference_type(id, field, bytes)
        })
    }

    /// Changes the content of an object from `old` to `new`, which must have the same type, and
    /// queues the changes for listeners. Call it inside [`Transaction::mutate`].
    pub(in crate::object) fn change_content(
        &self,
        id: ObjId,
        old: &ObjectData,
        new: &ObjectData,
        changes: CollectionChanges,
    ) -> Result<()> {
        self.write_differences(id, old, new, None)?;
        self.note_differences(id, old, new);
        self.queue_differences(id, old, new, changes)
    }

    /// Notes which fields differ between two contents of an object. Both must have the same type.
    fn note_differences(&self, id: ObjId, old: &ObjectData, new: &ObjectData) {
        // The comparison is saved if no rule asks for it.
        if !self.dirty_set.watches(id) {
            return;
        }
        for field in &new.object_type().fields {
            if !old.pairs(field).eq(new.pairs(field)) {
                self.dirty_set.field(id, field.storage_id, new.simple_or_default(field));
                self.dirty_set.pairs(id, field.storage_id, new.pairs(field));
            }
        }
    }

    /// Queues for listeners the differences between two contents of an object. Both must have the
    /// same type.
    pub(in crate::object) fn queue_differences(
        &self,
        id: ObjId,
        old: &ObjectData,
        new: &ObjectData,
        changes: CollectionChanges,
    ) -> Result<()> {
        let object_type = old.object_type();
        if !self.watches_content(object_type) {
            return Ok(());
        }
        for field in &object_type.fields {
            if self.is_monitored(object_type, field) {
                content_changes(field, old, new, changes, &mut |kind| {
                    self.queue_change(id, object_type, field, kind);
                })?;
            }
        }
        Ok(())
    }

    /// Writes the pairs and index entries that differ between two contents of an object. Their
    /// types may be in different schemas. Index entries are added to `late`, if it is given.
    pub(in crate::object) fn write_differences(
        &self,
        id: ObjId,
        old: &ObjectData,
        new: &ObjectData,
        late: Option<&mut LateEntries>,
    ) -> Result<()> {
        let (old_entries, new_entries) = (KeyList::entries(old, id)?, KeyList::entries(new, id)?);
        // All keys are checked before the first write, so that a refusal leaves nothing half done.
        for key in new_entries.iter() {
            let checked = self.store.check_key(key);
            checked.map_err(|error| error.about(|| describe_entry(id, new.object_type(), key)))?;
        }
        // The common case if only indexes differ.
        if !old.has_pairs_of(new) {
            self.write_pairs(id, old, new)?;
        }
        self.write_entries(&old_entries, &new_entries, late)
    }

    /// Writes the pairs that differ between two contents of an object.
    fn write_pairs(&self, id: ObjId, old: &ObjectData, new: &ObjectData) -> Result<()> {
        self.check_content_keys(id, new)?;
        let at = |field, rest: &[u8]| layout::content_key(id, field, rest);
        differences(old.all_pairs(), new.all_pairs(), by_place, |before, after| {
            let (mut old_count, mut count) = ([0; 8], [0; 8]);
            match (before, after) {
                (Some((field, rest, value)), None) => {
                    let value =
                        self.stored_form(old.object_type(), field, value, &mut old_count)?;
                    self.store.remove(&at(field, rest), Undo::Old(value))
                }
                (before, Some((field, rest, value))) => {
                    // The pair is the same, so it is not written.
                    if before.is_some_and(|(_, _, before)| before == value) {
                        return Ok(());
                    }
                    let value = self.stored_form(new.object_type(), field, value, &mut count)?;
                    let undo = match before {
                        Some((_, _, before)) => Undo::Old(self.stored_form(
                            old.object_type(),
                            field,
                            before,
                            &mut old_count,
                        )?),
                        None => Undo::Absent,
                    };
                    self.store.put(&at(field, rest), value, undo).map_err(|error| {
                        error.about(|| match new.object_type().field_by_storage_id(field) {
                            Some(field) => describe(id, field),
                            None => format!("field #{field} of {}", self.named(id)),
                        })
                    })
                }
                (None, None) => Ok(()),
            }
        })
    }
}

/// Passes to `queue` the differences between two contents of a field.
fn content_changes(
    field: &Arc<ResolvedField>,
    old: &ObjectData,
    new: &ObjectData,
    changes: CollectionChanges,
    queue: &mut dyn FnMut(ChangeKind),
) -> Result<()> {
    let refers = || field.sub_fields().any(|part| part.is_reference());
    match &field.kind {
        ResolvedKind::Simple(_) => {
            // Most fields are the same. This is seen without looking up defaults.
            if old.stored(field) == new.stored(field) {
                return Ok(());
            }
            let (old, new) = (old.simple(field)?, new.simple(field)?);
            // A stored value can equal the default that the other content has without a pair.
            if old != new {
                queue(ChangeKind::Simple { old: old.into(), new: new.into() });
            }
            Ok(())
        }
        ResolvedKind::Counter => Ok(()),
        ResolvedKind::List { .. } => {
            list_changes(field, old, new, queue);
            Ok(())
        }
        // As in Java, a copy with other IDs clears collections of references and fills them again.
        ResolvedKind::Set { .. } if changes == CollectionChanges::ClearedAndFilled && refers() => {
            if old.pairs(field).len() > 0 {
                queue(ChangeKind::SetClear);
            }
            new.pairs(field)
                .for_each(|(value, _)| queue(ChangeKind::SetAdd { value: value.into() }));
            Ok(())
        }
        ResolvedKind::Map { .. } if changes == CollectionChanges::ClearedAndFilled && refers() => {
            if old.pairs(field).len() > 0 {
                queue(ChangeKind::MapClear);
            }
            new.pairs(field).for_each(|(key, value)| {
                queue(ChangeKind::MapAdd { key: key.into(), value: value.into() });
            });
            Ok(())
        }
        ResolvedKind::Set { .. } => {
            differences(old.pairs(field), new.pairs(field), by_key, |before, after| {
                match (before, after) {
                    (Some((value, _)), None) => {
                        queue(ChangeKind::SetRemove { value: value.into() });
                    }
                    (None, Some((value, _))) => queue(ChangeKind::SetAdd { value: value.into() }),
                    _ => {}
                }
                Ok(())
            })
        }
        ResolvedKind::Map { .. } => {
            differences(old.pairs(field), new.pairs(field), by_key, |before, after| {
                match (before, after) {
                    (Some((key, value)), None) => {
                        queue(ChangeKind::MapRemove { key: key.into(), value: value.into() });
                    }
                    (None, Some((key, value))) => {
                        queue(ChangeKind::MapAdd { key: key.into(), value: value.into() });
                    }
                    (Some((key, old)), Some((_, new))) if old != new => {
                        queue(ChangeKind::MapReplace {
                            key: key.into(),
                            old: old.into(),
                            new: new.into(),
                        });
                    }
                    _ => {}
                }
                Ok(())
            })
        }
    }
}

fn by_place(a: &Pair<'_>, b: &Pair<'_>) -> Ordering {
    (a.0, a.1).cmp(&(b.0, b.1))
}

fn by_key(a: &(&[u8], &[u8]), b: &(&[u8], &[u8])) -> Ordering {
    a.0.cmp(b.0)
}

fn list_changes(
    field: &ResolvedField,
    old: &ObjectData,
    new: &ObjectData,
    queue: &mut dyn FnMut(ChangeKind),
) {
    let (old_len, new_len) = (old.pairs(field).len(), new.pairs(field).len());
    let mut index = 0;
    for ((_, old), (_, new)) in old.pairs(field).zip(new.pairs(field)) {
        if old != new {
            queue(ChangeKind::ListReplace { index, old: old.into(), new: new.into() });
        }
        index += 1;
    }
    // As when the list itself is cleared: one change, not one for each element.
    if new_len == 0 && old_len > 0 {
        queue(ChangeKind::ListClear);
        return;
    }
    for (_, value) in old.pairs(field).skip(new_len) {
        queue(ChangeKind::ListRemove { index, value: value.into() });
        index += 1;
    }
    for (_, value) in new.pairs(field).skip(old_len) {
        queue(ChangeKind::ListAdd { index, value: value.into() });
        index += 1;
    }
}
