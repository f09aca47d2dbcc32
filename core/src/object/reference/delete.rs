//! Deleting objects (transactions §9).

use std::collections::VecDeque;
use std::sync::Arc;

use permazen_kv::KeySpan;

use super::check::{NULL, field_or_part};
use super::unreference::Unreference;
use crate::encoding::{Reader, uint};
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::whole::ObjectData;
use crate::object::{Error, Result, Transaction};
use crate::schema::{DeleteAction, ResolvedType};

/// Deleting objects.
impl Transaction<'_> {
    /// Deletes an object and does to everything that refers to it what the referring fields ask for:
    /// nothing, refuse, set to null, remove the element or entry, or delete the referring object too.
    /// What the object itself refers to through a field with forward deletion is deleted as well. False
    /// if there is no such object, or it is being deleted already.
    ///
    /// If any of these deletions is refused, or a listener to deletions fails, nothing has changed.
    /// Objects go one after the other, without recursion; their order is not defined. Until the end of
    /// the operation everything removed is kept in memory, to be able to undo it.
    ///
    /// Listeners to deletions are told before each object goes. Listeners to fields are told of the
    /// changes in referring objects, and of those that listeners to deletions make, when the whole
    /// deletion stands, in the order in which the changes were made.
    ///
    /// An object counts as referring if its content says so. An index entry that no content stands
    /// behind is damage: it is passed over and left for a check to find.
    ///
    /// Cost per object: one scan of its pairs and one range removal; one delete for each index entry;
    /// one seek for each reference field of any type that may refer to it (unless dangling references
    /// are left), one more for each action that different schemas ask for, and again for refusals after
    /// listeners were told; one get for each referring object that is deleted too; and what the changes
    /// in other referring objects cost: as those of [`Transaction::set`] and of the views of collections.
    ///
    /// # Errors
    /// [`Error::ReferencedObject`] if a referring object forbids it; [`Error::UnknownEncoding`] if an
    /// indexed field has its default value, which is not known; damaged meta-data; those of listeners.
    /// After an error of a listener to a field the deletion stands.
    pub fn delete(&self, id: ObjId) -> Result<bool> {
        self.check_open()?;
        if self.deletions.contains(id) {
            return Ok(false);
        }
        self.operation_then_tell(|| {
            let mut todo = VecDeque::from([id]);
            let mut found = false;
            while let Some(id) = todo.pop_front() {
                found |= self
                    .delete_one(id, &mut todo)
                    .map_err(|error| error.about(|| format!("deletion of object {id}")))?;
            }
            Ok(found)
        })
    }

    fn delete_one(&self, id: ObjId, todo: &mut VecDeque<ObjId>) -> Result<bool> {
        let mut entered = None;
        let (object_type, incoming) = loop {
            // Listeners may have recorded schemas with further reference fields.
            let incoming = self.incoming();
            let info = match self.find_info(id) {
                Ok(Some(info)) => info,
                Ok(None) | Err(Error::UnknownType { .. }) => return Ok(false),
                Err(error) => return Err(error),
            };
            let object_type = self.type_of_info(id, info)?;
            for field in &*incoming {
                if let Some(referrer) = self.refusing_holder(field, id)? {
                    return Err(self.referenced(id, referrer, field.field));
                }
            }
            let first_time = self.deletions.enter(id);
            let told = first_time.is_some() && self.notifier.watches_deletion(id.storage_id());
            entered = entered.or(first_time);
            if !told {
                break (object_type, incoming);
            }
            self.tell_deleting(id)?;
        };
        let data = self.remove_object(id, &object_type)?;
        drop(entered);
        // It may have been entered by a deletion around this one. Another object may get its id now, and be deleted.
        self.deletions.leave(id);
        data.each_reference(|field, bytes| {
            let reference = field.simple().and_then(|simple| simple.reference.as_ref());
            if reference.is_some_and(|reference| reference.forward_delete)
                && let Ok(Some(target)) = super::check::target_of(bytes)
            {
                todo.push_back(target);
            }
            Ok(())
        })?;
        for (action, change) in [
            (DeleteAction::Nullify, Unreference::Nullify),
            (DeleteAction::Remove, Unreference::Remove),
        ] {
            for field in &*incoming {
                for holder in self.asking_holders(field, id, action)? {
                    self.unreference(holder, field.field, id, change)?;
                }
            }
        }
        for field in &*incoming {
            for holder in self.asking_holders(field, id, DeleteAction::Delete)? {
                if self.refers(holder, field.field, id)? {
                    todo.push_back(holder);
                }
            }
        }
        Ok(true)
    }

    fn referenced(&self, id: ObjId, referrer: ObjId, field: StorageId) -> Error {
        let object_type = self.object_type(referrer).ok();
        let part = object_type.as_deref().and_then(|object_type| field_or_part(object_type, field));
        let (name, full_name) = match part {
            Some((_, part)) => (part.name.to_string(), part.full_name.to_string()),
            None => (format!("#{field}"), format!("#{field}")),
        };
        Error::ReferencedObject { id, referrer, field: name, full_name }
    }

    /// Takes the references to `target` out of a field of `holder`, if both still are.
    fn unreference(
        &self,
        holder: ObjId,
        field: StorageId,
        target: ObjId,
        change: Unreference,
    ) -> Result<()> {
        if !self.exists(holder)? {
            return Ok(());
        }
        let object_type = self.object_type(holder)?;
        let Some(own) = object_type.field_by_storage_id(field) else {
            return self.unreference_in_collection(holder, field, target, change);
        };
        let Some(simple) = own.simple() else { return Ok(()) };
        let target = Some(&target.as_bytes()[..]);
        self.mutate(|| self.exchange_simple(holder, &object_type, own, simple, target, NULL))
    }

    /// Removes an object's pairs and index entries; returns what it was.
    pub(in crate::object) fn remove_object(
        &self,
        id: ObjId,
        object_type: &Arc<ResolvedType>,
    ) -> Result<ObjectData> {
        let mut data = ObjectData::new(Some(id), Arc::clone(object_type));
        let end = layout::prefix_end(id.as_bytes());
        let span = KeySpan::new(id.as_bytes(), end.as_deref());
        self.store.remove_span_with(span, |key, value| {
            let content = key.get(ObjId::LEN..).unwrap_or_default();
            let mut reader = Reader::new(content);
            // Only fields in the form they are written in: they alone ascend, and are part of the object.
            if let Ok(Some(id)) = uint::read(&mut reader).map(StorageId::new)
                && let Some(field) = object_type.field_by_storage_id(id)
                && content.starts_with(&field.key)
            {
                data.push_pair(id, reader.rest(), value);
            }
            Ok(())
        })?;
        data.each_entry(id, |entry| self.store.remove_entry(entry))?;
        self.store.remove_entry(&layout::object_schema_key(object_type.schema, id))?;
        self.forget(id);
        Ok(data)
    }
}
