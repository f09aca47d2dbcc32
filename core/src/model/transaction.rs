//! Transactions that can be committed.

use std::ops::Deref;

use super::error::{Error, Result};
use super::rules::CommitError;
use super::tx::Tx;
use crate::object;

/// A transaction that can be committed. Dropping it rolls it back.
///
/// It keeps the database open and borrows nothing. Handles borrow it, so no handle outlives it.
#[derive(Debug)]
#[must_use = "dropping a transaction rolls it back"]
pub struct Transaction {
    tx: Tx,
}

impl Transaction {
    /// A transaction of the object layer to which models are attached.
    pub(super) fn new(core: object::Transaction) -> Self {
        Transaction { tx: Tx { core } }
    }

    /// Makes the changes durable and visible to others.
    ///
    /// # Errors
    /// [`Error::Invalid`] if objects break rules of their models; the error then gives the
    /// transaction back, still open. Changes that `before_commit` callbacks and the check have made
    /// stay in it. The same holds of [`Error::Hook`] if nothing breaks a rule, and a hook or a
    /// function that checks objects gets an error [about versions](Error::is_about_versions).
    ///
    /// If such a function gets an error of the store ([`Error::Hook`]), or the store or a
    /// `before_commit` callback fails, everything is rolled back, except that after
    /// `OutcomeUnknown` the commit may have taken place. If an `after_commit` callback fails, the
    /// data is committed. Some failures of the store are [retryable](Error::is_retryable).
    pub fn commit(self) -> Result<(), CommitError> {
        self.tx.core.commit_or_return().map_err(|refused| {
            CommitError::new(refused.error.into(), refused.transaction.map(|core| *core))
        })
    }

    /// Discards the changes.
    pub fn rollback(self) -> Result<()> {
        Ok(self.tx.core.rollback()?)
    }
}

impl Deref for Transaction {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

impl CommitError {
    /// The transaction, still open, if objects break rules, or objects of another version of the
    /// program keep a function from checking them. Changes that `before_commit` callbacks and the
    /// check have made stay in it. It can be used and committed again. Callbacks before the commit
    /// are then called again.
    pub fn into_transaction(self) -> Option<Transaction> {
        self.into_parts().1
    }

    /// The error and the transaction.
    pub fn into_parts(self) -> (Error, Option<Transaction>) {
        let (error, core) = self.into_parts_below();
        (error, core.map(Transaction::new))
    }
}
