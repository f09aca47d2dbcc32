//! Hooks that check objects when the rules are checked.

use std::error::Error as StdError;

use super::call::{self, Callable, failed_in};
use super::checker::Checker;
use super::declare::{HookDecl, On};
use super::told::Told;
use crate::id::ObjId;
use crate::model::error::causes::causes;
use crate::model::error::{Error, Result, is_retryable};
use crate::model::tx::Tx;
use crate::object::{self, HookLimit};

/// What a hook says about an object.
pub(in crate::model) enum Judgement {
    Right,
    /// The name of the hook, and its error.
    Wrong(String, String),
}

impl Checker {
    /// Those among the hooks of a model, or of a mix-in or kind whose fields begin at `start`.
    pub(in crate::model) fn all(hooks: &'static [HookDecl], start: usize) -> Vec<Self> {
        let checker = |decl: &HookDecl| {
            let On::Validate(fields) = decl.on else { return None };
            let fields =
                fields.map(|fields| fields.iter().map(|position| start + position()).collect());
            Some(Checker { hook: call::hook(decl.name, Box::new(decl.run)), fields })
        };
        hooks.iter().filter_map(checker).collect()
    }

    /// Lets the hook check an object. The changes of a hook that finds something wrong are undone.
    /// Also returns whether the hook has changed something.
    ///
    /// # Errors
    /// The error of the hook, if it is one of the store or of the transaction.
    pub(in crate::model) fn check(&self, tx: &Tx, object: ObjId) -> Result<(Judgement, bool)> {
        tx.core.operation_apart(|| self.call(tx, object)).or_else(|failed| match failed {
            Failed::Wrong(hook, message) => Ok((Judgement::Wrong(hook, message), false)),
            Failed::Error(error) => Err(error),
        })
    }

    /// Does the same as [`check`](Checker::check), but undoes the changes of the hook in any case.
    pub(in crate::model) fn check_only(&self, tx: &Tx, object: ObjId) -> Result<Judgement> {
        let judged = tx.core.undone(|| Ok(self.call(tx, object)))?;
        judged.or_else(|failed| match failed {
            Failed::Wrong(hook, message) => Ok(Judgement::Wrong(hook, message)),
            Failed::Error(error) => Err(error),
        })
    }

    fn call(&self, tx: &Tx, object: ObjId) -> Result<Judgement, Failed> {
        let Some(callable) = self.hook.downcast_ref::<Callable>() else {
            return Ok(Judgement::Right);
        };
        let running = tx.core.begin_call(&self.hook, object);
        let outcome = match running.exceeded() {
            Some(limit) => Err(limit.into()),
            None => (callable.run)(&Told { tx, event: None, observer: object }),
        };
        match outcome {
            Ok(()) => Ok(Judgement::Right),
            Err(error) if ends_check(&*error) => {
                Err(Failed::Error(failed_in(callable, object, &running.call, error)))
            }
            Err(error) => Err(Failed::Wrong(callable.name.to_string(), error.to_string())),
        }
    }
}

enum Failed {
    Wrong(String, String),
    Error(Error),
}

impl From<object::Error> for Failed {
    fn from(error: object::Error) -> Self {
        Failed::Error(error.into())
    }
}

/// Whether the error of a hook is about the store or the transaction, and not about the object.
fn ends_check(error: &(dyn StdError + Send + Sync + 'static)) -> bool {
    use object::Error as Object;
    if is_retryable(error) {
        return true;
    }
    causes(error).any(|error| {
        matches!(
            error.downcast_ref::<Object>(),
            Some(Object::Kv { .. } | Object::Ended | Object::Broken)
        ) || error.is::<HookLimit>()
    })
}
