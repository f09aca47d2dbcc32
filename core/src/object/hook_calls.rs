//! Calls of hooks: which call led to which, and how many there may be
//! (docs/src/hooks.md#recursion).

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::id::ObjId;

/// A function of the layer above, of a type that only that layer knows.
pub(crate) type Hook = Arc<dyn Any + Send + Sync>;

/// How many calls may run inside each other. Each of them uses the stack.
const MAX_NESTED: u32 = 32;

/// How long a chain of calls may be in which each call was made for a change by the one before.
const MAX_CHAIN: u32 = 1_000;

/// How many calls one operation may cause for changes by hooks, other than the hooks that were
/// called for its own changes. A hook that makes two changes for each change that it gets would run
/// nearly forever before the chain is too long.
const MAX_FOLLOWING: u32 = 100_000;

/// A call of a hook, and its cause.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) hook: Hook,
    /// The object for which the hook was called.
    pub(crate) object: ObjId,
    /// The call that made the change for which this one was made; `None` if the program made it.
    pub(crate) cause: Option<Arc<Call>>,
    /// How long the chain of calls is that ends with this one.
    len: u32,
}

impl Drop for Call {
    /// Drops a long chain without recursion.
    fn drop(&mut self) {
        // Each call keeps its cause alive, and a chain can be longer than the stack is deep.
        let mut next = self.cause.take();
        // A cause that another call still needs stays, and so does everything before it.
        while let Some(mut call) = next.and_then(Arc::into_inner) {
            next = call.cause.take();
        }
    }
}

/// Hooks call each other again and again. One of them was not called, and the operation that led to
/// the call was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookLimit {
    /// Too many hooks were running inside each other.
    #[error(
        "{0} hooks ran inside each other, and this one would be the next: a hook must not create or delete objects \
         for which it is called without end"
    )]
    Nested(u32),
    /// In a chain of hooks, each made the change for which the next one was called.
    #[error(
        "{0} hooks in a row did what the next one was told of: a hook that changes what it watches must come to an \
         end, for example by writing only a value that differs"
    )]
    Chain(u32),
    /// One operation has led to too many calls for changes by hooks.
    #[error(
        "one operation has led to {0} calls of hooks for what other hooks did: a hook that changes what it watches \
         must come to an end, for example by writing only a value that differs"
    )]
    Following(u32),
}

/// The calls of hooks that are running in a transaction.
#[derive(Default)]
pub(super) struct HookCalls {
    current: RefCell<Option<Arc<Call>>>,
    nested: Cell<u32>,
    following: Cell<u32>,
}

impl HookCalls {
    /// The call that is running, which makes the present changes.
    pub(super) fn current(&self) -> Option<Arc<Call>> {
        self.current.borrow().clone()
    }

    /// Lets `cause` count as the running call, until the returned guard is dropped.
    pub(super) fn caused_by(&self, cause: Option<Arc<Call>>) -> Caused<'_> {
        Caused { calls: self, before: self.current.replace(cause) }
    }

    /// Begins the call of a hook. It ends when the returned guard is dropped.
    pub(super) fn begin(&self, hook: &Hook, object: ObjId) -> Running<'_> {
        let cause = self.current();
        // A call that no hook caused begins a chain.
        let len = cause.as_ref().map_or(0, |cause| cause.len).saturating_add(1);
        let call = Arc::new(Call { hook: Arc::clone(hook), object, cause, len });
        let nested = self.nested.get();
        // The program has started this chain, so the count begins anew.
        if nested == 0 && len == 1 {
            self.following.set(0);
        }
        // That hooks answer a change of a hook once is usual, so only longer chains count.
        if len > 2 {
            self.following.set(self.following.get().saturating_add(1));
        }
        // The count of nested calls guards the stack, and that of the chain guards against endless
        // loops.
        self.nested.set(nested.saturating_add(1));
        let caused = self.caused_by(Some(Arc::clone(&call)));
        Running { call, caused }
    }
}

/// Ends a cause when dropped.
pub(super) struct Caused<'c> {
    calls: &'c HookCalls,
    before: Option<Arc<Call>>,
}

impl Drop for Caused<'_> {
    fn drop(&mut self) {
        // The old cause is dropped after the borrow ends: that can drop a hook, which is code of
        // the program.
        let ended = self.calls.current.replace(self.before.take());
        drop(ended);
    }
}

/// Ends a call when dropped.
pub(crate) struct Running<'c> {
    pub(crate) call: Arc<Call>,
    caused: Caused<'c>,
}

impl Running<'_> {
    /// The limit that this call exceeds, if it exceeds one.
    pub(crate) fn exceeded(&self) -> Option<HookLimit> {
        let calls = self.caused.calls;
        if calls.nested.get() > MAX_NESTED {
            Some(HookLimit::Nested(MAX_NESTED))
        } else if self.call.len > MAX_CHAIN {
            Some(HookLimit::Chain(MAX_CHAIN))
        } else if calls.following.get() > MAX_FOLLOWING {
            Some(HookLimit::Following(MAX_FOLLOWING))
        } else {
            None
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let nested = &self.caused.calls.nested;
        nested.set(nested.get().saturating_sub(1));
    }
}
