//! An open database, and transactions on it.

use std::sync::Arc;
use std::time::Duration;

use permazen::encoding::EncodingRegistry;
use permazen::kv::TxOptions;
use permazen::object::{Database, Transaction, TransactionConfig};
use permazen::open::{OpenStore, Opening};
use permazen::schema::{SchemaRemoval, UnknownEncodings};

use crate::args::Args;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// An open database.
pub(crate) struct Session {
    store: Arc<OpenStore>,
    database: Database,
    pub(crate) interrupt: Interrupt,
    pub(crate) options: Options,
}

/// What the user has chosen.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Whether changes are allowed.
    pub(crate) write: bool,
    /// Whether changes are made without asking.
    pub(crate) yes: bool,
    /// Whether nothing is committed.
    pub(crate) dry_run: bool,
    /// How long to wait for others.
    pub(crate) wait: Duration,
}

impl Session {
    /// Opens the database that the command line names.
    pub(crate) fn open(
        args: &Args,
        encodings: Arc<EncodingRegistry>,
        interrupt: Interrupt,
    ) -> Result<Session, Failure> {
        let name = args.database.as_deref().ok_or_else(|| Failure::usage("there is no DB"))?;
        let mut opening = Opening::new().write(args.write && !args.dry_run).wait(args.wait);
        if let Some(kind) = args.kind {
            opening = opening.kind(kind.of_store());
        }
        let store = Arc::new(opening.open(name)?);
        let database = Database::with_encodings(store.clone(), encodings)
            .unknown_encodings(UnknownEncodings::Carry);
        let options =
            Options { write: args.write, yes: args.yes, dry_run: args.dry_run, wait: args.wait };
        Ok(Session { store, database, interrupt, options })
    }

    /// The key/value store.
    pub(crate) fn store(&self) -> &OpenStore {
        &self.store
    }

    /// Begins a transaction that sees one state and keeps nobody waiting. What is written in it is
    /// lost.
    pub(crate) fn begin_reading(&self) -> Result<Transaction<'_>, Failure> {
        Ok(self.database.begin(&config().read_only())?)
    }

    /// Runs `action` in a transaction of its own, which is committed. In a conflict, it is run again.
    pub(crate) fn write<T>(
        &self,
        mut action: impl FnMut(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let options = TxOptions::writing().with_wait(self.options.wait);
        let transaction = self.database.begin(&config().kv_options(options))?;
        let done = action(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

/// Transactions over all objects, each in its own schema. They record no schema and remove none.
fn config() -> TransactionConfig {
    TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never)
}
