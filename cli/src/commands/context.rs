//! The context of a command.

use std::ffi::OsStr;
use std::sync::Arc;

use permazen::encoding::EncodingRegistry;
use permazen::object::Transaction;

use crate::args::Args;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::script::Ids;
use crate::session::Session;

/// The context of a command.
pub(crate) struct Context<'c> {
    /// The database and the options.
    pub(crate) session: &'c Session,
    /// Where the answer goes.
    pub(crate) out: &'c mut Output,
    /// The transaction of the script or prompt. `None` for commands with transactions of their own.
    pub(crate) transaction: Option<&'c Transaction>,
    /// The IDs of new objects.
    pub(crate) ids: &'c mut Ids,
    /// How the prompt asks a question.
    pub(crate) asks: Option<&'c mut Asks<'c>>,
}

/// Asks a question: yes or no.
pub(crate) type Asks<'a> = dyn FnMut(&str, &mut Output) -> Result<bool, Failure> + 'a;

/// The context of a command that opens the database itself, or not at all.
pub(crate) struct Unopened<'u> {
    /// The name of the database.
    pub(crate) database: &'u OsStr,
    /// The options of the command line.
    pub(crate) args: &'u Args,
    pub(crate) encodings: Arc<EncodingRegistry>,
    /// Ctrl-C.
    pub(crate) interrupt: &'u Interrupt,
    /// Where the answer goes.
    pub(crate) out: &'u mut Output,
}

impl Context<'_> {
    /// Runs `action` in the transaction of the script or prompt, or in one of its own, which reads.
    pub(crate) fn read<T>(
        &mut self,
        action: impl FnOnce(&Transaction, &mut Output) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self.transaction {
            Some(transaction) => action(transaction, self.out),
            None => action(&self.session.begin_reading()?, self.out),
        }
    }

    /// Runs `action` as a whole or not at all: in the transaction of the script or prompt, or in
    /// one of its own, which is committed. In a conflict, it is run again, so it must print
    /// nothing.
    ///
    /// # Errors
    /// Also if changes are not allowed.
    pub(crate) fn write<T>(
        &mut self,
        mut action: impl FnMut(&Transaction) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self.transaction {
            Some(transaction) => transaction.atomic(|transaction| action(transaction)),
            None => self.session.write(action),
        }
    }
}
