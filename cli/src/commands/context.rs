//! What a command works with.

use permazen::object::Transaction;

use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;

/// What a command works with.
pub(crate) struct Context<'c, 't> {
    /// The database and the options.
    pub(crate) session: &'c Session,
    /// Where the answer goes.
    pub(crate) out: &'c mut Output,
    /// The transaction of the script or prompt, if one is open.
    transaction: Option<&'c Transaction<'t>>,
}

impl<'c, 't> Context<'c, 't> {
    /// Outside of a transaction.
    pub(crate) fn new(session: &'c Session, out: &'c mut Output) -> Self {
        Context { session, out, transaction: None }
    }

    /// Runs `action` in the transaction of the script or prompt, or in one of its own, which reads.
    pub(crate) fn read<T>(
        &mut self,
        action: impl FnOnce(&Transaction<'_>, &mut Output) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self.transaction {
            Some(transaction) => action(transaction, self.out),
            None => action(&self.session.begin_reading()?, self.out),
        }
    }

    /// Runs `action` as a whole or not at all: in the transaction of the script or prompt, or in one
    /// of its own, which is committed. In a conflict, it is run again.
    ///
    /// # Errors
    /// Also if the session was not opened for changes.
    pub(crate) fn write<T>(
        &mut self,
        mut action: impl FnMut(&Transaction<'_>, &mut Output) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self.transaction {
            Some(transaction) => action(transaction, self.out),
            None => self.session.write(|transaction| action(transaction, self.out)),
        }
    }
}
