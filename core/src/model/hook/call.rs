//! Calling hooks and observers.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::call_trace::HookCall;
use super::told::{Outcome, Told};
use crate::id::ObjId;
use crate::model::error::Error;
use crate::model::tx::Tx;
use crate::object::{self, Call, Event, Hook};

/// A hook or observer, as the object layer keeps it.
pub(super) struct Callable {
    pub(super) name: Cow<'static, str>,
    pub(super) run: Run,
}

/// The function of a hook or observer.
pub(super) type Run = Box<dyn Fn(&Told<'_>) -> Outcome + Send + Sync>;

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Callable({})", self.name)
    }
}

/// The error of a hook that deletes the object for whose creation it was called.
const DELETED_NEW: &str = "it has deleted the object, which is being created; \
                           to refuse the creation, return an error from the hook";

/// Calls a hook for each object that observes the event.
pub(crate) fn call(tx: &Tx, hook: &Hook, event: &Event<'_>) -> object::Result<()> {
    // Each layer above could have hooks of its own.
    let Some(callable) = hook.downcast_ref::<Callable>() else {
        return Err(object::Error::invalid_argument("a hook of another layer was called"));
    };
    for &observer in event.observers() {
        // Another hook has deleted it.
        if !tx.core.exists(observer)? {
            continue;
        }
        // The call is noted while it runs, so that calls without end are found.
        let running = tx.core.begin_call(hook, observer);
        let outcome = match running.exceeded() {
            Some(limit) => Err(limit.into()),
            None => (callable.run)(&Told { tx, event: Some(event), observer }),
        };
        // A creation returns the object, so a hook may not have deleted it.
        let outcome = outcome.and_then(|()| match event {
            // Nothing could be returned for the object.
            Event::Created(id) if !tx.core.exists(*id)? => Err(DELETED_NEW.into()),
            _ => Ok(()),
        });
        outcome.map_err(|source| {
            let source = match event {
                Event::Created(id) => of_new(source, *id),
                _ => source,
            };
            let error = failed_in(callable, observer, &running.call, source);
            object::Error::Hook(Box::new(error))
        })?;
    }
    Ok(())
}

/// The error of a hook for the creation of an object, which says so if the hook has asked the
/// object for a value that it does not have yet.
fn of_new(
    source: Box<dyn std::error::Error + Send + Sync>,
    new: ObjId,
) -> Box<dyn std::error::Error + Send + Sync> {
    let mut error = match source.downcast::<Error>() {
        Ok(error) => error,
        Err(other) => return other,
    };
    if let Error::Missing { id, is_new, .. } = &mut *error
        && *id == new
    {
        *is_new = true;
    }
    error
}

/// The error of a hook.
pub(super) fn failed_in(
    hook: &Callable,
    object: ObjId,
    call: &Call,
    source: Box<dyn std::error::Error + Send + Sync>,
) -> Error {
    // The error of a hook that this one has called says everything.
    let source = match source.downcast::<Error>() {
        Ok(error) if matches!(*error, Error::Hook { .. }) => return *error,
        Ok(error) => error,
        Err(source) => match source.downcast::<object::Error>() {
            Ok(error) => match Error::from(*error) {
                hook @ Error::Hook { .. } => return hook,
                error => error.into(),
            },
            Err(source) => source,
        },
    };
    let mut calls = Vec::new();
    // The calls are noted from the last one back, and an error tells them from the first one on.
    let mut cause = call.cause.as_ref();
    while let Some(call) = cause {
        let hook = call
            .hook
            .downcast_ref::<Callable>()
            .map_or_else(String::new, |hook| hook.name.to_string());
        calls.push(HookCall { hook, object: call.object });
        cause = call.cause.as_ref();
    }
    calls.reverse();
    Error::Hook { hook: hook.name.to_string(), object, calls, source }
}

/// A hook for the object layer.
pub(super) fn hook(name: impl Into<Cow<'static, str>>, run: Run) -> Hook {
    Arc::new(Callable { name: name.into(), run })
}
