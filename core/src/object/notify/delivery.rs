//! Queueing changes and calling listeners (docs/src/listeners.md#order).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::{ChangeKind, FieldChange};
use super::listeners::{SchemaChange, Watch};
use super::notifier::Pending;
use crate::id::ObjId;
use crate::object::reference::PathStep;
use crate::object::{Error, Result, Transaction};
use crate::schema::{ResolvedField, ResolvedType};

impl Transaction<'_> {
    // ------------------------------------------------------------------ field changes

    /// Runs `body` as one operation that may change fields, then tells listeners what it changed.
    /// If `body` fails, everything is as before and listeners are not called. Inside another such
    /// operation, or in a listener, the outermost one calls the listeners.
    pub(crate) fn mutate<R>(&self, body: impl FnOnce() -> Result<R>) -> Result<R> {
        self.mutate_then(body, |_| Ok(()))
    }

    /// Does the same as [`Transaction::mutate`], but if `body` succeeds, runs `tell` before
    /// listeners are told of the changes. They are then also told of what `tell` changes. If `tell`
    /// fails, the changes of `body` stay (unless this is part of a larger operation), and listeners
    /// are still told of them.
    pub(crate) fn mutate_then<R>(
        &self,
        body: impl FnOnce() -> Result<R>,
        tell: impl FnOnce(&R) -> Result<()>,
    ) -> Result<R> {
        self.check_open()?;
        // This is part of another such operation, which delivers the changes.
        if self.notifier.is_queueing() {
            let result = self.operation(body)?;
            return tell(&result).map(|()| result);
        }
        // There are no listeners to tell. `tell` only calls listeners, so it is left out too.
        if self.notifier.is_idle() {
            return self.operation(body);
        }
        let _queueing = self.notifier.queue(Pending::default());
        let result = self.operation(body)?;
        let told = tell(&result);
        if !self.notifier.hold_queued() {
            self.deliver()?;
        }
        told.map(|()| result)
    }

    /// Runs `body`, which makes several changes, as one operation. After `body`, listeners are told
    /// of all changes that `body` and the listeners it called have made, in the order in which they
    /// were made. If a listener fails then, the changes of `body` stay, and the remaining listeners
    /// are not called.
    pub(crate) fn operation_then_tell<R>(&self, body: impl FnOnce() -> Result<R>) -> Result<R> {
        let notifier = &self.notifier;
        if notifier.is_queueing() || notifier.is_holding() || notifier.is_idle() {
            return self.operation(body);
        }
        let holding = notifier.hold();
        let result = self.operation(body)?;
        for pending in holding.end() {
            let _queueing = notifier.queue(pending);
            self.deliver()?;
        }
        Ok(result)
    }

    fn deliver(&self) -> Result<()> {
        while let Some(mut changes) = self.notifier.take_next() {
            changes.try_for_each(|change| self.tell(&change))?;
        }
        Ok(())
    }

    fn tell(&self, change: &FieldChange) -> Result<()> {
        let listeners = self.listeners();
        for monitor in listeners.of_field(change.field.storage_id) {
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
        let listeners = self.listeners();
        let _plain = self.outside_of_copies();
        for (_, listener) in listeners.of_creation(id.storage_id()) {
            listener(self, id).map_err(of_listener)?;
        }
        Ok(())
    }

    pub(crate) fn tell_schema_changed(&self, change: &SchemaChange) -> Result<()> {
        let listeners = self.listeners();
        let _plain = self.outside_of_copies();
        for (_, listener) in listeners.of_schema_change(change.id.storage_id()) {
            listener(self, change).map_err(of_listener)?;
        }
        Ok(())
    }

    pub(crate) fn tell_deleting(&self, id: ObjId) -> Result<()> {
        let listeners = self.listeners();
        for monitor in listeners.of_deletion() {
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
