//! Creating many objects in one operation: their pairs are written in the order of their keys,
//! which stores do fastest.

use std::borrow::Cow;

use super::data::{KeyList, ObjectData};
use super::generate_id::NewId;
use crate::id::ObjId;
use crate::layout;
use crate::object::{Error, Result, Transaction};

/// This number of objects is written at a time: first their own pairs, then their index entries.
const BATCH: usize = 1 << 14;

impl Transaction {
    /// Creates the objects one after the other, so that listeners are called for each in its turn.
    fn create_each(&self, objects: &[ObjectData]) -> Result<Vec<ObjId>> {
        // With an ID that is drawn, an object is always created.
        let create = |object| self.create_with(None, object).transpose();
        let create_all = || self.operation(|| objects.iter().filter_map(create).collect());
        self.creating(create_all, |ids: &Vec<ObjId>| ids.clone())
    }

    fn put_many(&self, objects: &[ObjectData]) -> Result<Vec<ObjId>> {
        let mut ids = Vec::with_capacity(objects.len());
        let mut entries = KeyList::default();
        // The keys of a batch are sorted in memory, so batches have a limited length.
        for objects in objects.chunks(BATCH) {
            let first = ids.len();
            let mut recorded = Vec::with_capacity(objects.len());
            for object in objects {
                object.check_lists()?;
                let object = self.as_recorded(object)?;
                let id = self.shared.random_id(object.object_type().storage_id)?;
                // All objects of a batch are checked before any of them is written.
                let checked = self.check_references(id, &object);
                let checked = checked.and_then(|()| self.check_keys(id, &object));
                checked.map_err(|error| error.about(|| format!("new {}", self.named(id))))?;
                ids.push(id);
                recorded.push(object);
            }
            self.put_batch(&recorded, ids.get_mut(first..).unwrap_or_default(), &mut entries)?;
        }
        Ok(ids)
    }

    /// Puts objects, as this database records them, with IDs that were drawn for them. Those whose
    /// IDs are taken get others.
    fn put_batch(
        &self,
        objects: &[Cow<'_, ObjectData>],
        ids: &mut [ObjId],
        entries: &mut KeyList,
    ) -> Result<()> {
        let objects = objects.iter().map(Cow::as_ref);
        let mut in_order: Vec<(&mut ObjId, &ObjectData)> =
            ids.iter_mut().zip(objects.clone()).collect();
        // Stores take keys fastest in order, and the IDs are random.
        in_order.sort_unstable_by_key(|(id, _)| **id);
        for (id, object) in &mut in_order {
            let put = self.put_own_pair(NewId::Drawn(**id), object.object_type());
            let put = put.and_then(|put| {
                // If the drawn ID was taken, the object has another one now.
                **id = put;
                self.put_content(put, object)
            });
            put.map_err(|error| error.about(|| format!("new {}", self.named(**id))))?;
        }
        entries.clear();
        let mut key = self.buffer();
        for (id, object) in &in_order {
            let schema = object.object_type().schema;
            key.clear();
            layout::append_object_schema_key(schema, **id, &mut key);
            let put = self.store.put_entry(&key);
            put.map_err(|error| error.about(|| format!("new {}", self.named(**id))))?;
            self.note_put_in(schema);
            object.each_entry(**id, |entry| {
                entries.push(entry);
                Ok(())
            })?;
        }
        entries.sort();
        for entry in entries.iter() {
            self.store.put_entry(entry).map_err(|error| self.of_entry(entry, &in_order, error))?;
        }
        // The objects are noted in the order in which they were given, as if each were created
        // alone.
        for (id, object) in ids.iter().zip(objects) {
            self.note_new(*id, object);
        }
        Ok(())
    }

    /// The error of an index entry, with the object whose entry it is.
    fn of_entry(&self, entry: &[u8], objects: &[(&mut ObjId, &ObjectData)], error: Error) -> Error {
        let has_it = |(id, object): &&(&mut ObjId, &ObjectData)| {
            let mut found = false;
            let visited = object.each_entry(**id, |key| {
                found |= key == entry;
                Ok(())
            });
            visited.is_ok() && found
        };
        match objects.iter().find(has_it) {
            Some((id, _)) => error.about(|| format!("new {}", self.named(**id))),
            None => error,
        }
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// Creates objects with all their values and random IDs, and returns the IDs in the order of
    /// `objects`. All are created or none.
    ///
    /// This does what [`create_with`](Transaction::create_with) does for one after the other. It is
    /// faster if no listener watches the creation or to fields of these objects: then it writes the
    /// pairs of many objects in the order of their keys.
    ///
    /// Cost: one get for each reference that may not dangle, and one put for each stored pair,
    /// including index entries.
    ///
    /// ```
    /// use permazen::object::{ObjectBuilder, Result, Transaction};
    ///
    /// fn add_people(tx: &Transaction, count: usize) -> Result<Vec<permazen::ObjId>> {
    ///     let person = tx.schema().object_type("Person").expect("in the schema").clone();
    ///     let people: Vec<_> =
    ///         (0..count).map(|_| ObjectBuilder::new(person.clone()).finish()).collect();
    ///     tx.create_many(&people)
    /// }
    /// ```
    ///
    /// # Errors
    /// The errors of [`create_with`](Transaction::create_with), of the first object that has one.
    /// Nothing is created then, not even after the error of a listener. [`Error::DeletedObject`] if
    /// a hook for one of them deletes another one.
    pub fn create_many(&self, objects: &[ObjectData]) -> Result<Vec<ObjId>> {
        self.check_open()?;
        let is_watched = |object: &ObjectData| {
            let object_type = object.object_type();
            self.notifier.watches_creation(object_type.storage_id)
                || self.watches_content(object_type)
        };
        // Listeners may see objects in the middle, so each object must be complete before the next
        // one.
        if objects.iter().any(is_watched) {
            return self.create_each(objects);
        }
        let create = || self.mutate(|| self.put_many(objects));
        self.creating(create, |ids| ids.clone())
    }
}
