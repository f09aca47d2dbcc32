//! The listeners of a transaction, and the changes that are waiting for delivery.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::change::FieldChange;
use super::listeners::ListenerSet;
use crate::id::{ObjId, StorageId};
use crate::object::hook_calls::{Call, HookCalls};
use crate::object::{Error, Result};
use crate::schema::{ResolvedType, SchemaBundle};

/// A set of listeners; `None` until one is asked for; most transactions have none.
type Listeners = RefCell<Option<Arc<ListenerSet>>>;

/// The listeners of a transaction, and the changes that are waiting for delivery.
#[derive(Default)]
pub(in crate::object) struct Notifier {
    listeners: Listeners,
    /// Listeners that call the hooks of the layer above. They are called first, and cannot be
    /// replaced by others.
    hooks: Listeners,
    /// The calls of hooks that are running.
    calls: HookCalls,
    /// Whether the listeners were installed as a set, so that none can be added or removed.
    installed: Cell<bool>,
    /// The changes of the current operation.
    queue: RefCell<Option<Pending>>,
    /// Changes made in a larger operation that is not complete, to be delivered after it.
    held: RefCell<Option<Vec<Pending>>>,
    silent: Cell<bool>,
    /// Whether the changes that are queued come from the move of an object to another schema.
    moving: Cell<ByMove>,
    /// The types whose objects are noted in `happened`.
    noted: RefCell<Vec<StorageId>>,
    /// The events of objects, for the observers that are called after the commit.
    happened: RefCell<Vec<(ObjId, Happened)>>,
}

/// An event of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    Created,
    Changed,
    Deleted,
}

/// Which of the changes that are queued come from the move of an object to another schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::object) enum ByMove {
    #[default]
    None,
    All,
    /// All but those of one field, which the program sets.
    AllBut(StorageId),
}

/// A change that is waiting for delivery.
#[derive(Debug)]
pub(super) struct Queued {
    number: u64,
    pub(super) change: FieldChange,
    /// The call of a hook that made it.
    pub(super) cause: Option<Arc<Call>>,
    /// Whether it comes from the move of an object to another schema.
    pub(super) by_move: bool,
}

/// Changes waiting for delivery, by the storage ID of the field.
#[derive(Debug, Default)]
pub(in crate::object) struct Pending {
    changes: BTreeMap<StorageId, Vec<Queued>>,
    next: u64,
}

/// How much was waiting for delivery at some time.
pub(in crate::object) struct Mark {
    queued: Option<u64>,
    held: Option<usize>,
    happened: usize,
    hooks: usize,
}

fn is_empty(listeners: &Listeners) -> bool {
    listeners.borrow().as_ref().is_none_or(|listeners| listeners.is_empty())
}

/// The set, which no other transaction shares.
fn to_change<'l>(
    listeners: &'l mut Option<Arc<ListenerSet>>,
    bundle: &Arc<SchemaBundle>,
) -> &'l mut ListenerSet {
    let none = || Arc::new(ListenerSet::new(Arc::clone(bundle)));
    Arc::make_mut(listeners.get_or_insert_with(none))
}

impl Notifier {
    // ------------------------------------------------------------------ listeners

    pub(super) fn listeners(&self) -> Option<Arc<ListenerSet>> {
        self.listeners.borrow().clone()
    }

    /// Replaces all listeners by a set. Others cannot be added.
    pub(super) fn install(&self, listeners: Arc<ListenerSet>) {
        self.listeners.replace(Some(listeners));
        self.installed.set(true);
    }

    /// Sets the listeners that call the hooks of the layer above.
    pub(super) fn set_hooks(&self, hooks: Arc<ListenerSet>) {
        self.hooks.replace(Some(hooks));
    }

    /// Changes the listeners that call the hooks of the layer above. `bundle` are the recorded
    /// schemas that the transaction sees.
    pub(super) fn change_hooks<R>(
        &self,
        bundle: &Arc<SchemaBundle>,
        change: impl FnOnce(&mut ListenerSet) -> Result<R>,
    ) -> Result<R> {
        change(to_change(&mut self.hooks.borrow_mut(), bundle))
    }

    pub(in crate::object) fn has_hooks(&self) -> bool {
        !is_empty(&self.hooks)
    }

    /// The calls of hooks that are running.
    pub(in crate::object) fn calls(&self) -> &HookCalls {
        &self.calls
    }

    /// The listeners that call hooks. They are called first.
    pub(super) fn hooks(&self) -> Option<Arc<ListenerSet>> {
        self.hooks.borrow().clone()
    }

    /// Changes the listeners. `bundle` are the recorded schemas that the transaction sees.
    pub(super) fn change<R>(
        &self,
        bundle: &Arc<SchemaBundle>,
        change: impl FnOnce(&mut ListenerSet) -> Result<R>,
    ) -> Result<R> {
        if self.installed.get() {
            return Err(Error::ListenersInstalled);
        }
        // If other transactions share the set, `make_mut` copies it, so they do not see the change.
        change(to_change(&mut self.listeners.borrow_mut(), bundle))
    }

    /// Called when the transaction continues with other recorded schemas.
    pub(in crate::object) fn set_bundle(&self, bundle: &Arc<SchemaBundle>) {
        for listeners in [&self.hooks, &self.listeners] {
            if let Some(listeners) = &mut *listeners.borrow_mut() {
                *listeners = Arc::new(listeners.among(bundle));
            }
        }
    }

    /// Sets whether listeners to creation, deletion and fields are not called. Returns the old
    /// setting.
    pub(in crate::object) fn set_silent(&self, silent: bool) -> bool {
        self.silent.replace(silent)
    }

    fn asks(&self, whether: impl Fn(&ListenerSet) -> bool) -> bool {
        let asks = |listeners: &Listeners| listeners.borrow().as_deref().is_some_and(&whether);
        // While silent, nothing is queued, so nothing can be delivered later either.
        !self.silent.get() && (asks(&self.hooks) || asks(&self.listeners))
    }

    pub(super) fn watches_field(&self, field: StorageId, object_type: StorageId) -> bool {
        self.asks(|listeners| listeners.watches_field(field, object_type))
    }

    pub(in crate::object) fn watches_any_field(&self, object_type: &ResolvedType) -> bool {
        self.asks(|listeners| listeners.watches_any_field(object_type))
    }

    pub(in crate::object) fn watches_creation(&self, object_type: StorageId) -> bool {
        self.asks(|listeners| listeners.watches_creation(object_type))
    }

    pub(in crate::object) fn watches_deletion(&self, object_type: StorageId) -> bool {
        self.asks(|listeners| listeners.watches_deletion(object_type))
    }

    /// Whether deletions of objects of any type are watched.
    pub(in crate::object) fn watches_deletions(&self) -> bool {
        self.asks(|listeners| !listeners.of_deletion().is_empty())
    }

    // ------------------------------------------------------------------ what is waiting

    /// Whether there are no listeners, so that the changes of an operation need not be queued. Ask
    /// only outside of larger operations.
    pub(in crate::object) fn is_idle(&self) -> bool {
        is_empty(&self.hooks) && is_empty(&self.listeners)
    }

    pub(in crate::object) fn is_queueing(&self) -> bool {
        self.queue.borrow().is_some()
    }

    pub(in crate::object) fn is_holding(&self) -> bool {
        self.held.borrow().is_some()
    }

    /// Queues changes after `pending`, until the returned guard is dropped. Changes that were not
    /// delivered until then are forgotten.
    pub(in crate::object) fn queue(&self, pending: Pending) -> Queueing<'_> {
        self.queue.replace(Some(pending));
        Queueing(self)
    }

    /// Holds changes back until the returned guard is ended.
    pub(in crate::object) fn hold(&self) -> Holding<'_> {
        self.held.replace(Some(Vec::new()));
        Holding(self)
    }

    /// Sets aside the waiting changes, until the returned guard is dropped.
    pub(in crate::object) fn set_aside(&self) -> SetAside<'_> {
        let waiting = (self.queue.take(), self.held.take());
        SetAside { notifier: self, waiting }
    }

    /// Adds the queued changes to those held back. Returns `false` if changes are not being held
    /// back.
    pub(in crate::object) fn hold_queued(&self) -> bool {
        let mut held = self.held.borrow_mut();
        let Some(held) = &mut *held else { return false };
        // A part without changes would only make the list of the held ones longer.
        held.extend(self.queue.take().filter(|pending| !pending.changes.is_empty()));
        true
    }

    /// Queues a change, if changes are being queued.
    pub(super) fn add(&self, change: impl FnOnce() -> FieldChange) {
        if let Some(pending) = &mut *self.queue.borrow_mut() {
            let (number, change) = (pending.next, change());
            pending.next += 1;
            let field = change.field.storage_id;
            let by_move = match self.moving.get() {
                ByMove::None => false,
                ByMove::All => true,
                ByMove::AllBut(set) => field != set,
            };
            // The cause is noted now: when the change is delivered, that call has ended.
            let queued = Queued { number, change, cause: self.calls.current(), by_move };
            pending.changes.entry(field).or_default().push(queued);
        }
    }

    /// Runs `queue`, which queues changes. They come from the move of an object to another schema,
    /// as far as `by_move` says so.
    pub(in crate::object) fn queueing_move<R>(
        &self,
        by_move: ByMove,
        queue: impl FnOnce() -> R,
    ) -> R {
        let before = self.moving.replace(by_move);
        let result = queue();
        self.moving.set(before);
        result
    }

    /// Takes the changes of the field with the lowest storage ID.
    pub(super) fn take_next(&self) -> Option<Vec<Queued>> {
        // As in Java, fields are told by their storage IDs, not in the order of the changes.
        let (_, changes) = self.queue.borrow_mut().as_mut()?.changes.pop_first()?;
        Some(changes)
    }

    pub(in crate::object) fn mark(&self) -> Mark {
        Mark {
            queued: self.queue.borrow().as_ref().map(|pending| pending.next),
            held: self.held.borrow().as_ref().map(Vec::len),
            happened: self.happened.borrow().len(),
            hooks: self.hooks.borrow().as_ref().map_or(0, |hooks| hooks.len()),
        }
    }

    /// Notes from now on what happens to objects of these types.
    pub(super) fn set_noted(&self, types: Vec<StorageId>) {
        self.noted.replace(types);
    }

    /// Notes an event of an object, if this is wanted.
    pub(super) fn note(&self, id: ObjId, what: Happened) {
        if self.silent.get() || !self.noted.borrow().contains(&id.storage_id()) {
            return;
        }
        let mut happened = self.happened.borrow_mut();
        // An object that changes often in a row is noted once, so that the notes stay few.
        if happened.last() != Some(&(id, what)) {
            happened.push((id, what));
        }
    }

    /// Takes the noted events of objects.
    pub(super) fn take_happened(&self) -> Vec<(ObjId, Happened)> {
        self.happened.take()
    }

    /// Forgets the events that were queued, held back and noted since `mark`, and the hooks that
    /// were added.
    pub(in crate::object) fn forget_since(&self, mark: &Mark) {
        // `make_mut` would copy a shared set although nothing was added to it.
        if let Some(hooks) = &mut *self.hooks.borrow_mut()
            && hooks.len() > mark.hooks
        {
            Arc::make_mut(hooks).truncate(mark.hooks);
        }
        self.happened.borrow_mut().truncate(mark.happened);
        if let (Some(len), Some(held)) = (mark.held, &mut *self.held.borrow_mut()) {
            held.truncate(len);
        }
        // Numbers are given in order, so all from `next` on belong to the operation that was
        // undone.
        if let (Some(next), Some(pending)) = (mark.queued, &mut *self.queue.borrow_mut()) {
            pending
                .changes
                .values_mut()
                .for_each(|list| list.retain(|queued| queued.number < next));
            pending.changes.retain(|_, list| !list.is_empty());
        }
    }
}

/// Ends the queueing when dropped, even if a listener failed.
pub(in crate::object) struct Queueing<'n>(&'n Notifier);

impl Drop for Queueing<'_> {
    fn drop(&mut self) {
        self.0.queue.replace(None);
    }
}

/// Lets changes that were set aside wait again when dropped.
pub(in crate::object) struct SetAside<'n> {
    notifier: &'n Notifier,
    waiting: (Option<Pending>, Option<Vec<Pending>>),
}

impl Drop for SetAside<'_> {
    fn drop(&mut self) {
        let (queue, held) = std::mem::take(&mut self.waiting);
        self.notifier.queue.replace(queue);
        self.notifier.held.replace(held);
    }
}

/// Stops holding changes back when dropped.
pub(in crate::object) struct Holding<'n>(&'n Notifier);

impl Holding<'_> {
    /// Stops holding changes back, and returns them.
    pub(in crate::object) fn end(self) -> Vec<Pending> {
        self.0.held.take().unwrap_or_default()
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.0.held.replace(None);
    }
}
