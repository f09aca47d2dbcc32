//! `delete`

use std::collections::HashMap;

use permazen::object::{self, DeletionStep, Transaction};
use permazen::{ObjId, StorageId};

use super::Edited;
use super::failed::{Failed, Result, go_on};
use crate::limits::Limits;

pub(super) fn delete(tx: &Transaction<'_>, found: Vec<ObjId>, limits: &Limits) -> Result<Edited> {
    let (deleted, mut refused) = delete_all(tx, found, limits)?;
    if !refused.is_empty() {
        return Err(refused.swap_remove(0).into());
    }
    Ok(deleted.edited())
}

/// What the deletion of some objects has done.
#[derive(Default)]
pub(super) struct Deleted {
    /// The objects to delete, ascending and each once.
    wanted: Vec<ObjId>,
    /// The deleted objects: those that were to be deleted, and others with them.
    pub(super) objects: Vec<(ObjId, With)>,
    /// The references of objects that stay.
    pub(super) references: HashMap<ObjId, Vec<Reference>>,
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

    fn add(&mut self, steps: Vec<DeletionStep>) {
        for step in steps {
            match step {
                DeletionStep::Deleted { id } => {
                    let is_wanted = self.wanted.binary_search(&id).is_ok();
                    self.objects.push((id, if is_wanted { With::Wanted } else { With::Others }));
                    // What became of its references before it went is of no interest.
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
                _ => {}
            }
        }
    }
}

/// How far the deletion of an object has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    /// Its deletion was refused, and what refuses it is deleted first.
    Begun,
    Done,
    Refused,
}

/// Deletes objects, in an order in which they do not forbid each other's deletion. Returns the errors of
/// those that are refused in any order; the others are deleted.
pub(super) fn delete_all(
    tx: &Transaction<'_>,
    mut wanted: Vec<ObjId>,
    limits: &Limits,
) -> Result<(Deleted, Vec<object::Error>)> {
    wanted.sort_unstable();
    wanted.dedup();
    let mut states = vec![State::Waiting; wanted.len()];
    let mut deleted = Deleted { wanted, ..Deleted::default() };
    loop {
        let mut refused = Vec::new();
        let before = deleted.objects.len();
        for first in 0..states.len() {
            delete_first(tx, first, &mut states, &mut deleted, &mut refused, limits)?;
        }
        // What refuses may be gone by now, with another object.
        if refused.is_empty() || deleted.objects.len() == before {
            return Ok((deleted, refused));
        }
        let again = states.iter_mut().filter(|state| **state == State::Refused);
        again.for_each(|state| *state = State::Waiting);
    }
}

/// Deletes one object, and before it those that are to be deleted too and forbid its deletion.
fn delete_first(
    tx: &Transaction<'_>,
    first: usize,
    states: &mut [State],
    deleted: &mut Deleted,
    refused: &mut Vec<object::Error>,
    limits: &Limits,
) -> Result<()> {
    let mut begun = vec![first];
    while let Some(&at) = begun.last() {
        let (Some(&id), Some(state)) = (deleted.wanted.get(at), states.get_mut(at)) else { break };
        if !matches!(state, State::Waiting | State::Begun) {
            begun.pop();
            continue;
        }
        match delete_one(tx, id, limits) {
            Ok(steps) => {
                *state = State::Done;
                deleted.add(steps);
            }
            Err(Failed::Error(crate::QueryError::Object(
                error @ object::Error::ReferencedObject { referrer, .. },
            ))) => {
                *state = State::Begun;
                let next = deleted.wanted.binary_search(&referrer).ok();
                match next.filter(|next| states.get(*next) == Some(&State::Waiting)) {
                    Some(next) => begun.push(next),
                    None => {
                        if let Some(state) = states.get_mut(at) {
                            *state = State::Refused;
                        }
                        refused.push(error);
                    }
                }
            }
            Err(failed) => return Err(failed),
        }
    }
    Ok(())
}

/// Deletes one object and those that go with it, or nothing.
fn delete_one(tx: &Transaction<'_>, id: ObjId, limits: &Limits) -> Result<Vec<DeletionStep>> {
    go_on(limits)?;
    let mut steps = Vec::new();
    let mut stopped = false;
    let result = tx.delete_telling(id, &mut |step| {
        steps.push(step);
        stopped = limits.is_stopped();
        if stopped { Err(object::Error::listener("stopped")) } else { Ok(()) }
    });
    match result {
        Ok(_) => Ok(steps),
        Err(_) if stopped => Err(Failed::Stopped),
        Err(error) => Err(error.into()),
    }
}
