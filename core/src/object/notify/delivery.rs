//! Queueing changes and calling listeners (docs/src/listeners.md#order).
//!
//! `operation.rs` decides when the queued changes are delivered.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::{ChangeKind, FieldChange};
use super::listeners::{SchemaChange, Watch};
use crate::id::ObjId;
use crate::object::reference::PathStep;
use crate::object::{Error, Result, Transaction};
use crate::schema::{ResolvedField, ResolvedType};

impl Transaction<'_> {
    /// Calls the listeners to the changes that are queued, also to those that they make themselves.
    pub(in crate::object) fn deliver(&self) -> Result<()> {
        while let Some(mut changes) = self.notifier.take_next() {
            changes.try_for_each(|change| self.tell(&change))?;
        }
        Ok(())
    }

    fn tell(&self, change: &FieldChange) -> Result<()> {
        let listeners = self.notifier.all();
        let field = change.field.storage_id;
        for monitor in listeners.iter().flat_map(|set| set.of_field(field)) {
            if monitor.watch.watches(change.id) {
                let referrers = self.observers(&monitor.watch, change.id)?;
                if !referrers.is_empty() {
                    (monitor.listener)(self, change, &referrers).map_err(of_listener)?;
                }
            }
        }
        Ok(())
    }

    /// Whether listeners watch changes of this field in objects of this type.
    pub(crate) fn is_monitored(&self, object_type: &ResolvedType, field: &ResolvedField) -> bool {
        self.notifier.watches_field(field.storage_id, object_type.storage_id)
    }

    /// Queues a change of a field that [is monitored](Transaction::is_monitored). Call it only
    /// inside [`Transaction::mutate`].
    pub(crate) fn queue_change(
        &self,
        id: ObjId,
        object_type: &Arc<ResolvedType>,
        field: &Arc<ResolvedField>,
        kind: ChangeKind,
    ) {
        self.notifier.add(|| FieldChange {
            id,
            object_type: Arc::clone(object_type),
            field: Arc::clone(field),
            kind,
        });
    }

    // ------------------------------------------------------------------ immediate notifications

    pub(crate) fn tell_created(&self, id: ObjId) -> Result<()> {
        let listeners = self.notifier.all();
        let _plain = self.outside_of_copies();
        let of_type = id.storage_id();
        for (_, listener) in listeners.iter().flat_map(|set| set.of_creation(of_type)) {
            listener(self, id).map_err(of_listener)?;
        }
        Ok(())
    }

    pub(crate) fn tell_schema_changed(&self, change: &SchemaChange) -> Result<()> {
        let listeners = self.notifier.all();
        let _plain = self.outside_of_copies();
        let of_type = change.id.storage_id();
        for (_, listener) in listeners.iter().flat_map(|set| set.of_schema_change(of_type)) {
            listener(self, change).map_err(of_listener)?;
        }
        Ok(())
    }

    pub(crate) fn tell_deleting(&self, id: ObjId) -> Result<()> {
        let listeners = self.notifier.all();
        for monitor in listeners.iter().flat_map(|set| set.of_deletion()) {
            if monitor.watch.watches(id) {
                let referrers = self.observers(&monitor.watch, id)?;
                if !referrers.is_empty() {
                    (monitor.listener)(self, id, &referrers).map_err(of_listener)?;
                    // A listener may have deleted an object from which the path leads to this one,
                    // and this one with it.
                    if !self.exists(id)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// The objects from which the path of `watch` leads to `target`, in ascending order.
    fn observers(&self, watch: &Watch, target: ObjId) -> Result<Vec<ObjId>> {
        let mut current = vec![target];
        for (position, step) in watch.path().iter().enumerate().rev() {
            let mut before = BTreeSet::new();
            for id in current {
                match *step {
                    PathStep::Forward(field) => {
                        self.each_holder(field, id, |holder| {
                            before.insert(holder);
                        })?;
                    }
                    PathStep::Inverse(field) => {
                        self.each_reference(id, field, |target| {
                            before.insert(target);
                        })?;
                    }
                }
            }
            let filter = watch.filter(position);
            current = before
                .into_iter()
                .filter(|id| filter.is_none_or(|filter| filter.allows(*id)))
                .collect();
        }
        Ok(current)
    }
}

/// The error of a listener, marked as such, so that it differs from errors that refuse the
/// operation.
fn of_listener(error: Error) -> Error {
    match error {
        Error::Listener(_) => error,
        error => Error::listener(error),
    }
}
