//! `delete`

use std::collections::HashMap;

use permazen::__internal::object::DeletionStep;
use permazen::object::{self, Transaction};
use permazen::{ObjId, StorageId};

use super::Edited;
use super::failed::{Failed, Result, go_on};
use super::listed::Listed;
use crate::limits::Limits;

pub(super) fn delete(tx: &Transaction, found: Vec<ObjId>, limits: &Limits) -> Result<Edited> {
    let (deleted, refused) = delete_all(tx, found, limits)?;
    refused.map_or(Ok(deleted.edited()), |error| Err(error.into()))
}

/// The changes that the deletion of some objects has made, or would make if nothing forbade it.
#[derive(Default)]
pub(super) struct Deleted {
    /// The objects to delete, ascending and each once.
    wanted: Vec<ObjId>,
    /// The deleted objects: those that were to be deleted, and others with them.
    pub(super) objects: Vec<(ObjId, With)>,
    /// The references of objects that stay.
    pub(super) references: HashMap<ObjId, Vec<Reference>>,
    /// The references that forbid it: the object that refers, the field and the target.
    pub(super) refused: Listed<(ObjId, StorageId, ObjId)>,
}

/// Why an object was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum With {
    /// It was to be deleted.
    Wanted,
    /// Another one was.
    Others,
}

/// References of one object that have lost their target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reference {
    /// The storage ID of the field or sub-field.
    pub(super) field: StorageId,
    /// The deleted object.
    pub(super) target: ObjId,
    /// Whether they were removed from a collection. Otherwise they are null.
    pub(super) removed: bool,
}

impl Deleted {
    fn edited(&self) -> Edited {
        let wanted = self.objects.iter().filter(|(_, with)| *with == With::Wanted).count() as u64;
        let references = || self.references.values().flatten();
        let removed = references().filter(|reference| reference.removed).count() as u64;
        Edited {
            deleted: wanted,
            deleted_with: self.objects.len() as u64 - wanted,
            nullified: references().count() as u64 - removed,
            removed,
            ..Edited::default()
        }
    }

    fn add(&mut self, step: DeletionStep) {
        match step {
            DeletionStep::Deleted { id } => {
                let is_wanted = self.wanted.binary_search(&id).is_ok();
                self.objects.push((id, if is_wanted { With::Wanted } else { With::Others }));
                // The fate of its references before it went is of no interest.
                self.references.remove(&id);
            }
            DeletionStep::Nullified { holder, field, target } => {
                let reference = Reference { field, target, removed: false };
                self.references.entry(holder).or_default().push(reference);
            }
            DeletionStep::Removed { holder, field, target } => {
                let reference = Reference { field, target, removed: true };
                self.references.entry(holder).or_default().push(reference);
            }
            DeletionStep::Refused { holder, field, target } => {
                self.refused.push(|| (holder, field, target));
            }
            _ => {}
        }
    }
}

/// Deletes objects, with all that must go with them, or nothing: then also returns the error.
pub(super) fn delete_all(
    tx: &Transaction,
    mut wanted: Vec<ObjId>,
    limits: &Limits,
) -> Result<(Deleted, Option<object::Error>)> {
    go_on(limits)?;
    wanted.sort_unstable();
    wanted.dedup();
    let ids = wanted.clone();
    let mut deleted = Deleted { wanted, ..Deleted::default() };
    let mut stopped = false;
    let result = tx.delete_together(&ids, &mut |step| {
        deleted.add(step);
        stopped = limits.is_stopped();
        // Only an error ends a deletion. `stopped` tells it from the errors of the deletion itself.
        if stopped { Err(object::Error::listener("stopped")) } else { Ok(()) }
    });
    match result {
        Ok(()) => Ok((deleted, None)),
        Err(_) if stopped => Err(Failed::Stopped),
        Err(error @ object::Error::ReferencedObject { .. }) if deleted.refused.count > 0 => {
            Ok((deleted, Some(error)))
        }
        Err(error) => Err(error.into()),
    }
}
