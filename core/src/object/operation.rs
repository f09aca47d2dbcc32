//! Operations: each happens as a whole or not at all
//! (docs/src/transactions.md#steps-within-a-transaction).
//!
//! Whatever changes objects runs in one of these:
//!
//! | method | if `body` fails | listeners to fields are called |
//! |---|---|---|
//! | [`Transaction::operation`] | its changes are undone | not by this method |
//! | [`Transaction::mutate`] | the same | after the outermost `mutate`, or the `operation_then_tell` around it |
//! | [`Transaction::mutate_then`] | the same | as with `mutate`, but after `tell` |
//! | [`Transaction::operation_told`] | the same, also if a hook fails in `tell` | by `tell` |
//! | [`Transaction::operation_then_tell`] | the same | after all of several changes |
//! | [`Transaction::creating`] | the same, also if a hook or a check has deleted what `body` has created | not by this method |
//! | [`Transaction::undone`] | undoes its changes in any case | never |
//!
//! An error of a hook undoes the whole operation that caused the call of the hook
//! ([`Transaction::operation_told`]). After the error of another listener to a creation or to
//! fields, the changes stay.

use super::dirty_set::EarlyCheck;
use super::notify::{Mark, Pending};
use super::store::Running;
use super::{Error, Result, Transaction};
use crate::id::ObjId;
use crate::layout::SchemaIndex;

impl Transaction {
    /// Runs several operations as one: if `body` fails, all its changes are undone, and the
    /// transaction continues. Listeners that were already called do not learn of the undo.
    ///
    /// Cost: memory for the values that are replaced and removed meanwhile, and one get for each
    /// assignment that otherwise needs none. Those are assignments to counters, and to fields that
    /// are neither indexed nor watched.
    ///
    /// # Errors
    /// The errors of `body`; [`Error::Ended`]; [`Error::Broken`] if an earlier undo failed.
    pub fn atomic<R, E: From<Error>>(
        &self,
        body: impl FnOnce(&Self) -> Result<R, E>,
    ) -> Result<R, E> {
        self.check_open()?;
        self.operation(|| body(self))
    }
}

impl Transaction {
    /// Runs `body` as one operation. If it fails, everything is as before, and the listeners to its
    /// changes are not called.
    pub(crate) fn operation<R, E: From<Error>>(
        &self,
        body: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        self.run(self.begin_operation(self.dirty_set.begin_early())?, body)
    }

    /// Does the same, without a check of rules at its end.
    pub(crate) fn as_a_whole<R, E: From<Error>>(
        &self,
        body: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        self.run(self.begin_operation(None)?, body)
    }

    fn run<R, E: From<Error>>(
        &self,
        begun: Operation<'_>,
        body: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        let result = body();
        match self.end_operation(begun, result.is_ok()) {
            Ok(()) => result,
            Err(error) => Err(error.into()),
        }
    }

    /// Apart from `run`, because the compiler makes that anew for every `body`.
    fn begin_operation<'a>(&'a self, early: Option<EarlyCheck<'a>>) -> Result<Operation<'a>> {
        let (mark, callbacks) = (self.notifier.mark(), self.callbacks.borrow().len());
        // The outer operation begins first, so that a refused check undoes the changes and its own
        // writes.
        let whole = self.store.begin_operation()?;
        let checked = early.is_some().then(|| self.store.begin_operation()).transpose()?;
        let own_schema = self.schema_index();
        Ok(Operation { checked, whole, early, mark, callbacks, own_schema })
    }

    /// Fails if `body` has succeeded, but not the check of rules.
    fn end_operation(&self, begun: Operation<'_>, succeeded: bool) -> Result<()> {
        let Operation { checked, whole, early: _until_the_end, mark, callbacks, own_schema } =
            begun;
        let mut checks = Ok(());
        if let Some(checked) = checked {
            // The changes end first: what `check_ended` writes belongs to the whole, not to the
            // changes.
            checked.end(succeeded);
            if succeeded {
                checks = self.check_ended();
            }
        }
        let succeeded = succeeded && checks.is_ok();
        // The undo comes first: after it, the schemas are read from the restored pairs.
        whole.end(succeeded);
        if !succeeded {
            // The listeners must not hear of changes that were undone.
            self.notifier.forget_since(&mark);
            self.callbacks.borrow_mut().undo_after(callbacks);
            self.restore_schemas(own_schema);
        }
        checks
    }

    /// Runs `body`, which checks something, as an operation apart from the one that is running.
    /// Listeners to its changes are called when each is made, not at the end of the running one. An
    /// assignment that changes nothing is not noted. Also returns whether `body` has changed
    /// something that was not undone.
    pub(crate) fn operation_apart<R, E: From<Error>>(
        &self,
        body: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, bool), E> {
        // Without this, the changes of the check would wait for the end of the operation that is
        // running.
        let _running = self.notifier.set_aside();
        let _exact = self.dirty_set.only_differences();
        self.operation(|| {
            let mark = self.store.mark();
            let result = body()?;
            Ok((result, self.store.has_changed_since(mark)))
        })
    }

    /// Runs `create`, which is an operation, or several. If hooks or a check of rules have
    /// meanwhile deleted an object that it has created, everything is undone, because the caller
    /// gets the object. `created` gives these objects.
    pub(crate) fn creating<R, I: IntoIterator<Item = ObjId>>(
        &self,
        create: impl FnOnce() -> Result<R>,
        created: impl FnOnce(&R) -> I,
    ) -> Result<R> {
        // Only hooks and checks can delete what was just created, so the look-up is saved.
        if !self.notifier.has_hooks() && !self.dirty_set.checks_early() {
            return create();
        }
        let created: Result<Result<R>> = self.as_a_whole(|| {
            let result = create();
            // An operation that fails has undone itself. After the error of a listener, the object
            // stays.
            if let Ok(result) = &result {
                for id in created(result) {
                    self.check_created(id)?;
                }
            }
            Ok(result)
        });
        created?
    }

    /// Refuses to create an object that was deleted while it was created.
    fn check_created(&self, id: ObjId) -> Result<()> {
        if self.exists(id)? {
            return Ok(());
        }
        let attempted = "the new object was deleted while it was created (to refuse a creation, \
                         return an error from the hook)";
        let attempted = attempted.into();
        Err(Error::DeletedObject { id, type_name: self.type_name_of(id), attempted })
    }

    /// Runs `body` and undoes its changes, even if it succeeds. `body` may make changes although
    /// the transaction refuses them. Listeners to creation, deletion and fields are not called.
    pub(crate) fn undone<R>(&self, body: impl FnOnce() -> Result<R>) -> Result<R> {
        let _allowed = self.allow_changes();
        let silent = self.notifier.set_silent(true);
        let mut result = None;
        let undone = self.operation(|| -> Result<(), Undone> {
            // The error makes the operation undo itself. The real result travels in `result`.
            result = Some(body());
            Err(Undone::OnPurpose)
        });
        self.notifier.set_silent(silent);
        match (undone, result) {
            (Err(Undone::Failed(error)), _) => Err(error),
            (_, Some(result)) => result,
            // An operation that does not run `body` has failed, which is the first case.
            (_, None) => Err(Error::Ended),
        }
    }

    /// Runs `body` as one operation that may change fields, then calls the listeners to what it
    /// changed. If `body` fails, its changes are undone, and no listener is called. Inside another
    /// such operation, or in a listener, the outermost operation calls the listeners.
    pub(crate) fn mutate<R>(&self, body: impl FnOnce() -> Result<R>) -> Result<R> {
        self.mutate_then(body, |_| Ok(()))
    }

    /// Does the same as [`Transaction::mutate`], but after `body` has succeeded, it runs `tell`
    /// first. Then it calls the listeners to the changes of both. If `tell` fails, the changes of
    /// `body` stay (unless this is part of a larger operation), and their listeners are still
    /// called.
    pub(crate) fn mutate_then<R>(
        &self,
        body: impl FnOnce() -> Result<R>,
        tell: impl FnOnce(&R) -> Result<()>,
    ) -> Result<R> {
        self.check_open()?;
        let notifier = &self.notifier;
        // This is part of another such operation, which calls the listeners when it is complete.
        if notifier.is_queueing() {
            // A nested operation is undone alone. The outermost one calls the listeners if it
            // succeeds as a whole.
            return self.operation_told(body, tell);
        }
        // There are no listeners. `tell` only calls listeners, so it is left out too.
        if notifier.is_idle() {
            return self.operation(body);
        }
        let _queueing = notifier.queue(Pending::default());
        self.operation_told(body, |result| {
            // `tell` may fail and the changes stay, so their listeners are called before its error
            // is returned.
            let heard = tell(result);
            // A larger operation that holds changes back calls the listeners when it is complete.
            if !notifier.hold_queued() {
                self.deliver()?;
            }
            heard
        })
    }

    /// Runs `body`, which makes several changes, as one operation. After `body`, calls the
    /// listeners to all changes that `body` and the listeners it called have made, in the order in
    /// which they were made. If one of these listeners fails, the changes of `body` stay, and the
    /// remaining listeners are not called.
    pub(crate) fn operation_then_tell<R>(&self, body: impl FnOnce() -> Result<R>) -> Result<R> {
        let notifier = &self.notifier;
        // A larger operation calls the listeners when it is complete, or there are no listeners.
        if notifier.is_queueing() || notifier.is_holding() || notifier.is_idle() {
            return self.operation(body);
        }
        // Each `mutate` within `body` would call its listeners itself, in the middle of the
        // changes.
        let holding = notifier.hold();
        self.operation_told(body, |_| {
            for pending in holding.end() {
                // Changes that the listeners make are queued behind this part and told before the
                // next one.
                let _queueing = notifier.queue(pending);
                self.deliver()?;
            }
            Ok(())
        })
    }

    /// Runs `body` as one operation, then `tell`, which calls the listeners to it. If a hook fails,
    /// the changes of `body` are undone, with all changes by the called listeners. After another
    /// error of `tell`, they stay.
    pub(in crate::object) fn operation_told<R>(
        &self,
        body: impl FnOnce() -> Result<R>,
        tell: impl FnOnce(&R) -> Result<()>,
    ) -> Result<R> {
        let (mut tell, mut heard) = (Some(tell), Ok(()));
        let result = self.operation(|| {
            let result = body()?;
            // With hooks, `tell` runs inside the operation: the error of a hook must still be able
            // to undo it.
            if self.notifier.has_hooks()
                && let Some(tell) = tell.take()
            {
                match tell(&result) {
                    Err(error @ Error::Hook(_)) => return Err(error),
                    // The error of a plain listener leaves the changes, so it must not make the
                    // operation fail.
                    other => heard = other,
                }
            }
            Ok(result)
        })?;
        // Without hooks no error can undo the changes, so the journal is freed before listeners
        // run.
        if let Some(tell) = tell {
            heard = tell(&result);
        }
        heard.map(|()| result)
    }
}

/// An operation that is running. After a panic, its parts are dropped in this order.
struct Operation<'a> {
    /// The changes that are checked at the end. They are an operation of their own, because even a
    /// single write may have to be undone.
    checked: Option<Running<'a>>,
    whole: Running<'a>,
    early: Option<EarlyCheck<'a>>,
    /// The events that listeners had not yet got when it began, and the number of callbacks then.
    mark: Mark,
    callbacks: usize,
    /// The schema of the transaction when it began.
    own_schema: SchemaIndex,
}

/// Why an operation was undone.
enum Undone {
    OnPurpose,
    Failed(Error),
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Undone::Failed(error)
    }
}
