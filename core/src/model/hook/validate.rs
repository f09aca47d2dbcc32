//! Hooks that check objects when the rules are checked.

use super::call::{self, Callable, failed_in};
use super::checker::Checker;
use super::declare::{HookDecl, On};
use super::told::Told;
use crate::id::ObjId;
use crate::model::error::causes::causes;
use crate::model::error::{About, Error, Result, about};
use crate::model::tx::Tx;
use crate::object::{self, HookLimit};

/// The verdict of a function of the program, such as a hook, on an object.
pub(in crate::model) enum Judgement {
    Right,
    /// The name of the function, and its error.
    Wrong(String, String),
    /// The function has got an error about versions, which kept it from a verdict. The name of the
    /// function, and its error as [`Error::Hook`].
    Undecided(String, Box<Error>),
}

impl Judgement {
    /// The verdict that the error of a function states. `failed` makes [`Error::Hook`] of it.
    ///
    /// # Errors
    /// The error of the function, if it is one of the store or of the transaction.
    pub(in crate::model) fn of(
        function: String,
        error: Box<dyn std::error::Error + Send + Sync>,
        failed: impl FnOnce(Box<dyn std::error::Error + Send + Sync>) -> Error,
    ) -> Result<Self> {
        match about(&*error) {
            // A limit is exceeded by the calls of hooks, whatever the object is.
            _ if causes(&*error).any(|error| error.is::<HookLimit>()) => Err(failed(error)),
            About::Transaction => Err(failed(error)),
            About::Versions => Ok(Judgement::Undecided(function, failed(error).into())),
            About::Verdict => Ok(Judgement::Wrong(function, error.to_string())),
        }
    }
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

    /// Lets the hook check an object. The changes of a hook that finds something wrong, or comes to
    /// no verdict, are undone. Also returns whether the hook has changed something.
    ///
    /// # Errors
    /// The error of the hook, if it is one of the store or of the transaction.
    pub(in crate::model) fn check(&self, tx: &Tx, object: ObjId) -> Result<(Judgement, bool)> {
        // A verdict is passed as an error, so that the changes of the hook are undone.
        tx.core.operation_apart(|| self.call(tx, object)).or_else(|failed| match failed {
            Failed::Judged(judged) => Ok((judged, false)),
            Failed::Error(error) => Err(error),
        })
    }

    /// Does the same as [`check`](Checker::check), but undoes the changes of the hook in any case.
    pub(in crate::model) fn check_only(&self, tx: &Tx, object: ObjId) -> Result<Judgement> {
        let judged = tx.core.undone(|| Ok(self.call(tx, object)))?;
        judged.or_else(|failed| match failed {
            Failed::Judged(judged) => Ok(judged),
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
        // The error decides: of the transaction, of other versions, or a verdict on the object.
        let Err(error) = outcome else { return Ok(Judgement::Right) };
        let failed = |error| failed_in(callable, object, &running.call, error);
        match Judgement::of(callable.name.to_string(), error, failed) {
            Ok(judged) => Err(Failed::Judged(judged)),
            Err(error) => Err(Failed::Error(error)),
        }
    }
}

/// Why the changes of a hook are undone.
enum Failed {
    /// The hook does not find the object right.
    Judged(Judgement),
    Error(Error),
}

impl From<object::Error> for Failed {
    fn from(error: object::Error) -> Self {
        Failed::Error(error.into())
    }
}
