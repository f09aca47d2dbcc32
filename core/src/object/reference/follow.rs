//! Walking reference paths (docs/src/listeners.md#paths).

use std::collections::BTreeSet;

use super::check::target_of;
use super::path::{IdFilter, PathStep};
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::describe::describe;
use crate::object::error::{Error, Result, hex};
use crate::object::transaction::Transaction;

/// Reference paths.
impl Transaction {
    /// The objects that are reached from `starts` along `path`, in ascending order, each once.
    ///
    /// `filters` says which objects are allowed before the first step, after the first step and so
    /// on. It may be empty. A forward step through a collection skips objects that do not exist or
    /// do not have the field. An inverse step skips objects to which none refers. The result is a
    /// snapshot. Cost for each object and step: one get, or one seek and a step per element or
    /// referring object.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are filters and their number is not that of the steps
    /// plus one. [`Error::UnknownField`] if a step does not name a reference field, or for a
    /// forward step through a simple field that the object does not have. [`Error::DeletedObject`]
    /// for such a step from an object that does not exist. [`Error::Ended`].
    pub fn follow_path(
        &self,
        starts: impl IntoIterator<Item = ObjId>,
        path: &[PathStep],
        filters: &[Option<IdFilter>],
    ) -> Result<Vec<ObjId>> {
        self.check_open()?;
        if !filters.is_empty() && filters.len() != path.len() + 1 {
            return Err(Error::invalid_argument(format!(
                "a path of {} steps takes {} filters, not {}",
                path.len(),
                path.len() + 1,
                filters.len()
            )));
        }
        // The fields are checked before the first step, so that the error does not depend on the
        // objects.
        for step in path {
            self.check_reference_field(step.storage_id())?;
        }
        let allowed = |position: usize, id: &ObjId| match filters.get(position) {
            Some(Some(filter)) => filter.allows(*id),
            _ => true,
        };
        // The iterator is read to its end first: it may use the transaction itself.
        let mut reached: BTreeSet<ObjId> = starts.into_iter().filter(|id| allowed(0, id)).collect();
        for (position, step) in (1..).zip(path) {
            let mut next = BTreeSet::new();
            let mut visit = |id| {
                if allowed(position, &id) {
                    next.insert(id);
                }
            };
            for id in reached {
                match *step {
                    PathStep::Inverse(field) => self.each_holder(field, id, &mut visit)?,
                    // As in Java, a simple field must exist in each object, but a collection may be
                    // missing.
                    PathStep::Forward(field) if self.is_simple_field(field) => {
                        self.simple_reference(id, field)?.into_iter().for_each(&mut visit);
                    }
                    PathStep::Forward(field) => self.each_reference(id, field, &mut visit)?,
                }
            }
            reached = next;
        }
        Ok(reached.into_iter().collect())
    }

    fn check_reference_field(&self, field: StorageId) -> Result<()> {
        let bundle = self.bundle();
        let field_there = bundle.item(field).and_then(|item| item.field());
        if field_there.is_some_and(|field| field.is_reference()) {
            return Ok(());
        }
        Err(Error::UnknownField { type_name: None, field: format!("#{field} (reference)") })
    }

    fn is_simple_field(&self, field: StorageId) -> bool {
        let bundle = self.bundle();
        bundle.item(field).and_then(|item| item.field()).is_some_and(|f| f.parent.is_none())
    }

    /// The target of a simple reference field. The object must have the field.
    fn simple_reference(&self, id: ObjId, field: StorageId) -> Result<Option<ObjId>> {
        let object_type = self.object_type(id)?;
        let Some(field) = object_type.field_by_storage_id(field) else {
            return Err(Error::UnknownField {
                type_name: Some(object_type.name.to_string()),
                field: format!("#{field}"),
            });
        };
        let key = layout::field_key(id, &field.key);
        self.store().get(&key, |value| match value {
            // A field without a pair is null, the default of references.
            None => Ok(None),
            Some(bytes) => target_of(bytes).map_err(|reason| {
                Error::inconsistent(format!(
                    "{}: key {}: {reason}",
                    describe(id, field),
                    hex(&key, 64)
                ))
            }),
        })?
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// The objects from which `targets` are reached along `path`, in ascending order, each once.
    /// `filters` are in the order of the path, as for [`follow_path`](Transaction::follow_path),
    /// which costs the same.
    ///
    /// # Errors
    /// The errors of [`follow_path`](Transaction::follow_path) along the inverted path.
    pub fn invert_path(
        &self,
        path: &[PathStep],
        filters: &[Option<IdFilter>],
        targets: impl IntoIterator<Item = ObjId>,
    ) -> Result<Vec<ObjId>> {
        // The first filter is that of the start, so it turns with the path.
        let path: Vec<_> = path.iter().rev().map(|step| step.inverted()).collect();
        let filters: Vec<_> = filters.iter().rev().cloned().collect();
        self.follow_path(targets, &path, &filters)
    }
}
