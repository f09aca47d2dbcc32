//! Removing one object: its pairs, and its entries in indexes.

use std::cell::Cell;
use std::sync::Arc;

use permazen_kv::{KeySpan, Verdict};

use super::cascade::Cascade;
use super::incoming::Incoming;
use crate::id::ObjId;
use crate::layout;
use crate::object::whole_object::ObjectData;
use crate::object::{Result, Transaction};
use crate::schema::{DeleteAction, ResolvedType};

/// The result of the attempt to remove an object at once.
pub(super) enum AtOnce {
    /// It was removed. It contained this, and these fields may refer to it.
    Removed(ObjectData, Arc<[Incoming]>),
    /// The object does not exist.
    Nothing,
    /// It can be forbidden, or listeners are called before it.
    No,
}

impl Transaction {
    /// The fields that may refer to an object, if it can be removed at once: nothing can forbid
    /// that, and no listener is called before it.
    pub(super) fn incoming_if_at_once(&self, id: ObjId) -> Option<Arc<[Incoming]>> {
        let target_type = id.storage_id();
        // Where changes are refused, `remove_where` would fail for a missing object too.
        if self.notifier.watches_deletion(target_type) || self.store.refuses() {
            return None;
        }
        let incoming = self.incoming();
        // A field that may forbid the deletion must be looked at while the object is still there.
        let forbid = |field: &Incoming| field.may_ask(DeleteAction::Exception, target_type);
        (!incoming.iter().any(forbid)).then_some(incoming)
    }

    /// Removes an object if that can be done at once. Then the scan that removes its pairs is the
    /// first to look whether there is one.
    pub(super) fn remove_at_once(&self, id: ObjId) -> Result<AtOnce> {
        let Some(incoming) = self.incoming_if_at_once(id) else { return Ok(AtOnce::No) };
        // An ID of no known type is not that of an object, whatever pair has it as its key.
        if !self.is_object_type(id.storage_id()) {
            return Ok(AtOnce::Nothing);
        }
        self.prefetch_objects(&[id]);
        let seen = Cell::new(false);
        let type_of = |own: &[u8]| {
            seen.set(true);
            self.type_of_info(id, self.parse_info(id, own)?)
        };
        // An error after the own pair was found already names the object.
        let data = self.remove_pairs(id, type_of).map_err(|error| match seen.get() {
            true => error,
            false => error.about(|| self.named(id)),
        })?;
        let Some(data) = data else { return Ok(AtOnce::Nothing) };
        self.remove_entries(id, &data, &[])?;
        Ok(AtOnce::Removed(data, incoming))
    }

    /// Removes an object after listeners to its deletion were called, and notes what forbids it.
    /// `None` if there is no such object.
    pub(super) fn remove_after_listeners(
        &self,
        id: ObjId,
        cascade: &mut Cascade<'_>,
    ) -> Result<Option<(ObjectData, Arc<[Incoming]>)>> {
        // It may be deleted already: earlier in this operation, or by a listener.
        let Some(info) = self.find_info(id)? else { return Ok(None) };
        // The type is read before listeners are called: damage refuses the deletion before it is
        // told.
        let mut object_type = self.type_of_info(id, info)?;
        // The schemas may change while listeners run, so this list is held.
        let mut incoming = self.incoming();
        for field in &*incoming {
            self.note_refusal(field, id, cascade)?;
        }
        // The mark stays to the end of this function, so that a listener cannot begin this deletion
        // again.
        let entered = self.being_deleted.enter(id);
        // An outer deletion that has led here is calling the listeners, so they are not called
        // again.
        if entered.is_some() && self.notifier.watches_deletion(id.storage_id()) {
            self.tell_deleting(id)?;
            // A listener may have deleted the object, or moved it to another schema.
            let Some(info) = self.find_info(id)? else { return Ok(None) };
            object_type = self.type_of_info(id, info)?;
            // Listeners may have recorded schemas with more reference fields.
            incoming = self.incoming();
        }
        // Listeners may have made new references, so everything that may forbid it is noted again.
        self.note_possible_refusals(&incoming, id, cascade);
        let Some(data) = self.remove_pairs(id, |_| Ok(object_type))? else { return Ok(None) };
        self.remove_entries(id, &data, &[])?;
        Ok(Some((data, incoming)))
    }

    /// Removes the pairs of an object. `type_of` gets the value of its own pair, and must not use
    /// the store. Returns the content of the object; `None` if it does not exist. Cost: one seek, a
    /// step for each pair, and one range removal.
    pub(super) fn remove_pairs(
        &self,
        id: ObjId,
        type_of: impl FnOnce(&[u8]) -> Result<Arc<ResolvedType>>,
    ) -> Result<Option<ObjectData>> {
        let end = layout::prefix_end(id.as_bytes());
        let span = KeySpan::new(id.as_bytes(), end.as_deref());
        let mut type_of = Some(type_of);
        let mut found = None;
        self.store.remove_where(span, |key, value| match (&mut found, type_of.take()) {
            // The own pair is the shortest key of the object, so it comes first if there is an
            // object.
            (None, Some(type_of)) if key == id.as_bytes() => {
                let data = type_of(value).map(|its| ObjectData::with_room(id, &its));
                // Nothing was removed yet, so an error leaves the object as it is.
                let verdict = if data.is_ok() { Verdict::Remove } else { Verdict::Stop };
                found = Some(data);
                verdict
            }
            (Some(Ok(data)), _) => {
                // A key that belongs to no field of the type is not part of the object.
                if let Some((field, rest)) = key.get(ObjId::LEN..).and_then(layout::split_field_key)
                    && data.object_type.field_by_storage_id(field).is_some()
                {
                    data.push_pair(field, rest, value);
                }
                Verdict::Remove
            }
            // There is no object.
            _ => Verdict::Stop,
        })?;
        found.transpose()
    }

    /// Removes the entries in indexes of an object that contained `data`, but not one with the key
    /// `but`. Returns whether there should be one. Cost: one delete for each.
    pub(super) fn remove_entries(&self, id: ObjId, data: &ObjectData, but: &[u8]) -> Result<bool> {
        let mut left = false;
        data.each_entry(id, |entry| {
            if entry == but {
                left = true;
                return Ok(());
            }
            self.store.remove_entry(entry)
        })?;
        // These entries decide which schemas may be dropped as unused.
        self.store.remove_entry(&layout::object_schema_key(data.object_type.schema, id))?;
        self.forget(id);
        Ok(left)
    }

    /// Removes the index entries that begin with `prefix` and end with the IDs of these objects,
    /// which ascend. Others stay. Cost: one seek, one step for each entry from the first object to
    /// the last one, and one range removal, or one delete for each if others are between them.
    pub(super) fn remove_entries_of(&self, prefix: &[u8], objects: &[ObjId]) -> Result<()> {
        let (Some(first), Some(last)) = (objects.first(), objects.last()) else { return Ok(()) };
        let min = [prefix, first.as_bytes()].concat();
        // The zero byte makes the range include the entry of the last object.
        let max = [prefix, last.as_bytes(), &[0]].concat();
        let mut expected = objects.iter().peekable();
        self.store.remove_where(KeySpan::new(&min, Some(&max)), |key, _| {
            let id = key.get(prefix.len()..).unwrap_or_default();
            // Entries may be missing, which is damage. The objects without one are passed over.
            while expected.next_if(|next| &next.as_bytes()[..] < id).is_some() {}
            match expected.next_if(|next| next.as_bytes() == id) {
                Some(_) => Verdict::Remove,
                None => Verdict::Keep,
            }
        })
    }
}
