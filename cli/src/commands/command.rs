//! The trait of the commands of the shell.

use std::fmt::Debug;

use super::{Context, Unopened};
use crate::failure::{Answer, Failure};
use crate::session::Session;

/// A command with its arguments.
pub(crate) trait Command: Debug {
    /// In which transaction it runs, and whether it changes something.
    fn scope(&self) -> Scope;

    /// Runs it on an open database.
    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure>;

    /// Runs it on a database that the program does not have open; `None` if it needs an open one.
    /// Only a command that the command line names can run so.
    fn run_unopened(&self, _unopened: &mut Unopened<'_>) -> Option<Result<Answer, Failure>> {
        None
    }

    /// Whether it asks at the prompt before it changes something. Otherwise the prompt asks.
    fn asks(&self) -> bool {
        false
    }

    /// Whether it reads only what a server cannot take back any more, for which it waits there
    /// until transactions that write have ended.
    fn reads_with_certainty(&self) -> bool {
        false
    }

    /// Whether it writes a file, or another database, of what it reads. That stays, also if the
    /// transaction in which it is read is rolled back.
    fn writes_file(&self) -> bool {
        false
    }

    /// The answer with which it ends a script and the prompt; `None` if these continue.
    fn ends_with(&self) -> Option<Answer> {
        None
    }

    /// The candidates that the tab key offers for its arguments that are no options.
    fn candidates(_session: &Session) -> Vec<String>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

/// In which transaction a command of a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Anywhere: it does not read the database.
    Anywhere,
    /// It reads and changes only in the transaction of the script.
    InTransaction {
        /// Whether it changes something.
        edits: bool,
    },
    /// It has transactions of its own, or none. A script that also has edits refuses it unless each
    /// statement is a transaction of its own.
    OwnTransactions {
        /// Whether it changes the database, so that it needs `--write`.
        edits: bool,
    },
    /// At the prompt only, which does this.
    AtPrompt(PromptTask),
}

/// The work of a command with the transaction of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptTask {
    Begin,
    Diff,
    Commit {
        /// Whether nothing is asked before.
        yes: bool,
    },
    Rollback,
    Replay,
}

impl Scope {
    /// Whether it changes the database.
    pub(crate) fn edits(self) -> bool {
        matches!(
            self,
            Scope::InTransaction { edits: true } | Scope::OwnTransactions { edits: true }
        )
    }

    /// Whether it sees something of the database.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Scope::InTransaction { .. } | Scope::OwnTransactions { .. })
    }

    /// Whether it has transactions of its own.
    pub(crate) fn has_own_transactions(self) -> bool {
        matches!(self, Scope::OwnTransactions { .. })
    }
}
