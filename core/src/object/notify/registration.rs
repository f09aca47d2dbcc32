//! Adding listeners to a transaction and removing them (docs/src/listeners.md).

use std::sync::Arc;

use super::change::FieldChange;
use super::listeners::{ListenerId, ListenerSet, SchemaChange, Watch};
use super::notifier::Happened;
use crate::id::{ObjId, StorageId};
use crate::object::{Result, Transaction};

/// Listeners stay registered for the rest of the transaction.
#[allow(clippy::type_complexity, reason = "the page of a method shows what its listener is given")]
impl Transaction {
    /// Watches the creation of objects of a type. Adding the same `Arc` again has no effect.
    ///
    /// # Errors
    /// [`Error::UnknownType`](crate::object::Error::UnknownType) if no recorded schema has the
    /// type; [`Error::ListenersInstalled`](crate::object::Error::ListenersInstalled) if the
    /// transaction shares its listeners with others; [`Error::Ended`](crate::object::Error::Ended).
    pub fn on_create(
        &self,
        object_type: StorageId,
        listener: Arc<dyn Fn(&Transaction, ObjId) -> Result<()> + Send + Sync>,
    ) -> Result<ListenerId> {
        self.change_listeners(|set| set.on_create(object_type, listener))
    }

    /// Watches moves of objects of a type to another schema. Adding the same `Arc` again has no
    /// effect.
    ///
    /// # Errors
    /// The errors of [`Transaction::on_create`].
    pub fn on_schema_change(
        &self,
        object_type: StorageId,
        listener: Arc<dyn Fn(&Transaction, &SchemaChange) -> Result<()> + Send + Sync>,
    ) -> Result<ListenerId> {
        self.change_listeners(|set| set.on_schema_change(object_type, listener))
    }

    /// Watches deletions. Adding the same `Arc` with an equal watch again has no effect.
    ///
    /// # Errors
    /// [`Error::UnknownField`](crate::object::Error::UnknownField) if a step of the path does not
    /// name a reference field of a recorded schema;
    /// [`Error::ListenersInstalled`](crate::object::Error::ListenersInstalled);
    /// [`Error::Ended`](crate::object::Error::Ended).
    pub fn on_delete(
        &self,
        watch: Watch,
        listener: Arc<dyn Fn(&Transaction, ObjId, &[ObjId]) -> Result<()> + Send + Sync>,
    ) -> Result<ListenerId> {
        self.change_listeners(|set| set.on_delete(watch, listener))
    }

    /// Watches changes of the field with this storage ID: a simple field, set, list or map.
    /// Listeners are not called for counters, nor under the storage ID of a sub-field. The field
    /// need not exist. Adding the same `Arc` with an equal watch again has no effect.
    ///
    /// # Errors
    /// The errors of [`Transaction::on_delete`].
    pub fn on_change(
        &self,
        field: StorageId,
        watch: Watch,
        listener: Arc<dyn Fn(&Transaction, &FieldChange, &[ObjId]) -> Result<()> + Send + Sync>,
    ) -> Result<ListenerId> {
        self.change_listeners(|set| set.on_change(field, watch, listener))
    }

    /// Removes a registration. Unknown ones are ignored.
    ///
    /// # Errors
    /// [`Error::ListenersInstalled`](crate::object::Error::ListenersInstalled);
    /// [`Error::Ended`](crate::object::Error::Ended).
    pub fn remove_listener(&self, id: ListenerId) -> Result<()> {
        self.change_listeners(|set| {
            set.remove(id);
            Ok(())
        })
    }

    /// Sets the listeners that call the hooks of the layer above. They are called before all
    /// others.
    pub(crate) fn set_hooks(&self, hooks: Arc<ListenerSet>) {
        self.notifier.set_hooks(hooks.shared_among(&self.bundle()));
    }

    /// Changes the listeners that call the hooks of the layer above, in this transaction alone.
    pub(crate) fn change_hooks<R>(
        &self,
        change: impl FnOnce(&mut ListenerSet) -> Result<R>,
    ) -> Result<R> {
        self.check_open()?;
        self.notifier.change_hooks(&self.bundle(), change)
    }

    /// Notes from now on what happens to objects of these types.
    pub(crate) fn note_happened_to(&self, types: Vec<StorageId>) {
        self.notifier.set_noted(types);
    }

    /// Notes an event of an object, for the observers that are called after the commit, if they
    /// want it. It is forgotten if its operation is undone.
    pub(crate) fn note_happened(&self, id: ObjId, what: Happened) {
        self.notifier.note(id, what);
    }

    /// Takes the noted events of objects, in order. There are none any more when a commit has
    /// begun that discards what was written.
    pub(crate) fn take_happened(&self) -> Vec<(ObjId, Happened)> {
        self.notifier.take_happened()
    }

    fn change_listeners<R>(&self, change: impl FnOnce(&mut ListenerSet) -> Result<R>) -> Result<R> {
        self.check_open()?;
        self.notifier.change(&self.bundle(), change)
    }

    /// Whether no listener and no hook is called for changes.
    pub(crate) fn has_no_listeners(&self) -> bool {
        self.notifier.is_idle()
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// The present listeners.
    pub fn listeners(&self) -> Arc<ListenerSet> {
        let none = || Arc::new(ListenerSet::new(self.bundle()));
        self.notifier.listeners().unwrap_or_else(none)
    }

    /// Replaces all listeners by a set. After that, single listeners cannot be added or removed,
    /// but the set can be replaced. A set that was made for other recorded schemas follows the
    /// items it names, as [`ListenerSet`] says.
    ///
    /// # Errors
    /// [`Error::Ended`](crate::object::Error::Ended).
    pub fn set_listeners(&self, listeners: Arc<ListenerSet>) -> Result<()> {
        self.check_open()?;
        self.notifier.install(listeners.shared_among(&self.bundle()));
        Ok(())
    }
}
