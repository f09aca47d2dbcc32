//! Deleting objects (docs/src/objects.md#references-and-deletion).

use std::ops::ControlFlow;
use std::sync::Arc;

use super::cascade::{Cascade, DeletionStep, Tell, Todo};
use super::check::field_or_part;
use super::incoming::Incoming;
use super::remove::AtOnce;
use super::unreference::Unreference;
use crate::id::{ObjId, StorageId};
use crate::object::notify::Happened;
use crate::object::whole_object::ObjectData;
use crate::object::{Error, RefusedDeletion, Result, Transaction};
use crate::schema::DeleteAction;

impl Unreference {
    pub(super) fn step(self, holder: ObjId, field: StorageId, target: ObjId) -> DeletionStep {
        match self {
            Unreference::Nullify => DeletionStep::Nullified { holder, field, target },
            Unreference::Remove => DeletionStep::Removed { holder, field, target },
        }
    }
}

/// Deleting objects.
impl Transaction {
    /// Deletes an object. Returns `false` if there is no such object, or if it is already being
    /// deleted.
    ///
    /// Each field that refers to the object decides what happens: nothing, refuse the deletion, set
    /// the reference to null, remove the element or entry, or delete the referring object too.
    /// Objects to which the deleted object refers through a field with forward deletion are also
    /// deleted. Which objects go depends on what refers to what at the beginning, and on what
    /// listeners to deletions change.
    ///
    /// A reference that forbids the deletion of its target refuses all of it if it is still there
    /// at the end: an object that goes too forbids nothing. Then, or if a listener to deletions
    /// fails, nothing changes. If an object of its type cannot go with the given one, by the
    /// recorded schemas, the deletion is refused as soon as the reference is found, unless a
    /// reference that may go was found before, or a listener that may be called in the deletion
    /// could let go of the object. Of several references that refuse it, the error names the first:
    /// in the order of deletion, then of the storage IDs of the fields, then of the IDs of the
    /// objects that refer.
    ///
    /// Objects are deleted one after the other, without recursion, in no defined order. In maps
    /// whose keys and values are references, references become null, or entries are removed, after
    /// all objects are gone. If several keys of a map become null, the entry with the lowest
    /// encoded value stays, or one that forbids the deletion. Until its end, the operation keeps in
    /// memory everything that it removes, so that it can undo this.
    ///
    /// A deletion within a listener is a deletion of its own: objects that forbid it must be
    /// deleted with it.
    ///
    /// Listeners to deletions are called before each object is deleted. Listeners to fields are
    /// called after the whole deletion: for the changes in referring objects, and for the changes
    /// that listeners to deletions made, in the order of these changes.
    ///
    /// An object counts as referring if its content says so. An index entry without matching
    /// content is damage: it is ignored and left where it is, so that a check of the database can
    /// find it.
    ///
    /// Cost per deleted object:
    ///
    /// * one scan of its pairs and one range removal, both with one descent on LMDB. This also
    ///   finds out whether there is such an object, unless a field may forbid the deletion or
    ///   listeners to deletions are called;
    /// * one delete for each index entry;
    /// * one seek for each reference field, in any type, that may refer to the object. Fields that
    ///   keep references to deleted objects (`ignore`) cost nothing. If schemas demand different
    ///   actions for a field, one seek for each action. One more for each field through which an
    ///   object forbade the deletion, at the end; if there are listeners to deletions, for each
    ///   field that may forbid it. One get then for each half of a map with references in both
    ///   halves, if objects refer to it by that half, and one get for each entry that does so; one
    ///   seek for each object that does so by values;
    /// * one get for each referring object that is also deleted; if it refers from list elements or
    ///   map values, one seek and at least one get;
    /// * what the changes in other referring objects cost, as with [`Transaction::set`] and the
    ///   views of collections.
    ///
    /// On stores that are on this machine and need not detect conflicts, such as LMDB, many
    /// referring objects are changed or deleted together, if no listener watches that. Then a
    /// referring object that is also deleted needs no get. For a reference that is made null, if
    /// the field is in no composite index, the object and its field are found with one seek and a
    /// few steps, or by steps alone if they come soon after the ones before. The entries of all in
    /// the index of the field are removed as one range.
    ///
    /// # Errors
    /// [`Error::ReferencedObject`] if a referring object forbids it; [`Error::UnknownEncoding`] if
    /// an indexed field has its default value, and the encoding that defines it is not known;
    /// [`Error::Inconsistent`] or [`Error::InvalidObjectVersion`] if the meta-data are damaged.
    /// Errors of listeners. If a listener to fields fails, its error is returned, but the objects
    /// stay deleted.
    pub fn delete(&self, id: ObjId) -> Result<bool> {
        self.delete_and_tell(id, None)
    }

    fn delete_and_tell(&self, id: ObjId, tell: Option<Tell<'_>>) -> Result<bool> {
        self.check_open()?;
        // A listener may try to delete the object for whose deletion it was called. This does
        // nothing.
        if self.being_deleted.contains(id) {
            return Ok(false);
        }
        self.run_deletion(&[id], Cascade::new(Some(id), tell))
    }

    /// Deletes these objects, with all that must go with them, or nothing. Returns `false` if there
    /// are no such objects.
    fn run_deletion(&self, ids: &[ObjId], mut cascade: Cascade<'_>) -> Result<bool> {
        self.operation_then_tell(|| {
            let cascade = &mut cascade;
            let delete = |id, cascade: &mut Cascade<'_>| {
                self.delete_and_queue(id, cascade).map_err(self.in_deletion_of(id))
            };
            let mut found = false;
            for &id in ids {
                found |= delete(id, cascade)?;
            }
            // A queue instead of recursion: a chain of references can be longer than the stack is
            // deep.
            while let Some(next) = cascade.todo.pop_front() {
                match next {
                    Todo::Object(id) => drop(delete(id, cascade)?),
                    Todo::Referrers { field, target, holders } => {
                        self.delete_referrers(&holders, field, target, cascade)?;
                    }
                }
            }
            // Maps change before the judgement: an entry that goes can hold a reference that
            // forbids the deletion.
            self.change_maps(cascade)?;
            self.judge(cascade)?;
            Ok(found)
        })
    }

    /// Makes an error say which object was being deleted.
    pub(super) fn in_deletion_of(&self, id: ObjId) -> impl Fn(Error) -> Error {
        move |error| error.about(|| format!("deletion of {}", self.named(id)))
    }

    /// Deletes one object, and makes references to it null or removes them where the fields ask for
    /// that. Adds the objects that must be deleted with it to `todo`, and does not delete them
    /// itself. Returns `false` if there is no such object.
    pub(super) fn delete_and_queue(&self, id: ObjId, cascade: &mut Cascade<'_>) -> Result<bool> {
        // A hook for its deletion has led here. Those after it are called for it first, then it is
        // deleted.
        if self.being_deleted.is_calling_hooks(id) {
            return Ok(false);
        }
        let (data, incoming) = match self.remove_at_once(id)? {
            AtOnce::Removed(data, incoming) => (data, incoming),
            AtOnce::Nothing => return Ok(false),
            AtOnce::No => match self.remove_after_listeners(id, cascade)? {
                Some(removed) => removed,
                None => return Ok(false),
            },
        };
        self.queue_after_removal(id, &data, &incoming, cascade)?;
        Ok(true)
    }

    /// Does the work after the removal of an object that contained `data` and to which the fields
    /// of `incoming` may refer.
    pub(super) fn queue_after_removal(
        &self,
        id: ObjId,
        data: &ObjectData,
        incoming: &[Incoming],
        cascade: &mut Cascade<'_>,
    ) -> Result<()> {
        self.note_happened(id, Happened::Deleted);
        // An outer deletion of this same object may have called a listener. That listener may have
        // begun the present deletion, for example by deleting another object that leads here. Then
        // the mark of the outer deletion is still set. It must go: the object is deleted now, a new
        // object may get its ID, and it must be possible to delete that one.
        self.being_deleted.leave(id);
        // The step is told when the object is gone, and before the steps that follow from that.
        cascade.tell(DeletionStep::Deleted { id })?;
        // `forward_delete`: the objects to which the deleted one referred. `delete` deletes them
        // later, from `todo`.
        data.each_reference(|field, bytes| {
            if field.reference().is_some_and(|reference| reference.forward_delete)
                && let Ok(Some(target)) = super::check::target_of(bytes)
            {
                cascade.todo.push_back(Todo::Object(target));
            }
            Ok(())
        })?;
        for (action, change) in [
            (DeleteAction::Nullify, Unreference::Nullify),
            (DeleteAction::Remove, Unreference::Remove),
        ] {
            for field in incoming {
                let holders = self.asking_holders(field, id, action)?;
                // Until all objects are gone, the other half of an entry says what else must go.
                if field.shares_entries {
                    cascade.in_maps.push(self.changes_in_maps(holders, field.field, id, change)?);
                } else {
                    self.unreference_in(&holders, field.field, id, change, cascade)?;
                }
            }
        }
        // Holders that go are only listed here. They go later, so that no recursion follows the
        // references.
        for field in incoming {
            let holders = self.asking_holders(field, id, DeleteAction::Delete)?;
            let later = cascade.tell.is_none() && self.deletes_referrers_later();
            if later && !holders.is_empty() {
                cascade.todo.push_back(Todo::Referrers { field: field.field, target: id, holders });
                continue;
            }
            for holder in holders {
                // An index entry without matching content is damage, so the content decides.
                if self.refers(holder, field.field, id)? {
                    cascade.todo.push_back(Todo::Object(holder));
                }
            }
        }
        Ok(())
    }

    /// Makes the references of `holders` to a deleted object null, or removes them, and tells this.
    pub(super) fn unreference_in(
        &self,
        holders: &[ObjId],
        field: StorageId,
        target: ObjId,
        change: Unreference,
        cascade: &mut Cascade<'_>,
    ) -> Result<()> {
        // Without `tell`, it need not be found out which objects did refer.
        if cascade.tell.is_none() {
            return self.unreference_all(holders, field, target, change, &mut cascade.null_keys);
        }
        for &holder in holders {
            // An index entry without matching content is damage, so the content decides.
            // This is asked before the change, which removes the answer.
            let is_told = self.refers(holder, field, target)?;
            self.unreference(holder, field, target, change, &mut cascade.null_keys)?;
            if is_told {
                cascade.tell(change.step(holder, field, target))?;
            }
        }
        Ok(())
    }

    /// The error for an object that cannot be deleted. `asked_for` is the one whose deletion was
    /// asked for.
    pub(super) fn referenced(
        &self,
        id: ObjId,
        referrer: ObjId,
        field: StorageId,
        asked_for: Option<ObjId>,
    ) -> Error {
        // The type of the referrer may be unreadable. The error then names the field by its number.
        let object_type = self.object_type(referrer).ok();
        let part = object_type.as_deref().and_then(|object_type| field_or_part(object_type, field));
        let (name, full_name) = match part {
            Some((_, part)) => (Arc::clone(&part.name), Arc::clone(&part.full_name)),
            None => {
                let number: Arc<str> = format!("#{field}").into();
                (Arc::clone(&number), number)
            }
        };
        // The same field in the transaction's schema, where another rule may apply.
        let schema = self.schema();
        let here = schema.type_by_storage_id(referrer.storage_id());
        let rule = here.and_then(|here| field_or_part(here, field)?.1.reference());
        let allowed = rule.is_some_and(|rule| rule.inverse_delete != DeleteAction::Exception);
        let other_rule = object_type.as_deref().filter(|_| allowed).map(|it| it.schema_of);
        // If the object itself was to be deleted, there is no other one to name.
        let asked_for = asked_for.filter(|asked_for| *asked_for != id);
        let asked_for = asked_for.map(|asked_for| (asked_for, self.type_name_of(asked_for)));
        let (type_name, referrer_type) = (self.type_name_of(id), self.type_name_of(referrer));
        Error::ReferencedObject {
            id,
            type_name,
            referrer,
            referrer_type,
            field: name,
            full_name,
            of: Box::new(RefusedDeletion { other_rule, asked_for }),
        }
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// Deletes an object like [`Transaction::delete`], and calls `tell` with each thing that this
    /// does, after it is done. Deletions that listeners make are not passed to `tell`.
    ///
    /// `tell` must not use the transaction. If it fails, everything is undone, so it can stop a
    /// long deletion. If the deletion is refused, `tell` gets the reference that forbids it, then
    /// the deletion fails. Cost: that of [`Transaction::delete`], and one or more gets for each
    /// referring object that stays.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use permazen::encoding::Value;
    /// use permazen::kv::memory::MemoryStore;
    /// use permazen::object::{Database, Migrate, TransactionConfig};
    /// use permazen::__internal::object::DeletionStep;
    /// use permazen::schema::{DeleteAction, Field, ObjectType, SchemaModel, Simple};
    ///
    /// let boss = Simple::reference().on_delete(DeleteAction::Nullify);
    /// let person = ObjectType::new("Person").field(Field::new("boss", boss));
    /// let config = TransactionConfig::new(SchemaModel::new().object_type(person))?;
    /// let db = Database::new(Arc::new(MemoryStore::new()));
    /// let tx = db.begin(&config)?;
    /// let [ann, bob] = [tx.create("Person")?, tx.create("Person")?];
    /// tx.set(bob, "boss", &Value::Ref(ann), Migrate::No)?;
    ///
    /// let mut steps = Vec::new();
    /// tx.delete_telling(ann, &mut |step| Ok(steps.push(step)))?;
    /// let field = tx.field_storage_id("Person", "boss")?;
    /// assert_eq!(steps, [
    ///     DeletionStep::Deleted { id: ann },
    ///     DeletionStep::Nullified { holder: bob, field, target: ann },
    /// ]);
    /// # Ok::<(), permazen::object::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::delete`] and of `tell`.
    pub fn delete_telling(
        &self,
        id: ObjId,
        tell: &mut dyn FnMut(DeletionStep) -> Result<()>,
    ) -> Result<bool> {
        self.delete_and_tell(id, Some(tell))
    }

    /// Deletes several objects as one deletion: they may forbid each other's deletion. Does nothing
    /// for IDs that no object has.
    ///
    /// `tell` gets each thing that this does, as by [`Transaction::delete_telling`]. If something
    /// forbids it, `tell` gets all that does so ([`DeletionStep::Refused`]), after the other steps.
    /// Then this fails with the first, and everything is undone. So what the deletion would do, and
    /// all that forbids it, can be found out by undoing it.
    ///
    /// Cost: that of [`Transaction::delete_telling`] for each of them.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use permazen::encoding::Value;
    /// use permazen::kv::memory::MemoryStore;
    /// use permazen::object::{Database, Migrate, TransactionConfig};
    /// use permazen::schema::{Field, ObjectType, SchemaModel, Simple};
    ///
    /// // A friend forbids the deletion.
    /// let person = ObjectType::new("Person").field(Field::new("friend", Simple::reference()));
    /// let config = TransactionConfig::new(SchemaModel::new().object_type(person))?;
    /// let db = Database::new(Arc::new(MemoryStore::new()));
    /// let tx = db.begin(&config)?;
    /// let [ann, bob] = [tx.create("Person")?, tx.create("Person")?];
    /// tx.set(ann, "friend", &Value::Ref(bob), Migrate::No)?;
    /// tx.set(bob, "friend", &Value::Ref(ann), Migrate::No)?;
    ///
    /// assert!(tx.delete(ann).is_err());
    /// tx.delete_together(&[ann, bob], &mut |_| Ok(()))?;
    /// assert!(tx.all_objects()?.is_empty()?);
    /// # Ok::<(), permazen::object::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::delete`] and of `tell`.
    pub fn delete_together(
        &self,
        ids: &[ObjId],
        tell: &mut dyn FnMut(DeletionStep) -> Result<()>,
    ) -> Result<()> {
        self.check_open()?;
        // As in `delete`, an object that is being deleted already is left to that deletion.
        let ids = ids.iter().copied().filter(|id| !self.being_deleted.contains(*id));
        let ids: Vec<ObjId> = ids.collect();
        self.run_deletion(&ids, Cascade::new(None, Some(tell))).map(drop)
    }

    /// Shows `visit` what may forbid the deletion of an object: each other object that refers to it
    /// through a field that forbids it, and the storage ID of that field or sub-field. An object
    /// that is deleted with it forbids nothing; [`Transaction::delete_together`] says which ones
    /// are not. Stops when `visit` returns `Break`. An object that refers to it through several
    /// elements of a collection is shown once for that field.
    ///
    /// Cost: one seek for each field, in any type, that may forbid it; one step and up to two gets
    /// for each object that refers through it.
    ///
    /// # Errors
    /// The errors of the store; [`Error::Inconsistent`] or [`Error::InvalidObjectVersion`] if the
    /// meta-data are damaged.
    pub fn each_refusal(
        &self,
        id: ObjId,
        visit: &mut dyn FnMut(ObjId, StorageId) -> ControlFlow<()>,
    ) -> Result<()> {
        self.check_open()?;
        for field in &*self.incoming() {
            let visit = &mut |holder| visit(holder, field.field);
            if self.each_refusing_holder(field, id, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
