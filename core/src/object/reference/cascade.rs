//! A running deletion, and whether it may stay.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;

use super::check::field_or_part;
use super::in_maps::{InMaps, is_key};
use super::incoming::Incoming;
use super::null_keys::NullKeys;
use super::types::Going;
use super::unreference::Unreference;
use crate::id::{ObjId, StorageId};
use crate::object::{Result, Transaction};
use crate::schema::DeleteAction;

/// One thing that a deletion has done; see [`Transaction::delete_telling`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeletionStep {
    /// An object was deleted: the given one, or one that must go with it.
    Deleted {
        /// The object.
        id: ObjId,
    },
    /// An object does not refer to a deleted one any more: the references are null now. The object
    /// itself may be deleted later.
    Nullified {
        /// The object that referred to it.
        holder: ObjId,
        /// The storage ID of the field, or of the sub-field of a collection.
        field: StorageId,
        /// The deleted object.
        target: ObjId,
    },
    /// An object does not refer to a deleted one any more: the elements or entries were removed.
    /// The object itself may be deleted later.
    Removed {
        /// The object that referred to it.
        holder: ObjId,
        /// The storage ID of the sub-field.
        field: StorageId,
        /// The deleted object.
        target: ObjId,
    },
    /// An object that stays refers to one that goes, through a field that forbids this. The
    /// deletion fails, and all of it is undone.
    Refused {
        /// The object that refers to it.
        holder: ObjId,
        /// The storage ID of the field, or of the sub-field of a collection.
        field: StorageId,
        /// The object that cannot be deleted.
        target: ObjId,
    },
}

/// The function that is called with the steps of a deletion.
pub(super) type Tell<'t> = &'t mut dyn FnMut(DeletionStep) -> Result<()>;

/// The objects that a deletion has to delete yet.
pub(super) enum Todo {
    /// This object.
    Object(ObjId),
    /// Those of these objects, which have ascending IDs, that refer to a deleted one through a
    /// field.
    Referrers { field: StorageId, target: ObjId, holders: Vec<ObjId> },
}

/// The remaining work of a deletion, and the function that is called with its steps.
pub(super) struct Cascade<'t> {
    /// The objects that must be deleted with those that are gone.
    pub(super) todo: VecDeque<Todo>,
    pub(super) tell: Option<Tell<'t>>,
    /// The changes in maps whose entries hold two references each. They are made when all objects
    /// are gone: until then, the other halves of the entries say what else must be deleted.
    pub(super) in_maps: Vec<InMaps>,
    /// The keys of maps that have become null.
    pub(super) null_keys: NullKeys,
    /// The object that was to be deleted. `None`: several, and everything that forbids it is
    /// searched for.
    only: Option<ObjId>,
    /// Deleted objects, each with a field that forbade the deletion, or may have begun to do so
    /// since.
    noted: Vec<(ObjId, StorageId)>,
    /// The types of objects that can go with the one that was to be deleted.
    going: OnceCell<Going>,
}

impl<'t> Cascade<'t> {
    pub(super) fn new(only: Option<ObjId>, tell: Option<Tell<'t>>) -> Self {
        Cascade {
            todo: VecDeque::new(),
            tell,
            in_maps: Vec::new(),
            null_keys: NullKeys::default(),
            only,
            noted: Vec::new(),
            going: OnceCell::new(),
        }
    }

    pub(super) fn tell(&mut self, step: DeletionStep) -> Result<()> {
        self.tell.as_mut().map_or(Ok(()), |tell| tell(step))
    }
}

impl Transaction {
    /// Notes what forbids the deletion of an object through a field. Whether that refuses the
    /// deletion is known at the end, because the reference that forbids it may go too. Refuses it
    /// at once if this is the first refusal, the referring object cannot go by its type, and no
    /// listener to the deletion can let go of the object.
    pub(super) fn note_refusal(
        &self,
        field: &Incoming,
        id: ObjId,
        cascade: &mut Cascade<'_>,
    ) -> Result<()> {
        // Until the end, listeners may change which objects refer to an object.
        if self.notifier.watches_deletions()
            && cascade.only.is_none_or(|only| only != id || self.tells_of_deletion(only, cascade))
        {
            return Ok(());
        }
        let Some(holder) = self.refusing_holder(field, id)? else { return Ok(()) };
        // `judge` decides.
        // If another reference was noted before, the error may have to name that one.
        // An entry of a map can go with its other half.
        let stays = cascade.noted.is_empty() && !field.shares_entries;
        if let Some(only) = cascade.only.filter(|_| stays)
            && !self.types_that_can_go(only, cascade).contains(holder.storage_id())
        {
            // The step is told before the error undoes everything, so that the caller learns what
            // forbids it.
            cascade.tell(DeletionStep::Refused { holder, field: field.field, target: id })?;
            return Err(self.referenced(id, holder, field.field, cascade.only));
        }
        cascade.noted.push((id, field.field));
        Ok(())
    }

    fn types_that_can_go<'c>(&self, root: ObjId, cascade: &'c Cascade<'_>) -> &'c Going {
        cascade.going.get_or_init(|| self.types_that_can_go_with(root.storage_id()))
    }

    /// Whether listeners may be called in the deletion of an object, for itself or for the objects
    /// that are deleted with it.
    fn tells_of_deletion(&self, root: ObjId, cascade: &Cascade<'_>) -> bool {
        let watches = |object_type| self.notifier.watches_deletion(object_type);
        watches(root.storage_id())
            || match self.types_that_can_go(root, cascade) {
                Going::Any => true,
                // A reference that allows any type can lead to a type whose deletions are watched.
                Going::Of(types) => types.iter().copied().any(watches),
            }
    }

    /// Notes what may forbid the deletion of an object at the end, if listeners to deletions can
    /// make that.
    pub(super) fn note_possible_refusals(
        &self,
        incoming: &[Incoming],
        id: ObjId,
        cascade: &mut Cascade<'_>,
    ) {
        // Without listeners, `note_refusal` has looked already, and nothing can change after it.
        if self.notifier.watches_deletions() {
            let target = id.storage_id();
            // All of its fields are noted now.
            while cascade.noted.pop_if(|(noted, _)| *noted == id).is_some() {}
            let forbid = incoming.iter().filter(|it| it.may_ask(DeleteAction::Exception, target));
            cascade.noted.extend(forbid.map(|field| (id, field.field)));
        }
    }

    /// Makes the changes in maps that waited until all objects were gone. Entries that are to be
    /// removed go before others become null, which may put them in the place of another entry.
    /// Where several keys of a map become null, its values do so before: which entry stays depends
    /// on what its value is then.
    pub(super) fn change_maps(&self, cascade: &mut Cascade<'_>) -> Result<()> {
        let mut in_maps = std::mem::take(&mut cascade.in_maps);
        in_maps.retain(|it| !it.holders.is_empty());
        // A listener may have created another object with the ID of a deleted one. Entries that
        // were put in for that one stay. Without listeners there are none, which saves the look.
        if self.notifier.watches_deletions() {
            for it in &mut in_maps {
                let in_deletion = self.in_deletion_of(it.target);
                if self.exists(it.target).map_err(&in_deletion)? {
                    self.keep_same_entries(it).map_err(&in_deletion)?;
                }
            }
            // These values are found by their keys, so they change before keys become null.
            in_maps.sort_by_key(|it| !it.only_entries);
        }
        let several = self.several_keys(&in_maps)?;
        for (change, last) in [
            (Unreference::Remove, false),
            (Unreference::Nullify, false),
            (Unreference::Nullify, true),
        ] {
            if last && !several.is_empty() {
                // All that may forbid the deletion is noted by now.
                cascade.null_keys.forbidding = cascade.noted.iter().copied().collect();
            }
            for it in in_maps.iter().filter(|it| it.change == change) {
                if it.only_entries {
                    // Only keys can have to wait for the last turn.
                    if !last {
                        self.unreference_entries(it, |holder| {
                            cascade.tell(it.change.step(holder, it.field, it.target))
                        })
                        .map_err(self.in_deletion_of(it.target))?;
                    }
                    continue;
                }
                let holders = it.holders.iter().copied();
                let is_last = |holder| {
                    change == Unreference::Nullify && several.contains(&(holder, it.field))
                };
                let holders: Vec<_> = holders.filter(|holder| is_last(*holder) == last).collect();
                self.unreference_in(&holders, it.field, it.target, change, cascade)
                    .map_err(self.in_deletion_of(it.target))?;
            }
        }
        Ok(())
    }

    /// The objects and fields of maps in which several keys become null.
    fn several_keys(&self, in_maps: &[InMaps]) -> Result<HashSet<(ObjId, StorageId)>> {
        let mut counts: HashMap<_, usize> = HashMap::new();
        for it in in_maps.iter().filter(|it| it.change == Unreference::Nullify) {
            for &holder in &it.holders {
                *counts.entry((holder, it.field)).or_default() += 1;
            }
        }
        let mut several = HashSet::new();
        for (&(holder, field), _) in counts.iter().filter(|(_, count)| **count > 1) {
            let object_type = self.find_info(holder)?.and_then(|info| info.object_type);
            let part = object_type.as_deref().and_then(|its| Some(field_or_part(its, field)?.1));
            // Values that become null stay in entries of their own. Only keys can meet in one
            // entry.
            if part.is_some_and(|part| is_key(part)) {
                several.insert((holder, field));
            }
        }
        Ok(several)
    }

    /// Fails if a reference is left that forbids the deletion. Of several, the error names the
    /// first one: in the order of deletion, then of the fields, then of the objects that refer.
    pub(super) fn judge(&self, cascade: &mut Cascade<'_>) -> Result<()> {
        let noted = std::mem::take(&mut cascade.noted);
        let incoming = self.incoming();
        let mut first = None;
        // `noted` is in the order of deletion, and `incoming` in that of the fields, so the first
        // one found counts.
        for (target, field) in noted {
            // Listeners may have removed the schemas that had the field.
            let Ok(at) = incoming.binary_search_by_key(&field, |it| it.field) else { continue };
            let Some(incoming) = incoming.get(at) else { continue };
            let in_deletion = self.in_deletion_of(target);
            let mut failed = None;
            let searched = self.each_refusing_holder(incoming, target, &mut |holder| {
                // This costs a get, so it is asked only after a reference was found.
                match self.exists(target) {
                    Ok(false) => {}
                    // A listener has created another object with its ID.
                    Ok(true) => return ControlFlow::Break(()),
                    Err(error) => {
                        failed = Some(in_deletion(error));
                        return ControlFlow::Break(());
                    }
                }
                first = first.or(Some((target, holder, field)));
                failed = cascade.tell(DeletionStep::Refused { holder, field, target }).err();
                // Only a deletion of several objects tells all that forbids it. For one object the
                // first is enough.
                match failed.is_none() && cascade.only.is_none() {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            if let Some(error) = searched.map_err(&in_deletion).err().or(failed) {
                return Err(error);
            }
            // The error names the first one, so the others need not be searched for.
            if first.is_some() && cascade.only.is_some() {
                break;
            }
        }
        match first {
            Some((target, holder, field)) => {
                Err(self.referenced(target, holder, field, cascade.only))
            }
            None => Ok(()),
        }
    }
}
