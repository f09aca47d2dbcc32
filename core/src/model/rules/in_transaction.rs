//! When the rules of models are checked in one transaction.

use super::validation::Validation;
use crate::model::error::Result;
use crate::model::tx::Tx;
use crate::object::Transaction;

impl Tx {
    /// Sets when the rules of the models are checked in this transaction.
    /// [`Builder::validation`](crate::model::Builder::validation) sets it for all.
    ///
    /// Changes that are made while rules are checked [manually](Validation::Manual) or
    /// [never](Validation::Off) are not checked later either.
    ///
    /// # Errors
    /// If the transaction has no models.
    pub fn set_validation(&self, validation: Validation) -> Result<()> {
        self.validate_as(validation)?;
        note_for(&self.core, validation);
        Ok(())
    }

    /// Checks the rules of the models at once for all objects that have changed in this
    /// transaction, as the commit does. Objects that break a rule are checked again later, others
    /// only if they change again. Within [`atomic`](crate::object::Transaction::atomic), all are
    /// checked again after it, because it may be undone.
    ///
    /// Cost for each object: for each changed unique field, one get, one seek and one step (more if
    /// other objects have the value); for a new singleton, one seek and a step for each of its
    /// pairs; for own validation, a scan of the object's pairs. If objects in other recorded
    /// schemas may lack entries in the index of a unique field, a seek more for each such schema.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all objects that break rules.
    /// [`Error::Hook`](crate::Error::Hook) with the error of the store that a hook or a function
    /// which checks objects has got; if nothing breaks a rule, also with one
    /// [about versions](crate::Error::is_about_versions).
    pub fn validate(&self) -> Result<()> {
        Ok(self.core.check_rules()?)
    }
}

/// Lets the object layer note the changes that the rules need.
pub(in crate::model) fn note_for(core: &Transaction, validation: Validation) {
    // What is not noted costs nothing, so only the modes that check by themselves note changes.
    let paused = matches!(validation, Validation::Manual | Validation::Off);
    core.dirty_set.set(paused, validation == Validation::Early);
}
