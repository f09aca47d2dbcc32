//! Queueing changes and calling listeners (docs/src/listeners.md#order).
//!
//! `operation.rs` decides when the queued changes are delivered.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::{ChangeKind, FieldChange};
use super::listeners::{ListenerSet, SchemaChange, Watch};
use super::notifier::Queued;
use crate::id::ObjId;
use crate::object::reference::PathStep;
use crate::object::{Error, Result, Transaction};
use crate::schema::{ResolvedField, ResolvedType};

impl Transaction {
    /// Calls the listeners to the changes that are queued, also to those that they make themselves.
    pub(in crate::object) fn deliver(&self) -> Result<()> {
        // Listeners may queue more changes, so the queue is asked again each time, and not borrowed
        // meanwhile.
        while let Some(changes) = self.notifier.take_next() {
            changes.iter().try_for_each(|queued| self.tell(queued))?;
        }
        Ok(())
    }

    fn tell(&self, queued: &Queued) -> Result<()> {
        // Listeners may change the sets while they are called, so these are held.
        let (hooks, listeners) = (self.notifier.hooks(), self.notifier.listeners());
        let _caused = self.notifier.calls().caused_by(queued.cause.clone());
        // A move to another schema is no change for hooks: it keeps the values of the object.
        if let Some(hooks) = hooks
            && !queued.by_move
        {
            // A hook that could not be called counts as failed too.
            self.tell_those(&hooks, &queued.change, of_hook).map_err(of_hook)?;
        }
        match listeners {
            Some(listeners) => self.tell_those(&listeners, &queued.change, of_listener),
            None => Ok(()),
        }
    }

    fn tell_those(
        &self,
        listeners: &ListenerSet,
        change: &FieldChange,
        failed: fn(Error) -> Error,
    ) -> Result<()> {
        for monitor in listeners.of_field(change.field.storage_id) {
            // The type filter costs nothing, so it comes before the walk along the path.
            if monitor.watch.watches(change.id) {
                let referrers = self.observers(&monitor.watch, change.id)?;
                // A listener with a path is called only if some object observes this one.
                if !referrers.is_empty() {
                    (monitor.listener)(self, change, &referrers).map_err(failed)?;
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
        // The sets are held, because a listener may register others. Those are not called for this
        // object.
        let (hooks, listeners) = (self.notifier.hooks(), self.notifier.listeners());
        // Listeners may not do what only the copy that called them may.
        let _plain = self.outside_of_copies();
        let of_type = id.storage_id();
        for (_, hook) in hooks.iter().flat_map(|hooks| hooks.of_creation(of_type)) {
            hook(self, id).map_err(of_hook)?;
        }
        for (_, listener) in listeners.iter().flat_map(|all| all.of_creation(of_type)) {
            listener(self, id).map_err(of_listener)?;
        }
        Ok(())
    }

    pub(crate) fn tell_schema_changed(&self, change: &SchemaChange) -> Result<()> {
        let listeners = self.notifier.listeners();
        // Listeners may not do what only the copy that called them may.
        let _plain = self.outside_of_copies();
        let of_type = change.id.storage_id();
        for (_, listener) in listeners.iter().flat_map(|all| all.of_schema_change(of_type)) {
            listener(self, change).map_err(of_listener)?;
        }
        Ok(())
    }

    pub(crate) fn tell_deleting(&self, id: ObjId) -> Result<()> {
        let (hooks, listeners) = (self.notifier.hooks(), self.notifier.listeners());
        // Until the hooks have run, a deletion within them must leave this object to the outer one.
        self.being_deleted.set_calling_hooks(id, true);
        let heard = self.tell_those_of_deletion(hooks.as_deref(), id, of_hook);
        // A listener, unlike a hook, may delete the object within another deletion.
        self.being_deleted.set_calling_hooks(id, false);
        heard?;
        self.tell_those_of_deletion(listeners.as_deref(), id, of_listener)
    }

    fn tell_those_of_deletion(
        &self,
        listeners: Option<&ListenerSet>,
        id: ObjId,
        failed: fn(Error) -> Error,
    ) -> Result<()> {
        for monitor in listeners.into_iter().flat_map(ListenerSet::of_deletion) {
            if monitor.watch.watches(id) {
                let referrers = self.observers(&monitor.watch, id)?;
                if !referrers.is_empty() {
                    (monitor.listener)(self, id, &referrers).map_err(failed)?;
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
        // The path is walked from its end, since only the changed object is known.
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
            // The filter of a position is for the objects before the step of that number.
            let filter = watch.filter(position);
            current = before
                .into_iter()
                .filter(|id| filter.is_none_or(|filter| filter.allows(*id)))
                .collect();
        }
        Ok(current)
    }
}

/// The error of a hook, marked as such: the operation that caused its call is undone.
fn of_hook(error: Error) -> Error {
    // A hook in a hook has marked it already. A second mark would hide the cause.
    match error {
        Error::Hook(_) => error,
        error => Error::Hook(error.into()),
    }
}

/// The error of a listener, marked as such, so that it differs from errors that refuse the
/// operation.
fn of_listener(error: Error) -> Error {
    match error {
        // A listener in a listener has marked it already. A second mark would hide the cause.
        Error::Listener(_) => error,
        error => Error::listener(error),
    }
}
