//! The preview of a `delete`.

use std::sync::Arc;

use permazen::kv::KvError;
use permazen::object::{self, Transaction};
use permazen::{ObjId, StorageId};

use super::delete::{Deleted, With, delete_all};
use super::failed::{Failed, Result};
use super::listed::Listed;
use crate::check::{Checked, CheckedKind};
use crate::error::QueryError;
use crate::limits::Limits;
use crate::run::matches;

/// The preview of a `delete`. It displays as lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preview {
    /// The objects that match and would be deleted.
    pub deleted: Listed<PreviewObject>,
    /// The other objects that would be deleted with them.
    pub deleted_with: Listed<PreviewObject>,
    /// The references that would become null.
    pub nullified: Listed<PreviewReference>,
    /// The references that would be removed from collections.
    pub removed: Listed<PreviewReference>,
    /// The references of objects that would stay, and that forbid the deletion of their target. If
    /// there are any, the statement fails, and deletes nothing; the rest of the preview is then
    /// what would happen if they did not forbid it.
    pub refused: Listed<PreviewReference>,
    /// Whether it was stopped ([`Limits::stop`]). Then there is nothing in it.
    pub stopped: bool,
}

/// An object in a [`Preview`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreviewObject {
    /// The object.
    pub id: ObjId,
    /// The name of its type.
    pub type_name: Arc<str>,
}

/// References of one object, in one field, with one target.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreviewReference {
    /// The object that refers.
    pub holder: PreviewObject,
    /// The field, `boss` or `friends.element`.
    pub field: Arc<str>,
    /// The object to which it refers.
    pub target: PreviewObject,
}

/// Previews a `delete`: which objects would go with those that match, which references would become
/// null or be removed, and which forbid it. `None` if the statement is neither `delete` nor
/// `explain delete`.
///
/// The objects are deleted in a snapshot, which is dropped then. If the store has no snapshots
/// (LMDB and SQLite, in transactions that write), they are deleted in the transaction, and all is
/// undone. So nothing is changed, and it costs about as much as the deletion.
///
/// # Errors
/// The errors of [`edit`](crate::edit()), except that a deletion that is refused is no error.
pub fn preview(
    tx: &Transaction,
    checked: &Checked,
    limits: &Limits,
) -> std::result::Result<Option<Preview>, QueryError> {
    let checked = checked.explained().map_or(checked, |(statement, _)| statement);
    if !matches!(checked.kind, CheckedKind::Delete(_)) {
        return Ok(None);
    }
    let stopped = || Ok(Some(Preview { stopped: true, ..Preview::default() }));
    // A preview changes nothing, so what others change meanwhile is no conflict.
    let found = tx.untracked(|tx| matches(tx, checked, limits))?;
    if limits.is_stopped() {
        return stopped();
    }
    let made = match tx.snapshot() {
        Ok(snapshot) => of_deletion(&snapshot, found, limits),
        Err(
            object::Error::Unsupported(_)
            | object::Error::Kv { source: KvError::Unsupported(_), .. },
        ) => undone(tx, |tx| of_deletion(tx, found, limits)),
        Err(error) => Err(error.into()),
    };
    match made {
        Ok(preview) => Ok(Some(preview)),
        Err(Failed::Stopped) => stopped(),
        Err(Failed::Error(error)) => Err(error),
    }
}

/// Runs `body`, and undoes its changes.
fn undone(tx: &Transaction, body: impl FnOnce(&Transaction) -> Result<Preview>) -> Result<Preview> {
    let mut made = None;
    let undone = tx.atomic(|tx| -> Result<()> {
        made = Some(body(tx)?);
        Err(Failed::Stopped)
    });
    match (made, undone) {
        (Some(preview), Err(Failed::Stopped)) => Ok(preview),
        (_, Err(failed)) => Err(failed),
        (_, Ok(())) => Err(Failed::Stopped),
    }
}

/// Deletes objects, and returns the changes of that, or those it would make if nothing forbade it.
fn of_deletion(tx: &Transaction, found: Vec<ObjId>, limits: &Limits) -> Result<Preview> {
    let (deleted, _) = delete_all(tx, found, limits)?;
    let mut preview = Preview::default();
    let Deleted { objects, references, refused, .. } = deleted;
    let names = Names { tx };
    for (id, with) in objects {
        let to = match with {
            With::Wanted => &mut preview.deleted,
            With::Others => &mut preview.deleted_with,
        };
        to.push(|| names.object(id));
    }
    let mut holders: Vec<_> = references.into_iter().collect();
    holders.sort_unstable_by_key(|(holder, _)| *holder);
    for (holder, references) in holders {
        for reference in references {
            let to = if reference.removed { &mut preview.removed } else { &mut preview.nullified };
            to.push(|| names.reference(holder, reference.field, reference.target));
        }
    }
    preview.refused.count = refused.count;
    let refused = refused.first.into_iter();
    preview.refused.first =
        refused.map(|(holder, field, target)| names.reference(holder, field, target)).collect();
    Ok(preview)
}

/// Names of types and fields.
struct Names<'a> {
    tx: &'a Transaction,
}

impl Names<'_> {
    fn object(&self, id: ObjId) -> PreviewObject {
        let bundle = self.tx.bundle();
        let number = || format!("#{}", id.storage_id()).into();
        let type_name = bundle.type_name(id.storage_id()).map_or_else(number, Arc::clone);
        PreviewObject { id, type_name }
    }

    fn reference(&self, holder: ObjId, field: StorageId, target: ObjId) -> PreviewReference {
        let object_type = self.tx.object_type(holder).ok();
        let part = object_type
            .as_ref()
            .and_then(|object_type| object_type.all_fields().find(|part| part.storage_id == field));
        let number = || format!("#{field}").into();
        PreviewReference {
            holder: self.object(holder),
            field: part.map_or_else(number, |part| Arc::clone(&part.full_name)),
            target: self.object(target),
        }
    }
}
