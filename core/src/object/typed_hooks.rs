//! The data that the typed layer attaches to a transaction: its state, and the functions that call
//! its hooks and check its rules.
//!
//! A hook is a function of the layer above, which works with handles of that layer. The listeners
//! of this layer call it: [`Transaction::call_hook`] hands the hook and the event to the layer
//! above, which makes the handles.

use std::any::Any;
use std::cell::OnceCell;
use std::sync::Arc;

use super::dirty_set::WatchedFields;
use super::hook_calls::{Hook, Running};
use super::notify::{CreateListener, DeleteListener, FieldChange, FieldListener};
use super::whole_object::Converter;
use super::{Error, Result, Transaction};
use crate::id::ObjId;
use crate::schema::SchemaBundle;

/// Calls a hook.
pub(crate) type CallHook = fn(&Transaction, &Hook, &Event<'_>) -> Result<()>;

/// Checks the rules of the layer above for the objects that were noted.
pub(crate) type CheckRules = fn(&Transaction) -> Result<()>;

/// The fields whose changes must be noted for the rules of the layer above, with these recorded
/// schemas.
pub(crate) type WatchFor = fn(&Transaction, &SchemaBundle) -> Result<WatchedFields>;

/// The event for which a hook is called. `observers` are the objects from which the path of the
/// listener leads to the object, in ascending order; without a path, the object itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event<'a> {
    /// An object was created.
    Created(ObjId),
    /// A field was changed.
    Changed { change: &'a FieldChange, observers: &'a [ObjId] },
    /// An object is about to be deleted.
    Deleting { id: ObjId, observers: &'a [ObjId] },
}

impl Event<'_> {
    /// For which objects a hook is called.
    pub(crate) fn observers(&self) -> &[ObjId] {
        match self {
            Event::Created(id) => std::slice::from_ref(id),
            Event::Changed { observers, .. } | Event::Deleting { observers, .. } => observers,
        }
    }
}

/// Decides what objects of the layer above contain after they have moved to another schema.
pub(crate) type ConverterOf = fn(&Transaction) -> Option<Arc<dyn Converter>>;

/// The data that the layer above has attached to a transaction.
pub(super) struct TypedHooks {
    /// The data that it shares with other transactions.
    shared: Arc<dyn Any + Send + Sync>,
    /// The data that belongs to this transaction alone, once there is something.
    own: OnceCell<Box<dyn Any + Send>>,
    call: CallHook,
    check: CheckRules,
    watch: WatchFor,
    converter: ConverterOf,
}

pub(super) type TypedHooksCell = OnceCell<TypedHooks>;

impl Transaction {
    /// Attaches the layer above, with what it shares with other transactions. Has no effect if it
    /// is attached already.
    pub(crate) fn attach(
        &self,
        shared: Arc<dyn Any + Send + Sync>,
        call: CallHook,
        check: CheckRules,
        watch: WatchFor,
        converter: ConverterOf,
    ) {
        let own = OnceCell::new();
        // Handles attach again and again, so only the first call counts.
        self.typed_hooks.get_or_init(|| TypedHooks { shared, own, call, check, watch, converter });
    }

    /// The converter of the layer above.
    pub(super) fn converter_above(&self) -> Option<Arc<dyn Converter>> {
        self.typed_hooks.get().and_then(|hooks| (hooks.converter)(self))
    }

    /// The fields whose changes must be noted for the rules of the layer above, with these recorded
    /// schemas.
    pub(super) fn watched_with(&self, bundle: &SchemaBundle) -> Result<WatchedFields> {
        match self.typed_hooks.get() {
            Some(hooks) => (hooks.watch)(self, bundle),
            None => Ok(WatchedFields::default()),
        }
    }

    /// Checks the rules of the layer above for the objects that were noted. Does nothing if no
    /// object was noted. Within an operation, the objects stay noted, so each further check has the
    /// cost of all of them again.
    pub(crate) fn check_rules(&self) -> Result<()> {
        // An operation that is running may be undone, and with it what makes its objects right. So
        // they stay noted, for a check after it.
        let noted = self.store.is_in_operation().then(|| self.dirty_set.noted());
        let checked = self.check_ended();
        if let Some(noted) = noted {
            self.dirty_set.put_back(noted);
        }
        checked
    }

    /// Does the same for changes that will not be undone after a successful check. Objects that
    /// break no rule are no longer noted.
    pub(super) fn check_ended(&self) -> Result<()> {
        // Changes by the check itself are checked with it, not at the end of each operation.
        let _checking = self.dirty_set.begin_check();
        match self.typed_hooks.get() {
            // Without a noted object nothing can have broken a rule.
            Some(hooks) if !self.dirty_set.is_empty() => (hooks.check)(self),
            _ => Ok(()),
        }
    }

    /// The attached data that is shared with other transactions; `None` if there is nothing of this
    /// type.
    pub(crate) fn attached<S: Any + Send + Sync>(&self) -> Option<&S> {
        self.typed_hooks.get()?.shared.downcast_ref()
    }

    /// Does the same as [`attached`](Transaction::attached), and shares it.
    pub(crate) fn share_attached<S: Any + Send + Sync>(&self) -> Option<Arc<S>> {
        Arc::clone(&self.typed_hooks.get()?.shared).downcast().ok()
    }

    /// The data that the layer above keeps with this transaction alone; the default before it has
    /// changed it. `None` if nothing is attached.
    pub(crate) fn kept<S: Any + Send + Default>(&self) -> Option<&S> {
        // The layer above needs its own data rarely, so it is made when it is first asked for.
        self.typed_hooks.get()?.own.get_or_init(|| Box::<S>::default()).downcast_ref()
    }

    /// Does the same as [`kept`](Transaction::kept), but is `None` too if that was not called
    /// before.
    pub(crate) fn kept_so_far<S: Any + Send>(&self) -> Option<&S> {
        self.typed_hooks.get()?.own.get()?.downcast_ref()
    }

    /// Begins the call of a hook for an object. It ends when the returned guard is dropped.
    pub(crate) fn begin_call(&self, hook: &Hook, object: ObjId) -> Running<'_> {
        self.notifier.calls().begin(hook, object)
    }

    /// Calls a hook of the layer above.
    fn call_hook(&self, hook: &Hook, event: &Event<'_>) -> Result<()> {
        match self.typed_hooks.get() {
            Some(hooks) => (hooks.call)(self, hook, event),
            None => {
                Err(Error::invalid_argument("a hook was called in a transaction without models"))
            }
        }
    }
}

/// A listener to creations that calls a hook.
pub(crate) fn created(hook: Hook) -> CreateListener {
    Arc::new(move |tx, id| tx.call_hook(&hook, &Event::Created(id)))
}

/// A listener to deletions that calls a hook.
pub(crate) fn deleting(hook: Hook) -> DeleteListener {
    Arc::new(move |tx, id, observers| tx.call_hook(&hook, &Event::Deleting { id, observers }))
}

/// A listener to changes of fields that calls a hook.
pub(crate) fn changed(hook: Hook) -> FieldListener {
    Arc::new(move |tx, change, observers| {
        tx.call_hook(&hook, &Event::Changed { change, observers })
    })
}
